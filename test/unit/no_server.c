/*
 * no_server.c
 *	  What parts of the source need of a server, where there is none.
 *
 * Functions that are PostgreSQL's have its names and do what they must do here,
 * not more: types are those that the harnesses use, the encoding is UTF-8.
 */
#include "postgres.h"

#include "no_server.h"

#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

typedef struct Block
{
	struct Block *next;
	void	   *memory;
	Size		size;
} Block;

MemoryContext CurrentMemoryContext = NULL;
volatile sig_atomic_t InterruptPending = false;

sigjmp_buf	no_server_on_error;
long		no_server_errors = 0;

static Block *blocks = NULL;
static MemoryContextCallback *callbacks = NULL;

/* Memory */

void *
palloc(Size size)
{
	Block	   *block = malloc(sizeof(Block));

	block->memory = malloc(size);
	block->size = size;
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

static Block *
block_of(void *pointer)
{
	for (Block *block = blocks; block != NULL; block = block->next)
	{
		if (block->memory == pointer)
			return block;
	}
	abort();
}

void
pfree(void *pointer)
{
	block_of(pointer)->memory = NULL;
	free(pointer);
}

void *
repalloc(void *pointer, Size size)
{
	void	   *result = palloc(size);

	memcpy(result, pointer, Min(size, block_of(pointer)->size));
	pfree(pointer);
	return result;
}

void *
repalloc_huge(void *pointer, Size size)
{
	return repalloc(pointer, size);
}

char *
pstrdup(const char *string)
{
	return strcpy(palloc(strlen(string) + 1), string);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return palloc(size);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return palloc0(size);
}

void *
MemoryContextAllocHuge(MemoryContext context, Size size)
{
	return palloc(size);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	return (flags & MCXT_ALLOC_ZERO) ? palloc0(size) : palloc(size);
}

char *
MemoryContextStrdup(MemoryContext context, const char *string)
{
	return pstrdup(string);
}

void
MemoryContextRegisterResetCallback(MemoryContext context, MemoryContextCallback *callback)
{
	callback->next = callbacks;
	callbacks = callback;
}

/* The end of all that was allocated */
void
no_server_reset(void)
{
	for (; callbacks != NULL; callbacks = callbacks->next)
		callbacks->func(callbacks->arg);
	while (blocks != NULL)
	{
		Block	   *next = blocks->next;

		free(blocks->memory);
		free(blocks);
		blocks = next;
	}
}

/* Errors */

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
	no_server_errors++;
	siglongjmp(no_server_on_error, 1);
}

int
errcode(int sqlerrcode)
{
	return 0;
}

/* Formats into nowhere, so that the arguments are read. */
#define FORMAT_AWAY(fmt) \
	do { \
		va_list		arguments; \
		char		buffer[256]; \
		va_start(arguments, fmt); \
		vsnprintf(buffer, sizeof(buffer), fmt, arguments); \
		va_end(arguments); \
	} while (0)

int
errmsg(const char *fmt,...)
{
	FORMAT_AWAY(fmt);
	return 0;
}

/* what cannot happen has happened */
int
errmsg_internal(const char *fmt,...)
{
	fprintf(stderr, "internal error: %s\n", fmt);
	abort();
}

int
errdetail(const char *fmt,...)
{
	FORMAT_AWAY(fmt);
	return 0;
}

