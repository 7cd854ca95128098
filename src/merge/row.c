/*
 * row.c
 *	  What the engines have in common: taking, creating and folding columns.
 */
#include "postgres.h"

#include "fmgr.h"
#include "merge/merge.h"

/*
 * merge_take_column
 *		Sets a column of the state from the row.
 */
void
merge_take_column(MergeState *state, int column, const MergeRow *row)
{
	state->values[column] = row->values[column];
	state->isnull[column] = row->isnull[column];
}

/*
 * merge_row_gives
 *		Does a row give a value for a named column to which NULL is no value?
 *		A NULL counts where the table says so, where the row itself lists the
 *		column, and where another copy of the key was given it.
 */
bool
merge_row_gives(const MergePlan *plan, const MergeRow *row, int column)
{
	if (!row->isnull[column])
		return true;
	if (row->versions != NULL)
		return row->versions[column] != NULL;
	return row->lists || plan->columns[column].null_clears;
}

/*
 * merge_take_row
 *		Makes the row the state's row, whole.
 */
void
merge_take_row(const MergePlan *plan, MergeState *state, const MergeRow *row)
{
	memcpy(state->values, row->values, plan->natts * sizeof(Datum));
	memcpy(state->isnull, row->isnull, plan->natts * sizeof(bool));
	state->exists = true;
	state->row_version = row->sequence;
}

/* Has nobody given the column of a row, as far as the row says? */
static bool
merge_row_defaults(const MergePlan *plan, const MergeRow *row, int c)
{
	return !MergeRowNames(row, c) ||
		(row->versions != NULL && row->versions[c] == NULL && merge_column_is_versioned(plan, c));
}

/*
 * merge_column_contributes
 *		Does a row give a value to the column even if the statement does not name
 *		it: its DEFAULT, or NULL (SEMANTICS, rule 32)?
 */
bool
merge_column_contributes(const MergePlan *plan, int column)
{
	const AggregatorColumn *aggregator = plan->columns[column].aggregator;

	return plan->engine == MERGE_AGGREGATION && aggregator != NULL &&
		aggregator->function->order != AGGREGATOR_NEWEST;
}

/*
 * merge_create_row
 *		Begins the row of a new key: its key, the DEFAULTs of the columns that
 *		the statement does not name, or that another copy of the key has, and
 *		NULLs.  A DEFAULT has no version: any row of the statement that names
 *		the column replaces it.  In an aggregation table it is a contribution,
 *		which the caller makes (SEMANTICS, rule 32).
 */
void
merge_create_row(const MergePlan *plan, MergeState *state, const MergeRow *row)
{
	state->exists = true;
	state->hidden = false;
	state->row_version = NULL;
	for (int c = 0; c < plan->natts; c++)
	{
		if (plan->columns[c].key ||
			(merge_row_defaults(plan, row, c) && !merge_column_contributes(plan, c) &&
			 c != plan->carried))
			merge_take_column(state, c, row);
		else
			state->isnull[c] = true;
		if (state->versions != NULL)
			state->versions[c] = NULL;
	}
}

/*
 * merge_advance
 *		Gives the state the sequence fields, all together, and the row kind of
 *		a row that is newest.
 */
void
merge_advance(const MergePlan *plan, MergeState *state, const MergeRow *row)
{
	if (plan->sequence != NULL)
	{
		if (sequence_compare(plan->sequence, row->sequence, state->row_version) < 0)
			return;
		state->row_version = row->sequence;
		for (int i = 0; i < plan->sequence->ncolumns; i++)
			merge_take_column(state, plan->sequence->columns[i], row);
	}
	if (plan->rowkind >= 0)
		merge_take_column(state, plan->rowkind, row);
}

/* Put a function's result into the state, fitted to the column's typmod. */
static void
merge_set_column(const MergePlan *plan, MergeState *state, int c,
				 NullableDatum result)
{
	const MergeColumn *column = &plan->columns[c];

	if (!result.isnull && column->coerce != NULL)
		result.value = FunctionCall3Coll(column->coerce, column->collation,
										 result.value,
										 Int32GetDatum(column->typmod),
										 BoolGetDatum(false));
	state->values[c] = result.value;
	state->isnull[c] = result.isnull;
}

/*
 * merge_combine
 *		Folds an input into a column by its aggregate function: the first one
 *		that the column ever had, a late one, or a newer one.
 */
void
merge_combine(const MergePlan *plan, MergeState *state, int c,
			  NullableDatum input, bool first, bool late)
{
	AggregatorColumn *aggregator = plan->columns[c].aggregator;
	const FieldAggregator *function = aggregator->function;
	NullableDatum accumulator = {
		.value = state->values[c],
		.isnull = state->isnull[c]
	};

	/* to the oldest value, a NULL that was there is another than none */
	if (first && function->takes_null && function->order == AGGREGATOR_OLDEST)
		merge_set_column(plan, state, c, input);
	else if (!late)
		merge_set_column(plan, state, c,
						 function->combine(aggregator, accumulator, input));
	else if (function->combine_late != NULL)
		merge_set_column(plan, state, c,
						 function->combine_late(aggregator, accumulator, input));
	else
		merge_set_column(plan, state, c,
						 function->combine(aggregator, input, accumulator));
}

/*
 * merge_retract
 *		Takes a row's value out of a column, unless fields.X.ignore-retract
 *		says not to.  Raises ERRCODE_FEATURE_NOT_SUPPORTED where the function
 *		cannot (SEMANTICS, rule 24).
 */
void
merge_retract(const MergePlan *plan, MergeState *state, int c,
			  const MergeRow *row)
{
	AggregatorColumn *aggregator = plan->columns[c].aggregator;
	const FieldAggregator *function = aggregator->function;
	NullableDatum accumulator = {
		.value = state->values[c],
		.isnull = state->isnull[c]
	};
	NullableDatum input = {
		.value = row->values[c],
		.isnull = row->isnull[c]
	};

	if (aggregator->ignore_retract)
		return;
	if (function->retract == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("aggregate function %s of column \"%s\" of table \"%s\" cannot retract",
						function->name, plan->columns[c].name, plan->table),
				 errdetail("A row of kind %s asks to take a value back.",
						   rowkind_name(row->kind)),
				 errhint("Set \"fields.%s.ignore-retract\" to keep the column as it is, or \"ignore-delete\" to drop such rows.",
						 plan->columns[c].name)));
	merge_set_column(plan, state, c,
					 function->retract(aggregator, accumulator, input));
}
