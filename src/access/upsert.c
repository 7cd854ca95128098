/*
 * upsert.c
 *	  Find the stored row, merge, and have the result written.
 *
 * The way of a key:
 *
 * 1. Probe the primary key's index with a dirty snapshot.  A live row is what
 *	  we are looking for.  If there is none, but another transaction is
 *	  inserting one, or if it is changing the live one, wait for it and look
 *	  again.
 * 2. Merge the incoming rows into the stored one.
 * 3. If that changed nothing, write nothing and lock nothing.
 * 4. If there is a stored row, heap_update or heap_delete it.  They look again
 *	  whether it is still the row that was read; if not, back to 1.  So no lock
 *	  is needed, and none is logged.
 * 5. If there is none, insert; if another session was first, back to 1.
 *
 * Where several keys are merged, they come in the order of the primary key and
 * are settled in that order: so statements cannot deadlock.
 */
#include "postgres.h"

#include "access/before_insert.h"
#include "access/heapam.h"
#include "access/index_shim.h"
#include "access/row_security.h"
#include "access/stats.h"
#include "access/tableam.h"
#include "access/upsert.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "merge/versions.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/*
 * May the user see any row of the table?  Constraints show him those columns
 * of a failing row that he has sent; but those of a merged row may be stored
 * ones.
 */
static bool
upsert_may_show(Oid relid)
{
	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT, ACLMASK_ALL) == ACLCHECK_OK;
}

/*
 * Name the key that was being merged.  Its text is made by output functions,
 * so only under errors that are the data's, not the server's.
 */
static void
upsert_error_callback(void *arg)
{
	const UpsertError *error = arg;
	const MergeTarget *target = error->target;
	int			category = ERRCODE_TO_CATEGORY(geterrcode());
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS] = {false};
	char	   *key = NULL;

	if (error->rows == NULL || error->rows[0]->values == NULL)
		return;
	if ((geterrcode() == ERRCODE_CHECK_VIOLATION ||
		 geterrcode() == ERRCODE_NOT_NULL_VIOLATION) &&
		!upsert_may_show(target->relid))
		errdetail("The merged row is not shown to those who may not read all of its columns.");
	if (target->pkey != NULL &&
		(category == ERRCODE_DATA_EXCEPTION ||
		 category == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION ||
		 category == ERRCODE_FEATURE_NOT_SUPPORTED))
	{
		for (int i = 0; i < target->nkeys; i++)
			values[i] = error->rows[0]->values[target->pkey_columns[i]];
		key = BuildIndexValueDescription(target->pkey, values, isnull);
	}
	if (key != NULL)
		errcontext("merging key %s of table \"%s\"", key, target->plan->table);
	else
		errcontext("merging a row of table \"%s\"", target->plan->table);
}

/*
 * upsert_error_begin
 *		From here on errors tell which key was being merged: error->rows, if not
 *		NULL.
 */
void
upsert_error_begin(UpsertError *error, MergeTarget *target)
{
	error->target = target;
	error->rows = NULL;
	error->callback.callback = upsert_error_callback;
	error->callback.arg = error;
	error->callback.previous = error_context_stack;
	error_context_stack = &error->callback;
}

/* upsert_error_end: up to here */
void
upsert_error_end(UpsertError *error)
{
	error_context_stack = error->callback.previous;
}

/*
 * The stored row must be one that the transaction's snapshot can see, unless
 * we wrote it ourselves (as with ON CONFLICT).  Reading it with that snapshot
 * tells serializable transactions about it.
 */
static void
upsert_check_snapshot(Upsert *upsert)
{
	TupleTableSlot *stored = upsert->target->stored;
	HeapTuple	tuple = ((HeapTupleTableSlot *) stored)->tuple;
	TupleTableSlot *seen;
	bool		visible;

	if (TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)))
		return;
	seen = MakeSingleTupleTableSlot(stored->tts_tupleDescriptor,
									&TTSOpsBufferHeapTuple);
	visible = table_tuple_fetch_row_version(upsert->relation, &stored->tts_tid,
											GetActiveSnapshot(), seen);
	ExecDropSingleTupleTableSlot(seen);
	if (!visible)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("could not serialize access due to concurrent update"),
				 errdetail("A row of table \"%s\" to merge into was written after the transaction's snapshot was taken.",
						   RelationGetRelationName(upsert->relation)),
				 errhint("The transaction might succeed if retried.")));
}

