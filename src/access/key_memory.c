/*
 * key_memory.c
 *	  What a statement remembers of the keys that it has merged.
 *
 * Between statements a row keeps one sequence value, its highest.  Within a
 * statement the versions of its columns are remembered in full, and for rules
 * that depend on the whole order the row as it was before the statement and
 * the statement's rows themselves (MERGE_MEMORY_LOG): then the order in which
 * the rows come does not matter.
 *
 * An entry is good as long as the stored row is the one that the statement
 * wrote last.  Where something else has written it in between (a function that
 * the statement calls), the entry is forgotten.
 */
#include "postgres.h"

#include "access/index_shim.h"
#include "access/key_memory.h"
#include "lib/rbtree.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

struct KeyEntry
{
	RBTNode		node;			/* must be first */
	Datum	   *key;			/* by key column, as in plan->keys' order */
	bool		known;			/* does the entry hold anything? */
	bool		stored;			/* is there a stored row? */
	bool		hidden;			/* is there none, but one begun by retractions? */
	Datum	   *hidden_values;
	bool	   *hidden_isnull;
	ItemPointerData tid;		/* where, if there is */
	SequenceValue row_version;
	SequenceValue removed;
	SequenceValue *versions;	/* by column */

	/* MERGE_MEMORY_LOG */
	bool		base_exists;
	SequenceValue base_removed; /* the removal of a key without a row */
	Datum	   *base_values;
	bool	   *base_isnull;
	MergeRow  **rows;			/* in merge_rows_compare's order */
	int			nrows;
	int			size;
};

struct KeyMemory
{
	const MergePlan *plan;
	MemoryContext context;
	RBTree	   *tree;
	SortSupport sort;			/* by key column */
	const AttrNumber *columns;	/* table column (0-based) of each key column */
	int			nkeys;
};

static int
key_compare(const RBTNode *a, const RBTNode *b, void *arg)
{
	const KeyMemory *memory = arg;
	const KeyEntry *left = (const KeyEntry *) a;
	const KeyEntry *right = (const KeyEntry *) b;

	for (int i = 0; i < memory->nkeys; i++)
	{
		int			result = ApplySortComparator(left->key[i], false,
												 right->key[i], false,
												 &memory->sort[i]);

		if (result != 0)
			return result;
	}
	return 0;
}

static RBTNode *
key_alloc(void *arg)
{
	return MemoryContextAllocZero(((KeyMemory *) arg)->context, sizeof(KeyEntry));
}

static void
key_combine(RBTNode *existing, const RBTNode *newdata, void *arg)
{
	/* an existing entry stays as it is */
}

/*
 * key_memory_create
 *		An empty memory for a table, in CurrentMemoryContext.  sort says how the
 *		key's columns compare, columns which ones of the table (0-based) they
 *		are; both must live as long as the memory.
 */
KeyMemory *
key_memory_create(const MergePlan *plan, SortSupport sort, int nkeys,
				  const AttrNumber *columns)
{
	KeyMemory  *memory = palloc0(sizeof(KeyMemory));

	memory->plan = plan;
	memory->context = CurrentMemoryContext;
	memory->sort = sort;
	memory->nkeys = nkeys;
	memory->columns = columns;
	memory->tree = rbt_create(sizeof(KeyEntry), key_compare, key_combine,
							  key_alloc, NULL, memory);
	return memory;
}

/*
 * key_memory_is_empty
 *		Is there no entry?
 */
bool
key_memory_is_empty(KeyMemory *memory)
{
	return rbt_leftmost(memory->tree) == NULL;
}

/* Set a search entry up for the key in a row's values. */
static void
key_memory_search(const KeyMemory *memory, KeyEntry *search, Datum *key,
				  const Datum *values)
{
	for (int i = 0; i < memory->nkeys; i++)
		key[i] = values[memory->columns[i]];
	memset(search, 0, sizeof(KeyEntry));
	search->key = key;
}

/*
 * key_memory_find
 *		The entry of the key in a row's values, or NULL.
 */
