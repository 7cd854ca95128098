/*
 * upsert.c
 *	  Find the stored row, merge, write, index.
 *
 * The way of a key:
 *
 * 1. Probe the primary key's index with a dirty snapshot.  A live row is what
 *	  we are looking for.  If there is none, but another transaction is
 *	  inserting one, or if it is changing the live one, wait for it and look
 *	  again.
 * 2. Merge the incoming row into the stored one.
 * 3. If that changed nothing, write nothing and lock nothing.
 * 4. If there is a stored row, heap_update or heap_delete it.  They look again
 *	  whether it is still the row that was read; if not, back to 1.  So no lock
 *	  is needed, and none is logged.
 * 5. If there is none, insert: first the heap tuple, then the primary key's
 *	  entry with UNIQUE_CHECK_PARTIAL, which tells of a competitor instead of
 *	  raising an error.  If another session was first, remove ours and go back
 *	  to 1.  Where changes are decoded, the insertion is speculative, as ON
 *	  CONFLICT's is, so that an insertion taken back is never decoded;
 *	  elsewhere that would only cost WAL.
 *
 * The executor has checked the incoming row; the row to be written is another
 * one, so its constraints are checked and its generated columns computed here.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/index_shim.h"
#include "access/tableam.h"
#include "access/upsert.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "compat.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

/* What one row works with. */
typedef struct Upsert
{
	MergeTarget *target;
	Relation	relation;
	CommandId	cid;			/* the statement's */
	int			options;		/* of table_tuple_insert, as is bistate */
	BulkInsertState bistate;
	MergeRow	row;
	bool		found;			/* target->stored holds the stored row */
	HeapTuple	written;		/* the tuple written, if any */
} Upsert;

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
	MergeTarget *target = upsert->target;
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(target->pkey);

	for (int i = 0; i < nkeys; i++)
		target->scankeys[i].sk_argument = upsert->row.values[target->pkey_columns[i]];

	for (;;)
	{
		SnapshotData dirty;
		IndexScanDesc scan;
		ItemPointerData wait_tid;
		TransactionId wait_xid = InvalidTransactionId;
		uint32		wait_token = 0;

		CHECK_FOR_INTERRUPTS();
		InitDirtySnapshot(dirty);
		upsert->found = false;
		scan = index_beginscan(upsert->relation, target->pkey, &dirty, nkeys, 0);
		index_rescan(scan, target->scankeys, nkeys, NULL, 0);
		while (index_getnext_slot(scan, ForwardScanDirection, target->stored))
		{
			if (!TransactionIdIsValid(dirty.xmin) && !TransactionIdIsValid(dirty.xmax))
			{
				upsert->found = true;
				break;
			}
			wait_xid = TransactionIdIsValid(dirty.xmin) ? dirty.xmin : dirty.xmax;
			wait_token = TransactionIdIsValid(dirty.xmin) ? dirty.speculativeToken : 0;
			wait_tid = target->stored->tts_tid;
		}
		index_endscan(scan);

		if (upsert->found)
		{
			if (IsolationUsesXactSnapshot())
				upsert_check_snapshot(upsert);
			slot_getallattrs(target->stored);
			return;
		}
		ExecClearTuple(target->stored);
		if (!TransactionIdIsValid(wait_xid))
			return;
		if (wait_token != 0)
			SpeculativeInsertionWait(wait_xid, wait_token);
		else
			XactLockTableWait(wait_xid, upsert->relation, &wait_tid,
							  XLTW_InsertIndexUnique);
	}
}

/*
 * Row security: a user may merge only into a row that his policies let him
 * update, as with ON CONFLICT DO UPDATE.
 */
