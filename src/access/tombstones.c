/*
 * tombstones.c
 *	  What is remembered of removed keys.
 *
 * A tombstone is the sequence of the removal of a key that has no row, so that
 * a row that comes later, but is older, does not bring the key back.  They are
 * rows of merge_engine.tombstones, an ordinary table: transactions, crashes and
 * dumps treat them like any other row.  Key and sequence are kept as text,
 * because a dump may be restored anywhere.
 *
 * A key has a row or a tombstone, never both.  Whoever inserts a row and
 * whoever writes a tombstone for a key that has none must notice each other,
 * although neither finds anything to lock.  Each writes first, in a way that can
 * be taken back, and looks for the other before it goes on:
 *
 * - A new row stays only if no tombstone has appeared or is about to
 *	 (tombstone_clear).
 * - A tombstone stays only if the key still has no row and none is about to
 *	 come (the check that tombstone_write is given).
 *
 * A tombstone that there is already decides by itself who is first: whoever
 * updates or deletes it.
 *
 * That they do not deadlock rests on who waits for what.  For the end of a
 * transaction everybody waits with nothing of the key in hand: what has been taken
 * back is dead for all.  (A tombstone that was deleted instead would stay "in
 * progress"; its session would wait for one that has the row and waits for the
 * tombstone.)  For the token of a speculative insertion waits also who has an own
 * tombstone that is not finished, or has removed the row of the key, or the
 * tombstone; but while a row can be taken back its session waits for nobody.
 *
 * Decoding allows no change between a speculative insertion and its end.  So a
 * tombstone is never deleted there, but before a row is inserted in this way, or
 * after one that is inserted in the ordinary way, and that nobody decodes.
 *
 * Rows here are read with a dirty snapshot, as upsert.c reads the merge table,
 * and for the same reasons.
 */
#include "postgres.h"

#include "access/before_insert.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/relscan.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/tombstones.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_type_d.h"
#include "catalog/plain_text.h"
#include "compat.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* The columns of merge_engine.tombstones. */
enum
{
	TOMBSTONE_TABLE,
	TOMBSTONE_KEY,
	TOMBSTONE_SEQUENCE,
	TOMBSTONE_REMOVED_AT,
	TOMBSTONE_NATTS
};

/* What became of a tombstone that was to be inserted. */
typedef enum TombstoneResult
{
	TOMBSTONE_STAYS,
	TOMBSTONE_LOST,
	TOMBSTONE_REFUSED
} TombstoneResult;

/* The open table, and what look-ups need. */
struct Tombstones
{
	Relation	relation;
	Relation	index;
	TupleTableSlot *slot;
	SnapshotData dirty;
	IndexScanDesc scan;
	ScanKeyData scankeys[2];	/* merge table, key */
	FmgrInfo   *outputs;		/* of the key's types; NULL until needed */
	bool		plain;			/* the texts depend on no settings */
	bool		met;			/* the last look has met an entry of the key */
};

/* Open the table; NULL where the extension is not installed. */
static Tombstones *
tombstones_open(Oid relid, LOCKMODE lockmode)
{
	Tombstones *tombstones;
	Oid			schema = get_namespace_oid("merge_engine", true);
	Oid			table = get_relname_relid("tombstones", schema);
	Oid			index;

	if (!OidIsValid(table))
		return NULL;
	tombstones = palloc0(sizeof(Tombstones));
	tombstones->relation = table_open(table, lockmode);
	index = RelationGetPrimaryKeyIndex(tombstones->relation);
	if (!OidIsValid(index))
		elog(ERROR, "table merge_engine.tombstones has no primary key");
	tombstones->index = index_open(index, lockmode);
	tombstones->slot = table_slot_create(tombstones->relation, NULL);
	InitDirtySnapshot(tombstones->dirty);
	ScanKeyEntryInitialize(&tombstones->scankeys[0], 0, 1, BTEqualStrategyNumber, InvalidOid,
						   InvalidOid, F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyEntryInitialize(&tombstones->scankeys[1], 0, 2, BTEqualStrategyNumber, InvalidOid,
						   tombstones->index->rd_indcollation[1], F_ARRAY_EQ, (Datum) 0);
	return tombstones;
}

/*
 * tombstones_begin
 *		Opens the table for several calls about keys of a merge table, in
 *		CurrentMemoryContext.  Looking up takes the lock that writing needs, so
 *		that tombstone_clear waits for none.
 */
Tombstones *
tombstones_begin(const MergeTarget *target)
{
	Tombstones *tombstones = tombstones_open(target->relid, RowExclusiveLock);

	if (tombstones == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table merge_engine.tombstones, which table \"%s\" needs, does not exist",
						target->plan->table),
				 errhint("Run ALTER EXTENSION merge_engine UPDATE, or RESET option \"tombstones\".")));
	return tombstones;
}

