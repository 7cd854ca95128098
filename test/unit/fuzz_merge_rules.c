/*
 * fuzz_merge_rules.c
 *	  Random rules and rows for src/merge, without a server.
 *
 * usage: fuzz_merge_rules ROUNDS [SEED]
 *
 * Each round compiles a random plan by hand, makes rows with distinct sequence
 * values, and applies them in two random orders, with their versions
 * remembered, and folds them in a third way; with a versions column also in
 * two statements, and as two copies of the key that meet.  The rules do not
 * depend on the order then, so the rows that come out must be the same.  Other
 * rounds only look for errors of memory: every value is a block of its own,
 * under the address sanitizer.
 */
#include "postgres.h"

#include "no_server.h"

#include "catalog/pg_type_d.h"
#include "merge/merge.h"
#include "merge/versions.h"
#include "port/pg_crc32c.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#define MAX_ROWS 12

/* The columns of every table; some are plain where a plan has no use for them. */
enum
{
	KEY,
	SEQUENCE,					/* of the type that the plan says */
	TEXT,
	NUMBER,
	GROUP_SEQUENCE,
	PROTECTED,
	BOOL,
	FOLDED,						/* a text that listagg may fold */
	SECOND_SEQUENCE,			/* few values, and NULL */
	ROWKIND,
	VERSIONS,
	CARRIED,
	DROPPED,
	NATTS
};

static const char *const names[NATTS] = {
	"key", "sequence", "text", "number", "group_sequence", "protected", "bool", "folded",
	"second_sequence", "rowkind", "versions", "carried", "dropped"
};

/* What a round is about. */
typedef struct Round
{
	MergePlan  *plan;
	const bool *named;
	bool		defaults;		/* columns that are not named have one */
	bool		retractions;
	bool		order_free;		/* the result is the same whatever the order */
	bool		removals;		/* rows may remove, and all columns have versions */
	Oid			sequence_type;
} Round;

static Round round_;

/* Orders of the types of sequence fields */
static int
compare_int8(Datum a, Datum b, SortSupport sort)
{
	return (DatumGetInt64(a) > DatumGetInt64(b)) - (DatumGetInt64(a) < DatumGetInt64(b));
}

static int
compare_int4(Datum a, Datum b, SortSupport sort)
{
	return (DatumGetInt32(a) > DatumGetInt32(b)) - (DatumGetInt32(a) < DatumGetInt32(b));
}

static int
compare_int2(Datum a, Datum b, SortSupport sort)
{
	return DatumGetInt16(a) - DatumGetInt16(b);
}

static int
compare_uuid(Datum a, Datum b, SortSupport sort)
{
	return memcmp(DatumGetPointer(a), DatumGetPointer(b), 16);
}

static int
compare_text(Datum a, Datum b, SortSupport sort)
{
	struct varlena *left = (struct varlena *) DatumGetPointer(a);
	struct varlena *right = (struct varlena *) DatumGetPointer(b);
	int			left_length = VARSIZE_ANY_EXHDR(left);
	int			right_length = VARSIZE_ANY_EXHDR(right);
	int			result = memcmp(VARDATA_ANY(left), VARDATA_ANY(right), Min(left_length, right_length));

	return result != 0 ? result : left_length - right_length;
}

/* A type that sequence.field may have, and its n-th value. */
typedef struct SequenceType
{
	Oid			type;
	int16		typlen;
	bool		typbyval;
	int			(*compare) (Datum a, Datum b, SortSupport sort);
} SequenceType;

static const SequenceType sequence_types[] = {
	{INT8OID, 8, true, compare_int8},
	{INT4OID, 4, true, compare_int4},
	{INT2OID, 2, true, compare_int2},
	{UUIDOID, 16, false, compare_uuid},
	{TEXTOID, -1, false, compare_text},
};

static Datum
sequence_value(Oid type, int n)
{
	char		digits[17];

	snprintf(digits, sizeof(digits), "%016d", n);
	switch (type)
	{
		case INT8OID:
			return Int64GetDatum(100 * (int64) n);
		case INT4OID:
			return Int32GetDatum(n);
		case INT2OID:
			return Int16GetDatum(n);
		case UUIDOID:
			return PointerGetDatum(memcpy(palloc(16), digits, 16));
		default:
			return make_text(digits);
	}
}

