/*
 * upsert_write.c
 *	  Write what a merge has led to: insert, update or remove, and index.
 *
 * The executor has checked the incoming row; the row to be written is another
 * one, so its constraints are checked and its generated columns computed here.
 *
 * A new row is inserted in this order: first the heap tuple, then the primary
 * key's entry with UNIQUE_CHECK_PARTIAL, which tells of a competitor instead of
 * raising an error.  If another session was first, ours is removed again.
 * Where changes are decoded, the insertion is speculative, as ON CONFLICT's
 * is, so that an insertion taken back is never decoded; elsewhere that would
 * only cost WAL, and the new rows of several keys are inserted together.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/row_security.h"
#include "access/stats.h"
#include "access/upsert.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "commands/trigger.h"
#include "compat.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* A batch is inserted when it has this many rows or bytes. */
#define INSERT_BATCH_ROWS 1000
#define INSERT_BATCH_BYTES (256 * 1024)

/*
 * The command to write with: the statement's, as for any other statement.  But
 * a tuple that this very command has written can be changed only by a later
 * one; the next will do, so that a function which the statement calls sees it.
 */
static CommandId
upsert_command_id(const Upsert *upsert)
{
	HeapTupleHeader stored = ((HeapTupleTableSlot *) upsert->target->stored)->tuple->t_data;
	bool		is_own = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(stored));
	CommandId	cid = upsert->cid;

	if (is_own)
		cid = Max(cid, HeapTupleHeaderGetCmin(stored) + 1);
	/*
	 * Chunks of long values carry the current command, and not the statement's;
	 * they too can be deleted only by a later one.
	 */
	if (cid > GetCurrentCommandId(true) || (is_own && HeapTupleHasExternal(((HeapTupleTableSlot *) upsert->target->stored)->tuple)))
	{
		CommandCounterIncrement();
		(void) GetCurrentCommandId(true);
	}
	return cid;
}

/* Check domains of columns whose values a function has computed. */
static void
upsert_check_domains(const Upsert *upsert)
{
	const MergePlan *plan = upsert->target->plan;
	TupleDesc	tupdesc = RelationGetDescr(upsert->relation);
	TupleTableSlot *merged = upsert->target->merged;

	for (int c = 0; c < plan->natts; c++)
	{
		if (plan->columns[c].domain && !plan->columns[c].dropped &&
			!plan->columns[c].generated)
			domain_check(merged->tts_values[c], merged->tts_isnull[c],
						 TupleDescAttr(tupdesc, c)->atttypid, NULL, NULL);
	}
}

