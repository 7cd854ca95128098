/*
 * words.h
 *	  A table's rules in words, for describe and explain_merge.
 */
#ifndef WORDS_H
#define WORDS_H

#include "postgres.h"

#include "merge/merge.h"

/* The part that a column plays. */
typedef enum ColumnRole
{
	ROLE_KEY,
	ROLE_SEQUENCE,
	ROLE_GROUP_SEQUENCE,
	ROLE_GROUP,					/* protected by a sequence group */
	ROLE_ROWKIND,
	ROLE_VERSIONS,
	ROLE_COLUMNS,				/* lists a row's columns */
	ROLE_GENERATED,
	ROLE_VALUE
} ColumnRole;

extern ColumnRole words_role(const MergePlan *plan, int c);
extern const char *words_role_name(ColumnRole role);
extern bool words_has_version(const MergePlan *plan, int c);
extern char *words_order_columns(const MergePlan *plan, const SequenceOrder *order);
extern char *words_sequence(const SequenceOrder *order, SequenceValue value);

#endif							/* WORDS_H */
