/*
 * stats.h
 *	  What has been done to each merge table, counted.
 */
#ifndef STATS_H
#define STATS_H

#include "postgres.h"

#include "access/stats_rows.h"
#include "access/upsert.h"

extern bool stats_tracked;

extern void stats_init(void);
extern void stats_count(Oid relid, StatsCounter counter, int64 n);
extern void stats_count_row(MergeTarget *target);
extern void stats_count_key(const Upsert *upsert);

#endif							/* STATS_H */
