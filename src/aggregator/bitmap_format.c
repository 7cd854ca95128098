/*
 * bitmap_format.c
 *	  The portable format of a 32-bit roaring bitmap, byte by byte.
 *
 * The format: a cookie, which says whether there are containers of runs; the
 * number of containers; with runs, one bit a container that tells which ones
 * are; for each container the high 16 bits of its numbers and how many there
 * are, minus one; the offsets of the containers, but not with runs and fewer
 * than four of them; and the containers.  A container is a list of runs, or
 * a sorted array, or, above 4096 numbers, a set of 65536 bits.
 *
 * Bytes come from anywhere, so nothing is believed: each length is checked
 * before it is used, and each order and count that libroaring relies on.
 */
#include "postgres.h"

#include <roaring/roaring.h>

#include "aggregator/bitmap_format.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#define COOKIE_WITHOUT_RUNS 12346
#define COOKIE_WITH_RUNS 12347	/* in its low 16 bits */
#define MAX_CONTAINERS 65536
#define MAX_ARRAY 4096			/* more numbers are a set of bits */
#define BITSET_BYTES 8192
#define OFFSETS_FROM 4			/* containers, when there are runs */

/* The beginning of a bitmap. */
typedef struct BitmapHeader
{
	uint32		ncontainers;
	const char *run_flags;		/* NULL: no container has runs */
	const char *descriptions;	/* four bytes a container */
	const char *offsets;		/* four bytes a container, or NULL */
	Size		size;
} BitmapHeader;

/* Read two bytes */
static uint16
get_uint16(const char *data)
{
	const unsigned char *bytes = (const unsigned char *) data;

	return bytes[0] | (bytes[1] << 8);
}

/* Read four bytes */
uint32
bitmap_format_uint32(const char *data)
{
	return get_uint16(data) | ((uint32) get_uint16(data + 2) << 16);
}

/* Read eight bytes */
uint64
bitmap_format_uint64(const char *data)
{
	return bitmap_format_uint32(data) | ((uint64) bitmap_format_uint32(data + 4) << 32);
}

/* Write a number */
char *
bitmap_format_put(char *at, uint64 value, int size)
{
	for (int i = 0; i < size; i++)
		*at++ = (char) (value >> (8 * i));
	return at;
}

/* Read the header; false when the data ends in it or it is none */
static bool
header_read(const char *data, Size length, BitmapHeader *header, const char **problem)
{
	uint32		cookie;
	bool		has_runs;
	Size		used = sizeof(uint32);
	Size		needed;

	*problem = "It ends too early.";
	if (length < used)
		return false;
	cookie = bitmap_format_uint32(data);
	has_runs = ((cookie & 0xFFFF) == COOKIE_WITH_RUNS);
	if (has_runs)
		header->ncontainers = (cookie >> 16) + 1;
	else if (cookie == COOKIE_WITHOUT_RUNS)
	{
		if (length - used < sizeof(uint32))
			return false;
		header->ncontainers = bitmap_format_uint32(data + used);
		used += sizeof(uint32);
	}
	else
	{
		*problem = "It does not begin like one.";
		return false;
	}
	if (header->ncontainers > MAX_CONTAINERS)
	{
		*problem = "It has too many containers.";
		return false;
	}

	needed = 4 * (Size) header->ncontainers;
	header->run_flags = NULL;
	if (has_runs)
	{
		Size		flag_bytes = (header->ncontainers + 7) / 8;

		if (length - used < flag_bytes)
			return false;
		header->run_flags = data + used;
		used += flag_bytes;
	}
	if (length - used < needed)
		return false;
	header->descriptions = data + used;
	used += needed;
	header->offsets = NULL;
	if (!has_runs || header->ncontainers >= OFFSETS_FROM)
	{
		if (length - used < needed)
			return false;
		header->offsets = data + used;
		used += needed;
	}
	header->size = used;
	return true;
}

/* Tell whether a container is one of runs */
static bool
header_is_run(const BitmapHeader *header, uint32 container)
{
	return header->run_flags != NULL &&
		(header->run_flags[container / 8] & (1 << (container % 8))) != 0;
}

