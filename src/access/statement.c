/*
 * statement.c
 *	  The statement that is writing to merge tables: what it names, and what it
 *	  works with.
 *
 * A table access method is handed rows without being told where they come
 * from.  But merging must know: a column that the statement does not name is
 * absent, and what was seen of a key within the statement is remembered.  We
 * find the source of a row in one of these ways:
 *
 * - INSERT, MERGE, UPDATE: an ExecutorStart hook stands in for the execution
 *   function of every ModifyTable node, and notes which one is running.  The
 *   slot that we are handed lives in that node's query context, which tells
 *   it from a COPY that the query's functions run.
 * - COPY: its error context callback is on the stack, with the COPY's state.
 * - The logical apply worker, and whatever else calls the access method: each
 *   query context is a statement, all columns are named.
 *
 * The working state of a statement is allocated in a child of its owner's
 * context and goes with it, also on error.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/index_shim.h"
#include "access/nbtree.h"
#include "access/statement.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_trigger.h"
#include "commands/copyfrom_internal.h"
#include "commands/trigger.h"
#include "compat.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rls.h"
#include "access/xact.h"

/* A statement, by the memory context of its owner. */
typedef struct MergeStatement
{
	struct MergeStatement *next;
	MemoryContext owner;		/* a query's or a COPY's context */
	MemoryContext context;		/* a child of it */
	MemoryContextCallback callback;
	MergeTarget *targets;
} MergeStatement;

static ExecutorStart_hook_type previous_ExecutorStart = NULL;
static ExecProcNodeMtd exec_modify_table = NULL;

/* the ModifyTable node that is running, innermost */
static ModifyTableState *running_modify = NULL;

/* an UPDATE has just taken a row out of its partition */
static bool row_changes_partition = false;

static MergeStatement *statements = NULL;

/* when this library was loaded, to recognize the statement that loaded it */
static TimestampTz loaded_during;

/* Stands in for ExecModifyTable: notes which node is running. */
static TupleTableSlot *
statement_exec_modify_table(PlanState *pstate)
{
	ModifyTableState *outer = running_modify;
	TupleTableSlot *slot;

	running_modify = castNode(ModifyTableState, pstate);
	PG_TRY();
	{
		slot = exec_modify_table(pstate);
	}
	PG_FINALLY();
	{
		running_modify = outer;
	}
	PG_END_TRY();
	return slot;
}

/* Stand in for one node's execution function. */
static void
statement_watch(PlanState *pstate)
{
	exec_modify_table = pstate->ExecProcNodeReal;
	ExecSetExecProcNode(pstate, statement_exec_modify_table);
}

static void
statement_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	ListCell   *lc;

	if (previous_ExecutorStart)
		previous_ExecutorStart(queryDesc, eflags);
	else
		standard_ExecutorStart(queryDesc, eflags);

	if (queryDesc->planstate != NULL && IsA(queryDesc->planstate, ModifyTableState))
		statement_watch(queryDesc->planstate);
	/* those in WITH */
	foreach(lc, queryDesc->estate->es_auxmodifytables)
		statement_watch((PlanState *) lfirst(lc));
}

/*
 * statement_init
 *		Installs the hook; called once, when the module loads.
 */
void
statement_init(void)
{
	previous_ExecutorStart = ExecutorStart_hook;
	ExecutorStart_hook = statement_ExecutorStart;
	loaded_during = GetCurrentStatementStartTimestamp();
}

/* The running ModifyTable, if the slot is one of its query's. */
static ModifyTableState *
statement_modify_of(TupleTableSlot *slot)
{
	if (running_modify != NULL &&
		running_modify->ps.state->es_query_cxt == slot->tts_mcxt)
		return running_modify;
	return NULL;
}

/* The innermost COPY FROM, if it writes to the table or to a parent of it. */
static CopyFromState
statement_copy_of(Relation relation)
{
	for (ErrorContextCallback *entry = error_context_stack; entry != NULL;
		 entry = entry->previous)
	{
		if (entry->callback == CopyFromErrorCallback)
		{
			CopyFromState cstate = (CopyFromState) entry->arg;

			if (RelationGetRelid(cstate->rel) == RelationGetRelid(relation) ||
				(relation->rd_rel->relispartition &&
				 list_member_oid(get_partition_ancestors(RelationGetRelid(relation)),
								 RelationGetRelid(cstate->rel))))
				return cstate;
			return NULL;
		}
	}
	return NULL;
}