/* An order by columns of these types */
static SequenceOrder *
make_order(int ncolumns, const int *columns, const SequenceType *types)
{
	SequenceOrder *order = palloc0(sizeof(SequenceOrder));

	order->ncolumns = ncolumns;
	order->columns = palloc(ncolumns * sizeof(int));
	order->sort = palloc0(ncolumns * sizeof(SortSupportData));
	order->types = palloc(ncolumns * sizeof(Oid));
	order->typlen = palloc(ncolumns * sizeof(int16));
	order->typbyval = palloc(ncolumns * sizeof(bool));
	for (int i = 0; i < ncolumns; i++)
	{
		order->columns[i] = columns[i];
		order->sort[i].comparator = types[i].compare;
		order->sort[i].ssup_nulls_first = true;
		order->types[i] = types[i].type;
		order->typlen[i] = types[i].typlen;
		order->typbyval[i] = types[i].typbyval;
	}
	order->descending = below(4) == 0;
	return order;
}

/* sequence.field, of one column or of two */
static void
make_sequence(MergePlan *plan)
{
	const SequenceType *type = &sequence_types[below(lengthof(sequence_types))];
	const SequenceType two_types[] = {sequence_types[0], *type};
	const int	two_columns[] = {SECOND_SEQUENCE, SEQUENCE};

	round_.sequence_type = type->type;
	if (below(3) == 0)
		plan->sequence = make_order(2, two_columns, two_types);
	else
		plan->sequence = make_order(1, two_columns + 1, type);
	plan->columns[SEQUENCE].typlen = type->typlen;
	plan->columns[SEQUENCE].typbyval = type->typbyval;
	for (int i = 0; i < plan->sequence->ncolumns; i++)
		plan->columns[plan->sequence->columns[i]].sequence = true;
}

/* One sequence group, which may aggregate */
static void
make_group(MergePlan *plan)
{
	static const int group_column = GROUP_SEQUENCE;
	SequenceOrder *order = make_order(1, &group_column, sequence_types);

	plan->ngroups = 1;
	plan->groups = palloc0(sizeof(SequenceGroup));
	plan->groups[0].order = *order;
	plan->groups[0].ncolumns = 1;
	plan->groups[0].columns = palloc(sizeof(int));
	plan->groups[0].columns[0] = PROTECTED;
	plan->groups[0].removes = below(2) == 0;
	plan->columns[GROUP_SEQUENCE].group_sequence = 0;
	plan->columns[PROTECTED].group = 0;
}

/* Let a function fold a column */
static void
make_aggregator(MergePlan *plan, int c, const char *function)
{
	static SortSupportData text_order = {.comparator = compare_text};
	AggregatorColumn *aggregator = palloc0(sizeof(AggregatorColumn));

	aggregator->function = aggregator_find(function);
	aggregator->column = plan->columns[c].name;
	aggregator->type = c == BOOL ? BOOLOID : c == NUMBER ? INT8OID : TEXTOID;
	aggregator->typmod = -1;
	aggregator->typlen = plan->columns[c].typlen;
	aggregator->typbyval = plan->columns[c].typbyval;
	aggregator->order = aggregator->type == TEXTOID ? &text_order : NULL;
	aggregator->ignore_retract = below(2) == 0;
	aggregator->function->prepare(aggregator);
	plan->columns[c].aggregator = aggregator;
}

/* A result as it is, for a column with a typmod */
static Datum
coerce(PG_FUNCTION_ARGS)
{
	return datumCopy(PG_GETARG_DATUM(0), false, -1);
}

