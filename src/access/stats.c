/*
 * stats.c
 *	  What has been done to each merge table, counted.
 *
 * PostgreSQL's own statistics have no room for counters of an extension unless
 * it is preloaded, so ours are rows of merge_engine.stats_counters, an unlogged
 * table (stats_rows.c).  A transaction counts in memory, by subtransaction, and
 * adds the sums to the table when it commits.
 */
#include "postgres.h"

#include "access/stats.h"
#include "access/table.h"
#include "access/xact.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* What a subtransaction has counted for a table. */
typedef struct StatsEntry
{
	Oid			relid;
	int			level;			/* of the subtransaction */
	int64		counters[STATS_COUNTERS];
} StatsEntry;

bool		stats_tracked = true;

static StatsEntry *entries = NULL;
static int	nentries = 0;
static int	entries_size = 0;

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

/* The transaction is about to be committed or prepared: hand over its counts. */
static void
stats_hand_over(bool prepare)
{
	Relation	relation;

	if (nentries == 0)
		return;
	relation = stats_rows_open();
	for (int i = 0; relation != NULL && i < nentries; i++)
	{
		/* nobody would remove the counters of a table that is gone already */
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(entries[i].relid)))
			continue;
		if (prepare)
			stats_rows_write(relation, entries[i].relid, entries[i].counters);
		else
			stats_rows_promise(relation, entries[i].relid, entries[i].counters);
	}
	if (relation != NULL)
		table_close(relation, NoLock);
	nentries = 0;
}

static void
stats_xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			stats_hand_over(false);
			break;
		case XACT_EVENT_PRE_PREPARE:
			stats_hand_over(true);
			break;
		case XACT_EVENT_COMMIT:
			stats_rows_keep_promises();
			nentries = 0;
			break;
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			stats_rows_abandon();
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
	stats_rows_init();
	RegisterXactCallback(stats_xact_callback, NULL);
	RegisterSubXactCallback(stats_subxact_callback, NULL);
}
