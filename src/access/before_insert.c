/*
 * before_insert.c
 *	  Rows that a merge trigger hands over before they are inserted.
 *
 * A row of a known key is merged as ever, and the executor is told to skip it.
 * The row of a new key is left to the executor, so that PostgreSQL counts,
 * returns and checks it and fires its triggers as for any table.  But then the
 * key is not taken when we return: another session could find it new, too, and
 * one of the two would fail.  So whoever leaves a new row locks its key first
 * and looks again; the others wait for the lock and then find the row.  Who
 * writes a tombstone for a key without a row does so, too.
 *
 * The lock is needed until the executor has inserted the row, which nobody
 * tells us.  It has when it hands over the next row of the statement, or when
 * the statement has ended: so a statement holds one lock at a time, and the
 * last one goes at the next use of the trigger, or with the transaction.  Who
 * waits longer for a lock than for the row waits for the same transaction.
 *
 * A transaction that has changed a key may need its lock again.  So nobody waits
 * for a transaction while he has a lock that has led to no row yet.
 */
#include "postgres.h"

#include "access/before_insert.h"
#include "access/index_shim.h"
#include "access/stats.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/typcache.h"

/* What tells our locks from advisory locks, which use 1 and 2. */
#define KEY_LOCK_CLASS 3

/* The locks of statements that have ended. */
static LOCKTAG *ended_locks = NULL;
static int	ended_count = 0;
static int	ended_size = 0;

/* The hash of a row's key; equal keys have equal hashes. */
static uint64
key_hash(const MergeTarget *target, const MergeRow *row)
{
	uint64		hash = target->relid;

	for (int i = 0; i < target->nkeys; i++)
	{
		int			c = target->pkey_columns[i];
		TypeCacheEntry *type;
		Datum		part;

		type = lookup_type_cache(TupleDescAttr(target->stored->tts_tupleDescriptor, c)->atttypid,
								 TYPECACHE_HASH_EXTENDED_PROC_FINFO);
		if (!OidIsValid(type->hash_extended_proc_finfo.fn_oid))
			continue;
		part = FunctionCall2Coll(&type->hash_extended_proc_finfo,
								 target->pkey->rd_indcollation[i],
								 row->values[c], Int64GetDatum(0));
		hash = hash_combine64(hash, DatumGetUInt64(part));
	}
	return hash;
}

/* Take or give back a lock; the transaction owns it, whoever runs. */
static void
key_lock_call(const LOCKTAG *tag, bool acquire)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	PG_TRY();
	{
		if (acquire)
			(void) LockAcquire(tag, ExclusiveLock, false, false);
		else
			(void) LockRelease(tag, ExclusiveLock, false);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = owner;
	}
	PG_END_TRY();
}

/* Lock the key of a row that is about to be left to the executor. */
static void
key_lock_acquire(MergeTarget *target, const MergeRow *row)
{
	uint64		hash = key_hash(target, row);

	SET_LOCKTAG_ADVISORY(target->key_lock, MyDatabaseId, (uint32) (hash >> 32),
						 (uint32) hash, KEY_LOCK_CLASS);
	key_lock_call(&target->key_lock, true);
	target->has_key_lock = true;
}

static void
key_lock_release(MergeTarget *target)
{
	if (!target->has_key_lock)
		return;
	target->has_key_lock = false;
	key_lock_call(&target->key_lock, false);
}

/*
 * before_insert_end
 *		A statement ends, and with it the target: whatever row it has left is
 *		inserted now.  Cannot fail; the lock is released later.
 */
void
before_insert_end(MergeTarget *target)
{
	if (!target->has_key_lock)
		return;
	target->has_key_lock = false;
	/* without a place to note it, it goes with the transaction */
	if (ended_count < ended_size)
		ended_locks[ended_count++] = target->key_lock;
}

/*
 * before_insert_forget
 *		The transaction ends, and its locks with it.
 */
void
before_insert_forget(void)
{
	ended_count = 0;
}

/* Make room for one lock more than there may be, and release the ended ones. */
static void
key_locks_release_ended(void)
{
	if (ended_locks == NULL)
	{
		ended_size = 64;
		ended_locks = MemoryContextAlloc(TopMemoryContext, ended_size * sizeof(LOCKTAG));
	}
	while (ended_count > 0)
		key_lock_call(&ended_locks[--ended_count], false);
}

