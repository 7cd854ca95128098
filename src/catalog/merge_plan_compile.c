/*
 * merge_plan_compile.c
 *	  From a table's options and columns to its rules.
 *
 * Every contradiction is refused here, so that none reaches a row.  CREATE and
 * ALTER compile to validate; writers compile through merge_plan.c, because a
 * stored option can lose its meaning (edited by hand, restored from
 * elsewhere).
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/htup_details.h"
#include "catalog/functions.h"
#include "catalog/merge_plan_builder.h"
#include "catalog/nearest_name.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "nodes/bitmapset.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/* The column of that name that an option names; an error if there is none. */
int
builder_column(PlanBuilder *builder, const char *option, const char *name)
{
	NearestName nearest;

	nearest_name_start(&nearest, name);
	for (int i = 0; i < builder->desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(builder->desc, i);

		if (att->attisdropped)
			continue;
		if (strcmp(NameStr(att->attname), name) != 0)
		{
			nearest_name_offer(&nearest, NameStr(att->attname));
			continue;
		}
		if (att->attgenerated != '\0')
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("option \"%s\" names column \"%s\" of table \"%s\", which is generated",
							option, name, builder_table(builder)),
					 errdetail("A generated column is computed from the merged row."),
					 errhint("Name another column.")));
		return i;
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_COLUMN),
			 errmsg("column \"%s\" of table \"%s\", named by option \"%s\", does not exist",
					name, builder_table(builder), option),
			 nearest.match ? errhint("Perhaps you meant \"%s\".", nearest.match) :
							 errhint("Name an existing column; names are taken literally.")));
}

/* The index of a relation's primary key, or InvalidOid. */
Oid
merge_plan_primary_key(Relation relation)
{
	Oid			result = InvalidOid;
	List	   *indexes;
	ListCell   *cell;

	if (!relation->rd_rel->relhasindex)
		return InvalidOid;

	/* rd_pkindex leaves out deferrable keys, so look for ourselves */
	indexes = RelationGetIndexList(relation);
	foreach(cell, indexes)
	{
		Oid			index = lfirst_oid(cell);
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
		Form_pg_index form;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for index %u", index);
		form = (Form_pg_index) GETSTRUCT(tuple);
		if (form->indisprimary && form->indisvalid)
			result = index;
		ReleaseSysCache(tuple);
	}
	list_free(indexes);
	return result;
}

/* Describe the columns and mark the key. */
static void
builder_columns(PlanBuilder *builder)
{
	MergePlan  *plan = builder->plan;
	Oid			index = merge_plan_primary_key(builder->relation);

	plan->natts = builder->desc->natts;
	plan->columns = palloc0(sizeof(MergeColumn) * Max(plan->natts, 1));
	builder->functions = palloc0(sizeof(FieldOption *) * Max(plan->natts, 1));
	for (int i = 0; i < plan->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(builder->desc, i);
		MergeColumn *column = &plan->columns[i];

		column->name = pstrdup(NameStr(att->attname));
		column->dropped = att->attisdropped;
		column->group = -1;
		column->group_sequence = -1;
		column->typmod = att->atttypmod;
		column->typlen = att->attlen;
		column->typbyval = att->attbyval;
		column->collation = att->attcollation;
		if (att->attisdropped)
			continue;
		column->generated = att->attgenerated != '\0';
		column->domain = get_typtype(att->atttypid) == TYPTYPE_DOMAIN;
		if (!column->generated)
			column->has_default = att->atthasdef || att->attidentity != '\0' ||
				get_typdefault(att->atttypid) != NULL;
	}

	if (OidIsValid(index))
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
		Form_pg_index form;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for index %u", index);
		form = (Form_pg_index) GETSTRUCT(tuple);
		plan->nkeys = form->indnkeyatts;
		plan->keys = palloc(sizeof(int) * plan->nkeys);
		for (int i = 0; i < plan->nkeys; i++)
		{
			plan->keys[i] = AttrNumberGetAttrOffset(form->indkey.values[i]);
			plan->columns[plan->keys[i]].key = true;
		}
		ReleaseSysCache(tuple);
	}
}