KeyEntry *
key_memory_find(KeyMemory *memory, const Datum *values)
{
	KeyEntry	search;
	Datum		key[INDEX_MAX_KEYS];

	key_memory_search(memory, &search, key, values);
	return (KeyEntry *) rbt_find(memory->tree, &search.node);
}

/* A new entry for the key in a row's values. */
static KeyEntry *
key_memory_create_entry(KeyMemory *memory, const Datum *values)
{
	KeyEntry	search;
	Datum		key[INDEX_MAX_KEYS];
	bool		isnew;

	key_memory_search(memory, &search, key, values);
	search.key = palloc(memory->nkeys * sizeof(Datum));
	for (int i = 0; i < memory->nkeys; i++)
	{
		const MergeColumn *column = &memory->plan->columns[memory->columns[i]];

		search.key[i] = datumCopy(key[i], column->typbyval, column->typlen);
	}
	return (KeyEntry *) rbt_insert(memory->tree, &search.node, &isnew);
}

/*
 * key_memory_is_current
 *		Is there an entry, and is it about the row stored at this TID (NULL: no
 *		row)?
 */
bool
key_memory_is_current(const KeyEntry *entry, const ItemPointerData *stored)
{
	if (entry == NULL || !entry->known || entry->stored != (stored != NULL))
		return false;
	return stored == NULL ||
		ItemPointerEquals(unconstify(ItemPointerData *, &entry->tid),
						  unconstify(ItemPointerData *, stored));
}

/*
 * key_memory_locate
 *		If the entry is about a row that had no place yet, it is stored here.
 */
void
key_memory_locate(KeyEntry *entry, const ItemPointerData *stored)
{
	if (entry != NULL && entry->known && entry->stored && ItemPointerIsUnstored(&entry->tid))
		entry->tid = *stored;
}

/* Give the state the versions that the entry remembers. */
static void
key_memory_load(const KeyMemory *memory, const KeyEntry *entry, MergeState *state)
{
	const MergePlan *plan = memory->plan;

	/* a removal that another session has committed since is newer */
	if (plan->sequence != NULL &&
		sequence_compare(plan->sequence, entry->removed, state->removed) > 0)
		state->removed = entry->removed;
	state->hidden = entry->hidden;
	if (state->hidden)
	{
		memcpy(state->values, entry->hidden_values, plan->natts * sizeof(Datum));
		memcpy(state->isnull, entry->hidden_isnull, plan->natts * sizeof(bool));
	}
	if (state->versions == NULL || !(state->exists || state->hidden))
		return;
	state->row_version = entry->row_version;
	memcpy(state->versions, entry->versions, plan->natts * sizeof(SequenceValue));
}

/* Merge two lists of rows, each in order, into a new one. */
static MergeRow **
key_memory_interleave(const MergePlan *plan, const KeyEntry *entry,
					  MergeRow **rows, int nrows)
{
	MergeRow  **all = palloc((entry->nrows + nrows) * sizeof(MergeRow *));
	int			i = 0;
	int			j = 0;

	while (i < entry->nrows || j < nrows)
	{
		bool		from_entry = j == nrows ||
			(i < entry->nrows &&
			 merge_rows_compare(plan, entry->rows[i], rows[j]) < 0);
		MergeRow   *next = from_entry ? entry->rows[i] : rows[j];

		all[i + j] = next;
		if (from_entry)
			i++;
		else
			j++;
	}
	return all;
}

/*
 * key_memory_merge
 *		Merges rows, in merge_rows_compare's order, into the state, which holds
 *		the stored row of a current entry and no versions.
 */
void
key_memory_merge(KeyMemory *memory, KeyEntry *entry, MergeState *state,
				 MergeRow **rows, int nrows)
{
	const MergePlan *plan = memory->plan;

	key_memory_load(memory, entry, state);

	/* where order is no matter, or is kept, go on from where we are */
	if (plan->memory != MERGE_MEMORY_LOG ||
		(merge_rows_compare(plan, rows[0], entry->rows[entry->nrows - 1]) > 0 &&
		 (!state->exists ||
		  sequence_compare(plan->sequence, rows[0]->sequence, state->row_version) >= 0)))
	{
		for (int i = 0; i < nrows; i++)
			merge_apply(plan, state, rows[i]);
		return;
	}

	/* out of order: fold everything again */
	if (entry->base_exists)
		merge_state_load(plan, state, entry->base_values, entry->base_isnull);
	else
	{
		merge_state_clear(plan, state);
		state->removed = entry->base_removed;
	}
	merge_fold(plan, state, key_memory_interleave(plan, entry, rows, nrows),
			   entry->nrows + nrows);
}