/* Put the merged row into target->merged. */
static void
upsert_fill_merged(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	TupleTableSlot *merged = target->merged;
	Size		natts = target->plan->natts;

	ExecClearTuple(merged);
	memcpy(merged->tts_values, target->state->values, natts * sizeof(Datum));
	memcpy(merged->tts_isnull, target->state->isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(merged);
	merged->tts_tableOid = RelationGetRelid(upsert->relation);
}

/*
 * upsert_form
 *		Makes upsert->written the merged row, for somebody to insert who
 *		computes its generated columns and checks its constraints, too.
 */
void
upsert_form(Upsert *upsert)
{
	upsert_fill_merged(upsert);
	upsert_check_domains(upsert);
	upsert->written = heap_form_tuple(RelationGetDescr(upsert->relation),
									  upsert->target->merged->tts_values,
									  upsert->target->merged->tts_isnull);
}

/*
 * Put the merged row into target->merged: compute its generated columns and
 * check its constraints.
 */
static void
upsert_make_merged(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	TupleTableSlot *merged = target->merged;
	TupleConstr *constr = RelationGetDescr(upsert->relation)->constr;

	upsert_fill_merged(upsert);
	if (constr != NULL)
	{
		if (constr->has_generated_stored)
			ExecComputeStoredGenerated(target->result_rel, target->estate,
									   merged, CMD_INSERT);
		if (upsert->found && target->row_security != NULL)
			row_security_check_merged(target, upsert->relation);
		if (!upsert->found && target->result_rel->ri_WithCheckOptions != NIL)
			ExecWithCheckOptions(WCO_RLS_INSERT_CHECK, target->result_rel,
								 merged, target->estate);
		upsert_check_domains(upsert);
		ExecConstraints(target->result_rel, merged, target->estate);
	}
	if (upsert->relation->rd_rel->relispartition)
		ExecPartitionCheck(target->result_rel, merged, target->estate, true);
	upsert->written = heap_form_tuple(RelationGetDescr(upsert->relation),
									  merged->tts_values, merged->tts_isnull);
	upsert->written->t_tableOid = RelationGetRelid(upsert->relation);
}

/*
 * Insert a row's entry into the primary key's index, as index_insert does.
 * unchanged: it is a new version of a row with the same key.
 */
static bool
upsert_index_primary(Upsert *upsert, TupleTableSlot *slot,
					 IndexUniqueCheck check, bool unchanged)
{
	MergeTarget *target = upsert->target;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	FormIndexDatum(target->pkey_info, slot, target->estate, values, isnull);
	return index_insert(target->pkey, values, isnull, &slot->tts_tid,
						upsert->relation, check, unchanged, target->pkey_info);
}

/* Insert a row's entries into indexes, as the executor would. */
static void
upsert_index(Upsert *upsert, ResultRelInfo *indexes, TupleTableSlot *slot,
			 bool update, bool summarizing)
{
	List	   *recheck;

	if (indexes == NULL)
		return;

	/* the rechecks of deferred constraints are queued by the executor */
	recheck = compat_ExecInsertIndexTuples(indexes, slot, upsert->target->estate,
										   update, summarizing);
	list_free(recheck);
}

/*
 * Insert the entries of a stored row's new version.  Where its key is the stored
 * one, nobody else can have it, so that nobody need be looked for: the row that
 * had it is the one that was just replaced.
 */
static void
upsert_index_update(Upsert *upsert, bool summarizing)
{
	MergeTarget *target = upsert->target;
	ResultRelInfo *indexes = target->indexes;

	target_key_sort(target);
	if (!summarizing && target->pkey->rd_index->indimmediate &&
		target_compare_keys(target, target->stored->tts_values,
							target->merged->tts_values) == 0)
	{
		(void) upsert_index_primary(upsert, target->merged, UNIQUE_CHECK_NO, true);
		indexes = target->secondary;
	}
	upsert_index(upsert, indexes, target->merged, true, summarizing);
}

/*
 * Must an insertion be one that can be taken back without a trace in the WAL, for
 * logical decoding?
 */
static bool
upsert_is_speculative(const Upsert *upsert)
{
	return RelationIsLogicallyLogged(upsert->relation) &&
		(upsert->options & HEAP_INSERT_NO_LOGICAL) == 0;
}

/*
 * Remove a tuple that lost the race for its key.  To delete it would not do:
 * until our transaction ends others would find a row in progress, and two
 * that have lost to a third, which then aborts, would wait for each other.  So
 * it is made to be one of a speculative insertion, and that is aborted.
 */
static void
upsert_take_back(Upsert *upsert, ItemPointer tid)
{
	Relation	relation = upsert->relation;
	TransactionId xid = GetCurrentTransactionId();
	uint32		token = SpeculativeInsertionLockAcquire(xid);
	Buffer		buffer = ReadBuffer(relation, ItemPointerGetBlockNumber(tid));
	Page		page = BufferGetPage(buffer);
	ItemId		item;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	item = PageGetItemId(page, ItemPointerGetOffsetNumber(tid));
	HeapTupleHeaderSetSpeculativeToken((HeapTupleHeader) PageGetItem(page, item),
									   token);
	/* a crash leaves a tuple of an aborted transaction in any case */
	MarkBufferDirtyHint(buffer, true);
	UnlockReleaseBuffer(buffer);
	heap_abort_speculative(relation, tid);
	SpeculativeInsertionLockRelease(xid);
}

/*
 * The known tombstone of the key of a speculative insertion goes before that.
 * Then the key is ours, even if the insertion has to be tried again.  Returns false
 * when the caller must look at the key again first.
 */
static bool
upsert_clear_tombstone(Upsert *upsert)
{
	KeyHolder	busy = {0};

	if (!upsert->tombstone.found)
		return true;
	if (!tombstone_clear(upsert->target, upsert->tombstones, upsert->rows[0]->values,
						 &upsert->tombstone, &busy))
	{
		if (TransactionIdIsValid(busy.xid))
			key_holder_wait(&busy, upsert->relation);
		return false;
	}
	upsert->tombstone.found = false;
	upsert->tombstone.cleared = true;
	return true;
}

/*
 * upsert_insert
 *		Inserts the merged row of a new key.  Returns false if another session
 *		was first, with a row or a tombstone; then nothing is left of ours.
 */
bool
upsert_insert(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	Relation	relation = upsert->relation;
	bool		speculative = upsert_is_speculative(upsert);
	int			options = upsert->options;
	KeyHolder	busy = {0};
	bool		unique;

	if (speculative && !upsert_clear_tombstone(upsert))
		return false;
	upsert_make_merged(upsert);
	if (speculative)
	{
		uint32		token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());

		HeapTupleHeaderSetSpeculativeToken(upsert->written->t_data, token);
		options |= HEAP_INSERT_SPECULATIVE;
	}
	heap_insert(relation, upsert->written, upsert->cid, options, upsert->bistate);
	target->merged->tts_tid = upsert->written->t_self;
	unique = upsert_index_primary(upsert, target->merged, UNIQUE_CHECK_PARTIAL, false);
	if (unique && target->plan->tombstones)
		unique = tombstone_clear(target, upsert->tombstones, upsert->rows[0]->values,
								 &upsert->tombstone, &busy);
	if (speculative)
	{
		if (unique)
			heap_finish_speculative(relation, &upsert->written->t_self);
		else
			heap_abort_speculative(relation, &upsert->written->t_self);
		SpeculativeInsertionLockRelease(GetCurrentTransactionId());
		/* the token stood where the tuple's own address belongs */
		upsert->written->t_data->t_ctid = upsert->written->t_self;
	}
	else if (!unique)
		upsert_take_back(upsert, &upsert->written->t_self);
	if (TransactionIdIsValid(busy.xid))
		key_holder_wait(&busy, relation);
	if (unique)
		upsert_index(upsert, target->secondary, target->merged, false, false);
	return unique;
}

