/*
 * merge_plan.h
 *	  A table's compiled rules, cached until its catalog entry changes.
 */
#ifndef MERGE_PLAN_H
#define MERGE_PLAN_H

#include "postgres.h"

#include "catalog/options.h"
#include "merge/merge.h"
#include "utils/rel.h"

/*
 * merge_plan_get
 *		The rules of an open table (caller holds a lock), or NULL when it does
 *		not merge: no engine among its stored options, or no primary key.
 *
 * The result stays valid until merge_plan_release, even if the catalog entry
 * changes in between; each get must be paired with a release (at transaction
 * end all are released).  Raises
 * ERRCODE_INVALID_OBJECT_DEFINITION when a stored option has lost its meaning.
 */
extern MergePlan *merge_plan_get(Relation relation);

/*
 * merge_plan_open
 *		Opens a table that merges, be it by a trigger.  Raises
 *		ERRCODE_WRONG_OBJECT_TYPE for what is no such table.
 */
extern Relation merge_plan_open(Oid relid, LOCKMODE lockmode);

/*
 * merge_plan_get_versions
 *		The rules of an open table that has a versions column, else NULL.  They
 *		may lack the primary key, so that nothing can be merged by them.
 */
extern MergePlan *merge_plan_get_versions(Relation relation);
extern void merge_plan_release(MergePlan *plan);

/*
 * merge_plan_tupdesc
 *		The row type of the table of a plan that merge_plan_get gave; lives as long
 *		as the plan, and is not counted, so that slots of it need not be dropped.
 */
extern TupleDesc merge_plan_tupdesc(const MergePlan *plan);

/*
 * merge_plan_options
 *		The parsed options of an open table, stored or given to its merge
 *		trigger; NULL where they name no engine.  In CurrentMemoryContext.
 *		Raises what options_parse raises.
 */
extern MergeOptions *merge_plan_options(Relation relation);

/*
 * merge_plan_compile
 *		Checks the options against the table's columns and compiles them.  The
 *		result is allocated in CurrentMemoryContext.  With no primary key yet,
 *		checks what can be checked and leaves nkeys at 0.
 */
extern MergePlan *merge_plan_compile(Relation relation, const MergeOptions *options);

/*
 * merge_plan_primary_key
 *		The index of the relation's primary key, deferrable or not, or
 *		InvalidOid.
 */
extern Oid	merge_plan_primary_key(Relation relation);

#endif							/* MERGE_PLAN_H */