/* Prepare a column's btree order; false when its type has none. */
static bool
builder_sort(PlanBuilder *builder, int column, SortSupport sort)
{
	Form_pg_attribute att = TupleDescAttr(builder->desc, column);
	TypeCacheEntry *type = lookup_type_cache(getBaseType(att->atttypid),
											 TYPECACHE_LT_OPR);

	if (!OidIsValid(type->lt_opr))
		return false;
	memset(sort, 0, sizeof(SortSupportData));
	sort->ssup_cxt = CurrentMemoryContext;
	sort->ssup_collation = att->attcollation;
	sort->ssup_nulls_first = true;
	sort->ssup_attno = column + 1;
	sort->abbreviate = false;
	PrepareSortSupportFromOrderingOp(type->lt_opr, sort);
	return true;
}

/* Compile columns that order rows. */
static void
builder_order(PlanBuilder *builder, SequenceOrder *order, const char *option,
			  List *names)
{
	int			n = 0;
	ListCell   *cell;

	order->ncolumns = list_length(names);
	order->columns = palloc(sizeof(int) * order->ncolumns);
	order->sort = palloc0(sizeof(SortSupportData) * order->ncolumns);
	order->types = palloc(sizeof(Oid) * order->ncolumns);
	order->typlen = palloc(sizeof(int16) * order->ncolumns);
	order->typbyval = palloc(sizeof(bool) * order->ncolumns);
	foreach(cell, names)
	{
		const char *name = (const char *) lfirst(cell);
		int			column = builder_column(builder, option, name);

		if (!builder_sort(builder, column, &order->sort[n]))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column \"%s\" of table \"%s\", named by option \"%s\", cannot order rows",
							name, builder_table(builder), option),
					 errdetail("Its type %s has no default btree order.",
							   format_type_be(TupleDescAttr(builder->desc, column)->atttypid)),
					 errhint("Use a column of an ordered type, such as bigint or timestamptz.")));
		order->types[n] = getBaseType(TupleDescAttr(builder->desc, column)->atttypid);
		order->typlen[n] = TupleDescAttr(builder->desc, column)->attlen;
		order->typbyval[n] = TupleDescAttr(builder->desc, column)->attbyval;
		order->columns[n++] = column;
	}
}

/* Compile sequence.field. */
static void
builder_sequence(PlanBuilder *builder)
{
	const MergeOptions *options = builder->options;
	MergePlan  *plan = builder->plan;

	if (options->sequence_fields == NIL)
	{
		if (options->has_sort_order)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("option \"sequence.field.sort-order\" of table \"%s\" needs option \"sequence.field\"",
							builder_table(builder)),
					 errhint("Name the columns that order the rows in \"sequence.field\".")));
		return;
	}
	if (plan->engine == MERGE_FIRST_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"sequence.field\" of table \"%s\" cannot be used with merge engine \"first-row\"",
						builder_table(builder)),
				 errdetail("The first row is the one that arrived first."),
				 errhint("Leave the option out, or use \"deduplicate\" with \"sequence.field.sort-order\" = 'descending'.")));

	plan->sequence = palloc0(sizeof(SequenceOrder));
	builder_order(builder, plan->sequence, "sequence.field",
				  options->sequence_fields);
	plan->sequence->descending = options->descending;
	for (int i = 0; i < plan->sequence->ncolumns; i++)
		plan->columns[plan->sequence->columns[i]].sequence = true;
}

