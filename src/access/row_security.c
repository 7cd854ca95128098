/*
 * row_security.c
 *	  Row level security of the stored and the merged row.
 *
 * PostgreSQL has planned an INSERT, and so the executor checks the incoming row
 * against the policies for INSERT, and nothing else.  But where there is a
 * stored row, merging reads it, and then changes or removes it.  What holds is
 * what ON CONFLICT DO UPDATE and DELETE would ask for:
 *
 * - a stored row that is merged into must be one that the policies for SELECT
 *	 admit, also where the merge then changes nothing: RETURNING shows it;
 * - to change it, those for UPDATE must admit it, and the merged row must pass
 *	 their WITH CHECK and be admitted by those for SELECT;
 * - to remove it, those for DELETE must admit it.
 *
 * A row that is not admitted is an error; it is never skipped.
 *
 * The policies are those of the table that the statement names, which may be a
 * partitioned table above the one that is written, and those of the role that
 * the statement's privileges on it are checked for: the owner of the view that
 * it goes through, if it does.  PostgreSQL collects them for us, as if for an
 * UPDATE, a DELETE or a SELECT.  They are made ready when the first stored row
 * is met: as expressions where they have no subqueries, else as queries with
 * the columns of the row for parameters.
 */
#include "postgres.h"

#include "access/attmap.h"
#include "access/row_security.h"
#include "access/table.h"
#include "compat.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "rewrite/rowsecurity.h"
#include "storage/lockdefs.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

/* A condition of policies, ready to be asked about a row. */
typedef struct PolicyCheck
{
	const char *policy;			/* the restrictive policy that it is, or NULL */
	ExprState  *qual;			/* if it has no subquery */
	PlannedStmt *plan;			/* if it has: a SELECT of the condition */
	List	   *columns;		/* Vars of the row, by parameter of the plan */
} PolicyCheck;

/* What a command asks for; lists of PolicyCheck. */
typedef struct CommandPolicies
{
	bool		ready;
	List	   *stored;			/* USING */
	List	   *merged;			/* WITH CHECK */
} CommandPolicies;

typedef struct RowSecurity
{
	MemoryContext context;
	Oid			root;			/* the table that the statement names */
	Oid			check_as_user;	/* or InvalidOid: the current user */
	ExprContext *econtext;
	CommandPolicies policies[CMD_DELETE + 1];
} RowSecurity;

/*
 * row_security_create
 *		What policies ask of the rows of a statement that names the table root,
 *		with its privileges checked for check_as_user (or InvalidOid).  NULL if
 *		row level security is off for that role.  Allocates in context.
 */
RowSecurity *
row_security_create(Oid root, Oid check_as_user, MemoryContext context)
{
	MemoryContext oldcontext;
	RowSecurity *security;

	if (check_enable_rls(root, check_as_user, true) != RLS_ENABLED)
		return NULL;
	oldcontext = MemoryContextSwitchTo(context);
	security = palloc0(sizeof(RowSecurity));
	security->context = context;
	security->root = root;
	security->check_as_user = check_as_user;
	security->econtext = CreateStandaloneExprContext();
	MemoryContextSwitchTo(oldcontext);
	return security;
}

/* replace_rte_variables_callback: a parameter for a column of the row */
static Node *
policy_column_parameter(Var *var, replace_rte_variables_context *context)
{
	PolicyCheck *check = context->callback_arg;
	Param	   *param = makeNode(Param);

	check->columns = lappend(check->columns, copyObject(var));
	param->paramkind = PARAM_EXTERN;
	param->paramid = list_length(check->columns);
	param->paramtype = var->vartype;
	param->paramtypmod = var->vartypmod;
	param->paramcollid = var->varcollid;
	param->location = -1;
	return (Node *) param;
}

/* A condition with subqueries is planned as a query of its own. */
static void
policy_check_plan(PolicyCheck *check, Node *condition)
{
	Query	   *query = makeNode(Query);
	List	   *queries;

	condition = replace_rte_variables(condition, 1, 0, policy_column_parameter,
									  check, NULL);
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->hasSubLinks = true;
	query->jointree = makeFromExpr(NIL, NULL);
	query->targetList = list_make1(makeTargetEntry((Expr *) condition, 1, "admitted", false));
	AcquireRewriteLocks(query, true, false);
	queries = QueryRewrite(query);
	check->plan = pg_plan_query(linitial_node(Query, queries), "", 0, NULL);
}

/* Make a condition ready; its Vars are columns of the row to be asked about. */
static PolicyCheck *
policy_check_create(Node *condition, const char *policy)
{
	PolicyCheck *check = palloc0(sizeof(PolicyCheck));

	check->policy = policy;
	if (checkExprHasSubLink(condition))
		policy_check_plan(check, condition);
	else
	{
		Expr	   *expression = expression_planner((Expr *) condition);

		check->qual = ExecInitQual(make_ands_implicit(expression), NULL);
	}
	return check;
}

