/*
 * options.c
 *	  The values of a merge table's options, and how they are stored.
 *
 * Stored options are canonical: names as in option_names.c, enum and boolean
 * values in lower case, column lists without blanks.
 */
#include "postgres.h"

#include <ctype.h>

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "catalog/nearest_name.h"
#include "catalog/options.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

/* What the value of an option must look like. */
typedef enum OptionType
{
	OPTION_TYPE_ENGINE,
	OPTION_TYPE_SORT_ORDER,
	OPTION_TYPE_BOOLEAN,
	OPTION_TYPE_EXPLICIT_NULL,
	OPTION_TYPE_INTERVAL,
	OPTION_TYPE_COLUMN,
	OPTION_TYPE_COLUMNS,
	OPTION_TYPE_TEXT
} OptionType;

typedef struct OptionDefinition
{
	const char *name;
	OptionType	type;
	bool		decides_meaning;	/* may change only while the table is empty */
} OptionDefinition;

static const OptionDefinition table_definitions[] = {
	{"merge-engine", OPTION_TYPE_ENGINE, true},
	{"sequence.field", OPTION_TYPE_COLUMNS, true},
	{"sequence.field.sort-order", OPTION_TYPE_SORT_ORDER, true},
	{"rowkind.field", OPTION_TYPE_COLUMN, true},
	{"versions.field", OPTION_TYPE_COLUMN, true},
	{"columns.field", OPTION_TYPE_COLUMN, false},
	{"explicit-null", OPTION_TYPE_EXPLICIT_NULL, false},
	{"tombstones", OPTION_TYPE_BOOLEAN, false},
	{"tombstones.retention", OPTION_TYPE_INTERVAL, false},
	{"ignore-delete", OPTION_TYPE_BOOLEAN, false},
	{"ignore-update-before", OPTION_TYPE_BOOLEAN, false},
	{"partial-update.remove-record-on-delete", OPTION_TYPE_BOOLEAN, false},
	{"partial-update.remove-record-on-sequence-group", OPTION_TYPE_COLUMNS, false},
	{"aggregation.remove-record-on-delete", OPTION_TYPE_BOOLEAN, false},
	{"fields.default-aggregate-function", OPTION_TYPE_TEXT, true},
	{NULL}
};

/* By suffix; the options of a function are OPTION_TYPE_TEXT. */
static const OptionDefinition column_definitions[] = {
	{"sequence-group", OPTION_TYPE_COLUMNS, true},
	{"aggregate-function", OPTION_TYPE_TEXT, true},
	{"ignore-retract", OPTION_TYPE_BOOLEAN, false},
	{"explicit-null", OPTION_TYPE_EXPLICIT_NULL, false},
	{NULL, OPTION_TYPE_TEXT, true}
};

static const char *const engine_names[] = {
	[MERGE_DEDUPLICATE] = "deduplicate",
	[MERGE_PARTIAL_UPDATE] = "partial-update",
	[MERGE_AGGREGATION] = "aggregation",
	[MERGE_FIRST_ROW] = "first-row",
};

static const char *const sort_orders[] = {"ascending", "descending"};

static const char *const explicit_nulls[] = {"absent", "clear"};

/* The definition of a canonical option name. */
static const OptionDefinition *
option_definition(const char *name)
{
	const OptionDefinition *definition;
	char	   *columns;
	char	   *suffix;

	for (definition = table_definitions; definition->name; definition++)
	{
		if (strcmp(name, definition->name) == 0)
			return definition;
	}
	if (!option_field_parts(name, &columns, &suffix))
		elog(ERROR, "not a merge option: \"%s\"", name);
	for (definition = column_definitions; definition->name; definition++)
	{
		if (strcmp(suffix, definition->name) == 0)
			break;
	}
	return definition;
}

/* Whether the option decides what stored rows mean. */
bool
option_decides_meaning(const char *name)
{
	return option_definition(name)->decides_meaning;
}

/*
 * Read one column name at *cursor: in double quotes, or literal up to the next
 * comma, without surrounding blanks.  NULL when it is malformed or empty.
 */
static char *
column_name_read(const char **cursor)
{
	const char *c = *cursor;
	StringInfoData name;

	initStringInfo(&name);
	while (isspace((unsigned char) *c))
		c++;
	if (*c == '"')
	{
		for (c++;; c++)
		{
			if (*c == '\0')
				return NULL;
			if (*c == '"' && *++c != '"')
				break;
			appendStringInfoChar(&name, *c);
		}
		while (isspace((unsigned char) *c))
			c++;
		if (*c != '\0' && *c != ',')
			return NULL;
	}
	else
	{
		while (*c != '\0' && *c != ',')
			appendStringInfoChar(&name, *c++);
		while (name.len > 0 && isspace((unsigned char) name.data[name.len - 1]))
			name.data[--name.len] = '\0';
	}
	*cursor = c;
	return name.len > 0 ? name.data : NULL;
}

