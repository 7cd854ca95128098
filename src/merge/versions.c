/*
 * versions.c
 *	  The binary form of a versions column, and how a state goes in and out.
 *
 * A versions value keeps what the row itself does not say of its state: the
 * version of every column that is not the obvious one.  Obvious is the row's
 * own sequence for a column that is set, and none at all for a column that is
 * NULL because nothing was ever given for it.  So a row whose columns are all
 * of its own sequence has no versions value.
 *
 * After the header come groups of columns that share a version, which is how
 * patches leave them: five columns set by one row cost one sequence value and
 * five bytes.  Columns go by number, so that renaming costs nothing and a
 * dropped column is never mistaken for a new one.  The numbers mean something
 * in one table only, whose OID the header names; values of other origin are
 * made the table's own before they come here (plan->versions_adopt).
 *
 * Nothing read here is trusted: what does not add up, beginning with the
 * checksum, is an error.
 */
#include "postgres.h"

#include "fmgr.h"
#include "merge/versions.h"
#include "port/pg_crc32c.h"

static void
pg_attribute_noreturn()
	versions_corrupted(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("corrupted versions value"),
			 errdetail("It has %s.", what),
			 errhint("Set the row's versions column to NULL to forget the versions.")));
}

/* The checksum of what follows it. */
static pg_crc32c
versions_checksum(const char *data, Size length)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, length);
	FIN_CRC32C(crc);
	return crc;
}

/* The next bytes of the value. */
static const char *
versions_take(VersionsReader *reader, Size length)
{
	const char *data = reader->cursor;

	if (length > (Size) (reader->end - reader->cursor))
		versions_corrupted("an early end");
	reader->cursor += length;
	return data;
}

/* A number, seven bits a byte. */
static uint32
versions_take_number(VersionsReader *reader)
{
	uint32		number = 0;

	for (int shift = 0; shift < 35; shift += 7)
	{
		uint8		byte = *(const uint8 *) versions_take(reader, 1);

		number |= (uint32) (byte & 0x7F) << shift;
		if ((byte & 0x80) == 0)
			return number;
	}
	versions_corrupted("a number that is too long");
}

/*
 * versions_begin
 *		Starts reading a value: its table and the types of its sequence fields.
 *		Returns false for a value that goes by column names.  Raises
 *		ERRCODE_DATA_CORRUPTED, as does versions_next.
 */
bool
versions_begin(VersionsReader *reader, Datum value)
{
	struct varlena *versions = PG_DETOAST_DATUM_PACKED(value);
	uint8		form;
	pg_crc32c	crc;

	reader->cursor = VARDATA_ANY(versions);
	reader->end = reader->cursor + VARSIZE_ANY_EXHDR(versions);
	form = *(const uint8 *) versions_take(reader, 1);
	if (form == VERSIONS_BY_NAME)
		return false;
	if (form != VERSIONS_BY_NUMBER)
		versions_corrupted("an unknown form");
	memcpy(&crc, versions_take(reader, sizeof(crc)), sizeof(crc));
	if (!EQ_CRC32C(crc, versions_checksum(reader->cursor, reader->end - reader->cursor)))
		versions_corrupted("a wrong checksum");
	reader->nfields = *(const uint8 *) versions_take(reader, 1);
	if (reader->nfields == 0)
		versions_corrupted("no sequence field");
	memcpy(&reader->table, versions_take(reader, sizeof(Oid)), sizeof(Oid));
	reader->types = palloc(reader->nfields * sizeof(Oid));
	memcpy(reader->types, versions_take(reader, reader->nfields * sizeof(Oid)),
		   reader->nfields * sizeof(Oid));
	reader->ncolumns = 0;
	return true;
}

