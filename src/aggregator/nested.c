/*
 * nested.c
 *	  nested_update and nested_partial_update: arrays of rows as small tables.
 *
 * Options: nested-key names the members that tell rows apart; without it,
 * rows are appended.  A row whose key is there replaces the other, or, with
 * nested_partial_update, its members that are not NULL do; with
 * nested-sequence-field only when its sequence is greater or equal.
 * nested-key-null-strategy says what becomes of a row with a NULL in its key;
 * count-limit is the number of rows above which no key is added.
 *
 * Rows keep the places in which their keys first came.
 */
#include "postgres.h"

#include <limits.h>

#include "access/htup_details.h"
#include "aggregator/aggregator.h"
#include "aggregator/elements.h"
#include "catalog/pg_type_d.h"
#include "common/string.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* What becomes of a row with a NULL in its key. */
typedef enum NullStrategy
{
	NULL_KEY_MERGE,				/* NULL is a key like any other */
	NULL_KEY_IGNORE,			/* the row is left out */
	NULL_KEY_ERROR
} NullStrategy;

/* Members of the row type that an option names. */
typedef struct NestedMembers
{
	int			count;
	char	  **names;
	int		   *positions;		/* in the row type */
} NestedMembers;

/* What prepare keeps in column->state. */
typedef struct NestedState
{
	ElementType element;
	uint64		rowtype_version;	/* changes with ALTER TYPE */
	NestedMembers key;
	Equality   *key_equality;	/* of the key's members, or of the whole row */
	NestedMembers sequence;
	FmgrInfo   *sequence_compare;
	Oid		   *sequence_collation;
	NullStrategy strategy;
	int			limit;
} NestedState;

/* A row of the small table. */
typedef struct NestedRow
{
	Datum		element;
	Datum	   *values;			/* its members, when there is a key */
	bool	   *nulls;
	Datum	   *key;
	bool	   *key_nulls;
	bool		changed;		/* element is to be made from the members */
} NestedRow;

/* The small table. */
typedef struct NestedTable
{
	TupleDesc	tupdesc;
	int			nrows;
	NestedRow  *rows;
	ElementIndex *index;		/* NULL without a key */
	bool		partial;
	bool		modified;		/* differs from the accumulator */
} NestedTable;

extern const FieldAggregator nested_partial_update_aggregator;

/* Read an option that names members, separated by commas */
static void
members_parse(AggregatorColumn *column, const char *option, NestedMembers *members)
{
	const char *value = aggregator_option(column, option);
	char	   *rest;

	members->count = 0;
	if (value == NULL)
		return;
	members->names = MemoryContextAlloc(column->context, (strlen(value) + 1) * sizeof(char *));
	rest = MemoryContextStrdup(column->context, value);
	while (rest != NULL)
	{
		char	   *name = rest;

		rest = strchr(rest, ',');
		if (rest != NULL)
			*rest++ = '\0';
		while (isspace((unsigned char) *name))
			name++;
		for (char *end = name + strlen(name); end > name && isspace((unsigned char) end[-1]);)
			*--end = '\0';
		if (*name == '\0')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid value for option \"fields.%s.%s\": \"%s\"",
							column->column, option, value),
					 errhint("Name one or more members of the row type, separated by commas.")));
		members->names[members->count++] = name;
	}
	members->positions = MemoryContextAlloc(column->context, members->count * sizeof(int));
}

/* Find the members in the row type */
static void
members_locate(AggregatorColumn *column, const char *option, NestedMembers *members,
			   TupleDesc tupdesc)
{
	for (int i = 0; i < members->count; i++)
	{
		int			position;

		for (position = 0; position < tupdesc->natts; position++)
		{
			Form_pg_attribute member = TupleDescAttr(tupdesc, position);

			if (!member->attisdropped &&
				strcmp(NameStr(member->attname), members->names[i]) == 0)
				break;
		}
		if (position == tupdesc->natts)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"fields.%s.%s\" names \"%s\", which is no member of type %s",
							column->column, option, members->names[i],
							format_type_be(tupdesc->tdtypeid))));
		members->positions[i] = position;
	}
}

/* Work out how the key is compared */
static void
key_resolve(AggregatorColumn *column, NestedState *state, TupleDesc tupdesc)
{
	for (int i = 0; i < state->key.count; i++)
	{
		Form_pg_attribute member = TupleDescAttr(tupdesc, state->key.positions[i]);

		equality_init(&state->key_equality[i], member->atttypid, member->attcollation,
					  column->context);
		if (state->key_equality[i].equal == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("option \"fields.%s.nested-key\" names \"%s\" of type %s, which has no equality",
							column->column, state->key.names[i],
							format_type_be(member->atttypid))));
	}
}

