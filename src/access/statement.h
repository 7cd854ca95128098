/*
 * statement.h
 *	  The statement that is writing to merge tables: what it names, and which
 *	  of its rows wait to be merged.
 */
#ifndef STATEMENT_H
#define STATEMENT_H

#include "postgres.h"

#include "access/target.h"
#include "executor/tuptable.h"

extern void statement_init(void);
extern void statement_forget_plans(void);
extern bool statement_bypasses(Relation relation, TupleTableSlot *slot);
extern MergeTarget *statement_target(Relation relation, TupleTableSlot *slot);
extern void statement_end_subxact(bool committed);
extern void statement_finish_copy(Relation relation);

#endif							/* STATEMENT_H */
