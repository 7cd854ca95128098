/*
 * merge_plan.c
 *	  The cache of compiled rules.
 *
 * A writer asks for a table's rules once a row, so the answer, "does not
 * merge" included, is kept for each table until its relcache entry is
 * invalidated.  An invalidation can arrive at any time, also while the rules
 * are in use or being compiled; it only marks the entry.  The next get
 * compiles again, and whoever still holds the old plan keeps it: a plan is
 * freed when it is neither in the cache nor in use.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/ddl.h"
#include "catalog/merge_plan.h"
#include "catalog/merge_trigger.h"
#include "catalog/pg_class.h"
#include "lib/ilist.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"

/* A compiled plan and who keeps it. */
typedef struct CachedPlan
{
	MergePlan	plan;			/* must be first: callers hold its address */
	TupleDesc	tupdesc;		/* the table's, a copy that is not counted */
	MemoryContext context;		/* holds this struct and all of the plan */
	int			users;
	bool		cached;			/* an entry points here */
	dlist_node	node;			/* in plans_in_use, while users > 0 */
} CachedPlan;

/* What is known of one table. */
typedef struct PlanEntry
{
	Oid			relid;			/* hash key */
	bool		valid;
	CachedPlan *plan;			/* NULL: it does not merge */
} PlanEntry;

/* Sweep stale entries when there are more of them than this. */
#define STALE_ENTRIES_MAX 64

static HTAB *plan_entries = NULL;
static PlanEntry *last_entry = NULL;	/* the entry asked for last */
static int	stale_entries = 0;
static dlist_head plans_in_use = DLIST_STATIC_INIT(plans_in_use);

/* Mark an entry stale. */
static void
entry_invalidate(PlanEntry *entry)
{
	if (entry->valid)
		stale_entries++;
	entry->valid = false;
}

/* Relcache invalidation callback: one table, or all of them. */
static void
plan_cache_invalidate(Datum arg, Oid relid)
{
	PlanEntry  *entry;
	HASH_SEQ_STATUS scan;

	if (OidIsValid(relid))
	{
		entry = hash_search(plan_entries, &relid, HASH_FIND, NULL);
		if (entry)
			entry_invalidate(entry);
		return;
	}

	hash_seq_init(&scan, plan_entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		entry_invalidate(entry);
}

/* Free a plan that nobody keeps. */
static void
cached_plan_free_unused(CachedPlan *plan)
{
	if (plan->users == 0 && !plan->cached)
		MemoryContextDelete(plan->context);
}

/* Take the plan out of an entry. */
static void
entry_drop_plan(PlanEntry *entry)
{
	CachedPlan *plan = entry->plan;

	entry->plan = NULL;
	if (plan)
	{
		plan->cached = false;
		cached_plan_free_unused(plan);
	}
}

/* Forget every stale entry, so that dropped tables do not pile up. */
static void
plan_cache_sweep(void)
{
	PlanEntry  *entry;
	HASH_SEQ_STATUS scan;

	last_entry = NULL;
	hash_seq_init(&scan, plan_entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->valid)
			continue;
		entry_drop_plan(entry);
		hash_search(plan_entries, &entry->relid, HASH_REMOVE, NULL);
	}
	stale_entries = 0;
}

/* Transaction end: nothing is in use any more. */
static void
plan_cache_xact_callback(XactEvent event, void *arg)
{
	dlist_mutable_iter iter;

	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		event != XACT_EVENT_PREPARE && event != XACT_EVENT_PARALLEL_COMMIT &&
		event != XACT_EVENT_PARALLEL_ABORT)
		return;

	dlist_foreach_modify(iter, &plans_in_use)
	{
		CachedPlan *plan = dlist_container(CachedPlan, node, iter.cur);

		dlist_delete(&plan->node);
		plan->users = 0;
		cached_plan_free_unused(plan);
	}
}

