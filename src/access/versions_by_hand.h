/*
 * versions_by_hand.h
 *	  The versions column of rows that are written without merging.
 */
#ifndef VERSIONS_BY_HAND_H
#define VERSIONS_BY_HAND_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "utils/rel.h"

extern void versions_by_hand_insert(Relation relation, TupleTableSlot *slot);
extern void versions_by_hand_update(Relation relation, ItemPointer tid,
									TupleTableSlot *slot);

#endif							/* VERSIONS_BY_HAND_H */
