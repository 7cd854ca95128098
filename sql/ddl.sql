-- DDL: what each command does to the merge options of a table.
CREATE SCHEMA ddl;
SET search_path = ddl;

-- what is stored for a table, in order
CREATE FUNCTION stored(regclass) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT unnest(reloptions) FROM pg_catalog.pg_class WHERE oid = $1 $$;

--
-- a table merges if, and only if, its stored options name an engine
--
CREATE TABLE a (k int PRIMARY KEY, v int) USING merge_engine;
SELECT stored('a');
CREATE TABLE no_key (k int, v int) USING merge_engine;
CREATE TABLE bad (k int PRIMARY KEY) WITH (merge_engine = deduplicate);
CREATE TABLE bad (k int PRIMARY KEY) USING heap WITH (merge_engine = deduplicate);
DROP TABLE no_key;

SET default_table_access_method = merge_engine;
CREATE TABLE plain (k int PRIMARY KEY, v int);
INSERT INTO plain VALUES (1, 1);
INSERT INTO plain VALUES (1, 2);
SELECT stored('plain');
CREATE TABLE merging (k int PRIMARY KEY, v int) WITH (merge_engine = 'first-row', fillfactor = 90);
INSERT INTO merging VALUES (1, 1), (1, 2);
INSERT INTO merging VALUES (1, 3);
SELECT * FROM merging;
SELECT stored('merging');
CREATE TABLE bad (k int PRIMARY KEY, v int) WITH (sequence.field = v);
RESET default_table_access_method;
-- either way turns it into a table that merges
ALTER TABLE plain SET ACCESS METHOD merge_engine;
SELECT stored('plain');
ALTER TABLE merging RESET (merge_engine);
TRUNCATE merging;
ALTER TABLE merging RESET (merge_engine);
ALTER TABLE merging SET (merge_engine = aggregation, "fields.v.aggregate-function" = sum);
INSERT INTO merging VALUES (1, 1), (1, 2);
INSERT INTO merging VALUES (1, 3);
SELECT * FROM merging;
DROP TABLE plain, merging;

--
-- CREATE in its other forms
--
CREATE TABLE IF NOT EXISTS a (k int) USING merge_engine WITH (merge_engine = nonsense, bucket = 1);
SELECT stored('a');
CREATE TABLE ctas USING merge_engine WITH (sequence.field = 'v') AS SELECT 1 AS k, 2 AS v;
ALTER TABLE ctas ADD PRIMARY KEY (k);
INSERT INTO ctas VALUES (1, 1), (1, 3), (2, 1);
SELECT * FROM ctas ORDER BY k;
SELECT stored('ctas');
CREATE TABLE liked (LIKE ctas INCLUDING ALL) USING merge_engine WITH (sequence.field = 'v');
SELECT stored('liked');
CREATE TABLE liked_only (LIKE ctas INCLUDING ALL);
SELECT stored('liked_only');
CREATE SCHEMA ddl_inner
	CREATE TABLE one (k int PRIMARY KEY) USING merge_engine WITH (merge_engine = 'first-row')
	CREATE TABLE two (k int PRIMARY KEY) USING merge_engine;
SELECT stored('ddl_inner.one');
SELECT stored('ddl_inner.two');
DROP SCHEMA ddl_inner CASCADE;
CREATE MATERIALIZED VIEW bad USING merge_engine WITH (merge_engine = deduplicate) AS SELECT 1 AS k;
CREATE TEMP TABLE pg_class (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'partial-update');
SELECT stored('pg_temp.pg_class');
DROP TABLE pg_temp.pg_class;
CREATE TABLE "Odd ""name" (k int PRIMARY KEY, "Odd, ""col" int) USING merge_engine
	WITH (sequence.field = '"Odd, ""col"');
SELECT stored('"Odd ""name"');
SELECT sequence_fields FROM merge_engine.tables WHERE table_name = '"Odd ""name"'::regclass;
DROP TABLE ctas, liked, liked_only, "Odd ""name";

