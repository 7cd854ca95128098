/*
 * watermark.c
 *	  Up to where a refresh may read without ever losing a row.
 *
 * A row can get its incremental value before another row and commit after it.  A
 * refresh that had read the other row's value and moved its watermark there would
 * never see the first.  Therefore, in this order:
 *
 * 1. read each source's maximum: the bound;
 * 2. wait for the transactions that hold a writer's lock on the source.  Whoever had
 *	  taken a value at or below the bound without having committed is one of them: a
 *	  statement locks its table before it takes a value.  Nobody is kept from starting
 *	  to write meanwhile, and what they write is above the bound;
 * 3. for timestamps, whose value is the transaction's start, that is not enough: a
 *	  transaction that started before the maximum may only begin to write later.  So
 *	  the bound is kept below the start of the oldest transaction still running;
 * 4. take the snapshot.  It sees everything at or below the bounds.
 *
 * The condition is that the statement that writes a row takes its value, from a
 * sequence without cache or from the transaction's start.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "compat.h"
#include "projection/projection.h"

/* The locks that a transaction holds if it has written to a table. */
#define WRITER_LOCKS \
	(LOCKBIT_ON(RowExclusiveLock) | LOCKBIT_ON(ShareRowExclusiveLock) | \
	 LOCKBIT_ON(ExclusiveLock) | LOCKBIT_ON(AccessExclusiveLock))

/*
 * Between the moment a session takes a transaction's start time and the moment others
 * can read it lie a few instructions.  So many milliseconds after the maximum was
 * read, whoever took a time at or below it has made it known.
 */
#define START_KNOWN_AFTER_MS 20
#define START_ASK_TIMES 50

/* Compare two values of a source's column. */
static int
watermark_compare(const ProjectionSource *source, Datum a, Datum b)
{
	TypeCacheEntry *entry = lookup_type_cache(source->type, TYPECACHE_CMP_PROC_FINFO);

	return DatumGetInt32(FunctionCall2Coll(&entry->cmp_proc_finfo, source->collation, a, b));
}

/* Has this source changes that the projection does not hold? */
bool
watermark_moved(const ProjectionSource *source)
{
	if (!source->has_bound)
		return false;
	return !source->has_watermark ||
		watermark_compare(source, source->bound, source->watermark) > 0;
}

/*
 * Read each source's maximum as the bound; it never falls below the watermark.
 *
 * SPI must be connected.  The values live in the caller's memory context.
 */
void
watermark_read_bounds(Projection *projection)
{
	MemoryContext context = CurrentMemoryContext;
	ListCell   *lc;

	foreach(lc, projection->sources)
	{
		ProjectionSource *source = lfirst(lc);
		const char *column = quote_identifier(source->column);
		char	   *sql = psprintf("SELECT CAST(%s AS %s) FROM %s%s ORDER BY %s USING %s LIMIT 1",
								   column, sql_type(source->type),
								   source->inherit ? "" : "ONLY ", sql_relation(source->relid),
								   column,
								   sql_operator(sql_btree_operator(source->type, BTGreaterStrategyNumber)));

		/* not read-only: under a snapshot of this moment */
		if (SPI_execute(sql, false, 1) != SPI_OK_SELECT)
			elog(ERROR, "could not read the maximum of field \"%s\"", source->field);
		source->has_bound = source->has_watermark;
		source->bound = source->watermark;
		if (SPI_processed == 1)
		{
			bool		isnull;
			Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);

			if (!isnull && (!source->has_watermark || watermark_compare(source, value, source->watermark) > 0))
			{
				MemoryContext old = MemoryContextSwitchTo(context);

				source->has_bound = true;
				source->bound = datumCopy(value, get_typbyval(source->type), get_typlen(source->type));
				MemoryContextSwitchTo(old);
			}
		}
		SPI_freetuptable(SPI_tuptable);
	}
}

/* VACUUM locks exclusively to truncate, but writes no rows and runs for long. */
static bool
backend_is_vacuuming(int pid)
{
	PGPROC	   *proc = pid == 0 ? NULL : BackendPidGetProc(pid);

	return proc && (proc->statusFlags & PROC_IN_VACUUM);
}

/*
 * Wait until the transactions that were writing to a source have ended.
 *
 * They are waited for one by one through their virtual transaction lock, so
 * lock_timeout, cancelling and deadlock detection work as for any lock.  The lock
 * table, not the relation's queue: a queued lock request would block new writers.
 */
