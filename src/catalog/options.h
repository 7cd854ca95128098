/*
 * options.h
 *	  The options of a merge table: names, spelling, values.
 *
 * Options live in pg_class.reloptions under their canonical (Paimon's) names,
 * beside heap's own.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "postgres.h"

#include "merge/merge.h"
#include "nodes/pg_list.h"
#include "nodes/parsenodes.h"

/* fields.<sequence fields>.sequence-group = <columns> */
typedef struct GroupOption
{
	List	   *sequence_fields;	/* of char * */
	List	   *columns;		/* of char * */
	char	   *name;			/* the whole option name, for messages */
} GroupOption;

/* fields.<column>.<name> = <value>, sequence-group excepted */
typedef struct FieldOption
{
	char	   *column;
	char	   *name;
	char	   *value;
} FieldOption;

/* The parsed options of one table. */
typedef struct MergeOptions
{
	bool		has_engine;		/* without it the table does not merge */
	MergeEngine engine;
	List	   *sequence_fields;	/* of char * */
	bool		descending;		/* sequence.field.sort-order */
	char	   *rowkind_field;	/* or NULL */
	bool		ignore_delete;
	bool		ignore_update_before;
	bool		pu_remove_on_delete;	/* partial-update.remove-record-on-delete */
	bool		agg_remove_on_delete;	/* aggregation.remove-record-on-delete */
	List	   *remove_on_groups;	/* of char *: sequence fields named by
									 * partial-update.remove-record-on-sequence-group */
	char	   *default_function;	/* fields.default-aggregate-function */
	List	   *groups;			/* of GroupOption * */
	List	   *fields;			/* of FieldOption * */
} MergeOptions;

#endif							/* OPTIONS_H */
