/*
 * write_buffer.c
 *	  The rows of one statement, until they are merged by key.
 *
 * Rows of a statement that nobody looks at one by one are collected and merged
 * together, in the order of the primary key: each key is written once, index
 * pages are visited once, and statements cannot deadlock.  A buffer goes
 * through up to three stages as it fills:
 *
 * - a list of rows, which is all that small statements need;
 * - a hash table of keys, where the rules allow folding the rows of a key as
 *	 they come (key_fold.c), as long as that pays;
 * - a tuplesort, which spills to disk.
 *
 * All rows of a statement are merged at its end, in one pass, however many they
 * are: that, and that the order within a key is the sort's last column, makes
 * the result independent of the buffer's size.  Only a query inside the
 * statement that looks at the table makes us merge earlier; then what was
 * merged is remembered (key_memory.c).  If that query runs in a subtransaction
 * of the statement's, its rollback takes the merged rows along, though they are
 * none of its own: the buffer is kept until then, and its rows wait again.
 */
#include "postgres.h"

#include "access/key_fold.h"
#include "access/nbtree.h"
#include "access/stats.h"
#include "access/upsert.h"
#include "access/write_buffer.h"
#include "access/xact.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

/* A list of rows longer than this goes to the next stage. */
#define LIST_ROWS 1000

/* After this many rows folding must have halved them. */
#define FOLD_TRIAL_ROWS 8192

/* A sorted key with more rows than this is folded as it is read. */
#define FOLD_GROUP_ROWS 64

/* One with more rows than this, if they cannot be folded, is merged in parts. */
#define GROUP_PART_ROWS 1024

int			write_buffer_size = 65536;

typedef enum BufferStage
{
	BUFFER_LIST,
	BUFFER_FOLD,
	BUFFER_SORT
} BufferStage;

struct WriteBuffer
{
	MergeTarget *target;
	MemoryContext context;		/* all of the buffer but the sort's tuples */
	MemoryContext rows_context; /* the rows of the list, or the hash table */
	CommandId	cid;
	int			options;
	int			nest_level;		/* of the statement's (sub)transaction */
	BufferStage stage;
	uint64		nrows;
	bool		may_fold;
	MergeState *scratch;		/* for folding */

	MergeRow  **list;
	uint64		list_next;		/* while it is read */

	/* of a buffer that was merged in a subtransaction */
	struct WriteBuffer *next;
	int			merged_level;
	bool		rolled_back;

	TupleHashTable hash;
	TupleTableSlot *hash_slot;	/* a key */
	uint64		nkeys;

	Tuplesortstate *sort;
	TupleTableSlot *sort_in;	/* a row and its arrival */
	TupleTableSlot *sort_out;
};

/*
 * The buffer's share, in kilobytes, of the memory in which the statement's rows
 * may wait: each partition has a buffer.
 */
static int
write_buffer_share(const WriteBuffer *buffer)
{
	return Max(64, write_buffer_size / *buffer->target->nbuffers);
}

/* Do the rows in memory take more than half of that? */
static bool
write_buffer_is_full(const WriteBuffer *buffer)
{
	return MemoryContextMemAllocated(buffer->rows_context, false) / 1024 >
		write_buffer_share(buffer) / 2;
}

/* A new buffer for a target that is open. */
static WriteBuffer *
write_buffer_create(MergeTarget *target, CommandId cid, int options)
{
	MemoryContext context = AllocSetContextCreate(target->context, "merge write buffer",
												  ALLOCSET_DEFAULT_SIZES);
	WriteBuffer *buffer = MemoryContextAllocZero(context, sizeof(WriteBuffer));

	buffer->target = target;
	buffer->context = context;
	buffer->rows_context = AllocSetContextCreate(context, "buffered rows",
												 ALLOCSET_DEFAULT_SIZES);
	buffer->cid = cid;
	buffer->options = options;
	buffer->nest_level = GetCurrentTransactionNestLevel();
	buffer->may_fold = key_fold_is_possible(target->plan, target->named);
	buffer->list = MemoryContextAlloc(context, LIST_ROWS * sizeof(MergeRow *));
	target_key_sort(target);

	(*target->nbuffers)++;

	/* the executor need not even look at the indexes */
	if (!target->own_result_rel)
		target->result_rel->ri_NumIndices = 0;
	return buffer;
}

