/*
 * ddl_end.c
 *	  The end of a command: validate our options and write them.
 *
 * Everything that the command did is visible now, so the options are checked
 * against the table as it has become.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "catalog/ddl.h"
#include "catalog/functions.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/merge_plan.h"
#include "catalog/merge_trigger.h"
#include "catalog/namespace.h"
#include "catalog/options.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "compat.h"
#include "storage/lmgr.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* Write a table's options and make them visible. */
void
ddl_write_options(Oid relid, List *others, List *options)
{
	Datum		reloptions = options_join(others, options);
	Relation	classes = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(relid));
	Datum		values[Natts_pg_class] = {0};
	bool		nulls[Natts_pg_class] = {0};
	bool		replace[Natts_pg_class] = {0};

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relid);
	values[Anum_pg_class_reloptions - 1] = reloptions;
	nulls[Anum_pg_class_reloptions - 1] = reloptions == (Datum) 0;
	replace[Anum_pg_class_reloptions - 1] = true;
	tuple = heap_modify_tuple(tuple, RelationGetDescr(classes),
							  values, nulls, replace);
	CatalogTupleUpdate(classes, &tuple->t_self, tuple);
	table_close(classes, RowExclusiveLock);
	CommandCounterIncrement();
}

/* The option of that name in a list, or NULL. */
static MergeOption *
option_find(List *options, const char *name)
{
	ListCell   *cell;

	foreach(cell, options)
	{
		MergeOption *option = (MergeOption *) lfirst(cell);

		if (strcmp(option->name, name) == 0)
			return option;
	}
	return NULL;
}

/* Does a table's statement set an option of ours? */
static bool
table_sets(const DdlTable *table)
{
	ListCell   *cell;

	foreach(cell, table->changes)
	{
		if (!((DdlChange *) lfirst(cell))->reset)
			return true;
	}
	return false;
}

/* The options that result from the stored ones and the statement. */
static List *
table_apply_changes(const DdlTable *table)
{
	List	   *options = list_copy(table->stored);
	ListCell   *cell;

	foreach(cell, table->changes)
	{
		DdlChange  *change = (DdlChange *) lfirst(cell);
		MergeOption *old = option_find(options, change->name);
		MergeOption *option;
		ListCell   *other;

		for_each_cell(other, table->changes, lnext(table->changes, cell))
		{
			DdlChange  *later = (DdlChange *) lfirst(other);

			if (later->command == change->command && !change->reset &&
				strcmp(later->name, change->name) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_SYNTAX_ERROR),
						 errmsg("option \"%s\" of table \"%s\" is given more than once",
								change->name, table->name),
						 errhint("Spellings with \"_\" and \"-\", and ignore-delete with an engine's prefix, name the same option.")));
		}

		if (change->reset)
		{
			options = list_delete_ptr(options, old);
			continue;
		}
		option = palloc(sizeof(MergeOption));
		option->name = change->name;
		option->value = option_canonical_value(change->name, change->value);
		if (old)
		{
			foreach(other, options)
			{
				if (lfirst(other) == old)
					lfirst(other) = option;
			}
		}
		else if (strcmp(option->name, "merge-engine") == 0)
			options = lcons(option, options);
		else
			options = lappend(options, option);
	}
	return options;
}

/* Our access method named, but no engine: the default one. */
static List *
options_default_engine(List *options)
{
	MergeOption *option;

	if (option_find(options, "merge-engine"))
		return options;
	option = palloc(sizeof(MergeOption));
	option->name = pstrdup("merge-engine");
	option->value = pstrdup(merge_engine_name(MERGE_DEDUPLICATE));
	return lcons(option, options);
}

/* Refuse options without an engine: they would do nothing. */
static void
table_require_engine(const DdlTable *table, List *options)
{
	if (options == NIL || option_find(options, "merge-engine"))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
			 errmsg("option \"%s\" of table \"%s\" needs option \"merge-engine\"",
					((MergeOption *) linitial(options))->name, table->name),
			 errdetail("A table merges only if its options name an engine."),
			 errhint("Add \"merge-engine\", or leave the other merge options out as well.")));
}