/* Compile rowkind.field. */
static void
builder_rowkind(PlanBuilder *builder)
{
	MergePlan  *plan = builder->plan;
	const char *name = builder->options->rowkind_field;
	Oid			type;

	plan->rowkind = -1;
	if (name == NULL)
		return;

	plan->rowkind = builder_column(builder, "rowkind.field", name);
	type = getBaseType(TupleDescAttr(builder->desc, plan->rowkind)->atttypid);
	if (type != TEXTOID && type != VARCHAROID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\", named by option \"rowkind.field\", must be of type text or varchar, not %s",
						name, builder_table(builder), format_type_be(type)),
				 errhint("It holds '+I', '-U', '+U' or '-D'.")));
	if (plan->columns[plan->rowkind].key || plan->columns[plan->rowkind].sequence)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("column \"%s\" of table \"%s\", named by option \"rowkind.field\", is a %s column",
						name, builder_table(builder),
						plan->columns[plan->rowkind].key ? "primary key" : "sequence"),
				 errhint("Give the row kind a column of its own.")));
}

/* Refuse a column that cannot take part in a group. */
static void
builder_group_check(PlanBuilder *builder, const GroupOption *option, int index)
{
	MergeColumn *column = &builder->plan->columns[index];
	const char *what = NULL;

	if (column->key)
		what = "is a primary key column";
	else if (column->sequence)
		what = "is a column of \"sequence.field\"";
	else if (index == builder->plan->rowkind)
		what = "is the column of \"rowkind.field\"";
	else if (index == builder->plan->versions)
		what = "is the column of \"versions.field\"";
	else if (index == builder->plan->carried)
		what = "is the column of \"columns.field\"";
	else if (column->group >= 0)
		what = "already belongs to a sequence group";
	else if (column->group_sequence >= 0)
		what = "already orders a sequence group";
	if (what)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("column \"%s\" of table \"%s\" cannot be named by option \"%s\"",
						column->name, builder_table(builder), option->name),
				 errdetail("The column %s.", what),
				 errhint("Name each column in one group, on one side only, and no key column.")));
}

/* Compile the sequence groups. */
static void
builder_groups(PlanBuilder *builder)
{
	MergePlan  *plan = builder->plan;
	List	   *groups = builder->options->groups;
	ListCell   *cell;

	if (groups != NIL && plan->engine != MERGE_PARTIAL_UPDATE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"%s\" of table \"%s\" cannot be used with merge engine \"%s\"",
						((GroupOption *) linitial(groups))->name,
						builder_table(builder), merge_engine_name(plan->engine)),
				 errhint("Sequence groups belong to merge engine \"partial-update\".")));

	plan->ngroups = 0;
	plan->groups = palloc0(sizeof(SequenceGroup) * Max(list_length(groups), 1));
	foreach(cell, groups)
	{
		const GroupOption *option = (const GroupOption *) lfirst(cell);
		SequenceGroup *group = &plan->groups[plan->ngroups];
		ListCell   *name;

		builder_order(builder, &group->order, option->name,
					  option->sequence_fields);
		for (int i = 0; i < group->order.ncolumns; i++)
		{
			builder_group_check(builder, option, group->order.columns[i]);
			plan->columns[group->order.columns[i]].group_sequence = plan->ngroups;
		}

		group->columns = palloc(sizeof(int) * list_length(option->columns));
		foreach(name, option->columns)
		{
			int			column = builder_column(builder, option->name,
												(const char *) lfirst(name));

			builder_group_check(builder, option, column);
			plan->columns[column].group = plan->ngroups;
			group->columns[group->ncolumns++] = column;
		}
		plan->ngroups++;
	}
}

/* Find a function by name, or refuse it with the nearest one as hint. */
static const FieldAggregator *
builder_function(PlanBuilder *builder, const char *option, const char *name)
{
	const FieldAggregator *function = functions_find(name);
	const char *nearest;

	if (function)
		return function;
	nearest = aggregator_nearest(name);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_FUNCTION),
			 errmsg("aggregate function \"%s\", named by option \"%s\" of table \"%s\", does not exist",
					name, option, builder_table(builder)),
			 nearest ? errhint("Perhaps you meant \"%s\".", nearest) :
					   errhint("docs/aggregate-functions.md lists the aggregate functions; a SQL function is named with its schema.")));
}