/*
 * Find the live row of the key, into target->stored, which then pins it.
 * Waits for transactions that are about to decide which row that is.
 */
static void
upsert_find(Upsert *upsert)
{
	const Datum *values = upsert->rows[0]->values;
	KeyScan		once;
	KeyScan    *scan = upsert->scan;
	KeyScanResult result;

	if (scan == NULL)
	{
		scan = &once;
		key_scan_begin(scan, upsert->target, upsert->relation, 1);
	}
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		result = key_scan_find(scan, values, upsert->again);
		upsert->again = true;
		if (result != KEY_BUSY)
			break;
		before_insert_unlock(upsert->target);
		key_holder_wait(&scan->holder, upsert->relation);
	}
	if (scan == &once)
		key_scan_release(scan);

	upsert->found = result == KEY_FOUND;
	if (upsert->found)
	{
		before_insert_unlock(upsert->target);
		if (IsolationUsesXactSnapshot())
			upsert_check_snapshot(upsert);
		slot_getallattrs(upsert->target->stored);
	}
}

/*
 * Does the key have a row that was not found?  A new row would be refused by the
 * primary key's index; but who writes nothing must look.
 */
static bool
upsert_missed_row(Upsert *upsert)
{
	MergeTarget *target = upsert->target;

	target_set_keys(target, upsert->rows[0]->values);
	return key_scan_has_row(upsert->relation, target->pkey, target->scankeys,
							target->nkeys, target->stored);
}

/*
 * Is the merged row, image by image, the stored one?  Generated columns
 * follow from the others.
 */
static bool
upsert_is_unchanged(const Upsert *upsert)
{
	const MergePlan *plan = upsert->target->plan;
	const MergeState *state = upsert->target->state;
	const TupleTableSlot *stored = upsert->target->stored;

	for (int c = 0; c < plan->natts; c++)
	{
		const MergeColumn *column = &plan->columns[c];

		if (column->dropped || column->generated)
			continue;
		if (state->isnull[c] != stored->tts_isnull[c])
			return false;
		if (!state->isnull[c] &&
			state->values[c] != stored->tts_values[c] &&
			!datum_image_eq(state->values[c], stored->tts_values[c],
							column->typbyval, column->typlen))
			return false;
	}
	return true;
}

/*
 * Merge the incoming rows into what is stored.  Returns the key's entry in the
 * statement's memory, and whether the entry knew nothing of the stored row.
 */
static KeyEntry *
upsert_merge(Upsert *upsert, bool *fresh)
{
	MergeTarget *target = upsert->target;
	KeyEntry   *entry = NULL;

	*fresh = true;
	if (upsert->found)
		merge_state_load(target->plan, target->state,
						 target->stored->tts_values, target->stored->tts_isnull);
	else
	{
		merge_state_clear(target->plan, target->state);
		target->state->removed = upsert->tombstone.removed;
	}

	if (target->memory != NULL && upsert->remember)
	{
		entry = key_memory_find(target->memory, upsert->rows[0]->values);
		if (target->by_trigger && upsert->found && before_insert_is_left(upsert))
			key_memory_locate(entry, &target->stored->tts_tid);
		*fresh = !key_memory_is_current(entry, upsert->found ? &target->stored->tts_tid : NULL);
	}
	if (*fresh)
		merge_fold(target->plan, target->state, upsert->rows, upsert->nrows);
	else
		key_memory_merge(target->memory, entry, target->state,
						 upsert->rows, upsert->nrows);
	versions_store(target->plan, target->state);
	return entry;
}

/* What is remembered of a key that has no row. */
static void
upsert_read_tombstone(Upsert *upsert)
{
	MergeTarget *target = upsert->target;

	if (upsert->tombstone.cleared)
		return;
	memset(&upsert->tombstone, 0, sizeof(Tombstone));
	if (target->plan->tombstones && !upsert->found)
		tombstone_read(target, upsert->tombstones, upsert->rows[0]->values,
					   &upsert->tombstone);
}

/*
 * Find the key's state, and merge.  A row that goes into a batch is taken to have
 * no tombstone as long as none has been met: it is looked for when the row is
 * inserted, anyway.
 */