/*
 * insert_batch_create
 *		An empty batch for the new rows of so many keys, at most, in
 *		CurrentMemoryContext.
 */
InsertBatch *
insert_batch_create(uint64 nkeys)
{
	InsertBatch *batch = palloc0(sizeof(InsertBatch));

	batch->context = AllocSetContextCreate(CurrentMemoryContext, "insert batch",
										   ALLOCSET_DEFAULT_SIZES);
	batch->size = Min(nkeys, INSERT_BATCH_ROWS);
	batch->slots = palloc0(batch->size * sizeof(TupleTableSlot *));
	batch->keys = palloc(batch->size * sizeof(InsertBatchKey));
	return batch;
}

/* Would the merged row of a new key be put into the batch? */
static bool
insert_batch_can_take(const Upsert *upsert)
{
	return upsert->batch != NULL && !upsert->remember && !upsert_is_speculative(upsert);
}

/*
 * insert_batch_is_hopeful
 *		May a new key be taken to have no tombstone, until its row is inserted?
 */
bool
insert_batch_is_hopeful(const Upsert *upsert)
{
	return upsert->target->plan->tombstones && insert_batch_can_take(upsert) &&
		!upsert->batch->tombstones_met;
}

/*
 * insert_batch_add
 *		Puts the merged row of a new key into the batch, to be inserted with
 *		others.  The incoming rows, in case another session is first, must be
 *		in the batch's context.  Returns false if the batch cannot take it: then
 *		it is to be inserted at once.
 */
