/*
 * elements.c
 *	  Equality of array elements, and finding equal ones fast.
 *
 * An index is a hash table of chains.  Types that cannot be hashed all land
 * in one chain: slow, and right.
 */
#include "postgres.h"

#include "aggregator/elements.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/typcache.h"

typedef struct IndexEntry
{
	Datum	   *values;
	bool	   *nulls;
	uint32		hash;
	int			next;			/* in the same bucket, or -1 */
} IndexEntry;

struct ElementIndex
{
	const Equality *equalities;
	int			nmembers;
	bool		hashed;
	uint32		mask;			/* number of buckets, minus one */
	int		   *buckets;		/* number of the first entry, or -1 */
	int			nentries;
	IndexEntry *entries;
};

/* Copy a function's call information, so that its cache is our own */
static FmgrInfo *
copy_function(FmgrInfo *function, MemoryContext context)
{
	FmgrInfo   *copy = MemoryContextAlloc(context, sizeof(FmgrInfo));

	fmgr_info_copy(copy, function, context);
	return copy;
}

/* Fill in the default equality of a type */
void
equality_init(Equality *equality, Oid type, Oid collation, MemoryContext context)
{
	TypeCacheEntry *entry;

	entry = lookup_type_cache(type, TYPECACHE_EQ_OPR_FINFO | TYPECACHE_HASH_PROC_FINFO);
	equality->typlen = entry->typlen;
	equality->typbyval = entry->typbyval;
	equality->collation = collation;
	equality->equal = NULL;
	equality->hash = NULL;

	if (OidIsValid(entry->eq_opr_finfo.fn_oid))
	{
		equality->equal = copy_function(&entry->eq_opr_finfo, context);
		if (OidIsValid(entry->hash_proc_finfo.fn_oid))
			equality->hash = copy_function(&entry->hash_proc_finfo, context);
	}
	else if (entry->typtype == TYPTYPE_COMPOSITE)
	{
		/* the image of a row is that of its members */
		equality->equal = MemoryContextAlloc(context, sizeof(FmgrInfo));
		fmgr_info_cxt(F_RECORD_IMAGE_EQ, equality->equal, context);
	}
}

/* Compare two values, neither of them NULL */
static bool
values_equal(const Equality *equality, Datum left, Datum right)
{
	if (equality->equal == NULL)
		return datum_image_eq(left, right, equality->typbyval, equality->typlen);
	return DatumGetBool(FunctionCall2Coll(equality->equal, equality->collation,
										  left, right));
}

/* Compare two keys; NULL equals NULL */
static bool
keys_equal(const ElementIndex *index, const IndexEntry *entry,
		   const Datum *values, const bool *nulls)
{
	for (int i = 0; i < index->nmembers; i++)
	{
		if (entry->nulls[i] != nulls[i])
			return false;
		if (!nulls[i] &&
			!values_equal(&index->equalities[i], entry->values[i], values[i]))
			return false;
	}
	return true;
}

/* Hash a key; 0 for all of them where a member cannot be hashed */
static uint32
key_hash(const ElementIndex *index, const Datum *values, const bool *nulls)
{
	uint32		hash = 0;

	if (!index->hashed)
		return 0;
	for (int i = 0; i < index->nmembers; i++)
	{
		const Equality *equality = &index->equalities[i];
		uint32		member = 0;

		if (!nulls[i])
			member = DatumGetUInt32(FunctionCall1Coll(equality->hash, equality->collation,
													  values[i]));
		hash = hash_combine(hash, member);
	}
	return hash;
}

/* Make an empty index */
ElementIndex *
element_index_create(const Equality *equalities, int nmembers, int capacity)
{
	ElementIndex *index = palloc(sizeof(ElementIndex));
	Size		nbuckets = 1;

	index->equalities = equalities;
	index->nmembers = nmembers;
	index->hashed = true;
	for (int i = 0; i < nmembers; i++)
		index->hashed = index->hashed && equalities[i].hash != NULL;
	if (index->hashed)
		nbuckets = pg_nextpower2_32(Max(capacity, 1));
	index->mask = nbuckets - 1;
	index->buckets = MemoryContextAllocHuge(CurrentMemoryContext, nbuckets * sizeof(int));
	memset(index->buckets, -1, nbuckets * sizeof(int));
	index->nentries = 0;
	index->entries = MemoryContextAllocHuge(CurrentMemoryContext,
											Max(capacity, 1) * sizeof(IndexEntry));
	return index;
}

/* Look a key with this hash up in its chain */
static int
chain_find(ElementIndex *index, uint32 hash, Datum *values, bool *nulls)
{
	for (int i = index->buckets[hash & index->mask]; i >= 0; i = index->entries[i].next)
	{
		CHECK_FOR_INTERRUPTS();
		if (index->entries[i].hash == hash &&
			keys_equal(index, &index->entries[i], values, nulls))
			return i;
	}
	return -1;
}

/* Add a key unless it is there */
int
element_index_add(ElementIndex *index, Datum *values, bool *nulls, bool *found)
{
	uint32		hash = key_hash(index, values, nulls);
	int			number = chain_find(index, hash, values, nulls);
	IndexEntry *entry;

	*found = (number >= 0);
	if (*found)
		return number;

	number = index->nentries++;
	entry = &index->entries[number];
	entry->values = values;
	entry->nulls = nulls;
	entry->hash = hash;
	entry->next = index->buckets[hash & index->mask];
	index->buckets[hash & index->mask] = number;
	return number;
}

/* Look a key up */
int
element_index_find(ElementIndex *index, Datum *values, bool *nulls)
{
	return chain_find(index, key_hash(index, values, nulls), values, nulls);
}

/* Take an array apart */
Elements
elements_read(const ElementType *type, Datum array)
{
	ArrayType  *value = DatumGetArrayTypeP(array);
	Elements	elements;

	deconstruct_array(value, type->type, type->typlen, type->typbyval, type->typalign,
					  &elements.values, &elements.nulls, &elements.count);
	elements.plain = (ARR_NDIM(value) == 0 ||
					  (ARR_NDIM(value) == 1 && ARR_LBOUND(value)[0] == 1));
	return elements;
}

/* Make an array */
Datum
elements_make(const ElementType *type, Datum *values, bool *nulls, int count)
{
	int			lower_bound = 1;

	if (count == 0)
		return PointerGetDatum(construct_empty_array(type->type));
	return PointerGetDatum(construct_md_array(values, nulls, 1, &count, &lower_bound,
											  type->type, type->typlen,
											  type->typbyval, type->typalign));
}
