/*
 * fuzz_merge_rules.c
 *	  Random rules and rows for src/merge, without a server.
 *
 * usage: fuzz_merge_rules ROUNDS [SEED]
 *
 * Each round compiles a random plan by hand, makes rows with distinct sequence
 * values, and applies them in two random orders, with their versions
 * remembered, and folds them in a third way.  The rules do not depend on the
 * order then, so the rows that come out must be the same.  Rounds with
 * retractions only look for errors of memory: every value is a block of its
 * own, under the address sanitizer.
 */
#include "postgres.h"

#include <setjmp.h>

#include "merge/merge.h"
#include "utils/memutils.h"

#define NATTS 8
#define WIDTH 16				/* of values by reference */
#define MAX_ROWS 12

extern const FieldAggregator last_value_aggregator;
extern const FieldAggregator last_non_null_value_aggregator;
extern const FieldAggregator first_value_aggregator;
extern const FieldAggregator first_non_null_value_aggregator;
extern const FieldAggregator bool_or_aggregator;
extern const FieldAggregator bool_and_aggregator;

/* What the server would bring: memory, which lives as long as a round. */
MemoryContext CurrentMemoryContext = NULL;

typedef struct Block
{
	struct Block *next;
	void	   *memory;
} Block;

static Block *blocks = NULL;
static sigjmp_buf on_error;
static long errors = 0;

void *
palloc(Size size)
{
	Block	   *block = malloc(sizeof(Block));

	block->memory = malloc(size);
	memset(block->memory, 0x7f, size);
	block->next = blocks;
	blocks = block;
	return block->memory;
}

void *
palloc0(Size size)
{
	return memset(palloc(size), 0, size);
}

void
pfree(void *pointer)
{
	for (Block *block = blocks; block != NULL; block = block->next)
	{
		if (block->memory == pointer)
		{
			free(pointer);
			block->memory = NULL;
			return;
		}
	}
	abort();
}

static void
free_all(void)
{
	while (blocks != NULL)
	{
		Block	   *next = blocks->next;

		free(blocks->memory);
		free(blocks);
		blocks = next;
	}
}

Datum
datumCopy(Datum value, bool typByVal, int typLen)
{
	return typByVal ? value : PointerGetDatum(memcpy(palloc(typLen), DatumGetPointer(value), typLen));
}

/* Errors end a round. */
bool
errstart_cold(int elevel, const char *domain)
{
	return true;
}

bool
errstart(int elevel, const char *domain)
{
	return true;
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	errors++;
	siglongjmp(on_error, 1);
}

int
errcode(int sqlerrcode)
{
	return 0;
}

int
errmsg(const char *fmt,...)
{
	return 0;
}

int
errdetail(const char *fmt,...)
{
	return 0;
}

int
errhint(const char *fmt,...)
{
	return 0;
}

#ifdef USE_ASSERT_CHECKING
#if PG_VERSION_NUM >= 160000
void
ExceptionalCondition(const char *condition, const char *file, int line)
#else
void
ExceptionalCondition(const char *condition, const char *type, const char *file, int line)
#endif
{
	fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
	abort();
}
#endif

/* A number below a limit */
static int
below(int limit)
{
	return random() % limit;
}

static int
compare_int(Datum a, Datum b, SortSupport sort)
{
	return (DatumGetInt64(a) > DatumGetInt64(b)) - (DatumGetInt64(a) < DatumGetInt64(b));
}

static SortSupportData int_sort = {.comparator = compare_int, .ssup_nulls_first = true};
static int16 int_len = sizeof(int64);
static bool int_by_value = true;

/* An order by one column */
static void
make_order(SequenceOrder *order, int *column)
{
	order->ncolumns = 1;
	order->columns = column;
	order->sort = &int_sort;
	order->typlen = &int_len;
	order->typbyval = &int_by_value;
	order->descending = below(4) == 0;
}

static bool
is_by_reference(int c)
{
	return c == 2 || c == 5 || c == 7;
}

