-- Secondary indexes of every kind agree with the table.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA indexes;
SET search_path = indexes;

SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA public;
RESET client_min_messages;
CREATE TABLE t (k int PRIMARY KEY, a int, b text, c int[], d box, e numeric, n int, op text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "rowkind.field" = 'op',
		"partial-update.remove-record-on-delete" = 'true');
CREATE INDEX t_btree ON t (a);
CREATE INDEX t_hash ON t USING hash (b);
CREATE INDEX t_gin ON t USING gin (c);
CREATE INDEX t_gist ON t USING gist (d);
CREATE INDEX t_brin ON t USING brin (e) WITH (pages_per_range = 1);
CREATE INDEX t_spgist ON t USING spgist (b);
CREATE INDEX t_expression ON t (lower(b), (a % 10));
CREATE INDEX t_partial ON t (n) WHERE n % 2 = 0;
CREATE UNIQUE INDEX t_unique ON t ((k * 1000 + 1)) INCLUDE (a, b);

-- new keys, merges that change some columns, merges that change nothing, removals
INSERT INTO t SELECT i, i % 50, 'B' || i % 40, ARRAY[i % 7, i % 11], box(point(i, i), point(i + 1, i + 1)), i, 0, '+I'
	FROM generate_series(1, 500) i;
INSERT INTO t (k, n, op) SELECT 1 + i % 500, i, '+U' FROM generate_series(1, 2000) i;
INSERT INTO t (k, a, op) SELECT 1 + i * 7 % 500, i % 60, '+U' FROM generate_series(1, 700) i;
INSERT INTO t (k, b, c, op) SELECT 1 + i * 3 % 500, 'C' || i % 30, ARRAY[i % 5], '+U' FROM generate_series(1, 600) i;
INSERT INTO t (k, d, e, op) SELECT 1 + i * 9 % 500, box(point(i % 90, 0), point(i % 90 + 2, 2)), i % 77, '+U'
	FROM generate_series(1, 400) i;
INSERT INTO t (k, op) SELECT i, '+U' FROM generate_series(1, 500) i;
INSERT INTO t (k, op) SELECT i, '-D' FROM generate_series(1, 500, 9) i;
INSERT INTO t (k, a, b, op) SELECT i, 1, 'again', '+I' FROM generate_series(1, 500, 18) i;
SELECT count(*), count(*) FILTER (WHERE b = 'again') FROM t;

-- each index gives the rows that the table gives, before and after a vacuum
CREATE FUNCTION compare(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	by_table int[];
	by_index int[];
	query text := 'SELECT array_agg(k ORDER BY k) FROM (SELECT k FROM t WHERE %s OFFSET 0) AS s';
	plan text;
	line text;
BEGIN
	PERFORM set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
		set_config('enable_indexonlyscan', 'off', true), set_config('enable_seqscan', 'on', true);
	EXECUTE format(query, condition) INTO by_table;
	PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'on', true),
		set_config('enable_indexonlyscan', 'on', true), set_config('enable_seqscan', 'off', true);
	EXECUTE format(query, condition) INTO by_index;
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) SELECT k FROM t WHERE ' || condition LOOP
		plan := coalesce(plan, substring(line FROM 't_[a-z]+'));
	END LOOP;
	RETURN coalesce(plan, 'no index') || ': ' ||
		CASE WHEN by_table = by_index THEN 'same' WHEN by_table IS NULL THEN 'no rows' ELSE 'different' END;
END $$;
CREATE VIEW comparisons AS
	SELECT compare(condition)
	FROM (VALUES (1, 'a = 7'), (2, 'b = ''C7'''), (3, 'c && ARRAY[3]'), (4, 'd && box(point(10, 0), point(12, 1))'),
		(5, 'e BETWEEN 20 AND 25'), (6, 'lower(b) = ''c3'''), (7, 'n % 2 = 0 AND n > 1900'),
		(8, 'k * 1000 + 1 BETWEEN 50000 AND 90000')) AS v(n, condition)
	ORDER BY n;
SELECT regexp_replace(compare, 't_(hash|spgist)', 't_hash') FROM comparisons;
VACUUM t;
SELECT regexp_replace(compare, 't_(hash|spgist)', 't_hash') FROM comparisons;
DROP INDEX t_hash;
SELECT compare('b = ''C7''');
SELECT indexrelid::regclass, public.bt_index_check(indexrelid, true)
	FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid JOIN pg_am ON pg_am.oid = relam
	WHERE indrelid = 't'::regclass AND amname = 'btree' ORDER BY indexrelid::regclass::text;
-- rebuilt, they still agree
REINDEX TABLE t;
SELECT regexp_replace(compare, 't_(hash|spgist)', 't_hash') FROM comparisons;
CREATE INDEX CONCURRENTLY t_concurrent ON t (n, a);
REINDEX INDEX CONCURRENTLY t_btree;
INSERT INTO t (k, a, n, op) SELECT i, i % 3, i, '+U' FROM generate_series(1, 200) i;
SELECT public.bt_index_check('t_concurrent', true), compare('a = 2');
VACUUM FULL t;
INSERT INTO t (k, a, op) SELECT i, i % 4, '+U' FROM generate_series(1, 200) i;
SELECT public.bt_index_check('t_btree', true), compare('a = 2');
CLUSTER t USING t_btree;
INSERT INTO t (k, a, op) SELECT i, i % 5, '+U' FROM generate_series(1, 200) i;
SELECT public.bt_index_check('t_btree', true), compare('a = 2');

-- a merge that changes no indexed column leaves the indexes alone (HOT)
CREATE TABLE hot (k int PRIMARY KEY, a int, n int) USING merge_engine WITH ("merge-engine" = 'partial-update', fillfactor = 50);
CREATE INDEX hot_a ON hot (a);
INSERT INTO hot SELECT i, i, 0 FROM generate_series(1, 50) i;
BEGIN;
INSERT INTO hot (k, n) SELECT i, i FROM generate_series(1, 50) i;
SELECT pg_stat_get_xact_tuples_updated('hot'::regclass), pg_stat_get_xact_tuples_hot_updated('hot'::regclass);
-- and one that changes nothing is no update
INSERT INTO hot (k, n) SELECT i, i FROM generate_series(1, 50) i;
INSERT INTO hot (k) SELECT i FROM generate_series(1, 50) i;
SELECT pg_stat_get_xact_tuples_updated('hot'::regclass), pg_stat_get_xact_tuples_hot_updated('hot'::regclass);
COMMIT;
SET enable_seqscan = off;
SELECT count(*) FROM hot WHERE a BETWEEN 1 AND 50;
VACUUM hot;
SELECT count(*) FROM hot WHERE a BETWEEN 1 AND 50;
RESET enable_seqscan;

-- a unique index beside the key, and one on an expression
CREATE UNIQUE INDEX hot_unique ON hot ((a + 1000));
INSERT INTO hot VALUES (1, 2, NULL);
INSERT INTO hot VALUES (51, 2, NULL);
INSERT INTO hot VALUES (1, 100, NULL), (51, 1, NULL);
SELECT k, a, n FROM hot WHERE k IN (1, 51) ORDER BY k;
-- an index whose function reads the table's catalog entry anew
CREATE FUNCTION looks_up(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS
$$ BEGIN PERFORM 1 FROM pg_class WHERE relname = 'hot'; RETURN x; END $$;
CREATE INDEX hot_function ON hot (looks_up(a));
INSERT INTO hot VALUES (1, 101, 1), (52, 52, 52);
SELECT public.bt_index_check('hot_function', true);