/*
 * tombstones_end
 *		Closes it; locks are kept till the end of the transaction.
 */
void
tombstones_end(Tombstones *tombstones)
{
	if (tombstones->scan != NULL)
		index_endscan(tombstones->scan);
	ExecDropSingleTupleTableSlot(tombstones->slot);
	index_close(tombstones->index, NoLock);
	table_close(tombstones->relation, NoLock);
	if (tombstones->outputs != NULL)
		pfree(tombstones->outputs);
	pfree(tombstones);
}

/* What a call works with: what the caller has open, or the table opened for it. */
static Tombstones *
tombstones_use(Tombstones *open, const MergeTarget *target)
{
	return open != NULL ? open : tombstones_begin(target);
}

static void
tombstones_leave(Tombstones *open, Tombstones *used)
{
	if (used != open)
		tombstones_end(used);
}

/*
 * The text of a value of a key, the same for equal values.  merge_plan_state.c
 * has refused types of which that is not true.
 */
static char *
tombstone_key_text(FmgrInfo *output, Oid type, Datum value)
{
	char	   *text;

	if (type == NUMERICOID)
		return numeric_normalize(DatumGetNumeric(value));
	text = OutputFunctionCall(output, value);
	if (type == BPCHAROID)
	{
		for (int i = strlen(text) - 1; i >= 0 && text[i] == ' '; i--)
			text[i] = '\0';
	}
	if (strcmp(text, "-0") == 0 && (type == FLOAT4OID || type == FLOAT8OID))
		return pstrdup("0");
	return text;
}

/* Does the text of a type's values depend on no settings? */
static bool
tombstone_type_is_plain(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID ||
		type == TEXTOID || type == VARCHAROID || type == UUIDOID || type == NUMERICOID;
}

