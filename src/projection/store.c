/*
 * store.c
 *	  Our catalog tables: the definitions, sources and watermarks of projections.
 *
 * Nobody has rights on these tables; they are read and written as their owner.  They
 * are ordinary tables, so that pg_dump can carry them, and change with the transaction.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "compat.h"
#include "projection/projection.h"

#define STORE_SCHEMA "merge_engine"

/* The OID of the definitions' table. */
static Oid
store_relation(void)
{
	return get_relname_relid("projection_definition",
							 get_namespace_oid(STORE_SCHEMA, false));
}

/* Run a statement on our tables as their owner; as SPI_execute_with_args. */
int
store_execute(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls)
{
	Oid			userid;
	int			sec_context;
	Relation	rel = table_open(store_relation(), AccessShareLock);
	Oid			owner = rel->rd_rel->relowner;
	int			result;

	table_close(rel, NoLock);
	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(owner, sec_context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	result = SPI_execute_with_args(sql, nargs, types, values, nulls, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(result));
	SetUserIdAndSecContext(userid, sec_context);
	return result;
}

/* A text[] as a list of C strings. */
static List *
names_from_array(Datum array)
{
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	List	   *names = NIL;

	deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
		names = lappend(names, TextDatumGetCString(elements[i]));
	return names;
}

/* A list of C strings as a text[]. */
static Datum
names_to_array(List *names)
{
	Datum	   *elements = palloc(sizeof(Datum) * (list_length(names) + 1));
	ListCell   *lc;

	foreach(lc, names)
		elements[foreach_current_index(lc)] = CStringGetTextDatum(lfirst(lc));
	return PointerGetDatum(construct_array(elements, list_length(names), TEXTOID, -1,
										   false, TYPALIGN_INT));
}

/* A column of the first row SPI returned, or NULL as C string. */
static char *
spi_string(int row, int column)
{
	return SPI_getvalue(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column);
}

/*
 * A projection's definition, with the names of its fields and without watermarks.
 *
 * SPI must be connected.  Result: palloc'd in the caller's context.  Errors: the
 * relation is not a projection; its view is gone, if the caller needs it.
 */
Projection *
store_load(Oid target, bool with_view)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext old;
	Projection *projection;
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(target)};
	HeapTuple	tuple;
	TupleDesc	tupdesc;
	Datum		datum;
	bool		isnull;

	store_execute("SELECT d.view::oid, d.mode, d.when_not_matched, d.affected_keys, d.view_definition,"
				  " d.unique_key, d.replace_key,"
				  " ARRAY(SELECT s.field FROM " STORE_SCHEMA ".projection_source s"
				  "       WHERE s.projection = d.projection ORDER BY s.position)"
				  " FROM " STORE_SCHEMA ".projection_definition d WHERE d.projection = $1",
				  1, types, values, NULL);
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a projection", get_rel_name(target)),
				 errhint("merge_engine.projections lists the projections.")));

	old = MemoryContextSwitchTo(context);
	tuple = SPI_tuptable->vals[0];
	tupdesc = SPI_tuptable->tupdesc;
	projection = palloc0(sizeof(Projection));
	projection->target = target;
	projection->view = DatumGetObjectId(SPI_getbinval(tuple, tupdesc, 1, &isnull));
	projection->mode = projection_mode_from_name(spi_string(0, 2));
	projection->not_matched = projection_not_matched_from_name(spi_string(0, 3));
	projection->affected_keys = spi_string(0, 4);
	projection->built_definition = spi_string(0, 5);
	datum = SPI_getbinval(tuple, tupdesc, 6, &isnull);
	if (!isnull)
		projection->unique_key = names_from_array(datum);
	datum = SPI_getbinval(tuple, tupdesc, 7, &isnull);
	if (!isnull)
		projection->replace_key = names_from_array(datum);
	projection->incremental_fields = names_from_array(SPI_getbinval(tuple, tupdesc, 8, &isnull));
	if (with_view && get_rel_relkind(projection->view) != RELKIND_VIEW)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the view of projection \"%s\" no longer exists", get_rel_name(target)),
				 errhint("Give it a view with merge_engine.alter_projection, or drop it with merge_engine.drop_projection.")));
	MemoryContextSwitchTo(old);
	return projection;
}

