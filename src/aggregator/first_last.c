/*
 * first_last.c
 *	  last_value, last_non_null_value, first_value, first_non_null_value:
 *	  the value of the newest or oldest input, of any type.
 *
 * A late input is the same call with the arguments exchanged, so none of
 * these needs a combine_late.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"

/* Any type will do */
static void
any_type_prepare(AggregatorColumn *column)
{
}

/* f(accumulator, input) = input, NULL included */
static NullableDatum
last_value_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	return input;
}

/* Whatever was retracted, the last value is not known any more */
static NullableDatum
last_value_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	NullableDatum result = {0, true};

	return result;
}

/* f(accumulator, input) = input unless it is NULL */
static NullableDatum
last_non_null_value_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	return input.isnull ? accumulator : input;
}

/* A NULL input set nothing, so retracting it takes nothing away */
static NullableDatum
last_non_null_value_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	NullableDatum result = {0, true};

	return input.isnull ? accumulator : result;
}

/* f(accumulator, input) = accumulator, NULL included */
static NullableDatum
first_value_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	return accumulator;
}

/* f(accumulator, input) = accumulator unless it is NULL */
static NullableDatum
first_non_null_value_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	return accumulator.isnull ? input : accumulator;
}

const FieldAggregator last_value_aggregator = {
	.name = "last_value",
	.order = AGGREGATOR_NEWEST,
	.takes_null = true,
	.associative = true,
	.prepare = any_type_prepare,
	.combine = last_value_combine,
	.retract = last_value_retract
};

const FieldAggregator last_non_null_value_aggregator = {
	.name = "last_non_null_value",
	.order = AGGREGATOR_NEWEST,
	.associative = true,
	.prepare = any_type_prepare,
	.combine = last_non_null_value_combine,
	.retract = last_non_null_value_retract
};

const FieldAggregator first_value_aggregator = {
	.name = "first_value",
	.order = AGGREGATOR_OLDEST,
	.takes_null = true,
	.associative = true,
	.prepare = any_type_prepare,
	.combine = first_value_combine
};

const FieldAggregator first_non_null_value_aggregator = {
	.name = "first_non_null_value",
	.alias = "first_not_null_value",
	.order = AGGREGATOR_OLDEST,
	.associative = true,
	.prepare = any_type_prepare,
	.combine = first_non_null_value_combine
};
