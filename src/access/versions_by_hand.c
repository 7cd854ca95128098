/*
 * versions_by_hand.c
 *	  The versions column of rows that are written without merging.
 *
 * What is in a versions column must always be its table's own, because column
 * numbers are followed through renames and names are not.  So every way into
 * the table comes by here: a restore before the primary key is there, ON
 * CONFLICT, UPDATE.
 *
 * UPDATE is the operator's correction: the columns whose values it changes are
 * of the row's sequence from then on, and the others keep their versions, also
 * where it changes the sequence itself.  Where it sets the versions, or is the
 * work of replication, they are taken as they are given.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/versions_by_hand.h"
#include "catalog/merge_plan.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "merge/versions.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"

/* Give one column of a slot another value. */
static void
slot_set_column(TupleTableSlot *slot, int column, Datum value, bool isnull)
{
	TupleDesc	tupdesc = slot->tts_tupleDescriptor;
	Datum	   *values = palloc(tupdesc->natts * sizeof(Datum));
	bool	   *nulls = palloc(tupdesc->natts * sizeof(bool));
	Oid			table = slot->tts_tableOid;
	ItemPointerData tid = slot->tts_tid;
	HeapTuple	tuple;

	slot_getallattrs(slot);
	memcpy(values, slot->tts_values, tupdesc->natts * sizeof(Datum));
	memcpy(nulls, slot->tts_isnull, tupdesc->natts * sizeof(bool));
	values[column] = value;
	nulls[column] = isnull;
	tuple = heap_form_tuple(tupdesc, values, nulls);
	ExecForceStoreHeapTuple(tuple, slot, false);
	slot->tts_tableOid = table;
	slot->tts_tid = tid;
	pfree(values);
	pfree(nulls);
	heap_freetuple(tuple);
}

/*
 * versions_by_hand_insert
 *		Makes the versions value of a row to be stored as it is the table's own.
 *		Raises ERRCODE_DATA_CORRUPTED for a bad one.
 */
void
versions_by_hand_insert(Relation relation, TupleTableSlot *slot)
{
	MergePlan  *plan = merge_plan_get_versions(relation);
	Datum		value;
	Datum		own;
	bool		isnull;

	if (plan == NULL)
		return;
	value = slot_getattr(slot, plan->versions + 1, &isnull);
	if (!isnull)
	{
		own = versions_own(plan, value);
		if (own != value)
			slot_set_column(slot, plan->versions, own, false);
	}
	merge_plan_release(plan);
}

/* Are two values of a column the same image? */
static bool
column_is_same(const MergeColumn *column, Datum a, bool a_isnull, Datum b, bool b_isnull)
{
	if (a_isnull || b_isnull)
		return a_isnull == b_isnull;
	return datum_image_eq(a, b, column->typbyval, column->typlen);
}

/*
 * The versions after an UPDATE by hand: state is the row before, values and
 * isnull are the row after.
 */
static void
versions_correct(const MergePlan *plan, MergeState *state, const Datum *values,
				 const bool *isnull)
{
	SequenceValue version = sequence_read(plan->sequence, values, isnull);

	for (int c = 0; c < plan->natts; c++)
	{
		const MergeColumn *column = &plan->columns[c];

		if (column->dropped)
			continue;
		if (!column_is_same(column, state->values[c], state->isnull[c], values[c], isnull[c]))
			state->versions[c] = version;
		state->values[c] = values[c];
		state->isnull[c] = isnull[c];
	}
	state->row_version = version;
	versions_store(plan, state);
}

/* The row at a TID, as the merge rules see it; its buffer is pinned. */
static void
versions_load_row(const MergePlan *plan, Relation relation, HeapTuple tuple,
				  MergeState *state)
{
	Datum	   *values = palloc(plan->natts * sizeof(Datum));
	bool	   *isnull = palloc(plan->natts * sizeof(bool));

	heap_deform_tuple(tuple, RelationGetDescr(relation), values, isnull);
	merge_state_load(plan, state, values, isnull);
}

/*
 * versions_by_hand_update
 *		Sets the versions of a row that is about to replace the one at tid.
 */
void
versions_by_hand_update(Relation relation, ItemPointer tid, TupleTableSlot *slot)
{
	MergePlan  *plan = merge_plan_get_versions(relation);
	MergeState *state;
	HeapTupleData old;
	Buffer		buffer;
	int			c;

	if (plan == NULL)
		return;
	c = plan->versions;
	old.t_self = *tid;
	if (SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA ||
		!heap_fetch(relation, SnapshotAny, &old, &buffer, false))
	{
		merge_plan_release(plan);
		versions_by_hand_insert(relation, slot);
		return;
	}
	slot_getallattrs(slot);
	state = merge_state_create(plan);
	versions_load_row(plan, relation, &old, state);
	if (!column_is_same(&plan->columns[c], state->values[c], state->isnull[c],
						slot->tts_values[c], slot->tts_isnull[c]))
		versions_by_hand_insert(relation, slot);
	else
	{
		versions_correct(plan, state, slot->tts_values, slot->tts_isnull);
		if (!column_is_same(&plan->columns[c], state->values[c], state->isnull[c],
							slot->tts_values[c], slot->tts_isnull[c]))
			slot_set_column(slot, c, state->values[c], state->isnull[c]);
	}
	ReleaseBuffer(buffer);
	merge_plan_release(plan);
}
