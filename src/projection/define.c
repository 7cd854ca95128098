/*
 * define.c
 *	  create_, alter_ and drop_projection, and what happens when others drop.
 *
 * Everything that a refresh could stumble over is refused here, with its reason and
 * the way out.  The table is an ordinary table of the user's: we create it, and later
 * add what a changed definition needs, by statements run as the user.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/event_trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "compat.h"
#include "projection/projection.h"

PG_FUNCTION_INFO_V1(projection_create);
PG_FUNCTION_INFO_V1(projection_alter);
PG_FUNCTION_INFO_V1(projection_drop);
PG_FUNCTION_INFO_V1(projection_on_drop);

static const char *const mode_names[] = {"insert", "merge", "delete_insert"};
static const char *const not_matched_names[] = {"insert", "ignore", "error"};

/* A mode's name. */
const char *
projection_mode_name(ProjectionMode mode)
{
	return mode_names[mode];
}

/* The mode of this name. */
ProjectionMode
projection_mode_from_name(const char *name)
{
	for (int i = 0; i < lengthof(mode_names); i++)
		if (strcmp(name, mode_names[i]) == 0)
			return (ProjectionMode) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown mode \"%s\"", name),
			 errhint("The modes are insert, merge and delete_insert.")));
}

/* The name of what to do with rows that are not matched. */
const char *
projection_not_matched_name(ProjectionNotMatched not_matched)
{
	return not_matched_names[not_matched];
}

/* What to do with rows that are not matched, by name. */
ProjectionNotMatched
projection_not_matched_from_name(const char *name)
{
	for (int i = 0; i < lengthof(not_matched_names); i++)
		if (strcmp(name, not_matched_names[i]) == 0)
			return (ProjectionNotMatched) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown when_not_matched \"%s\"", name),
			 errhint("It is one of insert, ignore and error.")));
}

/* A text[] argument as a list of names; NIL if it is NULL. */
static List *
names_argument(FunctionCallInfo fcinfo, int argument, const char *name)
{
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	List	   *names = NIL;

	if (PG_ARGISNULL(argument))
		return NIL;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(argument), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &count);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is empty", name),
				 errhint("Name at least one output column of the view.")));
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s contains NULL", name),
					 errhint("Name output columns of the view.")));
		names = lappend(names, TextDatumGetCString(elements[i]));
	}
	return names;
}

/* A text argument, or NULL. */
static char *
text_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));
}

/* Refuse an argument that the mode does not use. */
static void
refuse_argument(bool given, const char *argument, ProjectionMode mode)
{
	if (given)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("mode '%s' does not use %s", mode_names[mode], argument),
				 errhint("Leave the argument out, or choose another mode.")));
}

/* Ask for an argument that the mode needs. */
static void
require_argument(List *names, const char *argument, ProjectionMode mode)
{
	if (names == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("mode '%s' needs %s", mode_names[mode], argument),
				 errhint("Name output columns of the view.")));
}

/* Refuse anything but a permanent view that the current user may read. */
static void
view_check(Oid view)
{
	char		relkind = get_rel_relkind(view);

	if (relkind == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("view with OID %u does not exist", view)));
	if (relkind != RELKIND_VIEW)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a view", get_rel_name(view)),
				 errdetail_relkind_not_supported(relkind),
				 errhint("Create a view that computes the result, and project that.")));
	if (get_rel_persistence(view) == RELPERSISTENCE_TEMP)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("temporary view \"%s\" cannot be projected", get_rel_name(view)),
				 errhint("Use a view that outlives the session, over permanent tables.")));
	if (pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_VIEW, get_rel_name(view));
}

/* insert and merge take a result row as one row of each source: refuse other views. */
static void
view_check_rows(const Projection *projection, const Lineage *lineage)
{
	if (lineage->outer_join)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("mode '%s' allows inner joins only, and view \"%s\" uses an outer join",
						mode_names[projection->mode], get_rel_name(projection->view)),
				 errdetail("A row whose other side is missing would change when the other side arrives."),
				 errhint("Use mode 'delete_insert'.")));
	if (lineage->row_obstacle)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("mode '%s' cannot use view \"%s\"",
						mode_names[projection->mode], get_rel_name(projection->view)),
				 errdetail("Its rows are not each made of one row of every source: %s.", lineage->row_obstacle),
				 errhint("Use mode 'delete_insert'.")));
}

