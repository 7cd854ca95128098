/*
 * versions_names.h
 *	  Versions values by column name: for reading, and from other tables.
 */
#ifndef VERSIONS_NAMES_H
#define VERSIONS_NAMES_H

#include "postgres.h"

#include "merge/merge.h"

/*
 * versions_is_type
 *		Is it the type merge_engine.versions?
 */
extern bool versions_is_type(Oid type);

/*
 * versions_to_json
 *		A value as JSON text, {"column": version, …}, in CurrentMemoryContext.
 *		A version is the value of the sequence field, or an array of several;
 *		[] stands for a column that was never set, and the empty name for the
 *		key's newest removal.  Raises ERRCODE_DATA_CORRUPTED.
 */
extern char *versions_to_json(Datum value);

/*
 * versions_from_json
 *		A value that goes by name, from such text.  Raises
 *		ERRCODE_INVALID_TEXT_REPRESENTATION.
 */
extern Datum versions_from_json(const char *json);

/*
 * versions_adopt
 *		A value of any origin as one of the plan's table; columns that it does
 *		not have are left out.  Raises ERRCODE_DATA_CORRUPTED, and whatever the
 *		sequence fields' input functions raise.
 */
extern Datum versions_adopt(const MergePlan *plan, Datum value);

#endif							/* VERSIONS_NAMES_H */
