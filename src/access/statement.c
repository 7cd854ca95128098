/*
 * statement.c
 *	  The statement that is writing to merge tables: what it names, and which
 *	  of its rows wait to be merged.
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
 * The same places tell when a statement's buffered rows must be merged: when
 * its ModifyTable node has read all of them, when COPY ends, and before any
 * query or utility command runs inside the statement that could look at the
 * table.  So nobody sees that rows were buffered.
 *
 * The working state of a statement is allocated in a child of its owner's
 * context and goes with it, also on error.
 */
#include "postgres.h"

#include "access/before_insert.h"
#include "access/named_columns.h"
#include "access/row_security.h"
#include "access/statement.h"
#include "access/write_buffer.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "commands/copyfrom_internal.h"
#include "compat.h"
#include "executor/executor.h"
#include "tcop/utility.h"
#include "utils/memutils.h"

/* A statement, by the memory context of its owner. */
typedef struct MergeStatement
{
	struct MergeStatement *next;
	MemoryContext owner;		/* a query's or a COPY's context */
	MemoryContext context;		/* a child of it */
	MemoryContextCallback callback;
	MergeTarget *targets;
	uint64		arrivals;
	int			nbuffers;		/* that wait, to share the memory */
} MergeStatement;

static ExecutorStart_hook_type previous_ExecutorStart = NULL;
static ProcessUtility_hook_type previous_ProcessUtility = NULL;
static ExecProcNodeMtd exec_modify_table = NULL;

/* the ModifyTable node that is running, innermost */
static ModifyTableState *running_modify = NULL;

static MergeStatement *statements = NULL;

/*
 * Has the target rows to merge?  Rows that were merged in a subtransaction which
 * was rolled back wait again.
 */
static bool
statement_is_waiting(MergeTarget *target)
{
	write_buffer_restore(target);
	return target->buffer != NULL;
}

/*
 * Merge what a target has buffered.  nested says that the statement goes on:
 * we are inside one of its expressions, so its per-tuple memory is in use, and
 * what was merged must be remembered.
 */
static void
statement_flush_target(MergeTarget *target, bool nested)
{
	EState	   *estate = target->estate;
	ExprContext *in_use = NULL;

	/* a query that another target's merge has run may have been first */
	if (!statement_is_waiting(target))
		return;
	if (nested && estate != NULL)
	{
		in_use = estate->es_per_tuple_exprcontext;
		estate->es_per_tuple_exprcontext = NULL;
	}
	write_buffer_flush(target, nested);
	if (in_use != NULL)
	{
		if (estate->es_per_tuple_exprcontext != NULL)
			FreeExprContext(estate->es_per_tuple_exprcontext, true);
		estate->es_per_tuple_exprcontext = in_use;
	}
}

/* A table and the partitioned tables above it: is one of them in the list? */
static bool
statement_reads_target(const MergeTarget *target, List *relids)
{
	ListCell   *lc;

	if (list_member_oid(relids, target->relid))
		return true;
	if (!target->relation->rd_rel->relispartition)
		return false;
	foreach(lc, get_partition_ancestors(target->relid))
	{
		if (list_member_oid(relids, lfirst_oid(lc)))
			return true;
	}
	return false;
}

/*
 * Before a query inside of running statements, with its snapshot: merge what
 * these have buffered of the tables that it reads, if in any other table it
 * would see the rows, which is so if its snapshot was taken by a later command.
 * What is merged into rows of the same statement is written by a still later
 * one, so the snapshot must follow.  Before a utility command (both NULL), which
 * may look at any table: merge everything.
 */
static void
statement_flush_for(List *relids, Snapshot snapshot)
{
	bool		is_current = snapshot != NULL &&
		snapshot->curcid == GetCurrentCommandId(false);
	bool		flushed = false;

	for (MergeStatement *statement = statements; statement != NULL;
		 statement = statement->next)
	{
		for (MergeTarget *target = statement->targets; target != NULL;
			 target = target->next)
		{
			if (!statement_is_waiting(target))
				continue;
			if (snapshot != NULL &&
				(!write_buffer_precedes(target->buffer, snapshot->curcid) ||
				 !statement_reads_target(target, relids)))
				continue;
			statement_flush_target(target, true);
			flushed = true;
		}
	}
	if (!flushed)
		return;
	CommandCounterIncrement();
	if (is_current)
		snapshot->curcid = GetCurrentCommandId(false);
}

