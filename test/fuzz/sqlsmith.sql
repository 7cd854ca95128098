-- The database for check_sqlsmith: merge tables of every engine, with options and
-- rows, and what else can be made of them.  All of it belongs to a role that may
-- do nothing else.

SET client_min_messages = warning;
CREATE EXTENSION merge_engine;
CREATE ROLE sqlsmith LOGIN;
GRANT ALL ON SCHEMA public TO sqlsmith;
GRANT USAGE ON SCHEMA merge_engine TO sqlsmith;
ALTER ROLE sqlsmith SET statement_timeout = '1s';
ALTER ROLE sqlsmith SET search_path = public, merge_engine;

-- a crash would empty it
CREATE UNLOGGED TABLE canary (n int);
INSERT INTO canary VALUES (1);

SET SESSION AUTHORIZATION sqlsmith;
CREATE TYPE item AS (sku text, quantity int, price numeric);

CREATE TABLE newest (
	k int PRIMARY KEY, a text DEFAULT 'a', b numeric(8,2), op text, version int NOT NULL
) USING merge_engine WITH (sequence.field = 'version', rowkind.field = 'op', tombstones = 'true', fillfactor = 70);
CREATE INDEX ON newest (lower(a)) WHERE b IS NOT NULL;

CREATE TABLE patched (
	region text, k bigint, a text, b int[], c jsonb, version timestamptz, v merge_engine.versions, PRIMARY KEY (k, region)
) USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version', versions.field = 'v', explicit_null = 'clear');

CREATE TABLE grouped (
	k uuid PRIMARY KEY, a text, n int, g1 int, c float8, g2 date, g3 int
) USING merge_engine WITH (merge_engine = 'partial-update',
	"fields.g1.sequence-group" = 'a,n', "fields.g2,g3.sequence-group" = 'c', "fields.n.aggregate-function" = 'sum');

CREATE TABLE totals (
	k int PRIMARY KEY, op text, n bigint, amount numeric, seen bool, names text, tags text[], attributes jsonb,
	items item[], visitors bytea, best date, last text
) USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op',
	"fields.n.aggregate-function" = 'sum', "fields.amount.aggregate-function" = 'product',
	"fields.seen.aggregate-function" = 'bool_or', "fields.names.aggregate-function" = 'listagg',
	"fields.names.distinct" = 'true', "fields.tags.aggregate-function" = 'collect',
	"fields.attributes.aggregate-function" = 'merge_map', "fields.items.aggregate-function" = 'nested_update',
	"fields.items.nested-key" = 'sku', "fields.visitors.aggregate-function" = 'rbm32',
	"fields.best.aggregate-function" = 'max', "fields.last.aggregate-function" = 'last_non_null_value',
	"fields.default-aggregate-function" = 'first_value');

CREATE TABLE first_seen (k name PRIMARY KEY, at timestamp DEFAULT now(), who int REFERENCES newest ON DELETE CASCADE)
USING merge_engine WITH (merge_engine = 'first-row');

CREATE TABLE parted (k int PRIMARY KEY, n int) PARTITION BY HASH (k);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0)
USING merge_engine WITH (merge_engine = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1) USING merge_engine;

CREATE TABLE by_trigger (k int PRIMARY KEY, a text, version int);
CREATE TRIGGER merge BEFORE INSERT ON by_trigger FOR EACH ROW
EXECUTE FUNCTION merge_engine.merge_trigger('merge-engine=partial-update', 'sequence.field=version');

CREATE TABLE audit (what text, at timestamptz DEFAULT now());
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit (what) VALUES (TG_OP);
	RETURN NULL;
END $$;
CREATE TRIGGER note AFTER INSERT OR UPDATE ON grouped FOR EACH ROW EXECUTE FUNCTION note();

CREATE VIEW positive AS SELECT k, a, version FROM newest WHERE k > 0 WITH CHECK OPTION;
CREATE VIEW joined AS
SELECT t.k, t.n, n.a, n.version, p.version AS at FROM totals t JOIN newest n USING (k) LEFT JOIN patched p ON p.k = t.k;
CREATE MATERIALIZED VIEW seen AS SELECT who, count(*) FROM first_seen GROUP BY who;
CREATE VIEW versions_of_newest AS SELECT k, a, version FROM newest;
SELECT merge_engine.create_projection('projected', 'versions_of_newest', 'merge',
	incremental_fields => '{version}', unique_key => '{k}') \g /dev/null

CREATE PROCEDURE more_rows() LANGUAGE sql BEGIN ATOMIC
	INSERT INTO newest SELECT i % 20 - 3, 'row ' || i, i, (ARRAY['+I', '+U', '-D'])[1 + i % 3], i FROM generate_series(1, 100) i;
	INSERT INTO patched (k, region, a, b, c, version)
	SELECT i % 10, 'eu', 'a' || i, ARRAY[i], to_jsonb(i), '2024-01-01'::timestamptz + i * interval '1 day' FROM generate_series(1, 50) i;
	INSERT INTO grouped SELECT md5((i % 7)::text)::uuid, 'a' || i, i, i, i, '2024-01-01'::date + i, i FROM generate_series(1, 50) i;
	INSERT INTO totals SELECT i % 10, '+I', i, 1.5, i = 3, 'name ' || i % 4, ARRAY['t' || i], jsonb_build_object(i, i),
		ARRAY[('sku' || i % 3, i, 1.5)::item], merge_engine.rbm32_build(ARRAY[i]), '2024-01-01'::date + i, 'x'
	FROM generate_series(1, 50) i;
	INSERT INTO first_seen (k, who) SELECT 'name' || i % 5, k FROM newest, generate_series(1, 3) i;
	INSERT INTO parted SELECT i % 20, i FROM generate_series(1, 60) i;
	INSERT INTO by_trigger SELECT i % 5, 'a' || i, i FROM generate_series(1, 20) i;
END;
CALL more_rows();
SELECT merge_engine.refresh_projection('projected') IS NOT NULL AS refreshed \g /dev/null
REFRESH MATERIALIZED VIEW seen;
RESET SESSION AUTHORIZATION;
ANALYZE;