/*
 * statement_note_delete
 *		A row of a merge table is being deleted by hand; changing_partition
 *		says that an UPDATE does it, to insert it elsewhere next.
 */
void
statement_note_delete(bool changing_partition)
{
	row_changes_partition = changing_partition;
}

/*
 * statement_bypasses
 *		Is this row the new version of one that an UPDATE has moved to this
 *		partition?  UPDATE is PostgreSQL's own and does not merge.
 */
bool
statement_bypasses(Relation relation, TupleTableSlot *slot)
{
	bool		moved = row_changes_partition;
	ModifyTableState *modify;

	row_changes_partition = false;
	if (!relation->rd_rel->relispartition)
		return false;
	modify = statement_modify_of(slot);
	if (modify != NULL)
		return modify->operation == CMD_UPDATE ||
			(modify->operation == CMD_MERGE && moved);
	return moved;
}

/* A statement's owner goes: forget it. */
static void
statement_end(void *arg)
{
	MergeStatement *statement = arg;

	for (MergeStatement **link = &statements; *link != NULL; link = &(*link)->next)
	{
		if (*link == statement)
		{
			*link = statement->next;
			break;
		}
	}
	for (MergeTarget *target = statement->targets; target != NULL; target = target->next)
	{
		if (target->plan != NULL)
			merge_plan_release(target->plan);
	}
}

/*
 * statement_forget_plans
 *		The transaction ends, and with it every claim to a plan; statements
 *		that it leaves behind must not release theirs.
 */
void
statement_forget_plans(void)
{
	for (MergeStatement *statement = statements; statement != NULL;
		 statement = statement->next)
	{
		for (MergeTarget *target = statement->targets; target != NULL;
			 target = target->next)
			target->plan = NULL;
	}
}

/* The statement that belongs to a context; a new one if there is none. */
static MergeStatement *
statement_of_context(MemoryContext owner)
{
	MergeStatement *statement;
	MemoryContext context;

	for (statement = statements; statement != NULL; statement = statement->next)
	{
		if (statement->owner == owner)
			return statement;
	}

	context = AllocSetContextCreate(owner, "merge statement", ALLOCSET_SMALL_SIZES);
	statement = MemoryContextAllocZero(context, sizeof(MergeStatement));
	statement->owner = owner;
	statement->context = context;
	statement->callback.func = statement_end;
	statement->callback.arg = statement;
	statement->next = statements;
	statements = statement;
	MemoryContextRegisterResetCallback(context, &statement->callback);
	return statement;
}

/* Naming every column is the same as naming none in particular. */
static bool *
statement_simplify_named(const MergePlan *plan, bool *named)
{
	for (int c = 0; c < plan->natts; c++)
	{
		if (!named[c] && !plan->columns[c].dropped && !plan->columns[c].generated)
			return named;
	}
	return NULL;
}

/* Mark the columns of a table that an INSERT names; attnos of the table. */
static bool *
statement_named_by_set(const MergePlan *plan, Bitmapset *columns)
{
	bool	   *named = palloc0(plan->natts * sizeof(bool));
	int			bit = -1;

	while ((bit = bms_next_member(columns, bit)) >= 0)
	{
		int			attno = bit + FirstLowInvalidHeapAttributeNumber;

		if (attno > 0 && attno <= plan->natts)
			named[attno - 1] = true;
		else if (attno == 0)	/* whole row */
			memset(named, true, plan->natts);
	}
	return statement_simplify_named(plan, named);
}

