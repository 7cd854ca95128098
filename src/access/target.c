/*
 * target.c
 *	  A merge table in a statement: what its rows are merged and written with.
 *
 * Where the executor inserts the rows, its own ResultRelInfo, with the indexes
 * that it has opened, serves us too.  COPY and the logical apply worker keep
 * theirs to themselves; then the target opens its own for the duration of a
 * call of the access method, because nobody would tell us later to close it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/index_shim.h"
#include "access/merge_tableam.h"
#include "access/nbtree.h"
#include "access/target.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "compat.h"
#include "executor/executor.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

/*
 * The triggers to fire when a stored row is changed or removed, as a
 * TriggerDesc: those of foreign keys that reference the table.  Where rows come
 * through a merge trigger, the INSERT ends there, and it is all of them.
 */
static TriggerDesc *
target_change_triggers(const MergeTarget *target, TriggerDesc *all)
{
	TriggerDesc *some;

	if (all == NULL || !(all->trig_update_after_row || all->trig_delete_after_row))
		return NULL;
	if (target->by_trigger)
		return all;
	some = palloc0(sizeof(TriggerDesc));
	some->triggers = palloc(all->numtriggers * sizeof(Trigger));
	for (int i = 0; i < all->numtriggers; i++)
	{
		Trigger    *trigger = &all->triggers[i];

		if (RI_FKey_trigger_type(trigger->tgfoid) != RI_TRIGGER_PK)
			continue;
		some->triggers[some->numtriggers++] = *trigger;
		some->trig_update_after_row |= TRIGGER_FOR_UPDATE(trigger->tgtype);
		some->trig_delete_after_row |= TRIGGER_FOR_DELETE(trigger->tgtype);
	}
	return some->numtriggers > 0 ? some : NULL;
}

/* A copy of a ResultRelInfo with an array of indexes of its own. */
static ResultRelInfo *
target_copy_result_rel(const ResultRelInfo *result_rel)
{
	ResultRelInfo *copy = makeNode(ResultRelInfo);
	Size		size = result_rel->ri_NumIndices * sizeof(Relation);

	*copy = *result_rel;
	compat_forget_generated(copy);
	copy->ri_IndexRelationDescs = palloc(size);
	memcpy(copy->ri_IndexRelationDescs, result_rel->ri_IndexRelationDescs, size);
	return copy;
}

/*
 * target_use_result_rel
 *		Lets the target write through an open result relation: finds its
 *		primary key index, and puts the shim into all of them.  Allocates in
 *		CurrentMemoryContext.
 */
void
target_use_result_rel(MergeTarget *target, ResultRelInfo *result_rel)
{
	Relation	relation = result_rel->ri_RelationDesc;
	Oid			pkey = merge_plan_primary_key(relation);
	TriggerDesc *changes;

	target->result_rel = result_rel;
	if (result_rel->ri_IndexRelationDescs == NULL)
		ExecOpenIndices(result_rel, false);

	target->indexes = target_copy_result_rel(result_rel);
	target->secondary = result_rel->ri_NumIndices > 1 ?
		target_copy_result_rel(result_rel) :
		NULL;
	target->pkey = NULL;
	for (int i = 0; i < result_rel->ri_NumIndices; i++)
	{
		Relation	index = result_rel->ri_IndexRelationDescs[i];

		if (!target->by_trigger)
			index_shim_install(index);
		if (RelationGetRelid(index) == pkey)
		{
			target->pkey = index;
			target->pkey_info = result_rel->ri_IndexRelationInfo[i];
			if (target->secondary != NULL)
				target->secondary->ri_IndexRelationDescs[i] = NULL;
		}
	}
	if (target->pkey == NULL)
		elog(ERROR, "primary key index of table \"%s\" is not open",
			 RelationGetRelationName(relation));

	changes = target_change_triggers(target, result_rel->ri_TrigDesc);
	target->referenced = NULL;
	if (changes != NULL)
	{
		target->referenced = target_copy_result_rel(result_rel);
		target->referenced->ri_TrigDesc = changes;
		target->referenced->ri_TrigNewSlot = NULL;
		target->referenced->ri_TrigOldSlot = NULL;
	}
}

