/*
 * explain_words.c
 *	  Why a merge gives what it gives, in words.
 *
 * The words follow the rules of merge/, and say of each column which of them
 * decided; what came of it is not computed here but taken from the merge.
 */
#include "postgres.h"

#include "functions/explain.h"
#include "functions/words.h"
#include "utils/datum.h"

/* How one sequence value stands to another: "late: 2 < 4". */
static char *
compare_words(const SequenceOrder *order, SequenceValue incoming, SequenceValue stored)
{
	int			result = sequence_compare(order, incoming, stored);
	const char *direction = order->descending ? " descending" : "";

	if (stored == NULL)
		return psprintf("newer: %s, and nothing was there", words_sequence(order, incoming));
	return psprintf("%s: %s %s %s%s",
					result < 0 ? "late" : result == 0 ? "equal, so newer" :
														"newer",
					words_sequence(order, incoming),
					result < 0 ? "<" : result == 0 ? "=" :
													 ">",
					words_sequence(order, stored), direction);
}

/* Does the incoming row come before the removal of its key? */
static bool
is_before_removal(const Explanation *explanation)
{
	const SequenceOrder *order = explanation->plan->sequence;

	return order != NULL && explanation->before->removed != NULL &&
		sequence_compare(order, explanation->row.sequence, explanation->before->removed) < 0;
}

/* Is the incoming row older than the stored one? */
static bool
is_late(const Explanation *explanation)
{
	const SequenceOrder *order = explanation->plan->sequence;

	return order != NULL && explanation->found &&
		sequence_compare(order, explanation->row.sequence,
						 explanation->before->row_version) < 0;
}

/* Are the rows before and after the same? */
static bool
is_unchanged(const Explanation *explanation)
{
	const MergePlan *plan = explanation->plan;
	const MergeState *before = explanation->before;
	const MergeState *after = explanation->after;

	for (int c = 0; c < plan->natts; c++)
	{
		const MergeColumn *column = &plan->columns[c];

		if (column->dropped || column->generated)
			continue;
		if (before->isnull[c] != after->isnull[c])
			return false;
		if (!before->isnull[c] &&
			!datum_image_eq(before->values[c], after->values[c], column->typbyval, column->typlen))
			return false;
	}
	return true;
}

/* Why a row of that kind is ignored by the table's options, or NULL. */
static const char *
ignored_words(const Explanation *explanation)
{
	const MergePlan *plan = explanation->plan;

	if (!merge_ignores(plan, &explanation->row))
		return NULL;
	return plan->ignore_delete ? "ignore-delete drops it" : "ignore-update-before drops it";
}

/*
 * explain_outcome
 *		What would become of the row as a whole; returns the reason.
 */
char *
explain_outcome(const Explanation *explanation, const char **outcome)
{
	const MergePlan *plan = explanation->plan;
	const SequenceOrder *order = plan->sequence;
	const char *ignored = ignored_words(explanation);

	if (!explanation->after->exists)
		*outcome = explanation->found ? "removed" : "nothing";
	else if (!explanation->found)
		*outcome = "inserted";
	else
		*outcome = is_unchanged(explanation) ? "unchanged" : "merged";

	if (ignored != NULL)
		return pstrdup(ignored);
	if (is_before_removal(explanation))
		return psprintf("late: the key was removed at %s, this row is of %s",
						words_sequence(order, explanation->before->removed),
						words_sequence(order, explanation->row.sequence));
	if (explanation->row.versions != NULL)
		return pstrdup("the row brings its versions: merged column by column");
	if (!explanation->found)
		return pstrdup(RowKindIsRetract(explanation->row.kind) ?
						   psprintf("%s of a key without a row", rowkind_name(explanation->row.kind)) :
						   "the key has no row");
	if (order == NULL)
		return pstrdup(plan->engine == MERGE_FIRST_ROW ? "the first row stays" :
														 "every row is newer");
	return compare_words(order, explanation->row.sequence, explanation->before->row_version);
}

