-- Order: sequence.field and sequence.field.sort-order.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA sequence;
SET search_path = sequence;

-- ties go to the later row, within a statement and between statements
CREATE TABLE t (k int PRIMARY KEY, s int, v text) USING merge_engine WITH ("sequence.field" = 's');
INSERT INTO t VALUES (1, 5, 'a'), (1, 5, 'b'), (1, 4, 'c');
SELECT * FROM t;
INSERT INTO t VALUES (1, 5, 'd');
SELECT * FROM t;
INSERT INTO t VALUES (1, 4, 'late'), (1, NULL, 'lowest');
SELECT * FROM t;

-- NULL is lowest: any value is newer, another NULL is a tie
INSERT INTO t VALUES (2, NULL, 'a');
INSERT INTO t VALUES (2, NULL, 'b');
SELECT * FROM t WHERE k = 2;
INSERT INTO t VALUES (2, -2147483648, 'c'), (2, NULL, 'd');
SELECT * FROM t WHERE k = 2;
-- a sequence field that is not named is NULL
INSERT INTO t (k, v) VALUES (2, 'unnamed'), (3, 'first'), (3, 'second');
SELECT * FROM t ORDER BY k;

-- descending: smaller is newer, NULL is still lowest
CREATE TABLE d (k int PRIMARY KEY, s int, v text)
	USING merge_engine WITH ("sequence.field" = 's', "sequence.field.sort-order" = 'descending');
INSERT INTO d VALUES (1, 5, 'a'), (1, NULL, 'n'), (1, 7, 'b'), (1, 5, 'c');
SELECT * FROM d;
INSERT INTO d VALUES (1, 6, 'late');
INSERT INTO d VALUES (1, NULL, 'lowest');
INSERT INTO d VALUES (1, 4, 'new');
SELECT * FROM d;
INSERT INTO d VALUES (2, NULL, 'null');
INSERT INTO d VALUES (2, 2147483647, 'value');
SELECT * FROM d WHERE k = 2;

-- several fields compare in the order they are named, and are replaced as one
CREATE TABLE m (k int PRIMARY KEY, s2 int, v text, w text, s1 int)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 's1,s2');
INSERT INTO m VALUES (1, 9, 'a', 'a', 1);
INSERT INTO m VALUES (1, 1, 'b', NULL, 2);
SELECT * FROM m;
INSERT INTO m VALUES (1, NULL, 'c', NULL, 3);
SELECT * FROM m;
INSERT INTO m VALUES (1, 5, 'd', 'd', NULL);
SELECT * FROM m;
INSERT INTO m VALUES (1, 0, NULL, 'e', 3);
SELECT * FROM m;
-- each column of its own version: v was last set by (1, 5), w by (2, 2)
INSERT INTO m VALUES (2, 2, NULL, 'w22', 2), (2, 5, 'v15', 'w15', 1), (2, 4, 'v14', NULL, 1);
SELECT * FROM m WHERE k = 2;
-- descending turns every field round
CREATE TABLE md (k int PRIMARY KEY, s1 int, s2 int, v text)
	USING merge_engine WITH ("sequence.field" = 's1, s2', "sequence.field.sort-order" = 'descending');
INSERT INTO md VALUES (1, 2, 2, 'a'), (1, 2, 1, 'b'), (1, 2, NULL, 'c'), (1, 3, 0, 'd');
SELECT * FROM md;

-- types and their own order: collations, numeric, text, timestamps, ranges, enums, arrays
CREATE TYPE level AS ENUM ('low', 'middle', 'high');
CREATE TABLE types (k int PRIMARY KEY, s_text text COLLATE "C", v int)
	USING merge_engine WITH ("sequence.field" = 's_text');
INSERT INTO types VALUES (1, 'a', 1), (1, 'B', 2), (1, 'b', 3), (1, 'Z', 4);
SELECT * FROM types;
CREATE TABLE types2 (k int PRIMARY KEY, s level, v int) USING merge_engine WITH ("sequence.field" = 's');
INSERT INTO types2 VALUES (1, 'middle', 1), (1, 'high', 2), (1, 'low', 3);
SELECT * FROM types2;
CREATE TABLE types3 (k int PRIMARY KEY, s int[], v int) USING merge_engine WITH ("sequence.field" = 's');
INSERT INTO types3 VALUES (1, '{1,2}', 1), (1, '{1,10}', 2), (1, '{1}', 3);
SELECT * FROM types3;
CREATE TABLE types4 (k int PRIMARY KEY, s float8, v int) USING merge_engine WITH ("sequence.field" = 's');
INSERT INTO types4 VALUES (1, 'Infinity', 1), (1, 'NaN', 2), (1, '1', 3), (1, '-Infinity', 4);
SELECT * FROM types4;
CREATE TABLE types5 (k int PRIMARY KEY, s numeric, v int) USING merge_engine WITH ("sequence.field" = 's');
INSERT INTO types5 VALUES (1, 10, 1), (1, 9.99, 2), (1, 10.00, 3);
SELECT * FROM types5;
CREATE DOMAIN version AS bigint CHECK (VALUE >= 0);
CREATE TABLE types6 (k int PRIMARY KEY, s version, v int) USING merge_engine WITH ("sequence.field" = 's');
INSERT INTO types6 VALUES (1, 10, 1), (1, 9, 2);
SELECT * FROM types6;

-- deduplicate keeps the newest whole row whatever the order of arrival
CREATE TABLE a1 (k int PRIMARY KEY, s int, v text) USING merge_engine WITH ("sequence.field" = 's');
CREATE TABLE a2 (k int PRIMARY KEY, s int, v text) USING merge_engine WITH ("sequence.field" = 's');
INSERT INTO a1 SELECT i % 10, i, 'v' || i FROM generate_series(1, 200) i ORDER BY md5(i::text);
INSERT INTO a2 SELECT i % 10, i, 'v' || i FROM generate_series(1, 100) i ORDER BY i DESC;
INSERT INTO a2 SELECT i % 10, i, 'v' || i FROM generate_series(101, 200) i ORDER BY md5(i::text);
SELECT count(*), min(s), bool_and(v = 'v' || s) FROM a1;
SELECT count(*) FROM (SELECT * FROM a1 EXCEPT SELECT * FROM a2) AS difference;

-- a late row writes nothing and locks nothing
SELECT ctid AS before, xmax AS before_xmax FROM t WHERE k = 1 \gset
INSERT INTO t VALUES (1, 3, 'late'), (1, 2, 'late');
SELECT ctid = :'before', xmax = :'before_xmax' FROM t WHERE k = 1;