/* Functions for the columns of an aggregation table */
static void
make_aggregators(MergePlan *plan)
{
	static const char *const functions[] = {
		"last_value", "last_non_null_value", "first_value", "first_non_null_value"
	};
	static FmgrInfo coerce_function = {.fn_addr = coerce};

	/* a removal that comes late cannot bring back what was first after it */
	round_.removals = plan->sequence != NULL && below(3) == 0;
	for (int c = TEXT; c <= FOLDED; c++)
		make_aggregator(plan, c, functions[below(round_.removals ? 2 : lengthof(functions))]);
	if (round_.removals)
	{
		round_.retractions = false;
		plan->remove_on_delete = true;
		plan->ignore_delete = false;
		plan->rowkind = ROWKIND;
		plan->memory = MERGE_MEMORY_LOG;
		return;
	}
	make_aggregator(plan, BOOL, below(2) ? "bool_or" : "bool_and");
	make_aggregator(plan, NUMBER, "sum");
	if (below(2) == 0)
		make_aggregator(plan, FOLDED, "max");
	else if (plan->sequence != NULL && below(3) == 0)
	{
		make_aggregator(plan, FOLDED, "listagg");
		plan->memory = MERGE_MEMORY_LOG;
	}
	/* what a removal ends must be told from what comes later */
	if (plan->sequence != NULL && plan->remove_on_delete)
		plan->memory = MERGE_MEMORY_LOG;
	plan->columns[FOLDED].coerce = below(2) == 0 ? &coerce_function : NULL;
}

/* Nobody adopts versions here */
static Datum
refuse_versions(const MergePlan *plan, Datum value)
{
	ereport(ERROR, (errmsg("another table's versions")));
}

/* The columns as they are in every plan */
static void
make_columns(MergePlan *plan)
{
	bool		clears = below(3) == 0;

	plan->natts = NATTS;
	plan->columns = palloc0(NATTS * sizeof(MergeColumn));
	for (int c = 0; c < NATTS; c++)
	{
		MergeColumn *column = &plan->columns[c];

		column->name = names[c];
		column->key = c == KEY;
		column->dropped = c == DROPPED;
		column->group = -1;
		column->group_sequence = -1;
		column->null_clears = clears && below(2) == 0;
		column->typmod = -1;
		column->typbyval = c == KEY || c == SEQUENCE || c == NUMBER || c == GROUP_SEQUENCE || c == BOOL ||
			c == SECOND_SEQUENCE;
		column->typlen = c == BOOL ? 1 : column->typbyval ? sizeof(int64) : -1;
	}
}

static void
make_plan(void)
{
	static int	key = KEY;
	MergePlan  *plan = palloc0(sizeof(MergePlan));

	make_columns(plan);
	plan->engine = (MergeEngine) below(4);
	plan->table = "t";
	plan->relid = 4711;
	plan->nkeys = 1;
	plan->keys = &key;
	plan->rowkind = round_.retractions || below(2) ? ROWKIND : -1;
	plan->versions = -1;
	plan->carried = -1;
	plan->versions_adopt = refuse_versions;
	plan->ignore_delete = below(4) == 0;
	plan->ignore_update_before = below(4) == 0;
	plan->remove_on_delete = below(3) == 0;
	round_.sequence_type = INT8OID;
	if (plan->engine != MERGE_FIRST_ROW && below(6) > 0)
	{
		make_sequence(plan);
		plan->memory = MERGE_MEMORY_VERSIONS;
	}
	if (plan->engine == MERGE_PARTIAL_UPDATE && below(2) == 0)
	{
		make_group(plan);
		if (below(2) == 0)
			make_aggregator(plan, PROTECTED, round_.retractions ? "last_non_null_value" : "max");
	}
	else if (plan->engine == MERGE_PARTIAL_UPDATE && plan->sequence != NULL && !round_.retractions && below(2) == 0)
	{
		round_.removals = true;
		plan->remove_on_delete = true;
		plan->ignore_delete = false;
		plan->rowkind = ROWKIND;
	}
	if (plan->engine == MERGE_AGGREGATION)
		make_aggregators(plan);
	if (plan->engine == MERGE_AGGREGATION || plan->engine == MERGE_PARTIAL_UPDATE)
	{
		plan->carried = below(3) == 0 ? CARRIED : -1;
		plan->versions = plan->memory != MERGE_MEMORY_NONE && below(2) == 0 ? VERSIONS : -1;
	}
	round_.plan = plan;
	round_.order_free = plan->sequence != NULL && plan->memory != MERGE_MEMORY_LOG && !round_.retractions;
}

/* Which columns the statement names; NULL for all. */
static void
make_named(void)
{
	bool	   *named = palloc(NATTS * sizeof(bool));

	for (int c = 0; c < NATTS; c++)
		named[c] = c == KEY || c == SEQUENCE || c >= SECOND_SEQUENCE || c == GROUP_SEQUENCE || below(4) > 0;
	round_.named = below(2) == 0 ? NULL : named;
	round_.defaults = below(2) == 0;
}

