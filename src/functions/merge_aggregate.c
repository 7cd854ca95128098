/*
 * merge_aggregate.c
 *	  merge_engine.merge(table, row): whole rows folded by a table's rules.
 *
 * The rows of one key, taken from a raw log, give what the table would hold if
 * one statement had brought them in this order.  Columns go by name: what the
 * input lacks is absent, what the table lacks comes out NULL.  Values are
 * converted as INSERT converts them, and back for the result.
 *
 * A group's rows are merged as they come, except where the rules depend on the
 * whole order (MERGE_MEMORY_LOG): then they are kept, and sorted and folded
 * for the result.  The state points into the rows that it was made of, so now
 * and then what it still needs is copied into a new context, and the old one
 * with everything in it is dropped.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/merge_plan.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "merge/merge.h"
#include "merge/versions.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(merge_aggregate_transition);
PG_FUNCTION_INFO_V1(merge_aggregate_final);

/* One call of the aggregate in a query. */
typedef struct MergeCall
{
	Oid			table;
	MergePlan  *plan;
	TupleDesc	desc;			/* of the table */
	Oid			row_type;		/* of the input */
	int32		row_typmod;
	TupleDesc	row_desc;
	int		   *row_columns;	/* by table column: the input's, or -1 */
	bool	   *named;			/* by table column: is it in the input? */
	ExprContext *econtext;
	ExprState **casts_in;		/* by table column; NULL: none needed */
	ExprState **casts_out;
	ExprState **generated;		/* by table column; NULL: not generated */
	FmgrInfo   *key_equal;		/* by key column */
} MergeCall;

/* The state of one group. */
typedef struct MergeGroup
{
	MergeCall  *call;
	MemoryContext parent;		/* the aggregate's context */
	MemoryContext context;		/* what the state points to */
	Size		compacted;		/* size of the context after the last copy */
	MergeState *state;
	uint64		nrows;			/* rows seen */
	NullableDatum *key;			/* of the first one */
	MergeRow  **rows;			/* all of them, where the plan asks for it */
	int			size;
} MergeGroup;

/* Copy what a group still needs when its context has grown to this. */
#define GROUP_COMPACT_SIZE (64 * 1024)

/* An expression that converts a value as an assignment does; or NULL. */
static ExprState *
cast_prepare(MergeCall *call, Form_pg_attribute from, Form_pg_attribute to, bool in)
{
	CaseTestExpr *value = makeNode(CaseTestExpr);
	Node	   *expr;

	value->typeId = from->atttypid;
	value->typeMod = from->atttypmod;
	value->collation = from->attcollation;
	expr = coerce_to_target_type(NULL, (Node *) value, from->atttypid,
								 to->atttypid, to->atttypmod,
								 COERCION_ASSIGNMENT, COERCE_IMPLICIT_CAST, -1);
	if (expr == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" is of type %s in table \"%s\", but of type %s in the rows to merge",
						NameStr(to->attname), format_type_be(in ? to->atttypid : from->atttypid),
						call->plan->table, format_type_be(in ? from->atttypid : to->atttypid)),
				 errhint("Cast the column of the rows to the table's type.")));
	if (expr == (Node *) value)
		return NULL;
	return ExecInitExpr(expression_planner((Expr *) expr), NULL);
}

/* The expression of a generated column; or NULL. */
static ExprState *
generated_prepare(MergeCall *call, Relation relation, int c)
{
	Node	   *expr;

	if (!call->plan->columns[c].generated)
		return NULL;
	expr = build_column_default(relation, c + 1);
	if (expr == NULL)
		elog(ERROR, "no generation expression for column \"%s\" of table \"%s\"",
			 call->plan->columns[c].name, call->plan->table);
	return ExecInitExpr(expression_planner((Expr *) expr), NULL);
}

