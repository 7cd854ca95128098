/*
 * functions.c
 *	  SQL functions that columns are aggregated by.
 *
 * The rooms that merge know no catalog, so functions are looked up here, once
 * when a table's rules are compiled, and called there.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "aggregator/sql_function.h"
#include "catalog/dependency.h"
#include "catalog/functions.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "compat.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_func.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* Find an aggregate function, SQL functions included */
const FieldAggregator *
functions_find(const char *name)
{
	const FieldAggregator *function = aggregator_find(name);

	if (function == NULL && strchr(name, '.') != NULL)
		function = sql_function_create(name);
	return function;
}

/* Report that a named function does not fit f(T, T) -> T */
static void
refuse_function(AggregatorColumn *column, const char *option, const char *name,
				int sqlerrcode, const char *reason)
{
	ereport(ERROR,
			(errcode(sqlerrcode),
			 errmsg("function \"%s\", named by option \"fields.%s.%s\", cannot aggregate type %s",
					name, column->column, option, format_type_be(column->type)),
			 errdetail("%s", reason),
			 errhint("Name a function %s(%s, %s) that returns %s.", name,
					 format_type_be(column->type), format_type_be(column->type),
					 format_type_be(column->type))));
}

/*
 * Prepare the call of a function of the column's type, so that a polymorphic
 * one can tell what it works on.
 */
static FmgrInfo *
call_prepare(AggregatorColumn *column, Oid function, int nargs)
{
	MemoryContext old = MemoryContextSwitchTo(column->context);
	FmgrInfo   *call = palloc(sizeof(FmgrInfo));
	List	   *args = NIL;

	for (int i = 0; i < nargs; i++)
		args = lappend(args, makeNullConst(column->type, column->typmod, column->collation));
	fmgr_info_cxt(function, call, column->context);
	fmgr_info_set_expr((Node *) makeFuncExpr(function, column->type, args, column->collation,
											 column->collation, COERCE_EXPLICIT_CALL),
					   call);
	MemoryContextSwitchTo(old);
	return call;
}

/* Find a function f(T, T) -> T by its qualified name, and check it */
static FmgrInfo *
named_function(AggregatorColumn *column, const char *option, const char *name, Oid owner)
{
	List	   *qualified = compat_qualified_name(name);
	Oid			arguments[2] = {column->type, column->type};
	Oid			declared[2];
	Oid		   *types;
	Oid			function;
	Oid			result;
	Oid			variadic;
	bool		returns_set;
	int			nvariadic;
	List	   *defaults;
	FuncDetailCode detail;

	if (list_length(qualified) < 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"fields.%s.%s\" names function \"%s\" without its schema",
						column->column, option, name),
				 errhint("Write schema.function: a table's rules must not depend on the search path.")));

	detail = func_get_detail(qualified, NIL, NIL, 2, arguments, false, false, false,
							 &function, &result, &returns_set, &nvariadic, &variadic,
							 &types, &defaults);
	if (detail == FUNCDETAIL_MULTIPLE)
		refuse_function(column, option, name, ERRCODE_AMBIGUOUS_FUNCTION,
						"More than one function of this name would do.");
	if (detail == FUNCDETAIL_NOTFOUND)
		refuse_function(column, option, name, ERRCODE_UNDEFINED_FUNCTION,
						"There is no such function.");
	if (detail != FUNCDETAIL_NORMAL || returns_set || nvariadic > 0)
		refuse_function(column, option, name, ERRCODE_INVALID_FUNCTION_DEFINITION,
						"It must be an ordinary function that returns one value.");

	memcpy(declared, types, sizeof(declared));
	result = enforce_generic_type_consistency(arguments, declared, 2, result, false);
	if (!IsBinaryCoercible(column->type, declared[0]) ||
		!IsBinaryCoercible(column->type, declared[1]))
		refuse_function(column, option, name, ERRCODE_DATATYPE_MISMATCH,
						"Its arguments are of another type.");
	if (!IsBinaryCoercible(result, column->type))
		refuse_function(column, option, name, ERRCODE_DATATYPE_MISMATCH,
						psprintf("It returns %s.", format_type_be(result)));
	if (!compat_may_execute(function, owner))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied for function \"%s\", named by option \"fields.%s.%s\"",
						name, column->column, option),
				 errdetail("The table's owner, role \"%s\", may not execute it.",
						   GetUserNameFromId(owner, false)),
				 errhint("GRANT EXECUTE ON FUNCTION %s to that role.", name)));
	return call_prepare(column, function, 2);
}

