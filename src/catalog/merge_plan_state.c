/*
 * merge_plan_state.c
 *	  The options about what a key's state holds beyond its values, and what a
 *	  NULL says: versions.field, tombstones, columns.field, explicit-null.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/merge_plan_builder.h"
#include "catalog/pg_index.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "catalog/versions_names.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Refuse an option under the engines that take whole rows. */
static void
builder_needs_columns(PlanBuilder *builder, const char *option)
{
	MergeEngine engine = builder->plan->engine;

	if (engine == MERGE_PARTIAL_UPDATE || engine == MERGE_AGGREGATION)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
			 errmsg("option \"%s\" of table \"%s\" cannot be used with merge engine \"%s\"",
					option, builder_table(builder), merge_engine_name(engine)),
			 errdetail("This engine takes whole rows."),
			 errhint("It belongs to merge engines \"partial-update\" and \"aggregation\".")));
}

/* A column that an option names for a purpose of its own. */
static int
builder_service_column(PlanBuilder *builder, const char *option, const char *name)
{
	MergePlan  *plan = builder->plan;
	int			index;

	builder_needs_columns(builder, option);
	index = builder_column(builder, option, name);
	if (plan->columns[index].key || plan->columns[index].sequence ||
		index == plan->rowkind || index == plan->versions)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("column \"%s\" of table \"%s\" cannot be named by option \"%s\"",
						name, builder_table(builder), option),
				 errdetail("The column has another role."),
				 errhint("Give the option a column of its own.")));
	return index;
}

/* Compile versions.field. */
void
builder_versions(PlanBuilder *builder)
{
	static const char *const option = "versions.field";
	const char *name = builder->options->versions_field;
	MergePlan  *plan = builder->plan;
	int			index;
	Oid			type;

	plan->versions = -1;
	plan->carried = -1;
	if (name == NULL)
		return;
	index = builder_service_column(builder, option, name);
	if (plan->sequence == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"%s\" of table \"%s\" needs option \"sequence.field\"",
						option, builder_table(builder)),
				 errdetail("A version is a value of the sequence fields."),
				 errhint("Name the columns that order the rows in \"sequence.field\".")));
	type = TupleDescAttr(builder->desc, index)->atttypid;
	if (!versions_is_type(type))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\", named by option \"%s\", must be of type merge_engine.versions, not %s",
						name, builder_table(builder), option, format_type_be(type)),
				 errhint("Declare the column with that type, and without a DEFAULT.")));
	plan->versions = index;
	plan->versions_adopt = versions_adopt;
}

/* Compile columns.field. */
void
builder_carried(PlanBuilder *builder)
{
	static const char *const option = "columns.field";
	const char *name = builder->options->columns_field;
	MergePlan  *plan = builder->plan;
	int			index;
	Oid			type;

	if (name == NULL)
		return;
	index = builder_service_column(builder, option, name);
	type = getBaseType(TupleDescAttr(builder->desc, index)->atttypid);
	if (type != TEXTARRAYOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\", named by option \"%s\", must be of type text[], not %s",
						name, builder_table(builder), option, format_type_be(type)),
				 errhint("Each row lists there the columns that it carries.")));
	plan->carried = index;
}

/* Can a NULL be a value of a column's own? */
static bool
builder_takes_clear(const MergePlan *plan, int index)
{
	const MergeColumn *column = &plan->columns[index];

	if (column->dropped || column->generated || column->key || column->sequence ||
		column->group_sequence >= 0 || index == plan->rowkind ||
		index == plan->versions || index == plan->carried)
		return false;
	return column->aggregator == NULL ||
		column->aggregator->function->order == AGGREGATOR_NEWEST ||
		column->aggregator->function->order == AGGREGATOR_OLDEST;
}

