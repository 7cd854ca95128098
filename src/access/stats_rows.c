/*
 * stats_rows.c
 *	  Where counters are kept: the rows of merge_engine.stats_counters.
 *
 * The table is unlogged: it costs no WAL, and goes with a crash, as PostgreSQL's
 * own statistics do.  So that nobody waits for anybody, each backend number has
 * a row of its own for each merge table; the view adds them up.  Its rows are on a
 * page of its own, as long as they fit, or processors would pass pages to each other
 * at every commit.  A new backend goes on with the row of the last one that had its
 * number.  Where that row cannot be had (a prepared transaction has it, or it is just
 * being reset) it begins another one.
 *
 * A commit must not pay for a new version of the row, so it changes the row in
 * place, as PostgreSQL does with a few catalog columns.  What is not committed
 * must not be counted, and what is committed must not fail.  So it is done in
 * two steps:
 *
 * - Before the transaction commits (stats_rows_promise) the row is found and its
 *	 page pinned.  This may fail, and changes nothing.
 * - When it has committed (stats_rows_keep_promises) the counts are added.  The
 *	 pin holds the page in memory and the row in its place on the page, so this
 *	 cannot fail; nor can anybody else be changing the row, but to delete it.  So
 *	 a share lock will do, as for hint bits, and commits do not wait for each other
 *	 where rows of several backends are on one page.
 *
 * Rows are looked for with SnapshotSelf: for an MVCC snapshot, a serializable
 * transaction would lock all counters against those of others.
 *
 * So counts are there for everybody as soon as they are committed, in whatever
 * snapshot, and need no transaction number.  Only a row that does not exist yet
 * is inserted, and what a prepared transaction has counted is written in a new
 * version of the row, as ordinary writes of the transaction.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/stats_rows.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "compat.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* A transaction that has counted for more tables than this writes the rest. */
#define MAX_PROMISES 32

/* So many places are remembered: tables come and go. */
#define MAX_PLACES 1024

/* The columns of merge_engine.stats_counters; counters follow. */
enum
{
	STATS_TABLE,
	STATS_BACKEND,
	STATS_SINCE,
	STATS_FIRST_COUNTER,
	STATS_NATTS = STATS_FIRST_COUNTER + STATS_COUNTERS
};

/* A row, as it lies in its tuple: no column is NULL. */
typedef struct StatsRow
{
	Oid			table;
	int32		backend;
	TimestampTz since;
	int64		counters[STATS_COUNTERS];
} StatsRow;

/* Where this backend's row of a table was last. */
typedef struct StatsPlace
{
	Oid			relid;
	ItemPointerData tid;		/* invalid: not known */
	Buffer		buffer;			/* that held it then */
} StatsPlace;

/* What is to be added when the transaction has committed. */
typedef struct StatsPromise
{
	Buffer		buffer;			/* pinned */
	StatsRow   *row;			/* in that buffer */
	int64		counters[STATS_COUNTERS];
} StatsPromise;

static Oid	counters_relid = InvalidOid;

static StatsPlace *places = NULL;
static int	nplaces = 0;
static int	places_size = 0;

/* The page of this backend's newest row, or InvalidBlockNumber. */
static BlockNumber newest_block = InvalidBlockNumber;

static StatsPromise promises[MAX_PROMISES];
static int	npromises = 0;

/* The table of counters is not what it was. */
static void
stats_rows_changed(Datum arg, Oid relid)
{
	if (relid == counters_relid || relid == InvalidOid)
		counters_relid = InvalidOid;
}

/*
 * stats_rows_init
 *		Called once, when the module loads.
 */
void
stats_rows_init(void)
{
	CacheRegisterRelcacheCallback(stats_rows_changed, (Datum) 0);
}

/*
 * stats_rows_open
 *		Opens the table of counters; NULL where the extension is not installed,
 *		or not in the version that this library writes for.
 */
