/*
 * merge.h
 *	  The merge rules: rows in, row out.
 *
 * Given a plan (a table's compiled rules), the state of a key and an incoming
 * row, the functions of this room compute the state that follows.  They know
 * no storage: rows are Datum arrays with one element for each physical column
 * of the table (dropped columns included, as NULLs).
 */
#ifndef MERGE_H
#define MERGE_H

#include "postgres.h"

#include "aggregator/aggregator.h"
#include "utils/sortsupport.h"

typedef enum MergeEngine
{
	MERGE_DEDUPLICATE,
	MERGE_PARTIAL_UPDATE,
	MERGE_AGGREGATION,
	MERGE_FIRST_ROW
} MergeEngine;

/* The change a row stands for: +I, -U, +U, -D. */
typedef enum RowKind
{
	ROWKIND_INSERT,
	ROWKIND_UPDATE_BEFORE,
	ROWKIND_UPDATE_AFTER,
	ROWKIND_DELETE
} RowKind;

#define RowKindIsRetract(kind) \
	((kind) == ROWKIND_UPDATE_BEFORE || (kind) == ROWKIND_DELETE)

/*
 * What a statement must remember of a key beyond its stored row, so that the
 * order of its rows does not matter (SEMANTICS, rule 3).
 */
typedef enum MergeMemory
{
	MERGE_MEMORY_NONE,			/* nothing: the stored row says it all */
	MERGE_MEMORY_VERSIONS,		/* the sequence of each column, and of a removal */
	MERGE_MEMORY_LOG			/* the rows themselves, to be folded in order */
} MergeMemory;

/* Columns that order rows: sequence.field, or the fields of a group. */
typedef struct SequenceOrder
{
	int			ncolumns;
	int		   *columns;		/* indexes into the row arrays */
	SortSupportData *sort;		/* one for each column; NULLs first, never
								 * reversed */
	bool		descending;		/* smaller values are newer; NULL stays lowest */
} SequenceOrder;

/* fields.<sequence fields>.sequence-group = <columns> */
typedef struct SequenceGroup
{
	SequenceOrder order;
	int			ncolumns;
	int		   *columns;		/* the protected columns */
	bool		removes;		/* named by remove-record-on-sequence-group */
} SequenceGroup;

typedef struct MergeColumn
{
	const char *name;
	bool		dropped;
	bool		generated;		/* computed from the others after the merge */
	bool		key;
	bool		sequence;		/* one of sequence.field */
	int			group;			/* the group that protects it, or -1 */
	int			group_sequence; /* the group that it orders, or -1 */
	bool		has_default;
	AggregatorColumn *aggregator;	/* NULL: a plain column */
	FmgrInfo   *coerce;			/* fits a result to the column's typmod; or
								 * NULL */
	int32		typmod;
	int16		typlen;
	bool		typbyval;
} MergeColumn;

/* A table's compiled rules. */
typedef struct MergePlan
{
	MergeEngine engine;
	const char *table;			/* the table's name, for messages */
	int			natts;
	MergeColumn *columns;
	int			nkeys;
	int		   *keys;			/* indexes of the primary key columns */
	SequenceOrder *sequence;	/* NULL without sequence.field */
	int			ngroups;
	SequenceGroup *groups;
	int			rowkind;		/* the row kind column, or -1 */
	bool		ignore_delete;
	bool		ignore_update_before;
	bool		remove_on_delete;	/* of the table's engine */
	MergeMemory memory;
} MergePlan;

/*
 * An incoming row.  named tells which columns the statement names; NULL
 * stands for all of them.  Columns that are not named hold their DEFAULT, or
 * NULL.
 */
typedef struct MergeRow
{
	Datum	   *values;
	bool	   *isnull;
	const bool *named;
	RowKind		kind;
} MergeRow;

#endif							/* MERGE_H */