/* Why a column that has a version of its own is what it is. */
static char *
versioned_words(const Explanation *explanation, int c, bool oldest)
{
	const SequenceOrder *order = explanation->plan->sequence;
	SequenceValue incoming = MergeRowVersion(&explanation->row, c);
	SequenceValue stored = explanation->before->versions[c];
	const char *null = explanation->row.isnull[c] ? ", NULL clears" : "";

	if (!explanation->found || stored == NULL)
		return psprintf("first value, of %s%s", words_sequence(order, incoming), null);
	if (!oldest)
		return psprintf("%s%s", compare_words(order, incoming, stored),
						sequence_compare(order, incoming, stored) < 0 ? "" : null);
	return psprintf(sequence_compare(order, incoming, stored) < 0 ?
						"older: %s before %s%s" :
						"not the first: %s after %s%s",
					words_sequence(order, incoming), words_sequence(order, stored),
					sequence_compare(order, incoming, stored) < 0 ? null : "");
}

/* Why a column with a function is what it is. */
static char *
function_words(const Explanation *explanation, int c)
{
	const MergePlan *plan = explanation->plan;
	const AggregatorColumn *aggregator = plan->columns[c].aggregator;
	const FieldAggregator *function = aggregator->function;
	const MergeRow *row = &explanation->row;
	bool		named = MergeRowNames(row, c);

	if (RowKindIsRetract(row->kind))
	{
		if (aggregator->ignore_retract)
			return pstrdup("ignore-retract: stays");
		return psprintf(named ? "%s: %s takes the value out" : "%s: the column is not named",
						rowkind_name(row->kind), function->name);
	}
	if (!named && (row->lists || function->order == AGGREGATOR_NEWEST))
		return pstrdup(row->lists ? "not listed" : "not named");
	if (row->isnull[c] && !function->takes_null && !merge_row_gives(plan, row, c))
		return psprintf("NULL is skipped by %s", function->name);
	if (explanation->before->versions != NULL && plan->engine == MERGE_AGGREGATION &&
		(function->order == AGGREGATOR_NEWEST || function->order == AGGREGATOR_OLDEST))
		return psprintf("%s: %s", function->name,
						versioned_words(explanation, c, function->order == AGGREGATOR_OLDEST));
	return psprintf("%s%s%s", function->name,
					is_late(explanation) && function->order == AGGREGATOR_IN_ORDER ?
						", before the stored value: the row is late" :
						"",
					named ? "" : " of its DEFAULT");
}

/* Why a column of a sequence group is what it is; sequence: one of its fields. */
static char *
group_words(const Explanation *explanation, int c, const SequenceGroup *group, bool sequence)
{
	const MergePlan *plan = explanation->plan;
	const SequenceOrder *order = &group->order;
	const MergeRow *row = &explanation->row;
	const MergeState *before = explanation->before;
	SequenceValue incoming = sequence_read(order, row->values, row->isnull);
	SequenceValue stored = sequence_read(order, before->values, before->isnull);
	const char *name = words_order_columns(plan, order);
	bool		newer;

	if (sequence_is_null(order, incoming))
		return psprintf("the row leaves group %s alone: its sequence is NULL", name);
	newer = sequence_compare(order, incoming, stored) >= 0;
	if (!sequence && plan->columns[c].aggregator != NULL)
		return psprintf("%s, group %s is %s", function_words(explanation, c), name,
						newer ? "newer" : "late");
	if (sequence_is_null(order, stored))
		return psprintf("group %s is new", name);
	if (!sequence && newer && RowKindIsRetract(row->kind))
		return psprintf("%s clears the group: %s", rowkind_name(row->kind),
						compare_words(order, incoming, stored));
	if (!sequence && newer && !MergeRowNames(row, c))
		return pstrdup(row->lists ? "not listed" : "not named");
	return psprintf("group %s is %s", name, compare_words(order, incoming, stored));
}