/* Work out how the nested sequence is compared */
static void
sequence_resolve(AggregatorColumn *column, NestedState *state, TupleDesc tupdesc)
{
	for (int i = 0; i < state->sequence.count; i++)
	{
		Form_pg_attribute member = TupleDescAttr(tupdesc, state->sequence.positions[i]);
		TypeCacheEntry *type = lookup_type_cache(member->atttypid, TYPECACHE_CMP_PROC_FINFO);

		if (!OidIsValid(type->cmp_proc_finfo.fn_oid))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("option \"fields.%s.nested-sequence-field\" names \"%s\" of type %s, which has no order",
							column->column, state->sequence.names[i],
							format_type_be(member->atttypid))));
		fmgr_info_copy(&state->sequence_compare[i], &type->cmp_proc_finfo, column->context);
		state->sequence_collation[i] = member->attcollation;
	}
}

/*
 * Get the row type as it is now.  ALTER TYPE can have moved or removed
 * members since the last time.  The caller releases the descriptor.
 */
static TupleDesc
rowtype_get(AggregatorColumn *column, NestedState *state)
{
	TupleDesc	tupdesc = lookup_rowtype_tupdesc(state->element.type, -1);
	TypeCacheEntry *type = lookup_type_cache(state->element.type, TYPECACHE_TUPDESC);

	if (type->tupDesc_identifier != state->rowtype_version)
	{
		members_locate(column, "nested-key", &state->key, tupdesc);
		members_locate(column, "nested-sequence-field", &state->sequence, tupdesc);
		if (state->key.count > 0)
			key_resolve(column, state, tupdesc);
		else
			equality_init(&state->key_equality[0], state->element.type, InvalidOid,
						  column->context);
		sequence_resolve(column, state, tupdesc);
		state->rowtype_version = type->tupDesc_identifier;
	}
	return tupdesc;
}

/* Read nested-key-null-strategy */
static NullStrategy
strategy_parse(AggregatorColumn *column)
{
	const char *value = aggregator_option(column, "nested-key-null-strategy");

	if (value == NULL || pg_strcasecmp(value, "merge") == 0)
		return NULL_KEY_MERGE;
	if (pg_strcasecmp(value, "ignore") == 0)
		return NULL_KEY_IGNORE;
	if (pg_strcasecmp(value, "error") == 0)
		return NULL_KEY_ERROR;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"fields.%s.nested-key-null-strategy\": \"%s\"",
					column->column, value),
			 errhint("Write \"merge\", \"ignore\" or \"error\".")));
}

/* Read count-limit */
static int
limit_parse(AggregatorColumn *column)
{
	const char *value = aggregator_option(column, "count-limit");
	char	   *end;
	int			limit;

	if (value == NULL)
		return INT_MAX;
	errno = 0;
	limit = strtoint(value, &end, 10);
	if (end == value || *end != '\0' || errno != 0 || limit < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"fields.%s.count-limit\": \"%s\"",
						column->column, value),
				 errhint("Write a whole number from 1 to %d.", INT_MAX)));
	return limit;
}

/* Refuse an option that means nothing without a nested key */
static void
require_key(AggregatorColumn *column, const char *option)
{
	if (aggregator_option(column, option) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"fields.%s.%s\" needs \"fields.%s.nested-key\"",
						column->column, option, column->column)));
}

/* Check the type and read the options */
static void
nested_prepare(AggregatorColumn *column)
{
	Oid			element = get_element_type(column->type);
	NestedState *state;
	TupleDesc	tupdesc;

	if (!OidIsValid(element) || get_typtype(element) != TYPTYPE_COMPOSITE)
		aggregator_refuse_type(column, "It takes arrays of a composite type.");

	state = MemoryContextAllocZero(column->context, sizeof(NestedState));
	state->element.type = element;
	get_typlenbyvalalign(element, &state->element.typlen, &state->element.typbyval,
						 &state->element.typalign);
	members_parse(column, "nested-key", &state->key);
	members_parse(column, "nested-sequence-field", &state->sequence);
	state->strategy = strategy_parse(column);
	state->limit = limit_parse(column);
	if (state->key.count == 0)
	{
		if (column->function == &nested_partial_update_aggregator)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("aggregate function \"%s\" of column \"%s\" needs option \"fields.%s.nested-key\"",
							column->function->name, column->column, column->column)));
		require_key(column, "nested-sequence-field");
		require_key(column, "nested-key-null-strategy");
	}

	state->key_equality = MemoryContextAlloc(column->context,
											 Max(state->key.count, 1) * sizeof(Equality));
	state->sequence_compare = MemoryContextAlloc(column->context,
												 (state->sequence.count + 1) * sizeof(FmgrInfo));
	state->sequence_collation = MemoryContextAlloc(column->context,
												   (state->sequence.count + 1) * sizeof(Oid));
	column->state = state;
	tupdesc = rowtype_get(column, state);
	ReleaseTupleDesc(tupdesc);
}

