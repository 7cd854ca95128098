/*
 * collect.c
 *	  collect: the elements of all inputs in one array.
 *
 * Option: distinct keeps one of each.  Elements are compared by their type's
 * default equality, NULL equal to NULL; a type without one by images.  The
 * result has one dimension, whatever the inputs have.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "aggregator/elements.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/* What prepare keeps in column->state. */
typedef struct CollectState
{
	ElementType element;
	Equality	equality;
	bool		distinct;
} CollectState;

/* collect takes every array type */
static void
collect_prepare(AggregatorColumn *column)
{
	Oid			element = get_element_type(column->type);
	CollectState *state;

	if (!OidIsValid(element))
		aggregator_refuse_type(column, "It takes arrays of any type.");

	state = MemoryContextAllocZero(column->context, sizeof(CollectState));
	state->element.type = element;
	get_typlenbyvalalign(element, &state->element.typlen, &state->element.typbyval,
						 &state->element.typalign);
	equality_init(&state->equality, element, column->collation, column->context);
	state->distinct = aggregator_bool_option(column, "distinct", false);
	column->state = state;
}

/*
 * Keep the first of each element.  Returns the number of those kept; kept_head
 * is how many of them are among the first "head" elements.
 */
static int
elements_distinct(CollectState *state, Elements *elements, int head, int *kept_head)
{
	ElementIndex *index = element_index_create(&state->equality, 1, elements->count);
	int			kept = 0;
	bool		found;

	*kept_head = 0;
	for (int i = 0; i < elements->count; i++)
	{
		/* the index points at the place where the element will stay */
		elements->values[kept] = elements->values[i];
		elements->nulls[kept] = elements->nulls[i];
		element_index_add(index, &elements->values[kept], &elements->nulls[kept], &found);
		if (!found)
			kept++;
		if (i < head)
			*kept_head = kept;
	}
	return kept;
}

/* Put the elements of one array after those of another */
static Elements
elements_append(const Elements *head, const Elements *tail)
{
	Elements	result;
	Size		count = (Size) head->count + tail->count;

	if (count > MaxArraySize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("array size exceeds the maximum allowed (%d)",
						(int) MaxArraySize)));
	result.count = count;
	result.values = palloc(Max(count, 1) * sizeof(Datum));
	result.nulls = palloc(Max(count, 1) * sizeof(bool));
	memcpy(result.values, head->values, head->count * sizeof(Datum));
	memcpy(result.nulls, head->nulls, head->count * sizeof(bool));
	memcpy(result.values + head->count, tail->values, tail->count * sizeof(Datum));
	memcpy(result.nulls + head->count, tail->nulls, tail->count * sizeof(bool));
	return result;
}

/* f(accumulator, input) = the elements of both, the accumulator's first */
static NullableDatum
collect_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	CollectState *state = column->state;
	NullableDatum result = {0, false};
	Elements	stored = {0};
	Elements	added;
	int			count;
	int			kept;

	if (input.isnull)
		return accumulator;
	added = elements_read(&state->element, input.value);
	if (!accumulator.isnull)
	{
		if (added.count == 0)
			return accumulator;
		stored = elements_read(&state->element, accumulator.value);
		added = elements_append(&stored, &added);
		added.plain = false;
	}

	kept = stored.count;
	count = state->distinct ? elements_distinct(state, &added, stored.count, &kept) : added.count;

	/* nothing new: keep the image, so that nothing need be written */
	if (!accumulator.isnull && kept == stored.count && count == kept)
		return accumulator;
	if (accumulator.isnull && count == added.count && added.plain)
		return input;
	result.value = elements_make(&state->element, added.values, added.nulls, count);
	return result;
}

/* Take one occurrence away for each retracted element, from the front */
static NullableDatum
collect_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	CollectState *state = column->state;
	NullableDatum result = {0, false};
	Elements	stored;
	Elements	retracted;
	ElementIndex *index;
	int		   *occurrences;
	int			kept = 0;

	if (accumulator.isnull || input.isnull)
		return accumulator;
	stored = elements_read(&state->element, accumulator.value);
	retracted = elements_read(&state->element, input.value);

	index = element_index_create(&state->equality, 1, retracted.count);
	occurrences = palloc0(Max(retracted.count, 1) * sizeof(int));
	for (int i = 0; i < retracted.count; i++)
	{
		bool		found;

		occurrences[element_index_add(index, &retracted.values[i], &retracted.nulls[i], &found)]++;
	}

	for (int i = 0; i < stored.count; i++)
	{
		int			number = element_index_find(index, &stored.values[i], &stored.nulls[i]);

		if (number >= 0 && occurrences[number] > 0)
		{
			occurrences[number]--;
			continue;
		}
		stored.values[kept] = stored.values[i];
		stored.nulls[kept] = stored.nulls[i];
		kept++;
	}

	if (kept == stored.count)
		return accumulator;
	result.value = elements_make(&state->element, stored.values, stored.nulls, kept);
	return result;
}

/* The oldest input's elements come first: retract finds exactly these */
static bool
collect_inverts(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	return !((CollectState *) column->state)->distinct;
}

/* Distinct or not, it does not matter which arrays are joined first */
static bool
collect_grows(AggregatorColumn *column)
{
	return true;
}

static const char *const collect_options[] = {"distinct", NULL};

/*
 * A late input is appended like a newer one (SEMANTICS, rule 17): what an
 * array holds matters here, not where.
 */
const FieldAggregator collect_aggregator = {
	.name = "collect",
	.order = AGGREGATOR_IN_ORDER,
	.associative = true,
	.options = collect_options,
	.prepare = collect_prepare,
	.combine = collect_combine,
	.combine_late = collect_combine,
	.retract = collect_retract,
	.inverts = collect_inverts,
	.grows = collect_grows
};