/* The operators that sort the rows: by key, sequence if needed, and arrival. */
static Tuplesortstate *
write_buffer_begin_sort(WriteBuffer *buffer, TupleDesc tupdesc)
{
	MergeTarget *target = buffer->target;
	const MergePlan *plan = target->plan;
	const SequenceOrder *sequence =
		plan->memory == MERGE_MEMORY_LOG ? plan->sequence : NULL;
	int			nkeys = target->nkeys + (sequence ? sequence->ncolumns : 0) + 1;
	AttrNumber *attnos = palloc(nkeys * sizeof(AttrNumber));
	Oid		   *operators = palloc(nkeys * sizeof(Oid));
	Oid		   *collations = palloc(nkeys * sizeof(Oid));
	bool	   *nulls_first = palloc(nkeys * sizeof(bool));
	int			n = 0;

	for (int i = 0; i < target->nkeys; i++, n++)
	{
		attnos[n] = target->pkey_columns[i] + 1;
		operators[n] = get_opfamily_member(target->key_opfamilies[i],
										   target->key_types[i], target->key_types[i],
										   BTLessStrategyNumber);
		collations[n] = target->key_collations[i];
		nulls_first[n] = false;
	}
	for (int i = 0; sequence != NULL && i < sequence->ncolumns; i++, n++)
	{
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, sequence->columns[i]);
		TypeCacheEntry *type = lookup_type_cache(attribute->atttypid,
												 TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

		attnos[n] = attribute->attnum;
		operators[n] = sequence->descending ? type->gt_opr : type->lt_opr;
		collations[n] = attribute->attcollation;
		nulls_first[n] = true;
	}
	attnos[n] = tupdesc->natts;
	operators[n] = Int8LessOperator;
	collations[n] = InvalidOid;
	nulls_first[n] = false;

	return tuplesort_begin_heap(tupdesc, nkeys, attnos, operators, collations,
								nulls_first, write_buffer_share(buffer), NULL,
								TUPLESORT_NONE);
}

/* Begin the sort. */
static void
write_buffer_use_sort(WriteBuffer *buffer)
{
	MergeTarget *target = buffer->target;
	MemoryContext oldcontext = MemoryContextSwitchTo(buffer->context);
	TupleDesc	table = target->stored->tts_tupleDescriptor;
	TupleDesc	tupdesc = CreateTemplateTupleDesc(table->natts + 1);

	for (AttrNumber attno = 1; attno <= table->natts; attno++)
		TupleDescCopyEntry(tupdesc, attno, table, attno);
	TupleDescInitEntry(tupdesc, table->natts + 1, "arrival", INT8OID, -1, 0);
	buffer->sort = write_buffer_begin_sort(buffer, tupdesc);
	buffer->sort_in = MakeTupleTableSlot(tupdesc, &TTSOpsVirtual);
	buffer->sort_out = MakeTupleTableSlot(tupdesc, &TTSOpsMinimalTuple);
	buffer->stage = BUFFER_SORT;
	MemoryContextSwitchTo(oldcontext);
}

/* Give a row to the sort, which copies it. */
static void
write_buffer_sort_row(WriteBuffer *buffer, const MergeRow *row)
{
	TupleTableSlot *slot = buffer->sort_in;
	int			natts = buffer->target->plan->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, row->values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->isnull, natts * sizeof(bool));
	slot->tts_values[natts] = Int64GetDatum(row->arrival);
	slot->tts_isnull[natts] = false;
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(buffer->sort, slot);
}

/*
 * Begin the hash table.  Returns false if the key's types cannot be hashed in
 * agreement with the primary key's equality.
 */
