/*
 * fuzz_aggregators.c
 *	  Random values for the functions of src/aggregator, without a server.
 *
 * usage: fuzz_aggregators ROUNDS [SEED]
 *
 * Each round prepares a column and folds a few values, and holds the function
 * to what it says of itself: any order, associative, inverts, combine_late.
 * Results are compared by their images.  No function may scribble on its
 * arguments.  Every value is a block of its own, under the address sanitizer.
 *
 * Not here, because they are made of a server's functions: numeric and
 * intervals, merge_map and merge_map_with_keytime (jsonb), nested_update and
 * nested_partial_update (rows), SQL functions.
 */
#include "postgres.h"

#include <float.h>

#include "no_server.h"

#include "aggregator/aggregator.h"
#include "aggregator/bitmap.h"
#include "catalog/pg_type_d.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#define MAX_INPUTS 9

/* A function and a type that it takes, or not. */
typedef struct Use
{
	const char *function;
	Oid			type;
	bool		refused;
} Use;

static const Use uses[] = {
	{"sum", INT2OID}, {"sum", INT4OID}, {"sum", INT8OID}, {"sum", MONEYOID}, {"sum", FLOAT4OID},
	{"sum", FLOAT8OID}, {"sum", TEXTOID, true},
	{"product", INT2OID}, {"product", INT4OID}, {"product", INT8OID}, {"product", FLOAT4OID},
	{"product", FLOAT8OID}, {"product", MONEYOID, true}, {"product", INTERVALOID, true}, {"product", TEXTOID, true},
	{"count", INT2OID}, {"count", INT4OID}, {"count", INT8OID}, {"count", TEXTOID, true},
	{"max", INT4OID}, {"max", TEXTOID}, {"max", BOXOID}, {"max", INT4ARRAYOID, true}, {"max", JSONBOID, true},
	{"min", INT4OID}, {"min", TEXTOID}, {"min", BOXOID},
	{"last_value", TEXTOID}, {"last_non_null_value", TEXTOID},
	{"first_value", TEXTOID}, {"first_non_null_value", TEXTOID}, {"first_not_null_value", INT4OID},
	{"listagg", TEXTOID}, {"listagg", TEXTOID}, {"listagg", VARCHAROID}, {"listagg", INT4OID, true},
	{"bool_and", BOOLOID}, {"bool_or", BOOLOID}, {"bool_or", INT4OID, true},
	{"collect", INT4ARRAYOID}, {"collect", TEXTARRAYOID}, {"collect", INT8ARRAYOID}, {"collect", BOXARRAYOID},
	{"collect", TEXTOID, true},
	{"rbm32", BYTEAOID}, {"rbm64", BYTEAOID}, {"rbm64", TEXTOID, true},
};

static const Use *use;

/* An order in which some values are equal and yet not the same */
static int
compare_roughly(Datum a, Datum b, SortSupport sort)
{
	if (use->type == TEXTOID)
		return VARSIZE_ANY_EXHDR(DatumGetPointer(a)) - VARSIZE_ANY_EXHDR(DatumGetPointer(b));
	if (use->type == BOXOID)
		return *DatumGetPointer(a) - *DatumGetPointer(b);
	return (DatumGetInt32(a) > DatumGetInt32(b)) - (DatumGetInt32(a) < DatumGetInt32(b));
}

static SortSupportData rough_order = {.comparator = compare_roughly};

/* A text of several tokens, some of them wide, blank or empty */
static Datum
random_text(void)
{
	static const char *const pieces[] = {"a", "b", ",", "--", "-", " ", "\t", "é", "\xE3\x80\x80", "\xE2\x80\x87", "longer", ""};
	char		string[256] = "";

	for (int i = below(8) == 0 ? 30 : below(5); i > 0; i--)
		strcat(string, pieces[below(lengthof(pieces))]);
	return make_text(string);
}