/* One field of a version, of a type of that size. */
static NullableDatum
versions_take_field(VersionsReader *reader, int16 typlen, bool typbyval)
{
	NullableDatum field = {0, true};
	uint32		length;
	const char *data;
	char	   *copy;

	switch (*(const uint8 *) versions_take(reader, 1))
	{
		case 0:
			return field;
		case 1:
			break;
		default:
			versions_corrupted("an odd sequence value");
	}
	field.isnull = false;
	if (typbyval)
	{
		Datum		whole = 0;

		data = versions_take(reader, typlen);
		memcpy(&whole, data, typlen);
		switch (typlen)
		{
			case 1:
				field.value = CharGetDatum(*data);
				break;
			case 2:
				field.value = Int16GetDatum(*(int16 *) &whole);
				break;
			case 4:
				field.value = Int32GetDatum(*(int32 *) &whole);
				break;
			default:
				field.value = whole;
		}
		return field;
	}
	length = typlen > 0 ? typlen : versions_take_number(reader);
	data = versions_take(reader, length);
	if (typlen > 0)
	{
		copy = palloc(length);
		memcpy(copy, data, length);
	}
	else
	{
		copy = palloc0(VARHDRSZ + length);
		SET_VARSIZE(copy, VARHDRSZ + length);
		memcpy(VARDATA(copy), data, length);
	}
	field.value = PointerGetDatum(copy);
	return field;
}

/*
 * versions_next
 *		Reads the next group of columns, whose types' sizes are given by field.
 *		Returns false at the end.  The group's version, NULL for "never set",
 *		is allocated in CurrentMemoryContext; its columns, 1 for the first one,
 *		are to be taken with versions_next_column.  A group without columns is
 *		the newest removal of the key.
 */
bool
versions_next(VersionsReader *reader, const int16 *typlen, const bool *typbyval,
			  SequenceValue *version)
{
	while (reader->ncolumns > 0)
		(void) versions_next_column(reader);
	if (reader->cursor == reader->end)
		return false;
	switch (*(const uint8 *) versions_take(reader, 1))
	{
		case 0:
			*version = NULL;
			break;
		case 1:
			*version = palloc(reader->nfields * sizeof(NullableDatum));
			for (int i = 0; i < reader->nfields; i++)
				(*version)[i] = versions_take_field(reader, typlen[i], typbyval[i]);
			break;
		default:
			versions_corrupted("an odd group of columns");
	}
	reader->ncolumns = versions_take_number(reader);
	reader->last_column = 0;
	if (reader->ncolumns > MaxAttrNumber || (*version == NULL && reader->ncolumns == 0))
		versions_corrupted("an odd number of columns");
	return true;
}

/*
 * versions_next_column
 *		The next column of the current group, 1 for the table's first; 0 at the
 *		group's end.
 */
int
versions_next_column(VersionsReader *reader)
{
	uint32		column;

	if (reader->ncolumns == 0)
		return 0;
	column = versions_take_number(reader);
	if (column <= (uint32) reader->last_column || column > MaxAttrNumber)
		versions_corrupted("an odd column number");
	reader->last_column = column;
	reader->ncolumns--;
	return column;
}

/* A number, seven bits a byte. */
static void
versions_put_number(StringInfo buffer, uint32 number)
{
	for (; number >= 0x80; number >>= 7)
		appendStringInfoCharMacro(buffer, (char) (number | 0x80));
	appendStringInfoCharMacro(buffer, (char) number);
}

/* One group's version. */
static void
versions_put_version(StringInfo buffer, const SequenceOrder *order, SequenceValue version)
{
	appendStringInfoCharMacro(buffer, version != NULL);
	for (int i = 0; version != NULL && i < order->ncolumns; i++)
	{
		int16		typlen = order->typlen[i];
		Datum		value = version[i].value;

		appendStringInfoCharMacro(buffer, !version[i].isnull);
		if (version[i].isnull)
			continue;
		if (order->typbyval[i])
		{
			char		bytes[sizeof(Datum)];

			store_att_byval(bytes, value, typlen);
			appendBinaryStringInfo(buffer, bytes, typlen);
		}
		else if (typlen > 0)
			appendBinaryStringInfo(buffer, DatumGetPointer(value), typlen);
		else
		{
			struct varlena *flat = PG_DETOAST_DATUM_PACKED(value);

			versions_put_number(buffer, VARSIZE_ANY_EXHDR(flat));
			appendBinaryStringInfo(buffer, VARDATA_ANY(flat), VARSIZE_ANY_EXHDR(flat));
		}
	}
}