static bool
write_buffer_use_hash(WriteBuffer *buffer)
{
	MergeTarget *target = buffer->target;
	int			nkeys = target->nkeys;
	TupleDesc	table = target->stored->tts_tupleDescriptor;
	TupleDesc	tupdesc;
	AttrNumber *columns;
	Oid		   *operators;
	Oid		   *functions;
	FmgrInfo   *hash_functions;
	MemoryContext oldcontext = MemoryContextSwitchTo(buffer->context);

	columns = palloc(nkeys * sizeof(AttrNumber));
	operators = palloc(nkeys * sizeof(Oid));
	tupdesc = CreateTemplateTupleDesc(nkeys);
	for (int i = 0; i < nkeys; i++)
	{
		columns[i] = i + 1;
		operators[i] = get_opfamily_member(target->key_opfamilies[i],
										   target->key_types[i], target->key_types[i],
										   BTEqualStrategyNumber);
		TupleDescCopyEntry(tupdesc, i + 1, table, target->pkey_columns[i] + 1);
		if (!op_hashjoinable(operators[i], TupleDescAttr(tupdesc, i)->atttypid))
		{
			MemoryContextSwitchTo(oldcontext);
			return false;
		}
	}
	execTuplesHashPrepare(nkeys, operators, &functions, &hash_functions);
	buffer->hash = BuildTupleHashTableExt(NULL, tupdesc, nkeys, columns,
										  functions, hash_functions,
										  target->key_collations,
										  LIST_ROWS, 0,
										  buffer->rows_context, buffer->rows_context,
										  target->row_context, false);
	buffer->hash_slot = MakeTupleTableSlot(tupdesc, &TTSOpsMinimalTuple);
	buffer->scratch = merge_state_create(target->plan);
	buffer->stage = BUFFER_FOLD;
	MemoryContextSwitchTo(oldcontext);
	return true;
}

/* Fold a row into its key's entry. */
static void
write_buffer_fold_row(WriteBuffer *buffer, const MergeRow *row)
{
	MergeTarget *target = buffer->target;
	TupleTableSlot *slot = buffer->hash_slot;
	TupleHashEntry entry;
	bool		isnew;

	ExecClearTuple(slot);
	for (int i = 0; i < target->nkeys; i++)
	{
		slot->tts_values[i] = row->values[target->pkey_columns[i]];
		slot->tts_isnull[i] = false;
	}
	ExecStoreVirtualTuple(slot);
	entry = LookupTupleHashEntry(buffer->hash, slot, &isnew, NULL);
	if (isnew)
	{
		entry->additional = MemoryContextAllocZero(buffer->rows_context, sizeof(KeyFold));
		buffer->nkeys++;
	}
	key_fold_add(target->plan, entry->additional, buffer->scratch, row,
				 buffer->rows_context);
}

/* Give what was folded to the sort. */
static void
write_buffer_unfold(WriteBuffer *buffer)
{
	TupleHashIterator iterator;
	TupleHashEntry entry;

	write_buffer_use_sort(buffer);
	InitTupleHashIterator(buffer->hash, &iterator);
	while ((entry = ScanTupleHashTable(buffer->hash, &iterator)) != NULL)
	{
		MergeRow  **rows;
		int			nrows;
		MemoryContext oldcontext;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(buffer->target->row_context);
		oldcontext = MemoryContextSwitchTo(buffer->target->row_context);
		nrows = key_fold_rows(buffer->target->plan, entry->additional, &rows);
		for (int i = 0; i < nrows; i++)
			write_buffer_sort_row(buffer, rows[i]);
		MemoryContextSwitchTo(oldcontext);
	}
	MemoryContextReset(buffer->rows_context);
	buffer->hash = NULL;
}

