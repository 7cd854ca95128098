/*
 * key_scan.c
 *	  Finds the stored rows of keys, by the primary key's index.
 *
 * One key is looked up from the root of the index.  Many keys, which come in
 * the index's order, may lie so close together that it is cheaper to walk along
 * the leaf pages, as a merge join does: each page is then read once for all keys
 * in it, and a key beyond the last entry costs nothing.
 *
 * The walk sees a leaf page as it was when it came there, so it does not always
 * know.  It may say that there is a row: the heap is read when the key is asked
 * for.  It may say that there is none where it saw no entry of the key: a row
 * that was inserted meanwhile is met by the insertion, which the index then
 * refuses, as it does when another session inserts between our look-up and our
 * insertion.  But entries without a live row may have a successor that came
 * later, and then the key is looked up.  So is a key that is asked for again.
 *
 * A walk over entries that are not asked for costs more than looking up.  If a
 * key lies too far ahead, the walk begins anew there; if it has been of little
 * use, it pauses for some keys.
 *
 * Both scans keep pins on index and heap pages, which vacuum may be waiting for:
 * whoever waits for a transaction releases them first.  And a page with more pins
 * than the current scan's cannot be pruned: the other one lets go of its.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/key_scan.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

/*
 * To pass so many entries costs as much as looking a key up.  A walk that passes
 * more for each key gives up, but it may be ahead or behind by some keys.
 */
#define WALK_STEPS 16
#define WALK_STEPS_MAX 64

/* It was of use if it has served as many keys. */
#define WALK_KEYS 8

/* It is tried at once if there are so many keys for each page of the index. */
#define WALK_KEYS_A_PAGE 16

/* Keys to look up before a walk is tried again, at first and at most. */
#define WALK_PAUSE 64
#define WALK_PAUSE_MAX 4096

/*
 * A page is pruned when it has not room for so many more versions of a row, or when
 * most of the space that its fillfactor leaves free is used, to one part in so many.
 * Another session's pin may be in the way the first time, and the second.
 */
#define ROOM_FOR_VERSIONS 3
#define ROOM_SHARE 4

/*
 * key_holder_note
 *		Notes who is about to change the tuple in the slot, which was read with a
 *		dirty snapshot.
 */
void
key_holder_note(KeyHolder *holder, const SnapshotData *dirty, const TupleTableSlot *slot)
{
	bool		inserting = TransactionIdIsValid(dirty->xmin);

	holder->xid = inserting ? dirty->xmin : dirty->xmax;
	holder->token = inserting ? dirty->speculativeToken : 0;
	holder->tid = slot->tts_tid;
}

/*
 * key_holder_wait
 *		Waits till the holder has decided.
 */
void
key_holder_wait(KeyHolder *holder, Relation relation)
{
	if (holder->token != 0)
		SpeculativeInsertionWait(holder->xid, holder->token);
	else
		XactLockTableWait(holder->xid, relation, &holder->tid, XLTW_InsertIndexUnique);
}

/*
 * key_scan_has_row
 *		Is there a committed row, or one of this transaction's, for the index's keys?
 *		A scan with a dirty snapshot can miss one that moves to another place at
 *		that moment, or comes up after it has read the page; this one, with a
 *		snapshot of its own, cannot.  Leaves the slot empty.
 */
bool
key_scan_has_row(Relation relation, Relation index, ScanKey keys, int nkeys,
				 TupleTableSlot *slot)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	IndexScanDesc scan;
	bool		found;

	/* what this command has removed itself is not there */
	snapshot->curcid = InvalidCommandId;
	scan = index_beginscan(relation, index, snapshot, nkeys, 0);
	index_rescan(scan, keys, nkeys, NULL, 0);
	found = index_getnext_slot(scan, ForwardScanDirection, slot);
	index_endscan(scan);
	UnregisterSnapshot(snapshot);
	ExecClearTuple(slot);
	return found;
}

/*
 * key_scan_begin
 *		Prepares to find about nkeys keys of an open target, in rising order.
 *		What is allocated lives in CurrentMemoryContext; the scans are ended by
 *		key_scan_release.
 */
