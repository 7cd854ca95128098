/*
 * functions.h
 *	  SQL functions that columns are aggregated by.
 */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include "postgres.h"

#include "aggregator/aggregator.h"
#include "merge/merge.h"

/*
 * functions_find
 *		The aggregate function of this name; a qualified name stands for a SQL
 *		function, whether or not there is one.  NULL for any other name.  The
 *		result is constant or in CurrentMemoryContext.
 */
extern const FieldAggregator *functions_find(const char *name);

/*
 * functions_resolve
 *		Finds the SQL functions that a column's aggregate function calls, and
 *		leaves them in column->state, in column->context: those that the user
 *		named, and those of the extensions hstore and hll.  Call it before
 *		prepare.  May replace column->function.
 *
 * Raises ERRCODE_UNDEFINED_FUNCTION, ERRCODE_DATATYPE_MISMATCH,
 * ERRCODE_INVALID_FUNCTION_DEFINITION, or ERRCODE_INSUFFICIENT_PRIVILEGE when
 * the table's owner may not execute a function that was named.
 */
extern void functions_resolve(AggregatorColumn *column, Oid owner);

/*
 * functions_record_dependencies
 *		Makes the table's columns depend on the functions that the user named
 *		for them, and on no others, so that these cannot be dropped under it.
 */
extern void functions_record_dependencies(Oid relation, const MergePlan *plan);

#endif							/* FUNCTIONS_H */
