-- Transactions, savepoints, and every way to run an INSERT.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA transactions;
SET search_path = transactions;

CREATE TABLE t (k int PRIMARY KEY, a int, b int)
	USING merge_engine WITH ("merge-engine" = 'partial-update');

-- rollback and savepoints
BEGIN;
INSERT INTO t VALUES (1, 1, NULL), (1, NULL, 1);
SAVEPOINT one;
INSERT INTO t VALUES (1, 2, NULL), (2, 2, 2);
SAVEPOINT two;
INSERT INTO t VALUES (1, NULL, 3), (3, 3, 3);
ROLLBACK TO two;
SELECT * FROM t ORDER BY k;
INSERT INTO t VALUES (1, NULL, 4);
ROLLBACK TO one;
INSERT INTO t VALUES (1, NULL, 5), (4, 4, NULL);
RELEASE one;
COMMIT;
SELECT * FROM t ORDER BY k;
BEGIN;
INSERT INTO t VALUES (1, 100, 100), (5, 5, 5);
ROLLBACK;
INSERT INTO t VALUES (5, NULL, 6), (1, 7, NULL);
SELECT * FROM t ORDER BY k;
-- a statement that fails leaves nothing, in a transaction block and in PL/pgSQL
BEGIN;
INSERT INTO t VALUES (6, 6, 6);
SAVEPOINT s;
INSERT INTO t SELECT i, i, 1 / (8 - i) FROM generate_series(6, 8) i;
ROLLBACK TO s;
SELECT * FROM t WHERE k >= 6;
COMMIT;
DO $$
BEGIN
	INSERT INTO t VALUES (6, 66, NULL);
	BEGIN
		INSERT INTO t SELECT i, i, 1 / (8 - i) FROM generate_series(6, 8) i;
	EXCEPTION WHEN division_by_zero THEN
		INSERT INTO t VALUES (6, NULL, 67);
	END;
END $$;
SELECT * FROM t WHERE k >= 6;

-- a prepared statement executed more than once
TRUNCATE t;
PREPARE p AS INSERT INTO t VALUES ($1, $2, $3), ($1, NULL, $3 + 1) RETURNING *;
EXECUTE p(1, 1, 1);
EXECUTE p(1, NULL, 5);
PREPARE q AS INSERT INTO t SELECT i, i * $1 FROM generate_series(1, 3) i;
EXECUTE q(10);
EXECUTE q(20);
SET plan_cache_mode = force_generic_plan;
EXECUTE q(30);
RESET plan_cache_mode;
SELECT * FROM t ORDER BY k;
DEALLOCATE ALL;

-- two INSERTs into the table in one statement, by a CTE: both take effect
TRUNCATE t;
WITH x AS (INSERT INTO t VALUES (1, 1, NULL), (2, 2, NULL)), y AS (INSERT INTO t VALUES (3, 3, 3), (3, NULL, 4))
	SELECT count(*) FROM t;
SELECT * FROM t ORDER BY k;
WITH x AS (INSERT INTO t VALUES (1, 5, NULL)) INSERT INTO t VALUES (1, NULL, 6);
SELECT * FROM t WHERE k = 1;
WITH x AS (INSERT INTO t VALUES (4, 1, NULL) RETURNING *), y AS (INSERT INTO t SELECT k, NULL, a + 1 FROM x RETURNING *)
	SELECT * FROM y;

-- the statement's own query does not see its rows
INSERT INTO t SELECT k + 10, a, b FROM t;
INSERT INTO t SELECT k, a + 1, b FROM t;
SELECT count(*), min(a), max(a) FROM t;
INSERT INTO t SELECT 1, (SELECT count(*) FROM t) FROM generate_series(1, 3);
SELECT * FROM t WHERE k = 1;

-- a function called by the INSERT sees what it would see in an ordinary table
TRUNCATE t;
CREATE FUNCTION rows_now() RETURNS int LANGUAGE plpgsql VOLATILE AS
$$ BEGIN RETURN (SELECT count(*) FROM t); END $$;
INSERT INTO t VALUES (1, rows_now()), (2, rows_now()), (3, rows_now());
CREATE TABLE plain (k int PRIMARY KEY, a int);
CREATE FUNCTION plain_now() RETURNS int LANGUAGE plpgsql VOLATILE AS
$$ BEGIN RETURN (SELECT count(*) FROM plain); END $$;
INSERT INTO plain VALUES (1, plain_now()), (2, plain_now()), (3, plain_now());
SELECT count(*) FROM t JOIN plain USING (k, a);
-- and one that writes into the table
CREATE FUNCTION writes(key int, value int) RETURNS int LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO t VALUES (key, NULL, value); RETURN value; END $$;
TRUNCATE t;
INSERT INTO t SELECT i, writes(i, 10), NULL FROM generate_series(1, 2) i;
INSERT INTO t VALUES (1, writes(1, 20), NULL), (3, writes(1, 30), NULL), (1, NULL, 99);
SELECT * FROM t ORDER BY k;

-- cursors: an open one does not see later rows
TRUNCATE t;
INSERT INTO t SELECT i, i, i FROM generate_series(1, 3) i;
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k;
FETCH 1 FROM c;
INSERT INTO t SELECT i, i * 10, NULL FROM generate_series(1, 4) i;
FETCH ALL FROM c;
CLOSE c;
SELECT * FROM t ORDER BY k;
COMMIT;
-- a cursor with WHERE CURRENT OF
BEGIN;
DECLARE c CURSOR FOR SELECT * FROM t WHERE k = 1 FOR UPDATE;
FETCH 1 FROM c;
UPDATE t SET a = 11 WHERE CURRENT OF c;
INSERT INTO t VALUES (1, NULL, 2);
COMMIT;
SELECT * FROM t WHERE k = 1;