void
key_scan_begin(KeyScan *scan, MergeTarget *target, Relation relation, uint64 nkeys)
{
	memset(scan, 0, sizeof(KeyScan));
	scan->target = target;
	scan->relation = relation;
	scan->context = CurrentMemoryContext;
	scan->next_pause = WALK_PAUSE;
	InitDirtySnapshot(scan->dirty);
	if (nkeys <= WALK_PAUSE ||
		nkeys / WALK_KEYS_A_PAGE < RelationGetNumberOfBlocks(target->pkey))
		scan->pause = WALK_PAUSE;
}

/*
 * key_scan_release
 *		Ends the scans, and with them their pins.
 */
void
key_scan_release(KeyScan *scan)
{
	if (scan->lookup != NULL)
		index_endscan(scan->lookup);
	if (scan->walk != NULL)
		index_endscan(scan->walk);
	scan->lookup = NULL;
	scan->walk = NULL;
	scan->walking = false;
}

/* Another transaction has inserted the row that was just read, or changes it. */
static bool
key_scan_is_busy(const KeyScan *scan)
{
	return TransactionIdIsValid(scan->dirty.xmin) || TransactionIdIsValid(scan->dirty.xmax);
}

/*
 * Is there hardly room on a row's page for its next version?  That will be about as
 * long as this one, to which the row's line pointer leads, or to an older one; where
 * versions become shorter and longer, as long as the page's are on average.  Like
 * heap_page_prune_opt we look without a lock, so it is only a guess.
 */
static bool
key_scan_page_is_full(Relation relation, Page page, OffsetNumber offset)
{
	Size		room = RelationGetTargetPageFreeSpace(relation, HEAP_DEFAULT_FILLFACTOR) / ROOM_SHARE;
	OffsetNumber nitems = PageGetMaxOffsetNumber(page);
	Size		length;
	ItemId		item;

	if (PageIsFull(page))
		return true;
	if (nitems == 0 || offset > nitems)
		return false;
	item = PageGetItemId(page, offset);
	if (ItemIdIsRedirected(item) && ItemIdGetRedirect(item) <= nitems)
		item = PageGetItemId(page, ItemIdGetRedirect(item));
	length = (PageGetPageSize(page) - ((PageHeader) page)->pd_upper) / nitems;
	length = Max(length, ItemIdGetLength(item));
	room = Max(room, ROOM_FOR_VERSIONS * MAXALIGN(length));
	return PageGetHeapFreeSpace(page) < room;
}

/*
 * Go to the heap page of the entry that an index scan has come to.  Heap prunes a
 * page at each visit once a tenth of it, or what its fillfactor leaves free, has
 * been written; of a page that is read only to put one more version there this is
 * far too often.  We prune when the space is needed, and come before heap, which
 * leaves a page alone that the scan has already.
 */
static void
key_scan_visit_page(IndexScanDesc scan)
{
	IndexFetchHeapData *fetch = (IndexFetchHeapData *) scan->xs_heapfetch;

	if (scan->xs_heap_continue)
		return;
	fetch->xs_cbuf = ReleaseAndReadBuffer(fetch->xs_cbuf, scan->heapRelation,
										  ItemPointerGetBlockNumber(&scan->xs_heaptid));
	if (key_scan_page_is_full(scan->heapRelation, BufferGetPage(fetch->xs_cbuf),
							  ItemPointerGetOffsetNumber(&scan->xs_heaptid)))
		heap_page_prune_opt(scan->heapRelation, fetch->xs_cbuf);
}

/* Get the next row of a key's index scan, as index_getnext_slot does. */
static bool
key_scan_next_row(IndexScanDesc scan, TupleTableSlot *slot)
{
	while (scan->xs_heap_continue ||
		   index_getnext_tid(scan, ForwardScanDirection) != NULL)
	{
		key_scan_visit_page(scan);
		if (index_fetch_heap(scan, slot))
			return true;
	}
	return false;
}