static KeyEntry *
upsert_find_and_merge(Upsert *upsert, bool *fresh)
{
	MergeTarget *target = upsert->target;
	bool		hopeful;
	KeyEntry   *entry;

	upsert_find(upsert);
	if (upsert->found && target->row_security != NULL)
		row_security_check_stored(target, upsert->relation, CMD_SELECT);
	hopeful = !upsert->found && insert_batch_is_hopeful(upsert);
	if (hopeful)
		memset(&upsert->tombstone, 0, sizeof(Tombstone));
	else
		upsert_read_tombstone(upsert);
	entry = upsert_merge(upsert, fresh);
	if (hopeful && !target->state->exists)
	{
		upsert_read_tombstone(upsert);
		entry = upsert_merge(upsert, fresh);
	}
	return entry;
}

/*
 * A TombstoneCheck: does the key still have no row, and is none about to come?
 * Waits for nothing but the outcome of insertions that can be taken back.
 */
static bool
upsert_still_absent(void *arg)
{
	Upsert	   *upsert = arg;
	KeyScan		scan;
	KeyScanResult result;

	key_scan_begin(&scan, upsert->target, upsert->relation, 1);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		result = key_scan_find(&scan, upsert->rows[0]->values, true);
		if (result != KEY_BUSY || scan.holder.token == 0)
			break;
		key_holder_wait(&scan.holder, upsert->relation);
	}
	key_scan_release(&scan);
	ExecClearTuple(upsert->target->stored);
	return result == KEY_ABSENT && !upsert_missed_row(upsert);
}

/*
 * A key that has no row was removed, perhaps: remember it.  Returns false if
 * there is a row, or one may have come up meanwhile.
 */
static bool
upsert_remove_nothing(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	SequenceValue removed = target->state->removed;

	if (!target->plan->tombstones || removed == NULL ||
		sequence_compare(target->plan->sequence, removed, upsert->tombstone.removed) <= 0)
		return upsert->tombstone.found || !upsert_missed_row(upsert);
	/* the keys before this one come first */
	if (insert_batch_flush(upsert))
		return false;
	return (!target->by_trigger || before_insert_lock(upsert)) &&
		tombstone_write(target, upsert->tombstones, upsert->rows[0]->values, removed,
						upsert_still_absent, upsert);
}

/* One try at a key; false means that another session interfered. */
static bool
upsert_try(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	MergeState *state = target->state;
	KeyEntry   *entry;
	bool		fresh;
	const ItemPointerData *stored_tid = NULL;

	upsert->written = NULL;
	entry = upsert_find_and_merge(upsert, &fresh);

	if (!upsert->found && !state->exists)
	{
		upsert->outcome = UPSERT_NOTHING;
		if (!upsert_remove_nothing(upsert))
			return false;
	}
	else if (!upsert->found)
	{
		upsert->outcome = UPSERT_INSERTED;
		if (insert_batch_add(upsert))
			return true;
		if (insert_batch_flush(upsert))
			return false;
		if (!(target->by_trigger ? before_insert_leave(upsert) : upsert_insert(upsert)))
			return false;
		stored_tid = &upsert->written->t_self;
	}
	else if (state->exists && upsert_is_unchanged(upsert))
	{
		upsert->outcome = UPSERT_UNCHANGED;
		stored_tid = &target->stored->tts_tid;
	}
	else
	{
		/* the keys before this one come first */
		if (insert_batch_flush(upsert))
			return false;
		upsert->outcome = state->exists ? UPSERT_UPDATED : UPSERT_REMOVED;
		if (!(state->exists ? upsert_update(upsert) : upsert_remove(upsert)))
			return false;
		if (state->exists)
			stored_tid = &upsert->written->t_self;
		else if (target->plan->tombstones && state->removed != NULL)
			(void) tombstone_write(target, upsert->tombstones, upsert->rows[0]->values,
								   state->removed, NULL, NULL);
	}

	if (target->memory != NULL && upsert->remember)
		key_memory_save(target->memory, entry, fresh,
						upsert->found ? target->stored->tts_values : NULL,
						upsert->found ? target->stored->tts_isnull : NULL,
						upsert->tombstone.removed,
						state, upsert->rows, upsert->nrows, stored_tid);
	return true;
}

/*
 * upsert_key
 *		Merges the rows of one key, in merge_rows_compare's order, into the
 *		table.  On return upsert->outcome tells what became of them; the stored
 *		row, where one was found, is still in target->stored.  What is computed
 *		is allocated in target->row_context, which the caller resets.
 */
