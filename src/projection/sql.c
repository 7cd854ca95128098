/*
 * sql.c
 *	  Names, types and operators as SQL text that does not hang on the search path.
 *
 * The statements of a refresh are text, so that the planner sees what a user would
 * have written.  Operators are those of the type's default btree family: a bare "="
 * could be somebody else's.
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "projection/projection.h"

/* Set a parameter until the nest level ends. */
static void
setting_pin(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

/*
 * Set the search path, and what else the printing of names depends on.  Returns the
 * nest level, for AtEOXact_GUC(false, level) to undo it.
 */
int
sql_pin_search_path(const char *search_path)
{
	int			nestlevel = NewGUCNestLevel();

	setting_pin("search_path", search_path);
	setting_pin("quote_all_identifiers", "off");
	return nestlevel;
}

/*
 * Set what the text of a value depends on, so that it means the same in every session.
 * Returns the nest level, as sql_pin_search_path does.
 */
int
sql_pin_text_settings(void)
{
	int			nestlevel = NewGUCNestLevel();

	setting_pin("datestyle", "ISO, YMD");
	setting_pin("intervalstyle", "postgres");
	setting_pin("timezone", "UTC");
	setting_pin("bytea_output", "hex");
	setting_pin("extra_float_digits", "3");
	return nestlevel;
}

/* A relation's qualified name, quoted. */
char *
sql_relation(Oid relid)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  get_rel_name(relid));
}

/* OPERATOR(schema.name) */
char *
sql_operator(Oid opno)
{
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(opno));
	Form_pg_operator form;
	char	   *result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", opno);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	result = psprintf("OPERATOR(%s.%s)",
					  quote_identifier(get_namespace_name(form->oprnamespace)),
					  NameStr(form->oprname));
	ReleaseSysCache(tuple);
	return result;
}

/* A type's qualified name, without a length: a cast to it changes no value. */
char *
sql_type(Oid type)
{
	return format_type_extended(type, -1, FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY);
}

/* A COLLATE clause with a leading blank, or nothing. */
char *
sql_collation(Oid collation)
{
	HeapTuple	tuple;
	Form_pg_collation form;
	char	   *result;

	if (!OidIsValid(collation))
		return "";
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	form = (Form_pg_collation) GETSTRUCT(tuple);
	result = psprintf(" COLLATE %s",
					  quote_qualified_identifier(get_namespace_name(form->collnamespace),
												 NameStr(form->collname)));
	ReleaseSysCache(tuple);
	return result;
}

/* The columns of a relation as a list, each with the alias in front if there is one. */
char *
sql_columns(TupleDesc tupdesc, const char *alias)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < tupdesc->natts; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(tupdesc, i);

		if (attr->attisdropped)
			continue;
		if (list.len > 0)
			appendStringInfoString(&list, ", ");
		if (alias)
			appendStringInfo(&list, "%s.", alias);
		appendStringInfoString(&list, quote_identifier(NameStr(attr->attname)));
	}
	return list.data;
}

/* The operator of a type's default btree family, or InvalidOid. */
Oid
sql_btree_operator(Oid type, int strategy)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);

	if (!OidIsValid(entry->btree_opf))
		return InvalidOid;
	return get_opfamily_member(entry->btree_opf, entry->btree_opintype,
							   entry->btree_opintype, strategy);
}

/* "column op $param" */
char *
sql_condition(const char *column, Oid type, int strategy, int param)
{
	return psprintf("%s %s $%d", column,
					sql_operator(sql_btree_operator(type, strategy)), param);
}
