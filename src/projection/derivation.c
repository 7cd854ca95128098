/*
 * derivation.c
 *	  From the changed rows of one source to the replace keys they affect.
 *
 * A result row stands for one row of each table of the view, and every equality
 * between columns holds in it.  So a changed row's keys are found by those
 * equalities alone: in the changed row itself where a chain of them leads from the
 * key column to one of its columns, else by joining the fewest tables that lead
 * there.  Every filter is left out on purpose: a row that a filter has just removed
 * must still yield its key.  The result may hold keys too many, which costs time and
 * changes nothing; it must never lack one.
 *
 * An equality is usable for a source if it holds in every result row that the source
 * takes part in.  Outer joins make that a matter of reachability: an equality that
 * needs a join's right side not to be null holds once something known not to be null
 * is on that side.  Equality operators are strict, so what a usable equality touches
 * is not null either.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_index.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "projection/projection.h"

/* A column that takes part in usable equalities; equal ones share a class. */
typedef struct ColumnNode
{
	int			table;
	AttrNumber	attnum;
	Oid			family;
	int			class;
} ColumnNode;

typedef struct Derivation
{
	Lineage    *lineage;
	int			source;			/* index of the changed occurrence */
	List	   *nodes;			/* ColumnNode * */
	List	   *joined;			/* indexes of the occurrences in the FROM clause */
	StringInfoData from;
} Derivation;

/* The node of a column in a family; created on demand. */
static ColumnNode *
node_get(Derivation *derivation, int table, AttrNumber attnum, Oid family)
{
	ColumnNode *node;
	ListCell   *lc;

	foreach(lc, derivation->nodes)
	{
		node = lfirst(lc);
		if (node->table == table && node->attnum == attnum && node->family == family)
			return node;
	}
	node = palloc(sizeof(ColumnNode));
	node->table = table;
	node->attnum = attnum;
	node->family = family;
	node->class = list_length(derivation->nodes);
	derivation->nodes = lappend(derivation->nodes, node);
	return node;
}

/* Say that two columns are equal. */
static void
nodes_merge(Derivation *derivation, ColumnNode *a, ColumnNode *b)
{
	int			from = b->class;
	ListCell   *lc;

	foreach(lc, derivation->nodes)
	{
		ColumnNode *node = lfirst(lc);

		if (node->class == from)
			node->class = a->class;
	}
}

/*
 * The numbers of the outer joins whose nullable side is not null in every result row
 * in which those of "known" are not; marks the equalities that hold there.
 */
static Bitmapset *
equalities_usable(Lineage *lineage, Bitmapset *known, bool *usable)
{
	bool		again = true;

	while (again)
	{
		ListCell   *lc;

		again = false;
		foreach(lc, lineage->equalities)
		{
			LineageEquality *equality = lfirst(lc);
			int			i = foreach_current_index(lc);

			if (usable[i] || !bms_is_subset(equality->needs, known))
				continue;
			usable[i] = true;
			again = true;
			known = bms_add_members(known, lineage_table(lineage, equality->left.table)->nullable);
			known = bms_add_members(known, lineage_table(lineage, equality->right.table)->nullable);
		}
	}
	return known;
}

/* The base type of a table's column. */
static Oid
column_type(const Lineage *lineage, int table, AttrNumber attnum)
{
	return getBaseType(get_atttype(lineage_table(lineage, table)->relid, attnum));
}

/* The collation of a table's column. */
static Oid
column_collation(const Lineage *lineage, int table, AttrNumber attnum)
{
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(lineage_table(lineage, table)->relid, attnum,
						  &type, &typmod, &collation);
	return collation;
}

