/*
 * roaring.c
 *	  SQL functions that make and read roaring bitmaps in the portable format.
 *
 * A bitmap holds unsigned numbers.  integer and bigint are taken by their
 * bits, so that negative ones come after all others.
 */
#include "postgres.h"

#include "aggregator/bitmap.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(rbm32_build);
PG_FUNCTION_INFO_V1(rbm64_build);
PG_FUNCTION_INFO_V1(rbm32_cardinality);
PG_FUNCTION_INFO_V1(rbm64_cardinality);
PG_FUNCTION_INFO_V1(rbm32_contains);
PG_FUNCTION_INFO_V1(rbm64_contains);
PG_FUNCTION_INFO_V1(rbm32_to_array);
PG_FUNCTION_INFO_V1(rbm64_to_array);
PG_FUNCTION_INFO_V1(rbm32_agg_transition);
PG_FUNCTION_INFO_V1(rbm64_agg_transition);
PG_FUNCTION_INFO_V1(rbm_agg_combine);
PG_FUNCTION_INFO_V1(rbm_agg_final);
PG_FUNCTION_INFO_V1(rbm32_agg_deserialize);
PG_FUNCTION_INFO_V1(rbm64_agg_deserialize);

/* The number that an integer or a bigint stands for */
static uint64
number_of(bool wide, Datum value)
{
	return wide ? (uint64) DatumGetInt64(value) : (uint32) DatumGetInt32(value);
}

/* The bitmap of an array's elements; NULLs are skipped */
static Datum
build(bool wide, ArrayType *array)
{
	Bitmap	   *bitmap = bitmap_create(wide);
	Datum	   *values;
	bool	   *nulls;
	int			count;
	bytea	   *result;

	deconstruct_array(array, wide ? INT8OID : INT4OID,
					  wide ? sizeof(int64) : sizeof(int32),
					  wide ? FLOAT8PASSBYVAL : true,
					  wide ? TYPALIGN_DOUBLE : TYPALIGN_INT, &values, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			bitmap_add(bitmap, number_of(wide, values[i]));
	}
	result = bitmap_write(bitmap);
	bitmap_free(bitmap);
	PG_RETURN_BYTEA_P(result);
}

/*
 * rbm32_build(integer[]) returns bytea, rbm64_build(bigint[]) returns bytea
 */
Datum
rbm32_build(PG_FUNCTION_ARGS)
{
	return build(false, PG_GETARG_ARRAYTYPE_P(0));
}

Datum
rbm64_build(PG_FUNCTION_ARGS)
{
	return build(true, PG_GETARG_ARRAYTYPE_P(0));
}

/* How many numbers a bitmap has */
static Datum
cardinality(bool wide, bytea *value)
{
	Bitmap	   *bitmap = bitmap_read(wide, value);
	uint64		result = bitmap_cardinality(bitmap);

	bitmap_free(bitmap);
	if (result > PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range")));
	PG_RETURN_INT64((int64) result);
}

/*
 * rbm32_cardinality(bytea) returns bigint, rbm64_cardinality(bytea) returns
 * bigint
 */
Datum
rbm32_cardinality(PG_FUNCTION_ARGS)
{
	return cardinality(false, PG_GETARG_BYTEA_PP(0));
}

Datum
rbm64_cardinality(PG_FUNCTION_ARGS)
{
	return cardinality(true, PG_GETARG_BYTEA_PP(0));
}

/* Whether a bitmap has a number */
static Datum
contains(bool wide, bytea *value, Datum number)
{
	Bitmap	   *bitmap = bitmap_read(wide, value);
	bool		result = bitmap_contains(bitmap, number_of(wide, number));

	bitmap_free(bitmap);
	PG_RETURN_BOOL(result);
}

/*
 * rbm32_contains(bytea, integer) returns boolean, rbm64_contains(bytea,
 * bigint) returns boolean
 */
Datum
rbm32_contains(PG_FUNCTION_ARGS)
{
	return contains(false, PG_GETARG_BYTEA_PP(0), PG_GETARG_DATUM(1));
}

Datum
rbm64_contains(PG_FUNCTION_ARGS)
{
	return contains(true, PG_GETARG_BYTEA_PP(0), PG_GETARG_DATUM(1));
}

/* The numbers of a bitmap, in their unsigned order */
static Datum
to_array(bool wide, bytea *value)
{
	Bitmap	   *bitmap = bitmap_read(wide, value);
	uint64		count = bitmap_cardinality(bitmap);
	uint64	   *numbers;
	Datum	   *values;
	ArrayType  *result;

	if (count > MaxArraySize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("array size exceeds the maximum allowed (%d)", (int) MaxArraySize),
				 errdetail("The roaring bitmap has " UINT64_FORMAT " members.", count)));
	numbers = palloc(Max(count, 1) * sizeof(uint64));
	values = palloc(Max(count, 1) * sizeof(Datum));
	bitmap_values(bitmap, numbers);
	bitmap_free(bitmap);
	for (uint64 i = 0; i < count; i++)
		values[i] = wide ? Int64GetDatum((int64) numbers[i]) : Int32GetDatum((int32) numbers[i]);
	result = construct_array(values, (int) count, wide ? INT8OID : INT4OID,
							 wide ? sizeof(int64) : sizeof(int32),
							 wide ? FLOAT8PASSBYVAL : true,
							 wide ? TYPALIGN_DOUBLE : TYPALIGN_INT);
	PG_RETURN_ARRAYTYPE_P(result);
}

