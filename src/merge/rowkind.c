/*
 * rowkind.c
 *	  Row kinds: +I, -U, +U, -D.
 */
#include "postgres.h"

#include "fmgr.h"
#include "merge/merge.h"
#include "utils/builtins.h"

static const char *const rowkind_names[] = {
	[ROWKIND_INSERT] = "+I",
	[ROWKIND_UPDATE_BEFORE] = "-U",
	[ROWKIND_UPDATE_AFTER] = "+U",
	[ROWKIND_DELETE] = "-D",
};

/* rowkind_name: the text of a row kind */
const char *
rowkind_name(RowKind kind)
{
	return rowkind_names[kind];
}

/*
 * rowkind_parse
 *		The row kind that a value (text or varchar) of the row kind column
 *		stands for, compared without regard to case (SEMANTICS, rule 6).
 *		Raises ERRCODE_INVALID_PARAMETER_VALUE for anything else.
 */
RowKind
rowkind_parse(const MergePlan *plan, NullableDatum value)
{
	const char *column = plan->columns[plan->rowkind].name;
	char	   *name;

	if (value.isnull)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("row kind in column \"%s\" of table \"%s\" is null",
						column, plan->table),
				 errhint("Use one of +I, -U, +U, -D.")));

	name = TextDatumGetCString(value.value);
	for (int kind = 0; kind < lengthof(rowkind_names); kind++)
	{
		if (pg_strcasecmp(name, rowkind_names[kind]) == 0)
		{
			pfree(name);
			return (RowKind) kind;
		}
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid row kind \"%s\" in column \"%s\" of table \"%s\"",
					name, column, plan->table),
			 errhint("Use one of +I, -U, +U, -D.")));
}
