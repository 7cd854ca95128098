/*
 * listagg.c
 *	  listagg: the inputs one after another, with a delimiter between them.
 *
 * Options: list-agg-delimiter (a comma unless given), and distinct, which
 * adds only those tokens of an input that are not in the list yet.  Blank
 * inputs are skipped.  The value that starts the list is taken as it came,
 * also with distinct (SEMANTICS, rule 25).
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "compat_varlena.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

/* A piece of text inside a value. */
typedef struct Token
{
	const char *data;
	int			length;
} Token;

/* An element of the set of tokens that the list has. */
typedef struct TokenEntry
{
	Token		token;
	uint32		hash;
	char		status;
} TokenEntry;

#define SH_PREFIX token_set
#define SH_ELEMENT_TYPE TokenEntry
#define SH_KEY_TYPE Token
#define SH_KEY token
#define SH_HASH_KEY(tb, key) \
	hash_bytes((const unsigned char *) (key).data, (key).length)
#define SH_EQUAL(tb, a, b) \
	((a).length == (b).length && memcmp((a).data, (b).data, (a).length) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(tb, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* What prepare keeps in column->state. */
typedef struct ListaggState
{
	Token		delimiter;
	bool		distinct;
} ListaggState;

/* Check the type and read the options */
static void
listagg_prepare(AggregatorColumn *column)
{
	const char *delimiter = aggregator_option(column, "list-agg-delimiter");
	ListaggState *state;

	/* a limited length would make the list end at a length, with an error */
	if (column->type != TEXTOID &&
		(column->type != VARCHAROID || column->typmod >= 0))
		aggregator_refuse_type(column, "It takes text, and varchar without a length.");

	state = MemoryContextAlloc(column->context, sizeof(ListaggState));
	state->delimiter.data = MemoryContextStrdup(column->context,
												delimiter ? delimiter : ",");
	state->delimiter.length = strlen(state->delimiter.data);
	state->distinct = aggregator_bool_option(column, "distinct", false);
	column->state = state;

	if (state->distinct && state->delimiter.length == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"fields.%s.distinct\" needs a delimiter", column->column),
				 errdetail("With an empty \"fields.%s.list-agg-delimiter\" a list has no tokens.",
						   column->column)));
}

/* Is this Unicode code point white space? (No-break spaces are not.) */
static bool
is_white_space(pg_wchar code)
{
	return (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x20) ||
		code == 0x1680 ||
		(code >= 0x2000 && code <= 0x200A && code != 0x2007) ||
		code == 0x2028 || code == 0x2029 || code == 0x205F || code == 0x3000;
}

/* Is there nothing but white space in it? */
static bool
token_is_blank(Token token)
{
	const char *at = token.data;
	const char *end = token.data + token.length;
	bool		utf8 = (GetDatabaseEncoding() == PG_UTF8);

	while (at < end)
	{
		pg_wchar	code = (unsigned char) *at;

		if (IS_HIGHBIT_SET(*at))
		{
			/* other encodings' wider spaces are not known here */
			if (!utf8)
				return false;
			code = utf8_to_unicode((const unsigned char *) at);
		}
		if (!is_white_space(code))
			return false;
		at += pg_mblen(at);
	}
	return true;
}

/*
 * Cut the first token off "rest"; false when there is none left.
 *
 * A list of n delimiters has n + 1 tokens, empty ones included.  "rest" with
 * no data stands for the end.
 */
static bool
token_next(Token *rest, const Token *delimiter, Token *token)
{
	const char *at = rest->data;
	const char *end = rest->data + rest->length;

	if (rest->data == NULL)
		return false;

	/* every server encoding lets one search for bytes from a character on */
	while (end - at >= delimiter->length &&
		   memcmp(at, delimiter->data, delimiter->length) != 0)
		at += pg_mblen(at);

	token->data = rest->data;
	if (end - at >= delimiter->length)
	{
		token->length = at - rest->data;
		rest->data = at + delimiter->length;
		rest->length = end - rest->data;
	}
	else
	{
		token->length = rest->length;
		rest->data = NULL;
		rest->length = 0;
	}
	return true;
}

