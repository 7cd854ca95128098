/*
 * refresh.c
 *	  One refresh: resolve, bound, wait, snapshot, steps, watermarks, history.
 *
 * A refresh runs as the projection's owner in a security-restricted operation, as
 * REFRESH MATERIALIZED VIEW does: a superuser who schedules it lends nobody his
 * rights.  Everything it changes, the watermarks and the history included, changes in
 * one transaction.  With on_error => 'record' the work is a subtransaction, so that
 * the history row of a failure outlives it.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "projection/projection.h"

PG_FUNCTION_INFO_V1(projection_refresh);

#define HISTORY_COLUMNS 15

/* A history row in the making; strings live in the function's memory context. */
typedef struct RefreshHistory
{
	Oid			projection;
	const char *mode;
	bool		full;
	TimestampTz started;
	char	   *phases;
	RefreshCounts counts;
	char	   *watermarks_before;
	char	   *watermarks_after;
	char	   *error;
	int64		refresh_id;
	TimestampTz finished;
} RefreshHistory;

/* Become the projection's owner, restricted to what a view's functions may do. */
void
projection_enter(ProjectionUser *user, Oid owner)
{
	GetUserIdAndSecContext(&user->userid, &user->sec_context);
	SetUserIdAndSecContext(owner, user->sec_context | SECURITY_RESTRICTED_OPERATION);
	user->nestlevel = sql_pin_search_path("pg_catalog, pg_temp");
}

/* Become who called again. */
void
projection_leave(ProjectionUser *user)
{
	AtEOXact_GUC(false, user->nestlevel);
	SetUserIdAndSecContext(user->userid, user->sec_context);
}

/*
 * Refuse to go on when the view's columns are no longer the table's.  Columns that the
 * table has beyond them are the user's own.
 */
void
projection_check_shape(const Projection *projection)
{
	Relation	view = relation_open(projection->view, AccessShareLock);
	Relation	target = relation_open(projection->target, AccessShareLock);

	for (int i = 0; i < RelationGetDescr(view)->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(RelationGetDescr(view), i);
		AttrNumber	attnum = get_attnum(projection->target, NameStr(attr->attname));
		Form_pg_attribute own;

		if (attnum <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("projection \"%s\" has no column \"%s\", which view \"%s\" now has",
							RelationGetRelationName(target), NameStr(attr->attname),
							RelationGetRelationName(view)),
					 errhint("Run merge_engine.alter_projection('%s'), which adds the column and starts a new cycle.",
							 sql_relation(projection->target))));
		own = TupleDescAttr(RelationGetDescr(target), attnum - 1);
		if (own->atttypid != attr->atttypid || own->atttypmod != attr->atttypmod ||
			own->attcollation != attr->attcollation)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of projection \"%s\" has type %s, but view \"%s\" has %s",
							NameStr(attr->attname), RelationGetRelationName(target),
							format_type_with_typemod(own->atttypid, own->atttypmod),
							RelationGetRelationName(view),
							format_type_with_typemod(attr->atttypid, attr->atttypmod)),
					 errhint("Run merge_engine.alter_projection('%s'), which changes the column and starts a new cycle.",
							 sql_relation(projection->target))));
	}
	relation_close(target, NoLock);
	relation_close(view, NoLock);
}