/*
 * Check that a refresh can be done as defined, and resolve the sources.
 *
 * Input: the projection's definition and its view's lineage; the current user must be
 * the projection's owner.  The sources are palloc'd in the current context, without
 * watermarks; the text of affected_keys is replaced by one with qualified names.
 * Errors: every rule of the documentation that the definition breaks.
 */
void
projection_resolve(Projection *projection, Lineage *lineage)
{
	List	   *keys;
	ListCell   *lc;

	foreach(lc, lineage->tables)
		if (OidIsValid(projection->target) &&
			((LineageTable *) lfirst(lc))->relid == projection->target)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("view \"%s\" reads the projection \"%s\" itself",
							get_rel_name(projection->view), get_rel_name(projection->target)),
					 errhint("Read the sources.")));
	if (projection->mode != PROJECTION_DELETE_INSERT)
		view_check_rows(projection, lineage);
	projection->sources = fields_resolve(projection, lineage);
	lineage_refuse_row_security(lineage, GetUserId());

	if (projection->mode == PROJECTION_MERGE)
		(void) keys_resolve(projection, projection->unique_key, "unique_key");
	if (projection->mode != PROJECTION_DELETE_INSERT)
		return;
	keys = keys_resolve(projection, projection->replace_key, "replace_key");
	if (projection->affected_keys)
		projection->affected_keys = affected_keys_validate(projection, projection->affected_keys, keys);
	else
	{
		List	   *columns = derivation_key_columns(lineage, keys);

		foreach(lc, projection->sources)
			(void) derivation_keys_sql(lineage, lfirst(lc), 0, keys, columns);
	}
}

/* Have the executor check the privileges that a query will need, without running it. */
static void
query_check_privileges(const char *sql, Oid type)
{
	Oid			types[] = {type, type};
	Datum		values[] = {(Datum) 0, (Datum) 0};

	if (SPI_execute_with_args(psprintf("EXPLAIN %s", sql), 2, types, values, "nn", false, 0) < 0)
		elog(ERROR, "could not plan \"%s\"", sql);
}

/* Refuse a definition that the current user has not the privileges to refresh. */
static void
projection_check_privileges(const Projection *projection, Lineage *lineage)
{
	MemoryContext context = CurrentMemoryContext;
	List	   *queries = list_make1(psprintf("SELECT * FROM %s", sql_relation(projection->view)));
	ListCell   *lc;

	if (projection->affected_keys)
		queries = lappend(queries, projection->affected_keys);
	foreach(lc, queries)
		query_check_privileges(lfirst(lc), INT4OID);
	MemoryContextSwitchTo(context);
	if (projection->mode != PROJECTION_DELETE_INSERT || projection->affected_keys)
		return;
	foreach(lc, projection->sources)
	{
		List	   *keys = keys_resolve(projection, projection->replace_key, "replace_key");
		ProjectionSource *source = lfirst(lc);

		query_check_privileges(derivation_keys_sql(lineage, source, 0, keys,
												   derivation_key_columns(lineage, keys)),
							   source->type);
		MemoryContextSwitchTo(context);
	}
}

/* Check a new definition.  SPI must be connected. */
static void
projection_validate(Projection *projection)
{
	Lineage    *lineage;

	if (projection->incremental_fields == NIL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("incremental_fields must not be NULL"),
				 errhint("Name one output column of the view for each source.")));
	view_check(projection->view);
	lineage = lineage_of_view(projection->view);
	projection_resolve(projection, lineage);
	projection_check_privileges(projection, lineage);
}

/* Run a statement as the current user. */
static void
run_utility(const char *sql)
{
	int			result = SPI_execute(sql, false, 0);

	if (result < 0)
		elog(ERROR, "could not execute \"%s\": %s", sql, SPI_result_code_string(result));
}

/* Names as a list of quoted identifiers. */
static char *
names_list_sql(List *names)
{
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	foreach(lc, names)
		appendStringInfo(&sql, "%s%s", sql.len ? ", " : "", quote_identifier(lfirst(lc)));
	return sql.data;
}

