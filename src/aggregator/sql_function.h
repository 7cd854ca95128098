/*
 * sql_function.h
 *	  SQL functions as field aggregators.
 *
 * catalog/functions.c finds the functions and leaves them in column->state
 * before prepare is called.
 */
#ifndef SQL_FUNCTION_H
#define SQL_FUNCTION_H

#include "postgres.h"

#include "aggregator/aggregator.h"

typedef struct SqlFunctions
{
	FmgrInfo   *combine;		/* f(T, T) -> T */
	FmgrInfo   *retract;		/* its inverse, or NULL */
	FmgrInfo   *keys;			/* merge_map: a map's keys, in retract's second
								 * argument type */
	bool		depends;		/* named by the user: the table depends on them */
} SqlFunctions;

/* What all SQL functions have in common; in no registry. */
extern const FieldAggregator sql_function_aggregator;

/*
 * sql_function_create
 *		A field aggregator, in CurrentMemoryContext, for the SQL function of
 *		this name.
 */
extern const FieldAggregator *sql_function_create(const char *name);

/*
 * sql_function_specialize
 *		The same, in CurrentMemoryContext, with what was learnt of the
 *		functions: whether NULLs are for them, and whether one can retract.
 */
extern const FieldAggregator *sql_function_specialize(const FieldAggregator *function,
													  const SqlFunctions *functions);

/* Whether a field aggregator stands for a SQL function that the user named. */
extern bool sql_function_is(const FieldAggregator *function);

/*
 * sql_function_call
 *		Calls a function of one or two arguments, NULLs included.  The result
 *		is in CurrentMemoryContext.
 */
extern NullableDatum sql_function_call(FmgrInfo *function, NullableDatum left,
									   NullableDatum right,
									   const AggregatorColumn *column);

#endif							/* SQL_FUNCTION_H */
