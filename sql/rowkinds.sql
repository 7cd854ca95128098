-- Row kinds: rowkind.field and what is ignored.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA rowkinds;
SET search_path = rowkinds;

CREATE TABLE t (k int PRIMARY KEY, a int, op text)
	USING merge_engine WITH ("rowkind.field" = 'op');
-- the text is compared without regard to case, and stored as it came
INSERT INTO t VALUES (1, 1, '+I'), (2, 2, '+i'), (3, 3, '+U'), (4, 4, '+u'), (5, 5, '+I'), (6, 6, '+I');
INSERT INTO t VALUES (5, NULL, '-d'), (6, NULL, '-u'), (7, NULL, '-D'), (8, NULL, '-U');
SELECT * FROM t ORDER BY k;
-- anything else is an error, NULL included
INSERT INTO t VALUES (1, 1, 'I');
INSERT INTO t VALUES (1, 1, '');
INSERT INTO t VALUES (1, 1, '+I ');
INSERT INTO t VALUES (1, 1, '+D');
INSERT INTO t VALUES (1, 1, NULL);
INSERT INTO t (k, a) VALUES (1, 1);
INSERT INTO t VALUES (9, 9, '+I'), (1, 1, 'UPDATE');
\set VERBOSITY terse
INSERT INTO t VALUES (1, 1, 'DELETE');
\set VERBOSITY sqlstate
SELECT count(*) FROM t;

-- delete and insert a key again: in one statement, one transaction, and later
INSERT INTO t VALUES (1, NULL, '-D'), (1, 10, '+I'), (2, NULL, '-D'), (2, 20, '+I'), (2, NULL, '-D');
SELECT * FROM t ORDER BY k;
BEGIN;
INSERT INTO t VALUES (1, NULL, '-D');
INSERT INTO t VALUES (2, 21, '+I');
INSERT INTO t VALUES (1, 11, '+I');
INSERT INTO t VALUES (2, NULL, '-U'), (3, NULL, '-D');
SELECT * FROM t ORDER BY k;
COMMIT;
INSERT INTO t VALUES (3, 30, '+U'), (2, 22, '+I');
SELECT * FROM t ORDER BY k;

-- RETURNING: the incoming row where the row is removed or nothing is stored
\set QUIET off
INSERT INTO t VALUES (1, 99, '-D'), (100, 98, '-D'), (2, 97, '+U') RETURNING *;
\set QUIET on

-- a retraction needs only the key; NOT NULL columns are for rows that are stored
CREATE TABLE n (k int PRIMARY KEY, a int NOT NULL, op text NOT NULL)
	USING merge_engine WITH ("rowkind.field" = 'op');
INSERT INTO n VALUES (1, 1, '+I');
INSERT INTO n (k, a, op) VALUES (1, 0, '-D');
SELECT count(*) FROM n;

-- sequences: a late delete is dropped, an equal one removes
CREATE TABLE s (k int PRIMARY KEY, s int, a int, op text)
	USING merge_engine WITH ("rowkind.field" = 'op', "sequence.field" = 's');
INSERT INTO s VALUES (1, 5, 1, '+I'), (2, 5, 2, '+I'), (3, 5, 3, '+I');
INSERT INTO s VALUES (1, 4, NULL, '-D'), (2, 5, NULL, '-D'), (3, NULL, NULL, '-U');
SELECT * FROM s ORDER BY k;
-- without tombstones a later statement stores an older row again
INSERT INTO s VALUES (2, 3, 2, '+I');
SELECT * FROM s WHERE k = 2;
-- but within the statement of the delete it does not
INSERT INTO s VALUES (4, 5, NULL, '-D'), (4, 3, 4, '+I'), (5, 3, 5, '+I'), (5, 5, NULL, '-D'), (5, 6, 6, '+U');
SELECT * FROM s WHERE k > 3;

-- ignored rows change nothing, the sequence included
CREATE TABLE id (k int PRIMARY KEY, s int, a int, op text)
	USING merge_engine WITH ("rowkind.field" = 'op', "sequence.field" = 's', "ignore-delete" = 'TRUE');
INSERT INTO id VALUES (1, 5, 1, '+I'), (1, 9, NULL, '-D'), (1, 8, NULL, '-U'), (2, 1, 1, '-D');
INSERT INTO id VALUES (1, 6, 6, '+U');
SELECT * FROM id;
CREATE TABLE iu (k int PRIMARY KEY, s int, a int, op text)
	USING merge_engine WITH ("rowkind.field" = 'op', "sequence.field" = 's', "ignore-update-before" = 'true');
INSERT INTO iu VALUES (1, 5, 1, '+I'), (1, 9, NULL, '-U'), (2, 5, 1, '+I'), (2, 6, NULL, '-D');
INSERT INTO iu VALUES (1, 6, 6, '+U');
SELECT * FROM iu;
-- invalid kinds are errors there too
INSERT INTO id VALUES (1, 7, 7, 'x');

-- the row kind column holds the newest row's kind
CREATE TABLE p (k int PRIMARY KEY, s int, a int, op text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "rowkind.field" = 'op', "sequence.field" = 's',
		"ignore-delete" = 'true');
INSERT INTO p VALUES (1, 5, 1, '+I');
INSERT INTO p VALUES (1, 4, 2, '+U');
SELECT * FROM p;
INSERT INTO p VALUES (1, 6, NULL, '+U'), (1, 5, NULL, '+I');
SELECT * FROM p;

-- a row kind column of type varchar
CREATE TABLE v (k int PRIMARY KEY, a int, op varchar(2))
	USING merge_engine WITH ("rowkind.field" = 'op');
INSERT INTO v VALUES (1, 1, '+I'), (2, 2, '+I'), (1, 1, '-D');
SELECT * FROM v;
