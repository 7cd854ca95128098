/*
 * waiting_rows.c
 *	  The rows of a write buffer, and how they come to be in the order of keys.
 *
 * They go through up to three stages as they become more:
 *
 * - a list of rows, which is all that small statements need;
 * - a hash table of keys, where the rules allow folding the rows of a key as
 *	 they come (key_fold.c), as long as that pays;
 * - a tuplesort, which spills to disk.
 */
#include "postgres.h"

#include "access/key_fold.h"
#include "access/nbtree.h"
#include "access/waiting_rows.h"
#include "access/write_buffer.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

/* The processor may fetch this memory, which is read soon. */
#ifdef __GNUC__
#define prefetch(address) __builtin_prefetch(address)
#else
#define prefetch(address) ((void) (address))
#endif

/* What it fetches at once, in bytes. */
#define CACHE_LINE 64

/*
 * A list has room for so many rows at first.  From then on the executor is to hand
 * over rows as they are: preparing that costs as much as it saves for some rows.
 */
#define LIST_ROWS_FIRST 16

/* A list of more rows than this goes to the next stage. */
#define LIST_ROWS 1000

/*
 * From this many rows on, at each doubling of them, one in so many must have met
 * another of its key, or they are not folded any longer.  Even if all keys are to
 * come a hundred times, most of the first rows are the first of their key.
 */
#define FOLD_TRIAL_ROWS 8192
#define FOLD_TRIAL_SHARE 8

/* What the rows of a key have been folded into. */
typedef struct FoldEntry
{
	const Datum *key;			/* a row's values */
	KeyFold    *fold;
	uint32		hash;
	char		status;
} FoldEntry;

static uint32 waiting_rows_hash_key(WaitingRows *rows, const Datum *values);

#define SH_PREFIX foldtable
#define SH_ELEMENT_TYPE FoldEntry
#define SH_KEY_TYPE const Datum *
#define SH_KEY key
#define SH_HASH_KEY(table, values) waiting_rows_hash_key((table)->private_data, values)
#define SH_EQUAL(table, a, b) \
	(target_compare_keys(((WaitingRows *) (table)->private_data)->target, a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* A hash of a row's key. */
static uint32
waiting_rows_hash_key(WaitingRows *rows, const Datum *values)
{
	MergeTarget *target = rows->target;
	uint32		hash = 0;

	for (int i = 0; i < target->nkeys; i++)
	{
		Datum		one = FunctionCall1Coll(&rows->hash_functions[i], target->key_collations[i],
											values[target->pkey_columns[i]]);

		hash = hash_combine(hash, DatumGetUInt32(one));
	}
	return murmurhash32(hash);
}

/*
 * The buffer's share, in kilobytes, of the memory in which the statement's rows
 * may wait: each partition has a buffer.
 */
static int
waiting_rows_share(const WaitingRows *rows)
{
	return Max(64, write_buffer_size / *rows->target->nbuffers);
}

/* Do the rows in memory take more than half of that? */
static bool
waiting_rows_is_full(const WaitingRows *rows)
{
	return MemoryContextMemAllocated(rows->in_memory, false) / 1024 >
		waiting_rows_share(rows) / 2;
}

/*
 * waiting_rows_begin
 *		Prepares to let rows of an open target wait, in a context that lives as long
 *		as they do.
 */
void
waiting_rows_begin(WaitingRows *rows, MergeTarget *target, MemoryContext context)
{
	memset(rows, 0, sizeof(WaitingRows));
	rows->target = target;
	rows->context = context;
	rows->in_memory = AllocSetContextCreate(context, "waiting rows",
											ALLOCSET_DEFAULT_SIZES);
	rows->may_fold = key_fold_is_possible(target->plan, target->named);
	rows->list_size = LIST_ROWS_FIRST;
	rows->list = MemoryContextAlloc(context, rows->list_size * sizeof(MergeRow *));
	target_key_sort(target);
}

/* The operators that sort the rows: by key, sequence if needed, and arrival. */
static Tuplesortstate *
waiting_rows_begin_sort(WaitingRows *rows, TupleDesc tupdesc)
{
	MergeTarget *target = rows->target;
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
								nulls_first, waiting_rows_share(rows), NULL,
								TUPLESORT_NONE);
}

/* Begin the sort. */
static void
waiting_rows_use_sort(WaitingRows *rows)
{
	MergeTarget *target = rows->target;
	MemoryContext oldcontext = MemoryContextSwitchTo(rows->context);
	TupleDesc	table = target->stored->tts_tupleDescriptor;
	TupleDesc	tupdesc = CreateTemplateTupleDesc(table->natts + 1);

	for (int attno = 1; attno <= table->natts; attno++)
		TupleDescCopyEntry(tupdesc, attno, table, attno);
	TupleDescInitEntry(tupdesc, table->natts + 1, "arrival", INT8OID, -1, 0);
	rows->sort = waiting_rows_begin_sort(rows, tupdesc);
	rows->sort_in = MakeTupleTableSlot(tupdesc, &TTSOpsVirtual);
	rows->sort_out = MakeTupleTableSlot(tupdesc, &TTSOpsMinimalTuple);
	rows->stage = WAITING_IN_SORT;
	MemoryContextSwitchTo(oldcontext);
}

/* Give a row to the sort, which copies it. */
static void
waiting_rows_sort_row(WaitingRows *rows, const MergeRow *row)
{
	TupleTableSlot *slot = rows->sort_in;
	int			natts = rows->target->plan->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, row->values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->isnull, natts * sizeof(bool));
	slot->tts_values[natts] = Int64GetDatum(row->arrival);
	slot->tts_isnull[natts] = false;
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(rows->sort, slot);
}