-- partitions have options of their own
CREATE TABLE bad (k int PRIMARY KEY, v int) PARTITION BY RANGE (k) WITH (merge_engine = aggregation);
CREATE TABLE parent (k int PRIMARY KEY, v int) PARTITION BY RANGE (k);
ALTER TABLE parent SET (merge_engine = aggregation);
CREATE TABLE part1 PARTITION OF parent FOR VALUES FROM (0) TO (10) USING merge_engine
	WITH (merge_engine = aggregation, "fields.v.aggregate-function" = 'sum');
CREATE TABLE part2 PARTITION OF parent FOR VALUES FROM (10) TO (20);
INSERT INTO parent VALUES (1, 1), (1, 2), (11, 1);
SELECT * FROM parent ORDER BY k;
ALTER TABLE parent RENAME v TO w;
SELECT stored('part1');
ALTER TABLE parent DROP COLUMN w;
ALTER TABLE parent ALTER w TYPE text;
ALTER TABLE parent ALTER w TYPE bigint;
DROP TABLE parent;
-- a key that arrives through the parent is checked like any other
CREATE TABLE parent (k int NOT NULL, g int, v int) PARTITION BY RANGE (k);
CREATE TABLE part1 PARTITION OF parent FOR VALUES FROM (0) TO (10) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'k,v');
ALTER TABLE parent ADD PRIMARY KEY (k);
DROP TABLE parent;

-- one statement executed again, inside functions and blocks
DO $$
BEGIN
	FOR i IN 1..3 LOOP
		CREATE TEMP TABLE again (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = aggregation, "fields.v.aggregate-function" = 'sum');
		ALTER TABLE again SET (fillfactor = 50, ignore_delete = true);
		INSERT INTO again VALUES (1, i), (1, 1);
		RAISE NOTICE '% %', (SELECT v FROM again), (SELECT reloptions FROM pg_catalog.pg_class WHERE oid = 'again'::regclass);
		DROP TABLE again;
	END LOOP;
END $$;
-- an error inside, and then again
BEGIN;
SAVEPOINT s;
CREATE TABLE failing (k int PRIMARY KEY) USING merge_engine WITH (merge_engine = nonsense);
ROLLBACK TO s;
CREATE TABLE failing (k int PRIMARY KEY) USING merge_engine;
SELECT stored('failing');
ROLLBACK;
DO $$
BEGIN
	CREATE TABLE failing (k int PRIMARY KEY) USING merge_engine WITH (sequence.field = 'nope');
EXCEPTION WHEN undefined_column THEN
	RAISE NOTICE '%', sqlerrm;
	CREATE TABLE failing (k int PRIMARY KEY) USING merge_engine WITH (ignore_delete = true);