/* The input's column of that name, or -1. */
static int
row_column(const MergeCall *call, const char *name)
{
	for (int i = 0; i < call->row_desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(call->row_desc, i);

		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
			return i;
	}
	return -1;
}

/* Match the columns of the input with the table's. */
static void
call_match_columns(MergeCall *call, Relation relation)
{
	MergePlan  *plan = call->plan;

	call->row_columns = palloc(plan->natts * sizeof(int));
	call->named = palloc0(plan->natts * sizeof(bool));
	call->casts_in = palloc0(plan->natts * sizeof(ExprState *));
	call->casts_out = palloc0(plan->natts * sizeof(ExprState *));
	call->generated = palloc0(plan->natts * sizeof(ExprState *));
	for (int c = 0; c < plan->natts; c++)
	{
		const MergeColumn *column = &plan->columns[c];
		int			i = column->dropped ? -1 : row_column(call, column->name);

		call->row_columns[c] = i;
		if (column->key && i < 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("rows to merge by table \"%s\" have no column \"%s\"",
							plan->table, column->name),
					 errdetail("It belongs to the table's primary key."),
					 errhint("Give the rows' columns the names that they have in the table.")));
		if (i < 0)
			continue;
		call->named[c] = !column->generated;
		if (!column->generated)
			call->casts_in[c] = cast_prepare(call, TupleDescAttr(call->row_desc, i),
											 TupleDescAttr(call->desc, c), true);
		call->casts_out[c] = cast_prepare(call, TupleDescAttr(call->desc, c),
										  TupleDescAttr(call->row_desc, i), false);
		call->generated[c] = generated_prepare(call, relation, c);
	}
}

/* Prepare the comparison of keys. */
static void
call_prepare_keys(MergeCall *call)
{
	const MergePlan *plan = call->plan;

	call->key_equal = palloc0(plan->nkeys * sizeof(FmgrInfo));
	for (int i = 0; i < plan->nkeys; i++)
	{
		Oid			type = TupleDescAttr(call->desc, plan->keys[i])->atttypid;
		TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR_FINFO);

		if (OidIsValid(entry->eq_opr_finfo.fn_oid))
			fmgr_info_copy(&call->key_equal[i], &entry->eq_opr_finfo, CurrentMemoryContext);
	}
}

/* Compile a table's rules for rows of a type, in CurrentMemoryContext. */
static MergeCall *
call_create(Oid table, Oid row_type, int32 row_typmod)
{
	MergeCall  *call = palloc0(sizeof(MergeCall));
	Relation	relation = table_open(table, AccessShareLock);
	TupleDesc	row_desc = lookup_rowtype_tupdesc(row_type, row_typmod);
	MergeOptions *options = merge_plan_options(relation);

	if (options == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" does not merge", RelationGetRelationName(relation)),
				 errdetail("Its options name no merge engine, and it has no merge trigger."),
				 errhint("Name a table made with USING merge_engine, or with a merge trigger.")));
	call->plan = merge_plan_compile(relation, options);
	if (call->plan->nkeys == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" does not merge", RelationGetRelationName(relation)),
				 errdetail("It has no primary key."),
				 errhint("Add one with ALTER TABLE ... ADD PRIMARY KEY.")));
	call->table = table;
	call->row_type = row_type;
	call->row_typmod = row_typmod;
	call->row_desc = CreateTupleDescCopy(row_desc);
	call->desc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	call->econtext = CreateStandaloneExprContext();
	call_match_columns(call, relation);
	call_prepare_keys(call);
	ReleaseTupleDesc(row_desc);
	table_close(relation, NoLock);
	return call;
}

