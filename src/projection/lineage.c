/*
 * lineage.c
 *	  A view's query tree as base tables, columns and equalities.
 *
 * The rewriter's view of a query is too flat for us and the planner's too late,
 * so this reads the stored query tree itself.  Every query level becomes a scope;
 * views, subqueries and CTEs become scopes below the one that reads them; every
 * occurrence of a base table becomes a LineageTable.  A column is traced down the
 * scopes for as long as it is a plain column.
 *
 * Conditions are kept only where they say that two columns of base tables are
 * equal, because that is all that key derivation may use (a filter would hide the
 * keys of rows that have just left the result).  Outer joins need care: an equality
 * in the ON clause of a LEFT JOIN holds only in rows whose right side is not null.
 * Every side that an outer join can null therefore has a number; a table knows the
 * numbers around it, an equality the numbers that it needs.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/typcache.h"

#include "projection/projection.h"

/* What a range table entry of a scope stands for. */
typedef struct LineageEntry
{
	int			table;			/* index in Lineage.tables, or -1 */
	LineageScope *scope;		/* a view, subquery or CTE, or NULL */
} LineageEntry;

struct LineageScope
{
	Lineage    *lineage;
	LineageScope *parent;
	Query	   *query;
	LineageEntry *entries;		/* by range table index */
	bool		in_sublink;
	Oid			reader;
	List	   *quals;			/* LineageQual *, until the scope is complete */
};

typedef struct LineageQual
{
	Node	   *node;
	Bitmapset  *needs;
} LineageQual;

static LineageScope *scope_build(Lineage *lineage, LineageScope *parent, Query *query,
								 Bitmapset *nullable, bool in_sublink, Oid reader);
static bool scope_trace(LineageScope *scope, Node *node, bool strip,
						LineageColumn *column, const char **reason);

/* Remember the first reason why keys cannot be derived. */
static void
obstacle_add(Lineage *lineage, const char *reason, bool spoils_rows)
{
	if (lineage->obstacle == NULL)
		lineage->obstacle = reason;
	if (spoils_rows && lineage->row_obstacle == NULL)
		lineage->row_obstacle = reason;
}

/* Note what in this query level stands between a source row and a result row. */
static void
scope_note_obstacles(LineageScope *scope)
{
	Query	   *query = scope->query;
	Lineage    *lineage = scope->lineage;

	if (query->groupClause || query->hasAggs || query->distinctClause ||
		query->havingQual)
	{
		lineage->grouped = true;
		if (!scope->in_sublink && lineage->row_obstacle == NULL)
			lineage->row_obstacle = "it aggregates or removes duplicates";
	}
	if (scope->in_sublink)
	{
		if (contain_volatile_functions((Node *) query))
			obstacle_add(lineage, "it calls a volatile function", false);
		return;
	}
	if (query->commandType != CMD_SELECT || query->hasModifyingCTE)
		obstacle_add(lineage, "it changes data", true);
	if (query->setOperations)
		obstacle_add(lineage, "it uses a set operation", true);
	if (query->groupingSets)
		obstacle_add(lineage, "it uses GROUPING SETS, ROLLUP or CUBE", true);
	if (query->hasWindowFuncs)
		obstacle_add(lineage, "it uses a window function", true);
	if (query->limitCount || query->limitOffset)
		obstacle_add(lineage, "it uses LIMIT or OFFSET", true);
	if (query->hasDistinctOn)
		obstacle_add(lineage, "it uses DISTINCT ON", true);
	if (contain_volatile_functions((Node *) query))
		obstacle_add(lineage, "it calls a volatile function", false);
}

/* The query of a view, whose relation must be open. */
static Query *
view_query(Relation view)
{
	return copyObject(get_view_query(view));
}

