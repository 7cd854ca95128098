/*
 * carried.c
 *	  columns.field: a row that lists the columns that it carries.
 *
 * Some feeds name every column in every statement (COPY, a sink), so that a
 * NULL may mean "cleared" or "not in this message".  A row of such a feed can
 * say which by listing its columns: those are given, NULLs included, and no
 * others.  Primary key, sequence.field, row kind and versions are of every row
 * and need not be listed; the sequence fields of a group do.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "merge/merge.h"
#include "utils/array.h"
#include "utils/builtins.h"

/* Mark the column of a list's element. */
static void
carried_mark(const MergePlan *plan, bool *named, Datum element)
{
	char	   *name = TextDatumGetCString(element);

	for (int c = 0; c < plan->natts; c++)
	{
		if (!plan->columns[c].dropped && strcmp(plan->columns[c].name, name) == 0)
		{
			named[c] = true;
			pfree(name);
			return;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of table \"%s\", listed in column \"%s\", does not exist",
					name, plan->table, plan->columns[plan->carried].name),
			 errhint("List existing columns; names are taken literally.")));
}

/*
 * merge_row_carry
 *		Restricts a row to the columns that it lists, if it does: named becomes
 *		its list, allocated in CurrentMemoryContext, and what else the statement
 *		names becomes NULL.  The list itself is about the row and never stored.
 *		Raises ERRCODE_UNDEFINED_COLUMN for an unknown column and
 *		ERRCODE_NULL_VALUE_NOT_ALLOWED for a NULL in the list.
 */
void
merge_row_carry(const MergePlan *plan, MergeRow *row)
{
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	bool	   *named;

	row->lists = false;
	if (plan->carried < 0 || row->isnull[plan->carried] ||
		!MergeRowNames(row, plan->carried))
		return;

	deconstruct_array(DatumGetArrayTypeP(row->values[plan->carried]), TEXTOID, -1,
					  false, TYPALIGN_INT, &elements, &nulls, &count);
	named = palloc0(plan->natts * sizeof(bool));
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("column \"%s\" of table \"%s\" lists a null",
							plan->columns[plan->carried].name, plan->table),
					 errhint("List the names of the columns that the row carries.")));
		carried_mark(plan, named, elements[i]);
	}
	for (int c = 0; c < plan->natts; c++)
	{
		const MergeColumn *column = &plan->columns[c];
		bool		always = column->key || column->sequence ||
			c == plan->rowkind || c == plan->versions;

		if (always)
			named[c] = MergeRowNames(row, c);
		else if (!named[c] && MergeRowNames(row, c))
			row->isnull[c] = true;
	}
	row->named = named;
	row->lists = true;
}