int
errhint(const char *fmt,...)
{
	FORMAT_AWAY(fmt);
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

void
ProcessInterrupts(void)
{
}

void
float_overflow_error(void)
{
	errfinish(NULL, 0, NULL);
	abort();
}

void
float_underflow_error(void)
{
	float_overflow_error();
}

void
float_zero_divide_error(void)
{
	float_overflow_error();
}

/* Values */

/* A value with the long header, as results have it */
struct varlena *
pg_detoast_datum(struct varlena *value)
{
	if (!VARATT_IS_SHORT(value))
		return value;
	return (struct varlena *) DatumGetPointer(make_varlena(VARDATA_SHORT(value), VARSIZE_SHORT(value) - VARHDRSZ_SHORT));
}

struct varlena *
pg_detoast_datum_packed(struct varlena *value)
{
	return value;
}

/* The size of a value by reference */
static Size
image_size(Datum value, int typlen)
{
	return typlen > 0 ? typlen : VARSIZE_ANY(DatumGetPointer(value));
}

Size
datumGetSize(Datum value, bool typByVal, int typLen)
{
	return typByVal ? typLen : image_size(value, typLen);
}

Datum
datumCopy(Datum value, bool typByVal, int typLen)
{
	if (typByVal)
		return value;
	return PointerGetDatum(memcpy(palloc(image_size(value, typLen)), DatumGetPointer(value), image_size(value, typLen)));
}

bool
same_image(Datum a, Datum b, bool typbyval, int typlen)
{
	struct varlena *left = (struct varlena *) DatumGetPointer(a);
	struct varlena *right = (struct varlena *) DatumGetPointer(b);

	if (typbyval)
		return a == b;
	if (typlen > 0)
		return memcmp(left, right, typlen) == 0;
	return VARSIZE_ANY_EXHDR(left) == VARSIZE_ANY_EXHDR(right) &&
		memcmp(VARDATA_ANY(left), VARDATA_ANY(right), VARSIZE_ANY_EXHDR(left)) == 0;
}

bool
datum_image_eq(Datum value1, Datum value2, bool typByVal, int typLen)
{
	return same_image(value1, value2, typByVal, typLen);
}

Datum
make_varlena(const void *data, int length)
{
	char	   *value = palloc(VARHDRSZ + length);

	SET_VARSIZE(value, VARHDRSZ + length);
	memcpy(VARDATA(value), data, length);
	return PointerGetDatum(value);
}

/* A text as a row has it: with a short header half of the time */
Datum
make_text(const char *string)
{
	int			length = strlen(string);
	char	   *value;

	if (length + VARHDRSZ_SHORT > VARATT_SHORT_MAX || below(2) == 0)
		return make_varlena(string, length);
	value = palloc(VARHDRSZ_SHORT + length);
	SET_VARSIZE_SHORT(value, VARHDRSZ_SHORT + length);
	memcpy(VARDATA_SHORT(value), string, length);
	return PointerGetDatum(value);
}

char *
text_to_cstring(const text *t)
{
	int			length = VARSIZE_ANY_EXHDR(t);
	char	   *result = palloc(length + 1);

	memcpy(result, VARDATA_ANY(t), length);
	result[length] = '\0';
	return result;
}

char *
format_type_be(Oid type)
{
	return pstrdup("type");
}

char *
format_type_with_typemod(Oid type, int32 typmod)
{
	return pstrdup("type");
}

bool
parse_bool(const char *value, bool *result)
{
	*result = strcmp(value, "true") == 0;
	return *result || strcmp(value, "false") == 0;
}

int
GetDatabaseEncoding(void)
{
	return PG_UTF8;
}

int
pg_mblen(const char *mbstr)
{
	return pg_utf_mblen((const unsigned char *) mbstr);
}

/* Functions and types */

static Datum
equal_int(PG_FUNCTION_ARGS)
{
	return BoolGetDatum(PG_GETARG_DATUM(0) == PG_GETARG_DATUM(1));
}

static Datum
equal_text(PG_FUNCTION_ARGS)
{
	return BoolGetDatum(same_image(PG_GETARG_DATUM(0), PG_GETARG_DATUM(1), false, -1));
}

/* few values, so that unequal ones meet in a bucket */
static Datum
hash_text(PG_FUNCTION_ARGS)
{
	return UInt32GetDatum(VARSIZE_ANY_EXHDR(DatumGetPointer(PG_GETARG_DATUM(0))));
}

static Datum
hash_int(PG_FUNCTION_ARGS)
{
	return UInt32GetDatum(PG_GETARG_INT32(0) & 3);
}

/* int4 and text can be hashed, int8 compared only, and box neither */
TypeCacheEntry *
lookup_type_cache(Oid type_id, int flags)
{
	TypeCacheEntry *entry = palloc0(sizeof(TypeCacheEntry));

	entry->type_id = type_id;
	entry->typtype = 'b';
	get_typlenbyvalalign(type_id, &entry->typlen, &entry->typbyval, &entry->typalign);
	entry->typelem = get_element_type(type_id);
	if (type_id != BOXOID)
	{
		entry->eq_opr_finfo.fn_oid = 1;
		entry->eq_opr_finfo.fn_addr = type_id == TEXTOID ? equal_text : equal_int;
	}
	if (type_id == TEXTOID || type_id == INT4OID)
	{
		entry->hash_proc_finfo.fn_oid = 1;
		entry->hash_proc_finfo.fn_addr = type_id == TEXTOID ? hash_text : hash_int;
	}
	return entry;
}

Oid
get_element_type(Oid typid)
{
	switch (typid)
	{
		case INT4ARRAYOID:
			return INT4OID;
		case INT8ARRAYOID:
			return INT8OID;
		case TEXTARRAYOID:
			return TEXTOID;
		case BOXARRAYOID:
			return BOXOID;
		default:
			return InvalidOid;
	}
}

void
get_typlenbyvalalign(Oid typid, int16 *typlen, bool *typbyval, char *typalign)
{
	*typlen = typid == BOOLOID ? 1 : typid == INT2OID ? 2 : typid == INT4OID || typid == FLOAT4OID ? 4 :
		typid == INT8OID || typid == MONEYOID || typid == FLOAT8OID ? 8 : typid == BOXOID ? 32 : -1;
	*typbyval = *typlen > 0 && *typlen <= 8;
	*typalign = typid == BOOLOID ? TYPALIGN_CHAR : typid == INT2OID ? TYPALIGN_SHORT :
		*typlen >= 8 ? TYPALIGN_DOUBLE : TYPALIGN_INT;
}

void
fmgr_info_copy(FmgrInfo *dstinfo, FmgrInfo *srcinfo, MemoryContext destcxt)
{
	*dstinfo = *srcinfo;
}

/* Call a function with up to three arguments, none of them NULL */
static Datum
call(FmgrInfo *flinfo, Oid collation, int nargs, Datum a, Datum b, Datum c)
{
	LOCAL_FCINFO(fcinfo, 3);
	Datum		arguments[] = {a, b, c};

	InitFunctionCallInfoData(*fcinfo, flinfo, nargs, collation, NULL, NULL);
	for (int i = 0; i < nargs; i++)
	{
		fcinfo->args[i].value = arguments[i];
		fcinfo->args[i].isnull = false;
	}
	return flinfo->fn_addr(fcinfo);
}

Datum
FunctionCall1Coll(FmgrInfo *flinfo, Oid collation, Datum arg1)
{
	return call(flinfo, collation, 1, arg1, 0, 0);
}

Datum
FunctionCall2Coll(FmgrInfo *flinfo, Oid collation, Datum arg1, Datum arg2)
{
	return call(flinfo, collation, 2, arg1, arg2, 0);
}

Datum
FunctionCall3Coll(FmgrInfo *flinfo, Oid collation, Datum arg1, Datum arg2, Datum arg3)
{
	return call(flinfo, collation, 3, arg1, arg2, arg3);
}

/* Arrays: of one dimension, their elements as images one after another */

Datum
make_array(Oid type, Datum *values, bool *nulls, int count)
{
	int			lower_bound = 1;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	if (count == 0)
		return PointerGetDatum(construct_empty_array(type));
	return PointerGetDatum(construct_md_array(values, nulls, 1, &count, &lower_bound, type, typlen, typbyval, typalign));
}

ArrayType *
construct_empty_array(Oid elmtype)
{
	ArrayType  *array = palloc0(sizeof(ArrayType));

	SET_VARSIZE(array, sizeof(ArrayType));
	array->elemtype = elmtype;
	return array;
}

ArrayType *
construct_md_array(Datum *elems, bool *nulls, int ndims, int *dims, int *lbs,
				   Oid elmtype, int elmlen, bool elmbyval, char elmalign)
{
	Size		size = ARR_OVERHEAD_WITHNULLS(1, dims[0]);
	ArrayType  *array;
	char	   *at;

	for (int i = 0; i < dims[0]; i++)
		size += nulls[i] ? 0 : MAXALIGN(datumGetSize(elems[i], elmbyval, elmlen));
	array = palloc0(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = ARR_OVERHEAD_WITHNULLS(1, dims[0]);
	array->elemtype = elmtype;
	ARR_DIMS(array)[0] = dims[0];
	ARR_LBOUND(array)[0] = lbs[0];
	at = ARR_DATA_PTR(array);
	for (int i = 0; i < dims[0]; i++)
	{
		if (nulls[i])
			continue;
		ARR_NULLBITMAP(array)[i / 8] |= 1 << i % 8;
		if (elmbyval)
			memcpy(at, &elems[i], sizeof(Datum));
		else
			memcpy(at, DatumGetPointer(elems[i]), image_size(elems[i], elmlen));
		at += MAXALIGN(datumGetSize(elems[i], elmbyval, elmlen));
	}
	return array;
}

void
deconstruct_array(ArrayType *array, Oid elmtype, int elmlen, bool elmbyval, char elmalign,
				  Datum **elemsp, bool **nullsp, int *nelemsp)
{
	int			count = array->ndim == 0 ? 0 : ARR_DIMS(array)[0];
	char	   *at = ARR_DATA_PTR(array);

	if (array->elemtype != elmtype)
		abort();
	*elemsp = palloc0(count * sizeof(Datum));
	*nullsp = palloc0(count * sizeof(bool));
	*nelemsp = count;
	for (int i = 0; i < count; i++)
	{
		(*nullsp)[i] = (ARR_NULLBITMAP(array)[i / 8] & (1 << i % 8)) == 0;
		if ((*nullsp)[i])
			continue;
		(*elemsp)[i] = elmbyval ? *(Datum *) at : PointerGetDatum(at);
		at += MAXALIGN(datumGetSize((*elemsp)[i], elmbyval, elmlen));
	}
}

/* A number below a limit */
int
below(int limit)
{
	return random() % limit;
}
