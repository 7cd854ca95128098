/*
 * aggregation.c
 *	  Column by column, the result of an aggregate function.
 *
 * aggregation_apply takes rows as they arrive.  aggregation_fold takes the
 * rows of one statement for one key in order, for the rules that depend on
 * the whole order: those older than the stored row are folded among
 * themselves first and put under it, then the newer ones go on top.
 */
#include "postgres.h"

#include "merge/merge.h"

/* Does a function fold this column? */
static bool
aggregation_folds(const MergePlan *plan, int c)
{
	const MergeColumn *column = &plan->columns[c];

	return column->aggregator != NULL && !column->dropped &&
		!column->generated && !column->key && !column->sequence &&
		c != plan->rowkind && c != plan->versions && c != plan->carried;
}

/* Fold a row's value into one column. */
static void
aggregation_combine_column(const MergePlan *plan, MergeState *state, int c,
						   const MergeRow *row, bool first)
{
	const FieldAggregator *function = plan->columns[c].aggregator->function;
	SequenceValue *version = state->versions ? &state->versions[c] : NULL;
	bool		newest = function->order == AGGREGATOR_NEWEST;
	bool		oldest = function->order == AGGREGATOR_OLDEST;
	NullableDatum input = {
		.value = row->values[c],
		.isnull = row->isnull[c]
	};

	/* NULL is a value to some functions, and where the row's NULL counts */
	if (input.isnull && !function->takes_null)
	{
		if (!(newest || oldest) || !merge_row_gives(plan, row, c))
			return;
		/* the function itself would skip it */
		if (version == NULL)
		{
			if (newest)
				state->isnull[c] = true;
			return;
		}
	}
	if (version != NULL && (newest || oldest))
	{
		SequenceValue incoming = MergeRowVersion(row, c);

		if (row->versions != NULL &&
			sequence_compare(plan->sequence, incoming, state->removed) < 0)
			return;
		if (newest ? sequence_compare(plan->sequence, incoming, *version) < 0 :
					 *version != NULL && (incoming == NULL || sequence_compare(plan->sequence, incoming, *version) >= 0))
			return;
		*version = incoming;
		merge_take_column(state, c, row);
		return;
	}
	merge_combine(plan, state, c, input, first, false);
}

/* Take a row's value out of one column. */
static void
aggregation_retract_column(const MergePlan *plan, MergeState *state, int c,
						   const MergeRow *row)
{
	const AggregatorColumn *aggregator = plan->columns[c].aggregator;
	const FieldAggregator *function = aggregator->function;

	if (aggregator->ignore_retract)
		return;
	if (state->versions != NULL && function->order == AGGREGATOR_NEWEST)
	{
		/* a newer value has superseded what this row takes back */
		if (sequence_compare(plan->sequence, row->sequence, state->versions[c]) < 0)
			return;
		if (function->takes_null || !row->isnull[c])
			state->versions[c] = row->sequence;
	}
	merge_retract(plan, state, c, row);
}

/*
 * A removal that came late, or that another copy of the key has seen: what is
 * known to be older goes.
 */
static void
aggregation_bring_removal(const MergePlan *plan, MergeState *state,
						  SequenceValue removed)
{
	if (sequence_compare(plan->sequence, removed, state->removed) < 0)
		return;
	state->removed = removed;
	if (state->exists &&
		sequence_compare(plan->sequence, removed, state->row_version) >= 0)
		state->exists = false;
	for (int c = 0; state->exists && state->versions != NULL && c < plan->natts; c++)
	{
		AggregatorOrder order;

		if (!aggregation_folds(plan, c) || state->versions[c] == NULL ||
			sequence_compare(plan->sequence, removed, state->versions[c]) < 0)
			continue;
		order = plan->columns[c].aggregator->function->order;
		if (order != AGGREGATOR_NEWEST && order != AGGREGATOR_OLDEST)
			continue;
		state->isnull[c] = true;
		state->versions[c] = NULL;
	}
}

/*
 * aggregation_apply
 *		Gives each column's value to its function.  Raises
 *		ERRCODE_FEATURE_NOT_SUPPORTED where a function cannot retract.
 */
void
aggregation_apply(const MergePlan *plan, MergeState *state, const MergeRow *row)
{
	bool		retract = RowKindIsRetract(row->kind);
	bool		first;

	if (row->removed != NULL)
		aggregation_bring_removal(plan, state, row->removed);
	if (plan->sequence != NULL &&
		sequence_compare(plan->sequence, row->sequence, state->removed) < 0)
		return;
	if (row->kind == ROWKIND_DELETE && plan->remove_on_delete)
	{
		state->exists = false;
		state->removed = row->sequence;
		return;
	}
	first = !state->exists;
	if (first)
		merge_create_row(plan, state, row);
	for (int c = 0; c < plan->natts; c++)
	{
		bool		named = MergeRowNames(row, c);

		if (!aggregation_folds(plan, c))
			continue;
		if (retract)
		{
			if (named)
				aggregation_retract_column(plan, state, c, row);
		}
		else if (named || (!row->lists && merge_column_contributes(plan, c)))
			aggregation_combine_column(plan, state, c, row, first);
	}
	merge_advance(plan, state, row);
}

