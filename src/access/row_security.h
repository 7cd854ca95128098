/*
 * row_security.h
 *	  Row level security of the stored and the merged row.
 */
#ifndef ROW_SECURITY_H
#define ROW_SECURITY_H

#include "postgres.h"

#include "access/target.h"
#include "nodes/nodes.h"

extern struct RowSecurity *row_security_create(Oid root, Oid check_as_user,
											   MemoryContext context);
extern void row_security_check_stored(MergeTarget *target, Relation relation,
									  CmdType command);
extern void row_security_check_merged(MergeTarget *target, Relation relation);

#endif							/* ROW_SECURITY_H */
