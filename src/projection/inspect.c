/*
 * inspect.c
 *	  check_projection, and what the views for people show of a source.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "compat.h"
#include "projection/projection.h"

PG_FUNCTION_INFO_V1(projection_check);
PG_FUNCTION_INFO_V1(projection_source_visible);
PG_FUNCTION_INFO_V1(projection_current_maximum);

/*
 * A query that compares the projection with its view, a row for each key that differs.
 *
 * Rows are compared by their text: every type has one, not every type has an equality.
 * The key is the mode's own; mode insert has none, so there the fields stand for the
 * row's parts.
 */
static char *
check_sql(const Projection *projection)
{
	Relation	view = relation_open(projection->view, AccessShareLock);
	char	   *row = psprintf("CAST(ROW(%s) AS pg_catalog.text)",
							   sql_columns(RelationGetDescr(view), "r"));
	List	   *names = projection->mode == PROJECTION_MERGE ? projection->unique_key :
		projection->mode == PROJECTION_DELETE_INSERT   ? projection->replace_key :
														 projection->incremental_fields;
	List	   *keys = keys_resolve(projection, names, "the key");
	StringInfoData columns;
	StringInfoData object;
	StringInfoData source;
	ListCell   *lc;

	relation_close(view, NoLock);
	initStringInfo(&columns);
	initStringInfo(&object);
	initStringInfo(&source);
	foreach(lc, keys)
	{
		ProjectionKey *key = lfirst(lc);
		int			i = foreach_current_index(lc);

		appendStringInfo(&columns, "%sk%d", i ? ", " : "", i);
		appendStringInfo(&object, "%s%s, k%d", i ? ", " : "", quote_literal_cstr(key->name), i);
		appendStringInfo(&source, "CAST(r.%s AS %s)%s AS k%d, ", quote_identifier(key->name),
						 sql_type(key->type), sql_collation(key->collation), i);
	}
	return psprintf("SELECT CASE WHEN pg_catalog.sum(p) = 0 THEN 'missing'"
					" WHEN pg_catalog.sum(v) = 0 THEN 'surplus'"
					" WHEN pg_catalog.bool_and(v > 0 AND p >= v) THEN 'duplicated'"
					" ELSE 'stale' END, pg_catalog.jsonb_build_object(%s)"
					" FROM (SELECT %s, row_text, pg_catalog.sum(v) AS v, pg_catalog.sum(p) AS p FROM ("
					"SELECT %s%s AS row_text, 1 AS v, 0 AS p FROM %s r UNION ALL "
					"SELECT %s%s, 0, 1 FROM %s r) u GROUP BY %s, row_text) d"
					" GROUP BY %s HAVING pg_catalog.bool_or(v <> p) ORDER BY %s",
					object.data, columns.data,
					source.data, row, sql_relation(projection->view),
					source.data, row, sql_relation(projection->target),
					columns.data, columns.data, columns.data);
}

/*
 * merge_engine.check_projection(projection): what differs from the view as it is now.
 * Runs as the projection's owner, like a refresh; waits for nobody.
 */
Datum
projection_check(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext context = CurrentMemoryContext;
	SPIExecuteOptions options = {0};
	ProjectionUser user;
	Projection *projection;
	Oid			target;
	int			spi;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("projection must not be NULL")));
	target = PG_GETARG_OID(0);
	InitMaterializedSRF(fcinfo, 0);
	store_check_owner(target);

	SPI_connect();
	MemoryContextSwitchTo(context);
	projection = store_load(target, true);
	projection_enter(&user, relation_owner(target));
	projection_check_shape(projection);
	lineage_refuse_row_security(lineage_of_view(projection->view), GetUserId());

	options.dest = CreateDestReceiver(DestTuplestore);
	SetTuplestoreDestReceiverParams(options.dest, result->setResult, context, false, NULL, NULL);
	spi = SPI_execute_extended(check_sql(projection), &options);
	if (spi < 0)
		elog(ERROR, "could not compare a projection: %s", SPI_result_code_string(spi));
	projection_leave(&user);
	SPI_finish();
	return (Datum) 0;
}

/* May the current user read this column, of every row? */
static bool
source_visible(Oid relid, const char *column)
{
	AttrNumber	attnum = get_attnum(relid, column);
	Oid			user = GetUserId();

	return attnum > 0 &&
		compat_schema_allows(get_rel_namespace(relid), user, ACL_USAGE) &&
		(pg_class_aclcheck(relid, user, ACL_SELECT) == ACLCHECK_OK ||
		 pg_attribute_aclcheck(relid, attnum, user, ACL_SELECT) == ACLCHECK_OK) &&
		check_enable_rls(relid, user, true) != RLS_ENABLED;
}

/* For the views: is a source's column the reader's to see?  Never an error. */
Datum
projection_source_visible(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	rel = try_relation_open(relid, AccessShareLock);
	bool		visible;

	if (rel == NULL)
		PG_RETURN_BOOL(false);
	visible = source_visible(relid, text_to_cstring(PG_GETARG_TEXT_PP(1)));
	relation_close(rel, AccessShareLock);
	PG_RETURN_BOOL(visible);
}

/* For the views: a source's maximum as it is now, or NULL where the reader may not see. */
Datum
projection_current_maximum(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	char	   *column = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Relation	rel = try_relation_open(relid, AccessShareLock);
	Projection	projection = {0};
	ProjectionSource source = {0};
	int32		typmod;
	text	   *result = NULL;

	if (rel == NULL)
		PG_RETURN_NULL();
	if (source_visible(relid, column) &&
		(rel->rd_rel->relkind == RELKIND_RELATION || rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE))
	{
		source.field = source.column = column;
		source.relid = relid;
		source.inherit = true;
		get_atttypetypmodcoll(relid, get_attnum(relid, column), &source.type, &typmod, &source.collation);
		source.type = getBaseType(source.type);
		projection.sources = list_make1(&source);
		if (OidIsValid(sql_btree_operator(source.type, BTGreaterStrategyNumber)))
		{
			MemoryContext context = CurrentMemoryContext;

			SPI_connect();
			watermark_read_bounds(&projection);
			MemoryContextSwitchTo(context);
			if (source.has_bound)
				result = cstring_to_text(watermark_to_text(&source, source.bound));
			SPI_finish();
		}
	}
	relation_close(rel, AccessShareLock);
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(result);
}
