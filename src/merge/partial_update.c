/*
 * partial_update.c
 *	  Column by column, the newest non-NULL value stays.
 *
 * Columns in a sequence group follow the group's own sequence fields, in the
 * order of arrival; the others follow sequence.field, or the order of arrival
 * without one (SEMANTICS, rules 10, 11 and 15 to 19).
 */
#include "postgres.h"

#include "merge/merge.h"

/* Is the column one that every non-NULL value replaces? */
static bool
partial_update_is_free(const MergePlan *plan, int c)
{
	const MergeColumn *column = &plan->columns[c];

	return !column->dropped && !column->generated && !column->key &&
		!column->sequence && column->group < 0 && column->group_sequence < 0 &&
		c != plan->rowkind && c != plan->versions && c != plan->carried;
}

/*
 * Remove the row as of a removal that a row is, or brings: what is newer than
 * the removal stays, so that the order of the rows of a statement does not
 * matter.
 */
static void
partial_update_remove(const MergePlan *plan, MergeState *state,
					  const MergeRow *row, SequenceValue removed)
{
	const SequenceOrder *order = plan->sequence;

	if (order == NULL)
	{
		state->exists = false;
		return;
	}
	if (sequence_compare(order, removed, state->removed) < 0)
		return;
	state->removed = removed;
	if (!state->exists)
		return;
	if (sequence_compare(order, removed, state->row_version) >= 0)
	{
		state->exists = false;
		return;
	}
	for (int c = 0; c < plan->natts; c++)
	{
		if (!partial_update_is_free(plan, c) || state->versions[c] == NULL ||
			sequence_compare(order, removed, state->versions[c]) < 0)
			continue;
		/* what is newer began a new row, with DEFAULTs where it names nothing */
		if (MergeRowNames(row, c))
			state->isnull[c] = true;
		else
			merge_take_column(state, c, row);
		state->versions[c] = NULL;
	}
}

/* Apply a row to the columns outside every group. */
static void
partial_update_free_columns(const MergePlan *plan, MergeState *state,
							const MergeRow *row)
{
	for (int c = 0; c < plan->natts; c++)
	{
		if (!partial_update_is_free(plan, c) || !MergeRowNames(row, c) ||
			!merge_row_gives(plan, row, c))
			continue;
		if (state->versions != NULL)
		{
			SequenceValue version = MergeRowVersion(row, c);

			if (sequence_compare(plan->sequence, version, state->versions[c]) < 0 ||
				(row->versions != NULL &&
				 sequence_compare(plan->sequence, version, state->removed) < 0))
				continue;
			state->versions[c] = version;
		}
		merge_take_column(state, c, row);
	}
}

/*
 * How a row stands to a group: does it carry the group's sequence at all, is
 * it newer, and did the row have the group before?
 */
typedef struct GroupStanding
{
	bool		carried;
	bool		newer;
	bool		first;
} GroupStanding;

static GroupStanding
partial_update_standing(const SequenceGroup *group, const MergeState *state,
						const MergeRow *row)
{
	GroupStanding standing = {false, false, false};
	SequenceValue incoming = sequence_read(&group->order, row->values, row->isnull);
	SequenceValue stored;

	if (sequence_is_null(&group->order, incoming))
		return standing;
	stored = sequence_read(&group->order, state->values, state->isnull);
	standing.carried = true;
	standing.newer = sequence_compare(&group->order, incoming, stored) >= 0;
	standing.first = sequence_is_null(&group->order, stored);
	return standing;
}

/* Give the state a group's sequence fields, all together. */
static void
partial_update_advance_group(const SequenceGroup *group, MergeState *state,
							 const MergeRow *row)
{
	for (int i = 0; i < group->order.ncolumns; i++)
		merge_take_column(state, group->order.columns[i], row);
}