/* A relation read by a query: a base table, or a view to look into. */
static void
entry_build_relation(LineageScope *scope, LineageEntry *entry, RangeTblEntry *rte,
					 Bitmapset *nullable)
{
	Lineage    *lineage = scope->lineage;

	if (rte->relkind == RELKIND_VIEW)
	{
		Relation	view = relation_open(rte->relid, AccessShareLock);
		Oid			reader = RelationHasSecurityInvoker(view) ? scope->reader :
														view->rd_rel->relowner;
		bool		save = lineage->through_view;

		lineage->views = list_append_unique_oid(lineage->views, rte->relid);
		lineage->through_view = true;
		entry->scope = scope_build(lineage, NULL, view_query(view), nullable,
								   scope->in_sublink, reader);
		lineage->through_view = save;
		relation_close(view, NoLock);
	}
	else
	{
		LineageTable *table = palloc0(sizeof(LineageTable));

		table->relid = rte->relid;
		table->relkind = rte->relkind;
		table->inherit = rte->inh;
		table->in_sublink = scope->in_sublink;
		table->in_view = lineage->through_view;
		table->reader = scope->reader;
		table->nullable = bms_copy(nullable);
		entry->table = list_length(lineage->tables);
		lineage->tables = lappend(lineage->tables, table);
		if (rte->tablesample)
			obstacle_add(lineage, "it uses TABLESAMPLE", true);
	}
}

/* A reference to a CTE, which reads like a subquery. */
static void
entry_build_cte(LineageScope *scope, LineageEntry *entry, RangeTblEntry *rte,
				Bitmapset *nullable)
{
	LineageScope *owner = scope;
	ListCell   *lc;

	for (Index level = rte->ctelevelsup; level > 0 && owner; level--)
		owner = owner->parent;
	if (owner == NULL)
		return;
	foreach(lc, owner->query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) != 0)
			continue;
		if (cte->cterecursive)
			obstacle_add(scope->lineage, "it uses a recursive query", true);
		else if (castNode(Query, cte->ctequery)->commandType == CMD_SELECT)
			entry->scope = scope_build(scope->lineage, owner,
									   castNode(Query, cte->ctequery), nullable,
									   scope->in_sublink, scope->reader);
		return;
	}
}

/* What one range table entry stands for. */
static void
scope_build_entry(LineageScope *scope, int rtindex, Bitmapset *nullable)
{
	RangeTblEntry *rte = rt_fetch(rtindex, scope->query->rtable);
	LineageEntry *entry = &scope->entries[rtindex];

	switch (rte->rtekind)
	{
		case RTE_RELATION:
			entry_build_relation(scope, entry, rte, nullable);
			break;
		case RTE_SUBQUERY:
			entry->scope = scope_build(scope->lineage, scope, rte->subquery, nullable,
									   scope->in_sublink, scope->reader);
			break;
		case RTE_CTE:
			entry_build_cte(scope, entry, rte, nullable);
			break;
		default:
			break;
	}
}

/* Keep a condition until all tables of the scope are known. */
static void
scope_add_qual(LineageScope *scope, Node *node, Bitmapset *needs)
{
	LineageQual *qual;

	if (node == NULL)
		return;
	if (IsA(node, List))
	{
		ListCell   *lc;

		foreach(lc, (List *) node)
			scope_add_qual(scope, lfirst(lc), needs);
		return;
	}
	if (is_andclause(node))
	{
		scope_add_qual(scope, (Node *) ((BoolExpr *) node)->args, needs);
		return;
	}
	qual = palloc(sizeof(LineageQual));
	qual->node = node;
	qual->needs = bms_copy(needs);
	scope->quals = lappend(scope->quals, qual);
}