/* The list is full: go on to the next stage. */
static void
write_buffer_leave_list(WriteBuffer *buffer)
{
	MergeRow  **list = buffer->list;
	uint64		nrows = buffer->nrows;
	MemoryContext list_context = buffer->rows_context;

	buffer->rows_context = AllocSetContextCreate(buffer->context, "buffered keys",
												 ALLOCSET_DEFAULT_SIZES);
	if (!buffer->may_fold || !write_buffer_use_hash(buffer))
		write_buffer_use_sort(buffer);
	for (uint64 i = 0; i < nrows; i++)
	{
		if (buffer->stage == BUFFER_FOLD)
			write_buffer_fold_row(buffer, list[i]);
		else
			write_buffer_sort_row(buffer, list[i]);
	}
	buffer->list = NULL;
	pfree(list);
	MemoryContextDelete(list_context);
}

/* Does folding still pay? */
static bool
write_buffer_fold_pays(const WriteBuffer *buffer)
{
	if (buffer->nrows == FOLD_TRIAL_ROWS && buffer->nkeys > FOLD_TRIAL_ROWS / 2)
		return false;
	return !write_buffer_is_full(buffer);
}

/* Put a row into the buffer, which copies it. */
static void
write_buffer_put(WriteBuffer *buffer, const MergeRow *row)
{
	MergeTarget *target = buffer->target;
	MemoryContext oldcontext;

	if (buffer->stage == BUFFER_LIST &&
		(buffer->nrows == LIST_ROWS || write_buffer_is_full(buffer)))
		write_buffer_leave_list(buffer);

	switch (buffer->stage)
	{
		case BUFFER_LIST:
			oldcontext = MemoryContextSwitchTo(buffer->rows_context);
			buffer->list[buffer->nrows] = merge_row_copy(target->plan, row);
			MemoryContextSwitchTo(oldcontext);
			break;
		case BUFFER_FOLD:
			write_buffer_fold_row(buffer, row);
			break;
		case BUFFER_SORT:
			write_buffer_sort_row(buffer, row);
			break;
	}
	buffer->nrows++;
	if (buffer->stage == BUFFER_FOLD && !write_buffer_fold_pays(buffer))
		write_buffer_unfold(buffer);
}

/* The target's buffer; a new one if there is none. */
static WriteBuffer *
write_buffer_of(MergeTarget *target, CommandId cid, int options)
{
	if (target->buffer == NULL)
	{
		target_open(target, target->relation);
		target->buffer = write_buffer_create(target, cid, options);
		target_close(target);
	}
	return target->buffer;
}

/*
 * write_buffer_add
 *		Puts the row in the slot into the target's buffer.  cid and options are
 *		table_tuple_insert's.  Raises ERRCODE_INVALID_PARAMETER_VALUE for a bad
 *		row kind.
 */
void
write_buffer_add(MergeTarget *target, TupleTableSlot *slot, CommandId cid,
				 int options)
{
	WriteBuffer *buffer = write_buffer_of(target, cid, options);
	UpsertError error;
	MergeRow	row = {0};
	MergeRow   *rows[1] = {&row};
	MemoryContext oldcontext;

	MemoryContextReset(target->row_context);
	oldcontext = MemoryContextSwitchTo(target->row_context);
	upsert_error_begin(&error, target);
	error.rows = rows;
	upsert_read_row(target, slot, &row);
	stats_count_row(target);
	if (merge_ignores(target->plan, &row))
		stats_count(target->relid, STATS_DELETES_IGNORED, 1);
	else
		write_buffer_put(buffer, &row);
	upsert_error_end(&error);
	MemoryContextSwitchTo(oldcontext);
}

/* qsort_arg comparator: key, then merge_rows_compare */
static int
write_buffer_compare(const void *a, const void *b, void *arg)
{
	const MergeRow *left = *(MergeRow *const *) a;
	const MergeRow *right = *(MergeRow *const *) b;
	MergeTarget *target = arg;
	int			result = target_compare_keys(target, left->values, right->values);

	return result != 0 ? result : merge_rows_compare(target->plan, left, right);
}