/* Parse column names separated by commas. */
List *
column_list_parse(const char *string)
{
	List	   *columns = NIL;
	const char *cursor = string;

	for (;;)
	{
		char	   *name = column_name_read(&cursor);

		if (name == NULL)
			return NIL;
		columns = lappend(columns, name);
		if (*cursor == '\0')
			return columns;
		cursor++;				/* the comma */
	}
}

/* Column names separated by commas, quoted where they must be. */
char *
column_list_format(List *columns)
{
	StringInfoData string;
	ListCell   *cell;

	initStringInfo(&string);
	foreach(cell, columns)
	{
		const char *name = (const char *) lfirst(cell);
		int			length = strlen(name);

		if (string.len > 0)
			appendStringInfoChar(&string, ',');
		if (name[0] == '"' || strchr(name, ',') != NULL ||
			isspace((unsigned char) name[0]) ||
			isspace((unsigned char) name[length - 1]))
		{
			appendStringInfoChar(&string, '"');
			for (; *name; name++)
			{
				if (*name == '"')
					appendStringInfoChar(&string, '"');
				appendStringInfoChar(&string, *name);
			}
			appendStringInfoChar(&string, '"');
		}
		else
			appendStringInfoString(&string, name);
	}
	return string.data;
}

/* Refuse a value. */
static void
pg_attribute_noreturn()
	value_error(const char *name, const char *value, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", name, value),
			 errhint("%s", hint)));
}

/*
 * The index of an enum value, without regard to case; `_` stands for `-`.
 */
static int
enum_value(const char *name, const char *value,
		   const char *const *allowed, int count)
{
	NearestName nearest;
	StringInfoData list;
	char	   *lower = pstrdup(value);

	for (char *c = lower; *c; c++)
		*c = *c == '_' ? '-' : pg_tolower((unsigned char) *c);

	for (int i = 0; i < count; i++)
	{
		if (strcmp(lower, allowed[i]) == 0)
			return i;
	}

	nearest_name_start(&nearest, lower);
	initStringInfo(&list);
	for (int i = 0; i < count; i++)
	{
		nearest_name_offer(&nearest, allowed[i]);
		appendStringInfo(&list, "%s\"%s\"", i > 0 ? ", " : "", allowed[i]);
	}
	if (nearest.match)
		value_error(name, value,
					psprintf("Perhaps you meant \"%s\".", nearest.match));
	value_error(name, value, psprintf("Valid values are %s.", list.data));
}

/* A boolean value, without regard to case. */
static bool
boolean_value(const char *name, const char *value)
{
	bool		result;

	if (!parse_bool(value, &result))
		value_error(name, value, "Valid values are \"true\" and \"false\".");
	return result;
}

/* Check an interval. */
static void
interval_value(const char *name, const char *value)
{
	Interval   *interval = DatumGetIntervalP(DirectFunctionCall3(interval_in,
																 CStringGetDatum(value),
																 ObjectIdGetDatum(InvalidOid),
																 Int32GetDatum(-1)));

	if (interval->time < 0 || interval->day < 0 || interval->month < 0)
		value_error(name, value, "Give an interval that is not negative, such as '30 days'.");
}

/* A list of columns, each named once. */
static List *
columns_value(const char *name, const char *value)
{
	List	   *columns = column_list_parse(value);
	ListCell   *cell;

	if (columns == NIL)
		value_error(name, value,
					"Give column names separated by commas; a name with a comma or blanks around it goes in double quotes.");
	foreach(cell, columns)
	{
		ListCell   *other;

		for_each_cell(other, columns, lnext(columns, cell))
		{
			if (strcmp((char *) lfirst(cell), (char *) lfirst(other)) == 0)
				value_error(name, value,
							psprintf("Name column \"%s\" only once.",
									 (char *) lfirst(cell)));
		}
	}
	return columns;
}

/* A single column. */
static char *
column_value(const char *name, const char *value)
{
	List	   *columns = column_list_parse(value);

	if (list_length(columns) != 1)
		value_error(name, value, "Name one column.");
	return (char *) linitial(columns);
}

