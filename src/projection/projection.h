/*
 * projection.h
 *	  What the parts of a projection share: its definition, its sources, the
 *	  lineage of its view, and the steps of a refresh.
 *
 * A projection is a table that holds the result of a view and is brought up to
 * date from what changed in the view's sources.  Read the files in this order:
 *
 *	lineage.c		a view's query tree as base tables, columns and equalities
 *	derivation.c	from a changed source row to the replace keys it affects
 *	affected_keys.c	the same, from a query the user wrote
 *	fields.c		what an incremental field must fulfil
 *	watermark.c		up to where a refresh may read without losing a row
 *	steps.c			the statements of the three modes
 *	refresh.c		one refresh, from the bounds to the history row
 *	define.c		create_, alter_ and drop_projection
 *	inspect.c		check_projection and what the views for people show
 *	store.c			our catalog tables
 */
#ifndef PROJECTION_H
#define PROJECTION_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "lib/stringinfo.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"
#include "utils/tuplestore.h"

typedef enum ProjectionMode
{
	PROJECTION_INSERT,
	PROJECTION_MERGE,
	PROJECTION_DELETE_INSERT
} ProjectionMode;

typedef enum ProjectionNotMatched
{
	NOT_MATCHED_INSERT,
	NOT_MATCHED_IGNORE,
	NOT_MATCHED_ERROR
} ProjectionNotMatched;

/* One incremental source: an occurrence of a base table, and its watermark. */
typedef struct ProjectionSource
{
	char	   *field;			/* output column of the view */
	Oid			relid;			/* the base table */
	AttrNumber	attnum;			/* the incremental column in it */
	char	   *column;			/* that column's name */
	bool		inherit;		/* its children are read too */
	int			table;			/* index of the occurrence in the lineage */
	Oid			type;			/* the column's base type */
	Oid			collation;
	bool		has_watermark;	/* false until a refresh has seen a row */
	Datum		watermark;		/* changes up to here are in the projection */
	bool		has_bound;
	Datum		bound;			/* this refresh processes changes up to here */
} ProjectionSource;

typedef struct Projection
{
	Oid			target;			/* InvalidOid until its table is created */
	Oid			view;
	ProjectionMode mode;
	List	   *incremental_fields; /* names, as char * */
	List	   *unique_key;
	ProjectionNotMatched not_matched;
	List	   *replace_key;
	char	   *affected_keys;	/* the user's query, or NULL */
	char	   *built_definition;	/* the view's text at the last full build;
									 * NULL: the next refresh is full */
	List	   *sources;		/* ProjectionSource *, in order of the fields */
} Projection;

/* A column of a base table that occurs in a view. */
typedef struct LineageColumn
{
	int			table;			/* index in Lineage.tables */
	AttrNumber	attnum;
	bool		maximum;		/* the output is max() of the column */
} LineageColumn;

/* One occurrence of a base table in a view. */
typedef struct LineageTable
{
	Oid			relid;
	char		relkind;
	bool		inherit;
	bool		in_sublink;
	bool		in_view;		/* reached through another view */
	Oid			reader;			/* whose rights read it; InvalidOid: the
								 * invoker's */
	Bitmapset  *nullable;		/* the outer joins that can null it */
} LineageTable;

/* column = column, from a join condition or a WHERE clause */
typedef struct LineageEquality
{
	LineageColumn left;
	LineageColumn right;
	List	   *families;		/* btree families whose equality it is */
	Bitmapset  *needs;			/* outer joins that must not be nulled for it
								 * to hold */
} LineageEquality;

typedef struct LineageScope LineageScope;

typedef struct Lineage
{
	Oid			view;			/* InvalidOid for a query of the user's */
	List	   *tables;			/* LineageTable * */
	List	   *equalities;		/* LineageEquality * */
	List	   *views;			/* OIDs of the views that were opened */
	LineageScope *top;
	bool		outer_join;
	bool		grouped;		/* aggregates, GROUP BY or DISTINCT */
	bool		through_view;	/* while building: below a nested view */
	const char *obstacle;		/* why keys cannot be derived, or NULL */
	const char *row_obstacle;	/* why a result row is not made of one row of
								 * each source, or NULL */
	int			next_outer_join;
} Lineage;