/* Check a list of runs: sorted, apart, and as many numbers as announced */
static Size
runs_check(const char *data, Size length, uint32 cardinality, const char **problem)
{
	uint32		nruns;
	uint32		total = 0;
	uint32		next = 0;		/* the lowest number that may come */

	*problem = "It ends too early.";
	if (length < sizeof(uint16))
		return 0;
	nruns = get_uint16(data);
	if ((length - sizeof(uint16)) / 4 < nruns)
		return 0;
	for (uint32 i = 0; i < nruns; i++)
	{
		uint32		first = get_uint16(data + 2 + 4 * i);
		uint32		last = first + get_uint16(data + 4 + 4 * i);

		*problem = "Its runs overlap, or are not in ascending order.";
		if (first < next || last > PG_UINT16_MAX)
			return 0;
		total += last - first + 1;
		next = last + 1;
	}
	*problem = "A container has another number of members than its header says.";
	return total == cardinality ? sizeof(uint16) + 4 * (Size) nruns : 0;
}

/* Check a sorted array */
static Size
array_check(const char *data, Size length, uint32 cardinality, const char **problem)
{
	*problem = "It ends too early.";
	if (length / 2 < cardinality)
		return 0;
	*problem = "An array in it is not in ascending order.";
	for (uint32 i = 1; i < cardinality; i++)
	{
		if (get_uint16(data + 2 * i) <= get_uint16(data + 2 * (i - 1)))
			return 0;
	}
	return 2 * (Size) cardinality;
}

/* Check a set of bits */
static Size
bitset_check(const char *data, Size length, uint32 cardinality, const char **problem)
{
	*problem = "It ends too early.";
	if (length < BITSET_BYTES)
		return 0;
	*problem = "A container has another number of members than its header says.";
	return pg_popcount(data, BITSET_BYTES) == cardinality ? BITSET_BYTES : 0;
}

/* Check the bitmap at the beginning of the data */
Size
bitmap_format_check(const char *data, Size length, const char **problem)
{
	BitmapHeader header;
	Size		used;

	if (!header_read(data, length, &header, problem))
		return 0;
	used = header.size;
	for (uint32 i = 0; i < header.ncontainers; i++)
	{
		uint32		key = get_uint16(header.descriptions + 4 * i);
		uint32		cardinality = get_uint16(header.descriptions + 4 * i + 2) + 1;
		Size		size;

		if ((i & 0xFF) == 0)
			CHECK_FOR_INTERRUPTS();
		*problem = "Its containers are not in ascending order.";
		if (i > 0 && key <= get_uint16(header.descriptions + 4 * (i - 1)))
			return 0;
		*problem = "An offset in it is wrong.";
		if (header.offsets != NULL && bitmap_format_uint32(header.offsets + 4 * i) != used)
			return 0;
		if (header_is_run(&header, i))
			size = runs_check(data + used, length - used, cardinality, problem);
		else if (cardinality <= MAX_ARRAY)
			size = array_check(data + used, length - used, cardinality, problem);
		else
			size = bitset_check(data + used, length - used, cardinality, problem);
		if (size == 0)
			return 0;
		used += size;
	}
	return used;
}

/* Collect the numbers of runs that might as well be arrays */
bool
bitmap_format_undecided(const char *data, Size length,
						struct roaring_bitmap_s *undecided)
{
	BitmapHeader header;
	const char *problem;
	bool		any = false;
	Size		used;

	if (!header_read(data, length, &header, &problem) || header.run_flags == NULL)
		return false;
	used = header.size;
	for (uint32 i = 0; i < header.ncontainers; i++)
	{
		uint32		high = (uint32) get_uint16(header.descriptions + 4 * i) << 16;
		uint32		cardinality = get_uint16(header.descriptions + 4 * i + 2) + 1;
		uint32		nruns;

		if (!header_is_run(&header, i))
		{
			used += cardinality <= MAX_ARRAY ? 2 * cardinality : BITSET_BYTES;
			continue;
		}
		nruns = get_uint16(data + used);
		if (cardinality == 2 * nruns)
		{
			for (uint32 j = 0; j < nruns; j++)
			{
				uint32		first = get_uint16(data + used + 2 + 4 * j);
				uint32		last = first + get_uint16(data + used + 4 + 4 * j);

				for (uint32 low = first; low <= last; low++)
					roaring_bitmap_add(undecided, high | low);
			}
			any = true;
		}
		used += sizeof(uint16) + 4 * (Size) nruns;
	}
	return any;
}