/* Run a condition's query for the row in the slot. */
static bool
policy_check_run(const PolicyCheck *check, TupleTableSlot *slot)
{
	ParamListInfo params = makeParamList(list_length(check->columns));
	QueryDesc  *query;
	MemoryContext oldcontext;
	TupleTableSlot *result;
	bool		holds = false;

	for (int i = 0; i < params->numParams; i++)
	{
		Var		   *var = list_nth_node(Var, check->columns, i);
		ParamExternData *param = &params->params[i];

		param->ptype = var->vartype;
		param->pflags = 0;
		param->isnull = false;
		if (var->varattno == 0)
			param->value = ExecFetchSlotHeapTupleDatum(slot);
		else if (var->varattno < 0)
			param->value = slot_getsysattr(slot, var->varattno, &param->isnull);
		else
			param->value = slot_getattr(slot, var->varattno, &param->isnull);
	}
	query = CreateQueryDesc(check->plan, "", GetActiveSnapshot(), InvalidSnapshot,
							None_Receiver, params, NULL, 0);
	ExecutorStart(query, 0);
	oldcontext = MemoryContextSwitchTo(query->estate->es_query_cxt);
	result = ExecProcNode(query->planstate);
	if (!TupIsNull(result))
	{
		bool		isnull;
		Datum		value = slot_getattr(result, 1, &isnull);

		holds = !isnull && DatumGetBool(value);
	}
	MemoryContextSwitchTo(oldcontext);
	ExecutorFinish(query);
	ExecutorEnd(query);
	FreeQueryDesc(query);
	return holds;
}

/* The first of the conditions that the row in the slot fails, or NULL. */
static const PolicyCheck *
row_security_failed(RowSecurity *security, List *checks, TupleTableSlot *slot)
{
	ListCell   *lc;

	foreach(lc, checks)
	{
		const PolicyCheck *check = lfirst(lc);
		bool		holds;

		if (check->plan != NULL)
			holds = policy_check_run(check, slot);
		else
		{
			security->econtext->ecxt_scantuple = slot;
			holds = ExecQual(check->qual, security->econtext);
			ResetExprContext(security->econtext);
		}
		if (!holds)
			return check;
	}
	return NULL;
}

/* Collect what PostgreSQL asks for when the command is run on the root table. */
static void
row_security_collect(const RowSecurity *security, CmdType command,
					 List **quals, List **options)
{
	Query	   *query = makeNode(Query);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	bool		has_row_security;
	bool		has_sublinks;

	rte->rtekind = RTE_RELATION;
	rte->relid = security->root;
	rte->relkind = get_rel_relkind(security->root);
	rte->rellockmode = RowExclusiveLock;
	query->commandType = command;
	query->rtable = list_make1(rte);
	query->resultRelation = 1;
	compat_set_check_as_user(query, rte, security->check_as_user);
	get_row_security_policies(query, rte, 1, quals, options,
							  &has_row_security, &has_sublinks);
}

/* What a command asks for, with Vars of the table that is written. */
static CommandPolicies *
row_security_policies(RowSecurity *security, Relation relation, CmdType command)
{
	CommandPolicies *policies = &security->policies[command];
	MemoryContext oldcontext;
	List	   *quals;
	List	   *options;
	ListCell   *lc;

	if (policies->ready)
		return policies;
	oldcontext = MemoryContextSwitchTo(security->context);
	row_security_collect(security, command, &quals, &options);
	if (RelationGetRelid(relation) != security->root)
	{
		Relation	root = table_open(security->root, NoLock);
		AttrMap    *map = compat_build_attrmap(RelationGetDescr(relation),
											   RelationGetDescr(root));
		Oid			rowtype = RelationGetForm(relation)->reltype;
		bool		whole_row;

		quals = (List *) map_variable_attnos((Node *) quals, 1, 0, map, rowtype,
											 &whole_row);
		options = (List *) map_variable_attnos((Node *) options, 1, 0, map, rowtype,
											   &whole_row);
		table_close(root, NoLock);
	}
	foreach(lc, quals)
		policies->stored = lappend(policies->stored,
								   policy_check_create(lfirst(lc), NULL));
	foreach(lc, options)
	{
		WithCheckOption *option = lfirst_node(WithCheckOption, lc);

		policies->merged = lappend(policies->merged,
								   policy_check_create(option->qual, option->polname));
	}
	policies->ready = true;
	MemoryContextSwitchTo(oldcontext);
	return policies;
}

/*
 * row_security_check_stored
 *		May the stored row of the key be read (CMD_SELECT), changed (CMD_UPDATE)
 *		or removed (CMD_DELETE)?  The target has row security.  Raises
 *		ERRCODE_INSUFFICIENT_PRIVILEGE.
 */
void
row_security_check_stored(MergeTarget *target, Relation relation, CmdType command)
{
	RowSecurity *security = target->row_security;
	CommandPolicies *policies = row_security_policies(security, relation, command);

	if (row_security_failed(security, policies->stored, target->stored) == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("row security of table \"%s\" hides the stored row to merge into",
					get_rel_name(security->root)),
			 command == CMD_SELECT ?
				 errdetail("The row's primary key is taken by a row that the policies for SELECT do not let you see.") :
				 command == CMD_UPDATE ?
				 errdetail("The row's primary key is taken by a row that the policies for UPDATE do not let you change.") :
				 errdetail("The row's primary key is taken by a row that the policies for DELETE do not let you remove.")));
}

/*
 * row_security_check_merged
 *		May the merged row take the stored row's place?  The target has row
 *		security.  Raises ERRCODE_INSUFFICIENT_PRIVILEGE.
 */
void
row_security_check_merged(MergeTarget *target, Relation relation)
{
	RowSecurity *security = target->row_security;
	List	   *update = row_security_policies(security, relation, CMD_UPDATE)->merged;
	List	   *select = row_security_policies(security, relation, CMD_SELECT)->stored;
	const PolicyCheck *failed = row_security_failed(security, update, target->merged);

	if (failed == NULL)
		failed = row_security_failed(security, select, target->merged);
	if (failed == NULL)
		return;
	if (failed->policy != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("new row violates row-level security policy \"%s\" for table \"%s\"",
						failed->policy, get_rel_name(security->root)),
				 errdetail("The new row is the incoming row merged into the stored one.")));
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("new row violates row-level security policy for table \"%s\"",
					get_rel_name(security->root)),
			 errdetail("The new row is the incoming row merged into the stored one.")));
}