/* Compile explicit-null, of the table and of columns. */
void
builder_explicit_null(PlanBuilder *builder)
{
	MergePlan  *plan = builder->plan;
	ListCell   *cell;

	if (builder->options->explicit_null)
	{
		builder_needs_columns(builder, "explicit-null");
		for (int i = 0; i < plan->natts; i++)
			plan->columns[i].null_clears = builder_takes_clear(plan, i);
	}
	foreach(cell, builder->options->fields)
	{
		FieldOption *field = (FieldOption *) lfirst(cell);
		int			index;

		if (strcmp(field->name, "explicit-null") != 0)
			continue;
		builder_needs_columns(builder, field->option);
		index = builder_column(builder, field->option, field->column);
		if (!builder_takes_clear(plan, index))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("option \"%s\" of table \"%s\" does not fit column \"%s\"",
							field->option, builder_table(builder), field->column),
					 errdetail("A NULL can clear a plain column, and one with last_value, last_non_null_value, first_value or first_non_null_value."),
					 errhint("Leave the option out.")));
		plan->columns[index].null_clears = pg_strcasecmp(field->value, "clear") == 0;
	}
}

/* Do equal values of a key column have the same text? */
static bool
key_has_one_text(Oid opclass, Oid type, Oid collation)
{
	Oid			opfamily = get_opclass_family(opclass);
	Oid			input = get_opclass_input_type(opclass);
	Oid			equal_image = get_opfamily_proc(opfamily, input, input, BTEQUALIMAGE_PROC);

	switch (getBaseType(type))
	{
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			return true;		/* tombstones.c sees to it */
		case BPCHAROID:
			return get_collation_isdeterministic(collation);
	}
	return OidIsValid(equal_image) &&
		DatumGetBool(OidFunctionCall1Coll(equal_image, collation, ObjectIdGetDatum(input)));
}

/* Tombstones keep keys as text: see that this will do. */
static void
builder_tombstone_key(PlanBuilder *builder)
{
	MergePlan  *plan = builder->plan;
	Oid			index = merge_plan_primary_key(builder->relation);
	HeapTuple	tuple;
	oidvector  *opclasses;
	oidvector  *collations;
	bool		isnull;

	if (!OidIsValid(index))
		return;
	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	opclasses = (oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, tuple,
															  Anum_pg_index_indclass, &isnull));
	collations = (oidvector *) DatumGetPointer(SysCacheGetAttr(INDEXRELID, tuple,
															   Anum_pg_index_indcollation, &isnull));
	for (int i = 0; i < plan->nkeys; i++)
	{
		Oid			type = TupleDescAttr(builder->desc, plan->keys[i])->atttypid;

		if (!key_has_one_text(opclasses->values[i], type, collations->values[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("option \"tombstones\" of table \"%s\" cannot be used with key column \"%s\"",
							builder_table(builder), plan->columns[plan->keys[i]].name),
					 errdetail("Values of type %s can be equal and look different.",
							   format_type_be(type)),
					 errhint("Use a key of another type or collation, such as bigint, text or uuid.")));
	}
	ReleaseSysCache(tuple);
}

/* Compile tombstones. */
void
builder_tombstones(PlanBuilder *builder)
{
	const MergeOptions *options = builder->options;
	MergePlan  *plan = builder->plan;
	const char *lacks = NULL;

	if (options->retention != NULL && !options->tombstones)
		lacks = "tombstones.retention";
	if (lacks != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"%s\" of table \"%s\" needs option \"tombstones\"",
						lacks, builder_table(builder)),
				 errhint("Set \"tombstones\" to true, or leave the option out.")));
	if (!options->tombstones)
		return;
	builder_exclusive(builder, options->ignore_delete, "tombstones", "ignore-delete");
	if (plan->sequence == NULL)
		lacks = "sequence.field";
	else if (plan->rowkind < 0)
		lacks = "rowkind.field";
	else if (plan->engine == MERGE_PARTIAL_UPDATE && !options->pu_remove_on_delete)
		lacks = "partial-update.remove-record-on-delete";
	else if (plan->engine == MERGE_AGGREGATION && !options->agg_remove_on_delete)
		lacks = "aggregation.remove-record-on-delete";
	if (lacks != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"tombstones\" of table \"%s\" needs option \"%s\"",
						builder_table(builder), lacks),
				 errdetail("A tombstone remembers the sequence of the -D row that removed a key."),
				 errhint("Set that option, or leave \"tombstones\" out.")));
	builder_tombstone_key(builder);
	plan->tombstones = true;
}
