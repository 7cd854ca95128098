/*
 * explain.h
 *	  What would happen if a row came now.
 */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "postgres.h"

#include "merge/merge.h"

/* The merge of one row, before and after. */
typedef struct Explanation
{
	const MergePlan *plan;
	MergeRow	row;			/* the incoming row */
	bool		found;			/* is there a stored row? */
	const MergeState *before;
	const MergeState *after;
} Explanation;

/* explain_words.c */
extern char *explain_outcome(const Explanation *explanation, const char **outcome);
extern char *explain_reason(const Explanation *explanation, int c);

#endif							/* EXPLAIN_H */