/* Do two columns share a version? */
static bool
versions_same(const SequenceOrder *order, SequenceValue a, SequenceValue b)
{
	return a == b || (a != NULL && b != NULL && sequence_compare(order, a, b) == 0);
}

/*
 * versions_implied
 *		The version of a column of which the versions value says nothing.
 */
SequenceValue
versions_implied(const MergePlan *plan, int c, bool isnull, SequenceValue row_version)
{
	const MergeColumn *column = &plan->columns[c];

	if (!isnull ||
		(column->aggregator != NULL && column->aggregator->function->takes_null))
		return row_version;

	/* where nothing tells the NULL that was given from the one that was not,
	 * a late row had better not undo what was cleared */
	if (column->null_clears && plan->versions < 0)
		return row_version;
	return NULL;
}

/* Put what is not obvious into the buffer. */
static void
versions_put_groups(const MergePlan *plan, const MergeState *state, StringInfo buffer)
{
	bool	   *done = palloc0(plan->natts * sizeof(bool));

	if (state->removed != NULL)
	{
		versions_put_version(buffer, plan->sequence, state->removed);
		versions_put_number(buffer, 0);
	}
	for (int c = 0; c < plan->natts; c++)
		done[c] = !merge_column_is_versioned(plan, c) ||
			versions_same(plan->sequence, state->versions[c],
						  versions_implied(plan, c, state->isnull[c], state->row_version));
	for (int c = 0; c < plan->natts; c++)
	{
		int			ncolumns = 0;

		if (done[c])
			continue;
		for (int other = c; other < plan->natts; other++)
			ncolumns += !done[other] &&
				versions_same(plan->sequence, state->versions[c], state->versions[other]);
		versions_put_version(buffer, plan->sequence, state->versions[c]);
		versions_put_number(buffer, ncolumns);
		for (int other = c; other < plan->natts; other++)
		{
			if (done[other] ||
				!versions_same(plan->sequence, state->versions[c], state->versions[other]))
				continue;
			versions_put_number(buffer, other + 1);
			done[other] = true;
		}
	}
	pfree(done);
}

/*
 * versions_put_header
 *		Starts a value of the table in a new buffer in CurrentMemoryContext.
 */
void
versions_put_header(const MergePlan *plan, StringInfo buffer)
{
	initStringInfo(buffer);
	appendStringInfoSpaces(buffer, VARHDRSZ);
	appendStringInfoCharMacro(buffer, VERSIONS_BY_NUMBER);
	appendStringInfoSpaces(buffer, sizeof(pg_crc32c));
	appendStringInfoCharMacro(buffer, (char) plan->sequence->ncolumns);
	appendBinaryStringInfo(buffer, (const char *) &plan->relid, sizeof(Oid));
	appendBinaryStringInfo(buffer, (const char *) plan->sequence->types,
						   plan->sequence->ncolumns * sizeof(Oid));
}

/*
 * versions_put_group
 *		Adds the version of one column (0 for the first; -1: a removal).
 */
void
versions_put_group(const MergePlan *plan, StringInfo buffer, SequenceValue version,
				   int column)
{
	versions_put_version(buffer, plan->sequence, version);
	versions_put_number(buffer, column >= 0);
	if (column >= 0)
		versions_put_number(buffer, column + 1);
}

/*
 * versions_finish
 *		The value that the buffer holds.
 */
