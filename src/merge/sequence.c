/*
 * sequence.c
 *	  Sequence values: which of two rows is newer.
 *
 * Fields compare in the order in which they are named, each by the btree
 * order of its type; NULL is lowest, also where smaller values are newer
 * (SEMANTICS, rules 1 and 2).
 */
#include "postgres.h"

#include "merge/merge.h"
#include "utils/datum.h"

/*
 * sequence_read
 *		The sequence value of a row.  Allocated in CurrentMemoryContext; values
 *		passed by reference still point into the row.
 */
SequenceValue
sequence_read(const SequenceOrder *order, const Datum *values, const bool *isnull)
{
	SequenceValue value = palloc(order->ncolumns * sizeof(NullableDatum));

	for (int i = 0; i < order->ncolumns; i++)
	{
		value[i].value = values[order->columns[i]];
		value[i].isnull = isnull[order->columns[i]];
	}
	return value;
}

/* Compare two fields; NULL is lowest whatever the direction. */
static int
sequence_compare_field(const SequenceOrder *order, int field,
					   NullableDatum a, NullableDatum b)
{
	SortSupport sort = &order->sort[field];
	int			result;

	if (a.isnull || b.isnull)
		return (int) b.isnull - (int) a.isnull;
	result = sort->comparator(a.value, b.value, sort);
	return order->descending ? -result : result;
}

/*
 * sequence_compare
 *		Positive if a is newer than b, 0 if they tie, negative if a is older.
 *		A NULL pointer stands for "never set", which is older than any value
 *		and ties with itself.
 */
int
sequence_compare(const SequenceOrder *order, SequenceValue a, SequenceValue b)
{
	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	for (int i = 0; i < order->ncolumns; i++)
	{
		int			result = sequence_compare_field(order, i, a[i], b[i]);

		if (result != 0)
			return result;
	}
	return 0;
}

/* sequence_is_null: are all fields NULL? */
bool
sequence_is_null(const SequenceOrder *order, SequenceValue value)
{
	for (int i = 0; i < order->ncolumns; i++)
	{
		if (!value[i].isnull)
			return false;
	}
	return true;
}

/*
 * sequence_copy
 *		A copy that no longer depends on the row it was read from, in
 *		CurrentMemoryContext.  NULL gives NULL.
 */
SequenceValue
sequence_copy(const SequenceOrder *order, SequenceValue value)
{
	SequenceValue copy;

	if (value == NULL)
		return NULL;
	copy = palloc(order->ncolumns * sizeof(NullableDatum));
	for (int i = 0; i < order->ncolumns; i++)
	{
		copy[i] = value[i];
		if (!value[i].isnull)
			copy[i].value = datumCopy(value[i].value, order->typbyval[i],
									  order->typlen[i]);
	}
	return copy;
}

/* Free a sequence value that sequence_copy made. */
static void
sequence_free(const SequenceOrder *order, SequenceValue value)
{
	if (value == NULL)
		return;
	for (int i = 0; i < order->ncolumns; i++)
	{
		if (!value[i].isnull && !order->typbyval[i])
			pfree(DatumGetPointer(value[i].value));
	}
	pfree(value);
}

/*
 * sequence_assign
 *		Replaces a copy that the caller owns by a copy of another value, in
 *		CurrentMemoryContext.
 */
void
sequence_assign(const SequenceOrder *order, SequenceValue *owned,
				SequenceValue value)
{
	SequenceValue old = *owned;

	if (old == value)
		return;
	*owned = sequence_copy(order, value);
	sequence_free(order, old);
}
