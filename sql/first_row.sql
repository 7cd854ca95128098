-- The first-row engine: a key's row is the first that arrived.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA first_row;
SET search_path = first_row;

CREATE TABLE t (k int PRIMARY KEY, a int, b text)
	USING merge_engine WITH ("merge-engine" = 'first-row');
\set QUIET off
INSERT INTO t VALUES (1, 1, 'x'), (1, 2, 'y'), (2, NULL, 'z'), (2, 5, NULL);
INSERT INTO t VALUES (1, 3, 'later'), (3, 6, 'new');
\set QUIET on
SELECT * FROM t ORDER BY k;

-- RETURNING returns the stored row
INSERT INTO t VALUES (1, 7, 'no'), (4, 8, 'yes'), (4, 9, 'no') RETURNING *;

-- a later row writes nothing
SELECT ctid AS before FROM t WHERE k = 1 \gset
INSERT INTO t SELECT 1, i, 'more' FROM generate_series(1, 100) i;
SELECT ctid = :'before' FROM t WHERE k = 1;

-- columns that are not named: DEFAULT or NULL in the first row, nothing after it
CREATE TABLE d (k int PRIMARY KEY, a int DEFAULT 5, b text)
	USING merge_engine WITH ("merge-engine" = 'first-row');
INSERT INTO d (k) VALUES (1), (1);
INSERT INTO d (k, b) VALUES (1, 'x'), (2, 'y');
INSERT INTO d (k, a) VALUES (2, 6);
SELECT * FROM d ORDER BY k;

-- a row that was deleted by hand leaves room for another first one
DELETE FROM t WHERE k = 1;
INSERT INTO t VALUES (1, 20, 'again'), (1, 21, 'and again');
SELECT * FROM t WHERE k = 1;

-- retractions
CREATE TABLE r (k int PRIMARY KEY, a int, op text)
	USING merge_engine WITH ("merge-engine" = 'first-row', "rowkind.field" = 'op');
INSERT INTO r VALUES (1, 1, '+U'), (1, 2, '+I');
INSERT INTO r VALUES (1, 1, '-D');
INSERT INTO r VALUES (1, 1, '-u');
INSERT INTO r VALUES (9, 1, '-D');
INSERT INTO r VALUES (2, 1, '+I'), (3, 1, '-D');
SELECT k, a FROM r ORDER BY k;

CREATE TABLE i (k int PRIMARY KEY, a int, op text)
	USING merge_engine WITH ("merge-engine" = 'first-row', "rowkind.field" = 'op',
		"first-row.ignore-delete" = 'true');
INSERT INTO i VALUES (1, 1, '-D'), (1, 2, '-U'), (1, 3, '+I'), (1, 4, '-D');
INSERT INTO i VALUES (1, 3, '-D'), (2, 1, '-U');
SELECT k, a FROM i ORDER BY k;
