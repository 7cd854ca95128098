/*
 * key_fold.h
 *	  Fold the rows of one key while they wait to be merged.
 */
#ifndef KEY_FOLD_H
#define KEY_FOLD_H

#include "postgres.h"

#include "merge/merge.h"

/* The rows of one key, folded. */
typedef struct KeyFold
{
	MergeRow   *row;			/* engines that keep one row as it came */
	MergeState *state;			/* engines that fold columns */
	uint64		arrival;		/* of the first row */
	const bool *named;			/* of all rows */
} KeyFold;

extern bool key_fold_is_possible(const MergePlan *plan, const bool *named);
extern void key_fold_add(const MergePlan *plan, KeyFold *fold, MergeState *scratch,
						 const MergeRow *row, MemoryContext context);
extern const Datum *key_fold_values(const KeyFold *fold);
extern int	key_fold_rows(const MergePlan *plan, const KeyFold *fold,
						  MergeRow ***rows);

#endif							/* KEY_FOLD_H */
