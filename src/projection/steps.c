/*
 * steps.c
 *	  The statements of the three modes.
 *
 * All statements of a refresh run under one snapshot, taken after the writers have
 * been waited for.  What a step found is handed to the next as an ephemeral named
 * relation over a tuplestore: unlike a temporary table it needs no catalog entry (and
 * may be used in a security-restricted operation), and the planner knows its size.
 *
 * Parameters are numbered alike in all statements: source i (from 0) has its
 * watermark in $2i+1 and its bound in $2i+2.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "access/relation.h"
#include "access/xact.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "nodes/params.h"
#include "tcop/dest.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "projection/projection.h"

#define AFFECTED_KEYS "affected_keys"
#define INCREMENT "increment"

/* The parameters of all statements. */
typedef struct StepParams
{
	int			count;
	Oid		   *types;
	Datum	   *values;
	char	   *nulls;
} StepParams;

/* Close a phase: note its duration. */
void
steps_phase_done(RefreshState *state, const char *phase)
{
	TimestampTz now = GetCurrentTimestamp();
	int64		us = now - state->phase_start;

	appendStringInfo(state->phases, "%s\"%s\": " INT64_FORMAT ".%03d",
					 state->phases->len > 1 ? ", " : "", phase, us / 1000, (int) (us % 1000));
	state->phase_start = now;
}

/* Watermarks and bounds as parameters. */
static StepParams
step_params(const RefreshState *state)
{
	List	   *sources = state->projection->sources;
	StepParams	params;
	ListCell   *lc;

	params.count = 2 * list_length(sources);
	params.types = palloc(sizeof(Oid) * params.count);
	params.values = palloc0(sizeof(Datum) * params.count);
	params.nulls = palloc0(params.count + 1);
	memset(params.nulls, 'n', params.count);
	foreach(lc, sources)
	{
		ProjectionSource *source = lfirst(lc);
		int			i = 2 * foreach_current_index(lc);

		params.types[i] = params.types[i + 1] = source->type;
		params.values[i] = source->watermark;
		params.values[i + 1] = source->bound;
		if (source->has_watermark)
			params.nulls[i] = ' ';
		if (source->has_bound)
			params.nulls[i + 1] = ' ';
	}
	return params;
}

/* Make what earlier steps wrote visible to the refresh's snapshot. */
static void
step_push_snapshot(const RefreshState *state)
{
	CommandCounterIncrement();
	PushCopiedSnapshot(state->snapshot);
	UpdateActiveSnapshotCommandId();
}