static void
upsert_check_row_security(Upsert *upsert)
{
	Oid			argtypes[1] = {TIDOID};
	Datum		args[1] = {PointerGetDatum(&upsert->target->stored->tts_tid)};
	StringInfoData query;
	uint64		nrows;

	initStringInfo(&query);
	appendStringInfo(&query, "SELECT FROM ONLY %s AS r WHERE r.ctid OPERATOR(pg_catalog.=) $1 FOR NO KEY UPDATE",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(upsert->relation)),
												RelationGetRelationName(upsert->relation)));
	SPI_connect();
	if (SPI_execute_with_args(query.data, 1, argtypes, args, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not check row security of table \"%s\"",
			 RelationGetRelationName(upsert->relation));
	nrows = SPI_processed;
	SPI_finish();
	if (nrows == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row security of table \"%s\" hides the stored row to merge into",
						RelationGetRelationName(upsert->relation)),
				 errdetail("The row's primary key is taken by a row that the policies for UPDATE do not let you change.")));
}

/*
 * The command to write with: the statement's, as for any other statement.  But
 * a tuple that this very command has written can be changed only by a later
 * one; the next will do, so that a function which the statement calls sees it.
 */
static CommandId
upsert_command_id(const Upsert *upsert)
{
	HeapTupleHeader stored = ((HeapTupleTableSlot *) upsert->target->stored)->tuple->t_data;
	CommandId	cid = upsert->cid;

	if (TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(stored)))
		cid = Max(cid, HeapTupleHeaderGetCmin(stored) + 1);
	if (cid > GetCurrentCommandId(true))
		CommandCounterIncrement();
	return cid;
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

/* Check domains of columns whose values a function has computed. */
static void
upsert_check_domains(const Upsert *upsert)
{
	const MergePlan *plan = upsert->target->plan;
	TupleDesc	tupdesc = RelationGetDescr(upsert->relation);
	TupleTableSlot *merged = upsert->target->merged;

	for (int c = 0; c < plan->natts; c++)
	{
		Oid			type = TupleDescAttr(tupdesc, c)->atttypid;

		if (plan->columns[c].dropped || plan->columns[c].generated ||
			get_typtype(type) != TYPTYPE_DOMAIN)
			continue;
		domain_check(merged->tts_values[c], merged->tts_isnull[c], type, NULL, NULL);
	}
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
	Size		natts = target->plan->natts;

	ExecClearTuple(merged);
	memcpy(merged->tts_values, target->state->values, natts * sizeof(Datum));
	memcpy(merged->tts_isnull, target->state->isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(merged);
	merged->tts_tableOid = RelationGetRelid(upsert->relation);

	if (constr != NULL)
	{
		if (constr->has_generated_stored)
			ExecComputeStoredGenerated(target->result_rel, target->estate,
									   merged, CMD_INSERT);
		if (target->result_rel->ri_WithCheckOptions != NIL)
			ExecWithCheckOptions(WCO_RLS_INSERT_CHECK, target->result_rel,
								 merged, target->estate);
		upsert_check_domains(upsert);
		ExecConstraints(target->result_rel, merged, target->estate);
	}
	upsert->written = heap_form_tuple(RelationGetDescr(upsert->relation),
									  merged->tts_values, merged->tts_isnull);
	upsert->written->t_tableOid = RelationGetRelid(upsert->relation);
}

/* Insert the merged row's entry into the primary key's index. */
static bool
upsert_index_primary(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	FormIndexDatum(target->pkey_info, target->merged, target->estate, values, isnull);
	return index_insert(target->pkey, values, isnull, &target->merged->tts_tid,
						upsert->relation, UNIQUE_CHECK_PARTIAL, false,
						target->pkey_info);
}

/* Insert the merged row's entries into indexes, as the executor would. */
static void
upsert_index(Upsert *upsert, ResultRelInfo *indexes, bool update, bool summarizing)
{
	List	   *recheck;

	if (indexes == NULL)
		return;

	/* the rechecks of deferred constraints are queued by the executor */
	recheck = compat_ExecInsertIndexTuples(indexes, upsert->target->merged,
										   upsert->target->estate, update, summarizing);
	list_free(recheck);
}

/*
 * Insert the merged row of a new key.  Returns false if another session was
 * first; then nothing is left of ours.
 */
static bool
upsert_insert(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	Relation	relation = upsert->relation;
	bool		speculative = RelationIsLogicallyLogged(relation) &&
		(upsert->options & HEAP_INSERT_NO_LOGICAL) == 0;
	int			options = upsert->options;
	bool		unique;

	upsert_make_merged(upsert);
	if (speculative)
	{
		uint32		token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());

		HeapTupleHeaderSetSpeculativeToken(upsert->written->t_data, token);
		options |= HEAP_INSERT_SPECULATIVE;
	}
	heap_insert(relation, upsert->written, upsert->cid, options, upsert->bistate);
	target->merged->tts_tid = upsert->written->t_self;
	unique = upsert_index_primary(upsert);
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
	{
		CommandCounterIncrement();
		simple_heap_delete(relation, &upsert->written->t_self);
	}
	if (unique)
		upsert_index(upsert, target->secondary, false, false);
	return unique;
}