/* The replace or unique key, column by column. */
typedef struct ProjectionKey
{
	char	   *name;
	Oid			type;			/* base type */
	Oid			collation;
	Oid			eq_opr;
} ProjectionKey;

/* lineage.c */
extern Lineage *lineage_of_view(Oid view);
extern Lineage *lineage_of_query(Query *query);
extern bool lineage_trace_output(Lineage *lineage, AttrNumber attnum,
								 LineageColumn *column, const char **reason);
extern LineageTable *lineage_table(const Lineage *lineage, int index);
extern char *lineage_definition(const Lineage *lineage);
extern void lineage_refuse_row_security(const Lineage *lineage, Oid owner);

/* derivation.c */
extern char *derivation_keys_sql(Lineage *lineage, const ProjectionSource *source,
								 int source_index, List *keys,
								 List *key_columns);
extern List *derivation_key_columns(Lineage *lineage, List *keys);

/* affected_keys.c */
extern char *affected_keys_validate(const Projection *projection,
									const char *query, List *keys);
extern char *affected_keys_sql(const Projection *projection, List *keys);

/* fields.c */
extern List *fields_resolve(Projection *projection, Lineage *lineage);
extern List *keys_resolve(const Projection *projection, List *names, const char *argument);

/* sql.c */
extern int	sql_pin_search_path(const char *search_path);
extern int	sql_pin_text_settings(void);
extern char *sql_relation(Oid relid);
extern char *sql_operator(Oid opno);
extern char *sql_type(Oid type);
extern char *sql_collation(Oid collation);
extern char *sql_columns(TupleDesc tupdesc, const char *alias);
extern Oid	sql_btree_operator(Oid type, int strategy);
extern char *sql_condition(const char *column, Oid type, int strategy, int param);

/* watermark.c */
extern void watermark_read_bounds(Projection *projection);
extern void watermark_wait_for_writers(const Projection *projection);
extern void watermark_cap_timestamps(Projection *projection);
extern bool watermark_moved(const ProjectionSource *source);
extern char *watermark_to_text(const ProjectionSource *source, Datum value);
extern Datum watermark_from_text(const ProjectionSource *source, char *text);

/* store.c */
extern Projection *store_load(Oid target, bool with_view);
extern void store_load_watermarks(Projection *projection);
extern void store_save(const Projection *projection);
extern void store_save_watermarks(const Projection *projection, const char *definition);
extern int	store_execute(const char *sql, int nargs, Oid *types, Datum *values,
						  const char *nulls);
extern char *store_watermarks_json(Oid target, MemoryContext context);
extern void store_forget(Oid target);
extern bool store_exists(void);
extern void store_check_owner(Oid target);
extern void store_lock(Oid target, int lockmode);
extern Oid	relation_owner(Oid relid);

/* steps.c */
typedef struct RefreshCounts
{
	int64		affected_keys;	/* -1: the mode has none */
	int64		deleted;
	int64		updated;
	int64		inserted;
} RefreshCounts;

typedef struct RefreshState
{
	Projection *projection;
	Lineage    *lineage;
	Snapshot	snapshot;		/* the one that all steps use */
	RefreshCounts counts;
	StringInfo	phases;			/* a JSON object: milliseconds by phase */
	TimestampTz phase_start;
} RefreshState;

extern void steps_full(RefreshState *state);
extern void steps_incremental(RefreshState *state);
extern void steps_phase_done(RefreshState *state, const char *phase);

/* define.c */
extern void projection_resolve(Projection *projection, Lineage *lineage);
extern const char *projection_mode_name(ProjectionMode mode);
extern ProjectionMode projection_mode_from_name(const char *name);
extern const char *projection_not_matched_name(ProjectionNotMatched not_matched);
extern ProjectionNotMatched projection_not_matched_from_name(const char *name);

/* refresh.c */
typedef struct ProjectionUser
{
	Oid			userid;
	int			sec_context;
	int			nestlevel;
} ProjectionUser;

extern void projection_enter(ProjectionUser *user, Oid owner);
extern void projection_leave(ProjectionUser *user);
extern void projection_check_shape(const Projection *projection);

#endif							/* PROJECTION_H */