/* Add a row to the entry's log. */
static void
key_memory_log(KeyMemory *memory, KeyEntry *entry, const MergeRow *row)
{
	const MergePlan *plan = memory->plan;
	MergeRow   *copy = merge_row_copy(plan, row);
	int			place = entry->nrows;

	if (row->named != NULL)
	{
		bool	   *named = palloc(plan->natts * sizeof(bool));

		memcpy(named, row->named, plan->natts * sizeof(bool));
		copy->named = named;
	}
	if (entry->nrows == entry->size)
	{
		entry->size = Max(4, entry->size * 2);
		entry->rows = entry->rows == NULL ?
			palloc(entry->size * sizeof(MergeRow *)) :
			repalloc_huge(entry->rows, entry->size * sizeof(MergeRow *));
	}
	while (place > 0 && merge_rows_compare(plan, copy, entry->rows[place - 1]) < 0)
		place--;
	memmove(entry->rows + place + 1, entry->rows + place,
			(entry->nrows - place) * sizeof(MergeRow *));
	entry->rows[place] = copy;
	entry->nrows++;
}

/*
 * key_memory_save
 *		Remembers what rows have led to: the state, stored at the TID (NULL: no
 *		row is stored), unless the stored row says it all.  entry is the key's,
 *		or NULL.  fresh says that the entry was not current; then base is
 *		the stored row that they met (NULL: none; then base_removed is what
 *		was known of its removal).
 */
void
key_memory_save(KeyMemory *memory, KeyEntry *entry, bool fresh,
				const Datum *base_values, const bool *base_isnull,
				SequenceValue base_removed, const MergeState *state,
				MergeRow **rows, int nrows,
				const ItemPointerData *stored)
{
	const MergePlan *plan = memory->plan;
	MemoryContext oldcontext;

	if (plan->memory != MERGE_MEMORY_LOG &&
		merge_state_is_plain(plan, state, rows[0]->named))
	{
		if (entry != NULL)
			entry->known = false;
		return;
	}

	oldcontext = MemoryContextSwitchTo(memory->context);
	if (entry == NULL)
		entry = key_memory_create_entry(memory, rows[0]->values);
	if (fresh && plan->memory == MERGE_MEMORY_LOG)
	{
		entry->nrows = 0;
		entry->base_exists = base_values != NULL;
		sequence_assign(plan->sequence, &entry->base_removed, base_removed);
		if (entry->base_exists)
			merge_values_copy(plan, base_values, base_isnull,
							  &entry->base_values, &entry->base_isnull);
	}
	entry->known = true;
	for (int i = 0; plan->memory == MERGE_MEMORY_LOG && i < nrows; i++)
		key_memory_log(memory, entry, rows[i]);

	entry->stored = stored != NULL;
	if (stored != NULL)
		entry->tid = *stored;
	entry->hidden = state->hidden;
	if (state->hidden)
		merge_values_copy(plan, state->values, state->isnull,
						  &entry->hidden_values, &entry->hidden_isnull);
	if (state->versions == NULL)
	{
		MemoryContextSwitchTo(oldcontext);
		return;
	}
	sequence_assign(plan->sequence, &entry->row_version, state->row_version);
	sequence_assign(plan->sequence, &entry->removed, state->removed);
	if (entry->versions == NULL)
		entry->versions = palloc0(plan->natts * sizeof(SequenceValue));
	for (int c = 0; c < plan->natts; c++)
		sequence_assign(plan->sequence, &entry->versions[c], state->versions[c]);
	MemoryContextSwitchTo(oldcontext);
}
