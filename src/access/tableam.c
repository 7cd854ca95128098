/*
 * tableam.c
 *	  Heap's table access method with the write callbacks replaced.
 *
 * A merge table is a heap: scans, vacuum, TOAST, sampling are heap's own
 * functions, so that reading costs exactly what it costs there.  Rows come in
 * through tuple_insert and multi_insert.  What writes by hand (UPDATE, DELETE,
 * ON CONFLICT) is passed on, after the index shim has forgotten what it knew.
 *
 * Two of heap's functions need help.  heap_getnext, which index builds use,
 * insists on a relation that has heap's own routine; so a table has it while
 * an index is being built.  And TOAST tables of a merge table are plain heaps.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/index_shim.h"
#include "access/merge_tableam.h"
#include "access/statement.h"
#include "access/tombstones.h"
#include "access/upsert.h"
#include "access/versions_by_hand.h"
#include "access/write_buffer.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "compat.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/syscache.h"
#include "utils/inval.h"

/* A table that has heap's routine for the time of a scan by heap_getnext. */
typedef struct HeapGuise
{
	struct HeapGuise *outer;
	Relation	relation;
} HeapGuise;

/* What merge_compare_slots compares. */
typedef struct SlotOrder
{
	MergeTarget *target;
	TupleTableSlot **slots;
} SlotOrder;

static TableAmRoutine merge_routine;
static const TableAmRoutine *heap_routine;
static HeapGuise *heap_guises = NULL;

/* A row that waits has no place yet, and no index entries to get. */
static void
merge_mark_buffered(Relation relation, TupleTableSlot *slot)
{
	slot->tts_tableOid = RelationGetRelid(relation);
	ItemPointerSetUnstored(&slot->tts_tid);
}

/* Merge a row, or insert it where the table does not merge. */
static void
merge_tuple_insert(Relation relation, TupleTableSlot *slot, CommandId cid,
				   int options, BulkInsertState bistate)
{
	MergeTarget *target = NULL;

	index_shim_forget();
	if (!statement_bypasses(relation, slot))
		target = statement_target(relation, slot);
	if (target == NULL)
	{
		versions_by_hand_insert(relation, slot);
		heap_routine->tuple_insert(relation, slot, cid, options, bistate);
		return;
	}
	/* a COPY that inserts row by row would not tell us when it ends */
	if (target->may_buffer && !target->from_copy)
	{
		write_buffer_add(target, slot, cid, options);
		merge_mark_buffered(relation, slot);
		return;
	}
	target_open(target, relation);
	upsert_row(target, relation, slot, cid, options, bistate);
	target_close(target);
	index_shim_begin(relation, 1);
	index_shim_add(&slot->tts_tid);
}

/* The order of two slots: by key, and rows of one key as they came. */
static int
merge_compare_slots(const void *a, const void *b, void *arg)
{
	SlotOrder  *order = arg;
	int			left = *(const int *) a;
	int			right = *(const int *) b;
	int			by_key = target_compare_keys(order->target,
											 order->slots[left]->tts_values,
											 order->slots[right]->tts_values);

	return by_key != 0 ? by_key : (left > right) - (left < right);
}

/*
 * The order in which to merge rows that cannot be buffered: that of their
 * keys, so that statements do not deadlock as long as they are this short.
 */
static int *
merge_slots_by_key(MergeTarget *target, TupleTableSlot **slots, int nslots)
{
	SlotOrder	order = {target, slots};
	int		   *indexes = palloc(nslots * sizeof(int));

	for (int i = 0; i < nslots; i++)
	{
		indexes[i] = i;
		slot_getallattrs(slots[i]);
	}
	target_key_sort(target);
	qsort_arg(indexes, nslots, sizeof(int), merge_compare_slots, &order);
	return indexes;
}

