/*
 * arithmetic.c
 *	  sum, product and count: functions that calculate.
 *
 * A result that leaves the range of the column's type is an error, never a
 * wrapped or missing value.  Integers and money are calculated here, in 64
 * bits; numeric, floats and intervals by PostgreSQL's own operators, which
 * check their ranges themselves.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

typedef Datum (*ArithmeticOperator) (AggregatorColumn *column, Datum left, Datum right);

/* The operators of one type; NULL where the type does not define one. */
typedef struct Arithmetic
{
	Oid			type;
	ArithmeticOperator add;
	ArithmeticOperator subtract;
	ArithmeticOperator multiply;
	ArithmeticOperator divide;
} Arithmetic;

/* What prepare keeps in column->state. */
typedef struct ArithmeticState
{
	const Arithmetic *operators;
	Datum		zero;			/* in the column's type */
} ArithmeticState;

/* Make a value that is not NULL */
static NullableDatum
not_null(Datum value)
{
	NullableDatum result = {value, false};

	return result;
}

/* Report a result outside the range of the column's type */
static void
out_of_range(AggregatorColumn *column)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s of column \"%s\" is out of range for type %s",
					column->function->name, column->column,
					format_type_be(column->type))));
}

/* Widen a value of an integer type, or of money, to 64 bits */
static int64
integer_get(AggregatorColumn *column, Datum value)
{
	switch (column->type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

/* Narrow a 64-bit result to the column's type, if it fits */
static Datum
integer_put(AggregatorColumn *column, bool overflow, int64 value)
{
	switch (column->type)
	{
		case INT2OID:
			if (overflow || value < PG_INT16_MIN || value > PG_INT16_MAX)
				out_of_range(column);
			return Int16GetDatum((int16) value);
		case INT4OID:
			if (overflow || value < PG_INT32_MIN || value > PG_INT32_MAX)
				out_of_range(column);
			return Int32GetDatum((int32) value);
		default:
			if (overflow)
				out_of_range(column);
			return Int64GetDatum(value);
	}
}

/* left + right, for integers and money */
static Datum
integer_add(AggregatorColumn *column, Datum left, Datum right)
{
	int64		result = 0;
	bool		overflow;

	overflow = pg_add_s64_overflow(integer_get(column, left),
								   integer_get(column, right), &result);
	return integer_put(column, overflow, result);
}

/* left - right, for integers and money */
static Datum
integer_subtract(AggregatorColumn *column, Datum left, Datum right)
{
	int64		result = 0;
	bool		overflow;

	overflow = pg_sub_s64_overflow(integer_get(column, left),
								   integer_get(column, right), &result);
	return integer_put(column, overflow, result);
}

/* left * right, for integers */
static Datum
integer_multiply(AggregatorColumn *column, Datum left, Datum right)
{
	int64		result = 0;
	bool		overflow;

	overflow = pg_mul_s64_overflow(integer_get(column, left),
								   integer_get(column, right), &result);
	return integer_put(column, overflow, result);
}

/* left / right, truncated towards zero, for integers */
static Datum
integer_divide(AggregatorColumn *column, Datum left, Datum right)
{
	int64		dividend = integer_get(column, left);
	int64		divisor = integer_get(column, right);

	if (divisor == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DIVISION_BY_ZERO),
				 errmsg("cannot retract zero from the product of column \"%s\"",
						column->column),
				 errdetail("A retraction divides the product by the retracted value.")));
	/* the machine traps on this one */
	if (divisor == -1 && dividend == PG_INT64_MIN)
		return integer_put(column, true, 0);
	return integer_put(column, false, dividend / divisor);
}

/* left + right, for numeric */
static Datum
decimal_add(AggregatorColumn *column, Datum left, Datum right)
{
	return DirectFunctionCall2(numeric_add, left, right);
}

/* left - right, for numeric */
static Datum
decimal_subtract(AggregatorColumn *column, Datum left, Datum right)
{
	return DirectFunctionCall2(numeric_sub, left, right);
}

