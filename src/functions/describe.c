/*
 * describe.c
 *	  merge_engine.describe(regclass): what a table's rules mean, in words.
 *
 * One row a column, after one for the table as a whole.  It says what the
 * compiled rules do, not what the options are called; whether the outcome can
 * depend on the order in which rows arrive, and what would make it not so.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "catalog/merge_plan.h"
#include "catalog/pg_class_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "functions/words.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

/* The columns of the result. */
enum
{
	DESCRIBE_COLUMN,
	DESCRIBE_ROLE,
	DESCRIBE_RULE,
	DESCRIBE_ORDERED_BY,
	DESCRIBE_NULL,
	DESCRIBE_LATE,
	DESCRIBE_RETRACTION,
	DESCRIBE_ORDER_FREE,
	DESCRIBE_NOTE,
	DESCRIBE_NATTS
};

/* A row of the result. */
typedef struct Description
{
	const char *column;
	const char *role;
	const char *rule;
	const char *ordered_by;
	const char *null_means;
	const char *late;
	const char *retraction;
	bool		order_free;
	const char *note;			/* what would make it order-free, and the like */
} Description;

#define NOTE_TIES "rows of equal sequence act in the order of arrival"
#define NOTE_GROUP "as long as rows that carry the group name the column; " NOTE_TIES

PG_FUNCTION_INFO_V1(merge_engine_describe);
PG_FUNCTION_INFO_V1(merge_engine_summary);

/* What a retraction does to a column with a function. */
static const char *
describe_function_retraction(const AggregatorColumn *aggregator)
{
	const char *name = aggregator->function->name;

	if (aggregator->ignore_retract)
		return "nothing";
	if (aggregator->function->retract == NULL)
		return "is an error";
	if (aggregator->function->order == AGGREGATOR_NEWEST)
		return strcmp(name, "last_value") == 0 ? "becomes NULL" :
												 "becomes NULL, unless the retraction's value is NULL";
	return psprintf("%s takes the value out", name);
}

/* What a retraction does to the columns of this table. */
static const char *
describe_retraction(const MergePlan *plan, int c)
{
	const AggregatorColumn *aggregator = plan->columns[c].aggregator;

	if (plan->rowkind < 0 || plan->ignore_delete)
		return "nothing";
	switch (plan->engine)
	{
		case MERGE_DEDUPLICATE:
			return "removed with the row";
		case MERGE_FIRST_ROW:
			return "is an error";
		case MERGE_PARTIAL_UPDATE:
			if (plan->remove_on_delete)
				return "-D: removed with the row; -U: nothing";
			if (plan->ngroups == 0)
				return "is an error";
			if (plan->columns[c].group < 0)
				return "nothing";
			return aggregator != NULL ? describe_function_retraction(aggregator) :
										"becomes NULL when the group is newer";
		case MERGE_AGGREGATION:
			break;
	}
	if (aggregator == NULL)
		return "nothing";
	return plan->remove_on_delete ?
		psprintf("-D: removed with the row; -U: %s", describe_function_retraction(aggregator)) :
		describe_function_retraction(aggregator);
}

/* What a NULL means to a column to which NULL is no value of its own. */
static const char *
describe_null(const MergePlan *plan, int c)
{
	if (plan->columns[c].null_clears)
		return "clears the column";
	return plan->carried >= 0 ? "absent, unless the row lists the column" : "absent";
}

/* Columns without a sequence follow arrival. */
static void
describe_by_arrival(Description *description)
{
	description->ordered_by = "arrival";
	description->late = "there are none";
	description->order_free = false;
	description->note = "name a column that orders the rows in sequence.field";
}

/* Columns that remember, or do not, which row set them. */
static void
describe_by_version(const MergePlan *plan, Description *description, bool oldest)
{
	description->ordered_by = words_order_columns(plan, plan->sequence);
	if (plan->versions >= 0)
	{
		description->late = oldest ? "sets the column if it is older than the row that did" :
									 "sets the column if it is newer than the row that did";
		description->order_free = true;
		description->note = NOTE_TIES;
		return;
	}
	description->late = oldest ? "sets the column" :
								 "within a statement exact; later it only fills a NULL";
	description->order_free = false;
	description->note = oldest ? "a versions column (versions.field) would tell which of several late rows is oldest" :
								 "a versions column (versions.field) would let a late row correct what is older than itself";
}