/* Why a plain column of partial-update is what it is. */
static char *
plain_words(const Explanation *explanation, int c)
{
	const MergePlan *plan = explanation->plan;
	const MergeRow *row = &explanation->row;

	if (RowKindIsRetract(row->kind))
	{
		const char *kind = rowkind_name(row->kind);

		if (!explanation->after->exists)
			return psprintf(explanation->found ? "%s: goes with the row" : "%s: nothing is there", kind);
		if (row->kind == ROWKIND_DELETE && plan->remove_on_delete && plan->sequence != NULL &&
			explanation->before->versions[c] != NULL &&
			sequence_compare(plan->sequence, explanation->before->versions[c], row->sequence) <= 0)
			return psprintf("-D of %s removes what is of %s",
							words_sequence(plan->sequence, row->sequence),
							words_sequence(plan->sequence, explanation->before->versions[c]));
		return psprintf("%s: stays", kind);
	}
	if (!MergeRowNames(row, c))
	{
		if (!explanation->found && plan->columns[c].has_default && !row->lists)
			return pstrdup("not named: DEFAULT");
		return pstrdup(row->lists ? "not listed" : "not named");
	}
	if (!merge_row_gives(plan, row, c))
		return pstrdup("NULL is absent");
	if (plan->sequence != NULL)
		return versioned_words(explanation, c, false);
	return pstrdup(row->isnull[c] ? "NULL clears" : "the newest value");
}

/* Why a column of a whole row is what it is. */
static char *
whole_words(const Explanation *explanation)
{
	const MergePlan *plan = explanation->plan;

	if (RowKindIsRetract(explanation->row.kind))
		return psprintf("%s: goes with the row", rowkind_name(explanation->row.kind));
	if (!explanation->found)
		return pstrdup("of the whole row");
	return pstrdup(plan->engine == MERGE_FIRST_ROW ? "the first row stays" :
													 "the newer row replaces the whole");
}

/*
 * explain_reason
 *		Why a column is what it is after the merge, in words.
 */
char *
explain_reason(const Explanation *explanation, int c)
{
	const MergePlan *plan = explanation->plan;
	const MergeColumn *column = &plan->columns[c];
	ColumnRole	role = words_role(plan, c);
	const char *ignored = ignored_words(explanation);

	switch (role)
	{
		case ROLE_KEY:
			return pstrdup("key");
		case ROLE_GENERATED:
			return pstrdup("computed from the merged row");
		case ROLE_VERSIONS:
			return pstrdup("the versions that are not the row's own");
		case ROLE_COLUMNS:
			return pstrdup("not stored");
		default:
			break;
	}
	if (ignored != NULL)
		return pstrdup(ignored);
	if (is_before_removal(explanation))
		return psprintf("late: removed at %s",
						words_sequence(plan->sequence, explanation->before->removed));
	if (plan->engine == MERGE_DEDUPLICATE && is_late(explanation))
		return compare_words(plan->sequence, explanation->row.sequence,
							 explanation->before->row_version);
	switch (role)
	{
		case ROLE_SEQUENCE:
			if (RowKindIsRetract(explanation->row.kind) && plan->engine == MERGE_PARTIAL_UPDATE &&
				explanation->after->exists)
				return psprintf("%s: stays", rowkind_name(explanation->row.kind));
			return compare_words(plan->sequence, explanation->row.sequence,
								 explanation->found ? explanation->before->row_version : NULL);
		case ROLE_ROWKIND:
			return pstrdup(is_late(explanation) ? "of the newest row, which stays" :
												  "of the newest row");
		case ROLE_GROUP_SEQUENCE:
			return group_words(explanation, c, &plan->groups[column->group_sequence], true);
		case ROLE_GROUP:
			return group_words(explanation, c, &plan->groups[column->group], false);
		default:
			break;
	}
	if (plan->engine == MERGE_DEDUPLICATE || plan->engine == MERGE_FIRST_ROW)
		return whole_words(explanation);
	if (column->aggregator != NULL)
		return function_words(explanation, c);
	return plain_words(explanation, c);
}