/* Walk a join tree: number the outer joins, collect tables and conditions. */
static void
scope_build_jointree(LineageScope *scope, Node *node, Bitmapset *nullable)
{
	if (node == NULL)
		return;
	check_stack_depth();

	if (IsA(node, RangeTblRef))
		scope_build_entry(scope, ((RangeTblRef *) node)->rtindex, nullable);
	else if (IsA(node, FromExpr))
	{
		ListCell   *lc;

		foreach(lc, ((FromExpr *) node)->fromlist)
			scope_build_jointree(scope, lfirst(lc), nullable);
		scope_add_qual(scope, ((FromExpr *) node)->quals, nullable);
	}
	else if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;
		Bitmapset  *left = bms_copy(nullable);
		Bitmapset  *right = bms_copy(nullable);

		if (join->jointype != JOIN_INNER && !scope->in_sublink)
			scope->lineage->outer_join = true;
		if (join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL)
			right = bms_add_member(right, scope->lineage->next_outer_join++);
		if (join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL)
			left = bms_add_member(left, scope->lineage->next_outer_join++);
		scope_build_jointree(scope, join->larg, left);
		scope_build_jointree(scope, join->rarg, right);
		scope_add_qual(scope, join->quals, bms_union(left, right));
	}
	else
		elog(ERROR, "unexpected node in a join tree: %d", (int) nodeTag(node));
}

/* The branches of a set operation are subqueries of the range table. */
static void
scope_build_setop(LineageScope *scope, Node *node, Bitmapset *nullable)
{
	if (node == NULL)
		return;
	check_stack_depth();
	if (IsA(node, RangeTblRef))
		scope_build_entry(scope, ((RangeTblRef *) node)->rtindex, nullable);
	else
	{
		SetOperationStmt *setop = castNode(SetOperationStmt, node);

		scope_build_setop(scope, setop->larg, nullable);
		scope_build_setop(scope, setop->rarg, nullable);
	}
}

typedef struct SublinkContext
{
	LineageScope *scope;
	Bitmapset  *nullable;
} SublinkContext;

/* Find the tables that are read only inside an expression. */
static bool
sublink_walker(Node *node, SublinkContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
	{
		SubLink    *sublink = (SubLink *) node;

		scope_build(context->scope->lineage, context->scope,
					castNode(Query, sublink->subselect), context->nullable, true,
					context->scope->reader);
		return expression_tree_walker(sublink->testexpr, sublink_walker, context);
	}
	if (IsA(node, Query))
		return false;
	return expression_tree_walker(node, sublink_walker, context);
}

/* column = column by the equality of a btree family, the same for both columns */
static void
scope_add_equality(LineageScope *scope, LineageQual *qual)
{
	OpExpr	   *op = (OpExpr *) qual->node;
	LineageEquality *equality;
	LineageColumn left;
	LineageColumn right;
	const char *reason;
	List	   *families;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2 || !op_strict(op->opno))
		return;
	families = get_mergejoin_opfamilies(op->opno);
	if (families == NIL)
		return;
	/* under such a collation equal values may differ: the key could be missed */
	if (OidIsValid(op->inputcollid) && !get_collation_isdeterministic(op->inputcollid))
		return;
	if (!scope_trace(scope, linitial(op->args), true, &left, &reason) ||
		!scope_trace(scope, lsecond(op->args), true, &right, &reason) ||
		left.maximum || right.maximum)
		return;

	equality = palloc(sizeof(LineageEquality));
	equality->left = left;
	equality->right = right;
	equality->families = families;
	equality->needs = qual->needs;
	scope->lineage->equalities = lappend(scope->lineage->equalities, equality);
}