/* A bitmap in the portable format, now and then a broken one */
static Datum
random_bitmap(void)
{
	bool		wide = strcmp(use->function, "rbm64") == 0;
	Bitmap	   *bitmap = bitmap_create(wide);
	bytea	   *written;
	uint64		first = (uint64) below(5) << (wide ? 31 : 14);
	int			step = 1 + below(3);

	for (int i = below(3) == 0 ? 5000 : below(20); i > 0; i--)
		bitmap_add(bitmap, first + (uint64) i * step);
	if (wide && below(2) == 0)
		bitmap_add(bitmap, (uint64) below(4) << 33);
	written = bitmap_write(bitmap);
	if (below(50) == 0)
		VARDATA(written)[below(VARSIZE(written) - VARHDRSZ)] ^= 1 << below(8);
	return PointerGetDatum(written);
}

static NullableDatum
random_value(const AggregatorColumn *column)
{
	NullableDatum value = {0, below(4) == 0};
	Oid			element = get_element_type(column->type);

	if (value.isnull)
		return value;
	if (OidIsValid(element))
	{
		Datum		elements[12];
		bool		nulls[12];
		int			count = below(12);
		AggregatorColumn one = {.type = element};

		for (int i = 0; i < count; i++)
		{
			NullableDatum member = random_value(&one);

			elements[i] = member.value;
			nulls[i] = member.isnull;
		}
		value.value = make_array(element, elements, nulls, count);
		return value;
	}
	switch (column->type)
	{
		case BOOLOID:
			value.value = BoolGetDatum(below(2) == 0);
			break;
		case INT2OID:
			value.value = Int16GetDatum(below(40) == 0 ? PG_INT16_MAX : below(7) - 3);
			break;
		case INT4OID:
			value.value = Int32GetDatum(below(40) == 0 ? PG_INT32_MIN : below(7) - 3);
			break;
		case INT8OID:
		case MONEYOID:
			value.value = Int64GetDatum(below(40) == 0 ? (below(2) ? PG_INT64_MIN : PG_INT64_MAX) : below(7) - 3);
			break;
		case FLOAT4OID:
			value.value = Float4GetDatum(below(40) == 0 ? FLT_MAX : below(7) - 3);
			break;
		case FLOAT8OID:
			value.value = Float8GetDatum(below(40) == 0 ? DBL_MAX : below(7) - 3);
			break;
		case BOXOID:
			value.value = PointerGetDatum(palloc0(32));
			*DatumGetPointer(value.value) = below(3);
			DatumGetPointer(value.value)[31] = below(3);
			break;
		case BYTEAOID:
			value.value = random_bitmap();
			break;
		default:
			value.value = random_text();
	}
	return value;
}

/* Fold values one after another */
static NullableDatum
fold(AggregatorColumn *column, const NullableDatum *inputs, int n)
{
	const FieldAggregator *function = column->function;
	NullableDatum result = {0, true};

	for (int i = 0; i < n; i++)
	{
		if (i == 0 && function->takes_null && function->order == AGGREGATOR_OLDEST)
			result = inputs[0];
		else
			result = function->combine(column, result, inputs[i]);
	}
	return result;
}

static void
expect_same(const AggregatorColumn *column, NullableDatum a, NullableDatum b, const char *what)
{
	if (a.isnull == b.isnull && (a.isnull || same_image(a.value, b.value, column->typbyval, column->typlen)))
		return;
	fprintf(stderr, "%s of type %u: %s\n", use->function, use->type, what);
	exit(1);
}

/* Take the oldest input out again */
static void
retract_oldest(AggregatorColumn *column, NullableDatum all, NullableDatum *inputs, int n)
{
	const FieldAggregator *function = column->function;
	NullableDatum others = fold(column, inputs + 1, n - 1);

	if (all.isnull || inputs[0].isnull || others.isnull || function->inverts == NULL ||
		!function->inverts(column, all, inputs[0]))
		(void) function->retract(column, all, inputs[below(n)]);
	else
		expect_same(column, function->retract(column, all, inputs[0]), others,
					"a retraction is not what the others give");
}