Datum
versions_finish(StringInfo buffer)
{
	int			start = VARHDRSZ + 1 + sizeof(pg_crc32c);
	pg_crc32c	crc = versions_checksum(buffer->data + start, buffer->len - start);

	memcpy(buffer->data + VARHDRSZ + 1, &crc, sizeof(crc));
	SET_VARSIZE(buffer->data, buffer->len);
	return PointerGetDatum(buffer->data);
}

/*
 * Does the row have a NULL that was never given, where a row that comes in
 * without a versions value gives its NULLs?
 */
static bool
versions_lacks_null(const MergePlan *plan, const MergeState *state)
{
	for (int c = 0; c < plan->natts; c++)
	{
		if (plan->columns[c].null_clears && state->isnull[c] &&
			state->versions[c] == NULL && merge_column_is_versioned(plan, c))
			return true;
	}
	return false;
}

/*
 * versions_store
 *		Puts the state's versions into the versions column of its row, NULL
 *		where they are all obvious, also to another copy of the key; allocated
 *		in CurrentMemoryContext.  Does nothing for a table without such a column
 *		or a state without a row.
 */
void
versions_store(const MergePlan *plan, MergeState *state)
{
	StringInfoData buffer;
	int			empty;

	if (plan->versions < 0 || !state->exists)
		return;
	versions_put_header(plan, &buffer);
	empty = buffer.len;
	versions_put_groups(plan, state, &buffer);
	state->isnull[plan->versions] = buffer.len == empty && !versions_lacks_null(plan, state);
	if (!state->isnull[plan->versions])
		state->values[plan->versions] = versions_finish(&buffer);
}

/*
 * versions_own
 *		A value as one of the plan's table: itself, or a new one in
 *		CurrentMemoryContext.
 */
Datum
versions_own(const MergePlan *plan, Datum value)
{
	VersionsReader reader;

	if (versions_begin(&reader, value) && reader.table == plan->relid &&
		reader.nfields == plan->sequence->ncolumns &&
		memcmp(reader.types, plan->sequence->types, reader.nfields * sizeof(Oid)) == 0)
		return value;
	return plan->versions_adopt(plan, value);
}

/*
 * versions_read
 *		Reads a versions value: removed and, by column, versions receive what it
 *		says; columns of which it says nothing stay as they are.  Allocated in
 *		CurrentMemoryContext.  Raises ERRCODE_DATA_CORRUPTED.
 */
void
versions_read(const MergePlan *plan, Datum value, SequenceValue *versions,
			  SequenceValue *removed)
{
	const SequenceOrder *order = plan->sequence;
	VersionsReader reader;
	SequenceValue version;

	if (!versions_begin(&reader, versions_own(plan, value)))
		elog(ERROR, "versions value was not adopted");
	while (versions_next(&reader, order->typlen, order->typbyval, &version))
	{
		int			column;

		if (reader.ncolumns == 0)
			*removed = version;
		while ((column = versions_next_column(&reader)) > 0)
		{
			if (column > plan->natts)
				versions_corrupted("a column that the table does not have");
			if (merge_column_is_versioned(plan, column - 1))
				versions[column - 1] = version;
		}
	}
}

/*
 * versions_read_row
 *		The versions that an incoming row brings, into row->versions and
 *		row->removed; nothing where it brings none.  Such a row is the state of
 *		another copy of the key: it adds, whatever its row kind.
 */
void
versions_read_row(const MergePlan *plan, MergeRow *row)
{
	row->versions = NULL;
	row->removed = NULL;
	if (plan->versions < 0 || row->isnull[plan->versions] ||
		!MergeRowNames(row, plan->versions))
		return;
	row->versions = palloc0(plan->natts * sizeof(SequenceValue));
	for (int c = 0; c < plan->natts; c++)
		row->versions[c] = versions_implied(plan, c, row->isnull[c], row->sequence);
	versions_read(plan, row->values[plan->versions], row->versions, &row->removed);
	row->kind = ROWKIND_INSERT;
}