/* Note each column's explicit function, and refuse it where it has no place. */
static void
builder_explicit_functions(PlanBuilder *builder)
{
	MergePlan  *plan = builder->plan;
	ListCell   *cell;

	foreach(cell, builder->options->fields)
	{
		FieldOption *field = (FieldOption *) lfirst(cell);
		int			index = builder_column(builder, field->option, field->column);
		MergeColumn *column = &plan->columns[index];

		if (strcmp(field->name, "aggregate-function") != 0)
			continue;
		(void) builder_function(builder, field->option, field->value);
		if (column->sequence || column->group_sequence >= 0 ||
			index == plan->rowkind)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("option \"%s\" gives an aggregate function to column \"%s\" of table \"%s\", which is a %s column",
							field->option, column->name, builder_table(builder),
							index == plan->rowkind ? "row kind" : "sequence"),
					 errdetail("Such a column always holds the newest value."),
					 errhint("Leave the option out.")));
		builder->functions[index] = field;
	}
}

/* Collect the function's own options of a column into its aggregator. */
static void
builder_function_options(PlanBuilder *builder, AggregatorColumn *aggregator)
{
	List	   *fields = builder->options->fields;
	ListCell   *cell;

	aggregator->options = palloc0(sizeof(AggregatorOption) *
								  Max(list_length(fields), 1));
	foreach(cell, fields)
	{
		FieldOption *field = (FieldOption *) lfirst(cell);

		if (strcmp(field->column, aggregator->column) != 0 ||
			strcmp(field->name, "aggregate-function") == 0)
			continue;
		if (strcmp(field->name, "explicit-null") == 0)
			continue;
		if (strcmp(field->name, "ignore-retract") == 0)
		{
			(void) parse_bool(field->value, &aggregator->ignore_retract);
			continue;
		}
		if (!aggregator_takes_option(aggregator->function, field->name))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("option \"%s\" of table \"%s\" does not belong to aggregate function \"%s\"",
							field->option, builder_table(builder),
							aggregator->function->name),
					 errhint("Leave the option out, or give column \"%s\" a function that takes it.",
							 field->column)));
		aggregator->options[aggregator->noptions].name = field->name;
		aggregator->options[aggregator->noptions].value = field->value;
		aggregator->noptions++;
	}
}

/* Add to an error of a function's prepare which option asked for it. */
static void
prepare_error(void *arg)
{
	errcontext("option \"%s\"", (const char *) arg);
}

/* Find the SQL functions that a function calls, and let it prepare. */
static void
builder_prepare(PlanBuilder *builder, AggregatorColumn *aggregator, const char *option)
{
	ErrorContextCallback callback;

	callback.callback = prepare_error;
	callback.arg = unconstify(char *, option);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	functions_resolve(aggregator, builder->relation->rd_rel->relowner);
	aggregator->function->prepare(aggregator);
	error_context_stack = callback.previous;
}

/* Give a column its aggregator. */
static void
builder_aggregator(PlanBuilder *builder, int index,
				   const FieldAggregator *function, const char *option)
{
	Form_pg_attribute att = TupleDescAttr(builder->desc, index);
	MergeColumn *column = &builder->plan->columns[index];
	AggregatorColumn *aggregator = palloc0(sizeof(AggregatorColumn));
	SortSupport order = palloc(sizeof(SortSupportData));
	Oid			coercion;

	aggregator->function = function;
	aggregator->column = column->name;
	aggregator->typmod = att->atttypmod;
	aggregator->type = getBaseTypeAndTypmod(att->atttypid, &aggregator->typmod);
	aggregator->collation = att->attcollation;
	aggregator->typlen = att->attlen;
	aggregator->typbyval = att->attbyval;
	aggregator->typalign = att->attalign;
	aggregator->order = builder_sort(builder, index, order) ? order : NULL;
	aggregator->context = CurrentMemoryContext;
	builder_function_options(builder, aggregator);
	builder_prepare(builder, aggregator, option);

	column->aggregator = aggregator;
	column->typmod = aggregator->typmod;
	if (aggregator->typmod >= 0 &&
		find_typmod_coercion_function(aggregator->type, &coercion) == COERCION_PATH_FUNC)
	{
		column->coerce = palloc(sizeof(FmgrInfo));
		fmgr_info_cxt(coercion, column->coerce, CurrentMemoryContext);
	}
}