/* Texts as an array. */
static Datum
text_array(char **texts, int ntexts)
{
	Datum	   *elements = palloc(ntexts * sizeof(Datum));
	bool	   *nulls = palloc(ntexts * sizeof(bool));
	int			lower = 1;

	for (int i = 0; i < ntexts; i++)
	{
		nulls[i] = texts[i] == NULL;
		elements[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(texts[i]);
	}
	return PointerGetDatum(construct_md_array(elements, nulls, 1, &ntexts, &lower, TEXTOID,
											  -1, false, TYPALIGN_INT));
}

/* Find how the values of a key are written. */
static void
tombstones_prepare_texts(Tombstones *tombstones, const MergePlan *plan, TupleDesc tupdesc)
{
	MemoryContext context = GetMemoryChunkContext(tombstones);

	tombstones->outputs = MemoryContextAlloc(context, plan->nkeys * sizeof(FmgrInfo));
	tombstones->plain = true;
	for (int i = 0; i < plan->nkeys; i++)
	{
		Oid			type = getBaseType(TupleDescAttr(tupdesc, plan->keys[i])->atttypid);
		Oid			output;
		bool		isvarlena;

		getTypeOutputInfo(type, &output, &isvarlena);
		fmgr_info_cxt(output, &tombstones->outputs[i], context);
		tombstones->plain &= tombstone_type_is_plain(type);
	}
}

/* The key of a row of the merge table, which has a tuple descriptor like it. */
static Datum
tombstone_key(Tombstones *tombstones, const MergePlan *plan, TupleDesc tupdesc,
			  const Datum *values)
{
	char	  **texts = palloc(plan->nkeys * sizeof(char *));
	PlainText	settings;

	if (tombstones->outputs == NULL)
		tombstones_prepare_texts(tombstones, plan, tupdesc);
	if (!tombstones->plain)
		plain_text_begin(&settings, true);
	PG_TRY();
	{
		for (int i = 0; i < plan->nkeys; i++)
		{
			int			c = plan->keys[i];

			texts[i] = tombstone_key_text(&tombstones->outputs[i],
										  getBaseType(TupleDescAttr(tupdesc, c)->atttypid),
										  values[c]);
		}
	}
	PG_FINALLY();
	{
		if (!tombstones->plain)
			plain_text_end(&settings);
	}
	PG_END_TRY();
	return text_array(texts, plan->nkeys);
}

/* The key of a row that is being merged. */
static Datum
target_key(Tombstones *tombstones, const MergeTarget *target, const Datum *values)
{
	return tombstone_key(tombstones, target->plan, target->stored->tts_tupleDescriptor, values);
}

/* A sequence value as text. */
static Datum
tombstone_sequence(const SequenceOrder *order, SequenceValue sequence)
{
	char	  **texts = palloc0(order->ncolumns * sizeof(char *));
	PlainText	settings;

	plain_text_begin(&settings, true);
	PG_TRY();
	{
		for (int i = 0; i < order->ncolumns; i++)
		{
			Oid			output;
			bool		isvarlena;

			if (sequence[i].isnull)
				continue;
			getTypeOutputInfo(order->types[i], &output, &isvarlena);
			texts[i] = OidOutputFunctionCall(output, sequence[i].value);
		}
	}
	PG_FINALLY();
	{
		plain_text_end(&settings);
	}
	PG_END_TRY();
	return text_array(texts, order->ncolumns);
}

/* And back again. */
static SequenceValue
tombstone_read_sequence(const MergePlan *plan, Datum array)
{
	const SequenceOrder *order = plan->sequence;
	SequenceValue sequence;
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &count);
	if (count != order->ncolumns)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("a tombstone of table \"%s\" does not fit its sequence fields",
						plan->table),
				 errhint("Remove the table's tombstones with merge_engine.purge_tombstones.")));
	sequence = palloc(count * sizeof(NullableDatum));
	for (int i = 0; i < count; i++)
	{
		Oid			input;
		Oid			ioparam;

		sequence[i].isnull = nulls[i];
		if (nulls[i])
			continue;
		getTypeInputInfo(order->types[i], &input, &ioparam);
		sequence[i].value = OidInputFunctionCall(input, TextDatumGetCString(elements[i]),
												 ioparam, -1);
	}
	return sequence;
}

/*
 * Look for a key's tombstone, into the slot.  Returns whether there is one;
 * busy receives another transaction that is about to change that, if any.
 */
static bool
tombstones_find(Tombstones *tombstones, Datum key, KeyHolder *busy)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(GetMemoryChunkContext(tombstones));
	bool		found = false;

	memset(busy, 0, sizeof(KeyHolder));
	if (tombstones->scan == NULL)
		tombstones->scan = index_beginscan(tombstones->relation, tombstones->index,
										   &tombstones->dirty, 2, 0);
	tombstones->scankeys[1].sk_argument = key;
	index_rescan(tombstones->scan, tombstones->scankeys, 2, NULL, 0);
	ItemPointerSetInvalid(&tombstones->scan->xs_heaptid);
	while (index_getnext_slot(tombstones->scan, ForwardScanDirection, tombstones->slot))
	{
		if (TransactionIdIsValid(tombstones->dirty.xmin) ||
			TransactionIdIsValid(tombstones->dirty.xmax))
		{
			key_holder_note(busy, &tombstones->dirty, tombstones->slot);
			continue;
		}
		found = true;
		break;
	}
	tombstones->met = ItemPointerIsValid(&tombstones->scan->xs_heaptid);
	MemoryContextSwitchTo(oldcontext);
	if (!found)
		ExecClearTuple(tombstones->slot);
	return found;
}

