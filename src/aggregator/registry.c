/*
 * registry.c
 *	  The field aggregators by name, and what their families share.
 *
 * A family defines each of its functions as a variable NAME_aggregator; one
 * line in FIELD_AGGREGATORS makes it known.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "aggregator/sql_function.h"
#include "utils/builtins.h"
#include "utils/varlena.h"

#define FIELD_AGGREGATORS(X) \
	X(sum) \
	X(product) \
	X(count) \
	X(max) \
	X(min) \
	X(last_value) \
	X(last_non_null_value) \
	X(first_value) \
	X(first_non_null_value) \
	X(listagg) \
	X(bool_and) \
	X(bool_or) \
	X(collect) \
	X(merge_map) \
	X(merge_map_with_keytime) \
	X(nested_update) \
	X(nested_partial_update) \
	X(rbm32) \
	X(rbm64) \
	X(hll_sketch) \
	X(theta_sketch)

#define DECLARE_AGGREGATOR(name) extern const FieldAggregator name##_aggregator;
FIELD_AGGREGATORS(DECLARE_AGGREGATOR)

#define LIST_AGGREGATOR(name) &name##_aggregator,
static const FieldAggregator *const aggregators[] = {
	FIELD_AGGREGATORS(LIST_AGGREGATOR)
};

/*
 * aggregator_find
 *		The function of this name or alias, or NULL.  Names are literal:
 *		their case matters (SEMANTICS, rule 6).
 */
const FieldAggregator *
aggregator_find(const char *name)
{
	for (int i = 0; i < lengthof(aggregators); i++)
	{
		const FieldAggregator *function = aggregators[i];

		if (strcmp(function->name, name) == 0 ||
			(function->alias != NULL && strcmp(function->alias, name) == 0))
			return function;
	}
	return NULL;
}

/*
 * aggregator_nearest
 *		The function whose name is most like the given one, for a hint; NULL
 *		when none is like it.
 */
const char *
aggregator_nearest(const char *name)
{
	int			length = strlen(name);
	int			best = Min(4, length / 2 + 1);	/* farther is not like it */
	const char *nearest = NULL;

	/* no name is that long, and the comparison takes quadratic time */
	if (length >= NAMEDATALEN)
		return NULL;

	for (int i = 0; i < lengthof(aggregators); i++)
	{
		const char *candidate = aggregators[i]->name;
		int			distance;

		distance = varstr_levenshtein_less_equal(name, length,
												 candidate, strlen(candidate),
												 1, 1, 1, best, true);
		if (distance < best)
		{
			best = distance;
			nearest = candidate;
		}
	}
	return nearest;
}

/*
 * aggregator_takes_option
 *		Whether the function knows an option fields.<column>.<name>.
 */
bool
aggregator_takes_option(const FieldAggregator *function, const char *name)
{
	if (function->options == NULL)
		return false;

	for (const char *const *option = function->options; *option != NULL; option++)
	{
		if (strcmp(*option, name) == 0)
			return true;
	}
	return false;
}

/*
 * aggregator_is_option
 *		Whether any function knows an option fields.<column>.<name>.
 */
bool
aggregator_is_option(const char *name)
{
	for (int i = 0; i < lengthof(aggregators); i++)
	{
		if (aggregator_takes_option(aggregators[i], name))
			return true;
	}
	return aggregator_takes_option(&sql_function_aggregator, name);
}

/*
 * aggregator_option
 *		The value of a column's option as it was written, or NULL.
 */
const char *
aggregator_option(const AggregatorColumn *column, const char *name)
{
	for (int i = 0; i < column->noptions; i++)
	{
		if (strcmp(column->options[i].name, name) == 0)
			return column->options[i].value;
	}
	return NULL;
}

/*
 * aggregator_bool_option
 *		The value of a column's boolean option, "missing" where it is not
 *		given.  Raises ERRCODE_INVALID_PARAMETER_VALUE for any other text.
 */
bool
aggregator_bool_option(const AggregatorColumn *column, const char *name,
					   bool missing)
{
	const char *value = aggregator_option(column, name);
	bool		result;

	if (value == NULL)
		return missing;
	if (!parse_bool(value, &result))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"fields.%s.%s\": \"%s\"",
						column->column, name, value),
				 errhint("Write \"true\" or \"false\".")));
	return result;
}

/*
 * aggregator_refuse_type
 *		Raises ERRCODE_DATATYPE_MISMATCH: the column's function does not take
 *		its type.  The hint, a whole sentence, says what does.
 */
void
aggregator_refuse_type(const AggregatorColumn *column, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("aggregate function \"%s\" does not take column \"%s\" of type %s",
					column->function->name, column->column,
					format_type_with_typemod(column->type, column->typmod)),
			 errhint("%s", hint)));
}

/*
 * aggregator_all
 *		Every function, for views and documentation.
 */
const FieldAggregator *const *
aggregator_all(int *count)
{
	*count = lengthof(aggregators);
	return aggregators;
}
