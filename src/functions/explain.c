/*
 * explain.c
 *	  merge_engine.explain_merge(regclass, record | jsonb): what would happen if
 *	  this row came now.
 *
 * The stored row is read with the caller's rights, as any query of his would.
 * Then the row is merged by the very functions that a write uses; nothing is
 * written.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/tombstones.h"
#include "access/xact.h"
#include "catalog/merge_plan.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "functions/explain.h"
#include "functions/words.h"
#include "merge/versions.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/typcache.h"

/* The columns of the result. */
enum
{
	EXPLAIN_COLUMN,
	EXPLAIN_STORED,
	EXPLAIN_VERSION,
	EXPLAIN_INCOMING,
	EXPLAIN_MERGED,
	EXPLAIN_REASON,
	EXPLAIN_NATTS
};

PG_FUNCTION_INFO_V1(merge_engine_explain_record);
PG_FUNCTION_INFO_V1(merge_engine_explain_jsonb);

/* A row without values and without names. */
static void
row_begin(const MergePlan *plan, MergeRow *row)
{
	bool	   *isnull = palloc(plan->natts * sizeof(bool));

	memset(row, 0, sizeof(MergeRow));
	memset(isnull, true, plan->natts * sizeof(bool));
	row->values = palloc0(plan->natts * sizeof(Datum));
	row->isnull = isnull;
	row->named = palloc0(plan->natts * sizeof(bool));
}

/* The column of that name; an error if the row cannot give it. */
static int
row_column(const MergePlan *plan, const char *name)
{
	for (int c = 0; c < plan->natts; c++)
	{
		if (!plan->columns[c].dropped && strcmp(plan->columns[c].name, name) == 0)
			return c;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of table \"%s\" does not exist", name, plan->table)));
}

/* Give a row the value of a column, from text. */
static void
row_set(Relation relation, MergeRow *row, int c, char *text)
{
	Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), c);
	Oid			input;
	Oid			ioparam;

	if (attribute->attgenerated != '\0')
		return;
	unconstify(bool *, row->named)[c] = true;
	row->isnull[c] = text == NULL;
	if (text == NULL)
		return;
	getTypeInputInfo(attribute->atttypid, &input, &ioparam);
	row->values[c] = OidInputFunctionCall(input, text, ioparam, attribute->atttypmod);
}

/* The text of a value, or NULL. */
static char *
value_text(Oid type, Datum value, bool isnull)
{
	Oid			output;
	bool		isvarlena;

	if (isnull)
		return NULL;
	getTypeOutputInfo(type, &output, &isvarlena);
	return OidOutputFunctionCall(output, value);
}

/* Does a record name its fields, other than ROW's f1, f2, …? */
static bool
record_has_names(TupleDesc tupdesc)
{
	for (int i = 0; i < tupdesc->natts; i++)
	{
		if (strcmp(NameStr(TupleDescAttr(tupdesc, i)->attname), psprintf("f%d", i + 1)) != 0)
			return true;
	}
	return false;
}

/* A row from a record: by the names of its fields, or else in order. */
static void
row_from_record(Relation relation, const MergePlan *plan, HeapTupleHeader record,
				MergeRow *row)
{
	TupleDesc	tupdesc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(record),
												 HeapTupleHeaderGetTypMod(record));
	bool		has_names = record_has_names(tupdesc);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(record), .t_data = record};
	Datum	   *values = palloc(tupdesc->natts * sizeof(Datum));
	bool	   *isnull = palloc(tupdesc->natts * sizeof(bool));
	int			next = 0;

	heap_deform_tuple(&tuple, tupdesc, values, isnull);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, i);
		int			c;

		if (attribute->attisdropped)
			continue;
		if (has_names)
			c = row_column(plan, NameStr(attribute->attname));
		else
		{
			while (next < plan->natts &&
				   (plan->columns[next].dropped || plan->columns[next].generated))
				next++;
			if (next == plan->natts)
				ereport(ERROR,
						(errcode(ERRCODE_DATATYPE_MISMATCH),
						 errmsg("the row has more fields than table \"%s\" has columns", plan->table)));
			c = next++;
		}
		row_set(relation, row, c, value_text(attribute->atttypid, values[i], isnull[i]));
	}
	ReleaseTupleDesc(tupdesc);
}

/* Copy the row that SPI has found, whose columns are all but the dropped ones. */
static void
row_from_spi(const MergePlan *plan, Datum *values, bool *isnull, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	int			field = 0;

	for (int c = 0; c < plan->natts; c++)
	{
		isnull[c] = true;
		if (plan->columns[c].dropped)
			continue;
		values[c] = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, ++field, &isnull[c]);
		if (!isnull[c])
			values[c] = datumCopy(values[c], plan->columns[c].typbyval, plan->columns[c].typlen);
	}
	MemoryContextSwitchTo(oldcontext);
}

/* The table's name, as a query can name it. */
static char *
table_name(Relation relation)
{
	return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
									  RelationGetRelationName(relation));
}