/* A column of deduplicate or first-row. */
static void
describe_whole(const MergePlan *plan, Description *description)
{
	description->null_means = "a value";
	if (plan->engine == MERGE_FIRST_ROW)
	{
		description->rule = "of the first row";
		description->ordered_by = "arrival";
		description->late = "there are none";
		description->note = "deduplicate with sequence.field.sort-order = descending keeps the oldest row";
		return;
	}
	description->rule = "of the newest row";
	if (plan->sequence == NULL)
	{
		describe_by_arrival(description);
		return;
	}
	description->ordered_by = words_order_columns(plan, plan->sequence);
	description->late = "ignored";
	description->order_free = plan->rowkind < 0 || plan->ignore_delete || plan->tombstones;
	description->note = description->order_free ? NOTE_TIES :
												  "tombstones would keep late rows from bringing a removed key back";
}

/* A column with an aggregate function outside groups. */
static void
describe_function(const MergePlan *plan, int c, Description *description)
{
	const FieldAggregator *function = plan->columns[c].aggregator->function;

	description->rule = function->name;
	description->null_means = function->takes_null ? "a value" : "skipped";
	switch (function->order)
	{
		case AGGREGATOR_ANY_ORDER:
			description->ordered_by = "nothing: any order gives the same";
			description->late = "counts like any other";
			description->order_free = true;
			break;
		case AGGREGATOR_IN_ORDER:
			if (plan->sequence == NULL)
			{
				describe_by_arrival(description);
				description->note = "sequence.field would order the rows of a statement";
				break;
			}
			description->ordered_by = words_order_columns(plan, plan->sequence);
			description->late = "within a statement exact; later it goes before all stored values";
			description->note = "send the rows of a key in order, or in one statement";
			break;
		case AGGREGATOR_NEWEST:
		case AGGREGATOR_OLDEST:
			if (!function->takes_null)
				description->null_means = describe_null(plan, c);
			if (plan->sequence == NULL)
				describe_by_arrival(description);
			else
				describe_by_version(plan, description, function->order == AGGREGATOR_OLDEST);
			break;
	}
	if (description->order_free && plan->remove_on_delete &&
		!(plan->tombstones && plan->versions >= 0 && function->order == AGGREGATOR_NEWEST))
	{
		description->order_free = false;
		description->note = "a removal that arrives late finds values folded that it should have removed";
	}
	else if (description->order_free && plan->rowkind >= 0 && !plan->ignore_delete &&
			 !plan->remove_on_delete && function->order != AGGREGATOR_ANY_ORDER)
	{
		description->order_free = false;
		description->note = "a retraction cannot bring back what the retracted value had replaced";
	}
}

/* A column of a sequence group. */
static void
describe_group(const MergePlan *plan, int c, Description *description)
{
	const SequenceGroup *group = &plan->groups[plan->columns[c].group];
	const AggregatorColumn *aggregator = plan->columns[c].aggregator;

	description->ordered_by = words_order_columns(plan, &group->order);
	if (aggregator == NULL)
	{
		description->rule = "of the row with the newest group";
		description->null_means = "a value, unless all sequence fields of the group are NULL";
		description->late = "ignored";
		description->order_free = true;
		description->note = NOTE_GROUP;
		return;
	}
	description->rule = aggregator->function->name;
	description->null_means = aggregator->function->takes_null ? "a value" : "skipped";
	description->order_free = aggregator->function->order == AGGREGATOR_ANY_ORDER;
	description->late = description->order_free ? "counts like any other" :
												  "goes before the stored value";
	if (!description->order_free)
		description->note = "functions in a group fold rows in the order of arrival";
}

/* A plain column outside groups of partial-update. */
static void
describe_plain(const MergePlan *plan, int c, Description *description)
{
	description->rule = "the newest value";
	description->null_means = describe_null(plan, c);
	if (plan->sequence == NULL)
	{
		describe_by_arrival(description);
		return;
	}
	describe_by_version(plan, description, false);
	if (description->order_free && plan->remove_on_delete && !plan->tombstones)
	{
		description->order_free = false;
		description->note = "tombstones would keep late rows from bringing a removed key back";
	}
}

/* Does the column get its DEFAULT only if a key's first row does not name it? */
static bool
describe_minds_default(const MergePlan *plan, int c)
{
	const MergeColumn *column = &plan->columns[c];

	if (!column->has_default)
		return false;
	return plan->engine == MERGE_PARTIAL_UPDATE ||
		(plan->engine == MERGE_AGGREGATION && column->aggregator != NULL &&
		 column->aggregator->function->order == AGGREGATOR_NEWEST);
}