/* Say which of the statement's options have no effect. */
static void
table_notices(const DdlTable *table, Relation relation, MergeEngine engine)
{
	ListCell   *cell;

	foreach(cell, table->layout)
	{
		char	   *name = (char *) lfirst(cell);
		char	   *columns;
		char	   *suffix;

		if (option_field_parts(name, &columns, &suffix) &&
			get_attnum(RelationGetRelid(relation), columns) == InvalidAttrNumber)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of table \"%s\", named by option \"%s\", does not exist",
							columns, RelationGetRelationName(relation), name),
					 errhint("Name an existing column; names are taken literally.")));
		ereport(NOTICE,
				(errmsg("option \"%s\" has no effect here and is not stored", name),
				 errdetail("It lays out Paimon's files.")));
	}

	if (engine == MERGE_AGGREGATION || engine == MERGE_PARTIAL_UPDATE)
		return;
	foreach(cell, table->changes)
	{
		DdlChange  *change = (DdlChange *) lfirst(cell);

		if (!change->reset && strncmp(change->name, "fields.", 7) == 0)
			ereport(NOTICE,
					(errmsg("option \"%s\" has no effect under merge engine \"%s\"",
							change->name, merge_engine_name(engine)),
					 errdetail("This engine takes whole rows.")));
	}
}

/* Warn when a table that should merge has nothing to merge by. */
static void
warn_without_key(Relation relation)
{
	if (OidIsValid(merge_plan_primary_key(relation)))
		return;
	ereport(WARNING,
			(errmsg("table \"%s\" has no primary key: rows are appended, not merged",
					RelationGetRelationName(relation)),
			 errhint("Add one with ALTER TABLE ... ADD PRIMARY KEY.")));
}

/* The table that a CREATE has created, or InvalidOid (IF NOT EXISTS). */
static Oid
created_table(DdlCommand *command, const DdlTable *table)
{
	ListCell   *cell;

	foreach(cell, command->created)
	{
		Oid			relid = lfirst_oid(cell);
		HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
		Form_pg_class form;
		bool		match;

		if (!HeapTupleIsValid(tuple))
			continue;
		form = (Form_pg_class) GETSTRUCT(tuple);
		match = strcmp(NameStr(form->relname), table->name) == 0 &&
			(form->relkind == RELKIND_RELATION ||
			 form->relkind == RELKIND_MATVIEW ||
			 form->relkind == RELKIND_PARTITIONED_TABLE);
		ReleaseSysCache(tuple);
		if (match)
			return relid;
	}
	return InvalidOid;
}

/* Refuse merge options on what is not a table of ours. */
static void
table_check_kind(const DdlTable *table, Relation relation)
{
	char		relkind = relation->rd_rel->relkind;

	if (relkind == RELKIND_PARTITIONED_TABLE)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("partitioned table \"%s\" cannot have merge options",
						RelationGetRelationName(relation)),
				 errhint("Give them to each partition.")));
	if (relkind != RELKIND_RELATION)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" cannot have merge options",
						RelationGetRelationName(relation)),
				 errdetail("Only a table can merge.")));
	if (relation->rd_rel->relam != ddl_access_method())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"%s\" needs access method \"%s\", which table \"%s\" does not use",
						((DdlChange *) linitial(table->changes))->name,
						DDL_ACCESS_METHOD_NAME, RelationGetRelationName(relation)),
				 table->create ? errhint("Write USING merge_engine before WITH.") :
								 errhint("Use ALTER TABLE ... SET ACCESS METHOD merge_engine, in the same command if you like.")));
}

/* The end of a CREATE. */
static void
end_create(DdlCommand *command, DdlTable *table)
{
	Relation	relation;
	MergeOptions *parsed;
	List	   *options;
	List	   *others;

	table->relid = created_table(command, table);
	if (!OidIsValid(table->relid) ||
		(table->changes == NIL && table->layout == NIL && !table->named_am))
		return;

	relation = relation_open(table->relid, AccessShareLock);
	if (table->changes != NIL)
		table_check_kind(table, relation);
	else if (relation->rd_rel->relkind != RELKIND_RELATION)
	{
		relation_close(relation, NoLock);
		return;
	}

	options = table_apply_changes(table);
	if (table->named_am)
		options = options_default_engine(options);
	table_require_engine(table, options);
	parsed = options_parse(options);
	if (options != NIL)
	{
		functions_record_dependencies(table->relid, merge_plan_compile(relation, parsed));
		(void) options_stored(table->relid, &others);
		ddl_write_options(table->relid, others, options);
		warn_without_key(relation);
	}
	table_notices(table, relation, options ? parsed->engine : MERGE_AGGREGATION);
	relation_close(relation, NoLock);
}