/* left * right, for numeric */
static Datum
decimal_multiply(AggregatorColumn *column, Datum left, Datum right)
{
	return DirectFunctionCall2(numeric_mul, left, right);
}

/*
 * left / right, for numeric
 *
 * numeric's division chooses a scale of its own.  The scale of a product is
 * the sum of its factors' scales: taking a factor out takes its scale out
 * too, wherever that loses nothing, so that the retraction of a value gives
 * back exactly what there was before it.
 */
static Datum
decimal_divide(AggregatorColumn *column, Datum left, Datum right)
{
	Datum		quotient = DirectFunctionCall2(numeric_div, left, right);
	Datum		rounded;
	int			scale;

	/* these have no scale; a quotient that is neither comes from two finite */
	if (numeric_is_nan(DatumGetNumeric(left)) || numeric_is_inf(DatumGetNumeric(left)) ||
		numeric_is_nan(DatumGetNumeric(right)) || numeric_is_inf(DatumGetNumeric(right)))
		return quotient;

	scale = DatumGetInt32(DirectFunctionCall1(numeric_scale, left)) -
		DatumGetInt32(DirectFunctionCall1(numeric_scale, right));
	rounded = DirectFunctionCall2(numeric_round, quotient, Int32GetDatum(Max(scale, 0)));
	if (DatumGetBool(DirectFunctionCall2(numeric_eq, left,
										 DirectFunctionCall2(numeric_mul, rounded, right))))
		return rounded;
	return quotient;
}

/* left + right, for real */
static Datum
real_add(AggregatorColumn *column, Datum left, Datum right)
{
	return Float4GetDatum(float4_pl(DatumGetFloat4(left), DatumGetFloat4(right)));
}

/* left - right, for real */
static Datum
real_subtract(AggregatorColumn *column, Datum left, Datum right)
{
	return Float4GetDatum(float4_mi(DatumGetFloat4(left), DatumGetFloat4(right)));
}

/* left * right, for real */
static Datum
real_multiply(AggregatorColumn *column, Datum left, Datum right)
{
	return Float4GetDatum(float4_mul(DatumGetFloat4(left), DatumGetFloat4(right)));
}

/* left / right, for real */
static Datum
real_divide(AggregatorColumn *column, Datum left, Datum right)
{
	return Float4GetDatum(float4_div(DatumGetFloat4(left), DatumGetFloat4(right)));
}

/* left + right, for double precision */
static Datum
double_add(AggregatorColumn *column, Datum left, Datum right)
{
	return Float8GetDatum(float8_pl(DatumGetFloat8(left), DatumGetFloat8(right)));
}

/* left - right, for double precision */
static Datum
double_subtract(AggregatorColumn *column, Datum left, Datum right)
{
	return Float8GetDatum(float8_mi(DatumGetFloat8(left), DatumGetFloat8(right)));
}

/* left * right, for double precision */
static Datum
double_multiply(AggregatorColumn *column, Datum left, Datum right)
{
	return Float8GetDatum(float8_mul(DatumGetFloat8(left), DatumGetFloat8(right)));
}

/* left / right, for double precision */
static Datum
double_divide(AggregatorColumn *column, Datum left, Datum right)
{
	return Float8GetDatum(float8_div(DatumGetFloat8(left), DatumGetFloat8(right)));
}

/* left + right, for interval */
static Datum
interval_add(AggregatorColumn *column, Datum left, Datum right)
{
	return DirectFunctionCall2(interval_pl, left, right);
}

/* left - right, for interval */
static Datum
interval_subtract(AggregatorColumn *column, Datum left, Datum right)
{
	return DirectFunctionCall2(interval_mi, left, right);
}