/* Make the buffer ready to be read in the order of keys. */
static void
write_buffer_begin_read(WriteBuffer *buffer)
{
	if (buffer->stage == BUFFER_FOLD)
		write_buffer_unfold(buffer);
	if (buffer->stage == BUFFER_SORT)
		tuplesort_performsort(buffer->sort);
	else
		qsort_arg(buffer->list, buffer->nrows, sizeof(MergeRow *),
				  write_buffer_compare, buffer->target);
}

/*
 * The next row in the order of keys, or NULL.  A row from the sort is good
 * until the next call.
 */
static MergeRow *
write_buffer_next(WriteBuffer *buffer, MergeRow *row)
{
	MergeTarget *target = buffer->target;
	int			natts = target->plan->natts;

	if (buffer->stage == BUFFER_LIST)
		return buffer->list_next < buffer->nrows ?
			buffer->list[buffer->list_next++] : NULL;

	if (!tuplesort_gettupleslot(buffer->sort, true, false, buffer->sort_out, NULL))
		return NULL;
	slot_getallattrs(buffer->sort_out);
	row->values = buffer->sort_out->tts_values;
	row->isnull = buffer->sort_out->tts_isnull;
	row->arrival = DatumGetInt64(row->values[natts]);
	row->named = target->named;
	return row;
}

/* The rows of the key that is being read. */
typedef struct KeyGroup
{
	MergeRow  **rows;
	int			nrows;
	int			size;
	KeyFold		fold;			/* what a long group is folded into */
	bool		folded;
	MergeRow   *in_parts;		/* a row of the key that is merged in parts */
} KeyGroup;

/*
 * Add a row to the group.  Rows from the sort are copied into the batch's
 * context, where they can wait until the key's row has its index entries.
 */
static void
key_group_add(WriteBuffer *buffer, KeyGroup *group, Upsert *upsert, MergeRow *row)
{
	MergeTarget *target = buffer->target;
	const MergePlan *plan = target->plan;
	InsertBatch *batch = upsert->batch;

	if (buffer->stage == BUFFER_SORT)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(batch->context);

		row = merge_row_copy(plan, row);
		merge_row_init(plan, row);
		MemoryContextSwitchTo(oldcontext);
		if (buffer->may_fold && group->nrows >= FOLD_GROUP_ROWS)
		{
			MemoryContextReset(target->row_context);
			oldcontext = MemoryContextSwitchTo(target->row_context);
			upsert->error->rows = group->rows;
			if (buffer->scratch == NULL)
			{
				MemoryContextSwitchTo(buffer->context);
				buffer->scratch = merge_state_create(plan);
				MemoryContextSwitchTo(target->row_context);
			}
			for (int i = 0; i < group->nrows && !group->folded; i++)
				key_fold_add(plan, &group->fold, buffer->scratch, group->rows[i],
							 batch->context);
			group->folded = true;
			key_fold_add(plan, &group->fold, buffer->scratch, row, batch->context);
			merge_row_free(plan, row);
			MemoryContextSwitchTo(oldcontext);
			return;
		}
	}
	if (group->nrows == group->size)
	{
		group->size *= 2;
		group->rows = repalloc_huge(group->rows, group->size * sizeof(MergeRow *));
	}
	group->rows[group->nrows++] = row;
}