void
watermark_wait_for_writers(const Projection *projection)
{
	List	   *relids = NIL;
	LockData   *locks;
	ListCell   *lc;

	foreach(lc, projection->sources)
	{
		ProjectionSource *source = lfirst(lc);

		relids = list_append_unique_oid(relids, source->relid);
		if (source->inherit)
			relids = list_concat_unique_oid(relids, find_all_inheritors(source->relid, AccessShareLock, NULL));

		/*
		 * A row that reaches a partition through its parent gets its value before the
		 * partition is locked, but not before the parent is.
		 */
		if (get_rel_relispartition(source->relid))
			relids = list_concat_unique_oid(relids, get_partition_ancestors(source->relid));
	}

	locks = GetLockStatusData();
	for (int i = 0; i < locks->nelements; i++)
	{
		LockInstanceData *lock = &locks->locks[i];
		VirtualTransactionId vxid = compat_lock_vxid(lock);

		if (lock->locktag.locktag_type != LOCKTAG_RELATION ||
			lock->locktag.locktag_field1 != MyDatabaseId ||
			(lock->holdMask & WRITER_LOCKS) == 0 ||
			lock->pid == MyProcPid ||
			!list_member_oid(relids, lock->locktag.locktag_field2) ||
			!VirtualTransactionIdIsValid(vxid) ||
			backend_is_vacuuming(lock->pid))
			continue;
		CHECK_FOR_INTERRUPTS();
		VirtualXactLock(vxid, true);
	}
}

/*
 * When did the oldest running transaction of this database start?  Our own counts:
 * it may write more after the refresh.  Returns false if a transaction is about to
 * make its start known, and the caller can ask again; otherwise its session's start
 * stands for it.
 */
static bool
oldest_transaction_start(TimestampTz *oldest, bool ask_again)
{
	int			nbackends;

	*oldest = GetCurrentTransactionStartTimestamp();
	/* a copy from earlier in our transaction would hide who began since */
	pgstat_clear_backend_activity_snapshot();
	nbackends = pgstat_fetch_stat_numbackends();
	for (int i = 1; i <= nbackends; i++)
	{
		LocalPgBackendStatus *local = compat_backend_status(i);
		PgBackendStatus *status;
		PGPROC	   *proc;
		TimestampTz start;

		if (local == NULL)
			continue;
		status = &local->backendStatus;
		if (status->st_procpid == 0 || status->st_procpid == MyProcPid ||
			status->st_databaseid != MyDatabaseId)
			continue;
		proc = BackendPidGetProc(status->st_procpid);
		/* VACUUM and autovacuum's ANALYZE run for long and write no rows */
		if (proc == NULL || (proc->statusFlags & (PROC_IS_AUTOVACUUM | PROC_IN_VACUUM)))
			continue;
		start = status->st_xact_start_timestamp;
		if (start == 0)
		{
			if (!LocalTransactionIdIsValid(compat_proc_lxid(proc)))
				continue;
			/* without track_activities only the session's start is known */
			if (status->st_state != STATE_DISABLED && ask_again)
				return false;
			start = status->st_proc_start_timestamp;
		}
		if (start < *oldest)
			*oldest = start;
	}
	return true;
}

/* Keep the bounds of timestamp fields below the start of every running transaction. */
void
watermark_cap_timestamps(Projection *projection)
{
	TimestampTz oldest = 0;
	bool		known = false;
	int			asked = 0;
	ListCell   *lc;

	foreach(lc, projection->sources)
	{
		ProjectionSource *source = lfirst(lc);
		Datum		limit;

		if ((source->type != TIMESTAMPTZOID && source->type != TIMESTAMPOID) ||
			!watermark_moved(source))
			continue;
		while (!known)
		{
			/* the maxima were read before the wait, which counts */
			CHECK_FOR_INTERRUPTS();
			pg_usleep(START_KNOWN_AFTER_MS * 1000L);
			known = oldest_transaction_start(&oldest, asked++ < START_ASK_TIMES);
		}
		limit = TimestampTzGetDatum(oldest - 1);
		if (source->type == TIMESTAMPOID)
			limit = DirectFunctionCall1(timestamptz_timestamp, limit);
		if (watermark_compare(source, source->bound, limit) <= 0)
			continue;
		if (source->has_watermark && watermark_compare(source, source->watermark, limit) > 0)
			limit = source->watermark;
		source->bound = limit;
	}
}

/* A value of a source's column as text to store. */
char *
watermark_to_text(const ProjectionSource *source, Datum value)
{
	int			nestlevel = sql_pin_text_settings();
	Oid			output;
	bool		varlena;
	char	   *text;

	getTypeOutputInfo(source->type, &output, &varlena);
	text = OidOutputFunctionCall(output, value);
	AtEOXact_GUC(false, nestlevel);
	return text;
}

/* The value of a stored text. */
Datum
watermark_from_text(const ProjectionSource *source, char *text)
{
	int			nestlevel = sql_pin_text_settings();
	Oid			input;
	Oid			ioparam;
	Datum		value;

	getTypeInputInfo(source->type, &input, &ioparam);
	value = OidInputFunctionCall(input, text, ioparam, -1);
	AtEOXact_GUC(false, nestlevel);
	return value;
}