/* Look the key up. */
static KeyScanResult
key_scan_look_up(KeyScan *scan, const Datum *values)
{
	MergeTarget *target = scan->target;
	MemoryContext oldcontext = MemoryContextSwitchTo(scan->context);
	KeyScanResult result = KEY_ABSENT;

	target_set_keys(target, values);
	if (scan->lookup == NULL)
		scan->lookup = index_beginscan(scan->relation, target->pkey, &scan->dirty,
									   target->nkeys, 0);
	index_rescan(scan->lookup, target->scankeys, target->nkeys, NULL, 0);
	while (key_scan_next_row(scan->lookup, target->stored))
	{
		if (!key_scan_is_busy(scan))
		{
			result = KEY_FOUND;
			break;
		}
		result = KEY_BUSY;
		key_holder_note(&scan->holder, &scan->dirty, target->stored);
	}
	MemoryContextSwitchTo(oldcontext);
	return result;
}

/* Prepare the walk's key: at or after the values that it is given later. */
static void
key_scan_prepare_walk(KeyScan *scan)
{
	MergeTarget *target = scan->target;
	int			nkeys = target->nkeys;

	if (nkeys > 1)
	{
		scan->start_columns = palloc(nkeys * sizeof(ScanKeyData));
		memset(&scan->start, 0, sizeof(ScanKeyData));
		scan->start.sk_flags = SK_ROW_HEADER;
		scan->start.sk_attno = 1;
		scan->start.sk_strategy = BTGreaterEqualStrategyNumber;
		scan->start.sk_argument = PointerGetDatum(scan->start_columns);
	}
	for (int i = 0; i < nkeys; i++)
	{
		Oid			opfamily = target->key_opfamilies[i];
		Oid			type = target->key_types[i];
		RegProcedure function = nkeys > 1 ?
			get_opfamily_proc(opfamily, type, type, BTORDER_PROC) :
			get_opcode(get_opfamily_member(opfamily, type, type,
										   BTGreaterEqualStrategyNumber));
		int			flags = nkeys > 1 ? SK_ROW_MEMBER : 0;

		if (nkeys > 1 && i == nkeys - 1)
			flags |= SK_ROW_END;
		ScanKeyEntryInitialize(nkeys > 1 ? &scan->start_columns[i] : &scan->start, flags, i + 1,
							   BTGreaterEqualStrategyNumber, InvalidOid,
							   target->key_collations[i], function, (Datum) 0);
	}
}

/*
 * Where a walk begins must be known as long as it goes on: each page's entries are
 * compared with it.  The row that it was taken from does not live as long.
 */
static void
key_scan_set_start(KeyScan *scan, const Datum *values)
{
	MergeTarget *target = scan->target;

	for (int i = 0; i < target->nkeys; i++)
	{
		AttrNumber	c = target->pkey_columns[i];
		const MergeColumn *column = &target->plan->columns[c];
		ScanKey		start = target->nkeys > 1 ? &scan->start_columns[i] : &scan->start;

		if (!column->typbyval && DatumGetPointer(start->sk_argument) != NULL)
			pfree(DatumGetPointer(start->sk_argument));
		/* not compressed or elsewhere, as a value that comes from a table may be */
		if (column->typlen == -1)
			start->sk_argument = PointerGetDatum(PG_DETOAST_DATUM_COPY(values[c]));
		else
			start->sk_argument = datumCopy(values[c], column->typbyval, column->typlen);
	}
}

/* Begin a walk at the key, or after where it would be. */
static void
key_scan_begin_walk(KeyScan *scan, const Datum *values)
{
	MergeTarget *target = scan->target;
	MemoryContext oldcontext = MemoryContextSwitchTo(scan->context);

	if (scan->walk == NULL)
	{
		target_key_sort(target);
		if (scan->start.sk_attno == InvalidAttrNumber)
			key_scan_prepare_walk(scan);
		scan->walk = index_beginscan(scan->relation, target->pkey, &scan->dirty, 1, 0);
		scan->walk->xs_want_itup = true;
	}
	if (scan->lookup != NULL)
		table_index_fetch_reset(scan->lookup->xs_heapfetch);
	key_scan_set_start(scan, values);
	index_rescan(scan->walk, &scan->start, 1, NULL, 0);
	MemoryContextSwitchTo(oldcontext);
	scan->walking = true;
	scan->at_entry = false;
	scan->at_end = false;
	scan->served = 0;
	scan->steps = WALK_STEPS;
}