/* Mark the columns of a table that a COPY names, by name: it may be a partition. */
static bool *
statement_named_by_copy(const MergePlan *plan, CopyFromState cstate)
{
	bool	   *named = palloc0(plan->natts * sizeof(bool));
	ListCell   *lc;

	foreach(lc, cstate->attnumlist)
	{
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(cstate->rel),
													lfirst_int(lc) - 1);

		for (int c = 0; c < plan->natts; c++)
		{
			if (!plan->columns[c].dropped &&
				strcmp(plan->columns[c].name, NameStr(attribute->attname)) == 0)
				named[c] = true;
		}
	}
	return statement_simplify_named(plan, named);
}

/*
 * A row whose statement was started before this library was loaded: the first
 * in its session, through a partitioned table that has merge tables among its
 * partitions.  What a query of the client's names is known from its plan; for
 * one inside a function we cannot tell.
 */
static bool *
statement_named_by_portal(const MergePlan *plan, Relation relation)
{
	PlannedStmt *stmt = NULL;
	ListCell   *lc;

	if (GetCurrentStatementStartTimestamp() != loaded_during ||
		ActivePortal == NULL)
		return NULL;
	foreach(lc, ActivePortal->stmts)
	{
		PlannedStmt *candidate = lfirst_node(PlannedStmt, lc);

		if (candidate->commandType == CMD_INSERT && !candidate->hasModifyingCTE)
			stmt = stmt == NULL ? candidate : NULL;
	}
	if (stmt != NULL)
	{
		RangeTblEntry *rte = rt_fetch(linitial_int(stmt->resultRelations),
									  stmt->rtable);

		if (rte->relid == RelationGetRelid(relation) ||
			list_member_oid(get_partition_ancestors(RelationGetRelid(relation)),
							rte->relid))
		{
			Bitmapset  *columns = compat_inserted_columns(stmt, rte);
			Bitmapset  *mapped = NULL;
			int			bit = -1;

			while ((bit = bms_next_member(columns, bit)) >= 0)
			{
				AttrNumber	attno = bit + FirstLowInvalidHeapAttributeNumber;
				char	   *name = attno > 0 ? get_attname(rte->relid, attno, true) : NULL;

				attno = name ? get_attnum(RelationGetRelid(relation), name) : attno;
				mapped = bms_add_member(mapped, attno - FirstLowInvalidHeapAttributeNumber);
			}
			return statement_named_by_set(plan, mapped);
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("merge_engine was loaded in the middle of this statement"),
			 errdetail("Which columns the statement names for table \"%s\" is not known.",
					   RelationGetRelationName(relation)),
			 errhint("Run the statement again, or load merge_engine with session_preload_libraries.")));
}

/* The executor's ResultRelInfo for a table in a ModifyTable node. */
static ResultRelInfo *
statement_result_rel(ModifyTableState *modify, Relation relation)
{
	ListCell   *lc;

	for (int i = 0; i < modify->mt_nrels; i++)
	{
		if (modify->resultRelInfo[i].ri_RelationDesc == relation)
			return &modify->resultRelInfo[i];
	}
	if (modify->rootResultRelInfo->ri_RelationDesc == relation)
		return modify->rootResultRelInfo;
	foreach(lc, modify->ps.state->es_tuple_routing_result_relations)
	{
		ResultRelInfo *result_rel = lfirst(lc);

		if (result_rel->ri_RelationDesc == relation &&
			result_rel->ri_RootResultRelInfo == modify->rootResultRelInfo)
			return result_rel;
	}
	return NULL;
}

