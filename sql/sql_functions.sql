-- SQL functions as aggregate functions, and the extensions hstore and hll.
\pset null NULL
CREATE SCHEMA sql_functions;
SET search_path = sql_functions, public;
CREATE SCHEMA agg;
CREATE FUNCTION agg.longest(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
AS 'SELECT CASE WHEN length($2) > length($1) THEN $2 ELSE $1 END';
CREATE FUNCTION agg.plus(int, int) RETURNS int LANGUAGE plpgsql
AS 'BEGIN RETURN coalesce($1, 100) + coalesce($2, 1000); END';
CREATE FUNCTION agg.minus(int, int) RETURNS int LANGUAGE sql AS 'SELECT $1 - $2';
CREATE FUNCTION agg.either(anyelement, anyelement) RETURNS anyelement LANGUAGE plpgsql
AS 'BEGIN RETURN coalesce($1, $2); END';
CREATE TABLE t (k int PRIMARY KEY, longest text, plus int, cat int[], either date, op text DEFAULT '+I')
USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op',
	"fields.longest.aggregate-function" = 'agg.longest', "fields.longest.ignore-retract" = 'true',
	"fields.plus.aggregate-function" = 'agg.plus', "fields.plus.retract-function" = 'agg.minus',
	"fields.cat.aggregate-function" = 'pg_catalog.array_cat', "fields.cat.ignore-retract" = 'true',
	"fields.either.aggregate-function" = 'agg.either', "fields.either.ignore-retract" = 'true');
INSERT INTO t VALUES (1, 'abc', 1, '{1}', NULL);
SELECT k, longest, plus, cat, either FROM t;
INSERT INTO t VALUES (1, 'ab', 2, '{2}', '2024-01-01'), (1, NULL, NULL, NULL, NULL), (1, 'abcd', 5, '{3}', '2024-01-02');
SELECT k, longest, plus, cat, either FROM t;
INSERT INTO t VALUES (1, 'abcd', 100, '{3}', NULL, '-D');
SELECT k, longest, plus, cat, either FROM t;
-- a late row is f(incoming, stored)
CREATE TABLE g (k int PRIMARY KEY, seq int, cat text) USING merge_engine WITH (merge_engine = 'partial-update',
	"fields.seq.sequence-group" = 'cat', "fields.cat.aggregate-function" = 'pg_catalog.textcat');
INSERT INTO g VALUES (1, 5, 'e'), (1, 3, 'c'), (1, 7, 'g');
INSERT INTO g VALUES (1, 2, 'b'), (1, 8, NULL);
SELECT * FROM g;
-- a domain, and a type that the function's is as good as
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TABLE d (k int PRIMARY KEY, n positive, v varchar(3)) USING merge_engine WITH (merge_engine = 'aggregation',
	"fields.n.aggregate-function" = 'pg_catalog.int4mi', "fields.v.aggregate-function" = 'pg_catalog.textcat');
INSERT INTO d VALUES (1, 5, 'a'), (1, 2, 'b');
INSERT INTO d VALUES (1, 1, 'cd');
INSERT INTO d VALUES (1, 9, NULL);
SELECT * FROM d;
-- what is refused
CREATE TABLE bad (k int PRIMARY KEY, v text) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'agg.plus');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'agg.nope');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'agg..nope');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'pg_catalog.int4eq');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'pg_catalog.generate_series');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'agg.plus', "fields.v.retract-function" = 'minus');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'sum', "fields.v.retract-function" = 'agg.minus');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'agg.plus', "fields.v.distinct" = 'true');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH (merge_engine = 'partial-update', "fields.v.aggregate-function" = 'agg.plus');
CREATE TABLE bad (k int PRIMARY KEY, v bytea) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'theta_sketch');
CREATE TABLE bad (k int PRIMARY KEY, v bytea) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'hll_sketch');
INSERT INTO g VALUES (1, 9, 'x');
-- the table depends on its functions
SELECT refobjid::regprocedure, attname FROM pg_depend JOIN pg_attribute ON attrelid = objid AND attnum = objsubid
WHERE objid = 't'::regclass AND refclassid = 'pg_proc'::regclass AND refobjid >= 16384 ORDER BY 1::text;
DROP FUNCTION agg.longest;
TRUNCATE t;
ALTER TABLE t RESET ("fields.longest.aggregate-function", "fields.longest.ignore-retract");
DROP FUNCTION agg.longest;
ALTER TABLE t SET ("fields.plus.aggregate-function" = 'sum');
ALTER TABLE t RESET ("fields.plus.retract-function"), SET ("fields.plus.aggregate-function" = 'sum');
DROP FUNCTION agg.plus, agg.minus;
SELECT refobjid::regprocedure FROM pg_depend
WHERE objid = 't'::regclass AND refclassid = 'pg_proc'::regclass AND refobjid >= 16384 ORDER BY 1::text;
DROP FUNCTION agg.either CASCADE;
ALTER FUNCTION agg.either RENAME TO one_of;
INSERT INTO t VALUES (1);
ALTER FUNCTION agg.one_of RENAME TO either;
INSERT INTO t VALUES (1);
-- the owner must be allowed to execute it
CREATE ROLE regress_merge_owner;
GRANT USAGE ON SCHEMA agg TO regress_merge_owner;
REVOKE EXECUTE ON FUNCTION agg.either FROM PUBLIC;
ALTER TABLE t OWNER TO regress_merge_owner;
INSERT INTO t VALUES (1);
GRANT EXECUTE ON FUNCTION agg.either TO regress_merge_owner;
INSERT INTO t VALUES (1);
DROP TABLE t;
DROP FUNCTION agg.either;
DROP OWNED BY regress_merge_owner;
DROP ROLE regress_merge_owner;
-- hstore
CREATE EXTENSION hstore SCHEMA public;
CREATE TABLE h (k int PRIMARY KEY, m hstore, op text DEFAULT '+I')
USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op', "fields.m.aggregate-function" = 'merge_map');
INSERT INTO h VALUES (1, 'a=>1, b=>1');
INSERT INTO h VALUES (1, 'b=>2, c=>NULL'), (1, NULL);
SELECT k, m FROM h;
INSERT INTO h VALUES (1, 'b=>7, z=>1', '-D');
SELECT k, m FROM h;

-- a column with a function can change its type, if the function takes that
CREATE FUNCTION public.glue(text, text) RETURNS text LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT $1 || $2 $$;
CREATE TABLE retyped (k int, v text, PRIMARY KEY (k)) PARTITION BY RANGE (k);
CREATE TABLE retyped_1 PARTITION OF retyped FOR VALUES FROM (0) TO (10)
USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'public.glue');
INSERT INTO retyped VALUES (1, 'a'), (1, 'b');
ALTER TABLE retyped ALTER v TYPE varchar(20);
ALTER TABLE retyped ALTER v TYPE text;
ALTER TABLE retyped ALTER v TYPE int USING NULL;
ALTER TABLE retyped_1 RENAME TO retyped_one;
ALTER TABLE retyped DETACH PARTITION retyped_one;
ALTER TABLE retyped_one ALTER v TYPE varchar(3), ALTER v SET DEFAULT 'd';
INSERT INTO retyped_one VALUES (1, 'c'), (2, 'x');
SELECT * FROM retyped_one ORDER BY k;
DROP FUNCTION public.glue;
DROP TABLE retyped, retyped_one;
DROP FUNCTION public.glue;
