/*
 * bitmap.c
 *	  Roaring bitmaps of 32-bit and 64-bit numbers.
 *
 * libroaring does the set operations.  Two things it does not do for us:
 *
 * It trusts what it reads, so that unsorted or overlapping containers would
 * make it write outside its arrays.  bitmap_format.c checks every byte before.
 *
 * It writes equal sets in different ways, since a container keeps its form
 * when another one takes the same room.  A merge must not depend on the order
 * of its inputs, so bitmap_write settles that.
 *
 * libroaring allocates with malloc: each bitmap is freed by a callback of the
 * memory context that it belongs to, also after an error.
 */
#include "postgres.h"

#include <roaring/roaring.h>

#include "aggregator/bitmap.h"
#include "aggregator/bitmap_format.h"
#include "compat_varlena.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* The numbers with one high half. */
typedef struct BitmapPart
{
	uint32		high;			/* 0 unless the bitmap is wide */
	roaring_bitmap_t *low;
} BitmapPart;

struct Bitmap
{
	MemoryContextCallback callback;
	MemoryContext context;
	bool		wide;
	Size		nparts;
	Size		allocated;
	BitmapPart *parts;			/* in ascending order */
};

/* Report that libroaring got no memory */
static void
out_of_memory(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("out of memory"),
			 errdetail("Failed on a roaring bitmap.")));
}

/* Free what libroaring allocated */
void
bitmap_free(Bitmap *bitmap)
{
	for (Size i = 0; i < bitmap->nparts; i++)
	{
		if (bitmap->parts[i].low != NULL)
			roaring_bitmap_free(bitmap->parts[i].low);
	}
	bitmap->nparts = 0;
}

/* Free a bitmap with its memory context */
static void
bitmap_callback(void *arg)
{
	bitmap_free((Bitmap *) arg);
}

/* Make an empty bitmap */
Bitmap *
bitmap_create(bool wide)
{
	Bitmap	   *bitmap = palloc0(sizeof(Bitmap));

	bitmap->wide = wide;
	bitmap->context = CurrentMemoryContext;
	bitmap->allocated = 1;
	bitmap->parts = palloc(sizeof(BitmapPart));
	bitmap->callback.func = bitmap_callback;
	bitmap->callback.arg = bitmap;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &bitmap->callback);
	return bitmap;
}

/* Make room for a number of parts */
static void
bitmap_reserve(Bitmap *bitmap, Size nparts)
{
	if (nparts <= bitmap->allocated)
		return;
	nparts = Max(nparts, 2 * bitmap->allocated);
	bitmap->parts = repalloc_huge(bitmap->parts, nparts * sizeof(BitmapPart));
	bitmap->allocated = nparts;
}

/* Find the part with this high half, or the place where it belongs */
static Size
bitmap_search(const Bitmap *bitmap, uint32 high, bool *found)
{
	Size		from = 0;
	Size		to = bitmap->nparts;

	while (from < to)
	{
		Size		middle = from + (to - from) / 2;

		if (bitmap->parts[middle].high < high)
			from = middle + 1;
		else
			to = middle;
	}
	*found = (from < bitmap->nparts && bitmap->parts[from].high == high);
	return from;
}

/* Tell whether the numbers have 64 bits */
bool
bitmap_is_wide(const Bitmap *bitmap)
{
	return bitmap->wide;
}

/* Add a number */
void
bitmap_add(Bitmap *bitmap, uint64 value)
{
	uint32		high = (uint32) (value >> 32);
	bool		found;
	Size		place = bitmap_search(bitmap, high, &found);

	if (!found)
	{
		roaring_bitmap_t *low;

		bitmap_reserve(bitmap, bitmap->nparts + 1);
		low = roaring_bitmap_create();
		if (low == NULL)
			out_of_memory();
		memmove(&bitmap->parts[place + 1], &bitmap->parts[place],
				(bitmap->nparts - place) * sizeof(BitmapPart));
		bitmap->parts[place].high = high;
		bitmap->parts[place].low = low;
		bitmap->nparts++;
	}
	roaring_bitmap_add(bitmap->parts[place].low, (uint32) value);
}

