/*
 * stats.c
 *	  What has been done to each merge table, counted.
 *
 * PostgreSQL's own statistics have no room for counters of an extension unless
 * it is preloaded, so ours are rows of merge_engine.stats_counters, an unlogged
 * table: they cost no WAL, follow the transaction that they are about, and go
 * with a crash, as PostgreSQL's own do.
 *
 * A transaction counts in memory, by subtransaction, and adds the sums to the
 * table when it commits.  So that nobody waits for anybody, each backend number
 * has a row of its own for each table; the view adds them up.  A new backend
 * goes on with the row of the last one that had its number.  Where that row
 * cannot be had (a prepared transaction has it, or it is just being reset) it
 * begins another one.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/stats.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "compat.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

/* The columns of merge_engine.stats_counters; counters follow. */
enum
{
	STATS_TABLE,
	STATS_BACKEND,
	STATS_SINCE,
	STATS_FIRST_COUNTER,
	STATS_NATTS = STATS_FIRST_COUNTER + STATS_COUNTERS
};

/* What a subtransaction has counted for a table. */
typedef struct StatsEntry
{
	Oid			relid;
	int			level;			/* of the subtransaction */
	int64		counters[STATS_COUNTERS];
} StatsEntry;

/* Where this backend's row of a table was last. */
typedef struct StatsRow
{
	Oid			relid;
	ItemPointerData tid;
} StatsRow;

bool		stats_tracked = true;

static StatsEntry *entries = NULL;
static int	nentries = 0;
static int	entries_size = 0;

static StatsRow *rows = NULL;
static int	nrows = 0;
static int	rows_size = 0;

/* The entry of a table in the current subtransaction. */
static StatsEntry *
stats_entry(Oid relid)
{
	int			level = GetCurrentTransactionNestLevel();
	StatsEntry *entry;

	for (int i = nentries - 1; i >= 0; i--)
	{
		if (entries[i].relid == relid && entries[i].level == level)
			return &entries[i];
	}
	if (nentries == entries_size)
	{
		int			size = Max(16, entries_size * 2);

		entries = entries == NULL ?
			MemoryContextAlloc(TopMemoryContext, size * sizeof(StatsEntry)) :
			repalloc(entries, size * sizeof(StatsEntry));
		entries_size = size;
	}
	entry = &entries[nentries++];
	memset(entry, 0, sizeof(StatsEntry));
	entry->relid = relid;
	entry->level = level;
	return entry;
}

/*
 * stats_count
 *		Adds to a counter of a table.
 */
void
stats_count(Oid relid, StatsCounter counter, int64 n)
{
	if (stats_tracked)
		stats_entry(relid)->counters[counter] += n;
}

/*
 * stats_count_row
 *		A row has come in, perhaps the first one of the statement.
 */
void
stats_count_row(MergeTarget *target)
{
	StatsEntry *entry;

	if (!stats_tracked)
		return;
	entry = stats_entry(target->relid);
	entry->counters[STATS_ROWS_IN]++;
	entry->counters[STATS_STATEMENTS] += !target->counted;
	target->counted = true;
}

/* Is the row older than what it meets: the stored row, or a removal? */
static bool
stats_is_late(const Upsert *upsert, const MergeRow *row, SequenceValue stored)
{
	const MergePlan *plan = upsert->target->plan;

	return plan->sequence != NULL &&
		sequence_compare(plan->sequence, row->sequence,
						 upsert->found ? stored : upsert->tombstone.removed) < 0;
}

/* Count one row of a key by what became of the key. */
static void
stats_count_outcome(const Upsert *upsert, StatsEntry *entry, const MergeRow *row,
					SequenceValue stored)
{
	const MergePlan *plan = upsert->target->plan;
	bool		gone = upsert->outcome == UPSERT_REMOVED;
	bool		stays = upsert->outcome == UPSERT_UNCHANGED || upsert->outcome == UPSERT_NOTHING;

	if (!RowKindIsRetract(row->kind))
	{
		if (stays && stats_is_late(upsert, row, stored))
			entry->counters[STATS_LATE_IGNORED]++;
		return;
	}
	if (merge_ignores(plan, row))
		entry->counters[STATS_DELETES_IGNORED]++;
	else if (plan->engine == MERGE_DEDUPLICATE || plan->remove_on_delete)
	{
		if (plan->engine != MERGE_DEDUPLICATE && row->kind != ROWKIND_DELETE)
			entry->counters[STATS_RETRACTIONS] += plan->engine == MERGE_AGGREGATION;
		else if (!gone && stays)
			entry->counters[STATS_DELETES_IGNORED]++;
	}
	else if (!gone)
		entry->counters[STATS_RETRACTIONS]++;
}