/* The family that decides what "equal" means for a type. */
static Oid
type_family(Oid type)
{
	return lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/* Gather the columns that are equal in every result row the source is part of. */
static void
derivation_classes(Derivation *derivation)
{
	Lineage    *lineage = derivation->lineage;
	bool	   *usable = palloc0(sizeof(bool) * (list_length(lineage->equalities) + 1));
	ListCell   *lc;

	(void) equalities_usable(lineage,
							 bms_copy(lineage_table(lineage, derivation->source)->nullable),
							 usable);
	foreach(lc, lineage->equalities)
	{
		LineageEquality *equality = lfirst(lc);
		Oid			left;
		Oid			right;

		if (!usable[foreach_current_index(lc)])
			continue;
		left = type_family(column_type(lineage, equality->left.table, equality->left.attnum));
		right = type_family(column_type(lineage, equality->right.table, equality->right.attnum));
		if (left != right || !list_member_oid(equality->families, left))
			continue;
		nodes_merge(derivation,
					node_get(derivation, equality->left.table, equality->left.attnum, left),
					node_get(derivation, equality->right.table, equality->right.attnum, left));
	}
}

/* The operator for "left = right" of two columns of one class, or InvalidOid. */
static Oid
node_operator(Derivation *derivation, ColumnNode *left, ColumnNode *right)
{
	Oid			left_type = column_type(derivation->lineage, left->table, left->attnum);
	Oid			right_type = column_type(derivation->lineage, right->table, right->attnum);
	TypeCacheEntry *left_entry = lookup_type_cache(left_type, TYPECACHE_BTREE_OPFAMILY);
	TypeCacheEntry *right_entry = lookup_type_cache(right_type, TYPECACHE_BTREE_OPFAMILY);

	return get_opfamily_member(left->family, left_entry->btree_opintype,
							   right_entry->btree_opintype, BTEqualStrategyNumber);
}

/* A column of the derivation's FROM clause. */
static char *
node_sql(Derivation *derivation, int table, AttrNumber attnum)
{
	return psprintf("t%d.%s", table,
					quote_identifier(get_attname(lineage_table(derivation->lineage, table)->relid,
												 attnum, false)));
}

/* A table of the derivation's FROM clause. */
static char *
table_sql(Derivation *derivation, int index)
{
	LineageTable *table = lineage_table(derivation->lineage, index);

	return psprintf("%s%s t%d", table->inherit ? "" : "ONLY ",
					sql_relation(table->relid), index);
}

/*
 * A column of table "index" that carries this key in every result row: the key
 * column itself, or one equal to it whose type holds no value that the key's cannot.
 */
static bool
table_carries_key(Derivation *derivation, int index, const LineageColumn *key,
				  Oid key_type, AttrNumber *attnum)
{
	ColumnNode *key_node;
	ListCell   *lc;

	if (key->table == index)
	{
		*attnum = key->attnum;
		return true;
	}
	key_node = node_get(derivation, key->table, key->attnum,
						type_family(column_type(derivation->lineage, key->table, key->attnum)));
	foreach(lc, derivation->nodes)
	{
		ColumnNode *node = lfirst(lc);
		Oid			type;

		if (node->table != index || node->class != key_node->class ||
			node->family != key_node->family)
			continue;
		type = column_type(derivation->lineage, node->table, node->attnum);
		if (type == key_type || can_coerce_type(1, &type, &key_type, COERCION_IMPLICIT))
		{
			*attnum = node->attnum;
			return true;
		}
	}
	return false;
}

/* Do usable equalities connect two tables? */
static bool
tables_connected(Derivation *derivation, int a, int b)
{
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, derivation->nodes)
	{
		ColumnNode *left = lfirst(lc);

		if (left->table != a)
			continue;
		foreach(lc2, derivation->nodes)
		{
			ColumnNode *right = lfirst(lc2);

			if (right->table == b && right->class == left->class &&
				right->family == left->family &&
				OidIsValid(node_operator(derivation, left, right)))
				return true;
		}
	}
	return false;
}

/* The node of "other" that equals a given column, or NULL. */
static ColumnNode *
node_partner(Derivation *derivation, ColumnNode *node, int other)
{
	ListCell   *lc;

	foreach(lc, derivation->nodes)
	{
		ColumnNode *partner = lfirst(lc);

		if (partner->table == other && partner->class == node->class &&
			partner->family == node->family &&
			OidIsValid(node_operator(derivation, node, partner)))
			return partner;
	}
	return NULL;
}

/*
 * The columns of "table" by which it joins "other": those of a unique index that the
 * equalities cover, else NIL.  Equalities beyond a unique key do not find the row,
 * they filter it (l.currency = o.currency), and filters must not be used.
 */
