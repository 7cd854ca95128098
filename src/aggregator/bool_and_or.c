/*
 * bool_and_or.c
 *	  bool_and and bool_or.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "catalog/pg_type_d.h"

/* Both take boolean columns */
static void
bool_prepare(AggregatorColumn *column)
{
	if (column->type != BOOLOID)
		aggregator_refuse_type(column, "It takes boolean.");
}

/* f(accumulator, input) = accumulator AND input; NULL is no value */
static NullableDatum
bool_and_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	if (input.isnull)
		return accumulator;
	if (accumulator.isnull || DatumGetBool(accumulator.value))
		return input;
	return accumulator;
}

/* f(accumulator, input) = accumulator OR input; NULL is no value */
static NullableDatum
bool_or_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	if (input.isnull)
		return accumulator;
	if (accumulator.isnull || !DatumGetBool(accumulator.value))
		return input;
	return accumulator;
}

const FieldAggregator bool_and_aggregator = {
	.name = "bool_and",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = true,
	.prepare = bool_prepare,
	.combine = bool_and_combine
};

const FieldAggregator bool_or_aggregator = {
	.name = "bool_or",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = true,
	.prepare = bool_prepare,
	.combine = bool_or_combine
};
