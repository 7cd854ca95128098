/*
 * aggregates.c
 *	  The field aggregators as SQL aggregates: merge_engine.sum(x) and others.
 *
 * One set of C functions serves all of them.  Which field aggregator a
 * transition function stands for is told by its SQL name, NAME_transition, so
 * that a new one needs no code here, only its line in the extension script.
 *
 * Values that grow, lists and bitmaps, are not folded one by one into an ever
 * longer one, where folding is associative: small ones are folded first, as in
 * a merge sort, so that n inputs cost n log n.
 *
 * Two more things than a table needs: partial states of parallel workers are
 * put together (only where the order of the inputs does not matter), and an
 * input that leaves a window's frame is taken out again where that gives
 * exactly what folding the rest would; otherwise PostgreSQL folds again.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "aggregator/aggregator.h"
#include "catalog/functions.h"
#include "catalog/options.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(field_aggregate_transition);
PG_FUNCTION_INFO_V1(field_aggregate_inverse);
PG_FUNCTION_INFO_V1(field_aggregate_final);
PG_FUNCTION_INFO_V1(field_aggregate_combine);
PG_FUNCTION_INFO_V1(field_aggregate_serialize);
PG_FUNCTION_INFO_V1(field_aggregate_deserialize);

/* What stands for the column's name in messages and options. */
#define VALUE_NAME "value"
#define TRANSITION_SUFFIX "_transition"

/* A field aggregator, prepared for one call in a query. */
typedef struct FieldAggregate
{
	AggregatorColumn column;
	Oid			domain;			/* the inputs' type, if that is a domain */
	ArrayType  *options;		/* text[] of name=value, as given; or NULL */
	bool		in_parts;		/* fold small values first */
} FieldAggregate;

/* The fold of some successive inputs. */
typedef struct FieldPart
{
	NullableDatum value;		/* owned by the state */
	int64		ninputs;
} FieldPart;

/* The state of one group or window frame. */
typedef struct FieldState
{
	FieldAggregate *aggregate;
	int64		ninputs;		/* those that were folded */
	NullableDatum value;		/* of all inputs but those of the parts; owned by
								 * the state */
	FieldPart  *parts;			/* of later inputs, in order */
	int			nparts;
	int			size;
} FieldState;

/* The context that states live in. */
static MemoryContext
field_state_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	return context;
}

/* The field aggregator that a transition function is named after. */
static const FieldAggregator *
field_aggregator_of(Oid transition)
{
	char	   *name = get_func_name(transition);
	const FieldAggregator *function = NULL;
	size_t		length = name ? strlen(name) : 0;

	if (length > strlen(TRANSITION_SUFFIX))
	{
		length -= strlen(TRANSITION_SUFFIX);
		if (strcmp(name + length, TRANSITION_SUFFIX) == 0)
			function = aggregator_find(pnstrdup(name, length));
	}
	if (function == NULL)
		elog(ERROR, "function %u is no transition of a field aggregator", transition);
	return function;
}

/* Read one option, written name=value as in a table's options. */
static void
field_option_read(AggregatorColumn *column, char *string)
{
	AggregatorOption *option = &column->options[column->noptions++];
	char	   *equals = strchr(string, '=');
	char	   *name;
	char	   *canonical;
	char	   *columns;
	char	   *suffix;

	if (equals == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("option \"%s\" of aggregate function \"%s\" has no value",
						string, column->function->name),
				 errhint("Write it as 'name=value'.")));
	name = psprintf("fields.%s.%s", VALUE_NAME, pnstrdup(string, equals - string));
	if (option_kind(name, &canonical) != OPTION_MERGE ||
		!option_field_parts(canonical, &columns, &suffix) ||
		!aggregator_takes_option(column->function, suffix))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" does not belong to aggregate function \"%s\"",
						pnstrdup(string, equals - string), column->function->name),
				 errhint("Its options are those of a table's column, without \"fields.<column>.\".")));
	option->name = suffix;
	option->value = pstrdup(equals + 1);
	if (aggregator_option(column, suffix) != option->value)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("option \"%s\" of aggregate function \"%s\" is given more than once",
						suffix, column->function->name)));
}

/* Read the options. */
static void
field_options_read(AggregatorColumn *column, ArrayType *options)
{
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	deconstruct_array(options, TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &count);
	column->options = palloc0(Max(count, 1) * sizeof(AggregatorOption));
	for (int i = 0; i < count; i++)
	{
		if (!nulls[i])
			field_option_read(column, TextDatumGetCString(elements[i]));
	}
}

