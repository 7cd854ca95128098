/*
 * statement.h
 *	  The statement that is writing to merge tables: what it names, and what it
 *	  works with.
 */
#ifndef STATEMENT_H
#define STATEMENT_H

#include "postgres.h"

#include "access/key_memory.h"
#include "access/skey.h"
#include "catalog/merge_plan.h"
#include "merge/merge.h"
#include "nodes/execnodes.h"

/* One merge table in one statement. */
typedef struct MergeTarget
{
	struct MergeTarget *next;	/* of the same statement */
	Oid			relid;
	MemoryContext context;		/* lives as long as the statement */
	MemoryContext row_context;	/* reset for each key */
	MergePlan  *plan;
	MergeState *state;
	KeyMemory  *memory;			/* NULL unless the plan asks for it */
	uint64		arrivals;		/* rows seen so far */

	/* the source of the rows, and the columns that it names */
	const void *source;			/* ModifyTableState or CopyFromState */
	bool	   *named;			/* NULL: all of them */

	/* what index entries and constraints are made with */
	EState	   *estate;
	ResultRelInfo *result_rel;
	bool		own_result_rel; /* ours to close after each call */
	bool	   *trigger_may_set;	/* unnamed columns that a BEFORE trigger fills
									 * visibly; or NULL */
	ResultRelInfo *secondary;	/* the same without the primary key's index */
	ResultRelInfo *referenced;	/* the same with only the triggers of foreign
								 * keys that reference the table; or NULL */
	Relation	pkey;
	IndexInfo  *pkey_info;
	ScanKeyData *scankeys;
	AttrNumber *pkey_columns;	/* table column of each key column */
	TupleTableSlot *stored;		/* the stored row, pinned */
	TupleTableSlot *merged;		/* the row to be written */
	bool		checks_row_security;
	bool		may_update;		/* replica identity has been checked */
} MergeTarget;

extern void statement_init(void);
extern void statement_forget_plans(void);
extern bool statement_bypasses(Relation relation, TupleTableSlot *slot);
extern void statement_note_delete(bool changing_partition);
extern MergeTarget *statement_target(Relation relation, TupleTableSlot *slot);
extern void statement_release_target(MergeTarget *target);

#endif							/* STATEMENT_H */