/* Merge the rows of a COPY, or insert them where the table does not merge. */
static void
merge_multi_insert(Relation relation, TupleTableSlot **slots, int nslots,
				   CommandId cid, int options, BulkInsertState bistate)
{
	MergeTarget *target;
	int		   *order;

	index_shim_forget();
	target = statement_target(relation, slots[0]);
	if (target == NULL)
	{
		for (int i = 0; i < nslots; i++)
			versions_by_hand_insert(relation, slots[i]);
		heap_routine->multi_insert(relation, slots, nslots, cid, options, bistate);
		return;
	}
	if (target->may_buffer)
	{
		for (int i = 0; i < nslots; i++)
		{
			write_buffer_add(target, slots[i], cid, options);
			merge_mark_buffered(relation, slots[i]);
		}
		return;
	}
	target_open(target, relation);
	order = merge_slots_by_key(target, slots, nslots);
	for (int i = 0; i < nslots; i++)
	{
		CHECK_FOR_INTERRUPTS();
		upsert_row(target, relation, slots[order[i]], cid, options, bistate);
	}
	target_close(target);
	pfree(order);
	index_shim_begin(relation, nslots);
	for (int i = 0; i < nslots; i++)
		index_shim_add(&slots[i]->tts_tid);
}

/* The end of a COPY: merge what has waited. */
static void
merge_finish_bulk_insert(Relation relation, int options)
{
	statement_finish_copy(relation);
}

/* INSERT … ON CONFLICT by hand: PostgreSQL's own. */
static void
merge_tuple_insert_speculative(Relation relation, TupleTableSlot *slot,
							   CommandId cid, int options,
							   BulkInsertState bistate, uint32 token)
{
	index_shim_forget();
	versions_by_hand_insert(relation, slot);
	heap_routine->tuple_insert_speculative(relation, slot, cid, options,
										   bistate, token);
}

/* DELETE by hand, or an UPDATE that moves a row to another partition. */
static TM_Result
merge_tuple_delete(Relation relation, ItemPointer tid, CommandId cid,
				   Snapshot snapshot, Snapshot crosscheck, bool wait,
				   TM_FailureData *failure, bool changing_partition)
{
	index_shim_forget();
	return heap_routine->tuple_delete(relation, tid, cid, snapshot, crosscheck,
									  wait, failure, changing_partition);
}

/* UPDATE by hand. */
static TM_Result
merge_tuple_update(Relation relation, ItemPointer tid, TupleTableSlot *slot,
				   CommandId cid, Snapshot snapshot, Snapshot crosscheck,
				   bool wait, TM_FailureData *failure, LockTupleMode *lockmode,
#if PG_VERSION_NUM < 160000
				   bool *update_indexes
#else
				   TU_UpdateIndexes *update_indexes
#endif
)
{
	index_shim_forget();
	versions_by_hand_update(relation, tid, slot);
	return heap_routine->tuple_update(relation, tid, slot, cid, snapshot,
									  crosscheck, wait, failure, lockmode,
									  update_indexes);
}

/*
 * A new file.  Where the table is there already it is a TRUNCATE's, and what
 * is remembered of the table's keys goes with the rows.
 */
static void
merge_relation_set_new_file(Relation relation, const compat_RelFile *file,
							char persistence, TransactionId *freeze_xid,
							MultiXactId *min_multi)
{
	heap_routine->compat_relation_set_new_file(relation, file, persistence,
											   freeze_xid, min_multi);
	if (SearchSysCacheExists1(RELOID, ObjectIdGetDatum(RelationGetRelid(relation))))
		tombstones_forget(RelationGetRelid(relation));
}

/* TRUNCATE of a table that this transaction has created or truncated. */
static void
merge_relation_nontransactional_truncate(Relation relation)
{
	heap_routine->relation_nontransactional_truncate(relation);
	tombstones_forget(RelationGetRelid(relation));
}

/* TOAST tables are plain heaps. */
static Oid
merge_relation_toast_am(Relation relation)
{
	return HEAP_TABLE_AM_OID;
}

/*
 * A relcache entry that is rebuilt (a function in an index expression may
 * cause that) gets our routine back: put heap's in again.
 */
static void
merge_relcache_callback(Datum arg, Oid relid)
{
	for (HeapGuise *guise = heap_guises; guise != NULL; guise = guise->outer)
		guise->relation->rd_tableam = heap_routine;
}

