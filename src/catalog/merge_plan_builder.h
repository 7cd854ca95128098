/*
 * merge_plan_builder.h
 *	  What the parts of the compilation of a table's options share.
 */
#ifndef MERGE_PLAN_BUILDER_H
#define MERGE_PLAN_BUILDER_H

#include "postgres.h"

#include "catalog/merge_plan.h"

/* What one compilation works on. */
typedef struct PlanBuilder
{
	Relation	relation;
	TupleDesc	desc;
	const MergeOptions *options;
	MergePlan  *plan;
	FieldOption **functions;	/* by column: its explicit function, or NULL */
} PlanBuilder;

#define builder_table(builder) RelationGetRelationName((builder)->relation)

/* merge_plan_compile.c */
extern int	builder_column(PlanBuilder *builder, const char *option, const char *name);
extern void builder_exclusive(PlanBuilder *builder, bool both, const char *one,
							  const char *other);

/* merge_plan_state.c */
extern void builder_versions(PlanBuilder *builder);
extern void builder_carried(PlanBuilder *builder);
extern void builder_tombstones(PlanBuilder *builder);
extern void builder_explicit_null(PlanBuilder *builder);

#endif							/* MERGE_PLAN_BUILDER_H */
