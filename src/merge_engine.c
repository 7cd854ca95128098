/*
 * merge_engine.c
 *	  Module load: settings and hooks, nothing else.
 */
#include "postgres.h"

#include "access/merge_tableam.h"
#include "access/statement.h"
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
	MarkGUCPrefixReserved("merge_engine");
}