static List *
join_columns_unique(Derivation *derivation, int table, int other)
{
	Relation	rel = table_open(lineage_table(derivation->lineage, table)->relid,
								 AccessShareLock);
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		HeapTuple	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));
		Form_pg_index index = (Form_pg_index) GETSTRUCT(tuple);
		List	   *columns = NIL;
		bool		covered = index->indisunique && index->indisvalid &&
			heap_attisnull(tuple, Anum_pg_index_indpred, NULL) &&
			heap_attisnull(tuple, Anum_pg_index_indexprs, NULL);

		for (int i = 0; covered && i < index->indnkeyatts; i++)
		{
			ListCell   *lc2;
			bool		found = false;

			foreach(lc2, derivation->nodes)
			{
				ColumnNode *node = lfirst(lc2);

				if (node->table == table && node->attnum == index->indkey.values[i] &&
					node_partner(derivation, node, other))
				{
					columns = lappend(columns, node);
					found = true;
					break;
				}
			}
			covered = found;
		}
		ReleaseSysCache(tuple);
		if (covered)
		{
			result = columns;
			break;
		}
	}
	table_close(rel, NoLock);
	return result;
}

/* Join one more table to one that is in the FROM clause already. */
static void
derivation_join(Derivation *derivation, int next, int previous)
{
	List	   *columns = join_columns_unique(derivation, next, previous);
	int			owner = next;
	ListCell   *lc;
	bool		first = true;

	if (columns == NIL)
	{
		columns = join_columns_unique(derivation, previous, next);
		owner = previous;
	}
	if (columns == NIL)
	{
		owner = next;
		foreach(lc, derivation->nodes)
		{
			ColumnNode *node = lfirst(lc);

			if (node->table == next && node_partner(derivation, node, previous))
				columns = lappend(columns, node);
		}
	}

	appendStringInfo(&derivation->from, " JOIN %s ON ", table_sql(derivation, next));
	foreach(lc, columns)
	{
		ColumnNode *node = lfirst(lc);
		ColumnNode *partner = node_partner(derivation, node, owner == next ? previous : next);
		ColumnNode *near = owner == next ? partner : node;
		ColumnNode *far = owner == next ? node : partner;

		/* the far column's collation, so that its index can be used */
		appendStringInfo(&derivation->from, "%s%s %s %s%s", first ? "" : " AND ",
						 node_sql(derivation, near->table, near->attnum),
						 sql_operator(node_operator(derivation, near, far)),
						 node_sql(derivation, far->table, far->attnum),
						 sql_collation(column_collation(derivation->lineage, far->table, far->attnum)));
		first = false;
	}
	derivation->joined = lappend_int(derivation->joined, next);
}

/*
 * Join the shortest path from the tables already joined to one that carries the key.
 * Returns that table, or -1 if no equality leads there.
 */
static int
derivation_reach(Derivation *derivation, const LineageColumn *key, Oid key_type,
				 AttrNumber *attnum)
{
	int			ntables = list_length(derivation->lineage->tables);
	int		   *parent = palloc(sizeof(int) * ntables);
	List	   *queue = list_copy(derivation->joined);
	List	   *path = NIL;
	int			found = -1;

	for (int i = 0; i < ntables; i++)
		parent[i] = -2;			/* not visited */
	for (int i = 0; i < list_length(queue); i++)
		parent[list_nth_int(queue, i)] = -1;

	/* a table that is joined already comes first in the queue */
	for (int i = 0; i < list_length(queue) && found < 0; i++)
	{
		int			table = list_nth_int(queue, i);

		if (table_carries_key(derivation, table, key, key_type, attnum))
		{
			found = table;
			break;
		}
		for (int next = 0; next < ntables; next++)
			if (parent[next] == -2 &&
				!lineage_table(derivation->lineage, next)->in_sublink &&
				tables_connected(derivation, table, next))
			{
				parent[next] = table;
				queue = lappend_int(queue, next);
			}
	}
	for (int table = found; table >= 0 && parent[table] >= 0; table = parent[table])
		path = lcons_int(table, path);
	for (int i = 0; i < list_length(path); i++)
		derivation_join(derivation, list_nth_int(path, i), parent[list_nth_int(path, i)]);
	return found;
}

/* The way out of everything that cannot be derived. */
static int
errhint_affected_keys(void)
{
	return errhint("Pass affected_keys: a query that returns the replace keys affected by the rows of every source.");
}

