-- Sequence groups of partial-update.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA groups;
SET search_path = groups;

CREATE TABLE t (k int PRIMARY KEY, a int, b text, g int, c int, h2 int, h1 int, free text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "fields.g.sequence-group" = 'a,b',
		"fields.h1,h2.sequence-group" = 'c');
INSERT INTO t VALUES (1, 1, 'b1', 1, 1, 1, 1, 'f1');
-- each group has its own order; NULLs of a newer row count
INSERT INTO t VALUES (1, NULL, 'b2', 2, 9, 9, 0, 'f2');
SELECT * FROM t;
-- a group whose sequence is NULL is left alone; a column outside groups is not
INSERT INTO t VALUES (1, 9, 'b9', NULL, 9, NULL, NULL, 'f3');
SELECT * FROM t;
INSERT INTO t VALUES (1, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT * FROM t;
-- two fields: field by field, NULL lowest, replaced together
INSERT INTO t VALUES (1, NULL, NULL, NULL, 2, NULL, 1, NULL);
INSERT INTO t VALUES (1, NULL, NULL, NULL, 3, NULL, 2, NULL);
SELECT * FROM t;
INSERT INTO t VALUES (1, NULL, NULL, NULL, 4, 9, NULL, NULL);
SELECT * FROM t;
-- ties replace
INSERT INTO t VALUES (1, 5, NULL, 2, NULL, NULL, 2, NULL) RETURNING *;

-- on a first row a group of NULLs stays NULL
INSERT INTO t VALUES (2, 7, 'b7', NULL, 7, 7, 7, NULL), (2, 8, 'b8', NULL, 6, 6, 7, 'f');
SELECT * FROM t WHERE k = 2;
-- the input order of plain columns does not matter within a statement
INSERT INTO t VALUES (3, 3, 'b3', 3, 1, 1, 1, NULL), (3, 1, 'b1', 1, 3, 3, 1, NULL), (3, 2, 'b2', 2, 2, 2, 1, NULL);
SELECT * FROM t WHERE k = 3;

-- a column of a group that the statement does not name stays (rule 16)
INSERT INTO t (k, a, g) VALUES (3, 4, 4);
SELECT * FROM t WHERE k = 3;
-- a sequence field that is not named is NULL
INSERT INTO t (k, c, h1) VALUES (3, 9, 2), (3, 8, 2);
INSERT INTO t (k, b) VALUES (3, 'skipped');
SELECT * FROM t WHERE k = 3;

-- functions take every row: newer onto the stored value, late under it
CREATE TABLE f (k int PRIMARY KEY, g int, total int, best int, list text, first text, last text, plain text)
	USING merge_engine WITH ("merge-engine" = 'partial-update',
		"fields.g.sequence-group" = 'total,best,list,first,last,plain',
		"fields.total.aggregate-function" = 'sum', "fields.best.aggregate-function" = 'max',
		"fields.list.aggregate-function" = 'listagg', "fields.first.aggregate-function" = 'first_value',
		"fields.last.aggregate-function" = 'last_value');
INSERT INTO f VALUES (1, 5, 1, 1, 'e', 'e', 'e', 'e');
INSERT INTO f VALUES (1, 3, 2, 9, 'c', 'c', 'c', 'c');
SELECT * FROM f;
INSERT INTO f VALUES (1, 6, 3, NULL, 'f', 'f', NULL, NULL), (1, 4, 4, 2, 'd', 'd', 'd', 'd'),
	(1, NULL, 100, 100, 'x', 'x', 'x', 'x');
SELECT * FROM f;
-- the first value of a group that the row never had is taken, NULL or not
INSERT INTO f VALUES (2, NULL, 1, 1, 'n', 'n', 'n', 'n');
INSERT INTO f VALUES (2, 1, 2, 2, 'a', 'a', 'a', 'a');
INSERT INTO f VALUES (3, 1, NULL, NULL, NULL, NULL, NULL, NULL), (3, 2, NULL, NULL, 'b', 'b', NULL, 'b');
SELECT * FROM f WHERE k > 1 ORDER BY k;

-- the default function reaches columns of groups, not sequence fields
CREATE TABLE d (k int PRIMARY KEY, a int, b int, g int, free int)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "fields.g.sequence-group" = 'a,b',
		"fields.default-aggregate-function" = 'last_non_null_value', "fields.b.aggregate-function" = 'sum');
