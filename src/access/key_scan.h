/*
 * key_scan.h
 *	  Finds the stored rows of keys.
 */
#ifndef KEY_SCAN_H
#define KEY_SCAN_H

#include "postgres.h"

#include "access/genam.h"
#include "access/target.h"
#include "storage/itemptr.h"
#include "utils/snapshot.h"

typedef enum KeyScanResult
{
	KEY_FOUND,					/* target->stored holds the live row, and pins it */
	KEY_ABSENT,
	KEY_BUSY					/* another transaction decides: KeyScan says which */
} KeyScanResult;

/*
 * Another transaction that is about to decide about a key; with a token, by an
 * insertion that it may take back before it ends.
 */
typedef struct KeyHolder
{
	TransactionId xid;			/* or InvalidTransactionId */
	uint32		token;			/* or 0 */
	ItemPointerData tid;		/* of the tuple in question */
} KeyHolder;

typedef struct KeyScan
{
	MergeTarget *target;
	Relation	relation;
	MemoryContext context;		/* of what the scans allocate */
	SnapshotData dirty;
	IndexScanDesc lookup;		/* of one key; NULL while there is none */

	/* along the leaf pages */
	IndexScanDesc walk;			/* NULL until it is needed */
	ScanKeyData start;			/* the key where it begins */
	ScanKeyData *start_columns; /* the members of start, if several */
	bool		walking;		/* it stands where the last key was */
	bool		at_entry;		/* xs_itup is an entry that was not passed yet */
	bool		at_end;
	uint32		served;			/* keys since it began */
	int			steps;			/* entries that it may still pass */
	uint32		pause;			/* keys to look up before it begins again */
	uint32		next_pause;

	KeyHolder	holder;			/* KEY_BUSY: whom to wait for */
} KeyScan;

extern void key_holder_note(KeyHolder *holder, const SnapshotData *dirty,
							const TupleTableSlot *slot);
extern void key_holder_wait(KeyHolder *holder, Relation relation);

extern bool key_scan_has_row(Relation relation, Relation index, ScanKey keys, int nkeys,
							 TupleTableSlot *slot);
extern void key_scan_begin(KeyScan *scan, MergeTarget *target, Relation relation,
						   uint64 nkeys);
extern KeyScanResult key_scan_find(KeyScan *scan, const Datum *values, bool again);
extern void key_scan_release(KeyScan *scan);

#endif							/* KEY_SCAN_H */