/* The list of columns that a row carries, named ones; a group is carried whole */
static Datum
make_list(void)
{
	Datum		elements[NATTS];
	bool		nulls[NATTS] = {false};
	int			count = 0;
	bool		group = below(2) == 0;

	for (int c = TEXT; c <= FOLDED; c++)
	{
		if ((round_.named == NULL || round_.named[c]) &&
			(c == GROUP_SEQUENCE || c == PROTECTED ? group : below(3) > 0))
			elements[count++] = make_text(names[c]);
	}
	if (below(200) == 0)
		elements[count++] = make_text("elsewhere");
	else if (below(200) == 0)
		nulls[count++] = true;
	return make_array(TEXTOID, elements, nulls, count);
}

/* The n-th value of a column */
static Datum
make_value(int c, int n)
{
	static const char *const kinds[] = {"+I", "+u", "-U", "-d", "x"};
	char		text[64];

	switch (c)
	{
		case KEY:
			return Int64GetDatum(7);
		case SEQUENCE:
			return sequence_value(round_.sequence_type, n);
		case GROUP_SEQUENCE:
			return Int64GetDatum(100 * n);
		case SECOND_SEQUENCE:
			return Int64GetDatum(below(3));
		case BOOL:
			return BoolGetDatum(below(2) == 0);
		case NUMBER:
			return Int64GetDatum(n);
		case ROWKIND:
			return make_text(kinds[round_.retractions ? below(below(40) == 0 ? 5 : 4) :
								   round_.removals && below(5) == 0 ? 3 : below(2)]);
		case CARRIED:
			return make_list();
		default:
			snprintf(text, sizeof(text), "%d of %d", c, n);
			return make_text(text);
	}
}

/* Is there no value in this column of a row? */
static bool
is_null(int c)
{
	const MergePlan *plan = round_.plan;

	switch (c)
	{
		case KEY:
		case SEQUENCE:
			return false;
		case ROWKIND:
			return plan->rowkind < 0 || (round_.retractions && below(200) == 0);
		case VERSIONS:
		case DROPPED:
			return true;
		case CARRIED:
			return plan->carried < 0 || below(3) == 0;
		case GROUP_SEQUENCE:
		case SECOND_SEQUENCE:
			return below(4) == 0;
		default:
			return below(3) == 0;
	}
}

/* A row; its n makes its sequence values its own. */
static MergeRow *
make_row(int n)
{
	MergeRow   *row = palloc0(sizeof(MergeRow));

	row->values = palloc0(NATTS * sizeof(Datum));
	row->isnull = palloc0(NATTS * sizeof(bool));
	for (int c = 0; c < NATTS; c++)
	{
		if (round_.named != NULL && !round_.named[c])
		{
			/* the DEFAULT of a column is the same in all rows */
			row->isnull[c] = !round_.defaults || c == BOOL;
			if (!row->isnull[c])
				row->values[c] = make_value(c, 0);
			continue;
		}
		row->isnull[c] = is_null(c);
		if (!row->isnull[c])
			row->values[c] = make_value(c, n);
	}
	row->named = round_.named;
	row->arrival = n;
	merge_row_init(round_.plan, row);
	return row;
}

