-- The deduplicate engine: a key's row is the newest whole row.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA dedup;
SET search_path = dedup;

-- command tags count the input rows, the table holds one row a key
CREATE TABLE t (k int PRIMARY KEY, a int, b text)
	USING merge_engine WITH ("merge-engine" = 'deduplicate');
\set QUIET off
INSERT INTO t VALUES (1, 1, 'x'), (2, 2, 'y'), (1, 3, NULL), (1, 4, 'z');
INSERT INTO t SELECT 3, i, 'i' || i FROM generate_series(1, 5) i;
INSERT INTO t VALUES (2, 9, 'w');
\set QUIET on
SELECT * FROM t ORDER BY k;

-- a row is a whole row: its NULLs count, and so do those of columns that are
-- not named
INSERT INTO t VALUES (1, NULL, 'n');
INSERT INTO t (k, a) VALUES (2, 10);
SELECT * FROM t ORDER BY k;

-- it is the default engine
CREATE TABLE d (k int PRIMARY KEY, a int) USING merge_engine;
INSERT INTO d VALUES (1, 1), (1, 2);
INSERT INTO d VALUES (1, 3);
SELECT * FROM d;

-- RETURNING returns the merged row, for each input row
INSERT INTO d VALUES (1, 4), (2, 5), (1, 6) RETURNING *, a * 10;

-- columns that are not named take their DEFAULT, in a known key too
CREATE TABLE def (k int PRIMARY KEY, a int DEFAULT 7, b text DEFAULT 'new')
	USING merge_engine WITH ("merge-engine" = 'deduplicate');
INSERT INTO def VALUES (1, 1, 'x');
INSERT INTO def (k, a) VALUES (1, 2);
SELECT * FROM def;
INSERT INTO def (k) VALUES (1);
SELECT * FROM def;
INSERT INTO def VALUES (1, DEFAULT, 'y');
SELECT * FROM def;

-- keys of several columns and of other types
CREATE TABLE two (a text, v int, b date, PRIMARY KEY (b, a))
	USING merge_engine WITH ("merge-engine" = 'deduplicate');
INSERT INTO two VALUES ('p', 1, '2024-01-01'), ('p', 2, '2024-01-02'), ('p', 3, '2024-01-01'),
	('q', 4, '2024-01-01');
INSERT INTO two VALUES ('q', 5, '2024-01-01');
SELECT a, b = '2024-01-01', v FROM two ORDER BY a, b;
CREATE TABLE num (k numeric PRIMARY KEY, v int) USING merge_engine;
INSERT INTO num VALUES (1.0, 1), (1.00, 2), (1, 3);
INSERT INTO num VALUES (1.000, 4), ('NaN', 5), ('NaN', 6);
SELECT k = 1, v FROM num ORDER BY v;
CREATE TABLE u (k uuid PRIMARY KEY, v int) USING merge_engine;
INSERT INTO u VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1),
	('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 2);
SELECT v FROM u;
CREATE TABLE inc (k int, v int, w int, PRIMARY KEY (k) INCLUDE (v)) USING merge_engine;
INSERT INTO inc VALUES (1, 1, 1), (1, 2, 2);
INSERT INTO inc VALUES (1, 3, 3);
SELECT * FROM inc;

-- a key is never NULL
INSERT INTO t VALUES (NULL, 1, 'x');
INSERT INTO t VALUES (5, 1, 'x'), (NULL, 1, 'x');
SELECT count(*) FROM t WHERE k = 5;

-- a row that changes nothing writes nothing; 1.0 and 1.00 are different
CREATE TABLE same (k int PRIMARY KEY, v numeric, big text) USING merge_engine;
INSERT INTO same VALUES (1, 1.0, repeat('x', 5000));
SELECT ctid AS before, xmin AS before_xmin FROM same \gset
INSERT INTO same VALUES (1, 1.0, repeat('x', 5000));
INSERT INTO same VALUES (1, 2.0, 'z'), (1, 1.0, repeat('x', 5000));
INSERT INTO same VALUES (1, 1.00, repeat('x', 5000));
SELECT v, length(big), ctid = :'before', xmin = :'before_xmin' FROM same;
SELECT ctid AS before, xmin AS before_xmin FROM same \gset
INSERT INTO same VALUES (1, 1.00, repeat('x', 5000));
SELECT v, length(big), ctid = :'before', xmin = :'before_xmin' FROM same;

-- values that are stored out of line, in and out of a merge
CREATE TABLE toasted (k int PRIMARY KEY, big text, n int) USING merge_engine;
ALTER TABLE toasted ALTER big SET STORAGE EXTERNAL;
INSERT INTO toasted SELECT 1 + i % 3, repeat(chr(97 + i), 20000), i FROM generate_series(0, 8) i;
INSERT INTO toasted VALUES (1, repeat('z', 30000), 100);
INSERT INTO toasted SELECT k + 1, big, n FROM toasted WHERE k = 1;
SELECT k, left(big, 1), length(big), n FROM toasted ORDER BY k;

-- a table without a key appends
SET client_min_messages = error;
CREATE TABLE log (k int, v int) USING merge_engine;
RESET client_min_messages;
INSERT INTO log VALUES (1, 1), (1, 2);
INSERT INTO log VALUES (1, 1);
SELECT * FROM log ORDER BY v;
-- and merges once it has one
TRUNCATE log;
ALTER TABLE log ADD PRIMARY KEY (k);
INSERT INTO log VALUES (1, 1), (1, 2);
SELECT * FROM log;

-- an unlogged and a temporary table
CREATE UNLOGGED TABLE unlogged (k int PRIMARY KEY, v int) USING merge_engine;
INSERT INTO unlogged VALUES (1, 1), (1, 2);
INSERT INTO unlogged VALUES (1, 3), (2, 1);
SELECT * FROM unlogged ORDER BY k;
CREATE TEMP TABLE temporary (k int PRIMARY KEY, v int) USING merge_engine ON COMMIT DELETE ROWS;
BEGIN;
INSERT INTO temporary VALUES (1, 1), (1, 2);
INSERT INTO temporary VALUES (1, 3), (2, 1);
SELECT * FROM temporary ORDER BY k;
COMMIT;
SELECT * FROM temporary;
