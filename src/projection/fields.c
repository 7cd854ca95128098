/*
 * fields.c
 *	  What incremental fields and keys must fulfil, each refusal with its own error.
 *
 * All of it is checked when a projection is created or altered, and again by every
 * refresh: a column can lose its NOT NULL, a sequence can be given a cache.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/relation.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_sequence.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "projection/projection.h"

/* The attribute number of a view's output column, or an error that names it. */
static AttrNumber
output_column(Oid view, const char *name, const char *argument)
{
	AttrNumber	attnum = get_attnum(view, name);

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" named in %s is not a column of view \"%s\"",
						name, argument, get_rel_name(view)),
				 errhint("Name output columns of the view.")));
	return attnum;
}

/* Refuse a name that occurs twice. */
static void
names_refuse_duplicates(List *names, const char *argument)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, names)
	{
		for_each_cell(lc2, names, lnext(names, lc))
		{
			if (strcmp(lfirst(lc), lfirst(lc2)) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("column \"%s\" is named twice in %s", (char *) lfirst(lc), argument),
						 errhint("Name each column once.")));
		}
	}
}

/*
 * The columns of a unique or replace key.
 *
 * Result: a list of ProjectionKey *.  Errors: a column that is not in the view, is
 * named twice, or whose type has no order.
 */
List *
keys_resolve(const Projection *projection, List *names, const char *argument)
{
	List	   *keys = NIL;
	ListCell   *lc;

	names_refuse_duplicates(names, argument);
	foreach(lc, names)
	{
		ProjectionKey *key = palloc0(sizeof(ProjectionKey));
		Oid			type;
		int32		typmod;

		key->name = lfirst(lc);
		get_atttypetypmodcoll(projection->view,
							  output_column(projection->view, key->name, argument),
							  &type, &typmod, &key->collation);
		key->type = getBaseType(type);
		key->eq_opr = sql_btree_operator(key->type, BTEqualStrategyNumber);
		if (!OidIsValid(key->eq_opr))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("column \"%s\" of type %s cannot be part of %s",
							key->name, format_type_be(type), argument),
					 errdetail("The type has no default btree operator class."),
					 errhint("Choose a column whose values can be compared.")));
		keys = lappend(keys, key);
	}
	return keys;
}

typedef struct SequenceContext
{
	List	   *sequences;
} SequenceContext;

/* Collect the sequences that an expression draws values from. */
static bool
sequence_walker(Node *node, SequenceContext *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == F_NEXTVAL)
	{
		Node	   *argument = linitial(((FuncExpr *) node)->args);

		if (IsA(argument, Const) && !((Const *) argument)->constisnull)
			context->sequences = list_append_unique_oid(context->sequences,
														DatumGetObjectId(((Const *) argument)->constvalue));
	}
	else if (IsA(node, NextValueExpr))
		context->sequences = list_append_unique_oid(context->sequences,
													((NextValueExpr *) node)->seqid);
	return expression_tree_walker(node, sequence_walker, context);
}

/* Collect the sequences that are owned by a column (serial and identity columns). */
static List *
column_owned_sequences(Oid relid, AttrNumber attnum, List *sequences)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData key[3];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relid));
	ScanKeyInit(&key[2], Anum_pg_depend_refobjsubid, BTEqualStrategyNumber, F_INT4EQ,
				Int32GetDatum(attnum));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 3, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid == RelationRelationId && form->objsubid == 0 &&
			(form->deptype == DEPENDENCY_AUTO || form->deptype == DEPENDENCY_INTERNAL) &&
			get_rel_relkind(form->objid) == RELKIND_SEQUENCE)
			sequences = list_append_unique_oid(sequences, form->objid);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return sequences;
}

