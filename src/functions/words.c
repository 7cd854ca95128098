/*
 * words.c
 *	  A table's rules in words, for describe and explain_merge.
 */
#include "postgres.h"

#include "catalog/plain_text.h"
#include "fmgr.h"
#include "functions/words.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

static const char *const role_names[] = {
	[ROLE_KEY] = "key",
	[ROLE_SEQUENCE] = "sequence",
	[ROLE_GROUP_SEQUENCE] = "group sequence",
	[ROLE_GROUP] = "group",
	[ROLE_ROWKIND] = "row kind",
	[ROLE_VERSIONS] = "versions",
	[ROLE_COLUMNS] = "columns",
	[ROLE_GENERATED] = "generated",
	[ROLE_VALUE] = "value",
};

/* words_role: the part that a column plays */
ColumnRole
words_role(const MergePlan *plan, int c)
{
	const MergeColumn *column = &plan->columns[c];

	if (column->key)
		return ROLE_KEY;
	if (column->generated)
		return ROLE_GENERATED;
	if (column->sequence)
		return ROLE_SEQUENCE;
	if (column->group_sequence >= 0)
		return ROLE_GROUP_SEQUENCE;
	if (column->group >= 0)
		return ROLE_GROUP;
	if (c == plan->rowkind)
		return ROLE_ROWKIND;
	if (c == plan->versions)
		return ROLE_VERSIONS;
	if (c == plan->carried)
		return ROLE_COLUMNS;
	return ROLE_VALUE;
}

/* words_role_name: its name */
const char *
words_role_name(ColumnRole role)
{
	return role_names[role];
}

/* words_has_version: does the column follow the sequence of the row that set it? */
bool
words_has_version(const MergePlan *plan, int c)
{
	const AggregatorColumn *aggregator = plan->columns[c].aggregator;

	return words_role(plan, c) == ROLE_VALUE &&
		(aggregator == NULL || aggregator->function->order == AGGREGATOR_NEWEST ||
		 aggregator->function->order == AGGREGATOR_OLDEST);
}

/* words_order_columns: the columns that order rows, with commas */
char *
words_order_columns(const MergePlan *plan, const SequenceOrder *order)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < order->ncolumns; i++)
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "",
						 plan->columns[order->columns[i]].name);
	if (order->descending)
		appendStringInfoString(&names, " descending");
	return names.data;
}

/* words_sequence: a sequence value; of several fields, in parentheses */
char *
words_sequence(const SequenceOrder *order, SequenceValue value)
{
	StringInfoData text;
	PlainText	settings;

	if (value == NULL)
		return pstrdup("never set");
	initStringInfo(&text);
	plain_text_begin(&settings, false);
	PG_TRY();
	{
		for (int i = 0; i < order->ncolumns; i++)
		{
			Oid			output;
			bool		isvarlena;

			if (i > 0)
				appendStringInfoString(&text, ", ");
			getTypeOutputInfo(order->types[i], &output, &isvarlena);
			appendStringInfoString(&text, value[i].isnull ? "NULL" : OidOutputFunctionCall(output, value[i].value));
		}
	}
	PG_FINALLY();
	{
		plain_text_end(&settings);
	}
	PG_END_TRY();
	return order->ncolumns == 1 ? text.data : psprintf("(%s)", text.data);
}