/* Fold values in several ways */
static void
check_laws(AggregatorColumn *column, NullableDatum *inputs, int n)
{
	const FieldAggregator *function = column->function;
	NullableDatum all = fold(column, inputs, n);
	NullableDatum shuffled[MAX_INPUTS];
	int			half = 1 + below(n);

	for (int i = 0; i < n; i++)
	{
		int			j = below(i + 1);

		shuffled[i] = shuffled[j];
		shuffled[j] = inputs[i];
	}
	if (function->order == AGGREGATOR_ANY_ORDER)
		expect_same(column, all, fold(column, shuffled, n), "the order of the inputs matters");
	if (half < n && (function->associative || function->unite != NULL))
	{
		NullableDatum left = fold(column, inputs, half);
		NullableDatum right = fold(column, inputs + half, n - half);

		expect_same(column, all,
					function->unite ? function->unite(column, left, right) : function->combine(column, left, right),
					"it is not associative");
	}
	if (n > 1 && (function->associative || function->order == AGGREGATOR_ANY_ORDER))
	{
		NullableDatum others = fold(column, inputs + 1, n - 1);
		NullableDatum late = function->combine_late ?
			function->combine_late(column, others, inputs[0]) : function->combine(column, inputs[0], others);

		/* collect puts a late input behind the others */
		if (function->order != AGGREGATOR_IN_ORDER)
			expect_same(column, all, late, "a late input is not the oldest");
	}
	if (function->retract != NULL)
		retract_oldest(column, all, inputs, n);
	if (function->grows != NULL)
		(void) function->grows(column);
}

static void
one_round(void)
{
	AggregatorOption options[2];
	AggregatorColumn column = {.column = "c", .typmod = -1, .options = options};
	NullableDatum inputs[MAX_INPUTS];
	NullableDatum copies[MAX_INPUTS];
	int			n = 1 + below(MAX_INPUTS);

	use = &uses[below(lengthof(uses))];
	column.function = aggregator_find(use->function);
	column.type = use->type;
	get_typlenbyvalalign(use->type, &column.typlen, &column.typbyval, &column.typalign);
	column.order = use->type == TEXTOID || use->type == INT4OID || use->type == BOXOID ? &rough_order : NULL;
	if (below(2) == 0 && aggregator_takes_option(column.function, "distinct"))
		options[column.noptions++] = (AggregatorOption) {"distinct", below(20) ? "true" : "maybe"};
	if (below(2) == 0 && aggregator_takes_option(column.function, "list-agg-delimiter"))
		options[column.noptions++] = (AggregatorOption) {"list-agg-delimiter", below(10) ? "--" : ""};

	column.function->prepare(&column);
	if (use->refused)
	{
		fprintf(stderr, "%s takes type %u\n", use->function, use->type);
		exit(1);
	}
	for (int i = 0; i < n; i++)
	{
		inputs[i] = random_value(&column);
		copies[i] = inputs[i];
		if (!inputs[i].isnull && !column.typbyval)
			copies[i].value = datumCopy(inputs[i].value, false, column.typlen);
	}
	check_laws(&column, inputs, n);
	for (int i = 0; i < n; i++)
		expect_same(&column, inputs[i], copies[i], "an input was scribbled on");
}

int
main(int argc, char **argv)
{
	long		rounds = argc > 1 ? atol(argv[1]) : 1000;

	srandom(argc > 2 ? atoi(argv[2]) : 1);
	for (volatile long i = 0; i < rounds; i++)
	{
		if (sigsetjmp(no_server_on_error, 0) == 0)
			one_round();
		no_server_reset();
	}
	printf("%ld rounds, %ld of them ended by an error\n", rounds, no_server_errors);
	return 0;
}