INSERT INTO d VALUES (1, 1, 1, 1, 1), (1, NULL, NULL, 3, NULL), (1, 2, 2, 2, 2);
SELECT * FROM d;

-- retractions clear the plain columns of a group that is newer or equal
CREATE TABLE r (k int PRIMARY KEY, a int, b int, g int, c int, h int, free text, op text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "rowkind.field" = 'op',
		"fields.g.sequence-group" = 'a,b', "fields.h.sequence-group" = 'c', "fields.b.aggregate-function" = 'sum');
INSERT INTO r VALUES (1, 1, 1, 5, 1, 5, 'f', '+I');
INSERT INTO r VALUES (1, NULL, NULL, 4, NULL, NULL, NULL, '-D');
SELECT * FROM r;
INSERT INTO r VALUES (1, NULL, 7, 6, NULL, 5, NULL, '-U');
SELECT * FROM r;
-- a late retraction reaches functions only
INSERT INTO r VALUES (1, 3, 3, 7, 3, 7, NULL, '+U');
INSERT INTO r VALUES (1, 9, 4, 2, 9, 2, NULL, '-D');
SELECT * FROM r;
-- columns are cleared whether they are named or not
INSERT INTO r (k, g, op) VALUES (1, 8, '-D');
SELECT * FROM r;
-- a key never seen: nothing visible
INSERT INTO r VALUES (2, 1, 1, 1, 1, 1, 'x', '-D'), (3, 1, 1, NULL, NULL, NULL, 'x', '-U');
SELECT k FROM r;
-- plain columns do not depend on the order within a statement
INSERT INTO r VALUES (4, 1, NULL, 5, 1, 5, 'x', '-D'), (4, 2, NULL, 4, 2, 6, 'y', '+I');
INSERT INTO r VALUES (5, 2, NULL, 4, 2, 6, 'y', '+I'), (5, 1, NULL, 5, 1, 5, 'x', '-D');
SELECT k, a, b, g, c, h, free FROM r WHERE k > 3 ORDER BY k;

-- remove-record-on-sequence-group: one field of a group names it
CREATE TABLE rg (k int PRIMARY KEY, a int, g1 int, g2 int, c int, h int, free text, op text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "rowkind.field" = 'op',
		"fields.g1,g2.sequence-group" = 'a', "fields.h.sequence-group" = 'c',
		"partial-update.remove-record-on-sequence-group" = 'g2');
INSERT INTO rg SELECT i, 1, 5, 5, 1, 5, 'f', '+I' FROM generate_series(1, 6) i;
INSERT INTO rg VALUES (1, NULL, 5, 4, NULL, NULL, NULL, '-D'),		-- older
	(2, NULL, NULL, NULL, NULL, 6, NULL, '-D'),						-- the other group
	(3, NULL, 5, 5, NULL, NULL, NULL, '-D'),						-- equal
	(4, NULL, 6, NULL, NULL, 1, NULL, '-D'),						-- newer
	(5, NULL, 6, 6, NULL, NULL, NULL, '-U'),						-- not a delete
	(6, NULL, 6, 6, NULL, NULL, NULL, '-D'), (6, 2, 1, NULL, NULL, NULL, NULL, '+I');
SELECT k, a, g1, g2, c, h, free FROM rg ORDER BY k;

-- groups beside a sequence field: columns outside groups follow the field
CREATE TABLE s (k int PRIMARY KEY, v int, free text, a text, g int)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 'v',
		"fields.g.sequence-group" = 'a');
INSERT INTO s VALUES (1, 5, 'f5', 'a1', 1), (1, 4, 'f4', 'a2', 2);
INSERT INTO s VALUES (1, 3, 'f3', 'a3', 3);
SELECT * FROM s;
INSERT INTO s VALUES (1, 6, NULL, 'a0', 0);
SELECT * FROM s;
