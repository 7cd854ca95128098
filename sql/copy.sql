-- COPY FROM agrees with INSERT.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA copy;
SET search_path = copy;

CREATE TABLE t (k int PRIMARY KEY, v int, a text, b text DEFAULT 'new')
	USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 'v');
\set QUIET off
COPY t FROM stdin;
1	4	\N	\N
1	1	a1	b1
2	1	x	\N
1	3	\N	b3
1	2	a2	\N
\.
\set QUIET on
SELECT * FROM t ORDER BY k;
-- column lists: what is not named is absent
COPY t (a, k, v) FROM stdin;
a5	1	5
n	3	1
\.
COPY t (k) FROM stdin;
2
4
\.
SELECT * FROM t ORDER BY k;

-- formats, options and WHERE
COPY t FROM stdin (FORMAT csv, HEADER, NULL 'none', DELIMITER ';');
k;v;a;b
1;6;none;"b;6"
5;1;"";none
\.
COPY t FROM stdin WHERE k <> 1 AND v > 1;
1	100	no	no
2	1	no	no
2	2	y	\N
2	3	\N	yes
\.
COPY t FROM stdin (FORMAT csv, FORCE_NOT_NULL (a));
5,2,,
\.
SELECT *, a = '' AS blank FROM t ORDER BY k;

-- FREEZE, into a table of this transaction
BEGIN;
CREATE TABLE frozen (k int PRIMARY KEY, a int) USING merge_engine WITH ("merge-engine" = 'partial-update');
COPY frozen FROM stdin (FREEZE);
1	1
2	2
1	\N
1	3
\.
SELECT * FROM frozen ORDER BY k;
COMMIT;
INSERT INTO frozen VALUES (1, 4), (2, NULL);
SELECT * FROM frozen ORDER BY k;
BEGIN;
TRUNCATE frozen;
COPY frozen FROM stdin (FREEZE);
7	1
7	2
\.
ROLLBACK;
SELECT * FROM frozen ORDER BY k;

-- an error leaves nothing
COPY t FROM stdin;
1	50	gone	gone
6	1	gone	gone
7	x	gone	gone
\.
SELECT count(*) FROM t WHERE a = 'gone';

-- many rows, more than a buffer of COPY holds
CREATE TABLE many (k int PRIMARY KEY, n int, s bigint)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum',
		"fields.s.aggregate-function" = 'max');
COPY many FROM PROGRAM 'seq 1 5000 | awk ''{ print $1 % 300 "\t1\t" $1 }''';
COPY many FROM PROGRAM 'seq 1 5000 | awk ''{ print $1 % 300 "\t1\t" 0 }''';
SELECT count(*), sum(n), min(s), max(s) FROM many;

-- triggers, generated columns and CHECK see merged rows
CREATE TABLE c (k int PRIMARY KEY, a int, b int, total int GENERATED ALWAYS AS (a + b) STORED, CHECK (a + b < 100))
	USING merge_engine WITH ("merge-engine" = 'partial-update');
CREATE TABLE seen (n serial, what text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO seen (what) VALUES (NEW::text); RETURN NULL; END $$;
CREATE TRIGGER note AFTER INSERT ON c FOR EACH ROW EXECUTE FUNCTION note();
COPY c (k, a, b) FROM stdin;
1	1	\N
1	\N	2
\.
COPY c (k, a) FROM stdin;
1	10
\.
SELECT what FROM seen ORDER BY n;
COPY c (k, b) FROM stdin;
1	95
\.
SELECT * FROM c;

-- BEFORE triggers and row kinds
CREATE TABLE d (k int PRIMARY KEY, a int, op text) USING merge_engine WITH ("rowkind.field" = 'op');
COPY d FROM stdin;
1	1	+I
2	2	+I
1	\N	-D
3	3	+u
2	\N	-U
2	20	+U
\.
SELECT * FROM d ORDER BY k;
COPY d FROM stdin;
2	\N	-D
3	\N	-D
3	33	+I
\.
SELECT * FROM d ORDER BY k;
COPY d FROM stdin;
4	4	+I
4	4	?
\.
SELECT count(*) FROM d;

-- COPY TO gives the merged rows, in a form that COPY FROM takes again
COPY (SELECT * FROM d ORDER BY k) TO stdout;
COPY d TO stdout (FORMAT csv);
