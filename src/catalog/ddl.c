/*
 * ddl.c
 *	  Event triggers and hooks that keep our options out of PostgreSQL's way.
 *
 * PostgreSQL keeps a table's options in pg_class.reloptions and tolerates any
 * name there, but CREATE and ALTER validate them.  So at the start of a
 * command our options are taken out of its parse tree, and at its end they are
 * validated and written to the catalog.
 *
 * Start and end come from two event triggers, which need no preloading.
 * Where event triggers do not run (pg_upgrade restores them after the tables)
 * the same comes from a ProcessUtility hook, when the library was preloaded.
 * With both, the first start and the first end of a command count.
 *
 * In between, an object access hook notes what the command does to tables, so
 * that tables reached by recursion or CASCADE are found as well.
 *
 * Commands nest (a function run by one may run another), so the running ones
 * form a stack.  An error leaves commands without an end: they are forgotten
 * when their (sub)transaction aborts.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stats_rows.h"
#include "access/table.h"
#include "access/tombstones.h"
#include "access/xact.h"
#include "catalog/ddl.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "tcop/utility.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(merge_engine_ddl_start);
PG_FUNCTION_INFO_V1(merge_engine_ddl_end);

static DdlCommand *running = NULL;	/* the innermost running command */

static object_access_hook_type previous_object_access = NULL;
static ProcessUtility_hook_type previous_process_utility = NULL;

/* Our access method's OID, or InvalidOid. */
Oid
ddl_access_method(void)
{
	return get_am_oid(DDL_ACCESS_METHOD_NAME, true);
}

/* Forget the innermost command. */
static void
command_pop(void)
{
	DdlCommand *command = running;

	running = command->outer;
	MemoryContextDelete(command->context);
}

/* A command starts. */
static void
command_start(Node *parsetree)
{
	MemoryContext context;
	DdlCommand *command;

	if (running && running->parsetree == parsetree)
		return;					/* the hook was here before the trigger */
	if (!OidIsValid(ddl_access_method()))
		return;

	context = AllocSetContextCreate(TopTransactionContext,
									"merge_engine DDL command",
									ALLOCSET_SMALL_SIZES);
	command = MemoryContextAllocZero(context, sizeof(DdlCommand));
	command->context = context;
	command->parsetree = parsetree;
	command->nest_level = GetCurrentTransactionNestLevel();
	command->outer = running;
	running = command;

	ddl_start_command(command);
}

/* A command ends. */
static void
command_end(Node *parsetree)
{
	DdlCommand *command;

	for (command = running; command; command = command->outer)
	{
		if (command->parsetree == parsetree)
			break;
	}
	if (command == NULL)
		return;					/* the trigger was here before the hook */

	/* whatever runs inside it and has seen no end never will */
	while (running != command)
		command_pop();
	ddl_end_command(command);
	command_pop();
}

/* merge_engine.ddl_start(): the trigger on ddl_command_start */
Datum
merge_engine_ddl_start(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("merge_engine.ddl_start() can only be called as an event trigger")));
	command_start(((EventTriggerData *) fcinfo->context)->parsetree);
	PG_RETURN_NULL();
}

/* merge_engine.ddl_end(): the trigger on ddl_command_end */
Datum
merge_engine_ddl_end(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_EVENT_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_EVENT_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("merge_engine.ddl_end() can only be called as an event trigger")));
	command_end(((EventTriggerData *) fcinfo->context)->parsetree);
	PG_RETURN_NULL();
}

/* Does a statement concern us?  The event triggers filter by tag instead. */
static bool
statement_concerns_us(Node *statement)
{
	switch (nodeTag(statement))
	{
		case T_CreateStmt:
		case T_CreateTrigStmt:
		case T_CreateTableAsStmt:
		case T_CreateSchemaStmt:
		case T_AlterTableStmt:
		case T_AlterTypeStmt:
		case T_RenameStmt:
		case T_DropStmt:
		case T_DropOwnedStmt:
			return true;
		default:
			return false;
	}
}

/* The ProcessUtility hook of a preloaded library. */
static void
ddl_process_utility(PlannedStmt *pstmt, const char *query_string,
					bool read_only_tree, ProcessUtilityContext context,
					ParamListInfo params, QueryEnvironment *query_env,
					DestReceiver *dest, QueryCompletion *qc)
{
	bool		concerns_us = context != PROCESS_UTILITY_SUBCOMMAND &&
		IsTransactionState() &&
		statement_concerns_us(pstmt->utilityStmt);

	if (concerns_us)
	{
		if (read_only_tree)
		{
			pstmt = copyObject(pstmt);
			read_only_tree = false;
		}
		command_start(pstmt->utilityStmt);
	}

	if (previous_process_utility)
		previous_process_utility(pstmt, query_string, read_only_tree, context,
								 params, query_env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query_string, read_only_tree, context,
								params, query_env, dest, qc);

	if (concerns_us && running)
	{
		/* the event trigger machinery would have made the changes visible */
		CommandCounterIncrement();
		command_end(pstmt->utilityStmt);
	}
}

