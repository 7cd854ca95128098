/*
 * compat.h
 *	  The differences between the PostgreSQL versions we build on: 15 and 17.
 */
#ifndef COMPAT_H
#define COMPAT_H

#include "postgres.h"

#include "access/attmap.h"
#include "access/heapam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "nodes/execnodes.h"
#include "nodes/parsenodes.h"
#include "nodes/plannodes.h"
#if PG_VERSION_NUM < 170000
#include "storage/backendid.h"
#endif
#include "storage/bufmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#if PG_VERSION_NUM >= 170000
#include "storage/procnumber.h"
#endif
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/rel.h"
#include "utils/regproc.h"
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_class_d.h"
#include "parser/parse_relation.h"
#include "storage/relfilelocator.h"
#else
#include "storage/relfilenode.h"
#endif

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 180000
#error "merge_engine builds on PostgreSQL 15, 16 and 17"
#endif

#if PG_VERSION_NUM < 160000

/* Which indexes need new entries after an update (16 has this itself). */
typedef enum TU_UpdateIndexes
{
	TU_None,
	TU_All,
	TU_Summarizing
} TU_UpdateIndexes;

#endif

/* heap_update, which from 16 on says which indexes need new entries. */
static inline TM_Result
compat_heap_update(Relation relation, ItemPointer otid, HeapTuple newtup,
				   CommandId cid, Snapshot crosscheck, bool wait,
				   TM_FailureData *tmfd, LockTupleMode *lockmode,
				   TU_UpdateIndexes *update_indexes)
{
#if PG_VERSION_NUM < 160000
	TM_Result	result = heap_update(relation, otid, newtup, cid, crosscheck,
									 wait, tmfd, lockmode);

	*update_indexes = result == TM_Ok && !HeapTupleIsHeapOnly(newtup) ?
		TU_All :
		TU_None;
	return result;
#else
	TM_Result	result = heap_update(relation, otid, newtup, cid, crosscheck,
									 wait, tmfd, lockmode, update_indexes);

	if (result != TM_Ok)
		*update_indexes = TU_None;
	else if (!HeapTupleIsHeapOnly(newtup))
		*update_indexes = TU_All;
	return result;
#endif
}

/* ExecInsertIndexTuples, which from 16 on can serve summarizing indexes alone. */
#if PG_VERSION_NUM < 160000
#define compat_ExecInsertIndexTuples(relinfo, slot, estate, update, summarizing) \
	ExecInsertIndexTuples(relinfo, slot, estate, update, false, NULL, NIL)
#else
#define compat_ExecInsertIndexTuples(relinfo, slot, estate, update, summarizing) \
	ExecInsertIndexTuples(relinfo, slot, estate, update, false, NULL, NIL, summarizing)
#endif

/* A copied ResultRelInfo has computed nothing of its generated columns yet. */
static inline void
compat_forget_generated(ResultRelInfo *result_rel)
{
#if PG_VERSION_NUM < 160000
	result_rel->ri_GeneratedExprs = NULL;
#else
	result_rel->ri_GeneratedExprsI = NULL;
	result_rel->ri_GeneratedExprsU = NULL;
#endif
}

/* A table access method's callback for a new file, and what names the file. */
#if PG_VERSION_NUM < 160000
#define compat_relation_set_new_file relation_set_new_filenode
typedef RelFileNode compat_RelFile;
#else
#define compat_relation_set_new_file relation_set_new_filelocator
typedef RelFileLocator compat_RelFile;
#endif

/* Pin the buffer that held a page of a table before, if it still does. */
static inline bool
compat_read_recent_buffer(Relation relation, BlockNumber block, Buffer buffer)
{
#if PG_VERSION_NUM < 160000
	return ReadRecentBuffer(relation->rd_node, MAIN_FORKNUM, block, buffer);
#else
	return ReadRecentBuffer(relation->rd_locator, MAIN_FORKNUM, block, buffer);
#endif
}

/* This backend's number, which no other has at the same time. */
#if PG_VERSION_NUM < 170000
#define compat_backend_number() ((int) MyBackendId)
#else
#define compat_backend_number() ((int) MyProcNumber)
#endif

