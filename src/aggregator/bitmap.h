/*
 * bitmap.h
 *	  Roaring bitmaps of 32-bit and 64-bit numbers, and their portable format.
 *
 * The numbers are unsigned.  A bitmap of 64-bit numbers ("wide") is made of
 * 32-bit ones, one for each value of the high half.
 */
#ifndef BITMAP_H
#define BITMAP_H

#include "postgres.h"

typedef struct Bitmap Bitmap;

/*
 * bitmap_create
 *		An empty bitmap that belongs to CurrentMemoryContext: what libroaring
 *		allocates for it is freed with the context, or by bitmap_free.
 */
extern Bitmap *bitmap_create(bool wide);
extern void bitmap_free(Bitmap *bitmap);

/*
 * bitmap_read
 *		Reads the portable format, from a value that is not toasted.  Raises
 *		ERRCODE_INVALID_BINARY_REPRESENTATION for anything that is not a whole,
 *		valid bitmap: what libroaring gets to see is checked before.
 */
extern Bitmap *bitmap_read(bool wide, struct varlena *value);

/*
 * bitmap_write
 *		The portable format, in CurrentMemoryContext.  Equal bitmaps have equal
 *		bytes, whatever they were made from.
 */
extern bytea *bitmap_write(Bitmap *bitmap);

extern bool bitmap_is_wide(const Bitmap *bitmap);
extern void bitmap_add(Bitmap *bitmap, uint64 value);

/* Adds all of "from", which is left empty, to "into" */
extern void bitmap_union(Bitmap *into, Bitmap *from);

extern bool bitmap_contains(const Bitmap *bitmap, uint64 value);
extern uint64 bitmap_cardinality(const Bitmap *bitmap);

/* Writes all numbers, in ascending order, to an array of the right size */
extern void bitmap_values(const Bitmap *bitmap, uint64 *values);

#endif							/* BITMAP_H */
