/*
 * nearest_name.h
 *	  The known name nearest to a mistyped one, for error hints.
 */
#ifndef NEAREST_NAME_H
#define NEAREST_NAME_H

#include "postgres.h"

typedef struct NearestName
{
	const char *source;			/* what the user wrote */
	const char *match;			/* the nearest candidate so far, or NULL */
	int			distance;		/* its edit distance */
} NearestName;

/*
 * nearest_name_start
 *		Begins a search for the name nearest to source.  Afterwards offer every
 *		known name; match is then the nearest one, or NULL when none is near
 *		enough to be worth a hint.  The strings are not copied.
 */
extern void nearest_name_start(NearestName *nearest, const char *source);
extern void nearest_name_offer(NearestName *nearest, const char *candidate);

#endif							/* NEAREST_NAME_H */