/* The canonical form of a value. */
char *
option_canonical_value(const char *name, const char *value)
{
	switch (option_definition(name)->type)
	{
		case OPTION_TYPE_ENGINE:
			return pstrdup(engine_names[enum_value(name, value, engine_names,
												   lengthof(engine_names))]);
		case OPTION_TYPE_SORT_ORDER:
			return pstrdup(sort_orders[enum_value(name, value, sort_orders,
												  lengthof(sort_orders))]);
		case OPTION_TYPE_EXPLICIT_NULL:
			return pstrdup(explicit_nulls[enum_value(name, value, explicit_nulls,
													 lengthof(explicit_nulls))]);
		case OPTION_TYPE_INTERVAL:
			interval_value(name, value);
			break;
		case OPTION_TYPE_BOOLEAN:
			return pstrdup(boolean_value(name, value) ? "true" : "false");
		case OPTION_TYPE_COLUMN:
			return column_list_format(list_make1(column_value(name, value)));
		case OPTION_TYPE_COLUMNS:
			return column_list_format(columns_value(name, value));
		case OPTION_TYPE_TEXT:
			break;
	}
	return pstrdup(value);
}

/* The columns that an option names. */
List *
option_columns(const MergeOption *option)
{
	OptionType	type = option_definition(option->name)->type;
	List	   *result = NIL;
	char	   *columns;
	char	   *suffix;

	if (option_field_parts(option->name, &columns, &suffix))
		result = column_list_parse(columns);
	if (type == OPTION_TYPE_COLUMN || type == OPTION_TYPE_COLUMNS)
		result = list_concat(result, column_list_parse(option->value));
	return result;
}

/* A column list with one name changed; NULL when it does not hold it. */
static char *
column_list_rename(const char *string, const char *old_name, const char *new_name)
{
	List	   *columns = column_list_parse(string);
	ListCell   *cell;
	bool		found = false;

	foreach(cell, columns)
	{
		if (strcmp((char *) lfirst(cell), old_name) == 0)
		{
			lfirst(cell) = pstrdup(new_name);
			found = true;
		}
	}
	return found ? column_list_format(columns) : NULL;
}

/* The option with one column renamed, or the same option. */
MergeOption *
option_rename_column(MergeOption *option, const char *old_name,
					 const char *new_name)
{
	OptionType	type = option_definition(option->name)->type;
	char	   *name = NULL;
	char	   *value = NULL;
	char	   *columns;
	char	   *suffix;
	MergeOption *result;

	if (option_field_parts(option->name, &columns, &suffix))
	{
		columns = column_list_rename(columns, old_name, new_name);
		if (columns)
			name = psprintf("fields.%s.%s", columns, suffix);
	}
	if (type == OPTION_TYPE_COLUMN || type == OPTION_TYPE_COLUMNS)
		value = column_list_rename(option->value, old_name, new_name);
	if (!name && !value)
		return option;

	result = palloc(sizeof(MergeOption));
	result->name = name ? name : option->name;
	result->value = value ? value : option->value;
	return result;
}

/* Split a reloptions value into ours and the others. */
List *
options_split(Datum reloptions, List **others)
{
	List	   *options = NIL;
	Datum	   *elements;
	bool	   *nulls;
	int			count;

	if (others)
		*others = NIL;
	if (!PointerIsValid(DatumGetPointer(reloptions)))
		return NIL;

	deconstruct_array(DatumGetArrayTypeP(reloptions), TEXTOID, -1, false,
					  TYPALIGN_INT, &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		char	   *string;
		char	   *equals;
		char	   *name = NULL;
		MergeOption *option;

		if (nulls[i])
			continue;
		string = TextDatumGetCString(elements[i]);
		equals = strchr(string, '=');
		if (equals == NULL ||
			option_kind(pnstrdup(string, equals - string), &name) != OPTION_MERGE)
		{
			if (others)
				*others = lappend(*others, string);
			continue;
		}
		option = palloc(sizeof(MergeOption));
		option->name = name;
		option->value = pstrdup(equals + 1);
		options = lappend(options, option);
	}
	return options;
}

/* The reloptions value of others and ours. */
Datum
options_join(List *others, List *options)
{
	ArrayBuildState *state = NULL;
	ListCell   *cell;

	foreach(cell, others)
		state = accumArrayResult(state,
								 CStringGetTextDatum((char *) lfirst(cell)),
								 false, TEXTOID, CurrentMemoryContext);
	foreach(cell, options)
	{
		MergeOption *option = (MergeOption *) lfirst(cell);
		char	   *string = psprintf("%s=%s", option->name, option->value);

		state = accumArrayResult(state, CStringGetTextDatum(string),
								 false, TEXTOID, CurrentMemoryContext);
	}
	return state ? makeArrayResult(state, CurrentMemoryContext) : (Datum) 0;
}

