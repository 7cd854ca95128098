/*
 * max_min.c
 *	  max and min: the extreme value by the type's btree order.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "catalog/pg_type_d.h"
#include "compat_varlena.h"
#include "utils/datum.h"
#include "utils/typcache.h"

/* The reference knows an order of single values only, and so do we */
static void
extreme_prepare(AggregatorColumn *column)
{
	TypeCacheEntry *type = lookup_type_cache(column->type, 0);
	bool		is_array = (type->typlen == -1 && OidIsValid(type->typelem));

	if (column->order == NULL || is_array || column->type == JSONBOID ||
		type->typtype == TYPTYPE_COMPOSITE || column->type == RECORDOID)
		aggregator_refuse_type(column,
							   "It takes any type of single values with a btree order; it takes no arrays, rows or jsonb.");
}

/*
 * Compare the images of two values that the order calls equal.
 *
 * 1.0 and 1.00 are equal and yet not the same.  If the one that came first
 * stayed, the result would depend on the order of the inputs; so the image
 * decides.
 */
static int
image_compare(const AggregatorColumn *column, Datum left, Datum right)
{
	const char *left_image;
	const char *right_image;
	Size		left_size;
	Size		right_size;
	int			result;

	if (column->typbyval)
		return (left > right) - (left < right);

	if (column->typlen == -1)
	{
		struct varlena *left_varlena = PG_DETOAST_DATUM_PACKED(left);
		struct varlena *right_varlena = PG_DETOAST_DATUM_PACKED(right);

		left_image = VARDATA_ANY(left_varlena);
		left_size = VARSIZE_ANY_EXHDR(left_varlena);
		right_image = VARDATA_ANY(right_varlena);
		right_size = VARSIZE_ANY_EXHDR(right_varlena);
	}
	else
	{
		left_image = DatumGetPointer(left);
		left_size = datumGetSize(left, false, column->typlen);
		right_image = DatumGetPointer(right);
		right_size = datumGetSize(right, false, column->typlen);
	}

	result = memcmp(left_image, right_image, Min(left_size, right_size));
	if (result == 0)
		result = (left_size > right_size) - (left_size < right_size);
	return result;
}

/* Compare two values by the type's order, equal ones by their images */
static int
extreme_compare(AggregatorColumn *column, Datum left, Datum right)
{
	int			result = ApplySortComparator(left, false, right, false, column->order);

	if (result == 0)
		result = image_compare(column, left, right);
	return result;
}

/* f(accumulator, input) = the greater; NULL is no value */
static NullableDatum
max_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	if (input.isnull)
		return accumulator;
	if (accumulator.isnull)
		return input;
	return extreme_compare(column, accumulator.value, input.value) >= 0 ? accumulator : input;
}

/* f(accumulator, input) = the smaller; NULL is no value */
static NullableDatum
min_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	if (input.isnull)
		return accumulator;
	if (accumulator.isnull)
		return input;
	return extreme_compare(column, accumulator.value, input.value) <= 0 ? accumulator : input;
}

const FieldAggregator max_aggregator = {
	.name = "max",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = true,
	.prepare = extreme_prepare,
	.combine = max_combine
};

const FieldAggregator min_aggregator = {
	.name = "min",
	.order = AGGREGATOR_ANY_ORDER,
	.associative = true,
	.prepare = extreme_prepare,
	.combine = min_combine
};
