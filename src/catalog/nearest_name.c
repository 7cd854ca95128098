/*
 * nearest_name.c
 *	  The known name nearest to a mistyped one, for error hints.
 */
#include "postgres.h"

#include "catalog/nearest_name.h"
#include "utils/varlena.h"

/* The longest name, in bytes, that PostgreSQL's edit distance takes. */
#define NEAREST_NAME_MAX 255

/* Begin a search. */
void
nearest_name_start(NearestName *nearest, const char *source)
{
	int			length = strlen(source);

	nearest->source = source;
	nearest->match = NULL;
	/* more than a third of the name wrong is not a slip of the pen */
	nearest->distance = Max(2, Min(length / 3, 8)) + 1;
}

/* Keep the candidate if it is nearer than the best one so far. */
void
nearest_name_offer(NearestName *nearest, const char *candidate)
{
	int			source_length = strlen(nearest->source);
	int			length = strlen(candidate);
	int			distance;

	if (source_length == 0 || source_length > NEAREST_NAME_MAX ||
		length == 0 || length > NEAREST_NAME_MAX)
		return;

	distance = varstr_levenshtein_less_equal(nearest->source, source_length,
											 candidate, length,
											 1, 1, 1,
											 nearest->distance - 1, true);
	if (distance < nearest->distance && distance < Max(source_length, length))
	{
		nearest->match = candidate;
		nearest->distance = distance;
	}
}