/* Go to the next entry; false after the last one. */
static bool
key_scan_advance(KeyScan *scan)
{
	MemoryContext oldcontext;

	if (scan->at_entry)
		return true;
	if (!scan->at_end)
	{
		oldcontext = MemoryContextSwitchTo(scan->context);
		scan->at_entry = index_getnext_tid(scan->walk, ForwardScanDirection) != NULL;
		scan->at_end = !scan->at_entry;
		MemoryContextSwitchTo(oldcontext);
	}
	return scan->at_entry;
}

/* The order of the entry and a key. */
static int
key_scan_compare(const KeyScan *scan, const Datum *values)
{
	MergeTarget *target = scan->target;

	for (int i = 0; i < target->nkeys; i++)
	{
		bool		isnull;
		Datum		entry = index_getattr(scan->walk->xs_itup, i + 1,
										  scan->walk->xs_itupdesc, &isnull);
		int			result = ApplySortComparator(entry, isnull,
												 values[target->pkey_columns[i]], false,
												 &target->key_sort[i]);

		if (result != 0)
			return result;
	}
	return 0;
}

/*
 * Walk to the key.  Returns false if it cannot be told that way: it lies too far
 * ahead (then the walk still stands before it), or the key's entries lead to no
 * live row.
 */
static bool
key_scan_walk_to(KeyScan *scan, const Datum *values, KeyScanResult *result)
{
	bool		seen = false;

	scan->steps = Min(scan->steps + WALK_STEPS, WALK_STEPS_MAX);
	while (key_scan_advance(scan))
	{
		int			order = key_scan_compare(scan, values);

		if (order > 0)
			break;
		if (order < 0 && scan->steps-- == 0)
			return false;
		scan->at_entry = false;
		if (order == 0)
		{
			seen = true;
			key_scan_visit_page(scan->walk);
			if (index_fetch_heap(scan->walk, scan->target->stored))
			{
				*result = KEY_FOUND;
				return !key_scan_is_busy(scan);
			}
		}
	}
	*result = KEY_ABSENT;
	return !seen;
}

/* Find the key by the walk, if that pays. */
static bool
key_scan_try_walk(KeyScan *scan, const Datum *values, KeyScanResult *result)
{
	if (scan->pause > 0)
	{
		scan->pause--;
		return false;
	}
	if (!scan->walking)
		key_scan_begin_walk(scan, values);
	scan->served++;
	if (key_scan_walk_to(scan, values, result))
		return true;
	if (!scan->at_entry)
		return false;

	if (scan->served > WALK_KEYS)
	{
		scan->next_pause = WALK_PAUSE;
		key_scan_begin_walk(scan, values);
		scan->served++;
		return key_scan_walk_to(scan, values, result);
	}
	scan->walking = false;
	table_index_fetch_reset(scan->walk->xs_heapfetch);
	scan->pause = scan->next_pause;
	scan->next_pause = Min(scan->next_pause * 2, WALK_PAUSE_MAX);
	return false;
}

/*
 * key_scan_find
 *		Finds the live row of the key in a row's values, into target->stored.  The
 *		key is higher than those that were asked for before, unless again says
 *		that it may be one of them.  A live row comes before one in progress.  In
 *		a walk KEY_ABSENT may be old by the time that a page takes.
 */
KeyScanResult
key_scan_find(KeyScan *scan, const Datum *values, bool again)
{
	KeyScanResult result;

	if (again || !key_scan_try_walk(scan, values, &result))
		result = key_scan_look_up(scan, values);
	if (result != KEY_FOUND)
		ExecClearTuple(scan->target->stored);
	if (result == KEY_BUSY)
		key_scan_release(scan);
	return result;
}
