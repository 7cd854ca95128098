/*
 * write_buffer.c
 *	  The rows of one statement, until they are merged by key.
 *
 * Rows of a statement that nobody looks at one by one are collected and merged
 * together, in the order of the primary key: each key is written once, index
 * pages are visited once, and statements cannot deadlock.
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
#include "access/stats.h"
#include "access/upsert.h"
#include "access/waiting_rows.h"
#include "access/write_buffer.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* A sorted key with more rows than this is folded as it is read. */
#define FOLD_GROUP_ROWS 64

/* One with more rows than this, if they cannot be folded, is merged in parts. */
#define GROUP_PART_ROWS 1024

int			write_buffer_size = 65536;

struct WriteBuffer
{
	MergeTarget *target;
	MemoryContext context;
	CommandId	cid;
	int			options;
	int			nest_level;		/* of the statement's (sub)transaction */
	ResourceOwner owner;		/* the statement's */
	WaitingRows rows;

	/* of a buffer that was merged in a subtransaction */
	struct WriteBuffer *next;
	int			merged_level;
	bool		rolled_back;
	bool		broken;			/* some of its rows cannot be had any more */
	bool		forgets;		/* was merged by what is remembered of other flushes */
};

/* A new buffer for a target that is open. */
static WriteBuffer *
write_buffer_create(MergeTarget *target, CommandId cid, int options)
{
	MemoryContext context = AllocSetContextCreate(target->context, "merge write buffer",
												  ALLOCSET_DEFAULT_SIZES);
	WriteBuffer *buffer = MemoryContextAllocZero(context, sizeof(WriteBuffer));

	buffer->target = target;
	buffer->context = context;
	buffer->cid = cid;
	buffer->options = options;
	buffer->nest_level = GetCurrentTransactionNestLevel();
	buffer->owner = CurrentResourceOwner;
	waiting_rows_begin(&buffer->rows, target, context);
	(*target->nbuffers)++;

	/* the executor need not even look at the indexes */
	if (!target->own_result_rel)
		target->result_rel->ri_NumIndices = 0;
	return buffer;
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
		waiting_rows_put(&buffer->rows, &row);
	upsert_error_end(&error);
	MemoryContextSwitchTo(oldcontext);
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

/* Fold a row from the sort into a group that has grown long. */
static void
key_group_fold(WriteBuffer *buffer, KeyGroup *group, Upsert *upsert, MergeRow *row)
{
	MergeTarget *target = buffer->target;
	const MergePlan *plan = target->plan;
	MemoryContext context = upsert->batch->context;
	MemoryContext oldcontext;

	if (buffer->rows.scratch == NULL)
	{
		oldcontext = MemoryContextSwitchTo(buffer->context);
		buffer->rows.scratch = merge_state_create(plan);
		MemoryContextSwitchTo(oldcontext);
	}
	MemoryContextReset(target->row_context);
	oldcontext = MemoryContextSwitchTo(target->row_context);
	upsert->error->rows = group->rows;
	for (int i = 0; i < group->nrows && !group->folded; i++)
		key_fold_add(plan, &group->fold, buffer->rows.scratch, group->rows[i], context);
	group->folded = true;
	merge_row_init(plan, row);
	key_fold_add(plan, &group->fold, buffer->rows.scratch, row, context);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Add a row to the group.  In the batch's context it can wait until the key's row
 * has its index entries.
 */
static void
key_group_add(WriteBuffer *buffer, KeyGroup *group, Upsert *upsert, MergeRow *row)
{
	MemoryContext oldcontext;

	if (buffer->rows.stage == WAITING_IN_SORT && buffer->rows.may_fold &&
		group->nrows >= FOLD_GROUP_ROWS)
	{
		key_group_fold(buffer, group, upsert, row);
		return;
	}
	oldcontext = MemoryContextSwitchTo(upsert->batch->context);
	row = waiting_rows_hold(&buffer->rows, row);
	MemoryContextSwitchTo(oldcontext);
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
	upsert->again = group->in_parts != NULL;
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
	KeyScan		scan;
	Upsert		upsert = {
		.target = target,
		.relation = target->relation,
		.cid = buffer->cid,
		.options = buffer->options,
		.error = &error
	};
	bool		in_arrival_order = !buffer->rows.may_fold &&
		target->plan->memory != MERGE_MEMORY_LOG;
	MemoryContext oldcontext = MemoryContextSwitchTo(buffer->context);

	target->memory_used |= remember;
	remember = target->memory_used;
	upsert.remember = remember;
	upsert.batch = insert_batch_create(buffer->rows.nrows);
	group.size = 16;
	group.rows = palloc(group.size * sizeof(MergeRow *));
	waiting_rows_begin_read(&buffer->rows);
	key_scan_begin(&scan, target, target->relation, buffer->rows.nrows);
	/* with tombstones there is more to wait for */
	upsert.scan = target->plan->tombstones ? NULL : &scan;
	if (target->plan->tombstones)
		upsert.tombstones = tombstones_begin(target);
	upsert_error_begin(&error, target);
	while ((row = waiting_rows_next(&buffer->rows, &storage)) != NULL)
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
	key_scan_release(&scan);
	if (upsert.tombstones != NULL)
		tombstones_end(upsert.tombstones);
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
	waiting_rows_end(&buffer->rows);
	MemoryContextDelete(buffer->context);
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
		buffer->merged_level = GetCurrentTransactionNestLevel();
		buffer->forgets = target->memory != NULL && !key_memory_is_empty(target->memory);
		buffer->next = target->unsettled;
		target->unsettled = buffer;
		/* until that is done, an error that is caught outside loses rows */
		buffer->broken = true;
		waiting_rows_make_list(&buffer->rows);
		buffer->broken = false;
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
 * Can the rows that were merged in vain be merged again?  Not if an error came
 * while they were read from the sort, or were put back; nor if they are not the
 * first that were merged, and how these must be remembered is lost with them.
 */
static void
write_buffer_check_lost(const WriteBuffer *lost)
{
	const char *table = lost->target->plan->table;

	if (lost->broken)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("rows for table \"%s\" were lost in a subtransaction", table),
				 errdetail("An error came while they were being merged, because an expression of the statement reads the table, and was caught there."),
				 errhint("Do not read the table in an expression of the statement that writes it, or let the error end the statement.")));
	if (lost->forgets)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot merge rows into table \"%s\" again after a subtransaction was rolled back", table),
				 errdetail("An expression of the statement reads the table more than once, and the order of the statement's rows matters."),
				 errhint("Do not read the table in an expression of the statement that writes it.")));
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
	ResourceOwner owner = CurrentResourceOwner;

	while (*link != NULL)
	{
		WriteBuffer *lost = *link;
		WriteBuffer *buffer;

		if (!lost->rolled_back)
		{
			link = &lost->next;
			continue;
		}
		write_buffer_check_lost(lost);
		lost->broken = true;
		target->memory = NULL;
		/* what the rows need, files perhaps, must outlive a subtransaction */
		CurrentResourceOwner = lost->owner;
		buffer = write_buffer_of(target, lost->cid, lost->options);
		buffer->nest_level = lost->nest_level;
		for (uint64 i = 0; i < lost->rows.nrows; i++)
		{
			MemoryContext oldcontext;

			MemoryContextReset(target->row_context);
			oldcontext = MemoryContextSwitchTo(target->row_context);
			waiting_rows_put(&buffer->rows, lost->rows.list[i]);
			MemoryContextSwitchTo(oldcontext);
		}
		CurrentResourceOwner = owner;
		*link = lost->next;
		write_buffer_free(lost);
	}
}