void
upsert_key(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	MemoryContext oldcontext = MemoryContextSwitchTo(target->row_context);

	upsert->error->rows = upsert->rows;
	upsert->tombstone.cleared = false;
	while (!upsert_try(upsert))
		ExecClearTuple(target->stored);
	stats_count_key(upsert);
	MemoryContextSwitchTo(oldcontext);
}

/* Give the slot the row that is stored now, for whoever looks at it next. */
static void
upsert_fill_slot(Upsert *upsert, TupleTableSlot *slot)
{
	Relation	relation = upsert->relation;
	bool		observed = upsert->target->observed;
	HeapTuple	tuple;

	switch (upsert->outcome)
	{
		case UPSERT_INSERTED:
		case UPSERT_UPDATED:
			if (observed)
				ExecForceStoreHeapTuple(upsert->written, slot, false);
			slot->tts_tid = upsert->written->t_self;
			break;
		case UPSERT_UNCHANGED:
			tuple = ((HeapTupleTableSlot *) upsert->target->stored)->tuple;
			if (observed)
				ExecForceStoreHeapTuple(tuple, slot, false);
			slot->tts_tid = tuple->t_self;
			break;
		case UPSERT_REMOVED:
		case UPSERT_NOTHING:
			if (relation->trigdesc != NULL && relation->trigdesc->trig_insert_after_row)
				upsert_store_passing_row(upsert, slot);
			else
				ItemPointerSetUnstored(&slot->tts_tid);
			break;
	}
	/* a virtual slot would still point into the row's memory */
	if (observed)
		ExecMaterializeSlot(slot);
	slot->tts_tableOid = RelationGetRelid(relation);
}

/*
 * upsert_read_row
 *		Reads an incoming row, and which of its columns are there, from a slot.
 *		The arrays are the target's, until the next row is read; values passed by
 *		reference still point into the slot.  What else is read is allocated in
 *		CurrentMemoryContext.
 */
void
upsert_read_row(MergeTarget *target, TupleTableSlot *slot, MergeRow *row)
{
	const MergePlan *plan = target->plan;

	slot_getallattrs(slot);
	row->values = target->incoming_values;
	row->isnull = target->incoming_isnull;
	memcpy(row->values, slot->tts_values, plan->natts * sizeof(Datum));
	memcpy(row->isnull, slot->tts_isnull, plan->natts * sizeof(bool));
	row->named = target->named;
	row->arrival = (*target->arrivals)++;

	if (row->named != NULL && target->trigger_may_set != NULL)
	{
		bool	   *named = palloc(plan->natts * sizeof(bool));

		for (int c = 0; c < plan->natts; c++)
			named[c] = row->named[c] ||
				(target->trigger_may_set[c] && !row->isnull[c]);
		row->named = named;
	}
	merge_row_init(plan, row);
}

/*
 * upsert_row
 *		Merges the row in the slot into the table, now; the target is open.  On
 *		return the slot's TID is the stored row's, or the one that stands for
 *		"not stored"; if somebody looks at it, it holds the row that is stored,
 *		or, where none is, the incoming row.  cid, options and bistate are
 *		table_tuple_insert's.
 */
void
upsert_row(MergeTarget *target, Relation relation, TupleTableSlot *slot,
		   CommandId cid, int options, BulkInsertState bistate)
{
	UpsertError error;
	MergeRow	row = {0};
	MergeRow   *rows[1] = {&row};
	Upsert		upsert = {
		.target = target,
		.relation = relation,
		.cid = cid,
		.options = options,
		.bistate = bistate,
		.rows = rows,
		.nrows = 1,
		.remember = true,
		.error = &error
	};
	MemoryContext oldcontext;

	MemoryContextReset(target->row_context);
	oldcontext = MemoryContextSwitchTo(target->row_context);
	upsert_error_begin(&error, target);
	error.rows = rows;
	upsert_read_row(target, slot, &row);
	stats_count_row(target);
	upsert_key(&upsert);
	upsert_fill_slot(&upsert, slot);
	upsert_error_end(&error);
	ExecClearTuple(target->stored);
	ExecClearTuple(target->merged);
	MemoryContextSwitchTo(oldcontext);
}