/* One column. */
static void
describe_column(const MergePlan *plan, int c, Description *description)
{
	const MergeColumn *column = &plan->columns[c];
	ColumnRole	role = words_role(plan, c);

	description->column = column->name;
	description->role = words_role_name(role);
	if (role == ROLE_VALUE || role == ROLE_GROUP)
		description->retraction = describe_retraction(plan, c);
	switch (role)
	{
		case ROLE_KEY:
			description->rule = "rows with the same key are merged";
			description->null_means = "is an error";
			description->retraction = "names the row";
			description->order_free = true;
			break;
		case ROLE_SEQUENCE:
		case ROLE_GROUP_SEQUENCE:
		{
			const SequenceOrder *order = role == ROLE_SEQUENCE ? plan->sequence :
																 &plan->groups[column->group_sequence].order;

			description->rule = "of the newest row";
			description->ordered_by = words_order_columns(plan, order);
			description->null_means = role == ROLE_SEQUENCE ? "older than every value" :
															  "the row leaves the group alone if all its sequence fields are NULL";
			description->late = "ignored";
			description->order_free = true;
			if (role == ROLE_GROUP_SEQUENCE)
				description->retraction = "advances when newer";
			else if (plan->engine == MERGE_AGGREGATION && !plan->ignore_delete && plan->rowkind >= 0)
				description->retraction = "advances when newer";
			break;
		}
		case ROLE_ROWKIND:
			description->rule = "+I, -U, +U or -D: what the row does";
			description->null_means = "is an error";
			description->ordered_by = plan->sequence ?
				words_order_columns(plan, plan->sequence) :
				"arrival";
			description->late = "ignored";
			description->order_free = plan->sequence != NULL;
			break;
		case ROLE_VERSIONS:
			description->rule = "the sequence of each column that is older than the row";
			description->null_means = "every column is of the row's sequence";
			description->order_free = true;
			break;
		case ROLE_COLUMNS:
			description->rule = "lists the columns that a row carries; never stored";
			description->null_means = "the row carries the columns that its statement names";
			description->order_free = true;
			break;
		case ROLE_GENERATED:
			description->rule = "computed from the merged row";
			description->order_free = true;
			break;
		case ROLE_GROUP:
			describe_group(plan, c, description);
			break;
		case ROLE_VALUE:
			if (plan->engine == MERGE_DEDUPLICATE || plan->engine == MERGE_FIRST_ROW)
				describe_whole(plan, description);
			else if (column->aggregator != NULL)
				describe_function(plan, c, description);
			else
				describe_plain(plan, c, description);
			break;
	}
	if (description->order_free && (role == ROLE_VALUE || role == ROLE_GROUP) &&
		describe_minds_default(plan, c))
	{
		description->order_free = false;
		description->note = "without a DEFAULT it would not matter which row of the key is the first";
	}
}

/* What a delete does to the row. */
static const char *
describe_delete(const MergePlan *plan)
{
	if (plan->rowkind < 0)
		return "there are none: no column holds a row kind";
	if (plan->ignore_delete)
		return "-D and -U are dropped";
	if (plan->engine == MERGE_DEDUPLICATE)
		return plan->ignore_update_before ? "-D removes the row, -U is dropped" :
											"-D and -U remove the row";
	if (plan->remove_on_delete)
		return "-D removes the row";
	for (int i = 0; i < plan->ngroups; i++)
	{
		if (plan->groups[i].removes)
			return psprintf("-D that is newer in group %s removes the row",
							words_order_columns(plan, &plan->groups[i].order));
	}
	if (plan->engine == MERGE_FIRST_ROW || (plan->engine == MERGE_PARTIAL_UPDATE && plan->ngroups == 0))
		return plan->ignore_update_before ? "-D is an error, -U is dropped" : "is an error";
	return "the row stays; see the columns";
}

/* Does a row ever go away by a -D? */
static bool
describe_removes(const MergePlan *plan)
{
	bool		removes = plan->engine == MERGE_DEDUPLICATE || plan->remove_on_delete;

	for (int i = 0; i < plan->ngroups; i++)
		removes |= plan->groups[i].removes;
	return removes && plan->rowkind >= 0 && !plan->ignore_delete;
}

/* The columns to which the order of arrival matters, with commas. */
static const char *
describe_ordered_columns(const MergePlan *plan, const Description *columns)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int c = 0; c < plan->natts; c++)
	{
		if (!plan->columns[c].dropped && !columns[c].order_free)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "", plan->columns[c].name);
	}
	return names.data;
}