/* Prepare a statement, or say which it was. */
static SPIPlanPtr
step_prepare(const char *sql, const StepParams *params)
{
	SPIPlanPtr	plan = SPI_prepare(sql, params->count, params->types);

	if (plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", sql, SPI_result_code_string(SPI_result));
	return plan;
}

/* Run a statement that changes the target; returns the number of rows. */
static int64
step_write(const RefreshState *state, const char *sql)
{
	StepParams	params = step_params(state);
	int			result = SPI_execute_snapshot(step_prepare(sql, &params), params.values,
											  params.nulls, state->snapshot, InvalidSnapshot,
											  false, true, 0);

	if (result < 0)
		elog(ERROR, "could not execute \"%s\": %s", sql, SPI_result_code_string(result));
	return SPI_processed;
}

/* Run a query; its rows are in SPI_tuptable, or go to the tuplestore if there is one. */
static void
step_read(const RefreshState *state, const char *sql, Tuplestorestate *store)
{
	StepParams	params = step_params(state);
	SPIPlanPtr	plan = step_prepare(sql, &params);
	SPIExecuteOptions options = {0};
	int			result;

	options.read_only = true;
	options.params = makeParamList(params.count);
	for (int i = 0; i < params.count; i++)
	{
		ParamExternData *param = &options.params->params[i];

		param->value = params.values[i];
		param->isnull = params.nulls[i] == 'n';
		param->pflags = PARAM_FLAG_CONST;
		param->ptype = params.types[i];
	}
	if (store)
	{
		options.dest = CreateDestReceiver(DestTuplestore);
		SetTuplestoreDestReceiverParams(options.dest, store, CurrentMemoryContext, false, NULL, NULL);
	}
	step_push_snapshot(state);
	result = SPI_execute_plan_extended(plan, &options);
	PopActiveSnapshot();
	if (result < 0)
		elog(ERROR, "could not execute \"%s\": %s", sql, SPI_result_code_string(result));
}

/* Make a tuplestore known to the following statements by name. */
static void
step_register(const char *name, Tuplestorestate *store, TupleDesc tupdesc)
{
	EphemeralNamedRelation enr = palloc0(sizeof(EphemeralNamedRelationData));

	enr->md.name = pstrdup(name);
	enr->md.reliddesc = InvalidOid;
	enr->md.tupdesc = tupdesc;
	enr->md.enrtype = ENR_NAMED_TUPLESTORE;
	enr->md.enrtuples = tuplestore_tuple_count(store);
	enr->reldata = store;
	if (SPI_register_relation(enr) != SPI_OK_REL_REGISTER)
		elog(ERROR, "could not register relation \"%s\"", name);
}

/* The view's columns, quoted, with an alias in front if there is one. */
static char *
view_columns(const RefreshState *state, const char *alias)
{
	Relation	view = relation_open(state->projection->view, NoLock);
	char	   *columns = sql_columns(RelationGetDescr(view), alias);

	relation_close(view, NoLock);
	return columns;
}

/* "v.field op $n" for one source. */
static char *
source_condition(const ProjectionSource *source, int strategy, int param)
{
	return sql_condition(psprintf("v.%s", quote_identifier(source->field)), source->type,
						 strategy, param);
}

/*
 * The result rows that changed, as a UNION ALL of a branch for each moved source, so
 * that each branch can use that source's index.  No row is in two branches.
 *
 * "whole" (mode insert) wants the rows all of whose parts are at or below the bounds,
 * otherwise one part is enough.  Returns NULL if nothing moved.
 */
static char *
increment_sql(const RefreshState *state, bool whole)
{
	List	   *sources = state->projection->sources;
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	foreach(lc, sources)
	{
		ProjectionSource *source = lfirst(lc);
		int			i = foreach_current_index(lc);
		StringInfoData where;
		bool		empty = false;
		ListCell   *lc2;

		if (!watermark_moved(source))
			continue;
		initStringInfo(&where);
		appendStringInfoString(&where, source_condition(source, BTLessEqualStrategyNumber, 2 * i + 2));
		if (source->has_watermark)
			appendStringInfo(&where, " AND %s", source_condition(source, BTGreaterStrategyNumber, 2 * i + 1));
		foreach(lc2, sources)
		{
			ProjectionSource *other = lfirst(lc2);
			int			j = foreach_current_index(lc2);
			bool		earlier = j < i && watermark_moved(other);

			if (j == i)
				continue;
			/* what an earlier branch returns is not returned again */
			if (whole && !other->has_bound)
				empty = true;
			else if (whole && earlier && !other->has_watermark)
				empty = true;
			else if (whole)
				appendStringInfo(&where, " AND %s",
								 source_condition(other, BTLessEqualStrategyNumber,
												  2 * j + (earlier ? 1 : 2)));
			else if (earlier && other->has_watermark)
				appendStringInfo(&where, " AND (%s OR %s)",
								 source_condition(other, BTLessEqualStrategyNumber, 2 * j + 1),
								 source_condition(other, BTGreaterStrategyNumber, 2 * j + 2));
			else if (earlier)
				appendStringInfo(&where, " AND %s",
								 source_condition(other, BTGreaterStrategyNumber, 2 * j + 2));
		}
		if (!empty)
			appendStringInfo(&sql, "%sSELECT %s FROM %s v WHERE %s", sql.len ? " UNION ALL " : "",
							 view_columns(state, "v"), sql_relation(state->projection->view), where.data);
	}
	return sql.len ? sql.data : NULL;
}

/* "a.key = b.key AND …" */
static char *
keys_equal_sql(List *keys, const char *left, const char *right)
{
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	foreach(lc, keys)
	{
		ProjectionKey *key = lfirst(lc);
		const char *name = quote_identifier(key->name);

		appendStringInfo(&sql, "%s%s.%s %s %s.%s", sql.len ? " AND " : "", left, name,
						 sql_operator(key->eq_opr), right, name);
	}
	return sql.data;
}

/* The key's columns as a list, with an alias in front. */
static char *
keys_list_sql(List *keys, const char *alias)
{
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	foreach(lc, keys)
		appendStringInfo(&sql, "%s%s.%s", sql.len ? ", " : "", alias,
						 quote_identifier(((ProjectionKey *) lfirst(lc))->name));
	return sql.data;
}

/* The key's names, for a message. */
static char *
keys_names(List *keys)
{
	StringInfoData names;
	ListCell   *lc;

	initStringInfo(&names);
	foreach(lc, keys)
		appendStringInfo(&names, "%s%s", names.len ? ", " : "", ((ProjectionKey *) lfirst(lc))->name);
	return names.data;
}

/* The first row of a query of one text column, or NULL. */
static char *
step_read_text(const RefreshState *state, const char *sql)
{
	step_read(state, sql, NULL);
	return SPI_processed ? SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1) : NULL;
}