/*
 * Load the watermarks of the projection's sources, which must be resolved.  A source
 * that is not the stored one any more keeps none, and asks for a full build.
 */
void
store_load_watermarks(Projection *projection)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext old;
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(projection->target)};
	SPITupleTable *table;
	uint64		rows;
	ListCell   *lc;

	store_execute("SELECT field, source::oid, source_column, watermark FROM " STORE_SCHEMA
				  ".projection_source WHERE projection = $1 ORDER BY position",
				  1, types, values, NULL);
	table = SPI_tuptable;
	rows = SPI_processed;
	old = MemoryContextSwitchTo(context);
	foreach(lc, projection->sources)
	{
		ProjectionSource *source = lfirst(lc);
		bool		found = false;

		for (uint64 row = 0; row < rows; row++)
		{
			char	   *field = SPI_getvalue(table->vals[row], table->tupdesc, 1);
			bool		isnull;
			Oid			relid = DatumGetObjectId(SPI_getbinval(table->vals[row], table->tupdesc, 2, &isnull));
			char	   *column = SPI_getvalue(table->vals[row], table->tupdesc, 3);
			char	   *watermark = SPI_getvalue(table->vals[row], table->tupdesc, 4);

			if (strcmp(field, source->field) != 0 || relid != source->relid ||
				strcmp(column, source->column) != 0)
				continue;
			found = true;
			if (watermark)
			{
				source->has_watermark = true;
				source->watermark = watermark_from_text(source, watermark);
			}
		}
		if (!found)
			projection->built_definition = NULL;
	}
	MemoryContextSwitchTo(old);
}

/*
 * A projection's stored watermarks as a JSON object by field, in the given context.
 * SPI must be connected.  Numbers stay numbers, other values are text.
 */
char *
store_watermarks_json(Oid target, MemoryContext context)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(target)};
	char	   *json;

	store_execute("SELECT pg_catalog.jsonb_object_agg(s.field, CASE"
				  "  WHEN a.atttypid IN ('pg_catalog.int2'::pg_catalog.regtype, 'pg_catalog.int4'::pg_catalog.regtype,"
				  "    'pg_catalog.int8'::pg_catalog.regtype, 'pg_catalog.numeric'::pg_catalog.regtype)"
				  "  THEN pg_catalog.to_jsonb(s.watermark::numeric) ELSE pg_catalog.to_jsonb(s.watermark) END)"
				  " FROM " STORE_SCHEMA ".projection_source s LEFT JOIN pg_catalog.pg_attribute a"
				  "  ON a.attrelid = s.source AND a.attname = s.source_column"
				  " WHERE s.projection = $1",
				  1, types, values, NULL);
	json = spi_string(0, 1);
	return json ? MemoryContextStrdup(context, json) : NULL;
}

/* Write the sources, with the bounds as watermarks. */
static void
store_save_sources(const Projection *projection)
{
	Oid			types[] = {OIDOID, INT4OID, TEXTOID, OIDOID, TEXTOID, TEXTOID};
	Datum		values[6];
	ListCell   *lc;

	values[0] = ObjectIdGetDatum(projection->target);
	store_execute("DELETE FROM " STORE_SCHEMA ".projection_source WHERE projection = $1",
				  1, types, values, NULL);
	foreach(lc, projection->sources)
	{
		ProjectionSource *source = lfirst(lc);
		char		nulls[7] = "      ";

		values[1] = Int32GetDatum(foreach_current_index(lc) + 1);
		values[2] = CStringGetTextDatum(source->field);
		values[3] = ObjectIdGetDatum(source->relid);
		values[4] = CStringGetTextDatum(source->column);
		values[5] = (Datum) 0;
		if (source->has_bound)
			values[5] = CStringGetTextDatum(watermark_to_text(source, source->bound));
		else
			nulls[5] = 'n';
		store_execute("INSERT INTO " STORE_SCHEMA ".projection_source"
					  " (projection, position, field, source, source_column, watermark)"
					  " VALUES ($1, $2, $3, $4, $5, $6)",
					  6, types, values, nulls);
	}
}

