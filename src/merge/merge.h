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
	MERGE_MEMORY_VERSIONS,		/* the sequence of each column and of a removal,
								 * and what retractions have hidden */
	MERGE_MEMORY_LOG			/* the rows themselves, to be folded in order */
} MergeMemory;

/* Columns that order rows: sequence.field, or the fields of a group. */
typedef struct SequenceOrder
{
	int			ncolumns;
	int		   *columns;		/* indexes into the row arrays */
	SortSupportData *sort;		/* one for each column; NULLs first, never
								 * reversed */
	Oid		   *types;			/* of the columns; a domain's base type */
	int16	   *typlen;			/* of each column's type, as is typbyval */
	bool	   *typbyval;
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
	bool		domain;			/* its type's constraints are checked after it */
	bool		key;
	bool		sequence;		/* one of sequence.field */
	int			group;			/* the group that protects it, or -1 */
	int			group_sequence; /* the group that it orders, or -1 */
	bool		has_default;
	bool		null_clears;	/* explicit-null: a NULL that is given counts */
	AggregatorColumn *aggregator;	/* NULL: a plain column */
	FmgrInfo   *coerce;			/* fits a result to the column's typmod; or
								 * NULL */
	int32		typmod;
	int16		typlen;
	bool		typbyval;
	Oid			collation;
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
	Oid			relid;
	int			versions;		/* the versions column, or -1 */
	bool		tombstones;		/* removed keys are remembered */
	int			carried;		/* the column that lists a row's columns, or -1 */

	/* makes a versions value of other origin the table's own */
	Datum		(*versions_adopt) (const struct MergePlan *plan, Datum value);
} MergePlan;

/* The values of a table's or a group's sequence fields in one row. */
typedef NullableDatum *SequenceValue;

/*
 * An incoming row.  named tells which columns the statement names; NULL
 * stands for all of them.  Columns that are not named hold their DEFAULT, or
 * NULL; merge_row_init() makes unnamed sequence fields NULL.
 */
typedef struct MergeRow
{
	Datum	   *values;
	bool	   *isnull;
	const bool *named;
	RowKind		kind;
	SequenceValue sequence;		/* of sequence.field; NULL without */
	uint64		arrival;		/* its place among the rows of its statement */
	bool		lists;			/* the row itself lists its columns: named is its
								 * list, and NULLs in there count */
	SequenceValue *versions;	/* by column, where the row brings them; or NULL */
	SequenceValue removed;		/* the removal that it brings, or NULL */
} MergeRow;

/*
 * The state of one key.  values and isnull are the row, while there is one.
 * The versions say how new each part of it is; a NULL version is older than
 * everything.  A pure function of the rows seen so far: what of it outlives
 * the statement is up to the caller.
 */
typedef struct MergeState
{
	bool		exists;
	bool		hidden;			/* no row yet, but retractions have begun one, to
								 * be seen when a row of the statement adds to it */
	Datum	   *values;
	bool	   *isnull;
	SequenceValue row_version;	/* highest sequence merged into the row */
	SequenceValue *versions;	/* by column; NULL where the plan has no
								 * sequence, or no memory */
	SequenceValue removed;		/* sequence of the newest removal, or NULL */
} MergeState;

/* The version of what a row gives for a column. */
#define MergeRowVersion(row, column) \
	((row)->versions != NULL ? (row)->versions[column] : (row)->sequence)

#define MergeRowNames(row, column) ((row)->named == NULL || (row)->named[column])

/* merge.c */
extern void merge_row_init(const MergePlan *plan, MergeRow *row);
extern void merge_values_copy(const MergePlan *plan, const Datum *values,
							  const bool *isnull, Datum **values_copy,
							  bool **isnull_copy);
extern MergeRow *merge_row_copy(const MergePlan *plan, const MergeRow *row);
extern void merge_row_free(const MergePlan *plan, MergeRow *row);
extern MergeState *merge_state_create(const MergePlan *plan);
extern void merge_state_clear(const MergePlan *plan, MergeState *state);
extern void merge_state_load(const MergePlan *plan, MergeState *state,
							 const Datum *values, const bool *isnull);
extern bool merge_column_is_versioned(const MergePlan *plan, int c);
extern bool merge_ignores(const MergePlan *plan, const MergeRow *row);
extern bool merge_state_is_plain(const MergePlan *plan, const MergeState *state,
								 const bool *named);
extern void merge_apply(const MergePlan *plan, MergeState *state,
						const MergeRow *row);
extern void merge_fold(const MergePlan *plan, MergeState *state,
					   MergeRow **rows, int nrows);
extern int	merge_rows_compare(const MergePlan *plan,
							   const MergeRow *a, const MergeRow *b);
extern const char *merge_engine_name(MergeEngine engine);

/* one for each engine, called by merge_apply */
extern void deduplicate_apply(const MergePlan *plan, MergeState *state,
							  const MergeRow *row);
extern void partial_update_apply(const MergePlan *plan, MergeState *state,
								 const MergeRow *row);
extern void aggregation_apply(const MergePlan *plan, MergeState *state,
							  const MergeRow *row);
extern void aggregation_fold(const MergePlan *plan, MergeState *state,
							 MergeRow **rows, int nrows);
extern void first_row_apply(const MergePlan *plan, MergeState *state,
							const MergeRow *row);

/* row.c: what the engines have in common */
extern void merge_take_row(const MergePlan *plan, MergeState *state,
						   const MergeRow *row);
extern bool merge_column_contributes(const MergePlan *plan, int column);
extern void merge_create_row(const MergePlan *plan, MergeState *state,
							 const MergeRow *row);
extern void merge_advance(const MergePlan *plan, MergeState *state,
						  const MergeRow *row);
extern bool merge_row_gives(const MergePlan *plan, const MergeRow *row, int column);
extern void merge_take_column(MergeState *state, int column,
							  const MergeRow *row);
extern void merge_combine(const MergePlan *plan, MergeState *state, int column,
						  NullableDatum input, bool first, bool late);
extern void merge_retract(const MergePlan *plan, MergeState *state, int column,
						  const MergeRow *row);

/* carried.c */
extern void merge_row_carry(const MergePlan *plan, MergeRow *row);

/* sequence.c */
extern SequenceValue sequence_read(const SequenceOrder *order,
								   const Datum *values, const bool *isnull);
extern int	sequence_compare(const SequenceOrder *order,
							 SequenceValue a, SequenceValue b);
extern bool sequence_is_null(const SequenceOrder *order, SequenceValue value);
extern void sequence_assign(const SequenceOrder *order, SequenceValue *owned,
							SequenceValue value);
extern SequenceValue sequence_copy(const SequenceOrder *order,
								   SequenceValue value);

/* rowkind.c */
extern RowKind rowkind_parse(const MergePlan *plan, NullableDatum value);
extern const char *rowkind_name(RowKind kind);

#endif							/* MERGE_H */
