/*
 * deduplicate.c
 *	  The newest whole row of a key stays.
 */
#include "postgres.h"

#include "merge/merge.h"

/*
 * deduplicate_apply
 *		A newer or equal row replaces the row, a newer or equal retraction
 *		removes it; a late one is dropped (SEMANTICS, rule 8).
 */
void
deduplicate_apply(const MergePlan *plan, MergeState *state, const MergeRow *row)
{
	if (plan->sequence != NULL)
	{
		SequenceValue newest = state->exists ? state->row_version : state->removed;

		if (sequence_compare(plan->sequence, row->sequence, newest) < 0)
			return;
	}

	if (RowKindIsRetract(row->kind))
	{
		state->exists = false;
		state->removed = row->sequence;
	}
	else
		merge_take_row(plan, state, row);
}