/* A row from a JSON object: the columns that it names. */
static void
row_from_jsonb(Relation relation, const MergePlan *plan, Jsonb *jsonb, MergeRow *row)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			types[1] = {JSONBOID};
	Datum		args[1] = {JsonbPGetDatum(jsonb)};
	JsonbIterator *iterator;
	JsonbIteratorToken token;
	JsonbValue	key;

	if (!JB_ROOT_IS_OBJECT(jsonb))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a row is a JSON object"),
				 errhint("Give the columns that the row names, such as {\"id\": 1, \"status\": \"PAID\"}.")));
	SPI_connect();
	if (SPI_execute_with_args(psprintf("SELECT (pg_catalog.jsonb_populate_record(NULL::%s, $1)).*",
									   table_name(relation)),
							  1, types, args, NULL, true, 1) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read the row");
	row_from_spi(plan, row->values, row->isnull, context);
	SPI_finish();

	iterator = JsonbIteratorInit(&jsonb->root);
	while ((token = JsonbIteratorNext(&iterator, &key, true)) != WJB_DONE)
	{
		int			c;

		if (token != WJB_KEY)
			continue;
		c = row_column(plan, pnstrdup(key.val.string.val, key.val.string.len));
		if (!plan->columns[c].generated)
			unconstify(bool *, row->named)[c] = true;
	}
}

/* Fill columns that the row does not name with their DEFAULTs. */
static void
row_add_defaults(Relation relation, const MergePlan *plan, MergeRow *row)
{
	EState	   *estate = CreateExecutorState();

	for (int c = 0; c < plan->natts; c++)
	{
		Expr	   *expression;

		if (MergeRowNames(row, c))
			continue;
		row->isnull[c] = true;
		if (!plan->columns[c].has_default)
			continue;
		expression = (Expr *) build_column_default(relation, c + 1);

		/* nextval would count on; nothing must be written here */
		if (expression == NULL || contain_volatile_functions((Node *) expression))
			continue;
		row->values[c] = ExecEvalExprSwitchContext(ExecPrepareExpr(expression, estate),
												   GetPerTupleExprContext(estate),
												   &row->isnull[c]);
		if (!row->isnull[c])
			row->values[c] = datumCopy(row->values[c], plan->columns[c].typbyval,
									   plan->columns[c].typlen);
	}
	FreeExecutorState(estate);
}

/* Read the stored row of the key; false if there is none. */
static bool
read_stored(Relation relation, const MergePlan *plan, const MergeRow *row,
			Datum *values, bool *isnull)
{
	MemoryContext context = CurrentMemoryContext;
	StringInfoData query;
	Oid		   *types = palloc(plan->nkeys * sizeof(Oid));
	Datum	   *args = palloc(plan->nkeys * sizeof(Datum));
	bool		found;

	initStringInfo(&query);
	appendStringInfo(&query, "SELECT * FROM ONLY %s WHERE ", table_name(relation));
	for (int i = 0; i < plan->nkeys; i++)
	{
		int			c = plan->keys[i];

		if (row->isnull[c])
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("the row has no value for key column \"%s\" of table \"%s\"",
							plan->columns[c].name, plan->table)));
		appendStringInfo(&query, "%s%s = $%d", i > 0 ? " AND " : "",
						 quote_identifier(plan->columns[c].name), i + 1);
		types[i] = TupleDescAttr(RelationGetDescr(relation), c)->atttypid;
		args[i] = row->values[c];
	}
	SPI_connect();
	if (SPI_execute_with_args(query.data, plan->nkeys, types, args, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not read table \"%s\"", plan->table);
	found = SPI_processed > 0;
	if (found)
		row_from_spi(plan, values, isnull, context);
	SPI_finish();
	return found;
}

/* The state before the merge. */
static MergeState *
state_before(Relation relation, MergePlan *plan, const MergeRow *row, bool *found)
{
	MergeState *state = merge_state_create(plan);
	Datum	   *values = palloc0(plan->natts * sizeof(Datum));
	bool	   *isnull = palloc(plan->natts * sizeof(bool));

	*found = read_stored(relation, plan, row, values, isnull);
	if (*found)
		merge_state_load(plan, state, values, isnull);
	else if (plan->tombstones)
		state->removed = tombstone_peek(relation, plan, row->values);
	return state;
}

/* A state that the original does not share with. */
static MergeState *
state_copy(const MergePlan *plan, const MergeState *state)
{
	MergeState *copy = merge_state_create(plan);

	copy->exists = state->exists;
	copy->row_version = state->row_version;
	copy->removed = state->removed;
	memcpy(copy->values, state->values, plan->natts * sizeof(Datum));
	memcpy(copy->isnull, state->isnull, plan->natts * sizeof(bool));
	if (state->versions != NULL)
		memcpy(copy->versions, state->versions, plan->natts * sizeof(SequenceValue));
	return copy;
}