/* A column definition without the name: type and collation. */
static char *
column_type_sql(Form_pg_attribute attr)
{
	return psprintf("%s%s",
					format_type_extended(attr->atttypid, attr->atttypmod,
										 FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY),
					sql_collation(attr->attcollation));
}

/* Create the table, empty, with the view's columns. */
static Oid
table_create(const Projection *projection, const char *name)
{
	RangeVar   *range = makeRangeVarFromNameList(textToQualifiedNameList(cstring_to_text(name)));
	Oid			schema = RangeVarGetCreationNamespace(range);
	Relation	view = relation_open(projection->view, AccessShareLock);
	StringInfoData sql;

	if (isAnyTempNamespace(schema))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("a projection cannot be temporary"),
				 errhint("Name a schema that outlives the session.")));
	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE TABLE %s (",
					 quote_qualified_identifier(get_namespace_name(schema), range->relname));
	for (int i = 0; i < RelationGetDescr(view)->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(view), i);

		appendStringInfo(&sql, "%s%s %s", i ? ", " : "",
						 quote_identifier(NameStr(attr->attname)), column_type_sql(attr));
	}
	relation_close(view, NoLock);
	if (projection->mode == PROJECTION_MERGE)
		appendStringInfo(&sql, ", PRIMARY KEY (%s)) USING merge_engine WITH (merge_engine = 'deduplicate')",
						 names_list_sql(projection->unique_key));
	else
		appendStringInfoString(&sql, ") USING heap");
	run_utility(sql.data);
	return get_relname_relid(range->relname, schema);
}

/*
 * merge_engine.create_projection(projection, view, mode, incremental_fields, unique_key,
 * when_not_matched, replace_key, affected_keys): the new, empty table.
 */
Datum
projection_create(PG_FUNCTION_ARGS)
{
	Projection	projection = {0};
	MemoryContext context = CurrentMemoryContext;
	char	   *name = text_argument(fcinfo, 0);
	char	   *mode = text_argument(fcinfo, 2);
	char	   *not_matched = text_argument(fcinfo, 5);

	if (name == NULL || PG_ARGISNULL(1) || mode == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be NULL",
						name == NULL ? "projection" : PG_ARGISNULL(1) ? "view" :
																		"mode")));
	PreventCommandIfReadOnly("create_projection()");
	projection.view = PG_GETARG_OID(1);
	projection.mode = projection_mode_from_name(mode);
	projection.incremental_fields = names_argument(fcinfo, 3, "incremental_fields");
	projection.unique_key = names_argument(fcinfo, 4, "unique_key");
	projection.not_matched = not_matched ? projection_not_matched_from_name(not_matched) : NOT_MATCHED_INSERT;
	projection.replace_key = names_argument(fcinfo, 6, "replace_key");
	projection.affected_keys = text_argument(fcinfo, 7);

	if (projection.mode != PROJECTION_MERGE)
	{
		refuse_argument(projection.unique_key != NIL, "unique_key", projection.mode);
		refuse_argument(projection.not_matched != NOT_MATCHED_INSERT, "when_not_matched", projection.mode);
	}
	else
		require_argument(projection.unique_key, "unique_key", projection.mode);
	if (projection.mode != PROJECTION_DELETE_INSERT)
	{
		refuse_argument(projection.replace_key != NIL, "replace_key", projection.mode);
		refuse_argument(projection.affected_keys != NULL, "affected_keys", projection.mode);
	}
	else
		require_argument(projection.replace_key, "replace_key", projection.mode);

	SPI_connect();
	MemoryContextSwitchTo(context);
	projection_validate(&projection);
	projection.target = table_create(&projection, name);
	CommandCounterIncrement();
	store_save(&projection);
	SPI_finish();
	PG_RETURN_OID(projection.target);
}

