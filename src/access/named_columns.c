/*
 * named_columns.c
 *	  Which columns of a table a statement names.
 *
 * The others hold their DEFAULT, or NULL, by the time a row reaches the access
 * method; but to merging they are absent (SEMANTICS, rule 32).  The result is an
 * array with an element for each column, in CurrentMemoryContext, or NULL where
 * all columns are named.
 */
#include "postgres.h"

#include "access/named_columns.h"
#include "access/row_security.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "compat.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "utils/lsyscache.h"

/* when this library was loaded, to recognize the statement that loaded it */
static TimestampTz loaded_during;

/*
 * named_columns_init
 *		Called once, when the module loads.
 */
void
named_columns_init(void)
{
	loaded_during = GetCurrentStatementStartTimestamp();
}

/* Naming every column is the same as naming none in particular. */
static bool *
named_columns_simplify(const MergePlan *plan, bool *named)
{
	for (int c = 0; c < plan->natts; c++)
	{
		if (!named[c] && !plan->columns[c].dropped && !plan->columns[c].generated)
			return named;
	}
	return NULL;
}

/*
 * named_columns_of_insert
 *		The columns of a table that an INSERT names; columns are the table's, offset
 *		as in the range table.
 */
bool *
named_columns_of_insert(const MergePlan *plan, Bitmapset *columns)
{
	bool	   *named = palloc0(plan->natts * sizeof(bool));
	int			bit = -1;

	while ((bit = bms_next_member(columns, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attno <= plan->natts)
			named[attno - 1] = true;
		else if (attno == 0)	/* whole row */
			memset(named, true, plan->natts);
	}
	return named_columns_simplify(plan, named);
}

/*
 * named_columns_of_copy
 *		The columns of a table that a COPY names, by name: it may be a partition.
 */
bool *
named_columns_of_copy(const MergePlan *plan, CopyFromState cstate)
{
	bool	   *named = palloc0(plan->natts * sizeof(bool));
	ListCell   *lc;

	foreach(lc, cstate->attnumlist)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(cstate->rel),
													lfirst_int(lc) - 1);

		for (int c = 0; c < plan->natts; c++)
		{
			if (!plan->columns[c].dropped &&
				strcmp(plan->columns[c].name, NameStr(attribute->attname)) == 0)
				named[c] = true;
		}
	}
	return named_columns_simplify(plan, named);
}

/* The columns of a partition that an INSERT into a table above it names. */
static bool *
named_columns_of_parent(const MergePlan *plan, Relation relation, Oid parent,
						Bitmapset *columns)
{
	bool	   *named = palloc0(plan->natts * sizeof(bool));
	int			bit = -1;

	while ((bit = bms_next_member(columns, bit)) >= 0)
	{
		AttrNumber	attno = bit + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0)
			attno = get_attnum(RelationGetRelid(relation),
							   get_attname(parent, attno, false));
		if (attno > 0)
			named[attno - 1] = true;
	}
	return named_columns_simplify(plan, named);
}

/*
 * named_columns_of_portal
 *		The columns that a row brings whose statement is not known.  If it was
 *		started before this library was loaded, it is the first of its session,
 *		and writes through a partitioned table that has merge tables among its
 *		partitions; what a query of the client's names is known from its plan,
 *		and so is its row security, which goes to the target.  For one inside a
 *		function we cannot tell: raises
 *		ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE.
 */
bool *
named_columns_of_portal(MergeTarget *target, Relation relation)
{
	List	   *ancestors;
	PlannedStmt *found_stmt = NULL;
	RangeTblEntry *found = NULL;
	int			nfound = 0;
	ListCell   *lc;

	if (GetCurrentStatementStartTimestamp() != loaded_during ||
		ActivePortal == NULL)
		return NULL;
	ancestors = relation->rd_rel->relispartition ?
		get_partition_ancestors(RelationGetRelid(relation)) :
		NIL;
	foreach(lc, ActivePortal->stmts)
	{
		PlannedStmt *stmt = lfirst_node(PlannedStmt, lc);
		ListCell   *rti;

		foreach(rti, stmt->resultRelations)
		{
			RangeTblEntry *rte = rt_fetch(lfirst_int(rti), stmt->rtable);

			if (rte->relid != RelationGetRelid(relation) &&
				!list_member_oid(ancestors, rte->relid))
				continue;
			found = rte;
			found_stmt = stmt;
			nfound++;
		}
	}
	if (nfound != 1)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("merge_engine was loaded in the middle of this statement"),
				 errdetail("Which columns the statement names for table \"%s\" is not known.",
						   RelationGetRelationName(relation)),
				 errhint("Run the statement again, or load merge_engine with session_preload_libraries.")));
	target->row_security = row_security_create(found->relid,
											   compat_check_as_user(found_stmt, found),
											   target->context);
	return named_columns_of_parent(target->plan, relation, found->relid,
								   compat_inserted_columns(found_stmt, found));
}
