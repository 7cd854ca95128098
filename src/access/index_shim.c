/*
 * index_shim.c
 *	  Keeps the executor from indexing what upsert.c has indexed.
 *
 * After table_tuple_insert or table_multi_insert, the executor (and COPY, and
 * the logical apply worker) always inserts index entries for the slot.  For a
 * row that was merged that is wrong twice over: a HOT update must get no new
 * entries, and neither must a row that changed nothing.  An entry that points
 * at a heap-only tuple does not fail; it returns some other row after the
 * next vacuum.  There is no hook in between, so we stand in for the index
 * access method itself: each index of a merge table gets, in its relcache
 * entry, a private copy of its IndexAmRoutine whose aminsert first looks
 * whether the tuple is one that we have already indexed.
 *
 * What is skipped:
 *
 * - the TID that stands for "not stored", which no page can hold;
 * - the TIDs stored by the last call of our table access method, in their
 *   order, until they are forgotten: at the next write to any merge table, at
 *   the end of the (sub)transaction, and so before any of these TIDs can be
 *   given to another tuple.
 *
 * Everything else is passed on.  So is UNIQUE_CHECK_EXISTING, with which the
 * recheck of a deferred unique constraint asks about an entry rather than
 * inserting one.  For a deferrable constraint a skipped insertion answers
 * "not known to be unique", which makes the executor queue that recheck.
 *
 * An exclusion constraint is checked by the executor after aminsert, with the
 * values of its slot.  We have checked it already; and where nothing was
 * stored, or a later row of the same COPY batch has changed the row again, that
 * check would be about a row that is not there.  So it is switched off in the
 * executor's IndexInfo for the rows that we skip, and on again for others; a
 * deferrable constraint's check stays for stored rows, as it only queues the
 * recheck.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/index_shim.h"
#include "catalog/index.h"
#include "nodes/execnodes.h"
#include "utils/memutils.h"

/* An index's private copy of its access method. */
typedef struct ShimmedIndexAm
{
	IndexAmRoutine routine;		/* must be first: rd_indam points here */
	aminsert_function aminsert; /* the access method's own */
} ShimmedIndexAm;

/* What the last write of our table access method stored and indexed. */
static Oid	indexed_table = InvalidOid;
static ItemPointerData *indexed_tids = NULL;
static int	indexed_count = 0;
static int	indexed_size = 0;
static int	indexed_next = 0;	/* the executor asks in order */

/*
 * index_shim_begin
 *		Starts a new list of at most ntuples stored tuples of a table.
 */
void
index_shim_begin(Relation table, int ntuples)
{
	indexed_table = RelationGetRelid(table);
	indexed_count = 0;
	indexed_next = 0;
	if (indexed_size < ntuples)
	{
		int			size = Max(ntuples, 16);

		if (indexed_tids != NULL)
			pfree(indexed_tids);
		indexed_tids = NULL;
		indexed_size = 0;
		indexed_tids = MemoryContextAlloc(TopMemoryContext,
										  size * sizeof(ItemPointerData));
		indexed_size = size;
	}
}

/*
 * index_shim_add
 *		The tuple at tid is stored and has its index entries.
 */
void
index_shim_add(const ItemPointerData *tid)
{
	Assert(indexed_count < indexed_size);
	indexed_tids[indexed_count++] = *tid;
}

/*
 * index_shim_forget
 *		From here on every tuple is the executor's to index.
 */
void
index_shim_forget(void)
{
	indexed_table = InvalidOid;
	indexed_count = 0;
	indexed_next = 0;
}

/* Has upsert.c indexed this tuple? */
static bool
index_shim_is_indexed(Relation table, ItemPointer tid)
{
	if (RelationGetRelid(table) != indexed_table)
		return false;
	for (int i = indexed_next; i < indexed_count; i++)
	{
		if (ItemPointerEquals(&indexed_tids[i], tid))
		{
			indexed_next = i;
			return true;
		}
	}
	/* several input rows may have ended in one tuple: start over once */
	for (int i = 0; i < indexed_next; i++)
	{
		if (ItemPointerEquals(&indexed_tids[i], tid))
		{
			indexed_next = i;
			return true;
		}
	}
	return false;
}

/* Switch the executor's check of an exclusion constraint off or on. */
static void
index_shim_set_exclusion(Relation index, IndexInfo *indexInfo, bool check)
{
	if (!index->rd_index->indisexclusion || indexInfo == NULL)
		return;
	if (!check)
		indexInfo->ii_ExclusionOps = NULL;
	else if (indexInfo->ii_ExclusionOps == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(GetMemoryChunkContext(indexInfo));

		RelationGetExclusionInfo(index,
								 &indexInfo->ii_ExclusionOps,
								 &indexInfo->ii_ExclusionProcs,
								 &indexInfo->ii_ExclusionStrats);
		MemoryContextSwitchTo(oldcontext);
	}
}

/* aminsert of every index of a merge table */
static bool
index_shim_aminsert(Relation index, Datum *values, bool *isnull,
					ItemPointer tid, Relation table,
					IndexUniqueCheck checkUnique, bool indexUnchanged,
					IndexInfo *indexInfo)
{
	ShimmedIndexAm *shim = (ShimmedIndexAm *) index->rd_indam;

	if (checkUnique != UNIQUE_CHECK_EXISTING)
	{
		bool		stored = !ItemPointerIsUnstored(tid);
		bool		skip = !stored || index_shim_is_indexed(table, tid);

		index_shim_set_exclusion(index, indexInfo, !skip || (stored && !index->rd_index->indimmediate));
		if (skip)
			return checkUnique != UNIQUE_CHECK_PARTIAL || !stored;
	}
	return shim->aminsert(index, values, isnull, tid, table, checkUnique,
						  indexUnchanged, indexInfo);
}

/*
 * index_shim_install
 *		Puts the shim into an open index's relcache entry, if it is not there
 *		yet.  It lasts as long as the entry.
 */
void
index_shim_install(Relation index)
{
	ShimmedIndexAm *shim;

	if (index->rd_indam->aminsert == index_shim_aminsert)
		return;
	shim = MemoryContextAlloc(index->rd_indexcxt, sizeof(ShimmedIndexAm));
	shim->routine = *index->rd_indam;
	shim->aminsert = index->rd_indam->aminsert;
	shim->routine.aminsert = index_shim_aminsert;
	index->rd_indam = &shim->routine;
}