/* Refuse sequences whose values are not handed out in growing order. */
static void
field_check_sequences(const ProjectionSource *source)
{
	Relation	rel = relation_open(source->relid, AccessShareLock);
	SequenceContext context = {NIL};
	ListCell   *lc;

	if (rel->rd_att->constr && TupleDescAttr(rel->rd_att, source->attnum - 1)->atthasdef)
		(void) sequence_walker(build_column_default(rel, source->attnum), &context);
	context.sequences = column_owned_sequences(source->relid, source->attnum, context.sequences);
	relation_close(rel, NoLock);

	foreach(lc, context.sequences)
	{
		HeapTuple	tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(lfirst_oid(lc)));
		Form_pg_sequence form;

		if (!HeapTupleIsValid(tuple))
			continue;
		form = (Form_pg_sequence) GETSTRUCT(tuple);
		if (form->seqcache > 1)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("field \"%s\" is filled from sequence \"%s\" with CACHE %lld",
							source->field, get_rel_name(form->seqrelid), (long long) form->seqcache),
					 errdetail("Sessions take cached values ahead, so that a later change can get a lower value."),
					 errhint("ALTER SEQUENCE %s CACHE 1.", sql_relation(form->seqrelid))));
		if (form->seqincrement < 0 || form->seqcycle)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("field \"%s\" is filled from sequence \"%s\", whose values do not always grow",
							source->field, get_rel_name(form->seqrelid)),
					 errhint("ALTER SEQUENCE %s INCREMENT 1 NO CYCLE.", sql_relation(form->seqrelid))));
		ReleaseSysCache(tuple);
	}
}

/* Refuse types whose values repeat after a refresh, or that have no order. */
static void
field_check_type(const ProjectionSource *source, int32 typmod)
{
	bool		coarse = false;

	switch (source->type)
	{
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
			coarse = true;
			break;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			coarse = typmod >= 0 && typmod < 6;
			break;
		default:
			break;
	}
	if (coarse)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("field \"%s\" of type %s cannot be incremental", source->field,
						format_type_with_typemod(source->type, typmod)),
				 errdetail("A row changed after a refresh could repeat a value that is not above the watermark."),
				 errhint("Use timestamptz with microseconds, or a number from a sequence.")));
	if (!OidIsValid(sql_btree_operator(source->type, BTGreaterStrategyNumber)) ||
		!OidIsValid(sql_btree_operator(source->type, BTLessEqualStrategyNumber)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("field \"%s\" of type %s cannot be incremental", source->field,
						format_type_be(source->type)),
				 errdetail("The type has no default btree operator class."),
				 errhint("Use timestamptz, or a number from a sequence.")));
}

/* Refuse relations whose writers we cannot see, or that others cannot read. */
static void
field_check_relation(const ProjectionSource *source)
{
	List	   *relids = list_make1_oid(source->relid);
	ListCell   *lc;

	if (get_rel_relkind(source->relid) == RELKIND_PARTITIONED_TABLE || source->inherit)
		relids = find_all_inheritors(source->relid, AccessShareLock, NULL);
	foreach(lc, relids)
	{
		char		relkind = get_rel_relkind(lfirst_oid(lc));

		if (relkind == RELKIND_FOREIGN_TABLE)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("foreign table \"%s\" cannot be the source of field \"%s\"",
							get_rel_name(lfirst_oid(lc)), source->field),
					 errdetail("A refresh cannot wait for the writers of a foreign table."),
					 errhint("Copy the rows into an ordinary table, or leave the field out.")));
		if (relkind == RELKIND_MATVIEW)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("materialized view \"%s\" cannot be the source of field \"%s\"",
							get_rel_name(lfirst_oid(lc)), source->field),
					 errdetail("Refreshing it replaces rows that no watermark covers."),
					 errhint("Read the tables below it, or make it a projection.")));
		if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" cannot be the source of field \"%s\"",
							get_rel_name(lfirst_oid(lc)), source->field),
					 errdetail_relkind_not_supported(relkind),
					 errhint("Use a column of a table.")));
		if (get_rel_persistence(lfirst_oid(lc)) == RELPERSISTENCE_TEMP)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("temporary table \"%s\" cannot be the source of field \"%s\"",
							get_rel_name(lfirst_oid(lc)), source->field),
					 errhint("Use an ordinary table.")));
	}
}

/* Everything that one field's column must fulfil. */
static void
field_check(const ProjectionSource *source, int32 typmod, Oid reader)
{
	HeapTuple	tuple;
	bool		notnull;
	AclResult	acl;

	field_check_relation(source);

	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(source->relid), Int16GetDatum(source->attnum));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for column %d of relation %u", source->attnum, source->relid);
	notnull = ((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;
	ReleaseSysCache(tuple);
	if (!notnull)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("field \"%s\" can be NULL: column \"%s\" of table \"%s\" is nullable",
						source->field, source->column, get_rel_name(source->relid)),
				 errdetail("A NULL is never above a watermark, so its row would never be seen."),
				 errhint("ALTER TABLE %s ALTER COLUMN %s SET NOT NULL.",
						 sql_relation(source->relid), quote_identifier(source->column))));

	field_check_type(source, typmod);
	field_check_sequences(source);

	/* the watermark is read from the table itself */
	acl = pg_attribute_aclcheck(source->relid, source->attnum, reader, ACL_SELECT);
	if (acl != ACLCHECK_OK && pg_class_aclcheck(source->relid, reader, ACL_SELECT) != ACLCHECK_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for table %s", get_rel_name(source->relid)),
				 errdetail("A refresh reads the maximum of field \"%s\" from the table itself, as the projection's owner.",
						   source->field),
				 errhint("GRANT SELECT ON %s TO %s.", sql_relation(source->relid),
						 quote_identifier(GetUserNameFromId(reader, false)))));
}