/* The number that a query returns. */
static int64
step_read_count(const RefreshState *state, const char *sql)
{
	char	   *text = step_read_text(state, sql);

	return text ? strtoll(text, NULL, 10) : 0;
}

/* A row's key as text, for a message. */
static char *
keys_text_sql(List *keys, const char *alias)
{
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "pg_catalog.concat_ws(', '");
	foreach(lc, keys)
		appendStringInfo(&sql, ", CAST(%s.%s AS pg_catalog.text)", alias,
						 quote_identifier(((ProjectionKey *) lfirst(lc))->name));
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

/* Refuse a relation in which a key occurs twice. */
static void
merge_refuse_duplicates(const RefreshState *state, List *keys, const char *relation)
{
	char	   *key = step_read_text(state,
									 psprintf("SELECT pg_catalog.min(%s) FROM %s v GROUP BY %s HAVING pg_catalog.count(*) > 1 LIMIT 1",
											  keys_text_sql(keys, "v"), relation, keys_list_sql(keys, "v")));

	if (key)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("key (%s)=(%s) of projection \"%s\" occurs more than once in view \"%s\"",
						keys_names(keys), key, get_rel_name(state->projection->target),
						get_rel_name(state->projection->view)),
				 errhint("Choose a unique_key that is unique in the view, or use mode 'delete_insert'.")));
}

/* Refuse a relation in which a column of the key is NULL. */
static void
merge_refuse_nulls(const RefreshState *state, List *keys, const char *relation)
{
	ListCell   *lc;

	foreach(lc, keys)
	{
		ProjectionKey *key = lfirst(lc);

		if (step_read_text(state, psprintf("SELECT 'null' FROM %s v WHERE v.%s IS NULL LIMIT 1", relation, quote_identifier(key->name))))
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("key column \"%s\" of projection \"%s\" is NULL in view \"%s\"",
							key->name, get_rel_name(state->projection->target),
							get_rel_name(state->projection->view)),
					 errhint("Choose key columns that are never NULL, or filter such rows in the view.")));
	}
}

/* The number of rows of the increment that the target does not have. */
static int64
merge_count_missing(const RefreshState *state, List *keys, bool refuse)
{
	char	   *missing = psprintf("FROM " INCREMENT " v WHERE NOT EXISTS (SELECT FROM %s t WHERE %s)",
								   sql_relation(state->projection->target),
								   keys_equal_sql(keys, "t", "v"));

	if (refuse)
	{
		char	   *key = step_read_text(state, psprintf("SELECT %s %s LIMIT 1", keys_text_sql(keys, "v"), missing));

		if (key)
			ereport(ERROR,
					(errcode(ERRCODE_NO_DATA_FOUND),
					 errmsg("key (%s)=(%s) is not in projection \"%s\"", keys_names(keys), key,
							get_rel_name(state->projection->target)),
					 errdetail("The projection was created with when_not_matched = 'error'."),
					 errhint("Rebuild it with full_rebuild => true, or alter when_not_matched.")));
		return 0;
	}
	return step_read_count(state, psprintf("SELECT pg_catalog.count(*) %s", missing));
}

/* Merge the increment's rows; in a full build, remove what it does not have. */
static void
merge_write(RefreshState *state, List *keys, int64 rows, bool full)
{
	Projection *projection = state->projection;
	char	   *target = sql_relation(projection->target);
	ProjectionNotMatched not_matched = full ? NOT_MATCHED_INSERT : projection->not_matched;
	bool		first = full && step_read_text(state, psprintf("SELECT 'row' FROM %s LIMIT 1", target)) == NULL;
	int64		missing = first ? rows : merge_count_missing(state, keys, not_matched == NOT_MATCHED_ERROR);
	char	   *condition = "";

	steps_phase_done(state, "match");
	if (not_matched == NOT_MATCHED_IGNORE && missing > 0)
		condition = psprintf(" WHERE EXISTS (SELECT FROM %s t WHERE %s)", target,
							 keys_equal_sql(keys, "t", "v"));
	step_write(state, psprintf("INSERT INTO %s (%s) SELECT %s FROM " INCREMENT " v%s", target, view_columns(state, NULL), view_columns(state, "v"), condition));
	state->counts.updated = rows - missing;
	state->counts.inserted = not_matched == NOT_MATCHED_INSERT ? missing : 0;
	steps_phase_done(state, "merge");

	if (full && !first)
	{
		state->counts.deleted =
			step_write(state, psprintf("DELETE FROM %s t WHERE NOT EXISTS (SELECT FROM " INCREMENT " v WHERE %s)", target, keys_equal_sql(keys, "t", "v")));
		steps_phase_done(state, "delete");
	}
}

