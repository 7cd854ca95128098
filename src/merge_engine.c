/*
 * merge_engine.c
 *	  Module load: settings and hooks, nothing else.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	MarkGUCPrefixReserved("merge_engine");
}