/* A query level, with everything below it. */
static LineageScope *
scope_build(Lineage *lineage, LineageScope *parent, Query *query,
			Bitmapset *nullable, bool in_sublink, Oid reader)
{
	LineageScope *scope = palloc0(sizeof(LineageScope));
	SublinkContext context;
	ListCell   *lc;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();

	scope->lineage = lineage;
	scope->parent = parent;
	scope->query = query;
	scope->in_sublink = in_sublink;
	scope->reader = reader;
	scope->entries = palloc0(sizeof(LineageEntry) * (list_length(query->rtable) + 1));
	for (int i = 0; i <= list_length(query->rtable); i++)
		scope->entries[i].table = -1;

	scope_note_obstacles(scope);

	/*
	 * Without GROUP BY an aggregate has a row even of no rows: what is equal below
	 * need not be equal in it, as on the nullable side of an outer join.
	 */
	if (query->hasAggs && query->groupClause == NIL)
		nullable = bms_add_member(bms_copy(nullable), lineage->next_outer_join++);
	scope_build_jointree(scope, (Node *) query->jointree, nullable);
	scope_build_setop(scope, query->setOperations, nullable);

	context.scope = scope;
	context.nullable = nullable;
	(void) query_tree_walker(query, sublink_walker, &context,
							 QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES |
								 QTW_IGNORE_JOINALIASES);

	/* an equality in a sublink says nothing about the result's rows */
	if (!in_sublink)
		foreach(lc, scope->quals)
			scope_add_equality(scope, lfirst(lc));
	return scope;
}

/* Trace one output column of a scope. */
static bool
scope_trace_output(LineageScope *scope, AttrNumber attnum, bool strip,
				   LineageColumn *column, const char **reason)
{
	TargetEntry *tle;

	if (attnum <= 0)
	{
		*reason = "it is a whole row or a system column";
		return false;
	}
	if (scope->query->setOperations)
	{
		*reason = "it is the result of a set operation";
		return false;
	}
	if (scope->query->groupingSets)
	{
		*reason = "GROUPING SETS, ROLLUP or CUBE can null it";
		return false;
	}
	tle = get_tle_by_resno(scope->query->targetList, attnum);
	if (tle == NULL || tle->resjunk)
	{
		*reason = "the view has no such column";
		return false;
	}
	return scope_trace(scope, (Node *) tle->expr, strip, column, reason);
}

/* Is this max() of one argument, over all rows of a group? */
static bool
aggref_is_max(Aggref *aggref)
{
	char	   *name = get_func_name(aggref->aggfnoid);

	return name && strcmp(name, "max") == 0 &&
		get_func_namespace(aggref->aggfnoid) == PG_CATALOG_NAMESPACE &&
		list_length(aggref->args) == 1 && aggref->aggfilter == NULL;
}

/*
 * Trace an expression of a scope to a column of a base table.
 *
 * "strip" looks through changes of type and collation that keep the value's image,
 * which a join condition may have but a field may not.  On failure *reason completes the
 * sentence "… cannot be traced, because".
 */
static bool
scope_trace(LineageScope *scope, Node *node, bool strip,
			LineageColumn *column, const char **reason)
{
	check_stack_depth();

	while (strip && node && (IsA(node, RelabelType) || IsA(node, CollateExpr)))
		node = IsA(node, RelabelType) ? (Node *) ((RelabelType *) node)->arg :
										(Node *) ((CollateExpr *) node)->arg;

	if (node && IsA(node, Aggref) && aggref_is_max((Aggref *) node))
	{
		TargetEntry *argument = linitial_node(TargetEntry, ((Aggref *) node)->args);
		Node	   *expr = (Node *) argument->expr;

		/* max(varchar) is max(text): the image stays */
		if (!scope_trace(scope, expr, true, column, reason))
			return false;
		column->maximum = true;
		return true;
	}
	if (node && IsA(node, Var))
	{
		Var		   *var = (Var *) node;
		RangeTblEntry *rte;
		LineageEntry *entry;

		for (Index level = var->varlevelsup; level > 0 && scope; level--)
			scope = scope->parent;
		if (scope == NULL || var->varattno <= 0)
		{
			*reason = "it is a whole row or a system column";
			return false;
		}
		rte = rt_fetch(var->varno, scope->query->rtable);
		if (rte->rtekind == RTE_JOIN)
			return scope_trace(scope, list_nth(rte->joinaliasvars, var->varattno - 1),
							   strip, column, reason);
		entry = &scope->entries[var->varno];
		if (entry->scope)
			return scope_trace_output(entry->scope, var->varattno, strip, column, reason);
		if (entry->table >= 0)
		{
			column->table = entry->table;
			column->attnum = var->varattno;
			column->maximum = false;
			return true;
		}
		*reason = "it does not come from a table";
		return false;
	}
	*reason = "it is an expression, not a plain column";
	return false;
}

