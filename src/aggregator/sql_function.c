/*
 * sql_function.c
 *	  Any SQL function f(T, T) -> T as a field aggregator, and the sketches,
 *	  whose functions belong to other extensions.
 *
 * catalog/functions.c finds the functions; here they are called.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "aggregator/sql_function.h"
#include "utils/expandeddatum.h"

/* Pass a value that the function must not change in place */
static NullableDatum
read_only(NullableDatum value, int16 typlen)
{
	value.value = MakeExpandedObjectReadOnly(value.value, value.isnull, typlen);
	return value;
}

/* Call a function, with NULLs */
NullableDatum
sql_function_call(FmgrInfo *function, NullableDatum left, NullableDatum right,
				  const AggregatorColumn *column)
{
	LOCAL_FCINFO(call, 2);
	NullableDatum result;

	InitFunctionCallInfoData(*call, function, function->fn_nargs, column->collation, NULL, NULL);
	call->args[0] = read_only(left, column->typlen);
	if (function->fn_nargs > 1)
		call->args[1] = read_only(right, column->typlen);
	result.value = FunctionCallInvoke(call);
	result.isnull = call->isnull;
	return result;
}

/* The functions were found, so their types fit */
static void
sql_function_prepare(AggregatorColumn *column)
{
	if (column->state == NULL)
		elog(ERROR, "function \"%s\" of column \"%s\" was not looked up",
			 column->function->name, column->column);
}

/* f(accumulator, input); a strict function takes the other one for a NULL */
static NullableDatum
sql_function_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	SqlFunctions *functions = column->state;

	if (functions->combine->fn_strict)
	{
		if (input.isnull)
			return accumulator;
		if (accumulator.isnull)
			return input;
	}
	return sql_function_call(functions->combine, accumulator, input, column);
}

/* The inverse; a strict one has nothing to take from or to take out */
static NullableDatum
sql_function_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	SqlFunctions *functions = column->state;

	if (functions->retract->fn_strict && (accumulator.isnull || input.isnull))
		return accumulator;
	return sql_function_call(functions->retract, accumulator, input, column);
}

/* Make a field aggregator that stands for a SQL function */
const FieldAggregator *
sql_function_create(const char *name)
{
	FieldAggregator *function = palloc(sizeof(FieldAggregator));

	*function = sql_function_aggregator;
	function->name = pstrdup(name);
	return function;
}

/* Note what was learnt of the functions */
const FieldAggregator *
sql_function_specialize(const FieldAggregator *function, const SqlFunctions *functions)
{
	FieldAggregator *result = palloc(sizeof(FieldAggregator));

	*result = *function;
	result->takes_null = !functions->combine->fn_strict;
	result->retract = functions->retract != NULL ? sql_function_retract : NULL;
	return result;
}

/* Tell whether a SQL function stands behind it */
bool
sql_function_is(const FieldAggregator *function)
{
	return function->prepare == sql_function_prepare;
}

/* The union of the type hll, when its functions were found */
static void
hll_sketch_prepare(AggregatorColumn *column)
{
	if (column->state == NULL)
		aggregator_refuse_type(column,
							   "It takes type hll of the extension hll (CREATE EXTENSION hll); for sketches of another type name their function: \"aggregate-function\" = 'schema.function'.");
}

/* There is no type that we know */
static void
theta_sketch_prepare(AggregatorColumn *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("aggregate function \"%s\" of column \"%s\" needs a function of yours",
					column->function->name, column->column),
			 errdetail("No extension of theta sketches is known here."),
			 errhint("Name the function that unites two sketches: \"fields.%s.aggregate-function\" = 'schema.function'.",
					 column->column)));
}

static const char *const sql_function_options[] = {"retract-function", NULL};

/* What the function does with the order of its inputs is not known */
const FieldAggregator sql_function_aggregator = {
	.name = "SQL function",
	.order = AGGREGATOR_IN_ORDER,
	.associative = false,
	.options = sql_function_options,
	.prepare = sql_function_prepare,
	.combine = sql_function_combine
};

/*
 * A union does not ask for the order.  Its image may: hll changes the way in
 * which it writes a set down as the set grows.
 */
const FieldAggregator hll_sketch_aggregator = {
	.name = "hll_sketch",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = false,
	.prepare = hll_sketch_prepare,
	.combine = sql_function_combine
};

const FieldAggregator theta_sketch_aggregator = {
	.name = "theta_sketch",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = false,
	.prepare = theta_sketch_prepare,
	.combine = sql_function_combine
};