/* Give the table the columns that the view has and it has not. */
static void
table_adapt_columns(const Projection *projection)
{
	Relation	view = relation_open(projection->view, AccessShareLock);
	char	   *target = sql_relation(projection->target);

	for (int i = 0; i < RelationGetDescr(view)->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(view), i);
		const char *name = quote_identifier(NameStr(attr->attname));
		AttrNumber	attnum = get_attnum(projection->target, NameStr(attr->attname));
		Oid			type;
		int32		typmod;
		Oid			collation;

		if (attnum <= 0)
		{
			run_utility(psprintf("ALTER TABLE %s ADD COLUMN %s %s", target, name, column_type_sql(attr)));
			continue;
		}
		get_atttypetypmodcoll(projection->target, attnum, &type, &typmod, &collation);
		if (type != attr->atttypid || typmod != attr->atttypmod || collation != attr->attcollation)
			run_utility(psprintf("ALTER TABLE %s ALTER COLUMN %s TYPE %s USING NULL", target, name,
								 column_type_sql(attr)));
	}
	relation_close(view, NoLock);
}

/* The name of a table's primary key constraint, or NULL. */
static char *
table_primary_key(Oid relid)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(relid)};

	if (SPI_execute_with_args("SELECT conname FROM pg_catalog.pg_constraint"
							  " WHERE conrelid = $1 AND contype = 'p'",
							  1, types, values, NULL, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not read the primary key of relation %u", relid);
	return SPI_processed ? SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1) : NULL;
}

/*
 * Turn the table from one that merges by a key into one that does not, or the other
 * way round.  Its rows need not fit the new key, so they go; the next refresh, a full
 * build, brings them back.
 */
static void
table_adapt_key(const Projection *projection, ProjectionMode old_mode, List *old_key)
{
	char	   *target = sql_relation(projection->target);
	ListCell   *lc;

	if (projection->mode == old_mode &&
		(old_mode != PROJECTION_MERGE || equal(projection->unique_key, old_key)))
		return;
	if (projection->mode != PROJECTION_MERGE && old_mode != PROJECTION_MERGE)
		return;

	run_utility(psprintf("DELETE FROM %s", target));
	if (old_mode == PROJECTION_MERGE)
	{
		char	   *constraint = table_primary_key(projection->target);

		if (constraint)
			run_utility(psprintf("ALTER TABLE %s DROP CONSTRAINT %s", target,
								 quote_identifier(constraint)));
		foreach(lc, old_key)
			if (get_attnum(projection->target, lfirst(lc)) > 0)
				run_utility(psprintf("ALTER TABLE %s ALTER COLUMN %s DROP NOT NULL", target,
									 quote_identifier(lfirst(lc))));
	}
	if (projection->mode == PROJECTION_MERGE)
		run_utility(psprintf("ALTER TABLE %s ADD PRIMARY KEY (%s)", target,
							 names_list_sql(projection->unique_key)));
	if (projection->mode != old_mode)
		run_utility(psprintf("ALTER TABLE %s SET ACCESS METHOD %s", target,
							 projection->mode == PROJECTION_MERGE ? "merge_engine" : "heap"));
}

/* Put the given arguments of alter_projection over the stored definition. */
static void
alter_merge_arguments(Projection *projection, FunctionCallInfo fcinfo)
{
	char	   *mode = text_argument(fcinfo, 2);
	List	   *fields = names_argument(fcinfo, 3, "incremental_fields");
	List	   *unique_key = names_argument(fcinfo, 4, "unique_key");
	char	   *not_matched = text_argument(fcinfo, 5);
	List	   *replace_key = names_argument(fcinfo, 6, "replace_key");
	char	   *affected_keys = text_argument(fcinfo, 7);

	if (!PG_ARGISNULL(1))
		projection->view = PG_GETARG_OID(1);
	if (mode)
		projection->mode = projection_mode_from_name(mode);
	if (fields)
		projection->incremental_fields = fields;

	if (projection->mode == PROJECTION_MERGE)
	{
		if (unique_key)
			projection->unique_key = unique_key;
		if (not_matched)
			projection->not_matched = projection_not_matched_from_name(not_matched);
		require_argument(projection->unique_key, "unique_key", projection->mode);
	}
	else
	{
		refuse_argument(unique_key != NIL, "unique_key", projection->mode);
		refuse_argument(not_matched != NULL, "when_not_matched", projection->mode);
		projection->unique_key = NIL;
		projection->not_matched = NOT_MATCHED_INSERT;
	}
	if (projection->mode == PROJECTION_DELETE_INSERT)
	{
		if (replace_key)
			projection->replace_key = replace_key;
		/* the empty string goes back to derivation */
		if (affected_keys)
			projection->affected_keys = affected_keys[0] ? affected_keys : NULL;
		require_argument(projection->replace_key, "replace_key", projection->mode);
	}
	else
	{
		refuse_argument(replace_key != NIL, "replace_key", projection->mode);
		refuse_argument(affected_keys != NULL, "affected_keys", projection->mode);
		projection->replace_key = NIL;
		projection->affected_keys = NULL;
	}
}