static const Arithmetic arithmetics[] = {
	{INT2OID, integer_add, integer_subtract, integer_multiply, integer_divide},
	{INT4OID, integer_add, integer_subtract, integer_multiply, integer_divide},
	{INT8OID, integer_add, integer_subtract, integer_multiply, integer_divide},
	{NUMERICOID, decimal_add, decimal_subtract, decimal_multiply, decimal_divide},
	{FLOAT4OID, real_add, real_subtract, real_multiply, real_divide},
	{FLOAT8OID, double_add, double_subtract, double_multiply, double_divide},
	{MONEYOID, integer_add, integer_subtract, NULL, NULL},
	{INTERVALOID, interval_add, interval_subtract, NULL, NULL},
};

/* Make the zero of a type, in CurrentMemoryContext */
static Datum
zero_of(Oid type)
{
	switch (type)
	{
		case NUMERICOID:
			return DirectFunctionCall1(int4_numeric, Int32GetDatum(0));
		case FLOAT4OID:
			return Float4GetDatum(0);
		case FLOAT8OID:
			return Float8GetDatum(0);
		case INTERVALOID:
			return IntervalPGetDatum(palloc0(sizeof(Interval)));
		case INT8OID:
		case MONEYOID:
			return Int64GetDatum(0);
		default:
			return (Datum) 0;
	}
}

/* Find the operators of the column's type, NULL if it does not calculate */
static const Arithmetic *
arithmetic_find(Oid type)
{
	for (int i = 0; i < lengthof(arithmetics); i++)
	{
		if (arithmetics[i].type == type)
			return &arithmetics[i];
	}
	return NULL;
}

/* Keep the operators and the zero of the column's type */
static void
arithmetic_keep(AggregatorColumn *column, const Arithmetic *operators)
{
	MemoryContext old = MemoryContextSwitchTo(column->context);
	ArithmeticState *state = palloc(sizeof(ArithmeticState));

	state->operators = operators;
	state->zero = zero_of(column->type);
	column->state = state;
	MemoryContextSwitchTo(old);
}

/* sum takes every type that adds */
static void
sum_prepare(AggregatorColumn *column)
{
	const Arithmetic *operators = arithmetic_find(column->type);

	if (operators == NULL)
		aggregator_refuse_type(column,
							   "It takes smallint, integer, bigint, numeric, real, double precision, money and interval.");
	arithmetic_keep(column, operators);
}

/* f(accumulator, input) = accumulator + input; NULL adds nothing */
static NullableDatum
sum_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	ArithmeticState *state = column->state;

	if (input.isnull)
		return accumulator;
	if (accumulator.isnull)
		return input;
	return not_null(state->operators->add(column, accumulator.value, input.value));
}

/* Subtract the input; a sum of nothing becomes the negated input */
static NullableDatum
sum_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	ArithmeticState *state = column->state;

	if (input.isnull)
		return accumulator;
	return not_null(state->operators->subtract(column,
											   accumulator.isnull ? state->zero : accumulator.value,
											   input.value));
}

/* Has a numeric value a scale, and which? */
static bool
decimal_scale(Datum value, int *scale)
{
	if (numeric_is_nan(DatumGetNumeric(value)) || numeric_is_inf(DatumGetNumeric(value)))
		return false;
	*scale = DatumGetInt32(DirectFunctionCall1(numeric_scale, value));
	return true;
}

/*
 * Subtraction undoes addition, but not the rounding of floats; nor is it
 * known whether another numeric has the scale of the widest.
 */
static bool
sum_inverts(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	int			sum_scale;
	int			input_scale;

	switch (column->type)
	{
		case FLOAT4OID:
		case FLOAT8OID:
			return false;
		case NUMERICOID:
			return decimal_scale(accumulator.value, &sum_scale) &&
				decimal_scale(input.value, &input_scale) && input_scale < sum_scale;
		default:
			return true;
	}
}