/* The function of one column: its own, the default one, or none. */
static void
builder_column_function(PlanBuilder *builder, int index)
{
	MergePlan  *plan = builder->plan;
	MergeColumn *column = &plan->columns[index];
	FieldOption *explicit = builder->functions[index];
	const char *option = explicit ? explicit->option : "fields.default-aggregate-function";
	const char *name = explicit ? explicit->value : builder->options->default_function;
	const FieldAggregator *function;

	if (column->dropped || column->generated || column->key ||
		column->sequence || column->group_sequence >= 0 ||
		index == plan->rowkind || index == plan->versions || index == plan->carried)
		return;
	if (name == NULL && plan->engine == MERGE_AGGREGATION)
		name = "last_non_null_value";
	if (name == NULL)
		return;

	function = builder_function(builder, option, name);
	if (plan->engine == MERGE_PARTIAL_UPDATE && column->group < 0)
	{
		/* a plain column does what last_non_null_value would */
		if (strcmp(function->name, "last_non_null_value") == 0)
			return;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"%s\" gives aggregate function \"%s\" to column \"%s\" of table \"%s\", which is in no sequence group",
						option, name, column->name, builder_table(builder)),
				 errdetail("Under merge engine \"partial-update\", a function other than last_non_null_value needs a sequence group."),
				 errhint("Add the column to a group with \"fields.<sequence column>.sequence-group\", or use merge engine \"aggregation\".")));
	}
	builder_aggregator(builder, index, function, option);
}

/* Compile the aggregate functions and their options. */
static void
builder_functions(PlanBuilder *builder)
{
	MergePlan  *plan = builder->plan;
	ListCell   *cell;

	builder_explicit_functions(builder);
	if (builder->options->default_function)
		(void) builder_function(builder, "fields.default-aggregate-function",
								builder->options->default_function);

	/* the other engines take whole rows: functions have no effect there */
	if (plan->engine != MERGE_AGGREGATION && plan->engine != MERGE_PARTIAL_UPDATE)
		return;

	for (int i = 0; i < plan->natts; i++)
		builder_column_function(builder, i);

	foreach(cell, builder->options->fields)
	{
		FieldOption *field = (FieldOption *) lfirst(cell);
		int			index = builder_column(builder, field->option, field->column);

		if (plan->columns[index].key || plan->columns[index].aggregator ||
			builder->functions[index] || strcmp(field->name, "explicit-null") == 0)
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"%s\" of table \"%s\" needs an aggregate function on column \"%s\"",
						field->option, builder_table(builder), field->column),
				 errhint("Add option \"fields.%s.aggregate-function\".",
						 field->column)));
	}
}

/* Refuse an option of another engine. */
static void
builder_engine_only(PlanBuilder *builder, bool given, const char *option,
					MergeEngine engine)
{
	if (given && builder->plan->engine != engine)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("option \"%s\" of table \"%s\" cannot be used with merge engine \"%s\"",
						option, builder_table(builder),
						merge_engine_name(builder->plan->engine)),
				 errhint("It belongs to merge engine \"%s\".",
						 merge_engine_name(engine))));
}

/* Refuse two options that exclude each other. */
void
builder_exclusive(PlanBuilder *builder, bool both, const char *one,
				  const char *other)
{
	if (both)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("options \"%s\" and \"%s\" of table \"%s\" exclude each other",
						one, other, builder_table(builder)),
				 errhint("Leave one of them out.")));
}