/* The table as a whole; its columns have been described. */
static void
describe_table(const MergePlan *plan, const Description *columns, Description *description)
{
	const char *safe;

	description->role = "table";
	description->rule = merge_engine_name(plan->engine);
	description->ordered_by = plan->sequence ? words_order_columns(plan, plan->sequence) :
		plan->ngroups > 0					 ? "groups, else arrival" :
											   "arrival";
	description->late = plan->sequence == NULL ? NULL :
		plan->engine == MERGE_DEDUPLICATE	   ? "ignored" :
												 "merged column by column";
	description->retraction = describe_delete(plan);
	description->order_free = true;
	for (int c = 0; c < plan->natts; c++)
	{
		if (!plan->columns[c].dropped)
			description->order_free &= columns[c].order_free;
	}
	if (!describe_removes(plan))
		safe = "no row is ever removed by a message";
	else if (plan->tombstones)
		safe = "late data after a delete is safe: tombstones remember removed keys";
	else
		safe = "late data after a delete brings the key back: set tombstones";
	description->note = safe;
	if (!description->order_free)
		description->note = psprintf("%s; the order of arrival matters to %s", safe,
									 describe_ordered_columns(plan, columns));
}

/* Put a row into the result. */
static void
describe_put(ReturnSetInfo *result, const Description *description)
{
	const char *texts[DESCRIBE_NATTS] = {
		[DESCRIBE_COLUMN] = description->column,
		[DESCRIBE_ROLE] = description->role,
		[DESCRIBE_RULE] = description->rule,
		[DESCRIBE_ORDERED_BY] = description->ordered_by,
		[DESCRIBE_NULL] = description->null_means,
		[DESCRIBE_LATE] = description->late,
		[DESCRIBE_RETRACTION] = description->retraction,
		[DESCRIBE_NOTE] = description->note,
	};
	Datum		values[DESCRIBE_NATTS];
	bool		nulls[DESCRIBE_NATTS];

	for (int i = 0; i < DESCRIBE_NATTS; i++)
	{
		nulls[i] = texts[i] == NULL;
		if (texts[i] != NULL)
			values[i] = CStringGetTextDatum(texts[i]);
	}
	values[DESCRIBE_ORDER_FREE] = BoolGetDatum(description->order_free);
	nulls[DESCRIBE_ORDER_FREE] = false;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Describe all columns and the table. */
static Description *
describe_all(const MergePlan *plan, Description *table)
{
	Description *columns = palloc0(plan->natts * sizeof(Description));

	for (int c = 0; c < plan->natts; c++)
	{
		if (!plan->columns[c].dropped)
			describe_column(plan, c, &columns[c]);
	}
	memset(table, 0, sizeof(Description));
	describe_table(plan, columns, table);
	return columns;
}

/* A table in one line. */
static char *
describe_line(Oid relid)
{
	Relation	relation = merge_plan_open(relid, NoLock);
	MergePlan  *plan = merge_plan_get(relation);
	Description table;
	char	   *line;

	(void) describe_all(plan, &table);
	line = psprintf("%s by %s; deletes: %s; %s%s", table.rule, table.ordered_by,
					table.retraction, table.note, table.order_free ? "; order-free" : "");
	merge_plan_release(plan);
	relation_close(relation, NoLock);
	return line;
}

/* describe(regclass) returns a row for the table and one for each column */
Datum
merge_engine_describe(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	relation = merge_plan_open(PG_GETARG_OID(0), AccessShareLock);
	MergePlan  *plan = merge_plan_get(relation);
	Description table;
	Description *columns = describe_all(plan, &table);

	InitMaterializedSRF(fcinfo, 0);
	describe_put(result, &table);
	for (int c = 0; c < plan->natts; c++)
	{
		if (!plan->columns[c].dropped)
			describe_put(result, &columns[c]);
	}
	merge_plan_release(plan);
	relation_close(relation, AccessShareLock);
	return (Datum) 0;
}

/*
 * summary(regclass): a table in one line, for the view merge_engine.tables,
 * which must show every table, also one that is locked or whose options have
 * lost their meaning.
 */
Datum
merge_engine_summary(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	MemoryContext oldcontext = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	char *volatile line = NULL;

	if (!ConditionalLockRelationOid(relid, AccessShareLock))
		PG_RETURN_TEXT_P(cstring_to_text("locked"));
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(oldcontext);
	PG_TRY();
	{
		line = describe_line(relid);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(oldcontext);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		line = psprintf("cannot be written to: %s", error->message);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(oldcontext);
	CurrentResourceOwner = owner;
	UnlockRelationOid(relid, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(line));
}