/* product takes every type that multiplies */
static void
product_prepare(AggregatorColumn *column)
{
	const Arithmetic *operators = arithmetic_find(column->type);

	if (operators == NULL || operators->multiply == NULL)
		aggregator_refuse_type(column,
							   column->type == MONEYOID ?
								   "A product of money amounts has no meaning; make the column numeric, or use \"sum\"." :
								   column->type == INTERVALOID ?
								   "A product of intervals has no meaning; make the column numeric, or use \"sum\"." :
								   "It takes smallint, integer, bigint, numeric, real and double precision.");
	arithmetic_keep(column, operators);
}

/* f(accumulator, input) = accumulator * input; NULL multiplies nothing */
static NullableDatum
product_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	ArithmeticState *state = column->state;

	if (input.isnull)
		return accumulator;
	if (accumulator.isnull)
		return input;
	return not_null(state->operators->multiply(column, accumulator.value, input.value));
}

/* Divide by the input; a product of nothing stays nothing */
static NullableDatum
product_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	ArithmeticState *state = column->state;

	if (accumulator.isnull || input.isnull)
		return accumulator;
	return not_null(state->operators->divide(column, accumulator.value, input.value));
}

/* Division undoes the multiplication of integers, except by zero */
static bool
product_inverts(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	switch (column->type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return integer_get(column, input.value) != 0;
		default:
			return false;
	}
}

/*
 * count: the column holds how many inputs were not NULL; what they were does
 * not matter, so an incoming 7 adds one and not seven.  The accumulator and
 * the input are therefore two different things, a count and a value, and may
 * not change places: a late row adds one like any other.
 *
 * The first input counts too: from nothing, 1; and a first NULL leaves
 * nothing, as NULL never changes a value.
 */
static void
count_prepare(AggregatorColumn *column)
{
	if (column->type != INT2OID && column->type != INT4OID && column->type != INT8OID)
		aggregator_refuse_type(column,
							   "It takes smallint, integer and bigint: the column holds the count, not the values.");
}

/* f(accumulator, input) = accumulator + 1, newer or late */
static NullableDatum
count_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	int64		count = accumulator.isnull ? 0 : integer_get(column, accumulator.value);
	int64		result = 0;
	bool		overflow;

	if (input.isnull)
		return accumulator;
	overflow = pg_add_s64_overflow(count, 1, &result);
	return not_null(integer_put(column, overflow, result));
}

/* Subtract one; from nothing, -1, as sum does */
static NullableDatum
count_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	int64		count = accumulator.isnull ? 0 : integer_get(column, accumulator.value);
	int64		result = 0;
	bool		overflow;

	if (input.isnull)
		return accumulator;
	overflow = pg_sub_s64_overflow(count, 1, &result);
	return not_null(integer_put(column, overflow, result));
}

/* A count is a count, whichever inputs it counts */
static bool
count_inverts(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	return true;
}

/* Add two counts */
static NullableDatum
count_unite(AggregatorColumn *column, NullableDatum left, NullableDatum right)
{
	if (left.isnull)
		return right;
	if (right.isnull)
		return left;
	return not_null(integer_add(column, left.value, right.value));
}

/*
 * Associative: inputs already have the column's scale, and adding keeps it;
 * what grouping may change, an intermediate overflow and the last bits of
 * floats, SEMANTICS rule 22 allows.
 */
const FieldAggregator sum_aggregator = {
	.name = "sum",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = true,
	.prepare = sum_prepare,
	.combine = sum_combine,
	.retract = sum_retract,
	.inverts = sum_inverts
};

/*
 * Not associative: numeric(p,s) rounds after every step, and a factor of zero
 * can come before an overflow or after it.
 */
const FieldAggregator product_aggregator = {
	.name = "product",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = false,
	.prepare = product_prepare,
	.combine = product_combine,
	.retract = product_retract,
	.inverts = product_inverts
};

/* Not associative: a count of counts would count one for each */
const FieldAggregator count_aggregator = {
	.name = "count",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = false,
	.prepare = count_prepare,
	.combine = count_combine,
	.combine_late = count_combine,
	.retract = count_retract,
	.inverts = count_inverts,
	.unite = count_unite
};