/*
 * before_insert_lock
 *		Locks the key of a row that has found no stored one.  Returns false when
 *		the caller must look at the key again first: it is locked now.
 */
bool
before_insert_lock(Upsert *upsert)
{
	MergeTarget *target = upsert->target;

	if (target->has_key_lock)
		return true;
	key_lock_acquire(target, upsert->rows[0]);
	return false;
}

/*
 * before_insert_unlock
 *		Gives the lock of the row's key back, if there is one: it is not needed, or
 *		the caller must wait for a transaction, which may need it, and then look at
 *		the key again.
 */
void
before_insert_unlock(MergeTarget *target)
{
	key_lock_release(target);
}

/*
 * before_insert_leave
 *		Leaves the merged row of a new key to the executor.  Returns false when
 *		the caller must look at the key again first.
 */
bool
before_insert_leave(Upsert *upsert)
{
	MergeTarget *target = upsert->target;
	KeyHolder	busy;

	if (!before_insert_lock(upsert))
		return false;
	if (target->plan->tombstones &&
		!tombstone_clear(target, NULL, upsert->rows[0]->values, &upsert->tombstone, &busy))
	{
		if (TransactionIdIsValid(busy.xid))
		{
			key_lock_release(target);
			key_holder_wait(&busy, upsert->relation);
		}
		return false;
	}
	upsert_form(upsert);
	ItemPointerSetUnstored(&upsert->written->t_self);
	return true;
}

/*
 * before_insert_is_left
 *		Can the stored row be one that the executor has inserted for us?  Only
 *		our transaction can have, and nobody has changed it since.
 */
bool
before_insert_is_left(const Upsert *upsert)
{
	HeapTupleHeader stored = ((HeapTupleTableSlot *) upsert->target->stored)->tuple->t_data;

	return (stored->t_infomask & HEAP_UPDATED) == 0 &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(stored));
}

/* Is a part of the key missing?  The executor will refuse such a row. */
static bool
key_is_null(const MergeTarget *target, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	for (int i = 0; i < target->nkeys; i++)
	{
		if (slot->tts_isnull[target->pkey_columns[i]])
			return true;
	}
	return false;
}

/* Is the merged row the incoming one, as it came? */
static bool
row_is_unchanged(const MergeTarget *target, TupleTableSlot *slot)
{
	const MergeState *state = target->state;

	for (int c = 0; c < target->plan->natts; c++)
	{
		if (target->plan->columns[c].dropped)
			continue;
		if (state->isnull[c] != slot->tts_isnull[c] ||
			(!state->isnull[c] && state->values[c] != slot->tts_values[c]))
			return false;
	}
	return true;
}

/*
 * before_insert_row
 *		Merges the row in a slot, or leaves it to the executor.  Returns the
 *		tuple to be inserted, which is "tuple", the slot's, if nothing has
 *		changed it; else it is allocated in CurrentMemoryContext.  NULL: none.
 */
HeapTuple
before_insert_row(MergeTarget *target, Relation relation, TupleTableSlot *slot,
				  HeapTuple tuple)
{
	UpsertError error;
	MergeRow	row;
	MergeRow   *rows[1] = {&row};
	Upsert		upsert = {
		.target = target,
		.relation = relation,
		.cid = GetCurrentCommandId(true),
		.rows = rows,
		.nrows = 1,
		.remember = true,
		.error = &error
	};
	HeapTuple	result = NULL;
	MemoryContext oldcontext;

	key_locks_release_ended();
	key_lock_release(target);
	target_open(target, relation);
	if (!target->own_result_rel)
		upsert.cid = target->estate->es_output_cid;
	if (key_is_null(target, slot))
	{
		target_close(target);
		return tuple;
	}

	MemoryContextReset(target->row_context);
	oldcontext = MemoryContextSwitchTo(target->row_context);
	upsert_error_begin(&error, target);
	upsert_read_row(target, slot, &row);
	stats_count_row(target);
	upsert_key(&upsert);
	upsert_error_end(&error);
	MemoryContextSwitchTo(oldcontext);

	if (upsert.outcome == UPSERT_INSERTED)
		result = row_is_unchanged(target, slot) ? tuple : heap_copytuple(upsert.written);
	else
		key_lock_release(target);
	target_close(target);
	return result;
}