/* Apply a row to the columns of one group. */
static void
partial_update_group(const MergePlan *plan, const SequenceGroup *group,
					 MergeState *state, const MergeRow *row)
{
	GroupStanding standing = partial_update_standing(group, state, row);

	if (!standing.carried)
		return;
	for (int i = 0; i < group->ncolumns; i++)
	{
		int			c = group->columns[i];

		if (!MergeRowNames(row, c))
			continue;
		if (plan->columns[c].aggregator != NULL)
		{
			NullableDatum input = {
				.value = row->values[c],
				.isnull = row->isnull[c]
			};

			if (input.isnull && standing.newer && merge_row_gives(plan, row, c) &&
				plan->columns[c].aggregator->function->order == AGGREGATOR_NEWEST)
				state->isnull[c] = true;
			else
				merge_combine(plan, state, c, input, standing.first, !standing.newer);
		}
		else if (standing.newer)
			merge_take_column(state, c, row);
	}
	if (standing.newer)
		partial_update_advance_group(group, state, row);
}

/* Retract a row from the columns of one group; they may be unnamed. */
static void
partial_update_retract_group(const MergePlan *plan, const SequenceGroup *group,
							 MergeState *state, const MergeRow *row)
{
	GroupStanding standing = partial_update_standing(group, state, row);

	if (!standing.carried)
		return;
	for (int i = 0; i < group->ncolumns; i++)
	{
		int			c = group->columns[i];

		if (plan->columns[c].aggregator != NULL)
		{
			if (MergeRowNames(row, c))
				merge_retract(plan, state, c, row);
		}
		else if (standing.newer)
			state->isnull[c] = true;
	}
	if (standing.newer)
		partial_update_advance_group(group, state, row);
}

/* Does this -D row remove the whole row, by a group that it carries? */
static bool
partial_update_group_removes(const MergePlan *plan, const MergeState *state,
							 const MergeRow *row)
{
	if (row->kind != ROWKIND_DELETE)
		return false;
	for (int i = 0; i < plan->ngroups; i++)
	{
		if (plan->groups[i].removes &&
			partial_update_standing(&plan->groups[i], state, row).newer)
			return true;
	}
	return false;
}

/* Apply a -D or -U row. */
static void
partial_update_retract(const MergePlan *plan, MergeState *state,
					   const MergeRow *row)
{
	if (plan->remove_on_delete)
	{
		if (row->kind == ROWKIND_DELETE)
			partial_update_remove(plan, state, row, row->sequence);
		return;
	}
	if (plan->ngroups == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" cannot retract rows", plan->table),
				 errdetail("Merge engine partial-update received a row of kind %s.",
						   rowkind_name(row->kind)),
				 errhint("Set \"ignore-delete\" to drop such rows, \"partial-update.remove-record-on-delete\" to let -D remove the row, or use sequence groups.")));

	/* what is retracted of a key without a row waits for a row to be seen */
	if (!state->exists && !state->hidden)
	{
		merge_create_row(plan, state, row);
		state->exists = false;
		state->hidden = true;
	}
	if (partial_update_group_removes(plan, state, row))
	{
		state->exists = false;
		state->hidden = false;
		return;
	}
	for (int i = 0; i < plan->ngroups; i++)
		partial_update_retract_group(plan, &plan->groups[i], state, row);

	/* a retraction advances its groups only, and is the newest row's kind */
	if (plan->rowkind >= 0 &&
		(plan->sequence == NULL ||
		 sequence_compare(plan->sequence, row->sequence, state->row_version) >= 0))
		merge_take_column(state, plan->rowkind, row);
}

/*
 * partial_update_apply
 *		Merges a row column by column.  Raises ERRCODE_FEATURE_NOT_SUPPORTED
 *		for a retraction without a rule for it.
 */
void
partial_update_apply(const MergePlan *plan, MergeState *state,
					 const MergeRow *row)
{
	if (RowKindIsRetract(row->kind))
	{
		partial_update_retract(plan, state, row);
		return;
	}
	if (row->removed != NULL)
		partial_update_remove(plan, state, row, row->removed);
	if (plan->sequence != NULL &&
		sequence_compare(plan->sequence, row->sequence, state->removed) < 0)
		return;

	if (state->hidden)
	{
		state->exists = true;
		state->hidden = false;
	}
	else if (!state->exists)
		merge_create_row(plan, state, row);
	partial_update_free_columns(plan, state, row);
	for (int i = 0; i < plan->ngroups; i++)
		partial_update_group(plan, &plan->groups[i], state, row);
	merge_advance(plan, state, row);
}
