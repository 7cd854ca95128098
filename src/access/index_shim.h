/*
 * index_shim.h
 *	  Keeps the executor from indexing what upsert.c has indexed.
 */
#ifndef INDEX_SHIM_H
#define INDEX_SHIM_H

#include "postgres.h"

#include "storage/itemptr.h"
#include "utils/rel.h"

/*
 * The TID of a row that has no index entries to get: it is still buffered, or
 * the merge stored nothing.  No page can hold it.
 */
#define ItemPointerSetUnstored(tid) ItemPointerSet(tid, InvalidBlockNumber, 1)
#define ItemPointerIsUnstored(tid) \
	(ItemPointerGetBlockNumberNoCheck(tid) == InvalidBlockNumber)

extern void index_shim_install(Relation index);
extern void index_shim_begin(Relation table, int ntuples);
extern void index_shim_add(const ItemPointerData *tid);
extern void index_shim_forget(void);

#endif							/* INDEX_SHIM_H */
