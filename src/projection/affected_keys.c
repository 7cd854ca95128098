/*
 * affected_keys.c
 *	  The replace keys affected by changes, from a query that the user wrote.
 *
 * The query says how a row of each source leads to replace keys, and nothing about
 * watermarks.  A refresh runs it once for each occurrence of each source, with that
 * occurrence's condition added to its query tree, so that an index on the incremental
 * column serves the run.  The condition goes into the WHERE clause of the query level
 * that reads the source; that is why a source may not sit where a condition would
 * change which keys come out (in a sublink, below LIMIT, in EXCEPT).  In a run, the
 * branches of a UNION that do not read the occurrence are switched off.
 *
 * The query is stored as ruleutils prints it with a path that hides every schema but
 * pg_catalog: it does not hang on the search path of whoever refreshes.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "parser/parse_coerce.h"
#include "parser/parse_oper.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "projection/projection.h"

/* A run: which occurrence of which source gets the condition. */
typedef struct AffectedRun
{
	const ProjectionSource *source;
	int			source_index;
	int			wanted;			/* the occurrence, counted from 0 */
	int			seen;
} AffectedRun;

/* Parse and analyze, under whatever search path is set. */
static Query *
affected_keys_parse(const char *text)
{
	List	   *statements = pg_parse_query(text);
	RawStmt    *raw;
	Query	   *query;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("affected_keys must be one statement, not %d", list_length(statements)),
				 errhint("Pass one SELECT.")));
	raw = linitial_node(RawStmt, statements);
	if (!IsA(raw->stmt, SelectStmt) || ((SelectStmt *) raw->stmt)->intoClause)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("affected_keys must be a SELECT"),
				 errhint("Pass one SELECT that returns the replace key's columns.")));
	query = parse_analyze_fixedparams(raw, text, NULL, 0, NULL);
	if (query->commandType != CMD_SELECT || query->hasModifyingCTE || query->rowMarks != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("affected_keys must only read"),
				 errdetail("The query changes or locks rows."),
				 errhint("Leave out data-modifying WITH and FOR UPDATE.")));
	return query;
}

/* A query as text in which every name is qualified. */
static char *
query_print(Query *query)
{
	int			nestlevel = sql_pin_search_path("pg_catalog");
	char	   *text;

	(void) sql_pin_text_settings();
	text = pg_get_querydef(query, false);

	AtEOXact_GUC(false, nestlevel);
	return text;
}

/* Refuse output columns that are not exactly the replace key. */
static void
affected_keys_check_columns(Query *query, List *keys)
{
	ListCell   *lc;
	ListCell   *lc2;
	List	   *seen = NIL;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		ProjectionKey *match = NULL;
		Oid			type;

		if (tle->resjunk)
			continue;
		foreach(lc2, keys)
			if (strcmp(((ProjectionKey *) lfirst(lc2))->name, tle->resname) == 0)
				match = lfirst(lc2);
		if (match == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_DEFINITION),
					 errmsg("affected_keys returns column \"%s\", which is not in the replace key", tle->resname),
					 errhint("Return the replace key's columns and no others.")));
		if (list_member_ptr(seen, match))
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("affected_keys returns column \"%s\" twice", tle->resname),
					 errhint("Return each column of the replace key once.")));
		seen = lappend(seen, match);
		type = getBaseType(exprType((Node *) tle->expr));
		if (type != match->type)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("affected_keys returns column \"%s\" as %s, but the replace key has %s",
							tle->resname, format_type_be(type), format_type_be(match->type)),
					 errhint("Cast the column.")));
	}
	foreach(lc, keys)
		if (!list_member_ptr(seen, lfirst(lc)))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("affected_keys does not return replace key column \"%s\"",
							((ProjectionKey *) lfirst(lc))->name),
					 errhint("Return the replace key's columns by their names.")));
}

/* Is a source read by this query level or one below it, outside of sublinks? */
static bool
query_reads(Query *query, Oid relid)
{
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION && rte->relid == relid)
			return true;
		if (rte->rtekind == RTE_SUBQUERY && query_reads(rte->subquery, relid))
			return true;
	}
	foreach(lc, query->cteList)
		if (query_reads(castNode(Query, lfirst_node(CommonTableExpr, lc)->ctequery), relid))
			return true;
	return false;
}

