/*
 * merge_engine.c
 *	  Module load: settings and hooks, nothing else.
 */
#include "postgres.h"

#include "access/merge_tableam.h"
#include "access/statement.h"
#include "access/stats.h"
#include "access/write_buffer.h"
#include "catalog/ddl.h"
#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	ddl_init();
	merge_tableam_init();
	statement_init();
	stats_init();
	DefineCustomIntVariable("merge_engine.write_buffer",
							"Sets the memory in which the rows of a statement wait to be merged.",
							"Rows beyond it wait in temporary files; the result is the same.",
							&write_buffer_size,
							65536, 64, MAX_KILOBYTES,
							PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("merge_engine.track_stats",
							 "Counts what is done to merge tables, for merge_engine.stats.",
							 NULL,
							 &stats_tracked,
							 true,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	MarkGUCPrefixReserved("merge_engine");
}