END $$;
SELECT stored('failing');
DROP TABLE failing;
-- a command run by the rewrite of another
CREATE FUNCTION makes_table(int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE inner_table (k int PRIMARY KEY) USING merge_engine WITH (ignore_delete = true);
	RETURN $1;
END $$;
CREATE TABLE outer_table (k int PRIMARY KEY, v text) USING merge_engine WITH (sequence.field = 'v');
INSERT INTO outer_table VALUES (1, '1');
ALTER TABLE outer_table SET (fillfactor = 50), ALTER v TYPE int USING makes_table(v::int), SET (ignore_delete = true);
SELECT stored('outer_table');
SELECT stored('inner_table');
DROP TABLE outer_table, inner_table;

--
-- SET and RESET, ours and heap's together
--
CREATE TABLE s (k int PRIMARY KEY, v int, ts int) USING merge_engine
	WITH (merge_engine = aggregation, fillfactor = 70, "fields.v.aggregate-function" = sum);
ALTER TABLE s SET (fillfactor = 80);
ALTER TABLE s SET (ignore_delete = true, parallel_workers = 2, bucket = 3);
SELECT stored('s');
ALTER TABLE s RESET (fillfactor, "ignore-delete"), SET (autovacuum_enabled = false, ignore_update_before);
SELECT stored('s');
ALTER TABLE s RESET (parallel_workers, autovacuum_enabled, ignore_update_before, nothing_of_that_name);
SELECT stored('s');
ALTER TABLE s SET (toast.autovacuum_enabled = false);
ALTER TABLE s RESET (ignore_delete = true);
ALTER TABLE s SET (ignore_delet = true);
ALTER TABLE s SET (ignore_delete = true, "ignore-delete" = false);
ALTER TABLE s SET (sequence.field = 'nope');
-- what rows mean can change only while there are none
INSERT INTO s VALUES (1, 1, 1);
ALTER TABLE s SET (sequence.field = 'ts');
ALTER TABLE s SET ("fields.v.aggregate-function" = 'max');
ALTER TABLE s RESET ("fields.v.aggregate-function");
ALTER TABLE s SET (merge_engine = 'partial-update');
-- the same again is no change, and deletes are about rows to come
ALTER TABLE s SET ("fields.v.aggregate-function" = 'sum', merge_engine = 'AGGREGATION', aggregation.remove_record_on_delete = true);
ALTER TABLE s RESET (aggregation.remove_record_on_delete);
DELETE FROM s;
ALTER TABLE s SET (sequence.field = 'ts', "fields.v.aggregate-function" = 'max');
SELECT stored('s');
ALTER TABLE s RESET (merge_engine);
ALTER TABLE s SET (merge_engine = 'first-row');
-- ownership comes first
CREATE ROLE regress_ddl_other;
GRANT USAGE ON SCHEMA ddl TO regress_ddl_other;
SET ROLE regress_ddl_other;
ALTER TABLE s SET (ignore_delete = true);
SELECT table_name, engine, sequence_fields FROM merge_engine.tables WHERE table_name::text NOT LIKE '%.%' ORDER BY table_name::text;
RESET ROLE;
ALTER TABLE IF EXISTS nowhere SET (ignore_delete = true);
ALTER TABLE nowhere SET (ignore_delete = true);

--
-- SET ACCESS METHOD, both ways
--
CREATE TABLE h (k int PRIMARY KEY, v int);
INSERT INTO h VALUES (1, 1), (2, 2);
ALTER TABLE h SET (merge_engine = deduplicate);
ALTER TABLE h SET ACCESS METHOD merge_engine, SET (merge_engine = aggregation, fields.default_aggregate_function = sum, fillfactor = 90);
SELECT stored('h');
INSERT INTO h VALUES (1, 10), (3, 3);
SELECT * FROM h ORDER BY k;
ALTER TABLE h SET ACCESS METHOD heap, SET (ignore_delete = true);
ALTER TABLE h SET ACCESS METHOD heap;
SELECT stored('h');
INSERT INTO h VALUES (1, 10);
ALTER TABLE h SET ACCESS METHOD merge_engine;
SELECT stored('h');
DROP TABLE h;

--
-- columns that an option names
--
CREATE TABLE c (k int PRIMARY KEY, g int, v int, w int, op text) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'v,w', "fields.v.aggregate-function" = 'sum', rowkind.field = 'op');
INSERT INTO c VALUES (1, 1, 1, 1, '+I');
ALTER TABLE c RENAME g TO "the group";
ALTER TABLE c RENAME v TO "a,b";
ALTER TABLE c RENAME op TO kind;
SELECT stored('c');
INSERT INTO c VALUES (1, 2, 2, NULL, '+U');
SELECT * FROM c;
ALTER TABLE c RENAME "a,b" TO "x=y";
ALTER TABLE c RENAME "a,b" TO a_column_name_that_has_exactly_sixty_three_bytes_or_so_it_seemss;
ALTER TABLE c RENAME "a,b" TO v;
ALTER TABLE c DROP COLUMN w;
ALTER TABLE c DROP COLUMN kind;
ALTER TABLE c ALTER v TYPE text;
ALTER TABLE c ALTER kind TYPE varchar(2);
ALTER TABLE c ALTER "the group" TYPE json USING NULL;
ALTER TABLE c ADD COLUMN note text;
ALTER TABLE c DROP COLUMN note;
TRUNCATE c;
ALTER TABLE c SET ("fields.the group.sequence-group" = 'v'), DROP COLUMN w;
SELECT stored('c');
DROP TABLE c;
-- a default function meets every new column
CREATE TABLE c (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = aggregation, fields.default_aggregate_function = sum);
ALTER TABLE c ADD COLUMN t text;
ALTER TABLE c ADD COLUMN t numeric;
DROP TABLE c;
-- a key that arrives later is checked
CREATE TABLE c (k int, g int, v int) USING merge_engine WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'k,v');
ALTER TABLE c ADD PRIMARY KEY (k);
DROP TABLE c;
-- columns dropped or renamed from afar
CREATE DOMAIN dom AS int;
CREATE TABLE c (k int PRIMARY KEY, v dom) USING merge_engine WITH (sequence.field = 'v');
\set VERBOSITY terse
DROP DOMAIN dom CASCADE;
\set VERBOSITY default
DROP TABLE c;
CREATE TYPE comp AS (k int, v int);
CREATE TABLE c OF comp (PRIMARY KEY (k)) USING merge_engine WITH (sequence.field = 'v');
ALTER TYPE comp RENAME ATTRIBUTE v TO w CASCADE;
SELECT stored('c');
ALTER TYPE comp DROP ATTRIBUTE w CASCADE;
DROP TABLE c;