/* Is there a tombstone that was not found, because an update was moving it? */
static bool
tombstones_missed(Tombstones *tombstones)
{
	return tombstones->met &&
		key_scan_has_row(tombstones->relation, tombstones->index, tombstones->scankeys, 2,
						 tombstones->slot);
}

/*
 * Find a key's tombstone when nobody is changing it any more.  Whoever had to wait
 * has lost the lock of the key.
 */
static bool
tombstones_wait(Tombstones *tombstones, MergeTarget *target, Datum key)
{
	KeyHolder	busy;
	bool		found;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		found = tombstones_find(tombstones, key, &busy);
		if (!TransactionIdIsValid(busy.xid))
			return found;
		/* not with pins, which vacuum may be waiting for */
		ExecClearTuple(tombstones->slot);
		index_endscan(tombstones->scan);
		tombstones->scan = NULL;
		before_insert_unlock(target);
		key_holder_wait(&busy, tombstones->relation);
	}
}

/* As with stored rows: the transaction's snapshot must know of it. */
static void
tombstone_check_snapshot(const MergeTarget *target, const TupleTableSlot *slot)
{
	TransactionId xmin;

	if (!IsolationUsesXactSnapshot())
		return;
	xmin = HeapTupleHeaderGetXmin(((HeapTupleTableSlot *) slot)->tuple->t_data);
	if (TransactionIdIsCurrentTransactionId(xmin) ||
		!XidInMVCCSnapshot(xmin, GetActiveSnapshot()))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent delete"),
			 errdetail("A key of table \"%s\" was removed after the transaction's snapshot was taken.",
					   target->plan->table),
			 errhint("The transaction might succeed if retried.")));
}

/*
 * tombstone_read
 *		Reads the tombstone of the key in a row's values.  Waits for
 *		transactions that are changing it.  open is the open table, or NULL, here
 *		and below.  Allocated in CurrentMemoryContext.  Raises
 *		ERRCODE_T_R_SERIALIZATION_FAILURE for one that the transaction's snapshot
 *		does not know.
 */
void
tombstone_read(MergeTarget *target, Tombstones *open, const Datum *values,
			   Tombstone *tombstone)
{
	Tombstones *tombstones = tombstones_use(open, target);

	memset(tombstone, 0, sizeof(Tombstone));
	if (tombstones_wait(tombstones, target, target_key(tombstones, target, values)))
	{
		bool		isnull;
		Datum		sequence = slot_getattr(tombstones->slot, TOMBSTONE_SEQUENCE + 1, &isnull);

		tombstone_check_snapshot(target, tombstones->slot);
		tombstone->found = true;
		tombstone->tid = tombstones->slot->tts_tid;
		tombstone->removed = tombstone_read_sequence(target->plan, sequence);
	}
	tombstones_leave(open, tombstones);
}

/*
 * tombstone_peek
 *		The sequence of the removal of the key in a row's values, or NULL, as a
 *		query that only looks would see it: without waiting.
 */
SequenceValue
tombstone_peek(Relation relation, const MergePlan *plan, const Datum *values)
{
	Tombstones *tombstones = tombstones_open(plan->relid, AccessShareLock);
	KeyHolder	busy;
	SequenceValue removed = NULL;

	if (tombstones == NULL)
		return NULL;
	if (tombstones_find(tombstones,
						tombstone_key(tombstones, plan, RelationGetDescr(relation), values),
						&busy))
	{
		bool		isnull;

		removed = tombstone_read_sequence(plan, slot_getattr(tombstones->slot, TOMBSTONE_SEQUENCE + 1, &isnull));
	}
	tombstones_end(tombstones);
	return removed;
}

/* The command that deletes or updates a tombstone; what it wrote only a later one can. */
static CommandId
tombstones_command(HeapTuple tuple)
{
	if (TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)) &&
		HeapTupleHeaderGetCmin(tuple->t_data) >= GetCurrentCommandId(true))
		CommandCounterIncrement();
	return GetCurrentCommandId(true);
}