/* Take the row apart as far as the options need it */
static void
row_read(NestedState *state, TupleDesc tupdesc, Datum element, NestedRow *row)
{
	HeapTupleHeader header;
	HeapTupleData tuple;

	row->element = element;
	row->changed = false;
	if (state->key.count == 0)
		return;

	header = DatumGetHeapTupleHeader(element);
	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	row->values = palloc(tupdesc->natts * sizeof(Datum));
	row->nulls = palloc(tupdesc->natts * sizeof(bool));
	heap_deform_tuple(&tuple, tupdesc, row->values, row->nulls);

	/* apart from the members: those may be updated, the key stays equal */
	row->key = palloc(state->key.count * sizeof(Datum));
	row->key_nulls = palloc(state->key.count * sizeof(bool));
	for (int i = 0; i < state->key.count; i++)
	{
		row->key[i] = row->values[state->key.positions[i]];
		row->key_nulls[i] = row->nulls[state->key.positions[i]];
	}
}

/* Tell whether a row takes part, by nested-key-null-strategy */
static bool
row_counts(AggregatorColumn *column, const NestedRow *row)
{
	NestedState *state = column->state;

	if (state->strategy == NULL_KEY_MERGE)
		return true;
	for (int i = 0; i < state->key.count; i++)
	{
		if (!row->key_nulls[i])
			continue;
		if (state->strategy == NULL_KEY_IGNORE)
			return false;
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("member \"%s\" of a row in column \"%s\" is NULL",
						state->key.names[i], column->column),
				 errdetail("It belongs to the nested key, and \"fields.%s.nested-key-null-strategy\" is \"error\".",
						   column->column)));
	}
	return true;
}

/* Tell whether a row is older than the one with its key; NULL is lowest */
static bool
row_is_older(NestedState *state, const NestedRow *row, const NestedRow *other)
{
	for (int i = 0; i < state->sequence.count; i++)
	{
		int			position = state->sequence.positions[i];
		int			order;

		if (row->nulls[position] || other->nulls[position])
		{
			if (row->nulls[position] == other->nulls[position])
				continue;
			return row->nulls[position];
		}
		order = DatumGetInt32(FunctionCall2Coll(&state->sequence_compare[i],
												state->sequence_collation[i],
												row->values[position],
												other->values[position]));
		if (order != 0)
			return order < 0;
	}
	return false;
}

/* Replace a row by a newer one, or those members that it has */
static void
row_update(NestedTable *table, NestedRow *row, const NestedRow *newer)
{
	table->modified = true;
	if (!table->partial)
	{
		row->element = newer->element;
		row->values = newer->values;
		row->nulls = newer->nulls;
		return;
	}
	for (int i = 0; i < table->tupdesc->natts; i++)
	{
		if (newer->nulls[i])
			continue;
		row->values[i] = newer->values[i];
		row->nulls[i] = false;
		row->changed = true;
	}
}

/* Add the rows of an array to the table */
static void
table_add(AggregatorColumn *column, NestedTable *table, const Elements *elements,
		  int limit)
{
	NestedState *state = column->state;

	for (int i = 0; i < elements->count; i++)
	{
		NestedRow  *row = &table->rows[table->nrows];
		bool		found = false;
		int			number;

		if (elements->nulls[i])
			continue;
		row_read(state, table->tupdesc, elements->values[i], row);
		if (table->index == NULL)
		{
			if (table->nrows >= limit)
				return;
		}
		else
		{
			if (!row_counts(column, row))
				continue;
			/* at the limit a key is looked for, and not added */
			if (table->nrows >= limit)
			{
				number = element_index_find(table->index, row->key, row->key_nulls);
				if (number < 0)
					continue;
				found = true;
			}
			else
				number = element_index_add(table->index, row->key, row->key_nulls, &found);
			if (found)
			{
				if (!row_is_older(state, row, &table->rows[number]))
					row_update(table, &table->rows[number], row);
				continue;
			}
		}
		table->nrows++;
		table->modified = true;
	}
}

/* Make an array of the table's rows */
static NullableDatum
table_make(AggregatorColumn *column, NestedTable *table)
{
	NestedState *state = column->state;
	NullableDatum result = {0, false};
	Datum	   *values = palloc(Max(table->nrows, 1) * sizeof(Datum));
	bool	   *nulls = palloc0(Max(table->nrows, 1) * sizeof(bool));

	for (int i = 0; i < table->nrows; i++)
	{
		NestedRow  *row = &table->rows[i];

		if (row->changed)
			row->element = heap_copy_tuple_as_datum(heap_form_tuple(table->tupdesc,
																	row->values, row->nulls),
													table->tupdesc);
		values[i] = row->element;
	}
	result.value = elements_make(&state->element, values, nulls, table->nrows);
	return result;
}