/* Prepare the order of the column's type, where it has one. */
static void
field_order_prepare(AggregatorColumn *column)
{
	TypeCacheEntry *type = lookup_type_cache(column->type, TYPECACHE_LT_OPR);

	if (!OidIsValid(type->lt_opr))
		return;
	if (type_is_collatable(column->type) && !OidIsValid(column->collation))
	{
		if (column->function->order != AGGREGATOR_ANY_ORDER)
			return;				/* values are not compared */
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for aggregate function \"%s\"",
						column->function->name),
				 errhint("Use the COLLATE clause to set the collation explicitly.")));
	}
	column->order = palloc0(sizeof(SortSupportData));
	column->order->ssup_cxt = CurrentMemoryContext;
	column->order->ssup_collation = column->collation;
	column->order->ssup_nulls_first = true;
	PrepareSortSupportFromOrderingOp(type->lt_opr, column->order);
}

/*
 * Prepare a field aggregator for inputs of a type, in a context that lives as
 * long as the query.
 */
static FieldAggregate *
field_aggregate_create(const FieldAggregator *function, Oid type, Oid collation,
					   ArrayType *options, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	FieldAggregate *aggregate = palloc0(sizeof(FieldAggregate));
	AggregatorColumn *column = &aggregate->column;

	column->function = function;
	column->column = VALUE_NAME;
	column->typmod = -1;
	column->type = getBaseTypeAndTypmod(type, &column->typmod);
	if (column->type != type)
		aggregate->domain = type;
	column->collation = collation;
	get_typlenbyvalalign(column->type, &column->typlen, &column->typbyval,
						 &column->typalign);
	column->context = context;
	field_order_prepare(column);
	if (options != NULL)
	{
		aggregate->options = (ArrayType *)
			DatumGetPointer(datumCopy(PointerGetDatum(options), false, -1));
		field_options_read(column, aggregate->options);
	}
	functions_resolve(column, GetUserId());
	function->prepare(column);
	aggregate->in_parts = function->grows != NULL && function->grows(column);
	MemoryContextSwitchTo(oldcontext);
	return aggregate;
}

/* The prepared field aggregator of a call of a transition function. */
static FieldAggregate *
field_aggregate_of_call(FunctionCallInfo fcinfo)
{
	FieldAggregate *aggregate = fcinfo->flinfo->fn_extra;
	ArrayType  *options = NULL;

	if (PG_NARGS() > 2 && !PG_ARGISNULL(2))
		options = PG_GETARG_ARRAYTYPE_P(2);
	if (aggregate == NULL)
	{
		const FieldAggregator *function = field_aggregator_of(fcinfo->flinfo->fn_oid);
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 1);

		/* what counts its inputs holds no input */
		if (function->unite != NULL)
			type = INT8OID;
		if (!OidIsValid(type))
			elog(ERROR, "could not determine the input type of aggregate function \"%s\"",
				 function->name);
		aggregate = field_aggregate_create(function, type, PG_GET_COLLATION(),
										   options, fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = aggregate;
	}
	else if ((options == NULL) != (aggregate->options == NULL) ||
			 (options != NULL &&
			  !datum_image_eq(PointerGetDatum(options),
							  PointerGetDatum(aggregate->options), false, -1)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options of aggregate function \"%s\" must be the same for every row",
						aggregate->column.function->name)));
	return aggregate;
}

/* A state that has seen nothing. */
static FieldState *
field_state_create(FieldAggregate *aggregate, MemoryContext context)
{
	FieldState *state = MemoryContextAllocZero(context, sizeof(FieldState));

	state->aggregate = aggregate;
	state->value.isnull = true;
	return state;
}

/* Replace a value that a state owns by a copy of another. */
static void
field_value_set(const AggregatorColumn *column, NullableDatum *owned,
				NullableDatum value, MemoryContext context)
{
	NullableDatum old = *owned;
	MemoryContext oldcontext;

	if (column->typbyval)
	{
		*owned = value;
		return;
	}
	if (!value.isnull && !old.isnull && value.value == old.value)
		return;
	if (!value.isnull)
	{
		oldcontext = MemoryContextSwitchTo(context);
		value.value = column->typlen == -1 ?
			PointerGetDatum(PG_DETOAST_DATUM_COPY(value.value)) :
			datumCopy(value.value, false, column->typlen);
		MemoryContextSwitchTo(oldcontext);
	}
	*owned = value;
	if (!old.isnull)
		pfree(DatumGetPointer(old.value));
}

/* Make a value the state's. */
static void
field_state_set(FieldState *state, NullableDatum value, MemoryContext context)
{
	field_value_set(&state->aggregate->column, &state->value, value, context);
}