/* Delete a tombstone without waiting; false if another transaction is at it. */
static bool
tombstones_delete(Relation relation, HeapTuple tuple)
{
	TM_FailureData failure;
	ItemPointerData tid = tuple->t_self;

	return heap_delete(relation, &tid, tombstones_command(tuple), InvalidSnapshot,
					   false, &failure, false) == TM_Ok;
}

/*
 * tombstone_clear
 *		A row of the key in values is about to be there for good: removes the
 *		known tombstone (or none).  Returns false if things have changed since
 *		it was read; busy receives the transaction to wait for, if any.
 *		Does not wait itself, because the row can still be taken back.
 */
bool
tombstone_clear(MergeTarget *target, Tombstones *open, const Datum *values,
				const Tombstone *known, KeyHolder *busy)
{
	Tombstones *tombstones = tombstones_use(open, target);
	bool		found = tombstones_find(tombstones, target_key(tombstones, target, values), busy);
	bool		same = !TransactionIdIsValid(busy->xid) && found == known->found &&
		(!found || ItemPointerEquals(&tombstones->slot->tts_tid, unconstify(ItemPointerData *, &known->tid)));

	if (same && !found)
		same = !tombstones_missed(tombstones);
	else if (same)
		same = tombstones_delete(tombstones->relation,
								 ((HeapTupleTableSlot *) tombstones->slot)->tuple);
	tombstones_leave(open, tombstones);
	return same;
}

/*
 * Update a tombstone, having waited for a transaction that is at it;
 * TOMBSTONE_LOST if that has changed or deleted it.
 */
static TombstoneResult
tombstones_update(Tombstones *tombstones, Datum *values, HeapTuple old)
{
	Relation	relation = tombstones->relation;
	Relation	index = tombstones->index;
	bool		isnull[TOMBSTONE_NATTS] = {false};
	HeapTuple	tuple = heap_form_tuple(RelationGetDescr(relation), values, isnull);
	ItemPointerData tid = old->t_self;
	TM_FailureData failure;
	LockTupleMode lockmode;
	TU_UpdateIndexes update_indexes;

	if (compat_heap_update(relation, &tid, tuple, tombstones_command(old), InvalidSnapshot,
						   true, &failure, &lockmode, &update_indexes) != TM_Ok)
		return TOMBSTONE_LOST;
	if (update_indexes != TU_None)
		index_insert(index, values, isnull, &tuple->t_self, relation, UNIQUE_CHECK_YES,
					 false, BuildIndexInfo(index));
	return TOMBSTONE_STAYS;
}

/*
 * Insert a tombstone.  TOMBSTONE_LOST if another transaction was first;
 * TOMBSTONE_REFUSED if the check says that it must not stay.  Then nothing is left
 * of it.
 */
static TombstoneResult
tombstones_insert(Tombstones *tombstones, Datum *values, TombstoneCheck check, void *arg)
{
	Relation	relation = tombstones->relation;
	Relation	index = tombstones->index;
	bool		isnull[TOMBSTONE_NATTS] = {false};
	HeapTuple	tuple = heap_form_tuple(RelationGetDescr(relation), values, isnull);
	IndexInfo  *info = BuildIndexInfo(index);
	TransactionId xid = GetCurrentTransactionId();
	uint32		token = SpeculativeInsertionLockAcquire(xid);
	TombstoneResult result = TOMBSTONE_STAYS;

	HeapTupleHeaderSetSpeculativeToken(tuple->t_data, token);
	heap_insert(relation, tuple, GetCurrentCommandId(true), HEAP_INSERT_SPECULATIVE, NULL);
	if (!index_insert(index, values, isnull, &tuple->t_self, relation,
					  UNIQUE_CHECK_PARTIAL, false, info))
		result = TOMBSTONE_LOST;
	else if (check != NULL && !check(arg))
		result = TOMBSTONE_REFUSED;
	if (result == TOMBSTONE_STAYS)
		heap_finish_speculative(relation, &tuple->t_self);
	else
		heap_abort_speculative(relation, &tuple->t_self);
	SpeculativeInsertionLockRelease(xid);
	return result;
}

