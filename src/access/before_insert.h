/*
 * before_insert.h
 *	  Rows that a merge trigger hands over before they are inserted.
 */
#ifndef BEFORE_INSERT_H
#define BEFORE_INSERT_H

#include "postgres.h"

#include "access/target.h"
#include "access/upsert.h"
#include "executor/tuptable.h"

extern HeapTuple before_insert_row(MergeTarget *target, Relation relation,
								   TupleTableSlot *slot, HeapTuple tuple);
extern bool before_insert_lock(Upsert *upsert);
extern void before_insert_unlock(MergeTarget *target);
extern bool before_insert_leave(Upsert *upsert);
extern bool before_insert_is_left(const Upsert *upsert);
extern void before_insert_end(MergeTarget *target);
extern void before_insert_forget(void);

#endif							/* BEFORE_INSERT_H */