/* Refuse a target that somebody has turned into a table that does not merge. */
static void
merge_check_target(const Projection *projection)
{
	Relation	target = relation_open(projection->target, NoLock);

	if (target->rd_rel->relam != get_table_am_oid("merge_engine", false))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("projection \"%s\" does not merge: its access method is not merge_engine",
						RelationGetRelationName(target)),
				 errhint("ALTER TABLE %s SET ACCESS METHOD merge_engine.",
						 sql_relation(projection->target))));
	relation_close(target, NoLock);
}

/*
 * Merge the changed rows, or in a full build all rows.
 *
 * The target merges by itself: it is a merge_engine table of engine deduplicate, so
 * that one INSERT updates what is there and adds what is not, in key order, and
 * writes nothing for rows that are as they were.
 */
static void
steps_merge(RefreshState *state, bool full)
{
	Projection *projection = state->projection;
	List	   *keys = keys_resolve(projection, projection->unique_key, "unique_key");
	char	   *sql;
	Tuplestorestate *store;
	Relation	view;
	int64		rows;

	merge_check_target(projection);
	sql = full ? psprintf("SELECT %s FROM %s v", view_columns(state, "v"), sql_relation(projection->view)) :
				 increment_sql(state, false);
	if (sql == NULL)
		return;
	store = tuplestore_begin_heap(true, false, work_mem);
	step_read(state, sql, store);
	rows = tuplestore_tuple_count(store);
	view = relation_open(projection->view, NoLock);
	step_register(INCREMENT, store, CreateTupleDescCopy(RelationGetDescr(view)));
	relation_close(view, NoLock);
	steps_phase_done(state, "increment");

	if (rows > 0 || full)
	{
		merge_refuse_nulls(state, keys, INCREMENT);
		merge_refuse_duplicates(state, keys, INCREMENT);
		merge_write(state, keys, rows, full);
	}
	SPI_unregister_relation(INCREMENT);
	tuplestore_end(store);
}

/* Append the rows that have become whole. */
static void
steps_insert(RefreshState *state)
{
	char	   *sql = increment_sql(state, true);

	if (sql)
		state->counts.inserted =
			step_write(state, psprintf("INSERT INTO %s (%s) %s", sql_relation(state->projection->target), view_columns(state, NULL), sql));
	steps_phase_done(state, "insert");
}

/* The key tuples' shape. */
static TupleDesc
keys_tupdesc(List *keys)
{
	TupleDesc	tupdesc = CreateTemplateTupleDesc(list_length(keys));
	ListCell   *lc;

	foreach(lc, keys)
	{
		ProjectionKey *key = lfirst(lc);
		AttrNumber	attnum = foreach_current_index(lc) + 1;

		TupleDescInitEntry(tupdesc, attnum, key->name, key->type, -1, 0);
		TupleDescInitEntryCollation(tupdesc, attnum, key->collation);
	}
	return tupdesc;
}

/* All keys that the runs return: each once, and in order, which keeps pages together. */
static char *
keys_distinct_sql(const char *runs, List *keys)
{
	char	   *list = keys_list_sql(keys, "k");

	return psprintf("SELECT DISTINCT %s FROM (%s) k ORDER BY %s", list, runs, list);
}

/* The query for all affected keys, without duplicates; NULL if nothing changed. */
static char *
delete_insert_keys_sql(const RefreshState *state, List *keys)
{
	Projection *projection = state->projection;
	StringInfoData sql;
	List	   *columns;
	ListCell   *lc;

	if (projection->affected_keys)
	{
		char	   *runs = affected_keys_sql(projection, keys);

		return runs ? keys_distinct_sql(runs, keys) : NULL;
	}

	columns = derivation_key_columns(state->lineage, keys);
	initStringInfo(&sql);
	foreach(lc, projection->sources)
	{
		ProjectionSource *source = lfirst(lc);

		if (watermark_moved(source))
			appendStringInfo(&sql, "%s%s", sql.len ? " UNION ALL " : "",
							 derivation_keys_sql(state->lineage, source, foreach_current_index(lc),
												 keys, columns));
	}
	return sql.len ? keys_distinct_sql(sql.data, keys) : NULL;
}