/* The prepared call; the row is not NULL. */
static MergeCall *
call_get(FunctionCallInfo fcinfo)
{
	MergeCall  *call = fcinfo->flinfo->fn_extra;
	Oid			table = PG_GETARG_OID(1);
	Oid			argument = get_fn_expr_argtype(fcinfo->flinfo, 2);
	Oid			row_type;
	int32		row_typmod;

	if (call == NULL && !type_is_rowtype(argument))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("cannot merge values of type %s", format_type_be(argument)),
				 errhint("Give whole rows: merge_engine.merge('table', log) FROM log.")));
	row_type = HeapTupleHeaderGetTypeId(PG_GETARG_HEAPTUPLEHEADER(2));
	row_typmod = HeapTupleHeaderGetTypMod(PG_GETARG_HEAPTUPLEHEADER(2));
	if (call == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		call = call_create(table, row_type, row_typmod);
		fcinfo->flinfo->fn_extra = call;
		MemoryContextSwitchTo(oldcontext);
	}
	if (call->table != table)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the table to merge by must be the same for every row")));
	if (call->row_type != row_type || call->row_typmod != row_typmod)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("rows to merge by table \"%s\" must be of one type",
						call->plan->table)));
	return call;
}

/* Convert a value. */
static void
cast_value(MergeCall *call, ExprState *cast, Datum *value, bool *isnull)
{
	ExprContext *econtext = call->econtext;

	if (cast == NULL)
		return;
	econtext->caseValue_datum = *value;
	econtext->caseValue_isNull = *isnull;
	*value = ExecEvalExpr(cast, econtext, isnull);
}

/* Read an input row into the table's columns, in CurrentMemoryContext. */
static MergeRow *
row_read(MergeCall *call, HeapTupleHeader header)
{
	const MergePlan *plan = call->plan;
	MergeRow   *row = palloc0(sizeof(MergeRow));
	HeapTupleData tuple = {0};
	Datum	   *values = palloc(call->row_desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(call->row_desc->natts * sizeof(bool));

	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_data = header;
	heap_deform_tuple(&tuple, call->row_desc, values, isnull);

	row->values = palloc0(plan->natts * sizeof(Datum));
	row->isnull = palloc(plan->natts * sizeof(bool));
	row->named = call->named;
	for (int c = 0; c < plan->natts; c++)
	{
		row->isnull[c] = true;
		if (!call->named[c])
			continue;
		row->values[c] = values[call->row_columns[c]];
		row->isnull[c] = isnull[call->row_columns[c]];
		cast_value(call, call->casts_in[c], &row->values[c], &row->isnull[c]);
	}
	merge_row_init(plan, row);
	return row;
}

/* Refuse a row without a key, and one of another key than the group's. */
static void
group_check_key(MergeGroup *group, const MergeRow *row)
{
	MergeCall  *call = group->call;
	const MergePlan *plan = call->plan;

	for (int i = 0; i < plan->nkeys; i++)
	{
		int			c = plan->keys[i];

		if (row->isnull[c])
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("null value in column \"%s\" of a row to merge by table \"%s\"",
							plan->columns[c].name, plan->table),
					 errdetail("The column belongs to the table's primary key.")));
		if (group->key != NULL && OidIsValid(call->key_equal[i].fn_oid) &&
			!DatumGetBool(FunctionCall2Coll(&call->key_equal[i], plan->columns[c].collation,
											group->key[i].value, row->values[c])))
			ereport(ERROR,
					(errcode(ERRCODE_CARDINALITY_VIOLATION),
					 errmsg("rows to merge by table \"%s\" differ in column \"%s\" of its primary key",
							plan->table, plan->columns[c].name),
					 errhint("GROUP BY the primary key.")));
	}
}

/* The state of a group without rows. */
static MergeGroup *
group_create(MergeCall *call, MemoryContext parent)
{
	MergeGroup *group = MemoryContextAllocZero(parent, sizeof(MergeGroup));
	MemoryContext oldcontext;

	group->call = call;
	group->parent = parent;
	group->context = AllocSetContextCreate(parent, "merged rows", ALLOCSET_SMALL_SIZES);
	oldcontext = MemoryContextSwitchTo(group->context);
	group->state = merge_state_create(call->plan);
	MemoryContextSwitchTo(oldcontext);
	return group;
}

