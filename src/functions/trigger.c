/*
 * trigger.c
 *	  merge_engine.merge_trigger(): the rules for a table that stays on heap.
 *
 * The trigger's arguments are the table's options (catalog/merge_trigger.c).
 * Merging is access/before_insert.c's business.
 */
#include "postgres.h"

#include "access/before_insert.h"
#include "access/statement.h"
#include "catalog/merge_trigger.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/rel.h"

PG_FUNCTION_INFO_V1(merge_engine_trigger);

/* Refuse any other use than CREATE TRIGGER ... BEFORE INSERT FOR EACH ROW. */
static void
check_call(FunctionCallInfo fcinfo)
{
	TriggerData *data = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("merge_engine.merge_trigger() can only be called as a trigger")));
	if (!TRIGGER_FIRED_BEFORE(data->tg_event) || !TRIGGER_FIRED_FOR_ROW(data->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("merge trigger \"%s\" of table \"%s\" must be BEFORE INSERT FOR EACH ROW",
						data->tg_trigger->tgname, RelationGetRelationName(data->tg_relation))));
}

/*
 * merge_trigger() returns trigger
 *		NULL for a row that was merged, the row to insert for a new key.
 */
Datum
merge_engine_trigger(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	Relation	relation;
	MergeTarget *target;

	check_call(fcinfo);
	relation = data->tg_relation;
	if (statement_bypasses(relation, data->tg_trigslot))
		PG_RETURN_POINTER(data->tg_trigtuple);

	target = statement_target(relation, data->tg_trigslot);
	if (target == NULL || !target->by_trigger)
	{
		merge_trigger_validate(relation, false);
		elog(ERROR, "table \"%s\" does not merge", RelationGetRelationName(relation));
	}
	PG_RETURN_POINTER(before_insert_row(target, relation, data->tg_trigslot,
										data->tg_trigtuple));
}
