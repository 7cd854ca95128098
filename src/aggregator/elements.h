/*
 * elements.h
 *	  Equality of array elements, and finding equal ones fast.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/array.h"

/* How values of one type are told apart. */
typedef struct Equality
{
	int16		typlen;
	bool		typbyval;
	Oid			collation;
	FmgrInfo   *equal;			/* NULL: the images are compared */
	FmgrInfo   *hash;			/* NULL: the type cannot be hashed */
} Equality;

/* The elements of an array, nested dimensions laid out flat. */
typedef struct Elements
{
	int			count;
	Datum	   *values;
	bool	   *nulls;
	bool		plain;			/* one dimension from 1 on, or empty */
} Elements;

/* What an element type says of itself. */
typedef struct ElementType
{
	Oid			type;
	int16		typlen;
	bool		typbyval;
	char		typalign;
} ElementType;

typedef struct ElementIndex ElementIndex;

/*
 * equality_init
 *		Fills in the default equality of a type: of its btree or hash operator
 *		class, or, where it has none, that of images.  What must live as long
 *		is allocated in the given context.
 */
extern void equality_init(Equality *equality, Oid type, Oid collation,
						  MemoryContext context);

/*
 * element_index_create
 *		An empty index, in CurrentMemoryContext, of up to "capacity" entries.
 *		A key has one value for each equality; NULL equals NULL.
 */
extern ElementIndex *element_index_create(const Equality *equalities, int nmembers,
										  int capacity);

/*
 * element_index_add
 *		Adds a key unless it is there, and tells its number: keys are numbered
 *		from 0 in the order they were added.  The index points at the arrays
 *		that it was given.
 */
extern int	element_index_add(ElementIndex *index, Datum *values, bool *nulls,
							  bool *found);

/*
 * element_index_find
 *		The number of a key, or -1.
 */
extern int	element_index_find(ElementIndex *index, Datum *values, bool *nulls);

/*
 * elements_read
 *		The elements of an array value, allocated in CurrentMemoryContext.
 */
extern Elements elements_read(const ElementType *type, Datum array);

/*
 * elements_make
 *		A one-dimensional array of these elements, in CurrentMemoryContext.
 */
extern Datum elements_make(const ElementType *type, Datum *values, bool *nulls,
						   int count);

#endif							/* ELEMENTS_H */