/*
 * Put what the late rows add to one column under the stored value.  Where the
 * order of the inputs does not matter they are simply added.
 */
static void
aggregation_put_under(const MergePlan *plan, MergeState *state, int c,
					  const MergeState *late, MergeRow **rows, int nrows)
{
	const FieldAggregator *function = plan->columns[c].aggregator->function;
	NullableDatum input = {
		.value = late->values[c],
		.isnull = late->isnull[c]
	};

	switch (function->order)
	{
		case AGGREGATOR_ANY_ORDER:
			for (int i = 0; i < nrows; i++)
			{
				if (!RowKindIsRetract(rows[i]->kind))
					aggregation_combine_column(plan, state, c, rows[i], false);
			}
			return;
		case AGGREGATOR_IN_ORDER:
			if (!input.isnull)
				merge_combine(plan, state, c, input, false, true);
			return;
		case AGGREGATOR_NEWEST:
			if (late->versions[c] == NULL ||
				sequence_compare(plan->sequence, late->versions[c], state->versions[c]) < 0)
				return;
			break;
		case AGGREGATOR_OLDEST:
			if (late->versions[c] == NULL ||
				(state->versions[c] != NULL &&
				 sequence_compare(plan->sequence, late->versions[c], state->versions[c]) >= 0))
				return;
			break;
	}
	state->values[c] = input.value;
	state->isnull[c] = input.isnull;
	state->versions[c] = late->versions[c];
}

/* Take back what a late row retracts; newer values have superseded some. */
static void
aggregation_retract_late(const MergePlan *plan, MergeState *state,
						 const MergeRow *row)
{
	for (int c = 0; c < plan->natts; c++)
	{
		if (!aggregation_folds(plan, c) || !MergeRowNames(row, c))
			continue;
		if (plan->columns[c].aggregator->function->order != AGGREGATOR_NEWEST)
			merge_retract(plan, state, c, row);
		else if (plan->versions >= 0)
			aggregation_retract_column(plan, state, c, row);
	}
}

/*
 * Merge the rows that are older than the stored one.  What they add is folded
 * among themselves and goes under the stored values; what they take back is
 * taken from the result.  A late removal, or one that another copy of the key
 * has seen, reaches only what is older than itself.
 */
static void
aggregation_fold_late(const MergePlan *plan, MergeState *state,
					  MergeRow **rows, int nrows)
{
	MergeState *late = merge_state_create(plan);

	for (int i = 0; i < nrows; i++)
	{
		if (rows[i]->removed != NULL)
			aggregation_bring_removal(plan, state, rows[i]->removed);
	}
	for (int i = nrows - 1; plan->remove_on_delete && i >= 0; i--)
	{
		if (rows[i]->kind == ROWKIND_DELETE)
		{
			aggregation_bring_removal(plan, state, rows[i]->sequence);
			rows += i + 1;
			nrows -= i + 1;
			break;
		}
	}

	/* what a removal has ended does not come back */
	while (nrows > 0 &&
		   sequence_compare(plan->sequence, rows[0]->sequence, state->removed) < 0)
	{
		rows++;
		nrows--;
	}
	late->removed = state->removed;

	for (int i = 0; i < nrows; i++)
	{
		if (!RowKindIsRetract(rows[i]->kind))
			merge_apply(plan, late, rows[i]);
	}
	for (int c = 0; late->exists && c < plan->natts; c++)
	{
		if (aggregation_folds(plan, c))
			aggregation_put_under(plan, state, c, late, rows, nrows);
	}
	for (int i = 0; i < nrows; i++)
	{
		if (RowKindIsRetract(rows[i]->kind) && !merge_ignores(plan, rows[i]))
			aggregation_retract_late(plan, state, rows[i]);
	}
}

/*
 * aggregation_fold
 *		Merges the rows of one statement, sorted by sequence and arrival, into
 *		the state as it was before the statement.
 */
void
aggregation_fold(const MergePlan *plan, MergeState *state, MergeRow **rows,
				 int nrows)
{
	int			nlate = 0;

	if (state->exists)
	{
		while (nlate < nrows &&
			   sequence_compare(plan->sequence, rows[nlate]->sequence, state->row_version) < 0)
			nlate++;
		if (nlate > 0)
			aggregation_fold_late(plan, state, rows, nlate);
	}
	for (int i = nlate; i < nrows; i++)
		merge_apply(plan, state, rows[i]);
}