/* Compile the options about deletes. */
static void
builder_deletes(PlanBuilder *builder)
{
	static const char *const pu_delete = "partial-update.remove-record-on-delete";
	static const char *const pu_group = "partial-update.remove-record-on-sequence-group";
	static const char *const agg_delete = "aggregation.remove-record-on-delete";
	const MergeOptions *options = builder->options;
	MergePlan  *plan = builder->plan;
	bool		on_groups = options->remove_on_groups != NIL;
	ListCell   *cell;

	builder_engine_only(builder, options->pu_remove_on_delete, pu_delete,
						MERGE_PARTIAL_UPDATE);
	builder_engine_only(builder, on_groups, pu_group, MERGE_PARTIAL_UPDATE);
	builder_engine_only(builder, options->agg_remove_on_delete, agg_delete,
						MERGE_AGGREGATION);
	builder_exclusive(builder,
					  options->ignore_delete && options->pu_remove_on_delete,
					  "ignore-delete", pu_delete);
	builder_exclusive(builder, options->ignore_delete && on_groups,
					  "ignore-delete", pu_group);
	builder_exclusive(builder,
					  options->ignore_delete && options->agg_remove_on_delete,
					  "ignore-delete", agg_delete);
	if (options->groups != NIL)
		builder_exclusive(builder, options->pu_remove_on_delete, pu_delete,
						  ((GroupOption *) linitial(options->groups))->name);

	foreach(cell, options->remove_on_groups)
	{
		const char *name = (const char *) lfirst(cell);
		int			column = builder_column(builder, pu_group, name);

		if (plan->columns[column].group_sequence < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("column \"%s\" of table \"%s\", named by option \"%s\", orders no sequence group",
							name, builder_table(builder), pu_group),
					 errhint("Name a sequence column of a \"fields.<sequence column>.sequence-group\" option.")));
		plan->groups[plan->columns[column].group_sequence].removes = true;
	}

	plan->ignore_delete = options->ignore_delete;
	plan->ignore_update_before = options->ignore_update_before;
	plan->remove_on_delete = options->pu_remove_on_delete ||
		options->agg_remove_on_delete;
}

/* What a statement must remember of a key, so that input order is no matter. */
static MergeMemory
builder_memory(PlanBuilder *builder)
{
	MergePlan  *plan = builder->plan;
	MergeMemory memory = MERGE_MEMORY_NONE;

	if (plan->ngroups > 0 && plan->rowkind >= 0 && !plan->ignore_delete)
		return MERGE_MEMORY_VERSIONS;
	if (plan->versions >= 0)
		memory = MERGE_MEMORY_VERSIONS;
	if (plan->sequence == NULL)
		return MERGE_MEMORY_NONE;
	if (plan->engine == MERGE_PARTIAL_UPDATE)
		return MERGE_MEMORY_VERSIONS;
	if (plan->engine == MERGE_DEDUPLICATE)
		return plan->rowkind >= 0 ? MERGE_MEMORY_VERSIONS : MERGE_MEMORY_NONE;
	if (plan->rowkind >= 0 && !plan->ignore_delete)
		return MERGE_MEMORY_LOG;

	for (int i = 0; i < plan->natts; i++)
	{
		const AggregatorColumn *aggregator = plan->columns[i].aggregator;

		if (aggregator == NULL)
			continue;
		if (aggregator->function->order == AGGREGATOR_IN_ORDER)
			return MERGE_MEMORY_LOG;
		if (aggregator->function->order != AGGREGATOR_ANY_ORDER)
			memory = MERGE_MEMORY_VERSIONS;
	}
	return memory;
}

/* Check the options against the table's columns and compile them. */
MergePlan *
merge_plan_compile(Relation relation, const MergeOptions *options)
{
	PlanBuilder builder = {0};
	MergePlan  *plan = palloc0(sizeof(MergePlan));

	builder.relation = relation;
	builder.desc = RelationGetDescr(relation);
	builder.options = options;
	builder.plan = plan;

	plan->engine = options->engine;
	plan->table = pstrdup(RelationGetRelationName(relation));
	plan->relid = RelationGetRelid(relation);
	builder_columns(&builder);
	builder_sequence(&builder);
	builder_rowkind(&builder);
	builder_versions(&builder);
	builder_carried(&builder);
	builder_groups(&builder);
	builder_functions(&builder);
	builder_explicit_null(&builder);
	builder_deletes(&builder);
	builder_tombstones(&builder);
	plan->memory = builder_memory(&builder);
	return plan;
}