/* Prepare the probe of the primary key. */
static void
target_prepare_keys(MergeTarget *target)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(target->pkey);
	MemoryContext oldcontext = MemoryContextSwitchTo(target->context);

	target->nkeys = nkeys;
	target->scankeys = palloc(nkeys * sizeof(ScanKeyData));
	target->pkey_columns = palloc(nkeys * sizeof(AttrNumber));
	target->key_opfamilies = palloc(nkeys * sizeof(Oid));
	target->key_types = palloc(nkeys * sizeof(Oid));
	target->key_collations = palloc(nkeys * sizeof(Oid));
	for (int i = 0; i < nkeys; i++)
	{
		Oid			opfamily = target->pkey->rd_opfamily[i];
		Oid			type = target->pkey->rd_opcintype[i];
		Oid			equality = get_opfamily_member(opfamily, type, type,
												   BTEqualStrategyNumber);

		if (!OidIsValid(equality))
			elog(ERROR, "missing operator %d(%u,%u) in opfamily %u",
				 BTEqualStrategyNumber, type, type, opfamily);
		target->pkey_columns[i] = target->pkey->rd_index->indkey.values[i] - 1;
		target->key_opfamilies[i] = opfamily;
		target->key_types[i] = type;
		target->key_collations[i] = target->pkey->rd_indcollation[i];
		ScanKeyEntryInitialize(&target->scankeys[i], 0, i + 1,
							   BTEqualStrategyNumber, InvalidOid,
							   target->pkey->rd_indcollation[i],
							   get_opcode(equality), (Datum) 0);
	}
	MemoryContextSwitchTo(oldcontext);
}

/*
 * target_set_keys
 *		Makes the scan keys ask for the key in a row's values; the target is open.
 */
void
target_set_keys(MergeTarget *target, const Datum *values)
{
	for (int i = 0; i < target->nkeys; i++)
		target->scankeys[i].sk_argument = values[target->pkey_columns[i]];
}

/*
 * target_key_sort
 *		How the columns of the primary key compare, one for each; the target is
 *		open.  Kept as long as the target.
 */
SortSupport
target_key_sort(MergeTarget *target)
{
	if (target->key_sort != NULL)
		return target->key_sort;
	target->key_sort = MemoryContextAllocZero(target->context,
											  target->nkeys * sizeof(SortSupportData));
	for (int i = 0; i < target->nkeys; i++)
	{
		SortSupport sort = &target->key_sort[i];

		sort->ssup_cxt = target->context;
		sort->ssup_collation = target->pkey->rd_indcollation[i];
		sort->ssup_nulls_first = false;
		sort->ssup_attno = i + 1;
		PrepareSortSupportFromIndexRel(target->pkey, BTLessStrategyNumber, sort);
	}
	return target->key_sort;
}

/*
 * target_compare_keys
 *		The order of two rows' primary keys.  target_key_sort has been called.
 */
int
target_compare_keys(MergeTarget *target, const Datum *a, const Datum *b)
{
	for (int i = 0; i < target->nkeys; i++)
	{
		AttrNumber	c = target->pkey_columns[i];
		int			result = ApplySortComparator(a[c], false, b[c], false,
												 &target->key_sort[i]);

		if (result != 0)
			return result;
	}
	return 0;
}

/*
 * target_open
 *		Makes the target ready to write: opens the table's indexes if the
 *		executor's are not at hand.  To be closed with target_close at the end
 *		of the call of the access method.
 */
void
target_open(MergeTarget *target, Relation relation)
{
	if (target->result_rel == NULL)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(target->context);
		ResultRelInfo *result_rel;

		target->estate = CreateExecutorState();
		MemoryContextSwitchTo(target->estate->es_query_cxt);
		result_rel = makeNode(ResultRelInfo);
		InitResultRelInfo(result_rel, relation, 0, NULL, 0);
		target->own_result_rel = true;
		target_use_result_rel(target, result_rel);
		MemoryContextSwitchTo(oldcontext);
	}
	if (target->scankeys == NULL)
		target_prepare_keys(target);
	if (target->plan->memory != MERGE_MEMORY_NONE && target->memory == NULL &&
		!target->only_row)
	{
		MemoryContext oldcontext = MemoryContextSwitchTo(target->context);

		target->memory = key_memory_create(target->plan, target_key_sort(target),
										   target->nkeys, target->pkey_columns);
		MemoryContextSwitchTo(oldcontext);
	}
}