/*
 * The lineage of a view.
 *
 * Input: the OID of an ordinary view.  Result: palloc'd in the current context.
 * Keeps AccessShareLock on the view and the views below it.
 */
Lineage *
lineage_of_view(Oid view)
{
	Lineage    *lineage = palloc0(sizeof(Lineage));
	Relation	rel = relation_open(view, AccessShareLock);

	lineage->view = view;
	lineage->views = list_make1_oid(view);
	lineage->top = scope_build(lineage, NULL, view_query(rel), NULL, false,
							   RelationHasSecurityInvoker(rel) ? InvalidOid :
																 rel->rd_rel->relowner);
	relation_close(rel, NoLock);
	return lineage;
}

/* The lineage of a query that the user wrote; result as lineage_of_view's. */
Lineage *
lineage_of_query(Query *query)
{
	Lineage    *lineage = palloc0(sizeof(Lineage));

	lineage->top = scope_build(lineage, NULL, query, NULL, false, InvalidOid);
	return lineage;
}

/*
 * Trace an output column of the view to a column of a base table, or to max() of
 * one.  Result: false, and the rest of a sentence in *reason, where it is neither.
 */
bool
lineage_trace_output(Lineage *lineage, AttrNumber attnum, LineageColumn *column,
					 const char **reason)
{
	return scope_trace_output(lineage->top, attnum, false, column, reason);
}

/* The occurrence with this index. */
LineageTable *
lineage_table(const Lineage *lineage, int index)
{
	return (LineageTable *) list_nth(lineage->tables, index);
}

/*
 * The text of the view and of every view below it, the same in every session.  A view
 * replaced by CREATE OR REPLACE has another text.
 */
char *
lineage_definition(const Lineage *lineage)
{
	StringInfoData all;
	ListCell   *lc;
	int			nestlevel = sql_pin_search_path("pg_catalog");

	(void) sql_pin_text_settings();
	initStringInfo(&all);
	foreach(lc, lineage->views)
	{
		Datum		definition = DirectFunctionCall1(pg_get_viewdef,
													 ObjectIdGetDatum(lfirst_oid(lc)));

		appendStringInfo(&all, "%s:%s\n", sql_relation(lfirst_oid(lc)),
						 TextDatumGetCString(definition));
	}
	AtEOXact_GUC(false, nestlevel);
	return all.data;
}

/*
 * Refuse a projection over tables of which row security hides rows.  A row that is
 * hidden now may be shown later, with a value far below the watermark.
 */
void
lineage_refuse_row_security(const Lineage *lineage, Oid owner)
{
	ListCell   *lc;

	foreach(lc, lineage->tables)
	{
		LineageTable *table = lfirst(lc);
		Oid			reader = OidIsValid(table->reader) ? table->reader : owner;

		if (table->relkind != RELKIND_RELATION && table->relkind != RELKIND_PARTITIONED_TABLE)
			continue;
		if (check_enable_rls(table->relid, owner, true) == RLS_ENABLED ||
			check_enable_rls(table->relid, reader, true) == RLS_ENABLED)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("row security of table \"%s\" hides rows from the projection",
							get_rel_name(table->relid)),
					 errdetail("A refresh that does not see every row would lose those that it sees later."),
					 errhint("Give role \"%s\" the BYPASSRLS attribute, or let a role that row security does not apply to own the view and the projection.",
							 GetUserNameFromId(OidIsValid(table->reader) && check_enable_rls(table->relid, owner, true) != RLS_ENABLED ? reader : owner, false))));
	}
}