--
-- options that have lost their meaning stop writes, and nothing else
--
CREATE TABLE lost (k int PRIMARY KEY, v int, w int) USING merge_engine WITH (sequence.field = 'v');
INSERT INTO lost VALUES (1, 1, 1);
UPDATE pg_catalog.pg_class SET reloptions = '{merge-engine=deduplicate,sequence.field=nope}' WHERE oid = 'lost'::regclass;
INSERT INTO lost VALUES (1, 2, 2);
SELECT * FROM lost;
ALTER TABLE lost RENAME w TO x;
ALTER TABLE lost ADD COLUMN y int;
ALTER TABLE lost ALTER x TYPE bigint;
ALTER TABLE lost DROP COLUMN y;
ALTER TABLE lost SET (fillfactor = 50);
SELECT stored('lost');
ALTER TABLE lost SET (sequence.field = 'v');
INSERT INTO lost VALUES (1, 2, 2), (1, 1, 1);
SELECT * FROM lost;
UPDATE pg_catalog.pg_class SET reloptions = '{merge-engine=upsert,sequence.field=nope,fillfactor=50}' WHERE oid = 'lost'::regclass;
INSERT INTO lost VALUES (1, 2, 2);
ALTER TABLE lost RESET (sequence.field), SET (merge_engine = deduplicate);
SELECT stored('lost');
UPDATE pg_catalog.pg_class SET reloptions = '{merge-engine=upsert}' WHERE oid = 'lost'::regclass;
ALTER TABLE lost SET ACCESS METHOD heap;
SELECT * FROM lost;
UPDATE pg_catalog.pg_class SET reloptions = '{merge-engine=upsert}' WHERE oid = 's'::regclass;
DROP TABLE lost, s;

-- the view
CREATE TABLE v (k int PRIMARY KEY, ts int, " odd" int) USING merge_engine WITH (merge_engine = aggregation, sequence.field = 'ts," odd"', fillfactor = 10);
SELECT * FROM merge_engine.tables WHERE table_name::text NOT LIKE '%.%' ORDER BY table_name::text;

SET client_min_messages = warning;
REVOKE USAGE ON SCHEMA ddl FROM regress_ddl_other;
DROP ROLE regress_ddl_other;
DROP SCHEMA ddl CASCADE;