/* Merge the rows of the group. */
static void
key_group_merge(WriteBuffer *buffer, KeyGroup *group, Upsert *upsert)
{
	MergeTarget *target = buffer->target;
	MemoryContext oldcontext = MemoryContextSwitchTo(upsert->batch->context);

	upsert->nrows = group->nrows;
	if (group->folded)
		upsert->nrows = key_fold_rows(target->plan, &group->fold, &upsert->rows);
	else if (group->nrows == 1)
	{
		/* as it may wait in the batch */
		upsert->rows = palloc(sizeof(MergeRow *));
		upsert->rows[0] = group->rows[0];
	}
	else
	{
		upsert->rows = palloc(group->nrows * sizeof(MergeRow *));
		memcpy(upsert->rows, group->rows, group->nrows * sizeof(MergeRow *));
	}
	MemoryContextSwitchTo(oldcontext);

	MemoryContextReset(target->row_context);
	upsert_key(upsert);
	ExecClearTuple(target->stored);
	ExecClearTuple(target->merged);
	ResetPerTupleExprContext(target->estate);
	if (insert_batch_is_full(upsert->batch))
		insert_batch_flush(upsert);

	group->nrows = 0;
	group->folded = false;
	memset(&group->fold, 0, sizeof(KeyFold));
	upsert->error->rows = NULL;
	if (upsert->batch->nrows == 0)
		MemoryContextReset(upsert->batch->context);
}

/*
 * A long group whose rows act in the order of arrival need not be held: what
 * there is of it is merged, and remembered for the rest of it.
 */
static void
key_group_merge_part(WriteBuffer *buffer, KeyGroup *group, Upsert *upsert)
{
	if (group->in_parts == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(buffer->context);

		group->in_parts = merge_row_copy(buffer->target->plan, group->rows[0]);
		MemoryContextSwitchTo(oldcontext);
	}
	upsert->remember = true;
	key_group_merge(buffer, group, upsert);
}

/* A new group begins: is it the rest of one that is merged in parts? */
static void
key_group_begin(WriteBuffer *buffer, KeyGroup *group, Upsert *upsert,
				const MergeRow *row, bool remember)
{
	if (group->in_parts == NULL ||
		target_compare_keys(buffer->target, group->in_parts->values, row->values) == 0)
		return;
	merge_row_free(buffer->target->plan, group->in_parts);
	group->in_parts = NULL;
	upsert->remember = remember;
}