/* Our options as stored for a relation. */
List *
options_stored(Oid relid, List **others)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Datum		reloptions;
	bool		isnull;
	List	   *options;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	reloptions = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &isnull);
	options = options_split(isnull ? (Datum) 0 : reloptions, others);
	ReleaseSysCache(tuple);
	return options;
}

/* Parse one option that belongs to a column. */
static void
options_parse_field(MergeOptions *result, const MergeOption *option,
					const char *columns, char *suffix)
{
	FieldOption *field;

	if (strcmp(suffix, "sequence-group") == 0)
	{
		GroupOption *group = palloc0(sizeof(GroupOption));

		group->name = option->name;
		group->sequence_fields = columns_value(option->name, columns);
		group->columns = columns_value(option->name, option->value);
		result->groups = lappend(result->groups, group);
		return;
	}

	field = palloc0(sizeof(FieldOption));
	field->option = option->name;
	field->column = column_value(option->name, columns);
	field->name = suffix;
	field->value = option->value;
	if (strcmp(suffix, "ignore-retract") == 0)
		(void) boolean_value(option->name, option->value);
	if (strcmp(suffix, "explicit-null") == 0)
		(void) enum_value(option->name, option->value, explicit_nulls,
						  lengthof(explicit_nulls));
	result->fields = lappend(result->fields, field);
}

/* Parse one option. */
static void
options_parse_one(MergeOptions *result, const MergeOption *option)
{
	const char *name = option->name;
	char	   *value = option->value;
	char	   *columns;
	char	   *suffix;

	if (strcmp(name, "merge-engine") == 0)
	{
		result->has_engine = true;
		result->engine = enum_value(name, value, engine_names,
									lengthof(engine_names));
	}
	else if (strcmp(name, "sequence.field") == 0)
		result->sequence_fields = columns_value(name, value);
	else if (strcmp(name, "sequence.field.sort-order") == 0)
	{
		result->has_sort_order = true;
		result->descending = enum_value(name, value, sort_orders,
										lengthof(sort_orders)) == 1;
	}
	else if (strcmp(name, "rowkind.field") == 0)
		result->rowkind_field = column_value(name, value);
	else if (strcmp(name, "versions.field") == 0)
		result->versions_field = column_value(name, value);
	else if (strcmp(name, "columns.field") == 0)
		result->columns_field = column_value(name, value);
	else if (strcmp(name, "explicit-null") == 0)
		result->explicit_null = enum_value(name, value, explicit_nulls,
										   lengthof(explicit_nulls)) == 1;
	else if (strcmp(name, "tombstones") == 0)
		result->tombstones = boolean_value(name, value);
	else if (strcmp(name, "tombstones.retention") == 0)
		result->retention = value;
	else if (strcmp(name, "ignore-delete") == 0)
		result->ignore_delete = boolean_value(name, value);
	else if (strcmp(name, "ignore-update-before") == 0)
		result->ignore_update_before = boolean_value(name, value);
	else if (strcmp(name, "partial-update.remove-record-on-delete") == 0)
		result->pu_remove_on_delete = boolean_value(name, value);
	else if (strcmp(name, "partial-update.remove-record-on-sequence-group") == 0)
		result->remove_on_groups = columns_value(name, value);
	else if (strcmp(name, "aggregation.remove-record-on-delete") == 0)
		result->agg_remove_on_delete = boolean_value(name, value);
	else if (strcmp(name, "fields.default-aggregate-function") == 0)
		result->default_function = value;
	else if (option_field_parts(name, &columns, &suffix))
		options_parse_field(result, option, columns, suffix);
	else
		elog(ERROR, "not a merge option: \"%s\"", name);
}

/* Parse our options. */
MergeOptions *
options_parse(List *options)
{
	MergeOptions *result = palloc0(sizeof(MergeOptions));
	ListCell   *cell;

	foreach(cell, options)
	{
		MergeOption *option = (MergeOption *) lfirst(cell);
		ListCell   *other;

		for_each_cell(other, options, lnext(options, cell))
		{
			if (strcmp(option->name, ((MergeOption *) lfirst(other))->name) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_SYNTAX_ERROR),
						 errmsg("option \"%s\" is given more than once",
								option->name),
						 errhint("Spellings with \"_\" and \"-\" name the same option.")));
		}
		options_parse_one(result, option);
	}
	return result;
}