/* Has a table no row that anyone can see? */
static bool
table_is_empty(Relation relation)
{
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	TupleTableSlot *slot = table_slot_create(relation, NULL);
	TableScanDesc scan = table_beginscan(relation, snapshot, 0, NULL);
	bool		empty = !table_scan_getnextslot(scan, ForwardScanDirection, slot);

	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	UnregisterSnapshot(snapshot);
	return empty;
}

/* The first option that decides meaning and is not the same in both lists. */
static const char *
options_changed_meaning(List *old, List *new)
{
	List	   *all = list_concat_copy(old, new);
	ListCell   *cell;

	foreach(cell, all)
	{
		const char *name = ((MergeOption *) lfirst(cell))->name;
		MergeOption *before = option_find(old, name);
		MergeOption *after = option_find(new, name);

		if (option_decides_meaning(name) &&
			(!before || !after || strcmp(before->value, after->value) != 0))
			return name;
	}
	return NULL;
}

/* Refuse to change what existing rows mean. */
static void
table_check_meaning(DdlCommand *command, const DdlTable *table,
					Relation relation, List *options)
{
	const char *name;

	/* rows that did not merge so far are one for each key under any rules */
	if (!option_find(table->stored, "merge-engine"))
		return;
	/* options without meaning stop writes: repair must be possible */
	if (list_member_oid(command->invalid, table->relid))
		return;
	name = options_changed_meaning(table->stored, options);
	if (name == NULL || table_is_empty(relation))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot change option \"%s\" of table \"%s\", which has rows",
					name, RelationGetRelationName(relation)),
			 errdetail("The option decides what the stored rows mean."),
			 errhint("TRUNCATE the table first, or copy its rows into a new table.")));
}

/* The end of an ALTER TABLE for the table that it names. */
static void
end_alter(DdlCommand *command, DdlTable *table)
{
	Relation	relation;
	List	   *options;
	List	   *others;
	bool		ours;
	bool		starts_merging;

	if (table->changes == NIL && table->layout == NIL &&
		!table->changes_am && !table->stripped)
		return;

	relation = table_open(table->relid, AccessShareLock);
	ours = relation->rd_rel->relam == ddl_access_method();
	if (table->changes_am)
		merge_trigger_validate(relation, false);
	if (table_sets(table))
		table_check_kind(table, relation);
	options = table_apply_changes(table);
	if (!ours && table->changes_am)
		options = NIL;			/* back to heap */
	if (ours && table->named_am)
		options = options_default_engine(options);

	if (ours && (table->changes != NIL || table->named_am))
	{
		table_require_engine(table, options);
		table_check_meaning(command, table, relation, options);
		if (options != NIL)
			functions_record_dependencies(table->relid,
										  merge_plan_compile(relation, options_parse(options)));
	}
	if (options == NIL)
		functions_record_dependencies(table->relid, NULL);
	starts_merging = options != NIL && !option_find(table->stored, "merge-engine");

	(void) options_stored(table->relid, &others);
	ddl_write_options(table->relid, others, options);
	if (starts_merging)
		warn_without_key(relation);
	table_notices(table, relation,
				  options ? options_parse(options)->engine : MERGE_AGGREGATION);
	table_close(relation, NoLock);
}

/* The table behind an altered object, or InvalidOid if there is none. */
static Oid
object_table(const DdlObject *object)
{
	HeapTuple	tuple;
	Oid			relid = InvalidOid;
	char		relkind;

	if (object->class_id == ConstraintRelationId)
	{
		tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(object->object_id));
		if (HeapTupleIsValid(tuple))
		{
			relid = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid;
			ReleaseSysCache(tuple);
		}
		return relid;
	}

	relkind = get_rel_relkind(object->object_id);
	if (relkind == RELKIND_RELATION)
		return object->object_id;
	if (relkind == RELKIND_INDEX)
		return IndexGetRelation(object->object_id, true);
	return InvalidOid;
}

/* The options of a table after the columns that a command has renamed. */
static List *
options_after_renames(DdlCommand *command, Oid relid, List *options)
{
	ListCell   *cell;
	ListCell   *item;

	foreach(cell, command->columns)
	{
		DdlColumn  *column = (DdlColumn *) lfirst(cell);

		if (column->relid != relid || column->new_name == NULL)
			continue;
		foreach(item, options)
		{
			MergeOption *old = (MergeOption *) lfirst(item);
			MergeOption *new = option_rename_column(old, column->old_name,
													column->new_name);

			if (new == old)
				continue;
			if (strchr(new->name, '=') || !option_name_fits(new->name))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_NAME),
						 errmsg("cannot rename column \"%s\" of table \"%s\" to \"%s\"",
								column->old_name, get_rel_name(relid),
								column->new_name),
						 errdetail("Option \"%s\" would become \"%s\", which cannot be written.",
								   old->name, new->name),
						 errhint("Choose a shorter name without \"=\".")));
			lfirst(item) = new;
		}
	}
	return options;
}