/*
 * The replace key's columns as columns of base tables.
 *
 * Input: the lineage and the ProjectionKeys.  Result: a list of LineageColumn *, in
 * the current context.  Errors: a key that is no plain column, that an outer join can
 * null, or a view whose shape hides which source row affects which result row.
 */
List *
derivation_key_columns(Lineage *lineage, List *keys)
{
	List	   *result = NIL;
	bool	   *usable = palloc0(sizeof(bool) * (list_length(lineage->equalities) + 1));
	Bitmapset  *not_null;
	ListCell   *lc;

	if (lineage->obstacle)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("affected keys cannot be derived from view \"%s\"",
						get_rel_name(lineage->view)),
				 errdetail("The view is not derivable because %s.", lineage->obstacle),
				 errhint_affected_keys()));

	not_null = equalities_usable(lineage, NULL, usable);
	foreach(lc, keys)
	{
		ProjectionKey *key = lfirst(lc);
		LineageColumn *column = palloc(sizeof(LineageColumn));
		const char *reason = NULL;

		if (!lineage_trace_output(lineage, get_attnum(lineage->view, key->name), column, &reason) ||
			column->maximum)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
					 errmsg("affected keys cannot be derived for replace key column \"%s\"", key->name),
					 errdetail("The column is not a plain or grouping column of a table: %s.",
							   reason ? reason : "it is an aggregate"),
					 errhint_affected_keys()));
		if (!bms_is_subset(lineage_table(lineage, column->table)->nullable, not_null))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("replace key column \"%s\" comes from the nullable side of an outer join", key->name),
					 errdetail("A change could move a row to or from the NULL key, which no equality tells."),
					 errhint("Use the column of the other side as the replace key, or pass affected_keys with a query that also returns the NULL key.")));
		result = lappend(result, column);
	}
	return result;
}

/*
 * A query for the replace keys that one source's changes affect.
 *
 * Input: the lineage, the source with its index (its watermark is parameter
 * 2 * source_index + 1, its bound the next one), the keys and their columns.
 * Result: SQL text; conditions on the watermark only if there is one.
 * Errors: no equality leads from the source to a key column.
 */
char *
derivation_keys_sql(Lineage *lineage, const ProjectionSource *source, int source_index,
					List *keys, List *key_columns)
{
	Derivation	derivation = {0};
	StringInfoData select;
	StringInfoData where;
	ListCell   *lc;
	ListCell   *lc2;
	char	   *field;

	derivation.lineage = lineage;
	derivation.source = source->table;
	derivation.joined = list_make1_int(source->table);
	initStringInfo(&derivation.from);
	initStringInfo(&select);
	initStringInfo(&where);
	derivation_classes(&derivation);
	appendStringInfoString(&derivation.from, table_sql(&derivation, source->table));

	forboth(lc, keys, lc2, key_columns)
	{
		ProjectionKey *key = lfirst(lc);
		LineageColumn *column = lfirst(lc2);
		AttrNumber	attnum = InvalidAttrNumber;
		int			table = derivation_reach(&derivation, column, key->type, &attnum);

		if (table < 0)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("no equality leads from source \"%s\" to replace key column \"%s\"",
							get_rel_name(source->relid), key->name),
					 errdetail("The keys that a change of the source affects are found by equalities between columns in join conditions."),
					 errhint_affected_keys()));
		appendStringInfo(&select, "%sCAST(%s AS %s)%s AS %s", select.len ? ", " : "",
						 node_sql(&derivation, table, attnum), sql_type(key->type),
						 sql_collation(key->collation), quote_identifier(key->name));
		/* a NULL that only stands for the key has no partner in the result */
		if (table != column->table || attnum != column->attnum)
			appendStringInfo(&where, " AND %s IS NOT NULL", node_sql(&derivation, table, attnum));
	}

	field = node_sql(&derivation, source->table, source->attnum);
	return psprintf("SELECT %s FROM %s WHERE %s%s%s%s", select.data, derivation.from.data,
					sql_condition(field, source->type, BTLessEqualStrategyNumber, 2 * source_index + 2),
					source->has_watermark ? " AND " : "",
					source->has_watermark ? sql_condition(field, source->type, BTGreaterStrategyNumber, 2 * source_index + 1) : "",
					where.data);
}
