/*
 * ddl_start.c
 *	  The start of a command: take our options out of its parse tree.
 *
 * The parse tree is edited in place.  PostgreSQL runs a cached statement from
 * a copy, so that the next execution finds the options again.  Lists are only
 * ever shortened here: what this file allocates does not live as long as the
 * parse tree.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/ddl.h"
#include "catalog/functions.h"
#include "catalog/merge_plan.h"
#include "catalog/namespace.h"
#include "catalog/options.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "nodes/parsenodes.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

/* An option's whole name: the grammar splits it at an unquoted dot. */
static char *
def_name(const DefElem *def)
{
	if (def->defnamespace)
		return psprintf("%s.%s", def->defnamespace, def->defname);
	return pstrdup(def->defname);
}

/* Is one of these options ours? */
static bool
defs_name_ours(List *defs)
{
	ListCell   *cell;

	foreach(cell, defs)
	{
		char	   *canonical;

		if (option_kind(def_name((DefElem *) lfirst(cell)), &canonical) == OPTION_MERGE)
			return true;
	}
	return false;
}

/* Is one of these options not ours, so that PostgreSQL will validate? */
static bool
defs_name_others(List *defs)
{
	ListCell   *cell;

	foreach(cell, defs)
	{
		char	   *canonical;
		OptionKind	kind = option_kind(def_name((DefElem *) lfirst(cell)),
									   &canonical);

		if (kind != OPTION_MERGE && kind != OPTION_LAYOUT)
			return true;
	}
	return false;
}

/*
 * Move our options, and Paimon's without effect, from the statement's list to
 * the table; the shortened list is returned.  Refuses unknown ones, except for
 * RESET, which PostgreSQL lets pass.
 */
static List *
table_take_options(DdlTable *table, List *defs, int command, bool reset)
{
	ListCell   *cell;

	foreach(cell, defs)
	{
		DefElem    *def = (DefElem *) lfirst(cell);
		char	   *name = def_name(def);
		char	   *canonical;
		DdlChange  *change;

		if (strchr(name, '=') != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option name \"%s\" contains \"=\"", name),
					 errdetail("PostgreSQL stores an option as name=value."),
					 errhint("A column whose name contains \"=\" cannot have options of its own; rename it.")));
		switch (option_kind(name, &canonical))
		{
			case OPTION_STORAGE:
				continue;
			case OPTION_UNKNOWN:
				if (!reset)
					option_unknown_error(name);
				continue;
			case OPTION_LAYOUT:
				if (!reset)
					table->layout = lappend(table->layout, canonical);
				break;
			case OPTION_MERGE:
				if (reset && def->arg)
					ereport(ERROR,
							(errcode(ERRCODE_SYNTAX_ERROR),
							 errmsg("RESET must not include values for parameters")));
				change = palloc(sizeof(DdlChange));
				change->command = command;
				change->reset = reset;
				change->name = canonical;
				change->value = reset ? NULL :
										pstrdup(def->arg ? defGetString(def) : "true");
				table->changes = lappend(table->changes, change);
				break;
		}
		defs = foreach_delete_current(defs, cell);
	}
	return defs;
}

/* CREATE TABLE, also AS: take our options and remember the table. */
static void
start_create(DdlCommand *command, RangeVar *relation, const char *access_method,
			 List **defs)
{
	bool		named_am = access_method &&
		strcmp(access_method, DDL_ACCESS_METHOD_NAME) == 0;
	bool		default_am = access_method == NULL &&
		strcmp(default_table_access_method, DDL_ACCESS_METHOD_NAME) == 0;
	DdlTable   *table;

	if (!named_am && !default_am && !defs_name_ours(*defs))
		return;

	table = palloc0(sizeof(DdlTable));
	table->create = true;
	table->name = pstrdup(relation->relname);
	table->named_am = named_am;
	*defs = table_take_options(table, *defs, 0, false);
	command->tables = lappend(command->tables, table);
}

