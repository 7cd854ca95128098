/*
 * merge_map.c
 *	  merge_map and merge_map_with_keytime: maps merged key by key.
 *
 * A map is a jsonb object; merge_map also takes hstore, whose functions are
 * found by catalog/functions.c.  Values are replaced as a whole, however deep
 * they are.
 *
 * merge_map_with_keytime takes objects of objects, each with a member, named
 * by the option ts-field, that holds the time of its key: a key changes only
 * for a greater time.  jsonb keeps no order of members, so the option is
 * required.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "aggregator/sql_function.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

/* A time of merge_map_with_keytime. */
typedef struct KeyTime
{
	enum jbvType type;			/* jbvNull, jbvNumeric or jbvString */
	JsonbValue	value;
} KeyTime;

/* Read an object; what says what stands in a message for a wrong value */
static Jsonb *
map_read(AggregatorColumn *column, Datum value)
{
	Jsonb	   *map = DatumGetJsonbP(value);

	if (!JB_ROOT_IS_OBJECT(map))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" takes JSON objects only", column->column),
				 errdetail("Aggregate function \"%s\" merges maps by their keys.",
						   column->function->name)));
	return map;
}

/* merge_map takes jsonb, and hstore where its functions were found */
static void
merge_map_prepare(AggregatorColumn *column)
{
	if (column->type != JSONBOID && column->state == NULL)
		aggregator_refuse_type(column, "It takes jsonb, and hstore of the extension hstore.");
}

/* f(accumulator, input) = the keys of both, the input's values first */
static NullableDatum
merge_map_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	SqlFunctions *functions = column->state;
	NullableDatum result = {0, false};

	if (input.isnull)
		return accumulator;
	if (functions != NULL)
		return accumulator.isnull ? input :
									sql_function_call(functions->combine, accumulator, input, column);

	map_read(column, input.value);
	if (accumulator.isnull)
		return input;
	map_read(column, accumulator.value);
	result.value = DirectFunctionCall2(jsonb_concat, accumulator.value, input.value);
	return result;
}

/* Remove the input's keys, whatever their values */
static NullableDatum
merge_map_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	SqlFunctions *functions = column->state;
	NullableDatum result = {0, false};
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbParseState *state = NULL;
	JsonbValue	item;
	JsonbValue *map = NULL;
	Jsonb	   *stored;
	Jsonb	   *retracted;
	bool		skip = false;
	bool		removed = false;

	if (accumulator.isnull || input.isnull)
		return accumulator;
	if (functions != NULL)
		return sql_function_call(functions->retract, accumulator,
								 sql_function_call(functions->keys, input, input, column),
								 column);

	stored = map_read(column, accumulator.value);
	retracted = map_read(column, input.value);
	iterator = JsonbIteratorInit(&stored->root);
	while ((token = JsonbIteratorNext(&iterator, &item, true)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		if (token == WJB_KEY)
		{
			JsonbValue	found;

			skip = getKeyJsonValueFromContainer(&retracted->root, item.val.string.val,
												item.val.string.len, &found) != NULL;
			removed = removed || skip;
		}
		if (!skip || token == WJB_END_OBJECT)
			map = pushJsonbValue(&state, token,
								 token == WJB_KEY || token == WJB_VALUE ? &item : NULL);
	}
	if (!removed)
		return accumulator;
	result.value = JsonbPGetDatum(JsonbValueToJsonb(map));
	return result;
}

/* merge_map_with_keytime takes jsonb, and needs to know the time's member */
static void
keytime_prepare(AggregatorColumn *column)
{
	const char *field = aggregator_option(column, "ts-field");

	if (column->type != JSONBOID)
		aggregator_refuse_type(column, "It takes jsonb.");
	if (field == NULL || *field == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("aggregate function \"%s\" of column \"%s\" needs option \"fields.%s.ts-field\"",
						column->function->name, column->column, column->column),
				 errhint("Name the member of each value that holds its time.")));
	column->state = MemoryContextStrdup(column->context, field);
}

/*
 * Read the time of a map's value.  All the times of one column are of one
 * kind, kept in *kind: a number is neither before nor after a text.
 */
static KeyTime
keytime_read(AggregatorColumn *column, JsonbValue *value, enum jbvType *kind)
{
	const char *field = column->state;
	KeyTime		time = {jbvNull};

	if (value->type != jbvBinary || !JsonContainerIsObject(value->val.binary.data))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("column \"%s\" takes JSON objects of objects only", column->column),
				 errdetail("Each value has a member \"%s\" that holds its time.", field)));
	if (getKeyJsonValueFromContainer(value->val.binary.data, field, strlen(field),
									 &time.value) == NULL)
		return time;

	time.type = time.value.type;
	if (time.type == jbvNull)
		return time;
	if (time.type != jbvNumeric && time.type != jbvString)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time \"%s\" in column \"%s\" is neither a number nor a string",
						field, column->column)));
	if (*kind != jbvNull && *kind != time.type)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("times \"%s\" in column \"%s\" are numbers and strings",
						field, column->column),
				 errdetail("Numbers and strings cannot be compared."),
				 errhint("Write all times of a column as numbers, or all as strings.")));
	*kind = time.type;
	return time;
}

