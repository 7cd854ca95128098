-- Partitions: list, range, hash and default ones, attached and detached.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA partitions;
SET search_path = partitions;

-- every partition a merge table, by list, with a default one
CREATE TABLE l (region text, k int, a int, b text, PRIMARY KEY (region, k)) PARTITION BY LIST (region);
CREATE TABLE l_eu PARTITION OF l FOR VALUES IN ('de', 'fr')
	USING merge_engine WITH ("merge-engine" = 'partial-update');
CREATE TABLE l_us PARTITION OF l FOR VALUES IN ('us')
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.a.aggregate-function" = 'sum');
CREATE TABLE l_rest PARTITION OF l DEFAULT USING merge_engine;
\set QUIET off
INSERT INTO l VALUES ('de', 1, 1, NULL), ('us', 1, 10, 'x'), ('de', 1, NULL, 'y'), ('us', 1, 5, NULL),
	('jp', 1, 1, 'first'), ('jp', 1, NULL, NULL), ('fr', 1, 2, NULL);
\set QUIET on
SELECT tableoid::regclass, * FROM l ORDER BY region, k;
INSERT INTO l VALUES ('us', 1, 1, 'z'), ('de', 1, 3, NULL) RETURNING *;
COPY l FROM stdin;
us	1	4	\N
fr	1	\N	copied
us	1	1	\N
us	2	1	\N
\.
SELECT * FROM l ORDER BY region, k;
-- by hand into a leaf
INSERT INTO l_us VALUES ('us', 2, 1, 'leaf'), ('us', 2, 1, NULL);
INSERT INTO l_us VALUES ('de', 2, 1, 'leaf');
SELECT * FROM l_us ORDER BY k;
-- an UPDATE that moves a row to another partition
UPDATE l SET region = 'de' WHERE region = 'us' AND k = 2;
SELECT tableoid::regclass, * FROM l WHERE k = 2;

-- range, beside a heap partition, whose duplicate keys stay errors
CREATE TABLE r (k int PRIMARY KEY, a int, b int) PARTITION BY RANGE (k);
CREATE TABLE r_merge PARTITION OF r FOR VALUES FROM (0) TO (100)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
CREATE TABLE r_heap PARTITION OF r FOR VALUES FROM (100) TO (200);
INSERT INTO r VALUES (1, 1, NULL), (1, NULL, 1), (100, 1, 1);
INSERT INTO r VALUES (1, 2, NULL), (100, 2, 2);
INSERT INTO r VALUES (1, 2, NULL), (101, 2, 2);
SELECT * FROM r ORDER BY k;
INSERT INTO r VALUES (200, 1, 1);

-- hash, and partitions of partitions
CREATE TABLE h (k int, day date, n int, PRIMARY KEY (k, day)) PARTITION BY HASH (k);
CREATE TABLE h0 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY RANGE (day);
CREATE TABLE h1_old PARTITION OF h1 FOR VALUES FROM (MINVALUE) TO ('2024-01-01')
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE TABLE h1_new PARTITION OF h1 FOR VALUES FROM ('2024-01-01') TO (MAXVALUE)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
INSERT INTO h SELECT i % 20, date '2023-12-30' + i % 4, 1 FROM generate_series(1, 1000) i;
INSERT INTO h SELECT i % 20, date '2023-12-30' + i % 4, 1 FROM generate_series(1, 1000) i;
SELECT count(*), sum(n), min(n), max(n) FROM h;
SELECT count(DISTINCT tableoid) FROM h;

-- ATTACH: columns in another order, a dropped column, rows that are there already
CREATE TABLE p (k int, a text, b int, c date DEFAULT '2024-01-01', PRIMARY KEY (k)) PARTITION BY RANGE (k);
CREATE TABLE p1 (c date, x int, b int, k int PRIMARY KEY, a text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 'b');
ALTER TABLE p1 DROP COLUMN x;
INSERT INTO p1 (k, a, b) VALUES (1, 'before', 5);
ALTER TABLE p ATTACH PARTITION p1 FOR VALUES FROM (0) TO (10);
INSERT INTO p VALUES (1, 'late', 4, '2024-02-02'), (2, 'a', 1, NULL), (2, NULL, 2, '2024-03-03');
INSERT INTO p (k, b, a) VALUES (1, 6, 'new'), (3, 1, 'x');
SELECT k, a, b, c = '2024-01-01' AS january, c = '2024-02-02' AS february FROM p ORDER BY k;
INSERT INTO p (k, a, b) VALUES (3, 'y', 2), (3, 'z', 1) RETURNING k, a, b;
-- DETACH: it merges as before
ALTER TABLE p DETACH PARTITION p1;
INSERT INTO p1 (k, a, b) VALUES (3, 'detached', 3), (3, 'late', 2);
SELECT k, a, b FROM p1 WHERE k = 3;

-- row kinds: a row removed through the parent
CREATE TABLE d (k int PRIMARY KEY, a int, op text) PARTITION BY RANGE (k);
CREATE TABLE d1 PARTITION OF d FOR VALUES FROM (0) TO (10) USING merge_engine WITH ("rowkind.field" = 'op');
CREATE TABLE d2 PARTITION OF d FOR VALUES FROM (10) TO (20) USING merge_engine WITH ("rowkind.field" = 'op');
INSERT INTO d VALUES (1, 1, '+I'), (11, 11, '+I'), (1, NULL, '-D'), (12, 12, '+I');
INSERT INTO d VALUES (11, NULL, '-D'), (2, 2, '+I');
SELECT k, a FROM d ORDER BY k;

-- what the trigger of one partition does to a row is not seen by the plan that brings
-- the rows, though another one reads them from its slots
CREATE TABLE t (k int PRIMARY KEY, a int, n int) PARTITION BY RANGE (k);
CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (10000) USING merge_engine
	WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (10000) TO (20000) USING merge_engine
	WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.a := 7; RETURN NEW; END $$;
CREATE TRIGGER change BEFORE INSERT ON t2 FOR EACH ROW EXECUTE FUNCTION change();
SET enable_hashagg = off;
INSERT INTO t SELECT DISTINCT k, 1, 1 FROM generate_series(1, 3000) k
	UNION SELECT 10000 + i % 2, 1, 1 FROM generate_series(1, 100) i ORDER BY k;
RESET enable_hashagg;
SELECT * FROM t WHERE k >= 10000 ORDER BY k;
DROP TABLE t;
DROP FUNCTION change;

-- inheritance is not partitioning: each table merges by itself
CREATE TABLE base (k int PRIMARY KEY, a int) USING merge_engine;
CREATE TABLE derived (PRIMARY KEY (k)) INHERITS (base)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.a.aggregate-function" = 'sum');
INSERT INTO base VALUES (1, 1), (1, 2);
INSERT INTO derived VALUES (1, 1), (1, 2);
SELECT tableoid::regclass, * FROM base ORDER BY a;
