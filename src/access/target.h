/*
 * target.h
 *	  A merge table in a statement: what its rows are merged and written with.
 */
#ifndef TARGET_H
#define TARGET_H

#include "postgres.h"

#include "access/key_memory.h"
#include "access/skey.h"
#include "catalog/merge_plan.h"
#include "merge/merge.h"
#include "nodes/execnodes.h"
#include "storage/lock.h"

struct WriteBuffer;

typedef struct MergeTarget
{
	struct MergeTarget *next;	/* of the same statement */
	Oid			relid;
	Relation	relation;		/* as the source of the rows holds it open */
	MemoryContext context;		/* lives as long as the statement */
	MemoryContext row_context;	/* reset for each key */
	MergePlan  *plan;
	MergeState *state;
	KeyMemory  *memory;			/* NULL unless the plan asks for it */
	uint64	   *arrivals;		/* rows that the statement has brought so far */
	int		   *nbuffers;		/* of the statement, which share the memory */
	struct WriteBuffer *buffer; /* rows not merged yet, or NULL */
	struct WriteBuffer *unsettled;	/* rows merged in a subtransaction that may
									 * still be rolled back; a list */

	/* the source of the rows, and the columns that it names */
	void	   *source;			/* ModifyTableState or CopyFromState */
	bool		from_copy;
	bool	   *named;			/* NULL: all of them */
	bool	   *trigger_may_set;	/* unnamed columns that a BEFORE trigger fills
									 * visibly; or NULL */
	bool		counted;		/* the statement is in the counters */
	bool		memory_used;	/* a flush has left something in memory */
	bool		only_row;		/* the statement has no other: nothing to remember */
	bool		may_buffer;		/* nobody looks at the rows one by one */
	bool		observed;		/* somebody looks at the slot after a merge */

	/* what index entries and constraints are made with, while open */
	EState	   *estate;
	ResultRelInfo *result_rel;
	bool		own_result_rel; /* ours to close after each call */
	ResultRelInfo *indexes;		/* the same, with all indexes */
	ResultRelInfo *secondary;	/* the same, without the primary key's; or NULL */
	ResultRelInfo *referenced;	/* the same, with the triggers to fire for a
								 * stored row that changes; or NULL */
	Relation	pkey;
	IndexInfo  *pkey_info;

	/* the primary key */
	int			nkeys;
	ScanKeyData *scankeys;
	AttrNumber *pkey_columns;	/* table column (0-based) of each key column */
	Oid		   *key_opfamilies; /* of each key column, as are the next two */
	Oid		   *key_types;		/* the operator class's input type */
	Oid		   *key_collations;
	SortSupport key_sort;		/* by key column; see target_key_sort */

	Datum	   *incoming_values;	/* the incoming row, see upsert_read_row */
	bool	   *incoming_isnull;
	TupleTableSlot *stored;		/* the stored row, pinned */
	TupleTableSlot *merged;		/* the row to be written */
	struct RowSecurity *row_security;	/* or NULL */
	bool		may_update;		/* replica identity has been checked */

	/* a heap table with a merge trigger; see before_insert.c */
	bool		by_trigger;
	bool		has_key_lock;
	LOCKTAG		key_lock;
} MergeTarget;

extern MergeTarget *target_create(Relation relation, MergePlan *plan,
								  MemoryContext context);
extern void target_use_result_rel(MergeTarget *target, ResultRelInfo *result_rel);
extern void target_open(MergeTarget *target, Relation relation);
extern void target_close(MergeTarget *target);
extern void target_take_plan_slots(MergeTarget *target);
extern void target_set_keys(MergeTarget *target, const Datum *values);
extern SortSupport target_key_sort(MergeTarget *target);
extern int	target_compare_keys(MergeTarget *target, const Datum *a, const Datum *b);

#endif							/* TARGET_H */