/* Raise the error for a source that sits where no condition may be added. */
static void
refuse_position(const ProjectionSource *source, const char *where)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("affected_keys reads source \"%s\" %s", get_rel_name(source->relid), where),
			 errdetail("A refresh adds the source's watermark condition there, which would change the keys of other rows."),
			 errhint("Join the source in the FROM clause, or use a UNION ALL branch for it.")));
}

/* Is there a set operation other than UNION? */
static bool
setop_other_than_union(Node *node)
{
	SetOperationStmt *setop = (SetOperationStmt *) node;

	if (node == NULL || !IsA(node, SetOperationStmt))
		return false;
	return setop->op != SETOP_UNION || setop_other_than_union(setop->larg) ||
		setop_other_than_union(setop->rarg);
}

/* Refuse a source at a place where its condition would change other rows' keys. */
static void
affected_keys_check_positions(Query *query, const ProjectionSource *source)
{
	ListCell   *lc;

	if (!query_reads(query, source->relid))
		return;
	if (query->limitCount || query->limitOffset || query->hasDistinctOn)
		refuse_position(source, "below LIMIT, OFFSET or DISTINCT ON");
	if (query->hasWindowFuncs)
		refuse_position(source, "below a window function");
	if (setop_other_than_union(query->setOperations))
		refuse_position(source, "in EXCEPT or INTERSECT");
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_SUBQUERY)
			affected_keys_check_positions(rte->subquery, source);
	}
	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (!query_reads(castNode(Query, cte->ctequery), source->relid))
			continue;
		if (cte->cterecursive)
			refuse_position(source, "in a recursive query");
		if (cte->cterefcount > 1)
			refuse_position(source, "in a WITH query that is used more than once");
		affected_keys_check_positions(castNode(Query, cte->ctequery), source);
	}
}

/* Every source must be read by name, where a condition can be added. */
static void
affected_keys_check_sources(const Projection *projection, Query *query)
{
	Lineage    *lineage = lineage_of_query(copyObject(query));
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, lineage->tables)
		if (OidIsValid(projection->target) &&
			((LineageTable *) lfirst(lc))->relid == projection->target)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("affected_keys reads the projection \"%s\" itself",
							get_rel_name(projection->target)),
					 errdetail("The keys must follow from the sources, or a refresh could not repeat a failed one."),
					 errhint("Find the keys in the sources.")));
	foreach(lc, projection->sources)
	{
		ProjectionSource *source = lfirst(lc);
		bool		in_view = false;

		foreach(lc2, lineage->tables)
		{
			LineageTable *table = lfirst(lc2);

			if (table->relid != source->relid)
				continue;
			if (table->in_view)
				in_view = true;
			else if (table->in_sublink)
				refuse_position(source, "in a sublink");
		}
		if (in_view)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("affected_keys reads source \"%s\" through a view", get_rel_name(source->relid)),
					 errhint("Name the table itself.")));
		if (!query_reads(query, source->relid))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("affected_keys does not read source \"%s\" of field \"%s\"",
							get_rel_name(source->relid), source->field),
					 errdetail("Changes of that source would not be seen."),
					 errhint("Join the source, or add a UNION ALL branch that returns the keys its rows affect.")));
		affected_keys_check_positions(query, source);
	}
}

/*
 * Check a user's query and return the text to store.
 *
 * Input: the projection with its sources, the query under the current search path,
 * the replace key.  Errors: one for each rule in the documentation.
 */
char *
affected_keys_validate(const Projection *projection, const char *text, List *keys)
{
	Query	   *query = affected_keys_parse(text);

	affected_keys_check_columns(query, keys);
	affected_keys_check_sources(projection, query);
	if (contain_volatile_functions((Node *) query))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("affected_keys calls a volatile function"),
				 errdetail("It must only read, and return the same keys when a refresh is repeated."),
				 errhint("Use stable and immutable functions.")));
	return query_print(query);
}