Relation
stats_rows_open(void)
{
	Relation	relation = NULL;

	if (!OidIsValid(counters_relid))
	{
		Oid			schema = get_namespace_oid("merge_engine", true);

		if (OidIsValid(schema))
			counters_relid = get_relname_relid("stats_counters", schema);
	}
	if (OidIsValid(counters_relid))
		relation = try_table_open(counters_relid, RowExclusiveLock);
	if (relation != NULL && RelationGetDescr(relation)->natts != STATS_NATTS)
	{
		table_close(relation, NoLock);
		relation = NULL;
	}
	return relation;
}

/* The known place of this backend's row of a table; room for it if there is none. */
static StatsPlace *
stats_place(Oid relid)
{
	for (int i = 0; i < nplaces; i++)
	{
		if (places[i].relid == relid)
			return &places[i];
	}
	if (nplaces == MAX_PLACES)
		nplaces = 0;
	if (nplaces == places_size)
	{
		int			size = Max(16, places_size * 2);

		places = places == NULL ?
			MemoryContextAlloc(TopMemoryContext, size * sizeof(StatsPlace)) :
			repalloc(places, size * sizeof(StatsPlace));
		places_size = size;
	}
	places[nplaces].relid = relid;
	ItemPointerSetInvalid(&places[nplaces].tid);
	places[nplaces].buffer = InvalidBuffer;
	return &places[nplaces++];
}

/* The row in a tuple, if it is a table's and belongs to this backend's number. */
static StatsRow *
stats_row_of(HeapTupleHeader tuple, Size length, Oid relid)
{
	StatsRow   *row = (StatsRow *) ((char *) tuple + tuple->t_hoff);

	if (HeapTupleHeaderGetNatts(tuple) != STATS_NATTS ||
		(tuple->t_infomask & HEAP_HASNULL) != 0 ||
		length < tuple->t_hoff + sizeof(StatsRow) ||
		row->table != relid || row->backend != compat_backend_number())
		return NULL;
	return row;
}

/* Pin the page of a place; InvalidBuffer if there is no such page any more. */
static Buffer
stats_place_pin(Relation relation, StatsPlace *place)
{
	BlockNumber block = ItemPointerGetBlockNumber(&place->tid);

	if (BufferIsValid(place->buffer) &&
		compat_read_recent_buffer(relation, block, place->buffer))
		return place->buffer;
	/* VACUUM may have made the table shorter */
	place->buffer = InvalidBuffer;
	if (block < RelationGetNumberOfBlocks(relation))
		place->buffer = ReadBuffer(relation, block);
	return place->buffer;
}

/*
 * Is a tuple, whose page is locked, there for everybody, and is nobody about to
 * delete or replace it?
 */
static bool
stats_tuple_is_free(HeapTuple tuple, Buffer buffer)
{
	SnapshotData dirty;

	if (HeapTupleHeaderXminCommitted(tuple->t_data) &&
		(tuple->t_data->t_infomask & HEAP_XMAX_INVALID) != 0)
		return true;
	InitDirtySnapshot(dirty);
	return HeapTupleSatisfiesVisibility(tuple, &dirty, buffer) &&
		!TransactionIdIsValid(dirty.xmin) && !TransactionIdIsValid(dirty.xmax);
}

/*
 * The row at a place, its page pinned in *buffer.  NULL if it is not there any
 * more, or somebody is about to delete or replace it.
 */