/*
 * stats_count_key
 *		The rows of a key have been merged; the row that they met is still in
 *		target->stored.
 */
void
stats_count_key(const Upsert *upsert)
{
	const MergePlan *plan = upsert->target->plan;
	SequenceValue stored = NULL;
	StatsEntry *entry;

	if (!stats_tracked)
		return;
	entry = stats_entry(upsert->target->relid);
	switch (upsert->outcome)
	{
		case UPSERT_INSERTED:
			entry->counters[STATS_INSERTED]++;
			break;
		case UPSERT_UPDATED:
			entry->counters[STATS_MERGED]++;
			break;
		case UPSERT_UNCHANGED:
			entry->counters[STATS_UNCHANGED]++;
			break;
		case UPSERT_REMOVED:
			entry->counters[STATS_DELETES_APPLIED]++;
			break;
		case UPSERT_NOTHING:
			break;
	}
	if (plan->sequence == NULL && plan->rowkind < 0)
		return;
	if (upsert->found && plan->sequence != NULL)
		stored = sequence_read(plan->sequence, upsert->target->stored->tts_values,
							   upsert->target->stored->tts_isnull);
	for (int i = 0; i < upsert->nrows; i++)
		stats_count_outcome(upsert, entry, upsert->rows[i], stored);
}

/* Open the table of counters; NULL where the extension is not installed. */
static Relation
stats_open(void)
{
	Oid			schema = get_namespace_oid("merge_engine", true);
	Oid			relid = OidIsValid(schema) ? get_relname_relid("stats_counters", schema) : InvalidOid;

	return OidIsValid(relid) ? table_open(relid, RowExclusiveLock) : NULL;
}

/* Is the tuple the row of a table that belongs to this backend's number? */
static bool
stats_is_mine(Relation relation, HeapTuple tuple, Oid relid)
{
	bool		isnull;

	return DatumGetObjectId(heap_getattr(tuple, STATS_TABLE + 1, RelationGetDescr(relation), &isnull)) == relid &&
		DatumGetInt32(heap_getattr(tuple, STATS_BACKEND + 1, RelationGetDescr(relation), &isnull)) == compat_backend_number();
}

/* The known place of this backend's row of a table; room for it if there is none. */
static StatsRow *
stats_row(Oid relid)
{
	for (int i = 0; i < nrows; i++)
	{
		if (rows[i].relid == relid)
			return &rows[i];
	}
	if (nrows == rows_size)
	{
		int			size = Max(16, rows_size * 2);

		rows = rows == NULL ?
			MemoryContextAlloc(TopMemoryContext, size * sizeof(StatsRow)) :
			repalloc(rows, size * sizeof(StatsRow));
		rows_size = size;
	}
	rows[nrows].relid = relid;
	ItemPointerSetInvalid(&rows[nrows].tid);
	return &rows[nrows++];
}

/* Find this backend's row of a table; a copy, or NULL. */
static HeapTuple
stats_find(Relation relation, const StatsRow *row)
{
	HeapTuple	result = NULL;
	Snapshot	snapshot;
	TableScanDesc scan;
	HeapTuple	tuple;

	if (ItemPointerIsValid(&row->tid))
	{
		HeapTupleData known = {.t_self = row->tid};
		Buffer		buffer;

		if (heap_fetch(relation, SnapshotSelf, &known, &buffer, false))
		{
			if (stats_is_mine(relation, &known, row->relid))
				result = heap_copytuple(&known);
			ReleaseBuffer(buffer);
		}
	}
	if (result != NULL)
		return result;

	snapshot = RegisterSnapshot(GetLatestSnapshot());
	scan = table_beginscan(relation, snapshot, 0, NULL);
	while (result == NULL && (tuple = heap_getnext(scan, ForwardScanDirection)) != NULL)
	{
		if (stats_is_mine(relation, tuple, row->relid))
			result = heap_copytuple(tuple);
	}
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	return result;
}

