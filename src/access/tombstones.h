/*
 * tombstones.h
 *	  What is remembered of removed keys.
 */
#ifndef TOMBSTONES_H
#define TOMBSTONES_H

#include "postgres.h"

#include "access/key_scan.h"
#include "access/target.h"
#include "storage/itemptr.h"

/* The open table of tombstones. */
typedef struct Tombstones Tombstones;

/* What is known of a key without a row. */
typedef struct Tombstone
{
	bool		found;
	bool		cleared;		/* we have deleted it, and know its sequence */
	ItemPointerData tid;
	SequenceValue removed;		/* the sequence of the newest removal */
} Tombstone;

/* May a tombstone stay that is written, but can still be taken back? */
typedef bool (*TombstoneCheck) (void *arg);

extern Tombstones *tombstones_begin(const MergeTarget *target);
extern void tombstones_end(Tombstones *tombstones);
extern void tombstone_read(MergeTarget *target, Tombstones *open, const Datum *values,
						   Tombstone *tombstone);
extern SequenceValue tombstone_peek(Relation relation, const MergePlan *plan,
									const Datum *values);
extern bool tombstone_clear(MergeTarget *target, Tombstones *open, const Datum *values,
							const Tombstone *known, KeyHolder *busy);
extern bool tombstone_write(MergeTarget *target, Tombstones *open, const Datum *values,
							SequenceValue removed, TombstoneCheck check, void *arg);
extern void tombstones_forget(Oid relid);
extern int64 tombstones_purge(Oid relid, TimestampTz before);

#endif							/* TOMBSTONES_H */