/* Does a user own a table? */
#if PG_VERSION_NUM < 160000
#define compat_owns_table(relid, role) pg_class_ownercheck(relid, role)
#else
#define compat_owns_table(relid, role) object_ownercheck(RelationRelationId, relid, role)
#endif

/* The columns that an INSERT names, offset as in RangeTblEntry. */
static inline Bitmapset *
compat_inserted_columns(PlannedStmt *stmt, RangeTblEntry *rte)
{
#if PG_VERSION_NUM < 160000
	return rte->insertedCols;
#else
	return getRTEPermissionInfo(stmt->permInfos, rte)->insertedCols;
#endif
}

/* The role that the privileges of an entry are checked for, or InvalidOid. */
static inline Oid
compat_check_as_user(PlannedStmt *stmt, RangeTblEntry *rte)
{
#if PG_VERSION_NUM < 160000
	return rte->checkAsUser;
#else
	return getRTEPermissionInfo(stmt->permInfos, rte)->checkAsUser;
#endif
}

/* Say in a query for which role an entry is checked (or InvalidOid). */
static inline void
compat_set_check_as_user(Query *query, RangeTblEntry *rte, Oid check_as_user)
{
#if PG_VERSION_NUM < 160000
	rte->checkAsUser = check_as_user;
#else
	RTEPermissionInfo *info = addRTEPermissionInfo(&query->rteperminfos, rte);

	info->checkAsUser = check_as_user;
#endif
}

/* build_attrmap_by_name, which from 16 on can leave columns out. */
static inline AttrMap *
compat_build_attrmap(TupleDesc indesc, TupleDesc outdesc)
{
#if PG_VERSION_NUM < 160000
	return build_attrmap_by_name(indesc, outdesc);
#else
	return build_attrmap_by_name(indesc, outdesc, false);
#endif
}

/* May a role execute a function? */
static inline bool
compat_may_execute(Oid function, Oid role)
{
#if PG_VERSION_NUM < 160000
	return pg_proc_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK;
#else
	return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

/* Take a qualified name apart. */
static inline List *
compat_qualified_name(const char *name)
{
#if PG_VERSION_NUM < 160000
	return stringToQualifiedNameList(name);
#else
	return stringToQualifiedNameList(name, NULL);
#endif
}

/* Does a role own a relation? */
static inline bool
compat_relation_owned(Oid relid, Oid role)
{
#if PG_VERSION_NUM < 160000
	return pg_class_ownercheck(relid, role);
#else
	return object_ownercheck(RelationRelationId, relid, role);
#endif
}

/* May a role do this with a schema? */
static inline bool
compat_schema_allows(Oid schema, Oid role, AclMode mode)
{
#if PG_VERSION_NUM < 160000
	return pg_namespace_aclcheck(schema, role, mode) == ACLCHECK_OK;
#else
	return object_aclcheck(NamespaceRelationId, schema, role, mode) == ACLCHECK_OK;
#endif
}

/* The transaction that holds or awaits a lock. */
static inline VirtualTransactionId
compat_lock_vxid(const LockInstanceData *lock)
{
	VirtualTransactionId vxid;

#if PG_VERSION_NUM < 170000
	vxid.backendId = lock->backend;
	vxid.localTransactionId = lock->lxid;
#else
	vxid = lock->vxid;
#endif
	return vxid;
}

/* A backend's transaction, as long as it has one. */
static inline LocalTransactionId
compat_proc_lxid(const PGPROC *proc)
{
#if PG_VERSION_NUM < 170000
	return proc->lxid;
#else
	return proc->vxid.lxid;
#endif
}

/* The status of the backend with this index, counted from 1. */
static inline LocalPgBackendStatus *
compat_backend_status(int index)
{
#if PG_VERSION_NUM < 160000
	return pgstat_fetch_stat_local_beentry(index);
#else
	return pgstat_get_local_beentry_by_index(index);
#endif
}

#endif							/* COMPAT_H */
