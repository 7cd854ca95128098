/*
 * stats_rows.h
 *	  The rows of merge_engine.stats_counters.
 */
#ifndef STATS_ROWS_H
#define STATS_ROWS_H

#include "postgres.h"

#include "utils/relcache.h"

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

extern void stats_rows_init(void);
extern Relation stats_rows_open(void);
extern void stats_rows_promise(Relation relation, Oid relid, const int64 *counters);
extern void stats_rows_keep_promises(void);
extern void stats_rows_write(Relation relation, Oid relid, const int64 *counters);
extern void stats_rows_abandon(void);
extern void stats_forget(Oid relid);

#endif							/* STATS_ROWS_H */