/*
 * rbm32_to_array(bytea) returns integer[], rbm64_to_array(bytea) returns
 * bigint[]
 */
Datum
rbm32_to_array(PG_FUNCTION_ARGS)
{
	return to_array(false, PG_GETARG_BYTEA_PP(0));
}

Datum
rbm64_to_array(PG_FUNCTION_ARGS)
{
	return to_array(true, PG_GETARG_BYTEA_PP(0));
}

/* The memory context of an aggregate's state */
static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "function %u called outside an aggregate", fcinfo->flinfo->fn_oid);
	return context;
}

/* Add a number to an aggregate's state; NULL adds nothing */
static Datum
transition(bool wide, FunctionCallInfo fcinfo)
{
	MemoryContext context = aggregate_context(fcinfo);
	Bitmap	   *bitmap = PG_ARGISNULL(0) ? NULL : (Bitmap *) PG_GETARG_POINTER(0);

	if (PG_ARGISNULL(1))
	{
		if (bitmap == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(bitmap);
	}
	if (bitmap == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		bitmap = bitmap_create(wide);
		MemoryContextSwitchTo(old);
	}
	bitmap_add(bitmap, number_of(wide, PG_GETARG_DATUM(1)));
	PG_RETURN_POINTER(bitmap);
}

/*
 * Transition functions of rbm32_agg(integer) and rbm64_agg(bigint)
 */
Datum
rbm32_agg_transition(PG_FUNCTION_ARGS)
{
	return transition(false, fcinfo);
}

Datum
rbm64_agg_transition(PG_FUNCTION_ARGS)
{
	return transition(true, fcinfo);
}

/*
 * Combine function of both: what the second state has goes to the first
 */
Datum
rbm_agg_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	Bitmap	   *into = PG_ARGISNULL(0) ? NULL : (Bitmap *) PG_GETARG_POINTER(0);
	Bitmap	   *from = PG_ARGISNULL(1) ? NULL : (Bitmap *) PG_GETARG_POINTER(1);

	if (from == NULL)
	{
		if (into == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(into);
	}
	if (into == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		into = bitmap_create(bitmap_is_wide(from));
		MemoryContextSwitchTo(old);
	}
	bitmap_union(into, from);
	PG_RETURN_POINTER(into);
}

/*
 * Final function and serialize function of both
 */
Datum
rbm_agg_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_BYTEA_P(bitmap_write((Bitmap *) PG_GETARG_POINTER(0)));
}

/*
 * Deserialize functions: of a short-lived state, which combine empties
 */
Datum
rbm32_agg_deserialize(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	PG_RETURN_POINTER(bitmap_read(false, PG_GETARG_BYTEA_PP(0)));
}

Datum
rbm64_agg_deserialize(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	PG_RETURN_POINTER(bitmap_read(true, PG_GETARG_BYTEA_PP(0)));
}