/* The triggers of foreign keys that reference the table, as a TriggerDesc. */
static TriggerDesc *
statement_referencing_triggers(TriggerDesc *all)
{
	TriggerDesc *some;

	if (all == NULL || !(all->trig_update_after_row || all->trig_delete_after_row))
		return NULL;
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

/* Set up what depends on the result relation and its open indexes. */
static void
statement_use_result_rel(MergeTarget *target, ResultRelInfo *result_rel)
{
	Relation	relation = result_rel->ri_RelationDesc;
	Oid			pkey = merge_plan_primary_key(relation);
	ResultRelInfo *secondary;

	target->result_rel = result_rel;
	if (result_rel->ri_IndexRelationDescs == NULL)
		ExecOpenIndices(result_rel, false);

	secondary = makeNode(ResultRelInfo);
	*secondary = *result_rel;
	secondary->ri_IndexRelationDescs = palloc(result_rel->ri_NumIndices * sizeof(Relation));
	target->pkey = NULL;
	for (int i = 0; i < result_rel->ri_NumIndices; i++)
	{
		Relation	index = result_rel->ri_IndexRelationDescs[i];

		index_shim_install(index);
		secondary->ri_IndexRelationDescs[i] = index;
		if (RelationGetRelid(index) == pkey)
		{
			target->pkey = index;
			target->pkey_info = result_rel->ri_IndexRelationInfo[i];
			secondary->ri_IndexRelationDescs[i] = NULL;
		}
	}
	if (target->pkey == NULL)
		elog(ERROR, "primary key index of table \"%s\" is not open",
			 RelationGetRelationName(relation));
	target->secondary = result_rel->ri_NumIndices > 1 ? secondary : NULL;

	target->referenced = NULL;
	if (result_rel->ri_TrigDesc != NULL)
	{
		TriggerDesc *triggers = statement_referencing_triggers(result_rel->ri_TrigDesc);

		if (triggers != NULL)
		{
			target->referenced = makeNode(ResultRelInfo);
			*target->referenced = *result_rel;
			target->referenced->ri_TrigDesc = triggers;
			/* transition tables are the INSERT's own */
			target->referenced->ri_TrigNewSlot = NULL;
			target->referenced->ri_TrigOldSlot = NULL;
		}
	}
}

/*
 * Open the table's indexes ourselves, for the duration of one call: at the end
 * of a COPY nobody would tell us to close them.
 */
static void
statement_open_result_rel(MergeTarget *target, Relation relation)
{
	MemoryContext oldcontext;
	ResultRelInfo *result_rel;

	target->estate = CreateExecutorState();
	oldcontext = MemoryContextSwitchTo(target->estate->es_query_cxt);
	result_rel = makeNode(ResultRelInfo);
	InitResultRelInfo(result_rel, relation, 0, NULL, 0);
	target->own_result_rel = true;
	statement_use_result_rel(target, result_rel);
	MemoryContextSwitchTo(oldcontext);
}

/*
 * statement_release_target
 *		Ends what may not outlast one call of the access method: pins, and
 *		indexes that were opened for it.
 */
void
statement_release_target(MergeTarget *target)
{
	ExecClearTuple(target->stored);
	ExecClearTuple(target->merged);
	MemoryContextReset(target->row_context);
	if (target->own_result_rel)
	{
		ExecCloseIndices(target->result_rel);
		ExecResetTupleTable(target->estate->es_tupleTable, false);
		FreeExecutorState(target->estate);
		target->own_result_rel = false;
		target->estate = NULL;
		target->result_rel = NULL;
		target->secondary = NULL;
		target->referenced = NULL;
		target->pkey = NULL;
	}
}

/* Prepare the probe of the primary key. */
static void
statement_prepare_keys(MergeTarget *target)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(target->pkey);

	target->scankeys = palloc(nkeys * sizeof(ScanKeyData));
	target->pkey_columns = palloc(nkeys * sizeof(AttrNumber));
	for (int i = 0; i < nkeys; i++)
	{
		Oid			opfamily = target->pkey->rd_opfamily[i];
		Oid			type = target->pkey->rd_opcintype[i];
		Oid			operator = get_opfamily_member(opfamily, type, type,
												   BTEqualStrategyNumber);

		if (!OidIsValid(operator))
			elog(ERROR, "missing operator %d(%u,%u) in opfamily %u",
				 BTEqualStrategyNumber, type, type, opfamily);
		target->pkey_columns[i] = target->pkey->rd_index->indkey.values[i] - 1;
		ScanKeyEntryInitialize(&target->scankeys[i], 0, i + 1,
							   BTEqualStrategyNumber, InvalidOid,
							   target->pkey->rd_indcollation[i],
							   get_opcode(operator), (Datum) 0);
	}
	if (target->plan->memory != MERGE_MEMORY_NONE)
		target->memory = key_memory_create(target->plan, target->pkey,
										   target->pkey_columns);
}