/* Fold the last part into the one before it. */
static void
field_parts_join(FieldState *state, MemoryContext context)
{
	AggregatorColumn *column = &state->aggregate->column;
	FieldPart  *last = &state->parts[state->nparts - 1];
	FieldPart  *before = last - 1;
	NullableDatum nothing = {.isnull = true};

	field_value_set(column, &before->value,
					column->function->combine(column, before->value, last->value), context);
	field_value_set(column, &last->value, nothing, context);
	before->ninputs += last->ninputs;
	state->nparts--;
}

/* Add an input as a part, and join parts as long as the last is no smaller. */
static void
field_parts_add(FieldState *state, NullableDatum input, MemoryContext context)
{
	AggregatorColumn *column = &state->aggregate->column;
	NullableDatum nothing = {.isnull = true};
	FieldPart  *part;

	if (state->nparts == state->size)
	{
		int			size = state->size == 0 ? 4 : state->size * 2;

		state->parts = state->parts == NULL ?
			MemoryContextAlloc(context, size * sizeof(FieldPart)) :
			repalloc(state->parts, size * sizeof(FieldPart));
		state->size = size;
	}
	part = &state->parts[state->nparts++];
	part->value = nothing;
	part->ninputs = 1;
	field_value_set(column, &part->value,
					column->function->combine(column, nothing, input), context);
	while (state->nparts > 1 &&
		   state->parts[state->nparts - 1].ninputs >= state->parts[state->nparts - 2].ninputs)
		field_parts_join(state, context);
}

/* Fold all parts into the state's value. */
static void
field_parts_finish(FieldState *state, MemoryContext context)
{
	AggregatorColumn *column = &state->aggregate->column;
	NullableDatum nothing = {.isnull = true};

	if (state->nparts == 0)
		return;
	while (state->nparts > 1)
		field_parts_join(state, context);
	field_state_set(state,
					column->function->combine(column, state->value, state->parts[0].value),
					context);
	field_value_set(column, &state->parts[0].value, nothing, context);
	state->nparts = 0;
}

/*
 * NAME_transition(internal, input [, options text[]]) returns internal
 *		Folds an input.
 */
Datum
field_aggregate_transition(PG_FUNCTION_ARGS)
{
	MemoryContext context = field_state_context(fcinfo);
	FieldAggregate *aggregate = field_aggregate_of_call(fcinfo);
	AggregatorColumn *column = &aggregate->column;
	const FieldAggregator *function = column->function;
	FieldState *state = PG_ARGISNULL(0) ? field_state_create(aggregate, context) :
										  (FieldState *) PG_GETARG_POINTER(0);
	NullableDatum input = {.value = PG_GETARG_DATUM(1), .isnull = PG_ARGISNULL(1)};

	if (input.isnull && !function->takes_null)
		PG_RETURN_POINTER(state);
	if (aggregate->in_parts)
		field_parts_add(state, input, context);
	/* to the oldest value, a NULL that was there is another than none */
	else if (state->ninputs == 0 && function->takes_null &&
			 function->order == AGGREGATOR_OLDEST)
		field_state_set(state, input, context);
	else
		field_state_set(state, function->combine(column, state->value, input), context);
	state->ninputs++;
	PG_RETURN_POINTER(state);
}

/*
 * field_aggregate_inverse(internal, input [, options text[]]) returns internal
 *		Takes the oldest input out; NULL says that PostgreSQL must fold the
 *		others again.
 */
Datum
field_aggregate_inverse(PG_FUNCTION_ARGS)
{
	MemoryContext context = field_state_context(fcinfo);
	FieldState *state = (FieldState *) PG_GETARG_POINTER(0);
	AggregatorColumn *column = &state->aggregate->column;
	const FieldAggregator *function = column->function;
	NullableDatum input = {.value = PG_GETARG_DATUM(1), .isnull = PG_ARGISNULL(1)};
	NullableDatum nothing = {.isnull = true};

	if (input.isnull && !function->takes_null)
		PG_RETURN_POINTER(state);
	field_parts_finish(state, context);
	if (state->ninputs == 1)
		field_state_set(state, nothing, context);
	else if (function->order == AGGREGATOR_NEWEST)
		;						/* a newer input has replaced it */
	else if (function->inverts != NULL &&
			 function->inverts(column, state->value, input))
		field_state_set(state, function->retract(column, state->value, input), context);
	else
		PG_RETURN_NULL();
	state->ninputs--;
	PG_RETURN_POINTER(state);
}

/*
 * field_aggregate_final(internal, input type [, options text[]])
 *		The folded value; NULL for a group without input.
 */