/* Create the cache at first use. */
static void
plan_cache_init(void)
{
	HASHCTL		control = {0};

	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(PlanEntry);
	control.hcxt = CacheMemoryContext;
	plan_entries = hash_create("merge plans", 64, &control,
							   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(plan_cache_invalidate, (Datum) 0);
	RegisterXactCallback(plan_cache_xact_callback, NULL);
}

/* Say that an error comes from stored options, not from the statement. */
static void
stored_options_error(void *arg)
{
	switch (geterrcode())
	{
		case ERRCODE_INVALID_PARAMETER_VALUE:
		case ERRCODE_INVALID_TABLE_DEFINITION:
		case ERRCODE_DATATYPE_MISMATCH:
		case ERRCODE_UNDEFINED_COLUMN:
		case ERRCODE_UNDEFINED_FUNCTION:
		case ERRCODE_SYNTAX_ERROR:
			errcode(ERRCODE_INVALID_OBJECT_DEFINITION);
			break;
		default:
			break;
	}
	if (merge_trigger_find((Relation) arg) != NULL)
		errcontext("options of the merge trigger of table \"%s\"; CREATE OR REPLACE TRIGGER repairs them",
				   RelationGetRelationName((Relation) arg));
	else
		errcontext("stored options of merge table \"%s\"; ALTER TABLE ... RESET or SET repairs them",
				   RelationGetRelationName((Relation) arg));
}

/* The parsed options of a table; NULL where they name no engine. */
MergeOptions *
merge_plan_options(Relation relation)
{
	MergeOptions *options;
	const Trigger *trigger = merge_trigger_find(relation);

	options = options_parse(trigger != NULL ?
								merge_trigger_options(trigger) :
								options_stored(RelationGetRelid(relation), NULL));
	return options->has_engine ? options : NULL;
}

/* Compile the options of a table; NULL when it does not merge. */
static CachedPlan *
cached_plan_compile(Relation relation)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	MemoryContext context;
	ErrorContextCallback callback;
	CachedPlan *result = NULL;
	MergeOptions *options;
	bool		has_key = OidIsValid(merge_plan_primary_key(relation));

	callback.callback = stored_options_error;
	callback.arg = relation;
	callback.previous = error_context_stack;
	error_context_stack = &callback;

	/* on error it goes away with the statement */
	context = AllocSetContextCreate(CurrentMemoryContext, "merge plan",
									ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(context);
	options = merge_plan_options(relation);

	/*
	 * Without a key there is nothing to merge by, whatever the options say; but
	 * versions are kept all the same.  Not so in the copy that a rewrite makes:
	 * what is written there is the table's own already.
	 */
	if (options != NULL &&
		(has_key || (options->versions_field != NULL && !OidIsValid(relation->rd_rel->relrewrite))))
	{
		result = palloc0(sizeof(CachedPlan));
		result->plan = *merge_plan_compile(relation, options);
		result->tupdesc = CreateTupleDescCopyConstr(RelationGetDescr(relation));
		result->context = context;
		MemoryContextCopyAndSetIdentifier(context, RelationGetRelationName(relation));
	}
	MemoryContextSwitchTo(oldcontext);
	error_context_stack = callback.previous;

	if (result)
		MemoryContextSetParent(context, CacheMemoryContext);
	else
		MemoryContextDelete(context);
	return result;
}

/* Compile and remember the rules of a table. */
static PlanEntry *
plan_cache_fill(Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	PlanEntry  *entry;
	CachedPlan *plan;
	bool		found;

	if (plan_entries == NULL)
		plan_cache_init();
	if (stale_entries > STALE_ENTRIES_MAX &&
		stale_entries > hash_get_num_entries(plan_entries) / 2)
		plan_cache_sweep();

	entry = hash_search(plan_entries, &relid, HASH_ENTER, &found);
	if (!found)
	{
		entry->valid = false;
		entry->plan = NULL;
	}
	if (entry->valid)
		return entry;
	if (found && stale_entries > 0)
		stale_entries--;

	/*
	 * Valid already, so that an invalidation during the compilation shows.  It
	 * cannot be about what we read, as the caller holds a lock; but then the
	 * next get compiles again.  Compiling runs no writer that could fill the
	 * entry meanwhile.
	 */
	entry->valid = true;
	PG_TRY();
	{
		plan = cached_plan_compile(relation);
	}
	PG_CATCH();
	{
		entry_invalidate(entry);
		PG_RE_THROW();
	}
	PG_END_TRY();

	entry_drop_plan(entry);
	entry->plan = plan;
	if (plan)
		plan->cached = true;
	return entry;
}

/* The rules of an open table, with or without a key; not yet in use. */
static CachedPlan *
cached_plan_find(Relation relation)
{
	PlanEntry  *entry = last_entry;

	if (entry == NULL || !entry->valid ||
		entry->relid != RelationGetRelid(relation))
	{
		entry = plan_cache_fill(relation);
		last_entry = entry;
	}

	return entry->plan;
}

/* Use a plan. */
static MergePlan *
cached_plan_use(CachedPlan *plan)
{
	if (plan->users++ == 0)
		dlist_push_head(&plans_in_use, &plan->node);
	return &plan->plan;
}

/* The rules of an open table, or NULL when it does not merge. */
MergePlan *
merge_plan_get(Relation relation)
{
	CachedPlan *plan = cached_plan_find(relation);

	if (plan == NULL || plan->plan.nkeys == 0)
		return NULL;
	return cached_plan_use(plan);
}

/* The rules of an open table that has a versions column, or NULL. */
MergePlan *
merge_plan_get_versions(Relation relation)
{
	CachedPlan *plan = cached_plan_find(relation);

	if (plan == NULL || plan->plan.versions < 0)
		return NULL;
	return cached_plan_use(plan);
}

/* The row type of the table whose rules these are. */
TupleDesc
merge_plan_tupdesc(const MergePlan *plan)
{
	return ((const CachedPlan *) plan)->tupdesc;
}

/* Give a plan back. */
void
merge_plan_release(MergePlan *plan)
{
	CachedPlan *cached = (CachedPlan *) plan;

	Assert(cached->users > 0);
	if (--cached->users == 0)
	{
		dlist_delete(&cached->node);
		cached_plan_free_unused(cached);
	}
}

/* Open a table that merges. */
Relation
merge_plan_open(Oid relid, LOCKMODE lockmode)
{
	Relation	relation = relation_open(relid, lockmode);
	bool		ours = relation->rd_rel->relkind == RELKIND_RELATION &&
		(relation->rd_rel->relam == ddl_access_method() || merge_trigger_find(relation) != NULL);
	MergePlan  *plan = ours ? merge_plan_get(relation) : NULL;

	if (plan == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table that merges", RelationGetRelationName(relation)),
				 relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ?
					 errhint("Each partition has rules of its own.") :
					 errhint("merge_engine.stats lists the tables that merge; a table needs a primary key, and access method merge_engine with an engine, or a merge trigger.")));
	merge_plan_release(plan);
	return relation;
}