/*
 * Begin the hash table.  Returns false if the key's types cannot be hashed in
 * agreement with the primary key's equality.
 */
static bool
waiting_rows_use_hash(WaitingRows *rows)
{
	MergeTarget *target = rows->target;
	TupleDesc	table = target->stored->tts_tupleDescriptor;
	MemoryContext oldcontext = MemoryContextSwitchTo(rows->context);
	bool		hashable = true;

	rows->hash_functions = palloc(target->nkeys * sizeof(FmgrInfo));
	for (int i = 0; i < target->nkeys && hashable; i++)
	{
		Oid			type = target->key_types[i];
		Oid			equality = get_opfamily_member(target->key_opfamilies[i], type, type,
												   BTEqualStrategyNumber);
		Oid			function;

		hashable = op_hashjoinable(equality, TupleDescAttr(table, target->pkey_columns[i])->atttypid) &&
			get_op_hash_functions(equality, &function, NULL);
		if (hashable)
			fmgr_info(function, &rows->hash_functions[i]);
	}
	if (hashable)
	{
		rows->hash = foldtable_create(rows->in_memory, 2 * LIST_ROWS, rows);
		rows->scratch = merge_state_create(target->plan);
		rows->stage = WAITING_FOLDED;
	}
	MemoryContextSwitchTo(oldcontext);
	return hashable;
}

/* Fold a row into its key's entry. */
static void
waiting_rows_fold_row(WaitingRows *rows, const MergeRow *row)
{
	bool		found;
	FoldEntry  *entry = foldtable_insert(rows->hash, row->values, &found);

	if (!found)
		entry->fold = MemoryContextAllocZero(rows->in_memory, sizeof(KeyFold));
	key_fold_add(rows->target->plan, entry->fold, rows->scratch, row, rows->in_memory);
	entry->key = key_fold_values(entry->fold);
}

/* Give what was folded to the sort. */
static void
waiting_rows_unfold(WaitingRows *rows)
{
	foldtable_iterator iterator;
	FoldEntry  *entry;

	waiting_rows_use_sort(rows);
	foldtable_start_iterate(rows->hash, &iterator);
	while ((entry = foldtable_iterate(rows->hash, &iterator)) != NULL)
	{
		MergeRow  **folded;
		int			nfolded;
		MemoryContext oldcontext;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(rows->target->row_context);
		oldcontext = MemoryContextSwitchTo(rows->target->row_context);
		nfolded = key_fold_rows(rows->target->plan, entry->fold, &folded);
		for (int i = 0; i < nfolded; i++)
			waiting_rows_sort_row(rows, folded[i]);
		MemoryContextSwitchTo(oldcontext);
	}
	MemoryContextReset(rows->in_memory);
	rows->hash = NULL;
}

/* The list is full: go on to the next stage. */
static void
waiting_rows_leave_list(WaitingRows *rows)
{
	MergeRow  **list = rows->list;
	uint64		nrows = rows->nrows;
	MemoryContext list_context = rows->in_memory;

	rows->in_memory = AllocSetContextCreate(rows->context, "waiting keys",
											ALLOCSET_DEFAULT_SIZES);
	if (!rows->may_fold || rows->disordered || !waiting_rows_use_hash(rows))
		waiting_rows_use_sort(rows);
	for (uint64 i = 0; i < nrows; i++)
	{
		if (rows->stage == WAITING_FOLDED)
			waiting_rows_fold_row(rows, list[i]);
		else
			waiting_rows_sort_row(rows, list[i]);
	}
	rows->list = NULL;
	pfree(list);
	MemoryContextDelete(list_context);
}

