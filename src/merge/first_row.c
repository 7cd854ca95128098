/*
 * first_row.c
 *	  The first row of a key stays.
 */
#include "postgres.h"

#include "merge/merge.h"

/*
 * first_row_apply
 *		Takes the row if the key has none.  Raises
 *		ERRCODE_FEATURE_NOT_SUPPORTED for a retraction (SEMANTICS, rule 9).
 */
void
first_row_apply(const MergePlan *plan, MergeState *state, const MergeRow *row)
{
	if (RowKindIsRetract(row->kind))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot retract rows", plan->table),
				 errdetail("Merge engine first-row received a row of kind %s.",
						   rowkind_name(row->kind)),
				 errhint("Set \"ignore-delete\" to drop -D and -U rows, or \"ignore-update-before\" to drop -U rows.")));

	if (!state->exists)
		merge_take_row(plan, state, row);
}
