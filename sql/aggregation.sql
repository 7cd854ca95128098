-- The aggregation engine: column by column, the result of an aggregate function.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA aggregation;
SET search_path = aggregation;

CREATE TABLE t (k int PRIMARY KEY, total int, best int, last text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.total.aggregate-function" = 'sum',
		"fields.best.aggregate-function" = 'max');
\set QUIET off
INSERT INTO t VALUES (1, 100, 1, 'a'), (1, -20, 3, NULL), (1, NULL, 2, NULL), (2, NULL, NULL, NULL);
\set QUIET on
SELECT * FROM t ORDER BY k;
INSERT INTO t VALUES (1, 1, 9, 'b');
INSERT INTO t VALUES (2, 5, 5, NULL), (1, 2, 8, 'c');
SELECT * FROM t ORDER BY k;

-- RETURNING returns the merged row
INSERT INTO t VALUES (1, 1, 1, NULL), (3, 1, 1, 'x'), (1, 1, 10, 'd') RETURNING *;

-- many rows of a key in a statement
INSERT INTO t SELECT 4, i, i, i FROM generate_series(1, 1000) i;
SELECT * FROM t WHERE k = 4;

-- a default function for the columns that have none
CREATE TABLE f (k int PRIMARY KEY, a int, b int, s int)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.default-aggregate-function" = 'sum',
		"sequence.field" = 's', "fields.b.aggregate-function" = 'min');
INSERT INTO f VALUES (1, 5, 5, 5), (1, 6, 6, 6);
INSERT INTO f VALUES (1, 1, 1, 1);
SELECT * FROM f;

-- the sequence field, and late rows, which go under the stored row
CREATE TABLE s (k int PRIMARY KEY, v int, total int, list text, first text, first_set text, last text,
		last_set text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "sequence.field" = 'v',
		"fields.total.aggregate-function" = 'sum', "fields.list.aggregate-function" = 'listagg',
		"fields.first.aggregate-function" = 'first_value',
		"fields.first_set.aggregate-function" = 'first_non_null_value',
		"fields.last.aggregate-function" = 'last_value');
INSERT INTO s VALUES (1, 5, 5, 'e', 'e', 'e', 'e', 'e');
INSERT INTO s VALUES (1, 3, 3, 'c', NULL, NULL, 'c', 'c');
SELECT * FROM s;
INSERT INTO s VALUES (1, 6, 6, 'f', 'f', 'f', NULL, NULL);
SELECT * FROM s;
-- several late rows and newer ones in one statement: sorted among themselves
INSERT INTO s VALUES (1, 2, 1, 'b', 'b', 'b', 'b', 'b'), (1, 8, 1, 'h', 'h', 'h', 'h', 'h'),
	(1, 1, 1, 'a', 'a', NULL, 'a', 'a'), (1, 7, 1, 'g', 'g', 'g', 'g', 'g'), (1, 6, 1, 'tie', 'tie', 'tie', NULL, NULL);
SELECT * FROM s;
-- a NULL that was stored by last_value counts as set, one of last_non_null_value does not
INSERT INTO s VALUES (2, 5, NULL, NULL, 'x', NULL, NULL, NULL);
INSERT INTO s VALUES (2, 4, NULL, NULL, NULL, NULL, 'late', 'late');
SELECT * FROM s WHERE k = 2;

-- one statement in every order of its rows
CREATE TABLE o (k int PRIMARY KEY, v int, list text, first text, last text, total int)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "sequence.field" = 'v',
		"fields.list.aggregate-function" = 'listagg', "fields.first.aggregate-function" = 'first_value',
		"fields.last.aggregate-function" = 'last_value', "fields.total.aggregate-function" = 'sum');
INSERT INTO o
	SELECT n, v, list, list, nullif(list, 'c'), v
	FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c')) AS r(v, list),
		(VALUES (1, '{1,2,3}'::int[]), (2, '{1,3,2}'), (3, '{2,1,3}'), (4, '{2,3,1}'), (5, '{3,1,2}'), (6, '{3,2,1}'))
			AS o(n, positions)
	ORDER BY n, positions[v];
SELECT DISTINCT v, list, first, last, total FROM o;

-- retractions
CREATE TABLE r (k int PRIMARY KEY, total int, last text, def text, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op',
		"fields.total.aggregate-function" = 'sum', "fields.last.aggregate-function" = 'last_value');
INSERT INTO r VALUES (1, 10, 'a', 'a', '+I'), (1, 3, NULL, NULL, '-D');
SELECT * FROM r;
INSERT INTO r VALUES (1, 7, 'b', 'b', '-U'), (1, 8, 'c', 'c', '+U');
SELECT * FROM r;
-- a key never seen stores the algebraic result
INSERT INTO r VALUES (2, 100, 'x', 'x', '-D');
SELECT * FROM r WHERE k = 2;
INSERT INTO r VALUES (2, 100, 'x', NULL, '+I');
SELECT * FROM r WHERE k = 2;

-- late retractions: sum takes them, last_value does not
CREATE TABLE l (k int PRIMARY KEY, v int, total int, last text, def text, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op', "sequence.field" = 'v',
		"fields.total.aggregate-function" = 'sum', "fields.last.aggregate-function" = 'last_value');
INSERT INTO l VALUES (1, 5, 10, 'a', 'a', '+I');
INSERT INTO l VALUES (1, 4, 3, 'a', 'a', '-D');
SELECT k, v, total, last, def FROM l;
-- a newer one advances the sequence
INSERT INTO l VALUES (1, 8, 1, 'a', 'a', '-U');
SELECT k, v, total, last, def FROM l;
INSERT INTO l VALUES (1, 7, 1, 'b', 'b', '+I');
SELECT k, v, total, last, def FROM l;

-- aggregation.remove-record-on-delete: -D removes, -U retracts
CREATE TABLE d (k int PRIMARY KEY, v int, total int, best int, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op', "sequence.field" = 'v',
		"fields.total.aggregate-function" = 'sum', "fields.best.aggregate-function" = 'max',
		"fields.best.ignore-retract" = 'true', "aggregation.remove-record-on-delete" = 'true');
INSERT INTO d VALUES (1, 1, 10, 10, '+I'), (1, 2, 3, 3, '-U'), (2, 1, 1, 1, '+I'), (3, 1, 5, 5, '-U');
SELECT k, v, total, best FROM d ORDER BY k;
INSERT INTO d VALUES (1, 1, NULL, NULL, '-D'), (2, 1, NULL, NULL, '-D'), (4, 1, NULL, NULL, '-D');
SELECT k, v, total, best FROM d ORDER BY k;
-- in one statement: what comes before the -D is gone, a late -D drops only late rows
INSERT INTO d VALUES (1, 5, 5, 5, '+I'), (1, 4, NULL, NULL, '-D'), (1, 3, 3, 3, '+I'),
	(3, 0, 7, 7, '+I'), (3, 0, NULL, NULL, '-D'), (3, 2, 1, 1, '+I');
SELECT k, v, total, best FROM d ORDER BY k;