/* Merge all rows of the buffer, key by key. */
static void
write_buffer_merge(WriteBuffer *buffer, bool remember)
{
	MergeTarget *target = buffer->target;
	UpsertError error;
	MergeRow	storage = {0};
	MergeRow   *row;
	KeyGroup	group = {0};
	Upsert		upsert = {
		.target = target,
		.relation = target->relation,
		.cid = buffer->cid,
		.options = buffer->options,
		.error = &error
	};
	bool		in_arrival_order = !buffer->may_fold &&
		target->plan->memory != MERGE_MEMORY_LOG;
	MemoryContext oldcontext = MemoryContextSwitchTo(buffer->context);

	target->memory_used |= remember;
	remember = target->memory_used;
	upsert.remember = remember;
	upsert.batch = insert_batch_create();
	group.size = 16;
	group.rows = palloc(group.size * sizeof(MergeRow *));
	write_buffer_begin_read(buffer);
	upsert_error_begin(&error, target);
	while ((row = write_buffer_next(buffer, &storage)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (group.nrows > 0 &&
			target_compare_keys(target, group.rows[0]->values, row->values) != 0)
			key_group_merge(buffer, &group, &upsert);
		if (group.nrows == 0)
			key_group_begin(buffer, &group, &upsert, row, remember);
		else if (group.nrows == GROUP_PART_ROWS && in_arrival_order)
			key_group_merge_part(buffer, &group, &upsert);
		key_group_add(buffer, &group, &upsert, row);
	}
	if (group.nrows > 0)
		key_group_merge(buffer, &group, &upsert);
	insert_batch_flush(&upsert);
	upsert_error_end(&error);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * write_buffer_precedes
 *		Do the buffered rows belong to a command before this one?
 */
bool
write_buffer_precedes(const WriteBuffer *buffer, CommandId cid)
{
	return buffer->cid < cid;
}

/* Free a buffer. */
static void
write_buffer_free(WriteBuffer *buffer)
{
	(*buffer->target->nbuffers)--;
	if (buffer->sort != NULL)
	{
		ExecClearTuple(buffer->sort_out);
		tuplesort_end(buffer->sort);
	}
	MemoryContextDelete(buffer->context);
}

/* Make the buffer a list, however long, that can be read again. */
static void
write_buffer_make_list(WriteBuffer *buffer)
{
	const MergePlan *plan = buffer->target->plan;
	MergeRow	storage = {0};
	MergeRow   *row;
	uint64		nrows = 0;
	uint64		size = LIST_ROWS;
	MemoryContext oldcontext;

	if (buffer->stage == BUFFER_LIST)
		return;
	write_buffer_begin_read(buffer);
	buffer->list = MemoryContextAlloc(buffer->context, size * sizeof(MergeRow *));
	oldcontext = MemoryContextSwitchTo(buffer->rows_context);
	while ((row = write_buffer_next(buffer, &storage)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		row = merge_row_copy(plan, row);
		merge_row_init(plan, row);
		if (nrows == size)
		{
			size *= 2;
			buffer->list = repalloc_huge(buffer->list, size * sizeof(MergeRow *));
		}
		buffer->list[nrows++] = row;
	}
	MemoryContextSwitchTo(oldcontext);
	ExecClearTuple(buffer->sort_out);
	tuplesort_end(buffer->sort);
	buffer->sort = NULL;
	buffer->stage = BUFFER_LIST;
	buffer->nrows = nrows;
}

/*
 * write_buffer_flush
 *		Merges what the target's buffer holds into the table.  remember says
 *		that more rows of the statement may come.
 */
void
write_buffer_flush(MergeTarget *target, bool remember)
{
	WriteBuffer *buffer = target->buffer;
	bool		unsettled = GetCurrentTransactionNestLevel() > buffer->nest_level;

	/* a query that the merge runs must not find the buffer half empty */
	target->buffer = NULL;
	target_open(target, target->relation);
	if (!target->own_result_rel)
		target->result_rel->ri_NumIndices = target->indexes->ri_NumIndices;
	if (unsettled)
	{
		write_buffer_make_list(buffer);
		buffer->merged_level = GetCurrentTransactionNestLevel();
		buffer->next = target->unsettled;
		target->unsettled = buffer;
	}
	write_buffer_merge(buffer, remember);
	if (!unsettled)
		write_buffer_free(buffer);
	target_close(target);
}

/*
 * write_buffer_end_subxact
 *		A subtransaction of a level ends: what was merged in it is its parent's,
 *		or has to be merged again.
 */
void
write_buffer_end_subxact(MergeTarget *target, bool committed, int level)
{
	WriteBuffer **link = &target->unsettled;

	while (*link != NULL)
	{
		WriteBuffer *buffer = *link;

		if (!buffer->rolled_back && buffer->merged_level >= level)
		{
			buffer->rolled_back = !committed;
			buffer->merged_level = level - 1;
		}
		if (!buffer->rolled_back && buffer->merged_level <= buffer->nest_level)
		{
			*link = buffer->next;
			write_buffer_free(buffer);
		}
		else
			link = &buffer->next;
	}
}

/*
 * write_buffer_restore
 *		Lets the rows that were merged in vain wait again.  What was remembered
 *		of the statement's keys may be of rows that are no longer there, and is
 *		forgotten.
 */
void
write_buffer_restore(MergeTarget *target)
{
	WriteBuffer **link = &target->unsettled;

	while (*link != NULL)
	{
		WriteBuffer *lost = *link;
		WriteBuffer *buffer;

		if (!lost->rolled_back)
		{
			link = &lost->next;
			continue;
		}
		*link = lost->next;
		target->memory = NULL;
		buffer = write_buffer_of(target, lost->cid, lost->options);
		buffer->nest_level = lost->nest_level;
		for (uint64 i = 0; i < lost->nrows; i++)
		{
			MemoryContext oldcontext;

			MemoryContextReset(target->row_context);
			oldcontext = MemoryContextSwitchTo(target->row_context);
			write_buffer_put(buffer, lost->list[i]);
			MemoryContextSwitchTo(oldcontext);
		}
		write_buffer_free(lost);
	}
}