/* Tables in the order of their OIDs, so that statements agree on it. */
static int
statement_compare_targets(const ListCell *a, const ListCell *b)
{
	const MergeTarget *left = lfirst(a);
	const MergeTarget *right = lfirst(b);

	return (left->relid > right->relid) - (left->relid < right->relid);
}

/*
 * A ModifyTable node has read all its rows: merge what it has buffered.
 */
static void
statement_flush_query(ModifyTableState *modify)
{
	List	   *targets = NIL;
	ListCell   *lc;
	EState	   *estate = modify->ps.state;

	for (MergeStatement *statement = statements; statement != NULL;
		 statement = statement->next)
	{
		if (statement->owner != estate->es_query_cxt)
			continue;
		for (MergeTarget *target = statement->targets; target != NULL;
			 target = target->next)
		{
			if (statement_is_waiting(target) && target->source == modify)
				targets = lappend(targets, target);
		}
	}
	if (targets == NIL)
		return;
	list_sort(targets, statement_compare_targets);
	foreach(lc, targets)
		statement_flush_target(lfirst(lc), false);
	list_free(targets);
}

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
	/* a node that returns rows has nothing buffered */
	if (statements != NULL && TupIsNull(slot))
		statement_flush_query(castNode(ModifyTableState, pstate));
	return slot;
}

/*
 * Stand in for one node's execution function.  A rule's query is the top node
 * and among those in WITH, too.
 */
static void
statement_watch(PlanState *pstate)
{
	if (pstate->ExecProcNodeReal == statement_exec_modify_table)
		return;
	exec_modify_table = pstate->ExecProcNodeReal;
	ExecSetExecProcNode(pstate, statement_exec_modify_table);
}

/*
 * A query begins.  If one that is running has buffered rows of a table that it
 * reads, it must see them.
 */