/*
 * merge_engine.alter_projection(projection, view, mode, …): NULL keeps; starts a new
 * cycle, so that the next refresh is full.
 */
Datum
projection_alter(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Projection *projection;
	ProjectionMode old_mode;
	List	   *old_key;
	Oid			userid;
	int			sec_context;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("projection must not be NULL")));
	PreventCommandIfReadOnly("alter_projection()");
	store_lock(PG_GETARG_OID(0), AccessExclusiveLock);

	SPI_connect();
	MemoryContextSwitchTo(context);
	projection = store_load(PG_GETARG_OID(0), false);
	MemoryContextSwitchTo(context);
	old_mode = projection->mode;
	old_key = projection->unique_key;
	alter_merge_arguments(projection, fcinfo);

	/* the owner's triggers and constraints must not run with a superuser's rights */
	GetUserIdAndSecContext(&userid, &sec_context);
	SetUserIdAndSecContext(relation_owner(projection->target),
						   sec_context | SECURITY_RESTRICTED_OPERATION);
	projection_validate(projection);
	table_adapt_columns(projection);
	CommandCounterIncrement();
	table_adapt_key(projection, old_mode, old_key);
	SetUserIdAndSecContext(userid, sec_context);
	store_save(projection);
	SPI_finish();
	PG_RETURN_VOID();
}

/* merge_engine.drop_projection(projection): its table too, unless something needs it. */
Datum
projection_drop(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			target;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("projection must not be NULL")));
	target = PG_GETARG_OID(0);
	PreventCommandIfReadOnly("drop_projection()");
	store_lock(target, AccessExclusiveLock);

	SPI_connect();
	MemoryContextSwitchTo(context);
	(void) store_load(target, false);
	run_utility(psprintf("DROP TABLE %s", sql_relation(target)));
	/* the event trigger has done it, unless event triggers are off */
	store_forget(target);
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * Event trigger on sql_drop: forget projections whose table is gone, and keep views
 * that a projection needs.  Works by name and OID alone, so also after a restore, when
 * pg_depend knows nothing of us.
 */
Datum
projection_on_drop(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("projection_on_drop must be called as an event trigger")));
	if (!store_exists())
		PG_RETURN_NULL();

	SPI_connect();
	store_execute("WITH dropped AS MATERIALIZED ("
				  "  SELECT o.objid, o.object_identity FROM pg_catalog.pg_event_trigger_dropped_objects() o"
				  "  WHERE o.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND o.objsubid = 0)"
				  " SELECT d.projection::oid, v.object_identity, d.projection::text, t.objid"
				  " FROM merge_engine.projection_definition d"
				  " LEFT JOIN dropped t ON t.objid = d.projection"
				  " LEFT JOIN dropped v ON v.objid = d.view"
				  " WHERE t.objid IS NOT NULL OR v.objid IS NOT NULL",
				  0, NULL, NULL, NULL);
	if (SPI_processed > 0)
	{
		SPITupleTable *table = SPI_tuptable;
		uint64		rows = SPI_processed;

		for (uint64 row = 0; row < rows; row++)
		{
			bool		isnull;
			Oid			target = DatumGetObjectId(SPI_getbinval(table->vals[row], table->tupdesc, 1, &isnull));
			char	   *view = SPI_getvalue(table->vals[row], table->tupdesc, 2);
			char	   *projection = SPI_getvalue(table->vals[row], table->tupdesc, 3);

			if (SPI_getvalue(table->vals[row], table->tupdesc, 4) == NULL)
				ereport(ERROR,
						(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
						 errmsg("cannot drop view %s because projection %s holds its result", view, projection),
						 errhint("Drop the projection first: SELECT merge_engine.drop_projection('%s').", projection)));
			store_forget(target);
		}
	}
	SPI_finish();
	PG_RETURN_NULL();
}