bool
insert_batch_add(Upsert *upsert)
{
	InsertBatch *batch = upsert->batch;
	MemoryContext oldcontext;
	TupleTableSlot **slot;

	if (!insert_batch_can_take(upsert))
		return false;

	oldcontext = MemoryContextSwitchTo(batch->context);
	upsert_make_merged(upsert);
	MemoryContextSwitchTo(GetMemoryChunkContext(batch));
	slot = &batch->slots[batch->nrows];
	if (*slot == NULL)
		*slot = MakeTupleTableSlot(upsert->target->merged->tts_tupleDescriptor,
								   &TTSOpsHeapTuple);
	/* the slot's own, or heap_multi_insert would have it copied */
	ExecStoreHeapTuple(upsert->written, *slot, true);
	(*slot)->tts_tableOid = RelationGetRelid(upsert->relation);
	MemoryContextSwitchTo(oldcontext);
	batch->keys[batch->nrows].rows = upsert->rows;
	batch->keys[batch->nrows].nrows = upsert->nrows;
	batch->keys[batch->nrows].tombstone = upsert->tombstone;
	batch->nrows++;
	batch->bytes += upsert->written->t_len;
	return true;
}

/* insert_batch_is_full: is it time to insert the batch? */
bool
insert_batch_is_full(const InsertBatch *batch)
{
	return batch->nrows == batch->size || batch->bytes >= INSERT_BATCH_BYTES;
}

/*
 * Give a row of the batch its entry in the primary key's index.  Returns false if
 * it cannot stay: another session was first, or the key has a tombstone that was
 * not expected.
 */
static bool
insert_batch_settle(Upsert *upsert, TupleTableSlot *slot)
{
	MergeTarget *target = upsert->target;
	KeyHolder	busy;

	if (!upsert_index_primary(upsert, slot, UNIQUE_CHECK_PARTIAL, false))
		return false;
	return !target->plan->tombstones ||
		tombstone_clear(target, upsert->tombstones, upsert->rows[0]->values,
						&upsert->tombstone, &busy);
}

/*
 * insert_batch_flush
 *		Inserts the rows of the batch, in the order of their keys; where another
 *		session was first, merges into what it has written.  Returns whether
 *		that happened: then upsert's own findings are void.
 */
bool
insert_batch_flush(Upsert *upsert)
{
	InsertBatch *batch = upsert->batch;
	bool		lost = false;
	int			nrows;

	if (batch == NULL || batch->nrows == 0)
		return false;
	nrows = batch->nrows;
	heap_multi_insert(upsert->relation, batch->slots, nrows, upsert->cid,
					  upsert->options, upsert->bistate);
	for (int i = 0; i < nrows; i++)
	{
		Upsert		each = *upsert;

		each.rows = batch->keys[i].rows;
		each.nrows = batch->keys[i].nrows;
		each.batch = NULL;
		each.scan = NULL;
		each.again = true;
		each.error->rows = each.rows;
		each.tombstone = batch->keys[i].tombstone;
		if (insert_batch_settle(&each, batch->slots[i]))
			upsert_index(&each, each.target->secondary, batch->slots[i], false, false);
		else
		{
			batch->tombstones_met |= each.target->plan->tombstones;
			/* it may have to wait, and not with the pins */
			if (upsert->scan != NULL)
				key_scan_release(upsert->scan);
			/* keep the order of keys: settle this one before the next */
			upsert_take_back(&each, &batch->slots[i]->tts_tid);
			stats_count(each.target->relid, STATS_INSERTED, -1);
			upsert_key(&each);
			lost = true;
		}
		ExecClearTuple(batch->slots[i]);
		ResetPerTupleExprContext(each.target->estate);
	}
	batch->nrows = 0;
	batch->bytes = 0;
	upsert->error->rows = upsert->rows;
	return lost;
}