/* The history row's values; those of jsonb and text are made here. */
static void
history_values(RefreshHistory *history, Datum *values, bool *nulls)
{
	int			i = 0;

#define HISTORY_JSON(text) DirectFunctionCall1(jsonb_in, CStringGetDatum(text))
	memset(nulls, false, HISTORY_COLUMNS);
	values[i++] = Int64GetDatum(history->refresh_id);
	values[i++] = ObjectIdGetDatum(history->projection);
	values[i++] = CStringGetTextDatum(history->mode);
	values[i++] = CStringGetTextDatum(history->full ? "full" : "incremental");
	values[i++] = TimestampTzGetDatum(history->started);
	values[i++] = TimestampTzGetDatum(history->finished);
	values[i++] = HISTORY_JSON(history->phases);
	nulls[i] = history->counts.affected_keys < 0;
	values[i++] = Int64GetDatum(history->counts.affected_keys);
	values[i++] = Int64GetDatum(history->counts.deleted);
	values[i++] = Int64GetDatum(history->counts.updated);
	values[i++] = Int64GetDatum(history->counts.inserted);
	nulls[i] = history->watermarks_before == NULL;
	values[i++] = history->watermarks_before ? HISTORY_JSON(history->watermarks_before) : (Datum) 0;
	nulls[i] = history->watermarks_after == NULL;
	values[i++] = history->watermarks_after ? HISTORY_JSON(history->watermarks_after) : (Datum) 0;
	values[i++] = CStringGetTextDatum(history->error ? "failed" : "succeeded");
	nulls[i] = history->error == NULL;
	values[i++] = history->error ? CStringGetTextDatum(history->error) : (Datum) 0;
	Assert(i == HISTORY_COLUMNS);
#undef HISTORY_JSON
}

/* Store the history row.  SPI must be connected. */
static void
history_store(RefreshHistory *history)
{
	Oid			types[HISTORY_COLUMNS] = {
		INT8OID, REGCLASSOID, TEXTOID, TEXTOID, TIMESTAMPTZOID, TIMESTAMPTZOID, JSONBOID,
		INT8OID, INT8OID, INT8OID, INT8OID, JSONBOID, JSONBOID, TEXTOID, TEXTOID
	};
	Datum		values[HISTORY_COLUMNS];
	bool		isnull[HISTORY_COLUMNS];
	char		nulls[HISTORY_COLUMNS + 1] = {0};
	bool		null;

	store_execute("SELECT nextval('merge_engine.projection_refresh_id')", 0, NULL, NULL, NULL);
	history->refresh_id = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
													  SPI_tuptable->tupdesc, 1, &null));
	history->finished = GetCurrentTimestamp();
	history_values(history, values, isnull);
	for (int i = 0; i < HISTORY_COLUMNS; i++)
		nulls[i] = isnull[i] ? 'n' : ' ';
	store_execute("INSERT INTO merge_engine.projection_history VALUES"
				  " ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
				  HISTORY_COLUMNS, types, values, nulls);
}

/* Do the work: everything that a failure must undo. */
static void
refresh_work(Projection *projection, bool full_rebuild, RefreshHistory *history,
			 MemoryContext context)
{
	RefreshState state = {0};
	ProjectionUser user;
	char	   *definition;
	ListCell   *lc;

	SPI_connect();
	projection_enter(&user, relation_owner(projection->target));

	state.projection = projection;
	state.lineage = lineage_of_view(projection->view);
	state.phases = makeStringInfo();
	state.phase_start = GetCurrentTimestamp();
	state.counts.affected_keys = -1;
	appendStringInfoChar(state.phases, '{');

	projection_check_shape(projection);
	if (check_enable_rls(projection->target, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row security of projection \"%s\" hides its rows from its owner",
						get_rel_name(projection->target)),
				 errhint("ALTER TABLE %s NO FORCE ROW LEVEL SECURITY.", sql_relation(projection->target))));
	projection_resolve(projection, state.lineage);
	store_load_watermarks(projection);
	definition = lineage_definition(state.lineage);
	history->full = full_rebuild || projection->built_definition == NULL ||
		strcmp(projection->built_definition, definition) != 0;
	if (history->full)
		foreach(lc, projection->sources)
			((ProjectionSource *) lfirst(lc))->has_watermark = false;
	steps_phase_done(&state, "resolve");

	watermark_read_bounds(projection);
	steps_phase_done(&state, "bounds");
	watermark_wait_for_writers(projection);
	watermark_cap_timestamps(projection);
	steps_phase_done(&state, "wait");

	CommandCounterIncrement();
	state.snapshot = RegisterSnapshot(GetLatestSnapshot());
	if (history->full)
		steps_full(&state);
	else
		steps_incremental(&state);
	UnregisterSnapshot(state.snapshot);

	store_save_watermarks(projection, history->full ? definition : NULL);
	appendStringInfoChar(state.phases, '}');
	history->phases = MemoryContextStrdup(context, state.phases->data);
	history->watermarks_after = store_watermarks_json(projection->target, context);
	history->counts = state.counts;
	history_store(history);

	projection_leave(&user);
	SPI_finish();
}

