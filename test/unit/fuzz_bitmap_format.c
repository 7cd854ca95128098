/*
 * fuzz_bitmap_format.c
 *	  Throws bytes at the check of the roaring format, without a server.
 *
 * usage: fuzz_bitmap_format ROUNDS [SEED]
 *
 * Each round makes a bitmap, writes it, and spoils the bytes: cuts them off,
 * changes some, puts hostile lengths in, or takes random ones.  What the
 * check lets through must be sound: it must be read again, united with
 * another bitmap, and written to bytes that pass the check too.  Built with
 * the address sanitizer, and each input in a block of its own size, so that
 * one byte read too many ends the run.
 */
#include "postgres.h"

#include <roaring/roaring.h>

#include "aggregator/bitmap_format.h"
#include "miscadmin.h"

#define MAX_MEMBERS 20000

/* what the server would bring */
volatile sig_atomic_t InterruptPending = false;

void
ProcessInterrupts(void)
{
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
static uint32
below(uint32 limit)
{
	return (((uint32) random() << 16) ^ (uint32) random()) % limit;
}

/* A bitmap with arrays, sets of bits and runs */
static roaring_bitmap_t *
make_bitmap(void)
{
	roaring_bitmap_t *bitmap = roaring_bitmap_create();
	uint32		spread = 1u << (4 + below(28));

	for (uint32 n = below(below(8) == 0 ? MAX_MEMBERS : 300); n > 0; n--)
		roaring_bitmap_add(bitmap, below(spread));
	for (uint32 n = below(4); n > 0; n--)
	{
		uint32		first = below(spread);

		roaring_bitmap_add_range_closed(bitmap, first, first + below(3000));
	}
	if (below(2))
		roaring_bitmap_run_optimize(bitmap);
	return bitmap;
}

/* Spoil bytes, in place; the length that is left */
static size_t
spoil(char *data, size_t length)
{
	switch (below(5))
	{
		case 0:					/* cut off */
			return below(length + 1);
		case 1:					/* change some bytes */
			for (uint32 n = 1 + below(4); n > 0; n--)
				data[below(length)] = (char) random();
			return length;
		case 2:					/* change the header only */
			data[below(Min(length, 24))] ^= 1 << below(8);
			return length;
		case 3:					/* hostile lengths */
			for (uint32 n = 1 + below(3); n > 0; n--)
			{
				size_t		at = below(length);
				size_t		size = 1 + below(4);

				memset(data + at, below(2) ? 0xFF : 0, Min(length - at, size));
			}
			return length;
		default:				/* random bytes behind a good cookie */
			for (size_t i = 4; i < length; i++)
				data[i] = (char) random();
			return length;
	}
}

/* Do with accepted bytes what the extension does */
static bool
use(const char *data, size_t length)
{
	roaring_bitmap_t *bitmap = roaring_bitmap_portable_deserialize_safe(data, length);
	roaring_bitmap_t *other = make_bitmap();
	roaring_bitmap_t *undecided = roaring_bitmap_create();
	const char *problem = NULL;
	uint64		cardinality;
	size_t		size;
	char	   *image;
	bool		sound;

	if (bitmap == NULL)
	{
		fprintf(stderr, "libroaring refuses what the check accepts\n");
		return false;
	}
	roaring_bitmap_or_inplace(bitmap, other);
	roaring_bitmap_run_optimize(bitmap);
	cardinality = roaring_bitmap_get_cardinality(bitmap);
	size = roaring_bitmap_portable_size_in_bytes(bitmap);
	image = malloc(size);
	roaring_bitmap_portable_serialize(bitmap, image);
	sound = bitmap_format_check(image, size, &problem) == size;
	if (!sound)
		fprintf(stderr, "the check refuses what libroaring wrote: %s\n", problem);
	if (sound && bitmap_format_undecided(image, size, undecided))
	{
		roaring_bitmap_andnot_inplace(bitmap, undecided);
		roaring_bitmap_or_inplace(bitmap, undecided);
		sound = roaring_bitmap_get_cardinality(bitmap) == cardinality;
	}
	free(image);
	roaring_bitmap_free(undecided);
	roaring_bitmap_free(other);
	roaring_bitmap_free(bitmap);
	return sound;
}

int
main(int argc, char **argv)
{
	int			rounds = argc > 1 ? atoi(argv[1]) : 10000;
	unsigned seed = argc > 2 ? atoi(argv[2]) : 1;
	int			accepted = 0;

	srandom(seed);
	for (int round = 0; round < rounds; round++)
	{
		roaring_bitmap_t *bitmap = make_bitmap();
		size_t		length = roaring_bitmap_portable_size_in_bytes(bitmap);
		char	   *data = malloc(length);
		const char *problem = NULL;
		size_t		used;
		char	   *exact;

		roaring_bitmap_portable_serialize(bitmap, data);
		roaring_bitmap_free(bitmap);
		if (bitmap_format_check(data, length, &problem) != length)
		{
			fprintf(stderr, "round %d of seed %u: a good bitmap is refused: %s\n",
					round, seed, problem);
			return 1;
		}
		length = spoil(data, length);
		exact = malloc(Max(length, 1));
		memcpy(exact, data, length);
		free(data);

		used = bitmap_format_check(exact, length, &problem);
		if (used > length || (used == 0 && problem == NULL) ||
			(used > 0 && !use(exact, used)))
		{
			fprintf(stderr, "round %d of seed %u fails\n", round, seed);
			return 1;
		}
		accepted += used > 0;
		free(exact);
	}
	if (accepted == 0)
	{
		fprintf(stderr, "nothing was ever accepted\n");
		return 1;
	}
	return 0;
}