/*
 * Whether the options stored for a table still have a meaning.  Runs in a
 * subtransaction, as it must survive whatever compiling them raises.
 */
static bool
stored_options_valid(Oid relid)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	ResourceOwner oldowner = CurrentResourceOwner;
	bool		valid = true;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		Relation	relation = table_open(relid, AccessShareLock);
		MergeOptions *options = options_parse(options_stored(relid, NULL));

		if (options->has_engine)
			(void) merge_plan_compile(relation, options);
		table_close(relation, AccessShareLock);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		int			code;

		MemoryContextSwitchTo(oldcontext);
		code = geterrcode();
		if (code == ERRCODE_QUERY_CANCELED || code == ERRCODE_OUT_OF_MEMORY)
			PG_RE_THROW();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		valid = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(oldcontext);
	CurrentResourceOwner = oldowner;
	return valid;
}

/* Note which tables that an ALTER TABLE can reach have options without meaning. */
static void
note_invalid(DdlCommand *command, Oid relid)
{
	List	   *relids = has_subclass(relid) ?
		find_all_inheritors(relid, NoLock, NULL) :
		list_make1_oid(relid);
	ListCell   *cell;

	foreach(cell, relids)
	{
		Oid			child = lfirst_oid(cell);

		if (get_rel_relkind(child) == RELKIND_RELATION &&
			options_stored(child, NULL) != NIL && !stored_options_valid(child))
			command->invalid = lappend_oid(command->invalid, child);
	}
}

/* Take our options out of the subcommands of an ALTER TABLE. */
static void
alter_take_options(DdlTable *table, List *commands)
{
	int			number = 0;
	ListCell   *cell;

	foreach(cell, commands)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(cell);

		if (cmd->subtype == AT_SetRelOptions ||
			cmd->subtype == AT_ResetRelOptions)
			cmd->def = (Node *) table_take_options(table, (List *) cmd->def,
												   number++,
												   cmd->subtype == AT_ResetRelOptions);
		else if (cmd->subtype == AT_SetAccessMethod)
		{
			table->changes_am = true;
			table->named_am = cmd->name &&
				strcmp(cmd->name, DDL_ACCESS_METHOD_NAME) == 0;
		}
	}
}

/* What an ALTER TABLE has to do with us. */
typedef struct AlterSurvey
{
	bool		ours;			/* sets or resets options of ours */
	bool		others;			/* sets or resets other options */
	bool		access_method;	/* changes the access method */
	bool		our_access_method;	/* to ours */
} AlterSurvey;

/* Look what an ALTER TABLE wants, without changing anything. */
static AlterSurvey
alter_survey(List *commands)
{
	AlterSurvey survey = {0};
	ListCell   *cell;

	foreach(cell, commands)
	{
		AlterTableCmd *cmd = (AlterTableCmd *) lfirst(cell);

		if (cmd->subtype == AT_SetRelOptions ||
			cmd->subtype == AT_ResetRelOptions)
		{
			survey.ours |= defs_name_ours((List *) cmd->def);
			survey.others |= defs_name_others((List *) cmd->def);
		}
		else if (cmd->subtype == AT_SetAccessMethod)
		{
			survey.access_method = true;
			survey.our_access_method = cmd->name &&
				strcmp(cmd->name, DDL_ACCESS_METHOD_NAME) == 0;
		}
	}
	return survey;
}

/* The access method of a relation, or InvalidOid. */
static Oid
relation_access_method(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			result = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		result = ((Form_pg_class) GETSTRUCT(tuple))->relam;
		ReleaseSysCache(tuple);
	}
	return result;
}

/*
 * PostgreSQL does not change the type of a column that depends on a function;
 * take these dependencies away, from the tables that inherit the column too.
 */
