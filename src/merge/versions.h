/*
 * versions.h
 *	  The binary form of a versions column.
 */
#ifndef VERSIONS_H
#define VERSIONS_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/tupmacs.h"
#include "lib/stringinfo.h"
#include "merge/merge.h"

/* The first byte of a value. */
#define VERSIONS_BY_NUMBER 1	/* a table's own: columns by number */
#define VERSIONS_BY_NAME 2		/* of other origin: JSON text */

/* A walk through a value that goes by number. */
typedef struct VersionsReader
{
	Oid			table;			/* whose columns it speaks of */
	int			nfields;
	Oid		   *types;			/* of the sequence fields */
	const char *cursor;
	const char *end;
	uint32		ncolumns;		/* still to come in this group */
	int			last_column;
} VersionsReader;

extern bool versions_begin(VersionsReader *reader, Datum value);
extern bool versions_next(VersionsReader *reader, const int16 *typlen,
						  const bool *typbyval, SequenceValue *version);
extern int	versions_next_column(VersionsReader *reader);

extern void versions_put_header(const MergePlan *plan, StringInfo buffer);
extern void versions_put_group(const MergePlan *plan, StringInfo buffer,
							   SequenceValue version, int column);
extern Datum versions_finish(StringInfo buffer);
extern SequenceValue versions_implied(const MergePlan *plan, int c, bool isnull,
									  SequenceValue row_version);
extern Datum versions_own(const MergePlan *plan, Datum value);
extern void versions_read(const MergePlan *plan, Datum value,
						  SequenceValue *versions, SequenceValue *removed);
extern void versions_read_row(const MergePlan *plan, MergeRow *row);
extern void versions_store(const MergePlan *plan, MergeState *state);

#endif							/* VERSIONS_H */