/*
 * target_close
 *		Ends what may not outlast one call of the access method: pins, and
 *		indexes that were opened for it.
 */
void
target_close(MergeTarget *target)
{
	ExecClearTuple(target->stored);
	ExecClearTuple(target->merged);
	MemoryContextReset(target->row_context);
	if (target->own_result_rel)
	{
		ExecCloseIndices(target->indexes);
		ExecResetTupleTable(target->estate->es_tupleTable, false);
		FreeExecutorState(target->estate);
		target->own_result_rel = false;
		target->estate = NULL;
		target->result_rel = NULL;
		target->indexes = NULL;
		target->secondary = NULL;
		target->referenced = NULL;
		target->pkey = NULL;
	}
}

/*
 * target_take_plan_slots
 *		Has the executor hand us the rows of a long INSERT in the slots of its
 *		plan.  It would copy each into a slot of the table's kind first, to be
 *		stored as it is, but we only read it.  Not where it writes into the slot,
 *		at which the plan may still look: where it computes generated columns, or
 *		in a partitioned table, whose other partitions may have some, or triggers.
 */
void
target_take_plan_slots(MergeTarget *target)
{
	ModifyTableState *modify = target->source;
	ResultRelInfo *result_rel;
	TupleDesc	tupdesc;
	const TupleTableSlotOps *ops;
	bool		fixed;
	MemoryContext oldcontext;

	if (target->from_copy || modify == NULL || modify->operation != CMD_INSERT)
		return;
	result_rel = modify->resultRelInfo;
	tupdesc = RelationGetDescr(result_rel->ri_RelationDesc);
	ops = ExecGetResultSlotOps(outerPlanState(modify), &fixed);
	if (!fixed || result_rel->ri_newTupleSlot == NULL ||
		result_rel->ri_newTupleSlot->tts_ops == ops ||
		result_rel->ri_projectNew != NULL ||
		modify->mt_partition_tuple_routing != NULL ||
		(tupdesc->constr != NULL && tupdesc->constr->has_generated_stored))
		return;
	oldcontext = MemoryContextSwitchTo(modify->ps.state->es_query_cxt);
	/* not the relation's descriptor: a subtransaction would be its owner, if we are in one */
	result_rel->ri_newTupleSlot = ExecInitExtraTupleSlot(modify->ps.state,
														 merge_plan_tupdesc(target->plan), ops);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Unnamed columns that a BEFORE ROW trigger has visibly set when they are not
 * NULL: those without a DEFAULT.
 */
static bool *
target_trigger_columns(const MergePlan *plan, Relation relation)
{
	bool	   *may_set;

	if (relation->trigdesc == NULL || !relation->trigdesc->trig_insert_before_row)
		return NULL;
	may_set = palloc(plan->natts * sizeof(bool));
	for (int c = 0; c < plan->natts; c++)
		may_set[c] = !plan->columns[c].has_default && !plan->columns[c].generated;
	return may_set;
}

/*
 * target_create
 *		A target for an open table with a plan, in a context that lives as long
 *		as the statement.
 */
MergeTarget *
target_create(Relation relation, MergePlan *plan, MemoryContext context)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	MergeTarget *target = palloc0(sizeof(MergeTarget));
	TupleDesc	tupdesc;

	target->relid = RelationGetRelid(relation);
	target->by_trigger = relation->rd_tableam != merge_tableam_routine();
	target->context = context;
	target->plan = plan;
	target->row_context = AllocSetContextCreate(context, "merge row",
												ALLOCSET_DEFAULT_SIZES);
	target->state = merge_state_create(plan);
	target->incoming_values = palloc(plan->natts * sizeof(Datum));
	target->incoming_isnull = palloc(plan->natts * sizeof(bool));
	tupdesc = merge_plan_tupdesc(plan);
	target->stored = MakeTupleTableSlot(tupdesc, &TTSOpsBufferHeapTuple);
	target->merged = MakeTupleTableSlot(tupdesc, &TTSOpsVirtual);
	target->trigger_may_set = target_trigger_columns(plan, relation);
	MemoryContextSwitchTo(oldcontext);
	return target;
}