/*
 * Store a new or altered definition, which starts a new cycle: no watermarks, and the
 * next refresh is full.  SPI must be connected.
 */
void
store_save(const Projection *projection)
{
	Oid			types[] = {OIDOID, OIDOID, TEXTOID, TEXTARRAYOID, TEXTOID, TEXTARRAYOID, TEXTOID};
	Datum		values[7];
	char		nulls[8] = "       ";

	values[0] = ObjectIdGetDatum(projection->target);
	values[1] = ObjectIdGetDatum(projection->view);
	values[2] = CStringGetTextDatum(projection_mode_name(projection->mode));
	values[3] = names_to_array(projection->unique_key);
	values[4] = CStringGetTextDatum(projection_not_matched_name(projection->not_matched));
	values[5] = names_to_array(projection->replace_key);
	values[6] = (Datum) 0;
	if (projection->unique_key == NIL)
		nulls[3] = 'n';
	if (projection->replace_key == NIL)
		nulls[5] = 'n';
	if (projection->affected_keys)
		values[6] = CStringGetTextDatum(projection->affected_keys);
	else
		nulls[6] = 'n';
	store_execute("INSERT INTO " STORE_SCHEMA ".projection_definition AS d"
				  " (projection, view, mode, unique_key, when_not_matched, replace_key, affected_keys)"
				  " VALUES ($1, $2, $3, $4, $5, $6, $7)"
				  " ON CONFLICT (projection) DO UPDATE SET view = excluded.view, mode = excluded.mode,"
				  " unique_key = excluded.unique_key, when_not_matched = excluded.when_not_matched,"
				  " replace_key = excluded.replace_key, affected_keys = excluded.affected_keys,"
				  " view_definition = NULL",
				  7, types, values, nulls);
	store_save_sources(projection);
}

/* Store the bounds as the new watermarks; with the view's text after a full build. */
void
store_save_watermarks(const Projection *projection, const char *definition)
{
	Oid			types[] = {OIDOID, TEXTOID};
	Datum		values[2];

	store_save_sources(projection);
	if (definition == NULL)
		return;
	values[0] = ObjectIdGetDatum(projection->target);
	values[1] = CStringGetTextDatum(definition);
	store_execute("UPDATE " STORE_SCHEMA ".projection_definition SET view_definition = $2"
				  " WHERE projection = $1",
				  2, types, values, NULL);
}

/* Delete what is stored of a projection. */
void
store_forget(Oid target)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(target)};

	store_execute("DELETE FROM " STORE_SCHEMA ".projection_source WHERE projection = $1",
				  1, types, values, NULL);
	store_execute("DELETE FROM " STORE_SCHEMA ".projection_history WHERE projection = $1",
				  1, types, values, NULL);
	store_execute("DELETE FROM " STORE_SCHEMA ".projection_definition WHERE projection = $1",
				  1, types, values, NULL);
}

/* Are our tables there?  While the extension is being dropped they are not. */
bool
store_exists(void)
{
	Oid			schema = get_namespace_oid(STORE_SCHEMA, true);

	return OidIsValid(schema) &&
		OidIsValid(get_relname_relid("projection_definition", schema)) &&
		OidIsValid(get_relname_relid("projection_source", schema)) &&
		OidIsValid(get_relname_relid("projection_history", schema));
}

/* The role that owns a relation. */
Oid
relation_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* Refuse a relation that does not exist or is not the current user's. */
void
store_check_owner(Oid target)
{
	if (get_rel_name(target) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("projection with OID %u does not exist", target)));
	if (!compat_relation_owned(target, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(target)),
					   get_rel_name(target));
}

/*
 * Lock a projection's table, and its definition against every other refresh.
 *
 * The definition has a lock of its own, because a lock on the table that excludes
 * another refresh would also exclude VACUUM, and be cancelled by it.
 * Errors: the relation does not exist or is not the current user's.
 */
void
store_lock(Oid target, int lockmode)
{
	store_check_owner(target);
	LockRelationOid(target, lockmode);
	store_check_owner(target);
	LockDatabaseObject(store_relation(), target, 0, ExclusiveLock);
}