/* Apply rows in a random order, each of them or a copy. */
static void
apply_in_some_order(MergeState *state, MergeRow **rows, int nrows)
{
	const MergePlan *plan = round_.plan;
	int			order[MAX_ROWS];

	for (int i = 0; i < nrows; i++)
	{
		int			j = below(i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < nrows; i++)
	{
		MergeRow   *row = rows[order[i]];

		if (below(2) == 0)
			row = merge_row_copy(plan, row);
		merge_apply(plan, state, row);
		if (below(2) == 0)
			merge_row_free(plan, merge_row_copy(plan, row));
	}
}

static int
compare_rows(const void *a, const void *b)
{
	return merge_rows_compare(round_.plan, *(MergeRow *const *) a, *(MergeRow *const *) b);
}

/* Fold rows as a statement does that has them all */
static void
fold(MergeState *state, MergeRow **rows, int nrows)
{
	qsort(rows, nrows, sizeof(MergeRow *), compare_rows);
	merge_fold(round_.plan, state, rows, nrows);
}

static void
expect_equal(MergeState *a, MergeState *b, const char *what)
{
	const MergePlan *plan = round_.plan;
	bool		same = a->exists == b->exists;

	versions_store(plan, a);
	versions_store(plan, b);
	for (int c = 0; same && a->exists && c < NATTS; c++)
	{
		const MergeColumn *column = &plan->columns[c];

		/* the list of a row's columns is never stored */
		if (c == plan->carried)
			continue;
		same = a->isnull[c] == b->isnull[c] &&
			(a->isnull[c] || same_image(a->values[c], b->values[c], column->typbyval, column->typlen));
		if (!same)
			fprintf(stderr, "column %s differs\n", column->name);
	}
	if (!same)
	{
		fprintf(stderr, "engine %s: %s\n", merge_engine_name(plan->engine), what);
		exit(1);
	}
}

/* The stored row of a state, as the next statement finds it */
static MergeState *
stored_and_loaded(MergeState *state)
{
	MergeState *loaded = merge_state_create(round_.plan);
	Datum	   *values;
	bool	   *isnull;

	versions_store(round_.plan, state);
	if (state->exists)
	{
		merge_values_copy(round_.plan, state->values, state->isnull, &values, &isnull);
		merge_state_load(round_.plan, loaded, values, isnull);
	}
	return loaded;
}

/* The row of a state comes in as a row, with its versions */
static MergeRow *
row_of_state(MergeState *state)
{
	MergeRow   *row = palloc0(sizeof(MergeRow));

	versions_store(round_.plan, state);
	merge_values_copy(round_.plan, state->values, state->isnull, &row->values, &row->isnull);
	row->isnull[CARRIED] = true;
	row->arrival = MAX_ROWS + 1;
	merge_row_init(round_.plan, row);
	return row;
}

/* Rows that come in two statements, or as two copies of the key that meet */
static void
check_versions_column(MergeRow **rows, int nrows, MergeState *all)
{
	MergePlan  *plan = round_.plan;
	int			half = below(nrows + 1);
	MergeState *left = merge_state_create(plan);
	MergeState *right = merge_state_create(plan);
	MergeState *both;

	apply_in_some_order(left, rows, half);
	apply_in_some_order(right, rows + half, nrows - half);
	both = stored_and_loaded(left);
	apply_in_some_order(both, rows + half, nrows - half);
	/* a removal that leaves no row is remembered by tombstones, not here */
	if (round_.removals && !left->exists)
		return;
	if (round_.order_free)
		expect_equal(all, both, "in two statements, two rows");
	if (left->exists && right->exists)
	{
		MergeState *met = stored_and_loaded(left);

		merge_apply(plan, met, row_of_state(right));
		/* groups have no versions, and a sum of sums is more than their rows */
		if (round_.order_free && plan->engine == MERGE_PARTIAL_UPDATE && plan->ngroups == 0)
			expect_equal(all, met, "as two copies of the key, two rows");
	}
}

/* The same for rows that may remove, which are folded in order */
static void
check_removals(MergeRow **rows, int nrows, MergeState *all)
{
	MergePlan  *plan = round_.plan;
	int			half = below(nrows + 1);
	MergeRow   *mixed[MAX_ROWS];
	MergeRow   *copy;
	MergeState *left = merge_state_create(plan);
	MergeState *right = merge_state_create(plan);
	MergeState *both;

	for (int i = 0; i < nrows; i++)
	{
		int			j = below(i + 1);

		mixed[i] = mixed[j];
		mixed[j] = rows[i];
	}
	fold(left, mixed, half);
	fold(right, mixed + half, nrows - half);
	/* as above */
	if (!left->exists || !right->exists)
		return;
	both = stored_and_loaded(left);
	fold(both, mixed + half, nrows - half);
	expect_equal(all, both, "rows and removals in two statements, two rows");
	copy = row_of_state(right);
	both = stored_and_loaded(left);
	fold(both, &copy, 1);
	expect_equal(all, both, "two copies of the key with removals, two rows");
}

/* Spoil a versions value: it is refused, or says something else */
static void
check_broken_versions(MergeState *state)
{
	struct varlena *value;
	int			length;
	char	   *data;
	pg_crc32c	crc;

	versions_store(round_.plan, state);
	if (!state->exists || state->isnull[VERSIONS])
		return;
	value = (struct varlena *) DatumGetPointer(datumCopy(state->values[VERSIONS], false, -1));
	data = VARDATA_ANY(value);
	length = VARSIZE_ANY_EXHDR(value);
	for (int i = 1 + below(3); i > 0; i--)
		data[below(2) ? below(length) : length - 1 - below(Min(length, 12))] = (char) (below(2) ? random() : below(4));
	if (below(3) == 0)
		length = Max(1, below(length));
	if (length > 5 && below(4) > 0)
	{
		INIT_CRC32C(crc);
		COMP_CRC32C(crc, data + 5, length - 5);
		FIN_CRC32C(crc);
		memcpy(data + 1, &crc, sizeof(crc));
	}
	state->values[VERSIONS] = make_varlena(data, length);
	merge_state_load(round_.plan, merge_state_create(round_.plan), state->values, state->isnull);
}

/* Where the row says all, the next statement does what this one would do */
static void
check_plain(MergeState *state, int n)
{
	const MergePlan *plan = round_.plan;
	MergeState *loaded;
	MergeRow   *row;

	if (!state->exists || plan->memory == MERGE_MEMORY_LOG ||
		!merge_state_is_plain(plan, state, round_.named))
		return;
	loaded = stored_and_loaded(state);
	row = make_row(n);
	merge_apply(plan, state, row);
	merge_apply(plan, loaded, row);
	if (!round_.retractions)
		expect_equal(state, loaded, "called plain, and yet it knew more");
}

/* Keep the highest sequence as write buffers do, in a copy of their own */
static void
check_sequence_assign(MergeRow **rows, int nrows)
{
	SequenceValue owned = NULL;

	for (int i = 0; i < nrows && round_.plan->sequence != NULL; i++)
	{
		sequence_assign(round_.plan->sequence, &owned, rows[i]->sequence);
		sequence_assign(round_.plan->sequence, &owned, owned);
		if (sequence_compare(round_.plan->sequence, owned, rows[i]->sequence) != 0)
			abort();
	}
	if (round_.plan->sequence != NULL)
		sequence_assign(round_.plan->sequence, &owned, NULL);
}

static void
one_round(void)
{
	MergePlan  *plan;
	int			nrows = 1 + below(MAX_ROWS);
	MergeRow   *rows[MAX_ROWS];
	MergeState *first;
	MergeState *second;
	MergeState *folded;

	memset(&round_, 0, sizeof(round_));
	round_.retractions = below(3) == 0;
	make_plan();
	make_named();
	plan = round_.plan;
	for (int i = 0; i < nrows; i++)
		rows[i] = make_row(i + 1);
	check_sequence_assign(rows, nrows);
	first = merge_state_create(plan);
	second = merge_state_create(plan);
	folded = merge_state_create(plan);
	fold(folded, rows, nrows);
	if (plan->memory == MERGE_MEMORY_LOG)
	{
		if (round_.removals && plan->versions >= 0)
			check_removals(rows, nrows, folded);
		/* older rows and newer ones, in a second statement */
		folded = stored_and_loaded(folded);
		for (int i = 0; i < nrows; i++)
			rows[i] = make_row(below(2 * MAX_ROWS));
		fold(folded, rows, nrows);
		return;
	}
	apply_in_some_order(first, rows, nrows);
	apply_in_some_order(second, rows, nrows);
	if (round_.order_free)
	{
		expect_equal(first, second, "two orders of arrival, two rows");
		expect_equal(first, folded, "one by one and all at once, two rows");
	}
	if (plan->versions >= 0)
		check_versions_column(rows, nrows, first);
	check_plain(second, MAX_ROWS + 2 + below(4));
	if (plan->versions >= 0)
		check_broken_versions(first);
}

int
main(int argc, char **argv)
{
	long		rounds = argc > 1 ? atol(argv[1]) : 1000;

	srandom(argc > 2 ? atoi(argv[2]) : 1);
	for (volatile long i = 0; i < rounds; i++)
	{
		if (sigsetjmp(no_server_on_error, 0) == 0)
			one_round();
		no_server_reset();
	}
	printf("%ld rounds, %ld of them ended by an error\n", rounds, no_server_errors);
	return 0;
}