Datum
field_aggregate_final(PG_FUNCTION_ARGS)
{
	MemoryContext context = field_state_context(fcinfo);
	FieldState *state;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (FieldState *) PG_GETARG_POINTER(0);
	field_parts_finish(state, context);
	if (OidIsValid(state->aggregate->domain))
		domain_check(state->value.value, state->value.isnull, state->aggregate->domain,
					 &fcinfo->flinfo->fn_extra, fcinfo->flinfo->fn_mcxt);
	if (state->value.isnull)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(state->value.value);
}

/*
 * field_aggregate_combine(internal, internal) returns internal
 *		Puts the states of two sets of inputs together.
 */
Datum
field_aggregate_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = field_state_context(fcinfo);
	FieldState *state = PG_ARGISNULL(0) ? NULL : (FieldState *) PG_GETARG_POINTER(0);
	FieldState *other = PG_ARGISNULL(1) ? NULL : (FieldState *) PG_GETARG_POINTER(1);

	if (other != NULL)
	{
		AggregatorColumn *column = &other->aggregate->column;
		const FieldAggregator *function = column->function;

		if (state == NULL)
			state = field_state_create(other->aggregate, context);
		field_parts_finish(state, context);
		field_parts_finish(other, context);
		field_state_set(state,
						function->unite != NULL ?
							function->unite(column, state->value, other->value) :
							function->combine(column, state->value, other->value),
						context);
		state->ninputs += other->ninputs;
	}
	if (state == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(state);
}

/*
 * field_aggregate_serialize(internal) returns bytea
 *		A state for another process of the same query.
 */
Datum
field_aggregate_serialize(PG_FUNCTION_ARGS)
{
	FieldState *state = (FieldState *) PG_GETARG_POINTER(0);
	const FieldAggregate *aggregate = state->aggregate;
	const AggregatorColumn *column = &aggregate->column;
	StringInfoData buffer;

	field_parts_finish(state, field_state_context(fcinfo));
	pq_begintypsend(&buffer);
	pq_sendstring(&buffer, column->function->name);
	pq_sendint32(&buffer, OidIsValid(aggregate->domain) ? aggregate->domain : column->type);
	pq_sendint32(&buffer, column->collation);
	pq_sendint64(&buffer, state->ninputs);
	pq_sendint32(&buffer, aggregate->options ? VARSIZE(aggregate->options) : 0);
	if (aggregate->options)
		pq_sendbytes(&buffer, (char *) aggregate->options, VARSIZE(aggregate->options));
	pq_sendbyte(&buffer, state->value.isnull);
	if (!state->value.isnull)
	{
		Size		size = datumEstimateSpace(state->value.value, false,
											  column->typbyval, column->typlen);
		char	   *end;

		enlargeStringInfo(&buffer, size);
		end = buffer.data + buffer.len;
		datumSerialize(state->value.value, false, column->typbyval, column->typlen, &end);
		buffer.len = end - buffer.data;
	}
	PG_RETURN_BYTEA_P(pq_endtypsend(&buffer));
}

/*
 * field_aggregate_deserialize(bytea, internal) returns internal
 *		The state in the bytes; all that one call sees are of one aggregate.
 */
Datum
field_aggregate_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	FieldAggregate *aggregate = fcinfo->flinfo->fn_extra;
	FieldState *state;
	StringInfoData buffer;
	const char *name;
	Oid			type;
	Oid			collation;
	int64		ninputs;
	int			length;
	ArrayType  *options = NULL;

	(void) field_state_context(fcinfo);
	initStringInfo(&buffer);
	appendBinaryStringInfo(&buffer, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	name = pq_getmsgstring(&buffer);
	type = pq_getmsgint(&buffer, 4);
	collation = pq_getmsgint(&buffer, 4);
	ninputs = pq_getmsgint64(&buffer);
	length = pq_getmsgint(&buffer, 4);
	if (length > 0)
	{
		options = palloc(length);
		pq_copymsgbytes(&buffer, (char *) options, length);
	}
	if (aggregate == NULL)
	{
		aggregate = field_aggregate_create(aggregator_find(name), type, collation,
										   options, fcinfo->flinfo->fn_mcxt);
		fcinfo->flinfo->fn_extra = aggregate;
	}

	/* the caller combines it at once: it may live in a short context */
	state = field_state_create(aggregate, CurrentMemoryContext);
	state->ninputs = ninputs;
	state->value.isnull = pq_getmsgbyte(&buffer);
	if (!state->value.isnull)
	{
		char	   *start = buffer.data + buffer.cursor;

		state->value.value = datumRestore(&start, &state->value.isnull);
	}
	PG_RETURN_POINTER(state);
}