/*
 * f(accumulator, input) = the accumulator's rows, updated by the input's
 *
 * The accumulator's own rows are under no limit: they were when they came.
 */
static NullableDatum
nested_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	NestedState *state = column->state;
	NestedTable table = {0};
	Elements	stored = {0};
	Elements	added;
	NullableDatum result = accumulator;

	if (input.isnull)
		return accumulator;
	table.tupdesc = rowtype_get(column, state);
	table.partial = (column->function == &nested_partial_update_aggregator);
	if (!accumulator.isnull)
		stored = elements_read(&state->element, accumulator.value);
	added = elements_read(&state->element, input.value);
	table.rows = MemoryContextAllocHuge(CurrentMemoryContext,
										((Size) stored.count + added.count + 1) * sizeof(NestedRow));
	if (state->key.count > 0)
		table.index = element_index_create(state->key_equality, state->key.count,
										   stored.count + added.count);

	table_add(column, &table, &stored, INT_MAX);
	/* what was stored may have been written past the rules */
	table.modified = (accumulator.isnull || table.nrows != stored.count);
	table_add(column, &table, &added, state->limit);
	if (table.modified)
		result = table_make(column, &table);
	ReleaseTupleDesc(table.tupdesc);
	return result;
}

/*
 * A late input goes under the accumulator: first itself, as a first input
 * would, and then what is stored.
 */
static NullableDatum
nested_combine_late(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	NullableDatum nothing = {0, true};

	return nested_combine(column, nested_combine(column, nothing, input), accumulator);
}

/* Remove the rows with the input's keys, or equal to its rows without a key */
static NullableDatum
nested_retract(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	NestedState *state = column->state;
	int			nmembers = Max(state->key.count, 1);
	NestedTable table = {0};
	Elements	stored;
	Elements	retracted;
	NullableDatum result = accumulator;

	if (accumulator.isnull || input.isnull)
		return accumulator;
	table.tupdesc = rowtype_get(column, state);
	stored = elements_read(&state->element, accumulator.value);
	retracted = elements_read(&state->element, input.value);
	table.rows = MemoryContextAllocHuge(CurrentMemoryContext,
										((Size) stored.count + retracted.count + 1) * sizeof(NestedRow));
	table.index = element_index_create(state->key_equality, nmembers, retracted.count);

	for (int i = 0; i < retracted.count; i++)
	{
		NestedRow  *row = &table.rows[stored.count + i];
		bool		found;

		if (retracted.nulls[i])
			continue;
		row_read(state, table.tupdesc, retracted.values[i], row);
		if (state->key.count == 0)
			element_index_add(table.index, &retracted.values[i], &retracted.nulls[i], &found);
		else if (row_counts(column, row))
			element_index_add(table.index, row->key, row->key_nulls, &found);
	}
	for (int i = 0; i < stored.count; i++)
	{
		NestedRow  *row = &table.rows[table.nrows];
		int			number;

		if (stored.nulls[i])
			continue;
		row_read(state, table.tupdesc, stored.values[i], row);
		if (state->key.count == 0)
			number = element_index_find(table.index, &stored.values[i], &stored.nulls[i]);
		else if (row_counts(column, row))
			number = element_index_find(table.index, row->key, row->key_nulls);
		else
			continue;
		if (number < 0)
			table.nrows++;
	}

	if (table.nrows != stored.count)
		result = table_make(column, &table);
	ReleaseTupleDesc(table.tupdesc);
	return result;
}

static const char *const nested_options[] = {
	"nested-key", "nested-sequence-field", "nested-key-null-strategy", "count-limit", NULL
};

/* Not associative: count-limit can keep a key out of a part of the inputs */
const FieldAggregator nested_update_aggregator = {
	.name = "nested_update",
	.order = AGGREGATOR_IN_ORDER,
	.associative = false,
	.options = nested_options,
	.prepare = nested_prepare,
	.combine = nested_combine,
	.combine_late = nested_combine_late,
	.retract = nested_retract
};

/* No retraction: which of a row's members came from where is not known */
const FieldAggregator nested_partial_update_aggregator = {
	.name = "nested_partial_update",
	.order = AGGREGATOR_IN_ORDER,
	.associative = false,
	.options = nested_options,
	.prepare = nested_prepare,
	.combine = nested_combine,
	.combine_late = nested_combine_late
};
