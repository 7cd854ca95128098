/*
 * stats.h
 *	  What has been done to each merge table, counted.
 */
#ifndef STATS_H
#define STATS_H

#include "postgres.h"

#include "access/upsert.h"

/* The counters of a table, in the order of merge_engine.stats_counters. */
typedef enum StatsCounter
{
	STATS_STATEMENTS,
	STATS_ROWS_IN,
	STATS_INSERTED,
	STATS_MERGED,
	STATS_UNCHANGED,
	STATS_LATE_IGNORED,
	STATS_DELETES_APPLIED,
	STATS_DELETES_IGNORED,
	STATS_RETRACTIONS,
	STATS_COUNTERS
} StatsCounter;

extern bool stats_tracked;

extern void stats_init(void);
extern void stats_count(Oid relid, StatsCounter counter, int64 n);
extern void stats_count_row(MergeTarget *target);
extern void stats_count_key(const Upsert *upsert);
extern void stats_forget(Oid relid);

#endif							/* STATS_H */