/* Move all numbers of one bitmap to another */
void
bitmap_union(Bitmap *into, Bitmap *from)
{
	Size		total = into->nparts + from->nparts;
	BitmapPart *merged = MemoryContextAllocHuge(into->context,
												Max(total, 1) * sizeof(BitmapPart));
	Size		i = 0;
	Size		j = 0;
	Size		n = 0;

	/* no error may come in between: each part has one owner at a time */
	while (i < into->nparts || j < from->nparts)
	{
		if (j == from->nparts ||
			(i < into->nparts && into->parts[i].high < from->parts[j].high))
			merged[n++] = into->parts[i++];
		else if (i == into->nparts || from->parts[j].high < into->parts[i].high)
			merged[n++] = from->parts[j++];
		else
		{
			roaring_bitmap_or_inplace(into->parts[i].low, from->parts[j].low);
			roaring_bitmap_free(from->parts[j++].low);
			merged[n++] = into->parts[i++];
		}
	}
	from->nparts = 0;
	pfree(into->parts);
	into->parts = merged;
	into->nparts = n;
	into->allocated = Max(total, 1);
}

/* Tell whether a bitmap has a number */
bool
bitmap_contains(const Bitmap *bitmap, uint64 value)
{
	bool		found;
	Size		place = bitmap_search(bitmap, (uint32) (value >> 32), &found);

	return found && roaring_bitmap_contains(bitmap->parts[place].low, (uint32) value);
}

/* Count the numbers */
uint64
bitmap_cardinality(const Bitmap *bitmap)
{
	uint64		cardinality = 0;

	for (Size i = 0; i < bitmap->nparts; i++)
		cardinality += roaring_bitmap_get_cardinality(bitmap->parts[i].low);
	return cardinality;
}

/* List the numbers */
void
bitmap_values(const Bitmap *bitmap, uint64 *values)
{
	for (Size i = 0; i < bitmap->nparts; i++)
	{
		roaring_bitmap_t *low = bitmap->parts[i].low;
		uint64		count = roaring_bitmap_get_cardinality(low);
		uint32	   *halves = MemoryContextAllocHuge(CurrentMemoryContext,
													Max(count, 1) * sizeof(uint32));

		CHECK_FOR_INTERRUPTS();
		roaring_bitmap_to_uint32_array(low, halves);
		for (uint64 j = 0; j < count; j++)
			*values++ = ((uint64) bitmap->parts[i].high << 32) | halves[j];
		pfree(halves);
	}
}

/* Read one part, and tell how many bytes it took */
static Size
part_read(Bitmap *bitmap, uint32 high, const char *data, Size length,
		  const char **problem)
{
	Size		used = bitmap_format_check(data, length, problem);
	roaring_bitmap_t *low;

	if (used == 0)
		return 0;
	bitmap_reserve(bitmap, bitmap->nparts + 1);
	low = roaring_bitmap_portable_deserialize_safe(data, used);
	if (low == NULL)
		out_of_memory();
	bitmap->parts[bitmap->nparts].high = high;
	bitmap->parts[bitmap->nparts].low = low;
	bitmap->nparts++;
	return used;
}

/* Read all parts of a wide bitmap: a count, then pairs of high half and part */
static Size
wide_read(Bitmap *bitmap, const char *data, Size length, const char **problem)
{
	uint64		count;
	Size		used = sizeof(uint64);

	*problem = "It ends too early.";
	if (length < used)
		return 0;
	count = bitmap_format_uint64(data);
	for (uint64 i = 0; i < count; i++)
	{
		uint32		high;
		Size		part;

		CHECK_FOR_INTERRUPTS();
		*problem = "It ends too early.";
		if (length - used < sizeof(uint32))
			return 0;
		high = bitmap_format_uint32(data + used);
		used += sizeof(uint32);
		*problem = "Its high halves are not in ascending order.";
		if (i > 0 && high <= bitmap->parts[i - 1].high)
			return 0;
		part = part_read(bitmap, high, data + used, length - used, problem);
		if (part == 0)
			return 0;
		used += part;
	}
	return used;
}