/* Remember the key of a group's first row. */
static void
group_set_key(MergeGroup *group, const MergeRow *row)
{
	const MergePlan *plan = group->call->plan;
	MemoryContext oldcontext = MemoryContextSwitchTo(group->parent);

	group->key = palloc(plan->nkeys * sizeof(NullableDatum));
	for (int i = 0; i < plan->nkeys; i++)
	{
		const MergeColumn *column = &plan->columns[plan->keys[i]];

		group->key[i].value = datumCopy(row->values[plan->keys[i]],
										column->typbyval, column->typlen);
		group->key[i].isnull = false;
	}
	MemoryContextSwitchTo(oldcontext);
}

/* Keep a row for the fold at the end. */
static void
group_keep_row(MergeGroup *group, MergeRow *row)
{
	if (group->nrows > group->size)
	{
		group->size = group->size == 0 ? 8 : group->size * 2;
		group->rows = group->rows == NULL ?
			MemoryContextAlloc(group->parent, group->size * sizeof(MergeRow *)) :
			repalloc_huge(group->rows, group->size * sizeof(MergeRow *));
	}
	group->rows[group->nrows - 1] = row;
}

/* Copy a state, in CurrentMemoryContext. */
static MergeState *
state_copy(const MergePlan *plan, const MergeState *state)
{
	MergeState *copy = merge_state_create(plan);

	copy->exists = state->exists;
	copy->hidden = state->hidden;
	for (int c = 0; (state->exists || state->hidden) && c < plan->natts; c++)
	{
		const MergeColumn *column = &plan->columns[c];

		copy->isnull[c] = state->isnull[c];
		if (!state->isnull[c])
			copy->values[c] = datumCopy(state->values[c], column->typbyval, column->typlen);
	}
	if (state->row_version != NULL)
		copy->row_version = sequence_copy(plan->sequence, state->row_version);
	if (state->removed != NULL)
		copy->removed = sequence_copy(plan->sequence, state->removed);
	for (int c = 0; state->versions != NULL && c < plan->natts; c++)
	{
		if (state->versions[c] == state->row_version)
			copy->versions[c] = copy->row_version;
		else if (state->versions[c] != NULL)
			copy->versions[c] = sequence_copy(plan->sequence, state->versions[c]);
	}
	return copy;
}

/* Drop what the group's rows have left and the state does not need. */
static void
group_compact(MergeGroup *group)
{
	MemoryContext old = group->context;
	MemoryContext oldcontext;

	group->context = AllocSetContextCreate(group->parent, "merged rows",
										   ALLOCSET_SMALL_SIZES);
	oldcontext = MemoryContextSwitchTo(group->context);
	group->state = state_copy(group->call->plan, group->state);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(old);
	group->compacted = MemoryContextMemAllocated(group->context, false);
}