/* Errors that are never recorded: they say that the refresh was not to be done. */
static bool
error_must_be_raised(const ErrorData *error)
{
	return error->sqlerrcode == ERRCODE_QUERY_CANCELED ||
		error->sqlerrcode == ERRCODE_INSUFFICIENT_PRIVILEGE ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION ||
		error->elevel > ERROR;
}

/* Do the work in a subtransaction and turn a failure into a history row. */
static void
refresh_recording(Projection *projection, bool full_rebuild, RefreshHistory *history)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		refresh_work(projection, full_rebuild, history, context);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (error_must_be_raised(error))
			ReThrowError(error);

		history->error = error->detail ? psprintf("%s\nDETAIL: %s", error->message, error->detail) :
										 pstrdup(error->message);
		history->watermarks_after = history->watermarks_before;
		history->phases = "{}";
		memset(&history->counts, 0, sizeof(RefreshCounts));
		history->counts.affected_keys = -1;
		SPI_connect();
		history_store(history);
		SPI_finish();
		MemoryContextSwitchTo(context);
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 errmsg("refresh of projection \"%s\" failed: %s",
						get_rel_name(history->projection), error->message),
				 error->detail ? errdetail_internal("%s", error->detail) : 0,
				 error->hint ? errhint("%s", error->hint) : 0));
	}
	PG_END_TRY();
}

/* The text argument on_error as a flag: record? */
static bool
on_error_argument(FunctionCallInfo fcinfo, int argument)
{
	char	   *value = PG_ARGISNULL(argument) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(argument));

	if (value == NULL || (strcmp(value, "raise") != 0 && strcmp(value, "record") != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("on_error must be 'raise' or 'record', not %s",
						value ? quote_literal_cstr(value) : "NULL")));
	return strcmp(value, "record") == 0;
}

/* merge_engine.refresh_projection: bring a projection up to date. */
Datum
projection_refresh(PG_FUNCTION_ARGS)
{
	RefreshHistory history = {0};
	MemoryContext context = CurrentMemoryContext;
	Projection *projection;
	bool		record = on_error_argument(fcinfo, 2);
	bool		full_rebuild = !PG_ARGISNULL(1) && PG_GETARG_BOOL(1);
	TupleDesc	tupdesc;
	Datum		values[HISTORY_COLUMNS];
	bool		nulls[HISTORY_COLUMNS];

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("projection must not be NULL")));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a projection cannot be refreshed under isolation level %s",
						IsolationIsSerializable() ? "SERIALIZABLE" : "REPEATABLE READ"),
				 errdetail("A refresh takes its own snapshot after waiting for writers."),
				 errhint("Use READ COMMITTED.")));
	PreventCommandIfReadOnly("refresh_projection()");
	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	history.projection = PG_GETARG_OID(0);
	history.started = GetCurrentTimestamp();
	store_lock(history.projection, RowExclusiveLock);

	SPI_connect();
	MemoryContextSwitchTo(context);
	projection = store_load(history.projection, true);
	history.watermarks_before = store_watermarks_json(history.projection, context);
	SPI_finish();
	MemoryContextSwitchTo(context);
	history.mode = projection_mode_name(projection->mode);
	history.full = full_rebuild || projection->built_definition == NULL;

	if (record)
		refresh_recording(projection, full_rebuild, &history);
	else
		refresh_work(projection, full_rebuild, &history, context);

	MemoryContextSwitchTo(context);
	history_values(&history, values, nulls);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc), values, nulls)));
}
