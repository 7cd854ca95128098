/*
 * aggregator.h
 *	  Field aggregators: how the values of one column are folded.
 *
 * A field aggregator is a row of function pointers, found by name through
 * registry.c.  Each family lives in a file of its own.  Adding a function
 * touches that file and one line of the registry.
 *
 * This room knows values only: no table, no executor, no catalog.  What it
 * must know of a column (type, collation, order) is put into an
 * AggregatorColumn by whoever compiles the table's rules.
 */
#ifndef AGGREGATOR_H
#define AGGREGATOR_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/sortsupport.h"

/* What the order of the inputs means to the result. */
typedef enum AggregatorOrder
{
	/* any order gives the same result: sum, max, bool_or */
	AGGREGATOR_ANY_ORDER,
	/* the value of the newest input: last_value, last_non_null_value */
	AGGREGATOR_NEWEST,
	/* the value of the oldest input: first_value, first_non_null_value */
	AGGREGATOR_OLDEST,
	/* the result depends on the whole order: listagg */
	AGGREGATOR_IN_ORDER
} AggregatorOrder;

struct FieldAggregator;

/* An option of one column, as written: fields.<column>.<name> = <value>. */
typedef struct AggregatorOption
{
	const char *name;
	const char *value;
} AggregatorOption;

/* One column's use of a field aggregator. */
typedef struct AggregatorColumn
{
	const struct FieldAggregator *function;
	const char *column;			/* the column's name, for messages */
	Oid			type;			/* its type; a domain's base type */
	int32		typmod;
	Oid			collation;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	SortSupport order;			/* the type's btree order, NULL if it has none */
	bool		ignore_retract; /* fields.<column>.ignore-retract */
	int			noptions;
	AggregatorOption *options;	/* the function's own options of this column */
	MemoryContext context;		/* lives as long as this struct */
	void	   *state;			/* whatever prepare() wants to keep */
} AggregatorColumn;

/*
 * A field aggregator.
 *
 * prepare		checks the column's type and options, and keeps in
 *				column->state, allocated in column->context, what the others
 *				need.  Raises ERRCODE_INVALID_PARAMETER_VALUE or
 *				ERRCODE_DATATYPE_MISMATCH naming the column and the function.
 * combine		folds a newer input into the accumulator.  A NULL accumulator
 *				is "nothing yet" (for AGGREGATOR_OLDEST with takes_null the
 *				caller never passes "nothing yet": it takes the first input
 *				as it is).
 * combine_late folds an older input into the accumulator; NULL stands for
 *				combine with accumulator and input exchanged.
 * retract		takes an input out of the accumulator; NULL where the function
 *				cannot retract (the caller raises the error).
 * inverts		tells whether retract leaves exactly, image included, what the
 *				other inputs would have given, when the oldest input is
 *				retracted; NULL stands for never.  Only windows ask.
 * grows		tells whether accumulators grow with their inputs, and combine is
 *				associative for a column without a typmod: then SQL aggregates
 *				fold small ones first; NULL stands for no.
 * unite		folds two accumulators, where accumulators are counts and not
 *				values; NULL stands for combine.
 *
 * The functions return either argument or a new value in
 * CurrentMemoryContext; they never scribble on an argument, and detoast what
 * they read.  A result need not fit the column's typmod: the caller coerces.
 */
typedef struct FieldAggregator
{
	const char *name;
	const char *alias;			/* an accepted older spelling, or NULL */
	AggregatorOrder order;
	bool		takes_null;		/* NULL inputs count as values */
	bool		associative;	/* f(f(a,b),c) = f(a,f(b,c)), images included */
	const char *const *options; /* names of its options, NULL-terminated; or
								 * NULL */
	void		(*prepare) (AggregatorColumn *column);
	NullableDatum (*combine) (AggregatorColumn *column,
							  NullableDatum accumulator, NullableDatum input);
	NullableDatum (*combine_late) (AggregatorColumn *column,
								   NullableDatum accumulator, NullableDatum input);
	NullableDatum (*retract) (AggregatorColumn *column,
							  NullableDatum accumulator, NullableDatum input);
	bool		(*inverts) (AggregatorColumn *column,
							NullableDatum accumulator, NullableDatum input);
	bool		(*grows) (AggregatorColumn *column);
	NullableDatum (*unite) (AggregatorColumn *column,
							NullableDatum left, NullableDatum right);
} FieldAggregator;

/* registry.c */
extern const FieldAggregator *aggregator_find(const char *name);
extern const char *aggregator_nearest(const char *name);
extern bool aggregator_is_option(const char *name);
extern bool aggregator_takes_option(const FieldAggregator *function,
									const char *name);
extern const char *aggregator_option(const AggregatorColumn *column,
									 const char *name);
extern bool aggregator_bool_option(const AggregatorColumn *column,
								   const char *name, bool missing);
extern void aggregator_refuse_type(const AggregatorColumn *column,
								   const char *hint) pg_attribute_noreturn();
extern const FieldAggregator *const *aggregator_all(int *count);

#endif							/* AGGREGATOR_H */