/* merge_transition(internal, regclass, row) returns internal: adds a row */
Datum
merge_aggregate_transition(PG_FUNCTION_ARGS)
{
	MergeGroup *group = PG_ARGISNULL(0) ? NULL : (MergeGroup *) PG_GETARG_POINTER(0);
	MemoryContext context;
	MemoryContext oldcontext;
	MergeCall  *call;
	MergeRow   *row;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the table to merge by must not be null")));
	if (PG_ARGISNULL(2))
	{
		if (group == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(group);
	}

	call = call_get(fcinfo);
	if (group == NULL)
		group = group_create(call, context);
	oldcontext = MemoryContextSwitchTo(group->context);
	ResetExprContext(call->econtext);
	row = row_read(call, PG_GETARG_HEAPTUPLEHEADER_COPY(2));
	group_check_key(group, row);
	if (group->key == NULL)
		group_set_key(group, row);
	row->arrival = group->nrows++;
	if (call->plan->memory == MERGE_MEMORY_LOG)
		group_keep_row(group, row);
	else
		merge_fold(call->plan, group->state, &row, 1);
	MemoryContextSwitchTo(oldcontext);

	if (call->plan->memory != MERGE_MEMORY_LOG &&
		MemoryContextMemAllocated(group->context, false) >
			GROUP_COMPACT_SIZE + 2 * group->compacted)
		group_compact(group);
	PG_RETURN_POINTER(group);
}

/* Sort kept rows into the order in which they are folded. */
static int
compare_rows(const void *a, const void *b, void *plan)
{
	return merge_rows_compare(plan, *(MergeRow *const *) a, *(MergeRow *const *) b);
}

/* What the group's rows have led to, in CurrentMemoryContext. */
static MergeState *
group_result(MergeGroup *group)
{
	MergePlan  *plan = group->call->plan;
	MergeState *state;
	MergeRow  **rows;

	if (plan->memory != MERGE_MEMORY_LOG)
		return group->state;
	state = merge_state_create(plan);
	rows = MemoryContextAllocHuge(CurrentMemoryContext, group->nrows * sizeof(MergeRow *));
	memcpy(rows, group->rows, group->nrows * sizeof(MergeRow *));
	qsort_arg(rows, group->nrows, sizeof(MergeRow *), compare_rows, plan);
	merge_fold(plan, state, rows, group->nrows);
	return state;
}

/* Compute the generated columns of a merged row. */
static void
result_generate(MergeCall *call, Datum *values, bool *isnull)
{
	TupleTableSlot *slot = NULL;

	for (int c = 0; c < call->plan->natts; c++)
	{
		if (call->generated[c] == NULL)
			continue;
		if (slot == NULL)
		{
			slot = MakeSingleTupleTableSlot(call->desc, &TTSOpsVirtual);
			memcpy(slot->tts_values, values, call->plan->natts * sizeof(Datum));
			memcpy(slot->tts_isnull, isnull, call->plan->natts * sizeof(bool));
			ExecStoreVirtualTuple(slot);
			call->econtext->ecxt_scantuple = slot;
		}
		values[c] = ExecEvalExpr(call->generated[c], call->econtext, &isnull[c]);
	}
	call->econtext->ecxt_scantuple = NULL;
	if (slot != NULL)
		ExecDropSingleTupleTableSlot(slot);
}

/*
 * merge_final(internal, regclass, row) returns row
 *		The row that the table would hold; NULL if it would hold none.
 */
Datum
merge_aggregate_final(PG_FUNCTION_ARGS)
{
	MergeGroup *group;
	MergeCall  *call;
	MergeState *state;
	Datum	   *values;
	bool	   *isnull;
	Datum	   *row_values;
	bool	   *row_isnull;

	if (!AggCheckCallContext(fcinfo, NULL))
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	group = (MergeGroup *) PG_GETARG_POINTER(0);
	call = group->call;
	state = group_result(group);
	if (!state->exists)
		PG_RETURN_NULL();

	values = palloc(call->plan->natts * sizeof(Datum));
	isnull = palloc(call->plan->natts * sizeof(bool));
	versions_store(call->plan, state);
	memcpy(values, state->values, call->plan->natts * sizeof(Datum));
	memcpy(isnull, state->isnull, call->plan->natts * sizeof(bool));
	result_generate(call, values, isnull);

	row_values = palloc0(call->row_desc->natts * sizeof(Datum));
	row_isnull = palloc(call->row_desc->natts * sizeof(bool));
	memset(row_isnull, true, call->row_desc->natts * sizeof(bool));
	for (int c = 0; c < call->plan->natts; c++)
	{
		int			i = call->row_columns[c];

		if (i < 0)
			continue;
		cast_value(call, call->casts_out[c], &values[c], &isnull[c]);
		row_values[i] = values[c];
		row_isnull[i] = isnull[c];
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(call->row_desc, row_values, row_isnull)));
}