/* A stored row is about to be changed or removed: may it be? */
static void
upsert_prepare_change(Upsert *upsert, CmdType command)
{
	MergeTarget *target = upsert->target;
	HeapTupleHeader stored = ((HeapTupleTableSlot *) target->stored)->tuple->t_data;

	/* where somebody has locked it we may have to wait, and not with the pins */
	if (upsert->scan != NULL && (stored->t_infomask & HEAP_XMAX_INVALID) == 0)
		key_scan_release(upsert->scan);
	if (!target->may_update)
	{
		CheckCmdReplicaIdentity(upsert->relation, CMD_UPDATE);
		target->may_update = true;
	}
	if (target->row_security != NULL)
		row_security_check_stored(target, upsert->relation, command);
}

/* Has another transaction changed the stored row since it was read? */
static bool
upsert_was_changed(const Upsert *upsert, TM_Result result)
{
	switch (result)
	{
		case TM_Ok:
			return false;
		case TM_Updated:
		case TM_Deleted:
			if (IsolationUsesXactSnapshot())
				ereport(ERROR,
						(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						 errmsg(result == TM_Updated ?
									"could not serialize access due to concurrent update" :
									"could not serialize access due to concurrent delete")));
			return true;
		case TM_SelfModified:
			return true;
		default:
			elog(ERROR, "unexpected result %d of writing a tuple of table \"%s\"",
				 (int) result, RelationGetRelationName(upsert->relation));
	}
	return false;				/* keep the compiler quiet */
}

/*
 * upsert_update
 *		Replaces the stored row by the merged one.  Returns false if the stored
 *		row is no longer the one that was read.
 */
bool
upsert_update(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	ItemPointerData stored_tid = target->stored->tts_tid;
	TM_FailureData failure;
	LockTupleMode lockmode;
	TU_UpdateIndexes update_indexes;
	TM_Result	result;

	upsert_prepare_change(upsert, CMD_UPDATE);
	upsert_make_merged(upsert);
	result = compat_heap_update(upsert->relation, &stored_tid, upsert->written,
								upsert_command_id(upsert), InvalidSnapshot, true,
								&failure, &lockmode, &update_indexes);
	if (upsert_was_changed(upsert, result))
		return false;

	target->merged->tts_tid = upsert->written->t_self;
	if (update_indexes != TU_None)
		upsert_index_update(upsert, update_indexes == TU_Summarizing);
	if (target->referenced != NULL)
		ExecARUpdateTriggers(target->estate, target->referenced, NULL, NULL,
							 &stored_tid, NULL, target->merged, NIL, NULL, false);
	return true;
}

/*
 * upsert_remove
 *		Removes the stored row.  Returns false if it is no longer the one that
 *		was read.
 */
bool
upsert_remove(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	ItemPointerData stored_tid = target->stored->tts_tid;
	TM_FailureData failure;
	TM_Result	result;

	upsert_prepare_change(upsert, CMD_DELETE);
	result = heap_delete(upsert->relation, &stored_tid, upsert_command_id(upsert),
						 InvalidSnapshot, true, &failure, false);
	if (upsert_was_changed(upsert, result))
		return false;
	if (target->referenced != NULL)
		ExecARDeleteTriggers(target->estate, target->referenced, &stored_tid,
							 NULL, NULL, false);
	return true;
}

/*
 * upsert_store_passing_row
 *		AFTER ROW triggers fetch the row by its TID.  Where the merge left none,
 *		gives them the incoming row as a tuple that is inserted and deleted at
 *		once: the triggers of foreign keys see that it is gone, others see its
 *		row kind.
 */
void
upsert_store_passing_row(Upsert *upsert, TupleTableSlot *slot)
{
	bool		should_free;
	HeapTuple	tuple = ExecFetchSlotHeapTuple(slot, true, &should_free);

	heap_insert(upsert->relation, tuple, upsert->cid, HEAP_INSERT_NO_LOGICAL, NULL);
	slot->tts_tid = tuple->t_self;
	CommandCounterIncrement();
	simple_heap_delete(upsert->relation, &tuple->t_self);
	if (should_free)
		pfree(tuple);
}
