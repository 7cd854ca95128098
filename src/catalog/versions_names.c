/*
 * versions_names.c
 *	  Versions values by column name: for reading, and from other tables.
 *
 * Inside its table a versions value goes by column numbers (merge/versions.c).
 * Anywhere else numbers mean nothing: so a value is shown as JSON with the
 * names that its table's columns have now, and one that comes in as JSON stays
 * so until a row with it is written to a table that merges by it.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "catalog/plain_text.h"
#include "catalog/versions_names.h"
#include "merge/versions.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Is it the type merge_engine.versions? */
bool
versions_is_type(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form;
	char	   *schema;
	bool		result;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_type) GETSTRUCT(tuple);
	schema = get_namespace_name(form->typnamespace);
	result = strcmp(NameStr(form->typname), "versions") == 0 &&
		schema != NULL && strcmp(schema, "merge_engine") == 0;
	ReleaseSysCache(tuple);
	return result;
}

/* The text form of a JSON value that goes by name. */
static char *
versions_text(Datum value)
{
	struct varlena *versions = PG_DETOAST_DATUM_PACKED(value);

	return pnstrdup(VARDATA_ANY(versions) + 1, VARSIZE_ANY_EXHDR(versions) - 1);
}

/* Put one field of a version. */
static void
json_put_field(StringInfo json, Oid type, NullableDatum field)
{
	Oid			output;
	bool		isvarlena;
	char	   *text;

	if (field.isnull)
	{
		appendStringInfoString(json, "null");
		return;
	}
	getTypeOutputInfo(type, &output, &isvarlena);
	text = OidOutputFunctionCall(output, field.value);
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
			if (strspn(text, "-0123456789.") == strlen(text))
			{
				appendStringInfoString(json, text);
				return;
			}
	}
	escape_json(json, text);
}

/* Put a group's version. */
static void
json_put_version(StringInfo json, const VersionsReader *reader, SequenceValue version)
{
	if (version == NULL)
	{
		appendStringInfoString(json, "[]");
		return;
	}
	if (reader->nfields > 1)
		appendStringInfoChar(json, '[');
	for (int i = 0; i < reader->nfields; i++)
	{
		if (i > 0)
			appendStringInfoString(json, ", ");
		json_put_field(json, reader->types[i], version[i]);
	}
	if (reader->nfields > 1)
		appendStringInfoChar(json, ']');
}

/* The name of a column, NULL if it has been dropped. */
static char *
column_name(Oid table, int column)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table),
										Int16GetDatum(column));
	Form_pg_attribute attribute;
	char	   *name = NULL;

	if (!HeapTupleIsValid(tuple))
		return NULL;
	attribute = (Form_pg_attribute) GETSTRUCT(tuple);
	if (!attribute->attisdropped)
		name = pstrdup(NameStr(attribute->attname));
	ReleaseSysCache(tuple);
	return name;
}

/* Put the entries of a value that goes by number. */
static void
json_put_groups(StringInfo json, VersionsReader *reader)
{
	int16	   *typlen = palloc(reader->nfields * sizeof(int16));
	bool	   *typbyval = palloc(reader->nfields * sizeof(bool));
	bool		table_exists = SearchSysCacheExists1(RELOID, ObjectIdGetDatum(reader->table));
	SequenceValue version;

	for (int i = 0; i < reader->nfields; i++)
	{
		if (!SearchSysCacheExists1(TYPEOID, ObjectIdGetDatum(reader->types[i])))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("corrupted versions value"),
					 errdetail("Type %u of a sequence field does not exist.", reader->types[i])));
		get_typlenbyval(reader->types[i], &typlen[i], &typbyval[i]);
	}
	while (versions_next(reader, typlen, typbyval, &version))
	{
		bool		removal = reader->ncolumns == 0;
		int			column = 0;

		while (removal || (column = versions_next_column(reader)) > 0)
		{
			char	   *name = removal ? pstrdup("") :
								   column_name(reader->table, column);

			if (name == NULL && table_exists)
				continue;		/* dropped */
			if (json->len > 1)
				appendStringInfoString(json, ", ");
			escape_json(json, name ? name : psprintf("column %d of dropped table %u", column, reader->table));
			appendStringInfoString(json, ": ");
			json_put_version(json, reader, version);
			if (removal)
				break;
		}
	}
}

/* A value as JSON text. */
char *
versions_to_json(Datum value)
{
	VersionsReader reader;
	StringInfoData json;
	PlainText	settings;

	if (!versions_begin(&reader, value))
		return versions_text(value);

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');

	plain_text_begin(&settings, false);
	PG_TRY();
	{
		json_put_groups(&json, &reader);
	}
	PG_FINALLY();
	{
		plain_text_end(&settings);
	}
	PG_END_TRY();
	appendStringInfoChar(&json, '}');
	return json.data;
}

/* Refuse JSON text. */
static void
pg_attribute_noreturn()
	versions_malformed(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input for type merge_engine.versions"),
			 errdetail("%s", detail),
			 errhint("Give a JSON object of columns and sequence values, such as {\"status\": 3}.")));
}

