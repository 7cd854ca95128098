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
extern bool write_buffer_precedes(const WriteBuffer *buffer, CommandId cid);
extern void write_buffer_flush(MergeTarget *target, bool remember);

#endif							/* WRITE_BUFFER_H */