static void
statement_ExecutorStart(QueryDesc *queryDesc, int eflags)
{
	ListCell   *lc;

	if (statements != NULL)
		statement_flush_for(queryDesc->plannedstmt->relationOids,
							queryDesc->snapshot);
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

/* A utility command begins; any may look at any table. */
static void
statement_ProcessUtility(PlannedStmt *pstmt, const char *queryString,
						 bool readOnlyTree, ProcessUtilityContext context,
						 ParamListInfo params, QueryEnvironment *queryEnv,
						 DestReceiver *dest, QueryCompletion *qc)
{
	if (statements != NULL)
		statement_flush_for(NIL, NULL);
	if (previous_ProcessUtility)
		previous_ProcessUtility(pstmt, queryString, readOnlyTree, context,
								params, queryEnv, dest, qc);
	else
		standard_ProcessUtility(pstmt, queryString, readOnlyTree, context,
								params, queryEnv, dest, qc);
}

/*
 * statement_init
 *		Installs the hooks; called once, when the module loads.
 */
void
statement_init(void)
{
	previous_ExecutorStart = ExecutorStart_hook;
	ExecutorStart_hook = statement_ExecutorStart;
	previous_ProcessUtility = ProcessUtility_hook;
	ProcessUtility_hook = statement_ProcessUtility;
	named_columns_init();
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
 * statement_bypasses
 *		Is this row the new version of one that an UPDATE has moved to this
 *		partition?  UPDATE is PostgreSQL's own and does not merge.
 */
bool
statement_bypasses(Relation relation, TupleTableSlot *slot)
{
	ModifyTableState *modify;

	if (!relation->rd_rel->relispartition)
		return false;
	modify = statement_modify_of(slot);
	if (modify == NULL)
		return false;
	/* a MERGE acts on a target row, if it is not about to insert */
	return modify->operation == CMD_UPDATE ||
		(modify->operation == CMD_MERGE &&
		 modify->ps.ps_ExprContext->ecxt_scantuple != NULL);
}

/* A statement's owner goes: forget it. */
static void
statement_end(void *arg)
{
	MergeStatement *statement = arg;
	bool		waiting = false;

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
		before_insert_end(target);
		if (target->plan != NULL)
			merge_plan_release(target->plan);
		waiting |= target->buffer != NULL;
	}
	if (waiting && IsTransactionState())
		elog(ERROR, "a statement has ended before its buffered rows were merged");
}

/*
 * statement_forget_plans
 *		The transaction ends, and with it every claim to a plan; statements
 *		that it leaves behind must not release theirs.
 */
void
statement_forget_plans(void)
{
	before_insert_forget();
	for (MergeStatement *statement = statements; statement != NULL;
		 statement = statement->next)
	{
		for (MergeTarget *target = statement->targets; target != NULL;
			 target = target->next)
		{
			target->plan = NULL;
			target->has_key_lock = false;
		}
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

/* Are the columns of the primary key, as they compare there, among an index's keys? */
static bool
statement_index_has_key(Relation index, Relation pkey)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(pkey);
	int			natts = IndexRelationGetNumberOfKeyAttributes(index);

	for (int i = 0; i < nkeys; i++)
	{
		int			j = 0;

		while (j < natts &&
			   (index->rd_index->indkey.values[j] != pkey->rd_index->indkey.values[i] ||
				index->rd_opfamily[j] != pkey->rd_opfamily[i] ||
				index->rd_indcollation[j] != pkey->rd_indcollation[i]))
			j++;
		if (j == natts)
			return false;
	}
	return true;
}

/*
 * Are there indexes that depend on the rows being merged one by one?  A further
 * unique index may admit them in the order of input only, unless it has the
 * primary key among its columns, as a copy that REINDEX CONCURRENTLY makes of it
 * has, and so admits whatever that admits; a constraint that the executor checks
 * or defers needs its slot to hold the merged row, and so do expressions where it
 * still evaluates them.
 */
static bool
statement_has_special_indexes(const MergeTarget *target, bool expressions)
{
	ResultRelInfo *result_rel = target->indexes;

	for (int i = 0; i < result_rel->ri_NumIndices; i++)
	{
		Relation	index = result_rel->ri_IndexRelationDescs[i];
		IndexInfo  *info = result_rel->ri_IndexRelationInfo[i];

		if (index->rd_index->indisexclusion ||
			(index->rd_index->indisunique &&
			 (!index->rd_index->indimmediate ||
			  !statement_index_has_key(index, target->pkey))))
			return true;
		if (expressions && (info->ii_Expressions != NIL || info->ii_Predicate != NIL))
			return true;
	}
	return false;
}

/* Has the statement just one row, that of INSERT … VALUES? */
static bool
statement_has_one_row(const ModifyTableState *modify)
{
	const PlanState *source = outerPlanState(modify);

	return modify->operation == CMD_INSERT &&
		modify->ps.state->es_auxmodifytables == NIL &&
		IsA(source, ResultState) && outerPlanState(source) == NULL;
}

/*
 * May the rows of this INSERT wait?  Not if somebody looks at each of them,
 * and not worth it if there is only one.
 */
static bool
statement_may_buffer_insert(MergeTarget *target, ModifyTableState *modify)
{
	ModifyTable *node = castNode(ModifyTable, modify->ps.plan);
	TriggerDesc *triggers = target->result_rel->ri_TrigDesc;

	/* other nodes in WITH may write the same table, row by row with this one */
	if (modify->operation != CMD_INSERT ||
		modify->ps.state->es_auxmodifytables != NIL ||
		node->onConflictAction != ONCONFLICT_NONE ||
		target->result_rel->ri_projectReturning != NULL ||
		target->result_rel->ri_WithCheckOptions != NIL ||
		target->row_security != NULL ||
		modify->mt_transition_capture != NULL)
		return false;
	if (triggers != NULL &&
		(triggers->trig_insert_before_row || triggers->trig_insert_after_row ||
		 triggers->trig_insert_instead_row || triggers->trig_insert_new_table))
		return false;
	if (target->only_row)
		return false;
	/* a removal cascades, even if the key comes back in the same statement */
	if (target->referenced != NULL && target->plan->rowkind >= 0 &&
		!target->plan->ignore_delete)
		return false;
	return !statement_has_special_indexes(target, false);
}

/*
 * May the rows of this COPY wait?  They would wait until after the triggers,
 * for the statement as well as for rows.
 */
static bool
statement_may_buffer_copy(MergeTarget *target, Relation relation,
						  CopyFromState cstate)
{
	return relation->trigdesc == NULL && cstate->rel->trigdesc == NULL &&
		cstate->transition_capture == NULL &&
		!statement_has_special_indexes(target, true);
}

/* Point the target to the source of the rows to come. */
static void
statement_set_source(MergeTarget *target, Relation relation,
					 ModifyTableState *modify, CopyFromState cstate)
{
	target->source = modify != NULL ? (void *) modify : (void *) cstate;
	target->from_copy = cstate != NULL;
	target->estate = NULL;
	target->result_rel = NULL;
	target->only_row = false;
	target->may_buffer = false;
	target->observed = true;
	target->row_security = NULL;
	if (modify != NULL)
	{
		ResultRelInfo *result_rel = statement_result_rel(modify, relation);
		RangeTblEntry *root = exec_rt_fetch(modify->rootResultRelInfo->ri_RangeTableIndex,
											modify->ps.state);

		if (result_rel == NULL)
			elog(ERROR, "no result relation for table \"%s\"",
				 RelationGetRelationName(relation));
		target->estate = modify->ps.state;
		target->named = named_columns_of_insert(target->plan,
												ExecGetInsertedCols(result_rel, target->estate));
		target_use_result_rel(target, result_rel);
		target->row_security = row_security_create(root->relid,
												   compat_check_as_user(target->estate->es_plannedstmt, root),
												   target->context);
		target->only_row = !target->by_trigger && statement_has_one_row(modify);
		target->may_buffer = statement_may_buffer_insert(target, modify);
		target->observed = result_rel->ri_projectReturning != NULL ||
			result_rel->ri_WithCheckOptions != NIL ||
			result_rel->ri_TrigDesc != NULL ||
			modify->mt_transition_capture != NULL ||
			statement_has_special_indexes(target, true);
	}
	else if (cstate != NULL)
	{
		/* COPY FROM refuses a table with row security */
		target->named = named_columns_of_copy(target->plan, cstate);
		target_open(target, relation);
		target->may_buffer = statement_may_buffer_copy(target, relation, cstate);
		target_close(target);
	}
	else
	{
		target->row_security = row_security_create(target->relid, InvalidOid,
												   target->context);
		target->named = named_columns_of_portal(target, relation);
	}
}

/*
 * statement_target
 *		What the statement that a row comes from works with for an open table;
 *		NULL if the table does not merge.  To be opened with target_open before
 *		it writes.
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
	source = modify != NULL ? (void *) modify : (void *) cstate;
	statement = statement_of_context(cstate != NULL ? cstate->copycontext : slot->tts_mcxt);

	target = statement->targets;
	while (target != NULL && (target->relid != RelationGetRelid(relation) || target->source != source))
		target = target->next;
	if (target != NULL)
	{
		merge_plan_release(plan);
		target->relation = relation;
		return target;
	}

	oldcontext = MemoryContextSwitchTo(statement->context);
	target = target_create(relation, plan, statement->context);
	target->relation = relation;
	target->arrivals = &statement->arrivals;
	target->nbuffers = &statement->nbuffers;
	statement_set_source(target, relation, modify, cstate);
	for (MergeTarget *other = statement->targets; other != NULL; other = other->next)
	{
		/* another node's, but what is remembered is the statement's */
		if (other->relid == target->relid)
			target->memory = other->memory;
	}
	target->next = statement->targets;
	statement->targets = target;
	MemoryContextSwitchTo(oldcontext);
	return target;
}

