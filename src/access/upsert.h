/*
 * upsert.h
 *	  Find the stored row, merge, write, index.
 */
#ifndef UPSERT_H
#define UPSERT_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/htup.h"
#include "access/key_scan.h"
#include "access/target.h"
#include "access/tombstones.h"
#include "executor/tuptable.h"

/* What became of a key. */
typedef enum UpsertOutcome
{
	UPSERT_INSERTED,
	UPSERT_UPDATED,
	UPSERT_UNCHANGED,			/* the stored row stays as it is */
	UPSERT_REMOVED,
	UPSERT_NOTHING				/* there is no row, and there was none */
} UpsertOutcome;

/* The incoming rows of a new key, until its row has its index entries. */
typedef struct InsertBatchKey
{
	MergeRow  **rows;
	int			nrows;
	Tombstone	tombstone;		/* what was known of it */
} InsertBatchKey;

/* New rows to be inserted together, in the order of their keys. */
typedef struct InsertBatch
{
	MemoryContext context;		/* reset by whoever fills it, when it is empty */
	TupleTableSlot **slots;
	InsertBatchKey *keys;
	int			nrows;
	int			size;
	Size		bytes;
	bool		tombstones_met; /* new keys may have been removed ones */
} InsertBatch;

/* Tells in an error's context which key was being merged. */
typedef struct UpsertError
{
	ErrorContextCallback callback;
	MergeTarget *target;
	MergeRow  **rows;
} UpsertError;

/* What one key works with. */
typedef struct Upsert
{
	MergeTarget *target;		/* open */
	Relation	relation;
	CommandId	cid;			/* the statement's */
	int			options;		/* of table_tuple_insert, as is bistate */
	BulkInsertState bistate;
	MergeRow  **rows;			/* of the key */
	int			nrows;
	bool		remember;		/* the statement may bring more rows of it */
	KeyScan    *scan;			/* finds key after key; NULL: this one only */
	bool		again;			/* the key has been looked for before */
	InsertBatch *batch;			/* for new rows; or NULL */
	Tombstones *tombstones;		/* open for many keys; NULL: for this one only */
	UpsertError *error;

	/* results */
	UpsertOutcome outcome;
	Tombstone	tombstone;		/* of the key, where it has no row */
	bool		found;			/* target->stored holds the stored row */
	HeapTuple	written;		/* the tuple written, if any */
} Upsert;

/* upsert.c */
extern void upsert_error_begin(UpsertError *error, MergeTarget *target);
extern void upsert_error_end(UpsertError *error);
extern void upsert_read_row(MergeTarget *target, TupleTableSlot *slot, MergeRow *row);
extern void upsert_key(Upsert *upsert);
extern void upsert_row(MergeTarget *target, Relation relation,
					   TupleTableSlot *slot, CommandId cid, int options,
					   BulkInsertState bistate);

/* upsert_write.c */
extern void upsert_form(Upsert *upsert);
extern bool upsert_insert(Upsert *upsert);
extern bool upsert_update(Upsert *upsert);
extern bool upsert_remove(Upsert *upsert);
extern void upsert_store_passing_row(Upsert *upsert, TupleTableSlot *slot);
extern InsertBatch *insert_batch_create(uint64 nkeys);
extern bool insert_batch_is_hopeful(const Upsert *upsert);
extern bool insert_batch_add(Upsert *upsert);
extern bool insert_batch_is_full(const InsertBatch *batch);
extern bool insert_batch_flush(Upsert *upsert);

#endif							/* UPSERT_H */