/* Read the portable format */
Bitmap *
bitmap_read(bool wide, struct varlena *value)
{
	Bitmap	   *bitmap = bitmap_create(wide);
	const char *data = VARDATA_ANY(value);
	Size		length = VARSIZE_ANY_EXHDR(value);
	const char *problem = NULL;
	Size		used;

	if (wide)
		used = wide_read(bitmap, data, length, &problem);
	else
		used = part_read(bitmap, 0, data, length, &problem);
	if (used > 0 && used < length)
	{
		problem = "It has bytes after its end.";
		used = 0;
	}
	if (used == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("invalid roaring bitmap of %d-bit numbers", wide ? 64 : 32),
				 errdetail("%s", problem)));
	return bitmap;
}

/* Write the low halves of a part in the one form that its set has */
static Size
part_settle(BitmapPart *part, char **image)
{
	Size		size;
	roaring_bitmap_t *undecided;

	roaring_bitmap_run_optimize(part->low);
	size = roaring_bitmap_portable_size_in_bytes(part->low);
	*image = MemoryContextAllocHuge(CurrentMemoryContext, size);
	roaring_bitmap_portable_serialize(part->low, *image);

	/*
	 * A container of runs of two numbers each takes the same room as an
	 * array, and stays what it is.  Make it an array: taken out and put in
	 * again, its numbers come back as one.
	 */
	undecided = roaring_bitmap_create();
	if (undecided == NULL)
		out_of_memory();
	if (bitmap_format_undecided(*image, size, undecided))
	{
		roaring_bitmap_andnot_inplace(part->low, undecided);
		roaring_bitmap_or_inplace(part->low, undecided);
		size = roaring_bitmap_portable_size_in_bytes(part->low);
		roaring_bitmap_free(undecided);
		*image = repalloc_huge(*image, size);
		roaring_bitmap_portable_serialize(part->low, *image);
	}
	else
		roaring_bitmap_free(undecided);
	return size;
}

/* Write the portable format */
bytea *
bitmap_write(Bitmap *bitmap)
{
	Size		nparts = 0;
	Size		size = VARHDRSZ + (bitmap->wide ? sizeof(uint64) : 0);
	Size	   *sizes;
	char	  **images;
	char	   *at;
	bytea	   *result;

	/* an empty one still has its part, unless it is wide */
	if (!bitmap->wide && bitmap->nparts == 0)
	{
		bitmap->parts[0].high = 0;
		bitmap->parts[0].low = roaring_bitmap_create();
		if (bitmap->parts[0].low == NULL)
			out_of_memory();
		bitmap->nparts = 1;
	}

	sizes = MemoryContextAllocHuge(CurrentMemoryContext, (bitmap->nparts + 1) * sizeof(Size));
	images = MemoryContextAllocHuge(CurrentMemoryContext, (bitmap->nparts + 1) * sizeof(char *));
	for (Size i = 0; i < bitmap->nparts; i++)
	{
		CHECK_FOR_INTERRUPTS();
		sizes[i] = 0;
		if (bitmap->wide && roaring_bitmap_is_empty(bitmap->parts[i].low))
			continue;
		sizes[i] = part_settle(&bitmap->parts[i], &images[i]);
		size += sizes[i] + (bitmap->wide ? sizeof(uint32) : 0);
		nparts++;
	}
	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("roaring bitmap is too large"),
				 errdetail("A value cannot be larger than 1 GB.")));

	result = palloc(size);
	SET_VARSIZE(result, size);
	at = VARDATA(result);
	if (bitmap->wide)
		at = bitmap_format_put(at, nparts, sizeof(uint64));
	for (Size i = 0; i < bitmap->nparts; i++)
	{
		if (sizes[i] == 0)
			continue;
		if (bitmap->wide)
			at = bitmap_format_put(at, bitmap->parts[i].high, sizeof(uint32));
		memcpy(at, images[i], sizes[i]);
		at += sizes[i];
		pfree(images[i]);
	}
	pfree(images);
	pfree(sizes);
	return result;
}