/* Compare two times of one kind: numbers as numbers, strings byte by byte */
static int
keytime_compare(const KeyTime *left, const KeyTime *right)
{
	int			left_length;
	int			right_length;
	int			result;

	if (left->type == jbvNumeric)
		return DatumGetInt32(DirectFunctionCall2(numeric_cmp,
												 NumericGetDatum(left->value.val.numeric),
												 NumericGetDatum(right->value.val.numeric)));
	left_length = left->value.val.string.len;
	right_length = right->value.val.string.len;
	result = memcmp(left->value.val.string.val, right->value.val.string.val,
					Min(left_length, right_length));
	if (result == 0)
		result = (left_length > right_length) - (left_length < right_length);
	return result;
}

/*
 * Push the entries of the accumulator that stay, updated where the input has
 * a greater time, and tell whether anything changed.
 */
static bool
keytime_push_stored(AggregatorColumn *column, Jsonb *stored, Jsonb *added,
					JsonbParseState **state, enum jbvType *kind)
{
	JsonbIterator *iterator = JsonbIteratorInit(&stored->root);
	JsonbIteratorToken token;
	JsonbValue	item;
	JsonbValue	key = {0};
	bool		changed = false;

	while ((token = JsonbIteratorNext(&iterator, &item, true)) != WJB_DONE)
	{
		JsonbValue	newer;
		KeyTime		time;
		KeyTime		newer_time;

		CHECK_FOR_INTERRUPTS();
		if (token == WJB_KEY)
			key = item;
		if (token != WJB_VALUE)
			continue;

		time = keytime_read(column, &item, kind);
		if (getKeyJsonValueFromContainer(&added->root, key.val.string.val,
										 key.val.string.len, &newer) != NULL)
		{
			if (newer.type == jbvNull)
			{
				changed = true;
				continue;
			}
			newer_time = keytime_read(column, &newer, kind);
			if (newer_time.type != jbvNull &&
				(time.type == jbvNull || keytime_compare(&newer_time, &time) > 0))
			{
				item = newer;
				changed = true;
			}
		}
		pushJsonbValue(state, WJB_KEY, &key);
		pushJsonbValue(state, WJB_VALUE, &item);
	}
	return changed;
}

/* Push the input's entries whose keys are not stored; whether there are any */
static bool
keytime_push_added(AggregatorColumn *column, Jsonb *stored, Jsonb *added,
				   JsonbParseState **state, enum jbvType *kind)
{
	JsonbIterator *iterator = JsonbIteratorInit(&added->root);
	JsonbIteratorToken token;
	JsonbValue	item;
	JsonbValue	key = {0};
	bool		changed = false;

	while ((token = JsonbIteratorNext(&iterator, &item, true)) != WJB_DONE)
	{
		JsonbValue	found;
		KeyTime		time;

		CHECK_FOR_INTERRUPTS();
		if (token == WJB_KEY)
			key = item;
		if (token != WJB_VALUE || item.type == jbvNull)
			continue;

		time = keytime_read(column, &item, kind);
		if (time.type == jbvNull ||
			(stored != NULL &&
			 getKeyJsonValueFromContainer(&stored->root, key.val.string.val,
										  key.val.string.len, &found) != NULL))
			continue;
		pushJsonbValue(state, WJB_KEY, &key);
		pushJsonbValue(state, WJB_VALUE, &item);
		changed = true;
	}
	return changed;
}

/*
 * f(accumulator, input) = the accumulator's entries, those replaced for which
 * the input has a greater time, and the input's new ones
 *
 * A null value removes its key; a null time, or none, makes an entry skipped.
 */
static NullableDatum
keytime_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	NullableDatum result = {0, false};
	JsonbParseState *state = NULL;
	enum jbvType kind = jbvNull;
	Jsonb	   *stored = NULL;
	Jsonb	   *added;
	bool		changed = accumulator.isnull;

	if (input.isnull)
		return accumulator;
	added = map_read(column, input.value);

	pushJsonbValue(&state, WJB_BEGIN_OBJECT, NULL);
	if (!accumulator.isnull)
	{
		stored = map_read(column, accumulator.value);
		changed = keytime_push_stored(column, stored, added, &state, &kind);
	}
	if (keytime_push_added(column, stored, added, &state, &kind))
		changed = true;

	if (!changed)
		return accumulator;
	result.value = JsonbPGetDatum(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, NULL)));
	return result;
}

/*
 * A late input goes under the accumulator: first itself, as a first input
 * would, and then what is stored.
 */
static NullableDatum
keytime_combine_late(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	NullableDatum nothing = {0, true};

	return keytime_combine(column, keytime_combine(column, nothing, input), accumulator);
}

/* The newer keys win, whichever maps are merged first */
static bool
merge_map_grows(AggregatorColumn *column)
{
	return true;
}

const FieldAggregator merge_map_aggregator = {
	.name = "merge_map",
	.order = AGGREGATOR_IN_ORDER,
	.associative = true,
	.prepare = merge_map_prepare,
	.combine = merge_map_combine,
	.retract = merge_map_retract,
	.grows = merge_map_grows
};

static const char *const keytime_options[] = {"ts-field", NULL};

/* Not associative: a removal leaves nothing that could remove later */
const FieldAggregator merge_map_with_keytime_aggregator = {
	.name = "merge_map_with_keytime",
	.order = AGGREGATOR_IN_ORDER,
	.associative = false,
	.options = keytime_options,
	.prepare = keytime_prepare,
	.combine = keytime_combine,
	.combine_late = keytime_combine_late
};