/* Merge the row; returns NULL, or why it is refused. */
static char *
merge_or_refuse(const MergePlan *plan, MergeState *state, MergeRow *row)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	MergeRow   *rows[1] = {row};
	char *volatile refusal = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(oldcontext);
	PG_TRY();
	{
		merge_row_init(plan, row);
		merge_fold(plan, state, rows, 1);
		versions_store(plan, state);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(oldcontext);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		/* whoever cancels the query is no rule of the table */
		if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(error);
		refusal = error->message;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(oldcontext);
	CurrentResourceOwner = owner;
	return refusal;
}

/* Put texts into the result. */
static void
explain_put(ReturnSetInfo *result, const char *const *texts)
{
	Datum		values[EXPLAIN_NATTS];
	bool		nulls[EXPLAIN_NATTS];

	for (int i = 0; i < EXPLAIN_NATTS; i++)
	{
		nulls[i] = texts[i] == NULL;
		if (texts[i] != NULL)
			values[i] = CStringGetTextDatum(texts[i]);
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Put the row for the whole, and one for each column. */
static void
explain_put_all(ReturnSetInfo *result, Relation relation, const Explanation *explanation)
{
	const MergePlan *plan = explanation->plan;
	const MergeState *before = explanation->before;
	const char *table[EXPLAIN_NATTS] = {NULL};

	table[EXPLAIN_REASON] = explain_outcome(explanation, &table[EXPLAIN_MERGED]);
	if (plan->sequence != NULL)
	{
		table[EXPLAIN_INCOMING] = words_sequence(plan->sequence, explanation->row.sequence);
		if (explanation->found)
			table[EXPLAIN_VERSION] = words_sequence(plan->sequence, before->row_version);
	}
	explain_put(result, table);
	for (int c = 0; c < plan->natts; c++)
	{
		const MergeColumn *column = &plan->columns[c];
		const MergeState *after = explanation->after;
		Oid			type = TupleDescAttr(RelationGetDescr(relation), c)->atttypid;
		const char *texts[EXPLAIN_NATTS] = {NULL};

		if (column->dropped)
			continue;
		texts[EXPLAIN_COLUMN] = column->name;
		texts[EXPLAIN_REASON] = explain_reason(explanation, c);
		if (explanation->found)
			texts[EXPLAIN_STORED] = value_text(type, before->values[c], before->isnull[c]);
		if (explanation->found && before->versions != NULL && before->versions[c] != NULL &&
			words_has_version(plan, c))
			texts[EXPLAIN_VERSION] = words_sequence(plan->sequence, before->versions[c]);
		if (MergeRowNames(&explanation->row, c))
			texts[EXPLAIN_INCOMING] = value_text(type, explanation->row.values[c],
												 explanation->row.isnull[c]);
		if (after->exists && !column->generated)
			texts[EXPLAIN_MERGED] = value_text(type, after->values[c], after->isnull[c]);
		explain_put(result, texts);
	}
}

/* Merge a row that has been read, and put the explanation. */
static void
explain_row(FunctionCallInfo fcinfo, Relation relation, MergePlan *plan, MergeRow *row)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Explanation explanation = {.plan = plan};
	MergeState *after;
	char	   *refusal;

	InitMaterializedSRF(fcinfo, 0);
	row_add_defaults(relation, plan, row);
	explanation.before = state_before(relation, plan, row, &explanation.found);
	after = state_copy(plan, explanation.before);
	refusal = merge_or_refuse(plan, after, row);
	if (refusal != NULL)
	{
		const char *texts[EXPLAIN_NATTS] = {
			[EXPLAIN_MERGED] = "refused",
			[EXPLAIN_REASON] = refusal
		};

		explain_put(result, texts);
		return;
	}
	explanation.row = *row;
	explanation.after = after;
	explain_put_all(result, relation, &explanation);
}

/* explain_merge(regclass, record) */
Datum
merge_engine_explain_record(PG_FUNCTION_ARGS)
{
	Relation	relation = merge_plan_open(PG_GETARG_OID(0), AccessShareLock);
	MergePlan  *plan = merge_plan_get(relation);
	MergeRow	row;

	row_begin(plan, &row);
	row_from_record(relation, plan, PG_GETARG_HEAPTUPLEHEADER(1), &row);
	explain_row(fcinfo, relation, plan, &row);
	merge_plan_release(plan);
	relation_close(relation, AccessShareLock);
	return (Datum) 0;
}

/* explain_merge(regclass, jsonb) */
Datum
merge_engine_explain_jsonb(PG_FUNCTION_ARGS)
{
	Relation	relation = merge_plan_open(PG_GETARG_OID(0), AccessShareLock);
	MergePlan  *plan = merge_plan_get(relation);
	MergeRow	row;

	row_begin(plan, &row);
	row_from_jsonb(relation, plan, PG_GETARG_JSONB_P(1), &row);
	explain_row(fcinfo, relation, plan, &row);
	merge_plan_release(plan);
	relation_close(relation, AccessShareLock);
	return (Datum) 0;
}
