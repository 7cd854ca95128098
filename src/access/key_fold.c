/*
 * key_fold.c
 *	  Fold the rows of one key while they wait to be merged.
 *
 * A million rows on ten thousand keys need not be held as a million rows: where
 * the rules allow it, the rows of a key are folded as they come, by the same
 * functions that will merge the result into the stored row.  What comes out is
 * a few rows again, one for each sequence value that still matters, which
 * merge like the rows that went in:
 *
 * - deduplicate and first-row keep one row of those that came, whole;
 * - partial-update keeps each column's newest value, with its version;
 * - aggregation does where all functions are associative.
 *
 * Where something depends on more than that (sequence groups, retractions that
 * are not removals, functions that need the whole order), rows are not folded.
 */
#include "postgres.h"

#include "access/key_fold.h"
#include "utils/datum.h"

/*
 * key_fold_is_possible
 *		Can the rows of a key be folded before they meet the stored row?  named
 *		tells which columns the statement names, as in MergeRow.
 */
bool
key_fold_is_possible(const MergePlan *plan, const bool *named)
{
	/* in a row that is made up, NULL must mean absent, and versions are its own */
	if (plan->carried >= 0 ||
		(plan->versions >= 0 && (named == NULL || named[plan->versions])))
		return false;
	for (int c = 0; c < plan->natts; c++)
	{
		if (plan->columns[c].null_clears)
			return false;
	}
	switch (plan->engine)
	{
		case MERGE_DEDUPLICATE:
		case MERGE_FIRST_ROW:
			return true;
		case MERGE_PARTIAL_UPDATE:
			return plan->ngroups == 0 && plan->rowkind < 0;
		case MERGE_AGGREGATION:
			break;
	}
	if (plan->rowkind >= 0 || plan->memory == MERGE_MEMORY_LOG ||
		(plan->memory == MERGE_MEMORY_VERSIONS && named != NULL))
		return false;
	for (int c = 0; c < plan->natts; c++)
	{
		const AggregatorColumn *aggregator = plan->columns[c].aggregator;

		if (aggregator == NULL)
			continue;
		if (!aggregator->function->associative)
			return false;
		/* in a row that is made up, NULL must mean absent */
		if (plan->memory == MERGE_MEMORY_VERSIONS && aggregator->function->takes_null)
			return false;
	}
	return true;
}

/* Keep what has changed of a state, and let go of what it had before. */
static void
key_fold_keep(const MergePlan *plan, MergeState *kept, const MergeState *changed)
{
	kept->exists = changed->exists;
	for (int c = 0; c < plan->natts; c++)
	{
		const MergeColumn *column = &plan->columns[c];
		bool		had = !kept->isnull[c];
		Datum		old = kept->values[c];

		if (had == !changed->isnull[c] && (!had || old == changed->values[c]))
			continue;
		kept->isnull[c] = changed->isnull[c];
		if (!changed->isnull[c])
			kept->values[c] = datumCopy(changed->values[c], column->typbyval,
										column->typlen);
		if (had && !column->typbyval)
			pfree(DatumGetPointer(old));
	}
	if (plan->sequence == NULL)
		return;
	sequence_assign(plan->sequence, &kept->row_version, changed->row_version);
	for (int c = 0; kept->versions != NULL && c < plan->natts; c++)
		sequence_assign(plan->sequence, &kept->versions[c], changed->versions[c]);
}

/*
 * key_fold_add
 *		Folds one more row, which the table's options do not drop, of the key.
 *		A zeroed fold is empty.  Keeps copies in the given context; computes in
 *		CurrentMemoryContext, with scratch, a state of the plan's.
 */