static void
release_functions(DdlCommand *command, AlterTableStmt *stmt)
{
	bool		retypes = false;
	ListCell   *cell;
	Oid			relid;

	foreach(cell, stmt->cmds)
		retypes |= ((AlterTableCmd *) lfirst(cell))->subtype == AT_AlterColumnType;
	if (!retypes)
		return;
	relid = RangeVarGetRelidExtended(stmt->relation, AccessExclusiveLock,
									 stmt->missing_ok ? RVR_MISSING_OK : 0,
									 RangeVarCallbackOwnsRelation, NULL);
	if (!OidIsValid(relid))
		return;
	foreach(cell, find_all_inheritors(relid, AccessExclusiveLock, NULL))
	{
		if (relation_access_method(lfirst_oid(cell)) != ddl_access_method())
			continue;
		functions_record_dependencies(lfirst_oid(cell), NULL);
		command->retyped = lappend_oid(command->retyped, lfirst_oid(cell));
	}
}

/* ALTER TABLE: take our options, and step aside for heap's. */
static void
start_alter(DdlCommand *command, AlterTableStmt *stmt)
{
	Oid			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
	AlterSurvey survey = alter_survey(stmt->cmds);
	DdlTable   *table;
	List	   *others;
	char		relkind;

	if (!OidIsValid(relid))
		return;					/* PostgreSQL says so, or IF EXISTS skips it */
	release_functions(command, stmt);
	relkind = get_rel_relkind(relid);
	if (relkind == RELKIND_PARTITIONED_TABLE && survey.ours)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("partitioned table \"%s\" cannot have merge options",
						stmt->relation->relname),
				 errhint("Give them to each partition.")));
	if (relkind != RELKIND_RELATION)
	{
		note_invalid(command, relid);
		return;
	}
	if (!survey.ours && !survey.our_access_method &&
		relation_access_method(relid) != ddl_access_method())
	{
		note_invalid(command, relid);
		return;
	}

	if (survey.ours || survey.others || survey.access_method)
	{
		LOCKMODE	lockmode = survey.ours || survey.access_method ?
			AccessExclusiveLock :
			AlterTableGetLockLevel(stmt->cmds);

		relid = RangeVarGetRelidExtended(stmt->relation, lockmode,
										 stmt->missing_ok ? RVR_MISSING_OK : 0,
										 RangeVarCallbackOwnsRelation, NULL);
		if (!OidIsValid(relid))
			return;
	}
	note_invalid(command, relid);

	table = palloc0(sizeof(DdlTable));
	table->relid = relid;
	table->name = pstrdup(stmt->relation->relname);
	alter_take_options(table, stmt->cmds);
	table->stored = options_stored(relid, &others);
	if (table->stored != NIL && survey.others)
	{
		ddl_write_options(relid, others, NIL);
		table->stripped = true;
	}
	command->tables = lappend(command->tables, table);
}

/* A command starts. */
void
ddl_start_command(DdlCommand *command)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(command->context);
	Node	   *statement = command->parsetree;
	ListCell   *cell;

	switch (nodeTag(statement))
	{
		case T_CreateStmt:
			start_create(command, ((CreateStmt *) statement)->relation,
						 ((CreateStmt *) statement)->accessMethod,
						 &((CreateStmt *) statement)->options);
			break;
		case T_CreateTableAsStmt:
			start_create(command, ((CreateTableAsStmt *) statement)->into->rel,
						 ((CreateTableAsStmt *) statement)->into->accessMethod,
						 &((CreateTableAsStmt *) statement)->into->options);
			break;
		case T_CreateSchemaStmt:
			foreach(cell, ((CreateSchemaStmt *) statement)->schemaElts)
			{
				CreateStmt *create = (CreateStmt *) lfirst(cell);

				if (IsA(create, CreateStmt))
					start_create(command, create->relation,
								 create->accessMethod, &create->options);
			}
			break;
		case T_AlterTableStmt:
			if (((AlterTableStmt *) statement)->objtype == OBJECT_TABLE)
				start_alter(command, (AlterTableStmt *) statement);
			break;
		default:
			break;
	}
	MemoryContextSwitchTo(oldcontext);
}