/* Have renames replaced an option? */
static bool
options_differ(List *a, List *b)
{
	ListCell   *cell_a;
	ListCell   *cell_b;

	forboth(cell_a, a, cell_b, b)
	{
		if (lfirst(cell_a) != lfirst(cell_b))
			return true;
	}
	return false;
}

/* Refuse to drop a column that an option names. */
static void
check_dropped_columns(DdlCommand *command, Oid relid, List *options)
{
	ListCell   *cell;
	ListCell   *item;
	ListCell   *name;

	foreach(cell, command->columns)
	{
		DdlColumn  *column = (DdlColumn *) lfirst(cell);

		if (column->relid != relid || column->new_name != NULL)
			continue;
		foreach(item, options)
		{
			MergeOption *option = (MergeOption *) lfirst(item);

			foreach(name, option_columns(option))
			{
				if (strcmp((char *) lfirst(name), column->old_name) == 0)
					ereport(ERROR,
							(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
							 errmsg("cannot drop column \"%s\" of table \"%s\" because option \"%s\" names it",
									column->old_name, get_rel_name(relid),
									option->name),
							 errhint("RESET or change the option first, or in the same ALTER TABLE.")));
			}
		}
	}
}

/*
 * Bring a table's options in line with what a command did to its columns; with
 * compile, check whether they still have a meaning.
 */
static void
revalidate_table(DdlCommand *command, Oid relid, bool compile)
{
	Relation	relation;
	List	   *others;
	List	   *options;
	List	   *renamed;

	relation = relation_open(relid, AccessShareLock);
	merge_trigger_validate(relation, false);
	options = options_stored(relid, &others);
	if (relation->rd_rel->relkind == RELKIND_RELATION &&
		relation->rd_rel->relam == ddl_access_method() &&
		option_find(options, "merge-engine"))
	{
		renamed = options_after_renames(command, relid, list_copy(options));
		if (options_differ(options, renamed))
			ddl_write_options(relid, others, renamed);
		check_dropped_columns(command, relid, renamed);
		if (compile && !list_member_oid(command->invalid, relid))
			functions_record_dependencies(relid,
										  merge_plan_compile(relation, options_parse(renamed)));
	}
	relation_close(relation, NoLock);
}

/* Check the merge triggers of a table and of its partitions. */
static void
end_create_trigger(const CreateTrigStmt *statement)
{
	Oid			relid = RangeVarGetRelid(statement->relation, AccessShareLock, true);
	ListCell   *cell;

	if (!OidIsValid(relid))
		return;
	foreach(cell, find_all_inheritors(relid, AccessShareLock, NULL))
	{
		Relation	relation = relation_open(lfirst_oid(cell), NoLock);

		merge_trigger_validate(relation, lfirst_oid(cell) == relid);
		relation_close(relation, NoLock);
	}
}

/* A command ends. */
void
ddl_end_command(DdlCommand *command)
{
	List	   *created = NIL;
	List	   *altered = NIL;
	List	   *tables;
	ListCell   *cell;

	if (IsA(command->parsetree, CreateTrigStmt))
		end_create_trigger((CreateTrigStmt *) command->parsetree);
	foreach(cell, command->tables)
	{
		DdlTable   *table = (DdlTable *) lfirst(cell);

		if (table->create)
		{
			end_create(command, table);
			created = lappend_oid(created, table->relid);
		}
		else
			end_alter(command, table);
	}

	foreach(cell, command->altered)
		altered = list_append_unique_oid(altered,
										 object_table((DdlObject *) lfirst(cell)));
	altered = list_concat_unique_oid(altered, command->retyped);
	tables = list_copy(altered);
	foreach(cell, command->columns)
		tables = list_append_unique_oid(tables,
										((DdlColumn *) lfirst(cell))->relid);
	foreach(cell, tables)
	{
		Oid			relid = lfirst_oid(cell);

		if (OidIsValid(relid) && !list_member_oid(created, relid) &&
			SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid)))
			revalidate_table(command, relid, list_member_oid(altered, relid));
	}
}
