/*
 * merge.c
 *	  The state of a key, and how rows are merged into it.
 *
 * Everything that decides the content of a row goes through merge_apply (one
 * row, in the order of arrival) or merge_fold (all rows of a key that one
 * statement brings).
 *
 * Where a table has a sequence field, the order of arrival must not matter
 * within a statement.  Most rules get by with versions: each column remembers
 * the sequence of the row that set it, and a removal its own.  A few
 * functions, listagg for one, depend on the whole order; for them the rows of
 * the statement are sorted and folded again (MERGE_MEMORY_LOG).
 */
#include "postgres.h"

#include "merge/merge.h"
#include "merge/versions.h"
#include "utils/datum.h"

static const char *const engine_names[] = {
	[MERGE_DEDUPLICATE] = "deduplicate",
	[MERGE_PARTIAL_UPDATE] = "partial-update",
	[MERGE_AGGREGATION] = "aggregation",
	[MERGE_FIRST_ROW] = "first-row",
};

/* merge_engine_name: an engine's name, as options spell it */
const char *
merge_engine_name(MergeEngine engine)
{
	return engine_names[engine];
}

/*
 * merge_row_init
 *		Completes a row whose values, isnull and named are set: reads its kind
 *		and sequence, the columns that it lists and the versions that it brings,
 *		and makes the sequence fields that the statement does not name NULL
 *		(SEMANTICS, rule 32), in the arrays given.  What is read is allocated in
 *		CurrentMemoryContext.  Raises ERRCODE_INVALID_PARAMETER_VALUE for a bad
 *		row kind, ERRCODE_UNDEFINED_COLUMN for an unknown column in its list.
 */
void
merge_row_init(const MergePlan *plan, MergeRow *row)
{
	row->kind = ROWKIND_INSERT;
	if (plan->rowkind >= 0)
	{
		NullableDatum kind = {
			.value = row->values[plan->rowkind],
			.isnull = row->isnull[plan->rowkind]
		};

		row->kind = rowkind_parse(plan, kind);
	}

	merge_row_carry(plan, row);
	if (row->named != NULL)
	{
		for (int c = 0; c < plan->natts; c++)
		{
			const MergeColumn *column = &plan->columns[c];

			if ((column->sequence || column->group_sequence >= 0) && !row->named[c])
				row->isnull[c] = true;
		}
	}

	row->sequence = NULL;
	if (plan->sequence != NULL)
		row->sequence = sequence_read(plan->sequence, row->values, row->isnull);
	versions_read_row(plan, row);
}

/*
 * merge_values_copy
 *		Copies of a row's arrays, and of what they point to, in
 *		CurrentMemoryContext.
 */
void
merge_values_copy(const MergePlan *plan, const Datum *values, const bool *isnull,
				  Datum **values_copy, bool **isnull_copy)
{
	*values_copy = palloc(plan->natts * sizeof(Datum));
	*isnull_copy = palloc(plan->natts * sizeof(bool));
	memcpy(*isnull_copy, isnull, plan->natts * sizeof(bool));
	for (int c = 0; c < plan->natts; c++)
	{
		if (!isnull[c])
			(*values_copy)[c] = datumCopy(values[c], plan->columns[c].typbyval,
										  plan->columns[c].typlen);
	}
}

/*
 * merge_row_copy
 *		A copy of a row that depends on nothing but its statement's named array, in
 *		CurrentMemoryContext.
 */
MergeRow *
merge_row_copy(const MergePlan *plan, const MergeRow *row)
{
	MergeRow   *copy = palloc(sizeof(MergeRow));

	*copy = *row;
	merge_values_copy(plan, row->values, row->isnull, &copy->values, &copy->isnull);
	if (plan->sequence != NULL)
		copy->sequence = sequence_read(plan->sequence, copy->values, copy->isnull);
	if (row->versions != NULL)
		versions_read_row(plan, copy);
	if (row->lists)
	{
		bool	   *named = palloc(plan->natts * sizeof(bool));

		memcpy(named, row->named, plan->natts * sizeof(bool));
		copy->named = named;
	}
	return copy;
}

/*
 * merge_row_free
 *		Frees a copy that merge_row_copy made.
 */
void
merge_row_free(const MergePlan *plan, MergeRow *row)
{
	for (int c = 0; c < plan->natts; c++)
	{
		if (!row->isnull[c] && !plan->columns[c].typbyval)
			pfree(DatumGetPointer(row->values[c]));
	}
	if (row->sequence != NULL)
		pfree(row->sequence);
	if (row->versions != NULL)
		pfree(row->versions);
	if (row->lists)
		pfree(unconstify(bool *, row->named));
	pfree(row->values);
	pfree(row->isnull);
	pfree(row);
}

/*
 * merge_state_create
 *		The state of a key without a row, in CurrentMemoryContext.
 */
MergeState *
merge_state_create(const MergePlan *plan)
{
	bool		versioned = plan->memory != MERGE_MEMORY_NONE && plan->sequence != NULL;
	Size		size = MAXALIGN(sizeof(MergeState)) + plan->natts * (sizeof(Datum) + sizeof(bool)) +
		(versioned ? plan->natts * sizeof(SequenceValue) : 0);
	MergeState *state = palloc0(size);

	/* in one piece: folding looks at many of them in turn */
	state->values = (Datum *) ((char *) state + MAXALIGN(sizeof(MergeState)));
	if (versioned)
		state->versions = (SequenceValue *) (state->values + plan->natts);
	state->isnull = (bool *) (state->values + plan->natts) +
		(versioned ? plan->natts * sizeof(SequenceValue) : 0);
	merge_state_clear(plan, state);
	return state;
}

/*
 * merge_state_clear
 *		Makes the state that of a key without a row and without memory.
 */
