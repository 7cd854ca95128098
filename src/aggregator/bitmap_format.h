/*
 * bitmap_format.h
 *	  The portable format of a 32-bit roaring bitmap, byte by byte.
 */
#ifndef BITMAP_FORMAT_H
#define BITMAP_FORMAT_H

#include "postgres.h"

struct roaring_bitmap_s;

/*
 * bitmap_format_check
 *		The number of bytes that the bitmap at the beginning of the data takes;
 *		0 when there is no valid one, and then *problem, a whole sentence, says
 *		why.  Reads nothing past "length".
 */
extern Size bitmap_format_check(const char *data, Size length, const char **problem);

/*
 * bitmap_format_undecided
 *		Adds to a bitmap the numbers of those containers of runs that would
 *		take as much room as arrays; whether there are any.  The data must be
 *		valid.
 */
extern bool bitmap_format_undecided(const char *data, Size length,
									struct roaring_bitmap_s *undecided);

/* Numbers are little-endian, wherever they stand */
extern uint32 bitmap_format_uint32(const char *data);
extern uint64 bitmap_format_uint64(const char *data);

/* Writes a number of "size" bytes, and tells where it ends */
extern char *bitmap_format_put(char *at, uint64 value, int size);

#endif							/* BITMAP_FORMAT_H */