/*
 * Columns: 0 the key, 1 sequence.field, 2 and 3 plain, 4 a group's sequence,
 * 5 what it protects, 6 and 7 with functions under aggregation.
 */
static MergePlan *
make_plan(void)
{
	static int	key = 0;
	static int	sequence_column = 1;
	static int	group_column = 4;
	static int	protected_column = 5;
	const FieldAggregator *functions[] = {
		&last_value_aggregator, &last_non_null_value_aggregator,
		&first_value_aggregator, &first_non_null_value_aggregator
	};
	MergePlan  *plan = palloc0(sizeof(MergePlan));

	plan->engine = (MergeEngine) below(4);
	plan->table = "t";
	plan->natts = NATTS;
	plan->columns = palloc0(NATTS * sizeof(MergeColumn));
	plan->nkeys = 1;
	plan->keys = &key;
	plan->rowkind = -1;
	plan->versions = -1;
	plan->carried = -1;
	plan->ignore_delete = below(4) == 0;
	plan->ignore_update_before = below(4) == 0;
	plan->remove_on_delete = below(3) == 0;
	if (plan->engine != MERGE_FIRST_ROW)
	{
		plan->sequence = palloc0(sizeof(SequenceOrder));
		make_order(plan->sequence, &sequence_column);
		plan->memory = MERGE_MEMORY_VERSIONS;
	}
	if (plan->engine == MERGE_PARTIAL_UPDATE && below(2) == 0)
	{
		plan->ngroups = 1;
		plan->groups = palloc0(sizeof(SequenceGroup));
		make_order(&plan->groups[0].order, &group_column);
		plan->groups[0].ncolumns = 1;
		plan->groups[0].columns = &protected_column;
		plan->groups[0].removes = below(2) == 0;
	}
	for (int c = 0; c < NATTS; c++)
	{
		MergeColumn *column = &plan->columns[c];

		column->name = "c";
		column->key = c == 0;
		column->sequence = c == 1 && plan->sequence != NULL;
		column->group = c == 5 && plan->ngroups > 0 ? 0 : -1;
		column->group_sequence = c == 4 && plan->ngroups > 0 ? 0 : -1;
		column->typmod = -1;
		column->typlen = is_by_reference(c) ? WIDTH : sizeof(int64);
		column->typbyval = !is_by_reference(c);
		if (plan->engine == MERGE_AGGREGATION && c > 1)
		{
			AggregatorColumn *aggregator = palloc0(sizeof(AggregatorColumn));

			aggregator->function = c == 6 ?
				(below(2) ? &bool_or_aggregator : &bool_and_aggregator) : functions[below(4)];
			aggregator->column = "c";
			aggregator->typlen = column->typlen;
			aggregator->typbyval = column->typbyval;
			aggregator->ignore_retract = below(2) == 0;
			column->aggregator = aggregator;
		}
	}
	return plan;
}

/* Which columns the statement names; NULL for all. */
static bool *
make_named(void)
{
	bool	   *named = palloc(NATTS * sizeof(bool));

	if (below(2) == 0)
		return NULL;
	for (int c = 0; c < NATTS; c++)
		named[c] = c <= 1 || c == 4 || below(4) > 0;
	return named;
}

/* A row; its n makes its sequence values its own. */
static MergeRow *
make_row(const MergePlan *plan, const bool *named, int n, bool retractions)
{
	MergeRow   *row = palloc0(sizeof(MergeRow));

	row->values = palloc0(NATTS * sizeof(Datum));
	row->isnull = palloc0(NATTS * sizeof(bool));
	for (int c = 0; c < NATTS; c++)
	{
		row->isnull[c] = c > 1 && (below(3) == 0 || (named != NULL && !named[c]));
		if (row->isnull[c])
			continue;
		if (is_by_reference(c))
		{
			char	   *value = palloc0(WIDTH);

			snprintf(value, WIDTH, "%d of %d", c, n);
			row->values[c] = PointerGetDatum(value);
		}
		else if (c == 0)
			row->values[c] = Int64GetDatum(7);
		else if (c == 6)
			row->values[c] = BoolGetDatum(below(2) == 0);
		else
			row->values[c] = Int64GetDatum(c == 1 || c == 4 ? 100 * n : n);
	}
	row->named = named;
	row->arrival = n;
	merge_row_init(plan, row);
	row->kind = retractions ? (RowKind) below(4) : below(2) ? ROWKIND_INSERT : ROWKIND_UPDATE_AFTER;
	return row;
}