-- UPDATE and DELETE are PostgreSQL's own and bypass the rules
UPDATE t SET a = NULL, b = 50 WHERE k = 1;
DELETE FROM t WHERE k = 2;
INSERT INTO t VALUES (1, NULL, 51), (2, NULL, 52);
SELECT * FROM t WHERE k < 3 ORDER BY k;
UPDATE t SET k = 100 WHERE k = 1;
INSERT INTO t VALUES (1, 1, 1), (100, 7, NULL);
SELECT * FROM t WHERE k IN (1, 100) ORDER BY k;
UPDATE t SET k = 2 WHERE k = 1;
-- changed and merged in one transaction, in every order
BEGIN;
UPDATE t SET a = 5 WHERE k = 100;
INSERT INTO t VALUES (100, NULL, 60);
DELETE FROM t WHERE k = 100;
INSERT INTO t VALUES (100, 8, NULL);
UPDATE t SET b = 9 WHERE k = 100;
INSERT INTO t VALUES (100, 10, NULL), (1, NULL, 11);
COMMIT;
SELECT * FROM t WHERE k IN (1, 100) ORDER BY k;
-- a data-modifying CTE that deletes what the INSERT adds again
WITH gone AS (DELETE FROM t WHERE k = 100 RETURNING k + 1 AS k) INSERT INTO t SELECT k, 1, 1 FROM gone;
SELECT * FROM t WHERE k >= 100;

-- ON CONFLICT is PostgreSQL's own
TRUNCATE t;
INSERT INTO t VALUES (1, 1, 1) ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (1, 2, 2), (2, 2, 2) ON CONFLICT (k) DO NOTHING;
SELECT * FROM t ORDER BY k;
INSERT INTO t VALUES (1, 3, NULL), (3, 3, 3) ON CONFLICT (k) DO UPDATE SET a = excluded.a, b = excluded.b RETURNING *;
INSERT INTO t VALUES (4, 1, 1), (4, 2, 2) ON CONFLICT (k) DO UPDATE SET a = excluded.a;
INSERT INTO t VALUES (1, NULL, 4);
SELECT * FROM t ORDER BY k;

-- MERGE: its INSERT merges, its UPDATE and DELETE bypass the rules
CREATE TABLE source (k int, a int, b int);
INSERT INTO source VALUES (1, 10, NULL), (2, 20, NULL), (5, 1, NULL), (5, NULL, 2), (6, 6, 6);
MERGE INTO t USING source s ON t.k = s.k
	WHEN MATCHED AND s.k = 1 THEN UPDATE SET a = s.a, b = s.b
	WHEN MATCHED THEN DELETE
	WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.a, s.b);
SELECT * FROM t ORDER BY k;

-- PL/pgSQL: loops, ROW_COUNT, INTO
DO $$
DECLARE
	counted int;
	merged t;
BEGIN
	FOR i IN 1 .. 10 LOOP
		INSERT INTO t VALUES (7, i, NULL), (7, NULL, i * 2);
		GET DIAGNOSTICS counted = ROW_COUNT;
		ASSERT counted = 2;
	END LOOP;
	INSERT INTO t VALUES (7, 99, NULL) RETURNING * INTO merged;
	ASSERT merged.a = 99 AND merged.b = 20;
END $$;
SELECT * FROM t WHERE k = 7;

-- a row that two statements of one transaction write, and its ctid chain
BEGIN;
INSERT INTO t VALUES (8, 1, NULL);
INSERT INTO t VALUES (8, NULL, 1);
INSERT INTO t VALUES (8, 2, 2);
SELECT k, a, b FROM t WHERE k = 8;
COMMIT;
SELECT count(*) FROM t WHERE k = 8;

-- read only transactions, and READ COMMITTED's others: errors as for any table
BEGIN READ ONLY;
INSERT INTO t VALUES (1, 1, 1);
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO t VALUES (1, 12, NULL), (9, 9, NULL), (9, NULL, 9);
INSERT INTO t VALUES (9, 10, NULL);
SELECT * FROM t WHERE k IN (1, 9) ORDER BY k;
COMMIT;

-- EXPLAIN ANALYZE runs it, EXPLAIN does not
EXPLAIN (COSTS off) INSERT INTO t VALUES (9, 1000, NULL);
SELECT a FROM t WHERE k = 9;
DO $$ BEGIN EXECUTE 'EXPLAIN ANALYZE INSERT INTO t VALUES (9, 1000, NULL), (9, NULL, 1000)'; END $$;
SELECT * FROM t WHERE k = 9;

-- a portal that is run in pieces, and a set-returning function in SQL
CREATE FUNCTION inserts() RETURNS SETOF t LANGUAGE sql AS
$$ INSERT INTO t VALUES (10, 1, NULL), (10, NULL, 2), (11, 1, 1) RETURNING * $$;
SELECT * FROM inserts();
SELECT * FROM inserts() LIMIT 1;
SELECT * FROM t WHERE k >= 10 ORDER BY k;

-- long values that this command has written are replaced and removed by it
CREATE TABLE long_values (k int PRIMARY KEY, kind text, v text)
USING merge_engine WITH (merge_engine = 'deduplicate', rowkind.field = 'kind');
ALTER TABLE long_values ALTER v SET STORAGE EXTERNAL;
INSERT INTO long_values VALUES (1, '+I', 'a'), (1, '+I', 'b'), (2, '+I', repeat('long', 5000)), (2, '+I', 'short'),
	(3, '+I', 'a'), (3, '+I', 'b'), (4, '+I', repeat('long', 5000)), (4, '-D', NULL) RETURNING k, left(v, 5);
SELECT * FROM long_values ORDER BY k;
DROP TABLE long_values;
