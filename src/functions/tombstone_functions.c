/*
 * tombstone_functions.c
 *	  SQL functions about tombstones: purging them, and forgetting a table's
 *	  when it is dropped.
 */
#include "postgres.h"

#include "access/stats.h"
#include "access/table.h"
#include "access/tombstones.h"
#include "access/xact.h"
#include "catalog/merge_plan.h"
#include "catalog/options.h"
#include "catalog/pg_class.h"
#include "commands/event_trigger.h"
#include "compat.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(merge_engine_purge_tombstones);
PG_FUNCTION_INFO_V1(merge_engine_forget_dropped);

/* The interval that a table's options keep its tombstones for. */
static Datum
tombstones_retention(Oid relid)
{
	const char *retention = options_parse(options_stored(relid, NULL))->retention;

	if (retention == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("table \"%s\" keeps its tombstones for ever", get_rel_name(relid)),
				 errhint("Set option \"tombstones.retention\", or give an interval.")));
	return DirectFunctionCall3(interval_in, CStringGetDatum(retention),
							   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

/* purge_tombstones(regclass, interval) returns bigint */
Datum
merge_engine_purge_tombstones(PG_FUNCTION_ARGS)
{
	Oid			relid;
	Relation	relation;
	Datum		interval;
	Datum		before;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	relid = PG_GETARG_OID(0);
	relation = table_open(relid, AccessShareLock);
	if (!compat_owns_table(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(relation));
	interval = PG_ARGISNULL(1) ? tombstones_retention(relid) : PG_GETARG_DATUM(1);
	before = DirectFunctionCall2(timestamptz_mi_interval,
								 TimestampTzGetDatum(GetCurrentStatementStartTimestamp()),
								 interval);
	table_close(relation, NoLock);
	PG_RETURN_INT64(tombstones_purge(relid, DatumGetTimestampTz(before)));
}

/* forget_dropped() returns event_trigger */
Datum
merge_engine_forget_dropped(PG_FUNCTION_ARGS)
{
	List	   *relids = NIL;
	ListCell   *cell;
	MemoryContext context = CurrentMemoryContext;

	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function \"forget_dropped\" was not called as an event trigger")));

	SPI_connect();
	if (SPI_execute("SELECT objid FROM pg_catalog.pg_event_trigger_dropped_objects()"
					" WHERE classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass"
					" AND objsubid OPERATOR(pg_catalog.=) 0"
					" AND object_type OPERATOR(pg_catalog.=) 'table'",
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list dropped tables");
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		relid = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull);
		MemoryContext oldcontext = MemoryContextSwitchTo(context);

		relids = lappend_oid(relids, DatumGetObjectId(relid));
		MemoryContextSwitchTo(oldcontext);
	}
	SPI_finish();

	foreach(cell, relids)
	{
		tombstones_forget(lfirst_oid(cell));
		stats_forget(lfirst_oid(cell));
	}
	PG_RETURN_NULL();
}
