/*
 * named_columns.h
 *	  Which columns of a table a statement names.
 */
#ifndef NAMED_COLUMNS_H
#define NAMED_COLUMNS_H

#include "postgres.h"

#include "access/target.h"
#include "commands/copyfrom_internal.h"
#include "nodes/bitmapset.h"

extern void named_columns_init(void);
extern bool *named_columns_of_insert(const MergePlan *plan, Bitmapset *columns);
extern bool *named_columns_of_copy(const MergePlan *plan, CopyFromState cstate);
extern bool *named_columns_of_portal(MergeTarget *target, Relation relation);

#endif							/* NAMED_COLUMNS_H */
