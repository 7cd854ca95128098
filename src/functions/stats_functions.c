/*
 * stats_functions.c
 *	  SQL functions about the counters of merge tables.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/stats.h"
#include "catalog/pg_class.h"
#include "compat.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(merge_engine_reset_stats);

/* reset_stats(regclass): of one table, or of all */
Datum
merge_engine_reset_stats(PG_FUNCTION_ARGS)
{
	Relation	relation;

	if (PG_ARGISNULL(0))
	{
		if (!superuser())
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("only a superuser can reset the counters of all merge tables"),
					 errhint("Name a table that you own.")));
		stats_forget(InvalidOid);
		PG_RETURN_VOID();
	}
	relation = relation_open(PG_GETARG_OID(0), AccessShareLock);
	if (!compat_owns_table(RelationGetRelid(relation), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_TABLE, RelationGetRelationName(relation));
	stats_forget(RelationGetRelid(relation));
	relation_close(relation, NoLock);
	PG_RETURN_VOID();
}