/* Note an object whose table must be validated again. */
static void
note_altered(Oid class_id, Oid object_id)
{
	DdlObject  *object;
	ListCell   *cell;

	foreach(cell, running->altered)
	{
		object = (DdlObject *) lfirst(cell);
		if (object->class_id == class_id && object->object_id == object_id)
			return;
	}
	object = palloc(sizeof(DdlObject));
	object->class_id = class_id;
	object->object_id = object_id;
	running->altered = lappend(running->altered, object);
}

/* Note a renamed or, with new_name NULL, dropped column. */
static void
note_column(Oid relid, const char *old_name, const char *new_name)
{
	DdlColumn  *column = palloc(sizeof(DdlColumn));

	column->relid = relid;
	column->old_name = pstrdup(old_name);
	column->new_name = new_name ? pstrdup(new_name) : NULL;
	running->columns = lappend(running->columns, column);
}

/*
 * Note an altered column.  It may have been renamed: the catalog cache still
 * has the old name, as the command counter has not moved.
 */
static void
note_column_altered(Oid relid, AttrNumber attnum)
{
	HeapTuple	old_tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
											Int16GetDatum(attnum));
	HeapTuple	new_tuple;
	Relation	attributes;
	ScanKeyData key[2];
	SysScanDesc scan;

	if (!HeapTupleIsValid(old_tuple))
		return;					/* just added */

	ScanKeyInit(&key[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&key[1], Anum_pg_attribute_attnum, BTEqualStrategyNumber,
				F_INT2EQ, Int16GetDatum(attnum));
	attributes = table_open(AttributeRelationId, AccessShareLock);
	scan = systable_beginscan(attributes, AttributeRelidNumIndexId, true,
							  SnapshotSelf, 2, key);
	new_tuple = systable_getnext(scan);
	if (HeapTupleIsValid(new_tuple))
	{
		const char *old_name = NameStr(((Form_pg_attribute) GETSTRUCT(old_tuple))->attname);
		const char *new_name = NameStr(((Form_pg_attribute) GETSTRUCT(new_tuple))->attname);

		if (strcmp(old_name, new_name) != 0)
			note_column(relid, old_name, new_name);
		else
			note_altered(RelationRelationId, relid);
	}
	systable_endscan(scan);
	table_close(attributes, AccessShareLock);
	ReleaseSysCache(old_tuple);
}

/* Note a column that is about to be dropped. */
static void
note_column_dropped(Oid relid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										Int16GetDatum(attnum));

	if (!HeapTupleIsValid(tuple))
		return;
	note_column(relid, NameStr(((Form_pg_attribute) GETSTRUCT(tuple))->attname),
				NULL);
	ReleaseSysCache(tuple);
}

/*
 * A temporary table is about to go.  At the end of a transaction or session no
 * event trigger hears of it, so what is kept about it goes here.
 */
static void
forget_temporary(Oid relid)
{
	if (get_rel_persistence(relid) != RELPERSISTENCE_TEMP ||
		get_rel_relkind(relid) != RELKIND_RELATION)
		return;
	tombstones_forget(relid);
	stats_forget(relid);
}

/* The object access hook: note what a command does to tables. */
static void
ddl_object_access(ObjectAccessType access, Oid class_id, Oid object_id,
				  int sub_id, void *arg)
{
	MemoryContext oldcontext;

	if (previous_object_access)
		previous_object_access(access, class_id, object_id, sub_id, arg);
	if (access == OAT_DROP && class_id == RelationRelationId && sub_id == 0)
		forget_temporary(object_id);
	if (running == NULL ||
		(class_id != RelationRelationId && class_id != ConstraintRelationId))
		return;

	oldcontext = MemoryContextSwitchTo(running->context);
	switch (access)
	{
		case OAT_POST_CREATE:
			note_altered(class_id, object_id);
			if (class_id == RelationRelationId && sub_id == 0)
				running->created = lappend_oid(running->created, object_id);
			break;
		case OAT_POST_ALTER:
			if (class_id == RelationRelationId && sub_id > 0)
				note_column_altered(object_id, sub_id);
			break;
		case OAT_DROP:
			if (class_id == RelationRelationId && sub_id > 0)
				note_column_dropped(object_id, sub_id);
			break;
		default:
			break;
	}
	MemoryContextSwitchTo(oldcontext);
}

/* Transaction end: the commands went away with TopTransactionContext. */
static void
ddl_xact_callback(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT ||
		event == XACT_EVENT_PREPARE)
		running = NULL;
}

/* Subtransaction abort: forget the commands that ran in it. */
static void
ddl_subxact_callback(SubXactEvent event, SubTransactionId sub_id,
					 SubTransactionId parent_id, void *arg)
{
	if (event != SUBXACT_EVENT_ABORT_SUB)
		return;
	while (running && running->nest_level >= GetCurrentTransactionNestLevel())
		command_pop();
}

/* Install the hooks. */
void
ddl_init(void)
{
	previous_object_access = object_access_hook;
	object_access_hook = ddl_object_access;
	RegisterXactCallback(ddl_xact_callback, NULL);
	RegisterSubXactCallback(ddl_subxact_callback, NULL);

	if (process_shared_preload_libraries_in_progress)
	{
		previous_process_utility = ProcessUtility_hook;
		ProcessUtility_hook = ddl_process_utility;
	}
}