/*
 * Unnamed columns that a BEFORE ROW trigger has visibly set when they are not
 * NULL: those without a DEFAULT.
 */
static bool *
statement_trigger_columns(const MergePlan *plan, Relation relation)
{
	bool	   *may_set;

	if (relation->trigdesc == NULL || !relation->trigdesc->trig_insert_before_row)
		return NULL;
	may_set = palloc(plan->natts * sizeof(bool));
	for (int c = 0; c < plan->natts; c++)
		may_set[c] = !plan->columns[c].has_default && !plan->columns[c].generated;
	return may_set;
}

/* A new target for a table, in its statement's context. */
static MergeTarget *
statement_create_target(MergeStatement *statement, Relation relation,
						MergePlan *plan)
{
	MergeTarget *target = palloc0(sizeof(MergeTarget));
	TupleDesc	tupdesc;

	target->relid = RelationGetRelid(relation);
	target->context = statement->context;
	target->plan = plan;
	target->row_context = AllocSetContextCreate(statement->context, "merge row",
												ALLOCSET_DEFAULT_SIZES);
	target->state = merge_state_create(plan);
	/* a copy needs no pin, and so nobody to release it */
	tupdesc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
	target->stored = MakeTupleTableSlot(tupdesc, &TTSOpsBufferHeapTuple);
	target->merged = MakeTupleTableSlot(tupdesc, &TTSOpsVirtual);
	target->trigger_may_set = statement_trigger_columns(plan, relation);
	target->checks_row_security =
		check_enable_rls(target->relid, InvalidOid, true) == RLS_ENABLED;

	target->next = statement->targets;
	statement->targets = target;
	return target;
}

/* Point the target to the source of the rows to come. */
static void
statement_set_source(MergeTarget *target, Relation relation,
					 ModifyTableState *modify, CopyFromState cstate)
{
	target->source = modify != NULL ? (const void *) modify : (const void *) cstate;
	target->estate = NULL;
	target->result_rel = NULL;
	if (modify != NULL)
	{
		ResultRelInfo *result_rel = statement_result_rel(modify, relation);

		if (result_rel == NULL)
			elog(ERROR, "no result relation for table \"%s\"",
				 RelationGetRelationName(relation));
		target->estate = modify->ps.state;
		target->named = statement_named_by_set(target->plan,
											   ExecGetInsertedCols(result_rel, target->estate));
		statement_use_result_rel(target, result_rel);
	}
	else if (cstate != NULL)
		target->named = statement_named_by_copy(target->plan, cstate);
	else
		target->named = statement_named_by_portal(target->plan, relation);
}

/*
 * statement_target
 *		What the statement that a row comes from works with for an open table;
 *		NULL if the table does not merge.  To be released with
 *		statement_release_target at the end of the call of the access method.
 */
MergeTarget *
statement_target(Relation relation, TupleTableSlot *slot)
{
	MergePlan  *plan = merge_plan_get(relation);
	ModifyTableState *modify;
	CopyFromState cstate;
	const void *source;
	MergeStatement *statement;
	MergeTarget *target;
	MemoryContext oldcontext;

	if (plan == NULL)
		return NULL;
	modify = statement_modify_of(slot);
	cstate = modify == NULL ? statement_copy_of(relation) : NULL;
	source = modify != NULL ? (const void *) modify : (const void *) cstate;
	statement = statement_of_context(cstate != NULL ? cstate->copycontext : slot->tts_mcxt);
	oldcontext = MemoryContextSwitchTo(statement->context);

	target = statement->targets;
	while (target != NULL && target->relid != RelationGetRelid(relation))
		target = target->next;
	if (target != NULL)
	{
		merge_plan_release(plan);
		if (target->source != source)
			statement_set_source(target, relation, modify, cstate);
	}
	else
	{
		target = statement_create_target(statement, relation, plan);
		statement_set_source(target, relation, modify, cstate);
	}
	if (target->result_rel == NULL)
		statement_open_result_rel(target, relation);
	if (target->scankeys == NULL)
		statement_prepare_keys(target);
	MemoryContextSwitchTo(oldcontext);
	return target;
}
