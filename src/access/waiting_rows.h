/*
 * waiting_rows.h
 *	  The rows of a write buffer, and how they come to be in the order of keys.
 */
#ifndef WAITING_ROWS_H
#define WAITING_ROWS_H

#include "postgres.h"

#include "access/target.h"
#include "executor/tuptable.h"
#include "merge/merge.h"
#include "utils/tuplesort.h"

/* Rows of a sort in memory that are read ahead. */
#define ROWS_AHEAD 16

typedef enum WaitingStage
{
	WAITING_IN_LIST,
	WAITING_FOLDED,
	WAITING_IN_SORT
} WaitingStage;

typedef struct WaitingRows
{
	MergeTarget *target;
	MemoryContext context;		/* all of it but the sort's tuples */
	MemoryContext in_memory;	/* the rows of the list, or the hash table */
	WaitingStage stage;
	uint64		nrows;
	bool		may_fold;
	bool		disordered;		/* they have not come in the order of arrival */
	uint64		last_arrival;
	MergeState *scratch;		/* for folding */

	MergeRow  **list;
	uint64		list_size;
	uint64		list_next;		/* while it is read */

	struct foldtable_hash *hash;
	FmgrInfo   *hash_functions; /* of each key column */

	Tuplesortstate *sort;
	TupleTableSlot *sort_in;	/* a row and its arrival */
	TupleTableSlot *sort_out;
	bool		spilled;		/* what it gives is good only until the next row */
	MinimalTuple ahead[ROWS_AHEAD]; /* if not: rows that it has given already */
	int			ahead_next;
	int			ahead_count;
} WaitingRows;

extern void waiting_rows_begin(WaitingRows *rows, MergeTarget *target,
							   MemoryContext context);
extern void waiting_rows_put(WaitingRows *rows, const MergeRow *row);
extern void waiting_rows_begin_read(WaitingRows *rows);
extern MergeRow *waiting_rows_next(WaitingRows *rows, MergeRow *storage);
extern MergeRow *waiting_rows_hold(WaitingRows *rows, MergeRow *row);
extern void waiting_rows_make_list(WaitingRows *rows);
extern void waiting_rows_end(WaitingRows *rows);

#endif							/* WAITING_ROWS_H */