/* Trace one field to its column. */
static ProjectionSource *
field_trace(const Projection *projection, Lineage *lineage, char *field)
{
	ProjectionSource *source = palloc0(sizeof(ProjectionSource));
	LineageColumn column;
	LineageTable *table;
	const char *reason = NULL;
	Oid			type;
	int32		typmod;

	source->field = field;
	if (!lineage_trace_output(lineage, output_column(projection->view, field, "incremental_fields"),
							  &column, &reason))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("field \"%s\" of view \"%s\" cannot be traced to a column of a table",
						field, get_rel_name(projection->view)),
				 errdetail("The trace ends because %s.", reason),
				 errhint("Output the incremental column of each source as it is%s.",
						 projection->mode == PROJECTION_DELETE_INSERT ? ", or max() of it" : "")));
	if (column.maximum && projection->mode != PROJECTION_DELETE_INSERT)
		ereport(ERROR,
				(errcode(ERRCODE_GROUPING_ERROR),
				 errmsg("field \"%s\" is an aggregate, which mode '%s' cannot use", field,
						projection_mode_name(projection->mode)),
				 errdetail("A result row made of many source rows changes when any of them does."),
				 errhint("Use mode 'delete_insert'.")));
	table = lineage_table(lineage, column.table);
	source->relid = table->relid;
	source->inherit = table->inherit;
	source->table = column.table;
	source->attnum = column.attnum;
	source->column = get_attname(table->relid, column.attnum, false);
	get_atttypetypmodcoll(table->relid, column.attnum, &type, &typmod, &source->collation);
	source->type = getBaseTypeAndTypmod(type, &typmod);
	field_check(source, typmod, GetUserId());
	return source;
}

/*
 * The sources of a projection's fields.
 *
 * Input: the projection's view, mode and incremental fields, and the view's lineage;
 * the current user must be the projection's owner.  Result: ProjectionSource * in the
 * order of the fields, without watermarks.  Errors: see the file's head.
 */
List *
fields_resolve(Projection *projection, Lineage *lineage)
{
	List	   *sources = NIL;
	ListCell   *lc;
	ListCell   *lc2;

	names_refuse_duplicates(projection->incremental_fields, "incremental_fields");
	foreach(lc, projection->incremental_fields)
	{
		ProjectionSource *source = field_trace(projection, lineage, lfirst(lc));

		foreach(lc2, sources)
		{
			ProjectionSource *other = lfirst(lc2);

			if (other->table == source->table)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_OBJECT),
						 errmsg("fields \"%s\" and \"%s\" are of one source, table \"%s\"",
								other->field, source->field, get_rel_name(source->relid)),
						 errhint("Name one field for each source.")));
		}
		sources = lappend(sources, source);
	}

	foreach(lc, sources)
	{
		ProjectionSource *source = lfirst(lc);
		int			occurrences = 0;
		int			covered = 0;

		foreach(lc2, lineage->tables)
			if (((LineageTable *) lfirst(lc2))->relid == source->relid)
				occurrences++;
		foreach(lc2, sources)
			if (((ProjectionSource *) lfirst(lc2))->relid == source->relid)
				covered++;
		if (occurrences != covered && projection->affected_keys == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_AMBIGUOUS_COLUMN),
					 errmsg("table \"%s\" occurs %d times in view \"%s\", with a field for %d of them",
							get_rel_name(source->relid), occurrences,
							get_rel_name(projection->view), covered),
					 errdetail("A change of the table affects result rows through every occurrence."),
					 errhint("Output and name the incremental column of each occurrence%s.",
							 projection->mode == PROJECTION_DELETE_INSERT ? ", or pass affected_keys" : "")));
	}
	return sources;
}