/* "column op $param" as an expression over a range table entry. */
static Expr *
run_condition(const ProjectionSource *source, int rtindex, int strategy, int paramid)
{
	Oid			type;
	int32		typmod;
	Oid			collation;
	Node	   *left;
	Param	   *param = makeNode(Param);
	Oid			opno = sql_btree_operator(source->type, strategy);
	Oid			left_type;
	Oid			right_type;
	Node	   *right;

	get_atttypetypmodcoll(source->relid, source->attnum, &type, &typmod, &collation);
	op_input_types(opno, &left_type, &right_type);
	left = (Node *) makeVar(rtindex, source->attnum, type, typmod, collation, 0);
	param->paramkind = PARAM_EXTERN;
	param->paramid = paramid;
	param->paramtype = source->type;
	param->paramtypmod = -1;
	param->paramcollid = collation;
	param->location = -1;
	right = (Node *) param;
	/* polymorphic operators (enums, arrays) take the types as they are */
	if (!IsPolymorphicType(left_type))
	{
		if (type != left_type)
			left = (Node *) makeRelabelType((Expr *) left, left_type, -1, collation, COERCE_IMPLICIT_CAST);
		if (source->type != right_type)
			right = (Node *) makeRelabelType((Expr *) right, right_type, -1, collation, COERCE_IMPLICIT_CAST);
	}
	return make_opclause(opno, BOOLOID, false, (Expr *) left, (Expr *) right, InvalidOid, collation);
}

/* Put a condition into a query level's WHERE clause. */
static void
query_add_condition(Query *query, Node *condition)
{
	query->jointree->quals = query->jointree->quals ?
		(Node *) makeBoolExpr(AND_EXPR, list_make2(query->jointree->quals, condition), -1) :
		condition;
}

/*
 * Add the run's condition to its occurrence, wherever it is.  Returns whether it was
 * in this query.
 */
static bool
run_restrict(Query *query, AffectedRun *run)
{
	bool		found = false;
	Bitmapset  *branches = NULL;
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, query->cteList)
		found |= run_restrict(castNode(Query, lfirst_node(CommonTableExpr, lc)->ctequery), run);

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		int			rtindex = foreach_current_index(lc) + 1;

		if (rte->rtekind == RTE_SUBQUERY && run_restrict(rte->subquery, run))
		{
			found = true;
			branches = bms_add_member(branches, rtindex);
		}
		if (rte->rtekind != RTE_RELATION || rte->relid != run->source->relid ||
			run->seen++ != run->wanted)
			continue;
		found = true;
		query_add_condition(query, (Node *) run_condition(run->source, rtindex, BTLessEqualStrategyNumber, 2 * run->source_index + 2));
		if (run->source->has_watermark)
			query_add_condition(query, (Node *) run_condition(run->source, rtindex, BTGreaterStrategyNumber, 2 * run->source_index + 1));
	}

	/* the other branches of a UNION have nothing to say about this occurrence */
	if (query->setOperations && branches)
		foreach(lc, query->rtable)
		{
			RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

			if (rte->rtekind == RTE_SUBQUERY && rte->subquery->setOperations == NULL &&
				!bms_is_member(foreach_current_index(lc) + 1, branches))
				query_add_condition(rte->subquery, makeBoolConst(false, false));
		}
	return found;
}

/*
 * One query for all keys: a run for each occurrence of each source that has changes.
 *
 * Input: the projection with watermarks and bounds.  Result: SQL text over the
 * refresh's parameters, or NULL if no source has changes.
 */
char *
affected_keys_sql(const Projection *projection, List *keys)
{
	StringInfoData sql;
	StringInfoData columns;
	ListCell   *lc;

	initStringInfo(&columns);
	foreach(lc, keys)
	{
		ProjectionKey *key = lfirst(lc);

		appendStringInfo(&columns, "%sCAST(q.%s AS %s)%s AS %s", columns.len ? ", " : "",
						 quote_identifier(key->name), sql_type(key->type),
						 sql_collation(key->collation), quote_identifier(key->name));
	}

	initStringInfo(&sql);
	foreach(lc, projection->sources)
	{
		AffectedRun run = {0};

		run.source = lfirst(lc);
		run.source_index = foreach_current_index(lc);
		if (!watermark_moved(run.source))
			continue;
		for (;;)
		{
			Query	   *query = affected_keys_parse(projection->affected_keys);

			run.seen = 0;
			if (!run_restrict(query, &run))
				break;
			appendStringInfo(&sql, "%sSELECT %s FROM (%s) q", sql.len ? " UNION ALL " : "",
							 columns.data, query_print(query));
			run.wanted++;
		}
	}
	return sql.len ? sql.data : NULL;
}