void
merge_state_clear(const MergePlan *plan, MergeState *state)
{
	state->exists = false;
	state->hidden = false;
	state->row_version = NULL;
	state->removed = NULL;
	memset(state->isnull, true, plan->natts * sizeof(bool));
	if (state->versions != NULL)
		memset(state->versions, 0, plan->natts * sizeof(SequenceValue));
}

/*
 * merge_state_load
 *		Makes the state that of a stored row.  Unless its versions column says
 *		otherwise, every column counts as set by the row's sequence, except
 *		NULLs of columns to which NULL is no value.  The state points into the
 *		arrays' values.  Raises ERRCODE_DATA_CORRUPTED for a bad versions value.
 */
void
merge_state_load(const MergePlan *plan, MergeState *state,
				 const Datum *values, const bool *isnull)
{
	merge_state_clear(plan, state);
	state->exists = true;
	memcpy(state->values, values, plan->natts * sizeof(Datum));
	memcpy(state->isnull, isnull, plan->natts * sizeof(bool));

	if (plan->sequence == NULL)
		return;
	state->row_version = sequence_read(plan->sequence, values, isnull);
	if (state->versions == NULL)
		return;
	for (int c = 0; c < plan->natts; c++)
		state->versions[c] = versions_implied(plan, c, isnull[c], state->row_version);
	if (plan->versions >= 0 && !isnull[plan->versions])
		versions_read(plan, values[plan->versions], state->versions, &state->removed);
}

/*
 * merge_column_is_versioned
 *		Does the column follow the sequence of the row that set it?
 */
bool
merge_column_is_versioned(const MergePlan *plan, int c)
{
	const MergeColumn *column = &plan->columns[c];

	if (column->dropped || column->generated || column->key || column->sequence ||
		column->group >= 0 || column->group_sequence >= 0 || c == plan->rowkind ||
		c == plan->versions || c == plan->carried)
		return false;
	return column->aggregator == NULL ||
		column->aggregator->function->order == AGGREGATOR_NEWEST ||
		column->aggregator->function->order == AGGREGATOR_OLDEST;
}

/*
 * merge_state_is_plain
 *		Does the row alone say all that is known of the state, so that
 *		merge_state_load would give the same?  Columns that the statement does
 *		not name (named, as in MergeRow) get no values, unless their DEFAULT is
 *		one, so their versions matter only to a removal, and where a row that lists
 *		its columns may be followed by one that does not and brings a DEFAULT.  Not
 *		for rules that depend on the whole order.
 */
bool
merge_state_is_plain(const MergePlan *plan, const MergeState *state,
					 const bool *named)
{
	if (state->hidden)
		return false;
	/* what a versions column keeps is in the row */
	if (plan->versions >= 0 && state->exists)
		return true;
	if (state->removed != NULL)
		return false;
	if (!state->exists || state->versions == NULL ||
		plan->engine == MERGE_DEDUPLICATE)
		return true;
	for (int c = 0; c < plan->natts; c++)
	{
		if (!merge_column_is_versioned(plan, c) ||
			(named != NULL && !named[c] && !plan->remove_on_delete &&
			 plan->carried < 0 && !merge_column_contributes(plan, c)))
			continue;
		if (sequence_compare(plan->sequence, state->versions[c],
							 versions_implied(plan, c, state->isnull[c], state->row_version)) != 0)
			return false;
	}
	return true;
}

/*
 * merge_ignores
 *		Is the row one that the table's options drop?  It changes nothing, its
 *		sequence included (SEMANTICS, rule 5).
 */
bool
merge_ignores(const MergePlan *plan, const MergeRow *row)
{
	return (row->kind == ROWKIND_UPDATE_BEFORE && plan->ignore_update_before) ||
		(RowKindIsRetract(row->kind) && plan->ignore_delete);
}

/*
 * merge_apply
 *		Merges one row into the state, which then points into the row's values
 *		too; what is computed is allocated in CurrentMemoryContext.  Raises
 *		ERRCODE_FEATURE_NOT_SUPPORTED for a retraction that the rules do not
 *		allow, and whatever the aggregate functions raise.
 */
void
merge_apply(const MergePlan *plan, MergeState *state, const MergeRow *row)
{
	if (merge_ignores(plan, row))
		return;

	switch (plan->engine)
	{
		case MERGE_DEDUPLICATE:
			deduplicate_apply(plan, state, row);
			break;
		case MERGE_PARTIAL_UPDATE:
			partial_update_apply(plan, state, row);
			break;
		case MERGE_AGGREGATION:
			aggregation_apply(plan, state, row);
			break;
		case MERGE_FIRST_ROW:
			first_row_apply(plan, state, row);
			break;
	}
}

/*
 * merge_fold
 *		Merges all rows that a statement brings for one key into the state as
 *		it was before the statement.  rows are in merge_rows_compare's order.
 *		Memory and errors as with merge_apply.
 */
void
merge_fold(const MergePlan *plan, MergeState *state, MergeRow **rows, int nrows)
{
	if (plan->memory == MERGE_MEMORY_LOG)
	{
		aggregation_fold(plan, state, rows, nrows);
		return;
	}
	for (int i = 0; i < nrows; i++)
		merge_apply(plan, state, rows[i]);
}

/*
 * merge_rows_compare
 *		The order in which merge_fold wants the rows of one key: by sequence
 *		and then by arrival where the rules depend on the whole order, else by
 *		arrival.
 */
int
merge_rows_compare(const MergePlan *plan, const MergeRow *a, const MergeRow *b)
{
	if (plan->memory == MERGE_MEMORY_LOG)
	{
		int			result = sequence_compare(plan->sequence, a->sequence,
											  b->sequence);

		if (result != 0)
			return result;
	}
	return (a->arrival > b->arrival) - (a->arrival < b->arrival);
}