/* Does this COPY still read rows? */
static bool
statement_copy_runs(const void *cstate)
{
	for (ErrorContextCallback *entry = error_context_stack; entry != NULL;
		 entry = entry->previous)
	{
		if (entry->callback == CopyFromErrorCallback && entry->arg == cstate)
			return true;
	}
	return false;
}

/*
 * statement_finish_copy
 *		A COPY, or another bulk insertion, is done with a table: merge what is
 *		buffered.  When COPY has read all rows, the order of partitions is ours
 *		to choose, and all of them are merged at the first call.  While it still
 *		reads it only trims its list of partitions: more rows of the table may
 *		come, but perhaps no other call.
 */
void
statement_finish_copy(Relation relation)
{
	List	   *targets = NIL;
	ListCell   *lc;
	bool		goes_on = false;

	for (MergeStatement *statement = statements; statement != NULL && targets == NIL;
		 statement = statement->next)
	{
		MergeTarget *its = statement->targets;

		while (its != NULL &&
			   !(its->from_copy && its->relid == RelationGetRelid(relation)))
			its = its->next;
		if (its == NULL)
			continue;
		goes_on = statement_copy_runs(its->source);
		for (MergeTarget *target = statement->targets; target != NULL; target = target->next)
		{
			if (statement_is_waiting(target) && (!goes_on || target == its))
				targets = lappend(targets, target);
		}
	}
	list_sort(targets, statement_compare_targets);
	foreach(lc, targets)
		statement_flush_target(lfirst(lc), goes_on);
	list_free(targets);
}

/*
 * statement_end_subxact
 *		A subtransaction ends: rows of running statements may have been merged
 *		in it.
 */
void
statement_end_subxact(bool committed)
{
	int			level = GetCurrentTransactionNestLevel();

	for (MergeStatement *statement = statements; statement != NULL;
		 statement = statement->next)
	{
		for (MergeTarget *target = statement->targets; target != NULL;
			 target = target->next)
			write_buffer_end_subxact(target, committed, level);
	}
}