/* Add what was counted to this backend's row of the table. */
static void
stats_write(Relation relation, const StatsEntry *entry)
{
	TupleDesc	tupdesc = RelationGetDescr(relation);
	StatsRow   *row = stats_row(entry->relid);
	HeapTuple	old = stats_find(relation, row);
	Datum		values[STATS_NATTS];
	bool		nulls[STATS_NATTS] = {false};
	HeapTuple	new;

	values[STATS_TABLE] = ObjectIdGetDatum(entry->relid);
	values[STATS_BACKEND] = Int32GetDatum(compat_backend_number());
	values[STATS_SINCE] = TimestampTzGetDatum(GetCurrentTransactionStartTimestamp());
	for (int i = 0; i < STATS_COUNTERS; i++)
		values[STATS_FIRST_COUNTER + i] = Int64GetDatum(entry->counters[i]);
	if (old != NULL)
	{
		Datum		old_values[STATS_NATTS];
		TM_FailureData failure;
		LockTupleMode lockmode;
		TU_UpdateIndexes update_indexes;
		Datum		since = values[STATS_SINCE];

		heap_deform_tuple(old, tupdesc, old_values, nulls);
		values[STATS_SINCE] = old_values[STATS_SINCE];
		for (int i = STATS_FIRST_COUNTER; i < STATS_NATTS; i++)
			values[i] = Int64GetDatum(DatumGetInt64(values[i]) + DatumGetInt64(old_values[i]));
		new = heap_form_tuple(tupdesc, values, nulls);
		if (compat_heap_update(relation, &old->t_self, new, GetCurrentCommandId(true),
							   InvalidSnapshot, false, &failure, &lockmode,
							   &update_indexes) == TM_Ok)
		{
			row->tid = new->t_self;
			return;
		}
		values[STATS_SINCE] = since;
		for (int i = 0; i < STATS_COUNTERS; i++)
			values[STATS_FIRST_COUNTER + i] = Int64GetDatum(entry->counters[i]);
	}
	new = heap_form_tuple(tupdesc, values, nulls);
	heap_insert(relation, new, GetCurrentCommandId(true), 0, NULL);
	row->tid = new->t_self;
}

/* The transaction is about to commit: write what it has counted. */
static void
stats_write_all(void)
{
	MemoryContext context;
	MemoryContext oldcontext;
	Relation	relation;

	if (nentries == 0)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "merge stats", ALLOCSET_SMALL_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	relation = stats_open();
	for (int i = 0; relation != NULL && i < nentries; i++)
		stats_write(relation, &entries[i]);
	if (relation != NULL)
		table_close(relation, NoLock);
	nentries = 0;
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}

static void
stats_xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			stats_write_all();
			break;
		case XACT_EVENT_PRE_PREPARE:
			stats_write_all();
			break;
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			/* what was written last is not, or not yet, the row */
			nrows = 0;
			nentries = 0;
			break;
		default:
			nentries = 0;
			break;
	}
}

static void
stats_subxact_callback(SubXactEvent event, SubTransactionId mine,
					   SubTransactionId parent, void *arg)
{
	int			level = GetCurrentTransactionNestLevel();
	int			kept = 0;

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	for (int i = 0; i < nentries; i++)
	{
		StatsEntry	entry = entries[i];
		int			same = -1;

		if (entry.level >= level)
		{
			if (event == SUBXACT_EVENT_ABORT_SUB)
				continue;
			entry.level = level - 1;
		}
		for (int j = 0; j < kept && same < 0; j++)
		{
			if (entries[j].relid == entry.relid && entries[j].level == entry.level)
				same = j;
		}
		if (same < 0)
		{
			entries[kept++] = entry;
			continue;
		}
		for (int c = 0; c < STATS_COUNTERS; c++)
			entries[same].counters[c] += entry.counters[c];
	}
	nentries = kept;
}

/*
 * stats_init
 *		Called once, when the module loads.
 */
void
stats_init(void)
{
	RegisterXactCallback(stats_xact_callback, NULL);
	RegisterSubXactCallback(stats_subxact_callback, NULL);
}

/*
 * stats_forget
 *		Deletes the counters of a table, or of all tables for InvalidOid.
 */
void
stats_forget(Oid relid)
{
	Relation	relation = stats_open();
	bool		again = relation != NULL;

	while (again)
	{
		Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
		TableScanDesc scan = table_beginscan(relation, snapshot, 0, NULL);
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
		UnregisterSnapshot(snapshot);
		CommandCounterIncrement();
	}
	if (relation != NULL)
		table_close(relation, NoLock);
}