/* Does folding still pay? */
static bool
waiting_rows_fold_pays(const WaitingRows *rows)
{
	bool		is_trial = rows->nrows >= FOLD_TRIAL_ROWS &&
		(rows->nrows & (rows->nrows - 1)) == 0;

	if (is_trial &&
		rows->nrows - rows->hash->members < rows->nrows / FOLD_TRIAL_SHARE)
		return false;
	return !waiting_rows_is_full(rows);
}

/* Append a row to the list. */
static void
waiting_rows_append(WaitingRows *rows, MergeRow *row)
{
	if (rows->nrows == rows->list_size)
	{
		rows->list_size *= 2;
		rows->list = repalloc_huge(rows->list, rows->list_size * sizeof(MergeRow *));
	}
	rows->list[rows->nrows++] = row;
}

/*
 * Note in which order rows come.  Those that wait once more, because a rollback has
 * undone their merge, are older than what has come since: they cannot be folded
 * into that, only sorted.  (Nothing of such a row is in the target's row_context,
 * which unfolding resets.)
 */
static void
waiting_rows_note_arrival(WaitingRows *rows, uint64 arrival)
{
	rows->disordered |= rows->nrows > 0 && arrival < rows->last_arrival;
	rows->last_arrival = arrival;
	if (rows->disordered && rows->stage == WAITING_FOLDED)
		waiting_rows_unfold(rows);
}

/*
 * waiting_rows_put
 *		Lets a row wait; copies it.
 */
void
waiting_rows_put(WaitingRows *rows, const MergeRow *row)
{
	MergeTarget *target = rows->target;
	MemoryContext oldcontext;

	waiting_rows_note_arrival(rows, row->arrival);
	if (rows->nrows == LIST_ROWS_FIRST)
		target_take_plan_slots(target);
	if (rows->stage == WAITING_IN_LIST &&
		(rows->nrows == LIST_ROWS || waiting_rows_is_full(rows)))
		waiting_rows_leave_list(rows);

	if (rows->list != NULL)
	{
		oldcontext = MemoryContextSwitchTo(rows->in_memory);
		waiting_rows_append(rows, merge_row_copy(target->plan, row));
		MemoryContextSwitchTo(oldcontext);
		return;
	}
	if (rows->stage == WAITING_FOLDED)
		waiting_rows_fold_row(rows, row);
	else
		waiting_rows_sort_row(rows, row);
	rows->nrows++;
	if (rows->stage == WAITING_FOLDED && !waiting_rows_fold_pays(rows))
		waiting_rows_unfold(rows);
}

/* qsort_arg comparator: key, then merge_rows_compare */
static int
waiting_rows_compare(const void *a, const void *b, void *arg)
{
	const MergeRow *left = *(MergeRow *const *) a;
	const MergeRow *right = *(MergeRow *const *) b;
	MergeTarget *target = arg;
	int			result = target_compare_keys(target, left->values, right->values);

	return result != 0 ? result : merge_rows_compare(target->plan, left, right);
}

/*
 * waiting_rows_begin_read
 *		Makes the rows ready to be read in the order of keys.
 */
void
waiting_rows_begin_read(WaitingRows *rows)
{
	if (rows->stage == WAITING_FOLDED)
		waiting_rows_unfold(rows);
	if (rows->stage == WAITING_IN_SORT)
	{
		TuplesortInstrumentation how;

		tuplesort_performsort(rows->sort);
		tuplesort_get_stats(rows->sort, &how);
		rows->spilled = how.sortMethod != SORT_TYPE_QUICKSORT;
	}
	else
		qsort_arg(rows->list, rows->nrows, sizeof(MergeRow *),
				  waiting_rows_compare, rows->target);
}

/*
 * Read the next row of the sort into its slot.  Rows in memory lie there in the
 * order in which they came, so none is in the processor's caches: several are read
 * ahead, to be fetched at the same time.  They stay where they are.
 */