/* A stored row is about to be changed: may this table be updated? */
static void
upsert_prepare_change(Upsert *upsert)
{
	MergeTarget *target = upsert->target;

	if (!target->may_update)
	{
		CheckCmdReplicaIdentity(upsert->relation, CMD_UPDATE);
		target->may_update = true;
	}
	if (target->checks_row_security)
		upsert_check_row_security(upsert);
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
 * Replace the stored row by the merged one.  Returns false if the stored row
 * is no longer the one that was read.
 */
static bool
upsert_update(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	ItemPointerData stored_tid = target->stored->tts_tid;
	TM_FailureData failure;
	LockTupleMode lockmode;
	TU_UpdateIndexes update_indexes;
	TM_Result	result;

	upsert_prepare_change(upsert);
	upsert_make_merged(upsert);
	result = compat_heap_update(upsert->relation, &stored_tid, upsert->written,
								upsert_command_id(upsert), InvalidSnapshot, true,
								&failure, &lockmode, &update_indexes);
	if (upsert_was_changed(upsert, result))
		return false;

	target->merged->tts_tid = upsert->written->t_self;
	if (update_indexes != TU_None)
		upsert_index(upsert, target->result_rel, true,
					 update_indexes == TU_Summarizing);
	if (target->referenced != NULL)
		ExecARUpdateTriggers(target->estate, target->referenced, NULL, NULL,
							 &stored_tid, NULL, target->merged, NIL, NULL, false);
	return true;
}

/*
 * Remove the stored row.  Returns false if it is no longer the one that was
 * read.
 */
static bool
upsert_remove(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	ItemPointerData stored_tid = target->stored->tts_tid;
	TM_FailureData failure;
	TM_Result	result;

	upsert_prepare_change(upsert);
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
 * Merge the incoming row into what is stored.  Returns the key's entry in the
 * statement's memory, and whether the entry knew nothing of the stored row.
 */
static KeyEntry *
upsert_merge(Upsert *upsert, bool *fresh)
{
	MergeTarget *target = upsert->target;
	MergeRow   *row = &upsert->row;
	KeyEntry   *entry = NULL;

	*fresh = true;
	if (upsert->found)
		merge_state_load(target->plan, target->state,
						 target->stored->tts_values, target->stored->tts_isnull);
	else
		merge_state_clear(target->plan, target->state);

	if (target->memory != NULL)
	{
		entry = key_memory_find(target->memory, row->values);
		*fresh = !key_memory_is_current(entry, upsert->found ?
										&target->stored->tts_tid : NULL);
	}
	if (*fresh)
		merge_fold(target->plan, target->state, &row, 1);
	else
		key_memory_merge(target->memory, entry, target->state, row);
	return entry;
}

/* One try at a key; false means that another session interfered. */
static bool
upsert_try(Upsert *upsert, UpsertOutcome *outcome)
{
	MergeTarget *target = upsert->target;
	MergeState *state = target->state;
	KeyEntry   *entry;
	bool		fresh;
	const ItemPointerData *stored_tid = NULL;

	upsert->written = NULL;
	upsert_find(upsert);
	entry = upsert_merge(upsert, &fresh);

	if (!upsert->found && !state->exists)
		*outcome = UPSERT_NOTHING;
	else if (!upsert->found)
	{
		*outcome = UPSERT_INSERTED;
		if (!upsert_insert(upsert))
			return false;
		stored_tid = &upsert->written->t_self;
	}
	else if (!state->exists)
	{
		*outcome = UPSERT_REMOVED;
		if (!upsert_remove(upsert))
			return false;
	}
	else if (upsert_is_unchanged(upsert))
	{
		*outcome = UPSERT_UNCHANGED;
		stored_tid = &target->stored->tts_tid;
	}
	else
	{
		*outcome = UPSERT_UPDATED;
		if (!upsert_update(upsert))
			return false;
		stored_tid = &upsert->written->t_self;
	}

	if (entry != NULL)
		key_memory_save(target->memory, entry, fresh,
						upsert->found ? target->stored->tts_values : NULL,
						upsert->found ? target->stored->tts_isnull : NULL,
						state, &upsert->row, stored_tid);
	return true;
}

/*
 * AFTER ROW triggers fetch the row by its TID.  Where the merge left none,
 * give them the incoming row as a tuple that is inserted and deleted at once:
 * the triggers of foreign keys see that it is gone, others see its row kind.
 */
static void
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

/* Give the slot the row that is stored now, for whoever looks at it next. */
static void
upsert_fill_slot(Upsert *upsert, TupleTableSlot *slot, UpsertOutcome outcome)
{
	Relation	relation = upsert->relation;
	HeapTuple	tuple;

	switch (outcome)
	{
		case UPSERT_INSERTED:
		case UPSERT_UPDATED:
			ExecForceStoreHeapTuple(upsert->written, slot, false);
			slot->tts_tid = upsert->written->t_self;
			break;
		case UPSERT_UNCHANGED:
			tuple = ((HeapTupleTableSlot *) upsert->target->stored)->tuple;
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
	slot->tts_tableOid = RelationGetRelid(relation);
}

/* Read the incoming row, and which of its columns are there. */
static void
upsert_read_row(Upsert *upsert, TupleTableSlot *slot)
{
	MergeTarget *target = upsert->target;
	const MergePlan *plan = target->plan;
	MergeRow   *row = &upsert->row;

	slot_getallattrs(slot);
	row->values = palloc(plan->natts * sizeof(Datum));
	row->isnull = palloc(plan->natts * sizeof(bool));
	memcpy(row->values, slot->tts_values, plan->natts * sizeof(Datum));
	memcpy(row->isnull, slot->tts_isnull, plan->natts * sizeof(bool));
	row->named = target->named;
	row->arrival = target->arrivals++;

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
 *		Merges the row in the slot into the table, now.  On return the slot
 *		holds the row that is stored; or, where none is, the incoming row.  Its
 *		TID is the stored row's, or the one that stands for "not stored".  cid,
 *		options and bistate are table_tuple_insert's.
 */
UpsertOutcome
upsert_row(MergeTarget *target, Relation relation, TupleTableSlot *slot,
		   CommandId cid, int options, BulkInsertState bistate)
{
	Upsert		upsert = {
		.target = target,
		.relation = relation,
		.cid = cid,
		.options = options,
		.bistate = bistate
	};
	UpsertOutcome outcome;
	MemoryContext oldcontext;

	MemoryContextReset(target->row_context);
	oldcontext = MemoryContextSwitchTo(target->row_context);
	upsert_read_row(&upsert, slot);
	while (!upsert_try(&upsert, &outcome))
		ExecClearTuple(target->stored);
	upsert_fill_slot(&upsert, slot, outcome);
	ExecClearTuple(target->stored);
	ExecClearTuple(target->merged);
	MemoryContextSwitchTo(oldcontext);
	return outcome;
}