/* Apply copies of the rows in a random order; each is freed after its use. */
static MergeState *
apply_in_some_order(const MergePlan *plan, MergeRow **rows, int nrows)
{
	MergeState *state = merge_state_create(plan);
	int			order[MAX_ROWS];

	merge_state_clear(plan, state);
	for (int i = 0; i < nrows; i++)
	{
		int			j = below(i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < nrows; i++)
	{
		if (!merge_ignores(plan, rows[order[i]]))
			merge_apply(plan, state, rows[order[i]]);
	}
	return state;
}

static const MergePlan *sorting_plan;

static int
compare_rows(const void *a, const void *b)
{
	return merge_rows_compare(sorting_plan, *(MergeRow *const *) a, *(MergeRow *const *) b);
}

static void
expect_equal(const MergePlan *plan, const MergeState *a, const MergeState *b, const char *what)
{
	bool		same = a->exists == b->exists;

	for (int c = 0; same && a->exists && c < NATTS; c++)
	{
		same = a->isnull[c] == b->isnull[c] &&
			(a->isnull[c] || (is_by_reference(c) ?
							  memcmp(DatumGetPointer(a->values[c]), DatumGetPointer(b->values[c]), WIDTH) == 0 :
							  a->values[c] == b->values[c]));
		if (!same)
			fprintf(stderr, "column %d differs\n", c);
	}
	if (!same)
	{
		fprintf(stderr, "engine %s: %s\n", merge_engine_name(plan->engine), what);
		exit(1);
	}
}

static void
one_round(void)
{
	MergePlan  *plan = make_plan();
	bool	   *named = make_named();
	bool		retractions = below(3) == 0;
	int			nrows = 1 + below(MAX_ROWS);
	MergeRow   *rows[MAX_ROWS];
	MergeState *first;
	MergeState *second;
	MergeState *folded;

	for (int i = 0; i < nrows; i++)
		rows[i] = make_row(plan, named, i + 1, retractions);
	first = apply_in_some_order(plan, rows, nrows);
	second = apply_in_some_order(plan, rows, nrows);
	folded = merge_state_create(plan);
	merge_state_clear(plan, folded);
	sorting_plan = plan;
	qsort(rows, nrows, sizeof(MergeRow *), compare_rows);
	merge_fold(plan, folded, rows, nrows);

	/* which row was first only the order of arrival knows */
	if (!retractions && plan->engine != MERGE_FIRST_ROW)
	{
		expect_equal(plan, first, second, "two orders of arrival, two rows");
		expect_equal(plan, first, folded, "one by one and all at once, two rows");
	}
	/* what a stored row becomes is loaded again and goes on */
	if (first->exists)
	{
		MergeState *loaded = merge_state_create(plan);

		merge_state_load(plan, loaded, first->values, first->isnull);
		merge_apply(plan, loaded, make_row(plan, named, nrows + 1, retractions));
	}
}

int
main(int argc, char **argv)
{
	long		rounds = argc > 1 ? atol(argv[1]) : 1000;

	srandom(argc > 2 ? atoi(argv[2]) : 1);
	for (volatile long i = 0; i < rounds; i++)
	{
		if (sigsetjmp(on_error, 0) == 0)
			one_round();
		free_all();
	}
	printf("%ld rounds, %ld of them ended by an error\n", rounds, errors);
	return 0;
}
