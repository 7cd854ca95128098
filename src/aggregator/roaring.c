/*
 * roaring.c
 *	  rbm32 and rbm64: unions of roaring bitmaps, kept as bytea in the portable
 *	  format.
 *
 * The SQL functions that make and read such values are in
 * functions/roaring.c.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "aggregator/bitmap.h"
#include "catalog/pg_type_d.h"

/* Both take bytea columns */
static void
roaring_prepare(AggregatorColumn *column)
{
	if (column->type != BYTEAOID)
		aggregator_refuse_type(column,
							   "It takes bytea that holds a roaring bitmap in the portable format.");
}

/*
 * f(accumulator, input) = the union of both
 *
 * A first input is read and written as well: it must be valid, and its bytes
 * must be those that the same set has however it came about.
 */
static NullableDatum
roaring_combine(bool wide, NullableDatum accumulator, NullableDatum input)
{
	NullableDatum result = {0, false};
	Bitmap	   *added;

	if (input.isnull)
		return accumulator;
	added = bitmap_read(wide, PG_DETOAST_DATUM_PACKED(input.value));
	if (accumulator.isnull)
		result.value = PointerGetDatum(bitmap_write(added));
	else
	{
		Bitmap	   *stored = bitmap_read(wide, PG_DETOAST_DATUM_PACKED(accumulator.value));

		bitmap_union(stored, added);
		result.value = PointerGetDatum(bitmap_write(stored));
		bitmap_free(stored);
	}
	bitmap_free(added);
	return result;
}

/* The union of bitmaps of 32-bit numbers */
static NullableDatum
rbm32_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	return roaring_combine(false, accumulator, input);
}

/* The union of bitmaps of 64-bit numbers */
static NullableDatum
rbm64_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	return roaring_combine(true, accumulator, input);
}

/* A union of unions is the union of all */
static bool
roaring_grows(AggregatorColumn *column)
{
	return true;
}

const FieldAggregator rbm32_aggregator = {
	.name = "rbm32",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = true,
	.prepare = roaring_prepare,
	.combine = rbm32_combine,
	.grows = roaring_grows
};

const FieldAggregator rbm64_aggregator = {
	.name = "rbm64",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = true,
	.prepare = roaring_prepare,
	.combine = rbm64_combine,
	.grows = roaring_grows
};
