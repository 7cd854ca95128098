/*
 * versions_type.c
 *	  SQL functions of the type merge_engine.versions.
 */
#include "postgres.h"

#include "catalog/versions_names.h"
#include "compat_varlena.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

/* The version of the binary protocol: JSON text follows. */
#define VERSIONS_PROTOCOL 1

PG_FUNCTION_INFO_V1(merge_engine_versions_in);
PG_FUNCTION_INFO_V1(merge_engine_versions_out);
PG_FUNCTION_INFO_V1(merge_engine_versions_recv);
PG_FUNCTION_INFO_V1(merge_engine_versions_send);
PG_FUNCTION_INFO_V1(merge_engine_versions_to_jsonb);
PG_FUNCTION_INFO_V1(merge_engine_versions_cmp);
PG_FUNCTION_INFO_V1(merge_engine_versions_eq);
PG_FUNCTION_INFO_V1(merge_engine_versions_ne);
PG_FUNCTION_INFO_V1(merge_engine_versions_lt);
PG_FUNCTION_INFO_V1(merge_engine_versions_le);
PG_FUNCTION_INFO_V1(merge_engine_versions_gt);
PG_FUNCTION_INFO_V1(merge_engine_versions_ge);

/* versions_in(cstring) returns versions */
Datum
merge_engine_versions_in(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(versions_from_json(PG_GETARG_CSTRING(0)));
}

/* versions_out(versions) returns cstring */
Datum
merge_engine_versions_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(versions_to_json(PG_GETARG_DATUM(0)));
}

/* versions_recv(internal) returns versions */
Datum
merge_engine_versions_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			protocol = pq_getmsgint(message, 1);
	int			nbytes;

	if (protocol != VERSIONS_PROTOCOL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("unsupported version number %d of type merge_engine.versions", protocol)));
	PG_RETURN_DATUM(versions_from_json(pq_getmsgtext(message, message->len - message->cursor,
													 &nbytes)));
}

/* versions_send(versions) returns bytea */
Datum
merge_engine_versions_send(PG_FUNCTION_ARGS)
{
	char	   *json = versions_to_json(PG_GETARG_DATUM(0));
	StringInfoData message;

	pq_begintypsend(&message);
	pq_sendint8(&message, VERSIONS_PROTOCOL);
	pq_sendtext(&message, json, strlen(json));
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

/* jsonb(versions) returns jsonb */
Datum
merge_engine_versions_to_jsonb(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in,
										CStringGetDatum(versions_to_json(PG_GETARG_DATUM(0)))));
}

/*
 * Two values compare as what they say: copies of one table, which have other
 * bytes, can be equal.
 */
static int
versions_compare(FunctionCallInfo fcinfo)
{
	struct varlena *a = PG_GETARG_VARLENA_PP(0);
	struct varlena *b = PG_GETARG_VARLENA_PP(1);

	if (VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0)
		return 0;
	return DatumGetInt32(DirectFunctionCall2(jsonb_cmp,
											 DirectFunctionCall1(merge_engine_versions_to_jsonb,
																 PointerGetDatum(a)),
											 DirectFunctionCall1(merge_engine_versions_to_jsonb,
																 PointerGetDatum(b))));
}

Datum
merge_engine_versions_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(versions_compare(fcinfo));
}

Datum
merge_engine_versions_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(versions_compare(fcinfo) == 0);
}

Datum
merge_engine_versions_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(versions_compare(fcinfo) != 0);
}

Datum
merge_engine_versions_lt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(versions_compare(fcinfo) < 0);
}

Datum
merge_engine_versions_le(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(versions_compare(fcinfo) <= 0);
}

Datum
merge_engine_versions_gt(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(versions_compare(fcinfo) > 0);
}

Datum
merge_engine_versions_ge(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(versions_compare(fcinfo) >= 0);
}