static void
heap_guise_begin(HeapGuise *guise, Relation relation)
{
	guise->relation = relation;
	guise->outer = heap_guises;
	heap_guises = guise;
	relation->rd_tableam = heap_routine;
}

static void
heap_guise_end(HeapGuise *guise)
{
	bool		nested = false;

	heap_guises = guise->outer;
	for (HeapGuise *outer = heap_guises; outer != NULL; outer = outer->outer)
		nested |= outer->relation == guise->relation;
	if (!nested)
		guise->relation->rd_tableam = &merge_routine;
}

/* CREATE INDEX reads the table. */
static double
merge_index_build_range_scan(Relation relation, Relation index,
							 IndexInfo *index_info, bool allow_sync,
							 bool anyvisible, bool progress,
							 BlockNumber start_blockno, BlockNumber numblocks,
							 IndexBuildCallback callback, void *callback_state,
							 TableScanDesc scan)
{
	HeapGuise	guise;
	volatile double ntuples = 0;

	heap_guise_begin(&guise, relation);
	PG_TRY();
	{
		ntuples = heap_routine->index_build_range_scan(relation, index, index_info,
													   allow_sync, anyvisible, progress,
													   start_blockno, numblocks,
													   callback, callback_state, scan);
	}
	PG_CATCH();
	{
		heap_guise_end(&guise);
		PG_RE_THROW();
	}
	PG_END_TRY();
	heap_guise_end(&guise);
	return ntuples;
}

/* CREATE INDEX CONCURRENTLY reads it again. */
static void
merge_index_validate_scan(Relation relation, Relation index,
						  IndexInfo *index_info, Snapshot snapshot,
						  ValidateIndexState *state)
{
	HeapGuise	guise;

	index_shim_forget();
	heap_guise_begin(&guise, relation);
	PG_TRY();
	{
		heap_routine->index_validate_scan(relation, index, index_info, snapshot, state);
	}
	PG_FINALLY();
	{
		heap_guise_end(&guise);
	}
	PG_END_TRY();
}

/* Nothing that was stored in a (sub)transaction is known after its end. */
static void
merge_xact_callback(XactEvent event, void *arg)
{
	index_shim_forget();
	statement_forget_plans();
}

static void
merge_subxact_callback(SubXactEvent event, SubTransactionId mine,
					   SubTransactionId parent, void *arg)
{
	index_shim_forget();
	if (event == SUBXACT_EVENT_COMMIT_SUB || event == SUBXACT_EVENT_ABORT_SUB)
		statement_end_subxact(event == SUBXACT_EVENT_COMMIT_SUB);
}

/*
 * merge_tableam_routine
 *		The access method's functions; never freed.
 */
const TableAmRoutine *
merge_tableam_routine(void)
{
	return &merge_routine;
}

/*
 * merge_tableam_init
 *		Derives the routine from heap's; called once, when the module loads.
 */
void
merge_tableam_init(void)
{
	heap_routine = GetHeapamTableAmRoutine();
	merge_routine = *heap_routine;
	merge_routine.tuple_insert = merge_tuple_insert;
	merge_routine.multi_insert = merge_multi_insert;
	merge_routine.finish_bulk_insert = merge_finish_bulk_insert;
	merge_routine.tuple_insert_speculative = merge_tuple_insert_speculative;
	merge_routine.tuple_delete = merge_tuple_delete;
	merge_routine.tuple_update = merge_tuple_update;
	merge_routine.compat_relation_set_new_file = merge_relation_set_new_file;
	merge_routine.relation_nontransactional_truncate = merge_relation_nontransactional_truncate;
	merge_routine.relation_toast_am = merge_relation_toast_am;
	merge_routine.index_build_range_scan = merge_index_build_range_scan;
	merge_routine.index_validate_scan = merge_index_validate_scan;

	CacheRegisterRelcacheCallback(merge_relcache_callback, (Datum) 0);
	RegisterXactCallback(merge_xact_callback, NULL);
	RegisterSubXactCallback(merge_subxact_callback, NULL);
}

PG_FUNCTION_INFO_V1(table_am_handler);

/* table_am_handler(internal) returns table_am_handler */
Datum
table_am_handler(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(&merge_routine);
}