/* Does the tombstone in the slot know of this removal, or a newer one? */
static bool
tombstones_knows(const Tombstones *tombstones, const MergePlan *plan, SequenceValue removed)
{
	bool		isnull;
	Datum		sequence = slot_getattr(tombstones->slot, TOMBSTONE_SEQUENCE + 1, &isnull);

	return sequence_compare(plan->sequence, tombstone_read_sequence(plan, sequence),
							removed) >= 0;
}

/*
 * tombstone_write
 *		Remembers the removal of the key in values, unless a newer one is known.
 *		Waits for transactions that write the same.  The check (or NULL) is asked
 *		while a new tombstone is there for others to see, but can still be taken
 *		back.  Returns false if it refuses, or the lock of the key was lost in
 *		waiting: then nothing has changed.
 */
bool
tombstone_write(MergeTarget *target, Tombstones *open, const Datum *values,
				SequenceValue removed, TombstoneCheck check, void *arg)
{
	Tombstones *tombstones = tombstones_use(open, target);
	Datum		key = target_key(tombstones, target, values);
	Datum		tuple[TOMBSTONE_NATTS];
	bool		locked = target->has_key_lock;
	TombstoneResult result = TOMBSTONE_LOST;

	tuple[TOMBSTONE_TABLE] = ObjectIdGetDatum(target->relid);
	tuple[TOMBSTONE_KEY] = key;
	tuple[TOMBSTONE_SEQUENCE] = tombstone_sequence(target->plan->sequence, removed);
	tuple[TOMBSTONE_REMOVED_AT] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	while (result == TOMBSTONE_LOST)
	{
		bool		found = tombstones_wait(tombstones, target, key);

		if (locked && !target->has_key_lock)
		{
			result = TOMBSTONE_REFUSED;
			break;
		}
		if (!found)
		{
			result = tombstones_insert(tombstones, tuple, check, arg);
			continue;
		}
		tombstone_check_snapshot(target, tombstones->slot);
		if (tombstones_knows(tombstones, target->plan, removed))
			break;
		result = tombstones_update(tombstones, tuple,
								   ((HeapTupleTableSlot *) tombstones->slot)->tuple);
	}
	tombstones_leave(open, tombstones);
	return result != TOMBSTONE_REFUSED;
}

/* Delete a table's tombstones, or those from before a time; how many? */
static int64
tombstones_delete_all(Oid relid, bool all, TimestampTz before)
{
	Tombstones *tombstones = tombstones_open(relid, RowExclusiveLock);
	Snapshot	snapshot;
	IndexScanDesc scan;
	int64		ndeleted = 0;

	if (tombstones == NULL)
		return 0;
	CommandCounterIncrement();
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	scan = index_beginscan(tombstones->relation, tombstones->index, snapshot, 1, 0);
	index_rescan(scan, tombstones->scankeys, 1, NULL, 0);
	while (index_getnext_slot(scan, ForwardScanDirection, tombstones->slot))
	{
		bool		isnull;
		Datum		removed_at = slot_getattr(tombstones->slot, TOMBSTONE_REMOVED_AT + 1, &isnull);

		CHECK_FOR_INTERRUPTS();
		if (all || DatumGetTimestampTz(removed_at) < before)
			ndeleted += tombstones_delete(tombstones->relation,
										  ((HeapTupleTableSlot *) tombstones->slot)->tuple);
	}
	index_endscan(scan);
	UnregisterSnapshot(snapshot);
	tombstones_end(tombstones);
	return ndeleted;
}

/*
 * tombstones_forget
 *		Deletes all tombstones of a table, which is empty or gone.
 */
void
tombstones_forget(Oid relid)
{
	(void) tombstones_delete_all(relid, true, 0);
}

/*
 * tombstones_purge
 *		Deletes a table's tombstones from before a time; returns how many.
 */
int64
tombstones_purge(Oid relid, TimestampTz before)
{
	return tombstones_delete_all(relid, false, before);
}