/* Keys whose NULLs are in the same columns: those need IS NULL where others need =. */
typedef struct KeyPattern
{
	Bitmapset  *nulls;			/* indexes of the NULL columns */
	Tuplestorestate *store;
} KeyPattern;

/* Sort the keys by which of their columns are NULL; ends the store. */
static List *
keys_split_by_nulls(Tuplestorestate *store, TupleDesc tupdesc)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(tupdesc, &TTSOpsMinimalTuple);
	List	   *patterns = NIL;

	while (tuplestore_gettupleslot(store, true, false, slot))
	{
		KeyPattern *pattern = NULL;
		Bitmapset  *nulls = NULL;
		ListCell   *lc;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		for (int i = 0; i < tupdesc->natts; i++)
			if (slot->tts_isnull[i])
				nulls = bms_add_member(nulls, i);
		foreach(lc, patterns)
			if (bms_equal(((KeyPattern *) lfirst(lc))->nulls, nulls))
				pattern = lfirst(lc);
		if (pattern == NULL)
		{
			pattern = palloc(sizeof(KeyPattern));
			pattern->nulls = bms_copy(nulls);
			pattern->store = tuplestore_begin_heap(true, false, work_mem);
			patterns = lappend(patterns, pattern);
		}
		tuplestore_puttupleslot(pattern->store, slot);
		bms_free(nulls);
	}
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
	return patterns;
}

/* "t.key = k.key AND t.key2 IS NULL …" for the keys of one pattern. */
static char *
pattern_condition(const KeyPattern *pattern, List *keys, const char *alias)
{
	StringInfoData sql;
	ListCell   *lc;

	initStringInfo(&sql);
	foreach(lc, keys)
	{
		ProjectionKey *key = lfirst(lc);
		const char *name = quote_identifier(key->name);

		if (sql.len)
			appendStringInfoString(&sql, " AND ");
		if (bms_is_member(foreach_current_index(lc), pattern->nulls))
			appendStringInfo(&sql, "%s.%s IS NULL", alias, name);
		else
			appendStringInfo(&sql, "%s.%s %s k.%s", alias, name, sql_operator(key->eq_opr), name);
	}
	return sql.data;
}

/* The planner's cost of a statement without parameters. */
static Cost
step_cost(const RefreshState *state, SPIPlanPtr plan)
{
	CachedPlan *cached;
	Cost		cost;

	step_push_snapshot(state);
	cached = SPI_plan_get_cached_plan(plan);
	PopActiveSnapshot();
	if (cached == NULL)
		elog(ERROR, "could not plan a refresh");
	cost = linitial_node(PlannedStmt, cached->stmt_list)->planTree->total_cost;
	ReleaseCachedPlan(cached, NULL);
	return cost;
}

/*
 * Recompute the rows of one pattern's keys.
 *
 * A join with the keys is best where the planner can flatten the view or where most
 * keys are affected.  It cannot reach into a view that aggregates; a lateral subquery
 * that OFFSET 0 keeps whole can, once for each key.  The planner's cost decides.
 */
static int64
delete_insert_recompute(const RefreshState *state, const KeyPattern *pattern, List *keys)
{
	char	   *insert = psprintf("INSERT INTO %s (%s) SELECT ",
								  sql_relation(state->projection->target), view_columns(state, NULL));
	char	   *view = sql_relation(state->projection->view);
	char	   *columns = view_columns(state, "v");
	char	   *condition = pattern_condition(pattern, keys, "v");
	char	   *joined = psprintf("%s%s FROM " AFFECTED_KEYS " k JOIN %s v ON %s",
								  insert, columns, view, condition);
	char	   *lateral = psprintf("%s%s FROM " AFFECTED_KEYS " k CROSS JOIN LATERAL"
								   " (SELECT %s FROM %s v WHERE %s OFFSET 0) r",
								   insert, view_columns(state, "r"), columns, view, condition);
	SPIPlanPtr	join_plan = SPI_prepare(joined, 0, NULL);
	SPIPlanPtr	lateral_plan = SPI_prepare(lateral, 0, NULL);
	SPIPlanPtr	plan = join_plan;
	int			result;

	if (join_plan == NULL || lateral_plan == NULL)
		elog(ERROR, "could not prepare \"%s\": %s", joined, SPI_result_code_string(SPI_result));
	if (step_cost(state, lateral_plan) < step_cost(state, join_plan))
		plan = lateral_plan;
	result = SPI_execute_snapshot(plan, NULL, NULL, state->snapshot, InvalidSnapshot,
								  false, true, 0);
	if (result < 0)
		elog(ERROR, "could not execute \"%s\": %s", joined, SPI_result_code_string(result));
	return SPI_processed;
}