void
key_fold_add(const MergePlan *plan, KeyFold *fold, MergeState *scratch,
			 const MergeRow *row, MemoryContext context)
{
	bool		whole = plan->engine == MERGE_DEDUPLICATE ||
		plan->engine == MERGE_FIRST_ROW;
	bool		first = fold->row == NULL && fold->state == NULL;
	MemoryContext oldcontext;

	if (first)
	{
		fold->arrival = row->arrival;
		fold->named = row->named;
	}
	if (whole)
	{
		MergeRow   *old = fold->row;

		/* a retraction that is an error must be seen to be one */
		if (plan->engine == MERGE_FIRST_ROW && old != NULL && !RowKindIsRetract(row->kind))
			return;
		if (plan->sequence != NULL && old != NULL &&
			sequence_compare(plan->sequence, row->sequence, old->sequence) < 0)
			return;
		oldcontext = MemoryContextSwitchTo(context);
		fold->row = merge_row_copy(plan, row);
		if (old != NULL)
			merge_row_free(plan, old);
		MemoryContextSwitchTo(oldcontext);
		return;
	}

	oldcontext = MemoryContextSwitchTo(context);
	if (first)
		fold->state = merge_state_create(plan);
	MemoryContextSwitchTo(oldcontext);

	merge_state_clear(plan, scratch);
	scratch->exists = fold->state->exists;
	scratch->row_version = fold->state->row_version;
	memcpy(scratch->values, fold->state->values, plan->natts * sizeof(Datum));
	memcpy(scratch->isnull, fold->state->isnull, plan->natts * sizeof(bool));
	if (scratch->versions != NULL)
		memcpy(scratch->versions, fold->state->versions,
			   plan->natts * sizeof(SequenceValue));
	merge_apply(plan, scratch, row);

	MemoryContextSwitchTo(context);
	key_fold_keep(plan, fold->state, scratch);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * key_fold_values
 *		The values of a fold that is not empty; its key is among them.  Good until
 *		the next row is added.
 */
const Datum *
key_fold_values(const KeyFold *fold)
{
	return fold->row != NULL ? fold->row->values : fold->state->values;
}

/* A row like the fold's, but with values only where version is the column's. */
static MergeRow *
key_fold_row_of_version(const MergePlan *plan, const KeyFold *fold,
						SequenceValue version, bool newest)
{
	const MergeState *state = fold->state;
	MergeRow   *row = palloc0(sizeof(MergeRow));

	row->arrival = fold->arrival;
	row->named = fold->named;
	row->kind = ROWKIND_INSERT;
	row->values = palloc(plan->natts * sizeof(Datum));
	row->isnull = palloc(plan->natts * sizeof(bool));
	memcpy(row->values, state->values, plan->natts * sizeof(Datum));
	memcpy(row->isnull, state->isnull, plan->natts * sizeof(bool));
	for (int c = 0; state->versions != NULL && c < plan->natts; c++)
	{
		/* without a version: a key, a DEFAULT, or a function's result */
		bool		has = state->versions[c] != NULL ?
			sequence_compare(plan->sequence, state->versions[c], version) == 0 :
			newest || plan->columns[c].key || !MergeRowNames(row, c);

		if (!has)
			row->isnull[c] = true;
	}
	for (int i = 0; plan->sequence != NULL && i < plan->sequence->ncolumns; i++)
	{
		row->values[plan->sequence->columns[i]] = version[i].value;
		row->isnull[plan->sequence->columns[i]] = version[i].isnull;
	}
	row->sequence = version;
	return row;
}

/*
 * key_fold_rows
 *		Rows that merge like all those that were folded, in an array in
 *		CurrentMemoryContext; their values still belong to the fold.  Returns
 *		how many.
 */
int
key_fold_rows(const MergePlan *plan, const KeyFold *fold, MergeRow ***rows)
{
	const MergeState *state = fold->state;
	int			nrows = 0;

	*rows = palloc((plan->natts + 1) * sizeof(MergeRow *));
	if (fold->row != NULL)
	{
		(*rows)[nrows++] = fold->row;
		return nrows;
	}

	(*rows)[nrows++] = key_fold_row_of_version(plan, fold, state->row_version, true);
	for (int c = 0; state->versions != NULL && c < plan->natts; c++)
	{
		bool		known = state->versions[c] == NULL;

		for (int i = 0; i < nrows && !known; i++)
			known = sequence_compare(plan->sequence, state->versions[c],
									 (*rows)[i]->sequence) == 0;
		if (!known)
			(*rows)[nrows++] = key_fold_row_of_version(plan, fold,
													   state->versions[c], false);
	}
	return nrows;
}