static bool
waiting_rows_read_sort(WaitingRows *rows)
{
	if (rows->spilled)
		return tuplesort_gettupleslot(rows->sort, true, false, rows->sort_out, NULL);
	if (rows->ahead_next == rows->ahead_count)
	{
		rows->ahead_next = 0;
		rows->ahead_count = 0;
		while (rows->ahead_count < ROWS_AHEAD &&
			   tuplesort_gettupleslot(rows->sort, true, false, rows->sort_out, NULL))
		{
			MinimalTuple tuple = ((MinimalTupleTableSlot *) rows->sort_out)->mintuple;

			/* its beginning is being read already */
			prefetch((char *) tuple + CACHE_LINE);
			prefetch((char *) tuple + 2 * CACHE_LINE);
			rows->ahead[rows->ahead_count++] = tuple;
		}
	}
	if (rows->ahead_next == rows->ahead_count)
		return false;
	ExecStoreMinimalTuple(rows->ahead[rows->ahead_next++], rows->sort_out, false);
	return true;
}

/*
 * waiting_rows_next
 *		The next row in the order of keys, or NULL.  It may be put into storage, and
 *		then is good until the next call, unless waiting_rows_hold keeps it.
 */
MergeRow *
waiting_rows_next(WaitingRows *rows, MergeRow *storage)
{
	MergeTarget *target = rows->target;
	int			natts = target->plan->natts;

	if (rows->stage == WAITING_IN_LIST)
		return rows->list_next < rows->nrows ? rows->list[rows->list_next++] : NULL;

	if (!waiting_rows_read_sort(rows))
		return NULL;
	slot_getallattrs(rows->sort_out);
	storage->values = rows->sort_out->tts_values;
	storage->isnull = rows->sort_out->tts_isnull;
	storage->arrival = DatumGetInt64(storage->values[natts]);
	storage->named = target->named;
	return storage;
}

/*
 * waiting_rows_hold
 *		The row that was read last, completed by merge_row_init, for as long as the
 *		rows and CurrentMemoryContext live.
 */
MergeRow *
waiting_rows_hold(WaitingRows *rows, MergeRow *row)
{
	const MergePlan *plan = rows->target->plan;
	int			natts = plan->natts;
	MergeRow   *held;

	if (rows->stage == WAITING_IN_LIST)
		return row;
	held = palloc(sizeof(MergeRow));
	*held = *row;
	held->values = palloc(natts * (sizeof(Datum) + sizeof(bool)));
	held->isnull = (bool *) (held->values + natts);
	memcpy(held->values, row->values, natts * sizeof(Datum));
	memcpy(held->isnull, row->isnull, natts * sizeof(bool));
	/* the sort lets go of a spilled row when it gives the next one */
	if (rows->spilled)
	{
		char	   *tuple = (char *) ((MinimalTupleTableSlot *) rows->sort_out)->mintuple;
		char	   *copy = (char *) ExecCopySlotMinimalTuple(rows->sort_out);

		for (int c = 0; c < natts; c++)
		{
			if (!held->isnull[c] && !plan->columns[c].typbyval)
				held->values[c] = PointerGetDatum(copy + (DatumGetPointer(held->values[c]) - tuple));
		}
	}
	merge_row_init(plan, held);
	return held;
}

/*
 * waiting_rows_end
 *		Ends what the rows' context does not take along: the sort.
 */
void
waiting_rows_end(WaitingRows *rows)
{
	if (rows->sort == NULL)
		return;
	ExecClearTuple(rows->sort_out);
	tuplesort_end(rows->sort);
	rows->sort = NULL;
}

/*
 * waiting_rows_make_list
 *		Makes the rows a list, however long, that can be read again.
 */
void
waiting_rows_make_list(WaitingRows *rows)
{
	const MergePlan *plan = rows->target->plan;
	MergeRow	storage = {0};
	MergeRow   *row;
	MemoryContext oldcontext;

	if (rows->stage == WAITING_IN_LIST)
		return;
	waiting_rows_begin_read(rows);
	rows->nrows = 0;
	rows->list_size = LIST_ROWS;
	rows->list = MemoryContextAlloc(rows->context, rows->list_size * sizeof(MergeRow *));
	oldcontext = MemoryContextSwitchTo(rows->in_memory);
	while ((row = waiting_rows_next(rows, &storage)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		row = merge_row_copy(plan, row);
		merge_row_init(plan, row);
		waiting_rows_append(rows, row);
	}
	MemoryContextSwitchTo(oldcontext);
	waiting_rows_end(rows);
	rows->stage = WAITING_IN_LIST;
}