/* Replace the rows of every affected key. */
static void
steps_delete_insert(RefreshState *state)
{
	Projection *projection = state->projection;
	List	   *keys = keys_resolve(projection, projection->replace_key, "replace_key");
	char	   *sql = delete_insert_keys_sql(state, keys);
	Tuplestorestate *store;
	TupleDesc	tupdesc;
	List	   *patterns;
	ListCell   *lc;

	state->counts.affected_keys = 0;
	if (sql == NULL)
		return;
	store = tuplestore_begin_heap(true, false, work_mem);
	step_read(state, sql, store);
	state->counts.affected_keys = tuplestore_tuple_count(store);
	tupdesc = keys_tupdesc(keys);
	patterns = keys_split_by_nulls(store, tupdesc);
	steps_phase_done(state, "keys");

	foreach(lc, patterns)
	{
		KeyPattern *pattern = lfirst(lc);

		step_register(AFFECTED_KEYS, pattern->store, tupdesc);
		state->counts.deleted +=
			step_write(state, psprintf("DELETE FROM %s t USING " AFFECTED_KEYS " k WHERE %s", sql_relation(projection->target), pattern_condition(pattern, keys, "t")));
		SPI_unregister_relation(AFFECTED_KEYS);
	}
	steps_phase_done(state, "delete");
	foreach(lc, patterns)
	{
		KeyPattern *pattern = lfirst(lc);

		step_register(AFFECTED_KEYS, pattern->store, tupdesc);
		state->counts.inserted += delete_insert_recompute(state, pattern, keys);
		SPI_unregister_relation(AFFECTED_KEYS);
		tuplestore_end(pattern->store);
	}
	steps_phase_done(state, "insert");
}

/* Bring the projection up to date from what changed above the watermarks. */
void
steps_incremental(RefreshState *state)
{
	switch (state->projection->mode)
	{
		case PROJECTION_INSERT:
			steps_insert(state);
			break;
		case PROJECTION_MERGE:
			steps_merge(state, false);
			break;
		case PROJECTION_DELETE_INSERT:
			steps_delete_insert(state);
			break;
	}
}

/*
 * Replace all rows, by DELETE and not by TRUNCATE: readers keep what they see.
 *
 * In mode insert a row with a part above a bound is left out: the next refresh appends
 * it.  In the other modes it may come now, and is replaced by itself later.
 */
static void
steps_replace_all(RefreshState *state)
{
	Projection *projection = state->projection;
	char	   *target = sql_relation(projection->target);
	StringInfoData where;
	ListCell   *lc;

	state->counts.deleted = step_write(state, psprintf("DELETE FROM %s", target));
	steps_phase_done(state, "delete");

	initStringInfo(&where);
	if (projection->mode == PROJECTION_INSERT)
		foreach(lc, projection->sources)
			appendStringInfo(&where, "%s%s", where.len ? " AND " : " WHERE ",
							 source_condition(lfirst(lc), BTLessEqualStrategyNumber,
											  2 * foreach_current_index(lc) + 2));
	state->counts.inserted =
		step_write(state, psprintf("INSERT INTO %s (%s) SELECT %s FROM %s v%s", target, view_columns(state, NULL), view_columns(state, "v"), sql_relation(projection->view), where.data));
	steps_phase_done(state, "insert");
}

/* Build the projection anew. */
void
steps_full(RefreshState *state)
{
	if (state->projection->mode == PROJECTION_MERGE)
		steps_merge(state, true);
	else
		steps_replace_all(state);

	/*
	 * Without statistics the next refresh would read the whole table to delete a few
	 * keys.  Who holds the lock may be waiting for us: then autovacuum will do it.
	 */
	if (SPI_execute(psprintf("ANALYZE (SKIP_LOCKED) %s", sql_relation(state->projection->target)),
					false, 0) < 0)
		elog(ERROR, "could not analyze a projection");
	steps_phase_done(state, "analyze");
}