/* Find the functions that the user named for a column */
static void
resolve_named(AggregatorColumn *column, Oid owner)
{
	const char *retract = aggregator_option(column, "retract-function");
	SqlFunctions *functions = MemoryContextAllocZero(column->context, sizeof(SqlFunctions));
	MemoryContext old;

	functions->combine = named_function(column, "aggregate-function",
										column->function->name, owner);
	if (retract != NULL)
		functions->retract = named_function(column, "retract-function", retract, owner);
	functions->depends = true;
	column->state = functions;

	old = MemoryContextSwitchTo(column->context);
	column->function = sql_function_specialize(column->function, functions);
	MemoryContextSwitchTo(old);
}

/* Tell whether a type is the one of this name that an extension brought */
static bool
is_extension_type(Oid type, const char *extension)
{
	Oid			owner = get_extension_oid(extension, true);
	HeapTuple	tuple;
	bool		result;

	if (!OidIsValid(owner) || getExtensionOfObject(TypeRelationId, type) != owner)
		return false;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return false;
	result = strcmp(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname), extension) == 0;
	ReleaseSysCache(tuple);
	return result;
}

/* Find a function of an extension in the schema of its type; NULL if none */
static FmgrInfo *
extension_function(AggregatorColumn *column, const char *name, int nargs, Oid second)
{
	Oid			arguments[2] = {column->type, second};
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(column->type));
	Oid			schema;
	List	   *qualified;
	Oid			function;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", column->type);
	schema = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace;
	ReleaseSysCache(tuple);
	qualified = list_make2(makeString(get_namespace_name(schema)), makeString(pstrdup(name)));
	function = LookupFuncName(qualified, nargs, arguments, true);
	return OidIsValid(function) ? call_prepare(column, function, nargs) : NULL;
}

/* merge_map on hstore: its concatenation, and its removal of keys */
static void
resolve_hstore(AggregatorColumn *column)
{
	SqlFunctions *functions;

	if (!is_extension_type(column->type, "hstore"))
		return;
	functions = MemoryContextAllocZero(column->context, sizeof(SqlFunctions));
	functions->combine = extension_function(column, "hs_concat", 2, column->type);
	functions->retract = extension_function(column, "delete", 2, TEXTARRAYOID);
	functions->keys = extension_function(column, "akeys", 1, InvalidOid);
	if (functions->combine != NULL && functions->retract != NULL && functions->keys != NULL)
		column->state = functions;
}

/* hll_sketch: the union of the extension hll */
static void
resolve_hll(AggregatorColumn *column)
{
	SqlFunctions *functions;

	if (!is_extension_type(column->type, "hll"))
		return;
	functions = MemoryContextAllocZero(column->context, sizeof(SqlFunctions));
	functions->combine = extension_function(column, "hll_union", 2, column->type);
	if (functions->combine != NULL)
		column->state = functions;
}

/* Find the SQL functions that a column calls */
void
functions_resolve(AggregatorColumn *column, Oid owner)
{
	if (sql_function_is(column->function))
		resolve_named(column, owner);
	else if (strcmp(column->function->name, "merge_map") == 0)
		resolve_hstore(column);
	else if (strcmp(column->function->name, "hll_sketch") == 0)
		resolve_hll(column);
}

/*
 * Delete the dependencies of a table's columns on functions.  Those of
 * defaults and generated columns are other objects' dependencies.
 */
static void
delete_dependencies(Oid relation)
{
	Relation	depend = table_open(DependRelationId, RowExclusiveLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(relation));
	scan = systable_beginscan(depend, DependDependerIndexId, true, NULL, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend dependency = (Form_pg_depend) GETSTRUCT(tuple);

		if (dependency->objsubid > 0 && dependency->refclassid == ProcedureRelationId &&
			dependency->deptype == DEPENDENCY_NORMAL)
			CatalogTupleDelete(depend, &tuple->t_self);
	}
	systable_endscan(scan);
	table_close(depend, RowExclusiveLock);
}

/* Make a table depend on the functions named for its columns */
void
functions_record_dependencies(Oid relation, const MergePlan *plan)
{
	delete_dependencies(relation);
	for (int i = 0; plan != NULL && i < plan->natts; i++)
	{
		AggregatorColumn *aggregator = plan->columns[i].aggregator;
		SqlFunctions *functions;
		ObjectAddress column;
		ObjectAddress function;

		if (aggregator == NULL || !sql_function_is(aggregator->function))
			continue;
		functions = aggregator->state;
		ObjectAddressSubSet(column, RelationRelationId, relation, i + 1);
		ObjectAddressSet(function, ProcedureRelationId, functions->combine->fn_oid);
		recordDependencyOn(&column, &function, DEPENDENCY_NORMAL);
		if (functions->retract != NULL)
		{
			function.objectId = functions->retract->fn_oid;
			recordDependencyOn(&column, &function, DEPENDENCY_NORMAL);
		}
	}
}