/* Check the shape: an object of scalars, or of arrays of scalars. */
static void
versions_check(Jsonb *jsonb)
{
	JsonbIterator *iterator = JsonbIteratorInit(&jsonb->root);
	JsonbIteratorToken token;
	JsonbValue	value;
	int			depth = 0;

	if (!JB_ROOT_IS_OBJECT(jsonb))
		versions_malformed("It is not a JSON object.");
	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		if (token == WJB_BEGIN_OBJECT || token == WJB_BEGIN_ARRAY)
		{
			if (++depth > 2 || (depth == 2 && token == WJB_BEGIN_OBJECT))
				versions_malformed("A version is one sequence value, or an array of them.");
		}
		else if (token == WJB_END_OBJECT || token == WJB_END_ARRAY)
			depth--;
	}
}

/* A value that goes by name. */
Datum
versions_from_json(const char *json)
{
	Jsonb	   *jsonb = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(json)));
	char	   *text;
	Size		length;
	char	   *result;

	versions_check(jsonb);
	text = JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb));
	length = strlen(text);
	result = palloc(VARHDRSZ + 1 + length);
	SET_VARSIZE(result, VARHDRSZ + 1 + length);
	VARDATA(result)
	[0] = VERSIONS_BY_NAME;
	memcpy(VARDATA(result) + 1, text, length);
	return PointerGetDatum(result);
}

/* One field of a version, from JSON. */
static NullableDatum
version_field(Oid type, const JsonbValue *value)
{
	NullableDatum field = {0, true};
	char	   *text;
	Oid			input;
	Oid			ioparam;

	switch (value->type)
	{
		case jbvNull:
			return field;
		case jbvString:
			text = pnstrdup(value->val.string.val, value->val.string.len);
			break;
		case jbvNumeric:
			text = DatumGetCString(DirectFunctionCall1(numeric_out,
													   NumericGetDatum(value->val.numeric)));
			break;
		case jbvBool:
			text = pstrdup(value->val.boolean ? "true" : "false");
			break;
		default:
			versions_malformed("A version is one sequence value, or an array of them.");
	}
	getTypeInputInfo(type, &input, &ioparam);
	field.value = OidInputFunctionCall(input, text, ioparam, -1);
	field.isnull = false;
	return field;
}

/* A version, from JSON; NULL for []. */
static SequenceValue
version_from_json(const SequenceOrder *order, JsonbValue *value)
{
	SequenceValue version = palloc(order->ncolumns * sizeof(NullableDatum));
	JsonbContainer *array;
	int			count;

	if (value->type != jbvBinary)
	{
		if (order->ncolumns != 1)
			versions_malformed("The table has several sequence fields: a version is an array of their values.");
		version[0] = version_field(order->types[0], value);
		return version;
	}
	array = value->val.binary.data;
	count = JsonContainerSize(array);
	if (count == 0)
		return NULL;
	if (count != order->ncolumns)
		versions_malformed("A version has as many values as the table has sequence fields.");
	for (int i = 0; i < count; i++)
		version[i] = version_field(order->types[i],
								   getIthJsonbValueFromContainer(array, i));
	return version;
}

/* The column of that name, or -1. */
static int
plan_column(const MergePlan *plan, const char *name, int length)
{
	for (int c = 0; c < plan->natts; c++)
	{
		if (!plan->columns[c].dropped && strlen(plan->columns[c].name) == length &&
			memcmp(plan->columns[c].name, name, length) == 0)
			return c;
	}
	return -1;
}

/* Put the entries of JSON text into the buffer, in the table's own form. */
static void
adopt_entries(const MergePlan *plan, Jsonb *jsonb, StringInfo buffer)
{
	JsonbIterator *iterator = JsonbIteratorInit(&jsonb->root);
	JsonbIteratorToken token;
	JsonbValue	key;
	JsonbValue	value;

	while ((token = JsonbIteratorNext(&iterator, &key, true)) != WJB_DONE)
	{
		SequenceValue version;
		int			column = -1;
		bool		removal;

		if (token != WJB_KEY)
			continue;
		(void) JsonbIteratorNext(&iterator, &value, true);
		removal = key.val.string.len == 0;
		if (!removal)
			column = plan_column(plan, key.val.string.val, key.val.string.len);
		if (!removal && column < 0)
			continue;			/* another table's, or one that is gone */
		version = version_from_json(plan->sequence, &value);
		if (removal && version == NULL)
			continue;
		versions_put_group(plan, buffer, version, column);
	}
}

/* A value as one of the plan's table. */
Datum
versions_adopt(const MergePlan *plan, Datum value)
{
	VersionsReader reader;
	StringInfoData buffer;
	Jsonb	   *jsonb;

	if (versions_begin(&reader, value) &&
		!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(reader.table)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("versions value for table \"%s\" is of a table that does not exist",
						plan->table),
				 errdetail("The names of its columns are lost."),
				 errhint("Set the versions to NULL, or copy them as text before their table is dropped.")));
	jsonb = DatumGetJsonbP(DirectFunctionCall1(jsonb_in,
											   CStringGetDatum(versions_to_json(value))));
	versions_check(jsonb);
	versions_put_header(plan, &buffer);
	adopt_entries(plan, jsonb, &buffer);
	return versions_finish(&buffer);
}
