/*
 * merge_trigger.c
 *	  Merge triggers: the options of a table that stays on heap.
 *
 * A table that cannot have the access method is given the same rules by a
 * trigger BEFORE INSERT; its options are the trigger's arguments.  The trigger
 * itself is functions/trigger.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/ddl.h"
#include "catalog/merge_plan.h"
#include "catalog/merge_trigger.h"
#include "catalog/options.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

/* The C symbol behind merge_engine.merge_trigger(). */
#define MERGE_TRIGGER_SYMBOL "merge_engine_trigger"

/* Is this the merge trigger function? */
static bool
is_merge_trigger_function(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		result = false;
	bool		isnull;
	Datum		symbol;

	if (!HeapTupleIsValid(tuple))
		return false;
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		symbol = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
		result = !isnull && strcmp(TextDatumGetCString(symbol), MERGE_TRIGGER_SYMBOL) == 0;
	}
	ReleaseSysCache(tuple);
	return result;
}

/* The next merge trigger of a table from number *i on, or NULL. */
static const Trigger *
merge_trigger_next(Relation relation, int *i)
{
	TriggerDesc *all = relation->trigdesc;

	for (; all != NULL && *i < all->numtriggers; (*i)++)
	{
		if (!all->triggers[*i].tgisinternal &&
			is_merge_trigger_function(all->triggers[*i].tgfoid))
			return &all->triggers[(*i)++];
	}
	return NULL;
}

/* The merge trigger of a table, or NULL. */
const Trigger *
merge_trigger_find(Relation relation)
{
	const Trigger *trigger;
	int			i = 0;

	if (relation->trigdesc == NULL || !relation->trigdesc->trig_insert_before_row)
		return NULL;
	trigger = merge_trigger_next(relation, &i);
	/* a table with our access method has its own options */
	if (trigger != NULL && relation->rd_rel->relkind == RELKIND_RELATION &&
		relation->rd_rel->relam == ddl_access_method())
		return NULL;
	return trigger;
}

/* Read one argument; NULL if it is an option without effect. */
static MergeOption *
argument_read(const Trigger *trigger, const char *argument, char **layout)
{
	const char *equals = strchr(argument, '=');
	MergeOption *option;
	char	   *name;
	char	   *canonical;

	*layout = NULL;
	if (equals == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("argument \"%s\" of merge trigger \"%s\" is no option",
						argument, trigger->tgname),
				 errhint("Write each option as 'name=value', for example 'merge-engine=partial-update'.")));
	name = pnstrdup(argument, equals - argument);
	switch (option_kind(name, &canonical))
	{
		case OPTION_MERGE:
			option = palloc(sizeof(MergeOption));
			option->name = canonical;
			option->value = option_canonical_value(canonical, equals + 1);
			return option;
		case OPTION_LAYOUT:
			*layout = canonical;
			return NULL;
		case OPTION_STORAGE:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" of merge trigger \"%s\" is no merge option",
							name, trigger->tgname),
					 errhint("Give it to the table: ALTER TABLE ... SET (%s = ...).", name)));
			break;
		case OPTION_UNKNOWN:
			option_unknown_error(name);
	}
	return NULL;				/* keep the compiler quiet */
}

/* The options among the arguments. */
List *
merge_trigger_options(const Trigger *trigger)
{
	List	   *options = NIL;
	bool		has_engine = false;

	for (int i = 0; i < trigger->tgnargs; i++)
	{
		char	   *layout;
		MergeOption *option = argument_read(trigger, trigger->tgargs[i], &layout);

		if (option == NULL)
			continue;
		has_engine |= strcmp(option->name, "merge-engine") == 0;
		options = lappend(options, option);
	}
	if (!has_engine)
	{
		MergeOption *option = palloc(sizeof(MergeOption));

		option->name = pstrdup("merge-engine");
		option->value = pstrdup(merge_engine_name(MERGE_DEDUPLICATE));
		options = lcons(option, options);
	}
	return options;
}

/* Say which arguments have no effect. */
static void
merge_trigger_notices(const Trigger *trigger)
{
	for (int i = 0; i < trigger->tgnargs; i++)
	{
		char	   *layout;

		(void) argument_read(trigger, trigger->tgargs[i], &layout);
		if (layout != NULL)
			ereport(NOTICE,
					(errmsg("option \"%s\" has no effect here", layout),
					 errdetail("It lays out Paimon's files.")));
	}
}

/* Say whose options an error is about. */
static void
merge_trigger_error(void *arg)
{
	errcontext("options of merge trigger \"%s\"; CREATE OR REPLACE TRIGGER changes them",
			   ((const Trigger *) arg)->tgname);
}

/* Check the options of a merge trigger against its table's columns. */
static void
merge_trigger_compile(Relation relation, const Trigger *trigger)
{
	ErrorContextCallback callback;

	callback.callback = merge_trigger_error;
	callback.arg = unconstify(Trigger *, trigger);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	(void) merge_plan_compile(relation, options_parse(merge_trigger_options(trigger)));
	error_context_stack = callback.previous;
}

/* Refuse a merge trigger that can do nothing useful. */
void
merge_trigger_validate(Relation relation, bool created)
{
	const char *table = RelationGetRelationName(relation);
	int			i = 0;
	const Trigger *trigger = merge_trigger_next(relation, &i);
	const Trigger *other;

	if (trigger == NULL)
		return;
	if (!TRIGGER_FOR_ROW(trigger->tgtype) || !TRIGGER_FOR_BEFORE(trigger->tgtype) ||
		(trigger->tgtype & TRIGGER_TYPE_EVENT_MASK) != TRIGGER_TYPE_INSERT)
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("merge trigger \"%s\" of table \"%s\" must be BEFORE INSERT FOR EACH ROW",
						trigger->tgname, table)));
	if (relation->rd_rel->relam == ddl_access_method() &&
		relation->rd_rel->relkind == RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" has access method \"%s\" and cannot have a merge trigger",
						table, DDL_ACCESS_METHOD_NAME),
				 errhint("Give the options to the table: ALTER TABLE ... SET (merge_engine = ...).")));
	other = merge_trigger_next(relation, &i);
	if (other != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("table \"%s\" has merge trigger \"%s\" already",
						table, trigger->tgname),
				 errdetail("Trigger \"%s\" is another one.", other->tgname),
				 errhint("Use CREATE OR REPLACE TRIGGER to change its options.")));
	merge_trigger_compile(relation, trigger);
	if (!OidIsValid(merge_plan_primary_key(relation)))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" has no primary key, which merge trigger \"%s\" needs",
						table, trigger->tgname),
				 errhint("Add one with ALTER TABLE ... ADD PRIMARY KEY.")));
	if (created)
		merge_trigger_notices(trigger);
}
