/*
 * key_memory.h
 *	  What a statement remembers of the keys that it has merged.
 */
#ifndef KEY_MEMORY_H
#define KEY_MEMORY_H

#include "postgres.h"

#include "merge/merge.h"
#include "storage/itemptr.h"

typedef struct KeyMemory KeyMemory;
typedef struct KeyEntry KeyEntry;

extern KeyMemory *key_memory_create(const MergePlan *plan, SortSupport sort,
									int nkeys, const AttrNumber *columns);
extern KeyEntry *key_memory_find(KeyMemory *memory, const Datum *values);
extern bool key_memory_is_empty(KeyMemory *memory);
extern bool key_memory_is_current(const KeyEntry *entry, const ItemPointerData *stored);
extern void key_memory_locate(KeyEntry *entry, const ItemPointerData *stored);
extern void key_memory_merge(KeyMemory *memory, KeyEntry *entry,
							 MergeState *state, MergeRow **rows, int nrows);
extern void key_memory_save(KeyMemory *memory, KeyEntry *entry, bool fresh,
							const Datum *base_values, const bool *base_isnull,
							SequenceValue base_removed,
							const MergeState *state,
							MergeRow **rows, int nrows,
							const ItemPointerData *stored);

#endif							/* KEY_MEMORY_H */
