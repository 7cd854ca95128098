/*
 * upsert.h
 *	  Find the stored row, merge, write, index.
 */
#ifndef UPSERT_H
#define UPSERT_H

#include "postgres.h"

#include "access/hio.h"
#include "access/statement.h"

/* What became of a row's key. */
typedef enum UpsertOutcome
{
	UPSERT_INSERTED,
	UPSERT_UPDATED,
	UPSERT_UNCHANGED,			/* the stored row stays as it is */
	UPSERT_REMOVED,
	UPSERT_NOTHING				/* there is no row, and there was none */
} UpsertOutcome;

extern UpsertOutcome upsert_row(MergeTarget *target, Relation relation,
								TupleTableSlot *slot, CommandId cid,
								int options, BulkInsertState bistate);

#endif							/* UPSERT_H */