/* Add a piece to the list that is being made */
static void
list_append(AggregatorColumn *column, text **list, Size *allocated, Token piece)
{
	Size		used = VARSIZE(*list);
	Size		needed = used + piece.length;

	if (needed > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("list of column \"%s\" is too long", column->column),
				 errdetail("A value cannot be longer than 1 GB.")));
	if (needed > *allocated)
	{
		*allocated = Min(Max(needed, 2 * *allocated), MaxAllocSize);
		*list = repalloc(*list, *allocated);
	}
	memcpy((char *) *list + used, piece.data, piece.length);
	SET_VARSIZE(*list, needed);
}

/* Add those tokens of the input that are neither blank nor in the list */
static void
list_append_distinct(AggregatorColumn *column, text **list, Size *allocated,
					 Token accumulator, Token input)
{
	ListaggState *state = column->state;
	token_set_hash *tokens = token_set_create(CurrentMemoryContext, 64, NULL);
	Token		token;
	bool		found;

	while (token_next(&accumulator, &state->delimiter, &token))
	{
		CHECK_FOR_INTERRUPTS();
		token_set_insert(tokens, token, &found);
	}
	while (token_next(&input, &state->delimiter, &token))
	{
		CHECK_FOR_INTERRUPTS();
		if (token_is_blank(token))
			continue;
		token_set_insert(tokens, token, &found);
		if (found)
			continue;
		list_append(column, list, allocated, state->delimiter);
		list_append(column, list, allocated, token);
	}
	token_set_destroy(tokens);
}

/* Read a text value */
static Token
token_of_datum(Datum value)
{
	text	   *data = DatumGetTextPP(value);
	Token		token = {VARDATA_ANY(data), VARSIZE_ANY_EXHDR(data)};

	return token;
}

/* f(accumulator, input) = accumulator, delimiter, input */
static NullableDatum
listagg_combine(AggregatorColumn *column, NullableDatum accumulator, NullableDatum input)
{
	ListaggState *state = column->state;
	NullableDatum result = {0, false};
	Token		before;
	Token		added;
	text	   *list;
	Size		allocated;

	if (input.isnull)
		return accumulator;
	added = token_of_datum(input.value);
	if (token_is_blank(added))
		return accumulator;
	if (accumulator.isnull)
		return input;
	before = token_of_datum(accumulator.value);
	if (token_is_blank(before))
		return input;

	allocated = (Size) VARHDRSZ + before.length + state->delimiter.length + added.length;
	allocated = Min(allocated, MaxAllocSize);
	list = palloc(allocated);
	SET_VARSIZE(list, VARHDRSZ);
	list_append(column, &list, &allocated, before);
	if (state->distinct)
		list_append_distinct(column, &list, &allocated, before, added);
	else
	{
		list_append(column, &list, &allocated, state->delimiter);
		list_append(column, &list, &allocated, added);
	}

	/* nothing new: keep the image, so that nothing need be written */
	if (VARSIZE(list) == VARHDRSZ + before.length)
		return accumulator;
	result.value = PointerGetDatum(list);
	return result;
}

/* Without distinct, it only puts one list after the other */
static bool
listagg_grows(AggregatorColumn *column)
{
	return !((ListaggState *) column->state)->distinct;
}

static const char *const listagg_options[] = {"list-agg-delimiter", "distinct", NULL};

/*
 * Not associative: with distinct, a delimiter that overlaps itself ("--"
 * after a token that ends in "-") can split a joined list elsewhere than the
 * lists that it was joined from.
 */
const FieldAggregator listagg_aggregator = {
	.name = "listagg",
	.order = AGGREGATOR_IN_ORDER,
	.associative = false,
	.options = listagg_options,
	.prepare = listagg_prepare,
	.combine = listagg_combine,
	.grows = listagg_grows
};