static StatsRow *
stats_row_at(Relation relation, StatsPlace *place, Buffer *buffer)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&place->tid);
	StatsRow   *row = NULL;
	Page		page;

	*buffer = stats_place_pin(relation, place);
	if (!BufferIsValid(*buffer))
		return NULL;
	/*
	 * Nobody moves what is on a pinned page.  But who has begun to do so before
	 * we came must come to an end first.
	 */
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(*buffer);
	if (offset <= PageGetMaxOffsetNumber(page) &&
		ItemIdIsNormal(PageGetItemId(page, offset)))
	{
		ItemId		item = PageGetItemId(page, offset);
		HeapTupleData tuple = {
			.t_self = place->tid,
			.t_tableOid = RelationGetRelid(relation),
			.t_data = (HeapTupleHeader) PageGetItem(page, item),
			.t_len = ItemIdGetLength(item)
		};

		row = stats_row_of(tuple.t_data, tuple.t_len, place->relid);
		if (row != NULL && !stats_tuple_is_free(&tuple, *buffer))
			row = NULL;
	}
	LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
	if (row == NULL)
		ReleaseBuffer(*buffer);
	return row;
}

/* This backend's row of a table, its page pinned in *buffer; or NULL. */
static StatsRow *
stats_row_find(Relation relation, StatsPlace *place, Buffer *buffer)
{
	StatsRow   *row = NULL;
	TableScanDesc scan;
	HeapTuple	tuple;

	if (ItemPointerIsValid(&place->tid))
		row = stats_row_at(relation, place, buffer);
	if (row != NULL)
		return row;

	scan = table_beginscan(relation, SnapshotSelf, 0, NULL);
	while (row == NULL && (tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		if (stats_row_of(tuple->t_data, tuple->t_len, place->relid) == NULL)
			continue;
		place->tid = tuple->t_self;
		place->buffer = InvalidBuffer;
		row = stats_row_at(relation, place, buffer);
	}
	table_endscan(scan);
	if (row == NULL)
		ItemPointerSetInvalid(&place->tid);
	return row;
}

/*
 * The page for a new row of this backend: where its newest one is, if VACUUM has
 * left that page; at first, the one that each backend number has.  Adds empty pages
 * to the table up to there.
 */
static BlockNumber
stats_page_for_row(Relation relation)
{
	BlockNumber block = compat_backend_number();
	BlockNumber nblocks = RelationGetNumberOfBlocks(relation);

	/* InvalidBlockNumber is beyond any */
	if (newest_block < nblocks)
		return newest_block;
	while (nblocks <= block)
	{
		Buffer		buffer;

		LockRelationForExtension(relation, ExclusiveLock);
		buffer = ReadBufferExtended(relation, MAIN_FORKNUM, P_NEW, RBM_ZERO_AND_LOCK, NULL);
		UnlockRelationForExtension(relation, ExclusiveLock);
		nblocks = BufferGetBlockNumber(buffer) + 1;
		PageInit(BufferGetPage(buffer), BufferGetPageSize(buffer), 0);
		MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
	return block;
}

/* Insert a row with these counts. */
static void
stats_row_insert(Relation relation, StatsPlace *place, TimestampTz since, const int64 *counters)
{
	Datum		values[STATS_NATTS];
	bool		nulls[STATS_NATTS] = {false};
	HeapTuple	tuple;

	values[STATS_TABLE] = ObjectIdGetDatum(place->relid);
	values[STATS_BACKEND] = Int32GetDatum(compat_backend_number());
	values[STATS_SINCE] = TimestampTzGetDatum(since);
	for (int i = 0; i < STATS_COUNTERS; i++)
		values[STATS_FIRST_COUNTER + i] = Int64GetDatum(counters[i]);
	tuple = heap_form_tuple(RelationGetDescr(relation), values, nulls);
	RelationSetTargetBlock(relation, stats_page_for_row(relation));
	heap_insert(relation, tuple, GetCurrentCommandId(true), 0, NULL);
	place->tid = tuple->t_self;
	place->buffer = InvalidBuffer;
	newest_block = ItemPointerGetBlockNumber(&place->tid);
	heap_freetuple(tuple);
}

/*
 * stats_rows_write
 *		Adds counts of a table as an ordinary write of the transaction.
 */
void
stats_rows_write(Relation relation, Oid relid, const int64 *counters)
{
	StatsPlace *place = stats_place(relid);
	TimestampTz since = GetCurrentTransactionStartTimestamp();
	int64		sums[STATS_COUNTERS];
	Buffer		buffer;
	StatsRow   *row = stats_row_find(relation, place, &buffer);

	memcpy(sums, counters, sizeof(sums));
	if (row != NULL)
	{
		ItemPointerData tid = place->tid;
		TM_FailureData failure;

		for (int i = 0; i < STATS_COUNTERS; i++)
			sums[i] += row->counters[i];
		since = row->since;
		ReleaseBuffer(buffer);
		if (heap_delete(relation, &tid, GetCurrentCommandId(true), InvalidSnapshot,
						false, &failure, false) != TM_Ok)
		{
			memcpy(sums, counters, sizeof(sums));
			since = GetCurrentTransactionStartTimestamp();
		}
	}
	stats_row_insert(relation, place, since, sums);
}

/*
 * stats_rows_promise
 *		The transaction is about to commit: prepares to add its counts of a
 *		table.  The caller keeps the lock on the table.
 */
void
stats_rows_promise(Relation relation, Oid relid, const int64 *counters)
{
	StatsPlace *place = stats_place(relid);
	ResourceOwner owner = CurrentResourceOwner;
	StatsPromise *promise;

	/* somebody has made the table a logged one */
	if (npromises == MAX_PROMISES || RelationNeedsWAL(relation))
	{
		stats_rows_write(relation, relid, counters);
		return;
	}
	/* whoever has the pin must have it until the commit */
	CurrentResourceOwner = TopTransactionResourceOwner;
	promise = &promises[npromises];
	promise->row = stats_row_find(relation, place, &promise->buffer);
	if (promise->row != NULL)
	{
		memcpy(promise->counters, counters, sizeof(promise->counters));
		npromises++;
	}
	else
		stats_row_insert(relation, place, GetCurrentTransactionStartTimestamp(), counters);
	CurrentResourceOwner = owner;
}

/*
 * stats_rows_keep_promises
 *		The transaction has committed: adds its counts.  Cannot fail.
 */
void
stats_rows_keep_promises(void)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	for (int i = 0; i < npromises; i++)
	{
		StatsPromise *promise = &promises[i];

		LockBuffer(promise->buffer, BUFFER_LOCK_SHARE);
		for (int c = 0; c < STATS_COUNTERS; c++)
			promise->row->counters[c] += promise->counters[c];
		/* a page that is just being written is dirty once more */
		pg_memory_barrier();
		MarkBufferDirtyHint(promise->buffer, true);
		UnlockReleaseBuffer(promise->buffer);
	}
	npromises = 0;
	CurrentResourceOwner = owner;
}

/*
 * stats_rows_abandon
 *		The transaction has aborted: nothing is added.  The pins go with it.
 */
void
stats_rows_abandon(void)
{
	npromises = 0;
}

/*
 * stats_forget
 *		Deletes the counters of a table, or of all tables for InvalidOid.
 */
void
stats_forget(Oid relid)
{
	Relation	relation = stats_rows_open();
	bool		again = relation != NULL;

	while (again)
	{
		TableScanDesc scan = table_beginscan(relation, SnapshotSelf, 0, NULL);
		HeapTuple	tuple;

		again = false;
		while ((tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
		{
			TM_FailureData failure;
			bool		isnull;
			Oid			of = DatumGetObjectId(heap_getattr(tuple, STATS_TABLE + 1,
														   RelationGetDescr(relation), &isnull));

			CHECK_FOR_INTERRUPTS();
			if (OidIsValid(relid) && of != relid)
				continue;

			/* a backend may be adding to it: then look again */
			if (heap_delete(relation, &tuple->t_self, GetCurrentCommandId(true),
							InvalidSnapshot, true, &failure, false) != TM_Ok)
				again = true;
		}
		table_endscan(scan);
		CommandCounterIncrement();
	}
	if (relation != NULL)
		table_close(relation, NoLock);
}
