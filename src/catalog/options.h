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

/* Whose an option is. */
typedef enum OptionKind
{
	OPTION_UNKNOWN,
	OPTION_MERGE,				/* ours: validated and stored */
	OPTION_LAYOUT,				/* Paimon's, without effect here: not stored */
	OPTION_STORAGE				/* heap's own: left to PostgreSQL */
} OptionKind;

/* One option of ours: its canonical name and value. */
typedef struct MergeOption
{
	char	   *name;
	char	   *value;
} MergeOption;

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
	char	   *option;			/* the whole option name, for messages */
} FieldOption;

/* The parsed options of one table. */
typedef struct MergeOptions
{
	bool		has_engine;		/* without it the table does not merge */
	MergeEngine engine;
	List	   *sequence_fields;	/* of char * */
	bool		has_sort_order; /* sequence.field.sort-order is given */
	bool		descending;		/* sequence.field.sort-order */
	char	   *rowkind_field;	/* or NULL */
	char	   *versions_field; /* or NULL */
	char	   *columns_field;	/* or NULL */
	bool		tombstones;
	char	   *retention;		/* tombstones.retention, or NULL */
	bool		explicit_null;	/* explicit-null = clear */
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

/* option_names.c */

/*
 * option_kind
 *		Whose option a name is; canonical receives its canonical spelling
 *		(palloc'd) where that is OPTION_MERGE or OPTION_LAYOUT.
 */
extern OptionKind option_kind(const char *name, char **canonical);

/* option_name_fits
 *		Whether a canonical name survives the grammar's cut at 63 bytes.
 */
extern bool option_name_fits(const char *canonical);

/* option_unknown_error
 *		Refuses an unknown option, with the nearest name as hint.
 */
extern void option_unknown_error(const char *name) pg_attribute_noreturn();

/* option_field_parts
 *		Splits a canonical fields.<columns>.<suffix>; false for other names.
 */
extern bool option_field_parts(const char *name, char **columns, char **suffix);

/* options.c */

/*
 * option_canonical_value
 *		The canonical form of the value of an option of ours.  Raises
 *		ERRCODE_INVALID_PARAMETER_VALUE when it cannot be one.
 */
extern char *option_canonical_value(const char *name, const char *value);

/* option_decides_meaning
 *		Whether the option decides what stored rows mean, so that it may change
 *		only while the table is empty.
 */
extern bool option_decides_meaning(const char *name);

/*
 * option_columns, option_rename_column
 *		The columns that an option names (list of char *), and the option with
 *		one of them renamed, or the same option when it does not name it.
 */
extern List *option_columns(const MergeOption *option);
extern MergeOption *option_rename_column(MergeOption *option,
										 const char *old_name,
										 const char *new_name);

/*
 * options_split
 *		Splits a pg_class.reloptions value into our options (list of
 *		MergeOption *, in order) and, if wanted, the others (list of char *,
 *		"name=value").  Tolerates anything.
 */
extern List *options_split(Datum reloptions, List **others);

/* options_join
 *		The reloptions value of others followed by ours; (Datum) 0 if empty.
 */
extern Datum options_join(List *others, List *options);

/* options_stored
 *		Our options as stored for a relation, and the others if wanted.
 */
extern List *options_stored(Oid relid, List **others);

/*
 * options_parse
 *		Parses our options (list of MergeOption *).  Raises
 *		ERRCODE_INVALID_PARAMETER_VALUE for a bad value.  The result refers to
 *		memory in CurrentMemoryContext.
 */
extern MergeOptions *options_parse(List *options);

/* column_list_parse, column_list_format
 *		Column names separated by commas, each literal or in double quotes.
 *		Parsing returns NIL for a malformed or empty list.
 */
extern List *column_list_parse(const char *string);
extern char *column_list_format(List *columns);

#endif							/* OPTIONS_H */
