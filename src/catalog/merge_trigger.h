/*
 * merge_trigger.h
 *	  Merge triggers: the options of a table that stays on heap.
 */
#ifndef MERGE_TRIGGER_H
#define MERGE_TRIGGER_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"

/*
 * merge_trigger_find
 *		The merge trigger of an open table, or NULL.  The result lives as long
 *		as the relation's trigger descriptor.
 */
extern const Trigger *merge_trigger_find(Relation relation);

/*
 * merge_trigger_options
 *		The options among a merge trigger's arguments, as options_stored gives
 *		a table's (list of MergeOption *), with the default engine where they
 *		name none.  Raises ERRCODE_SYNTAX_ERROR or
 *		ERRCODE_INVALID_PARAMETER_VALUE for an argument that is none.
 */
extern List *merge_trigger_options(const Trigger *trigger);

/*
 * merge_trigger_validate
 *		Refuses merge triggers of an open table that can do nothing useful:
 *		of the wrong kind, more than one, on a table that merges anyway, with
 *		options that do not fit its columns, without a primary key.  Notices
 *		say which options have no effect, if "created" says that a trigger is
 *		new.
 */
extern void merge_trigger_validate(Relation relation, bool created);

#endif							/* MERGE_TRIGGER_H */
