/*
 * write_buffer.h
 *	  The rows of one statement, until they are merged by key.
 */
#ifndef WRITE_BUFFER_H
#define WRITE_BUFFER_H

#include "postgres.h"

#include "access/target.h"
#include "executor/tuptable.h"

typedef struct WriteBuffer WriteBuffer;

extern int	write_buffer_size;	/* merge_engine.write_buffer, in kilobytes */

extern void write_buffer_add(MergeTarget *target, TupleTableSlot *slot,
							 CommandId cid, int options);
extern void write_buffer_restore(MergeTarget *target);
extern void write_buffer_end_subxact(MergeTarget *target, bool committed, int level);
extern bool write_buffer_precedes(const WriteBuffer *buffer, CommandId cid);
extern void write_buffer_flush(MergeTarget *target, bool remember);

#endif							/* WRITE_BUFFER_H */
