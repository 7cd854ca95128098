-- Identifiers and types of every kind, in every mode.
CREATE SCHEMA "Types, ""quoted""";
SET search_path = "Types, ""quoted""";
CREATE EXTENSION citext SCHEMA "Types, ""quoted""";
CREATE FUNCTION cycle(p regclass) RETURNS TABLE (projection text, kind text, keys bigint, deleted bigint, updated bigint, inserted bigint, problems text) LANGUAGE plpgsql AS $$
DECLARE
    r merge_engine.projection_refresh := merge_engine.refresh_projection(p);
BEGIN
    RETURN QUERY SELECT p::text, r.kind, r.affected_keys, r.rows_deleted, r.rows_updated, r.rows_inserted,
        (SELECT string_agg(c.problem || ' ' || c.key, ', ') FROM merge_engine.check_projection(p) c);
END $$;

-- names: quoted, reserved, with dots, quotes, dollars and backslashes; a column named like an alias of ours
CREATE TABLE "select" ("from" integer PRIMARY KEY, "a.b" text, "a""b" text, "Ünï" text, "k" integer, "v" integer, "t1" integer, "$1" integer,
    "order" bigint NOT NULL, "\" text);
CREATE VIEW "group" AS SELECT "from", "a.b", "a""b", "Ünï", "k", "v", "t1", "$1", "order", "\" FROM "select" WHERE "v" > 0;
SELECT merge_engine.create_projection('"where"', '"group"', 'insert', '{order}');
SELECT merge_engine.create_projection('"User"', '"group"', 'merge', '{order}', unique_key => '{from}');
SELECT merge_engine.create_projection('"Types, ""quoted"""."P.1"', '"group"', 'delete_insert', '{order}', replace_key => ARRAY['a.b', 'a"b', 'k', 'Ünï']);
SELECT merge_engine.create_projection('p_query', '"group"', 'delete_insert', '{order}', replace_key => '{from,k}', affected_keys => 'SELECT "k", "from" FROM "select"');
INSERT INTO "select" VALUES (1, 'x', 'y', 'z', 1, 1, 1, 1, 1, '\'), (2, 'x', NULL, 'z', NULL, 1, 1, 1, 2, '''');
SELECT c.* FROM unnest(ARRAY['"where"', '"User"', '"P.1"', 'p_query']::regclass[]) p, cycle(p) c;
UPDATE "select" SET "v" = 0, "order" = 3 WHERE "from" = 2;
INSERT INTO "select" VALUES (3, 'x', 'y', 'z', 1, 1, 1, 1, 4, NULL);
SELECT c.* FROM unnest(ARRAY['"where"', '"User"', '"P.1"', 'p_query']::regclass[]) p, cycle(p) c;
SELECT * FROM merge_engine.check_projection('"User"');

-- types of columns and of keys
CREATE DOMAIN code AS varchar(4) CHECK (length(VALUE) > 1);
CREATE DOMAIN version AS bigint;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE place AS (city text, zip char(5));
CREATE TABLE many (
    id uuid PRIMARY KEY, d code, e mood, c place, a integer[], b bpchar(3), n numeric(6,2), ci citext, cc text COLLATE "C",
    j json, jb jsonb, p point, x bytea, r int4range, ts timestamp, iv interval, bits bit(3), nm name, f float8, ok boolean, ip inet,
    ver version NOT NULL);
CREATE VIEW many_v AS SELECT * FROM many WHERE ok;
INSERT INTO many SELECT md5(i::text)::uuid, 'd' || i % 2, (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::mood, ROW('c' || i % 2, '123')::place, ARRAY[i % 2, NULL],
    'b' || i % 2, i % 2 + 0.5, CASE WHEN i % 2 = 0 THEN 'Ab' ELSE 'aB' END, 'c', '{"a": 1}', '{"b": 2}', point(1, i), '\x00', int4range(1, i + 2),
    '2020-01-01', '1 day', B'101', 'n' || i % 2, 'NaN', true, '10.0.0.1', i FROM generate_series(1, 6) i;
SELECT merge_engine.create_projection('p_many', 'many_v', 'merge', '{ver}', unique_key => '{id}');
SELECT merge_engine.create_projection('p_insert', 'many_v', 'insert', '{ver}');
SELECT merge_engine.create_projection('p_' || k, 'many_v', 'delete_insert', '{ver}', replace_key => ARRAY[k])
FROM unnest('{d,e,c,a,b,n,ci,cc,jb,x,r,ts,iv,bits,nm,f,ip}'::text[]) k;
SELECT merge_engine.create_projection('p_all', 'many_v', 'delete_insert', '{ver}', replace_key => '{d,e,c,a,b,n,ci,cc,jb,x,r,ts,iv,bits,nm,f,ip}');
SELECT merge_engine.create_projection('p_all_query', 'many_v', 'delete_insert', '{ver}', replace_key => '{d,e,c,a,b,ci}', affected_keys => 'SELECT a, b, c, d, e, ci FROM many');
CREATE FUNCTION cycle_all() RETURNS SETOF record LANGUAGE sql AS $$
    SELECT c.* FROM (SELECT DISTINCT projection FROM merge_engine.projections WHERE view = 'many_v'::regclass) p, cycle(projection) c ORDER BY c.projection COLLATE "C" $$;
SELECT * FROM cycle_all() AS (projection text, kind text, keys bigint, deleted bigint, updated bigint, inserted bigint, problems text);
UPDATE many SET ok = false, ver = 7 WHERE ver = 2;
UPDATE many SET j = '[]', ver = 8 WHERE ver = 3;
SELECT * FROM cycle_all() AS (projection text, kind text, keys bigint, deleted bigint, updated bigint, inserted bigint, problems text);
-- NULL keys
INSERT INTO many (id, ok, ver) VALUES (md5('7')::uuid, true, 9), (md5('8')::uuid, true, 10);
SELECT * FROM cycle_all() AS (projection text, kind text, keys bigint, deleted bigint, updated bigint, inserted bigint, problems text);
UPDATE many SET ok = NOT ok, ver = ver + 10 WHERE id = md5('7')::uuid;
SELECT * FROM cycle_all() AS (projection text, kind text, keys bigint, deleted bigint, updated bigint, inserted bigint, problems text);

-- types of fields: any with an order
CREATE TABLE f (id integer PRIMARY KEY, a_uuid uuid NOT NULL, a_mood mood NOT NULL, a_text text COLLATE "C" NOT NULL, a_numeric numeric NOT NULL, a_array integer[] NOT NULL,
    a_float float8 NOT NULL, a_bytea bytea NOT NULL, a_bool boolean NOT NULL, a_code code NOT NULL, a_interval interval NOT NULL, a_place place NOT NULL, a_char char(3) NOT NULL, a_ci citext NOT NULL);
CREATE VIEW fv AS SELECT * FROM f;
INSERT INTO f VALUES (1, md5('')::uuid, 'sad', 'a"''\', 0.1, '{1}', 0.1, '\x01', false, 'c1', '1 month', '("a,",1)', 'a', 'A');
SELECT merge_engine.create_projection('pf_' || k, 'fv', 'delete_insert', ARRAY['a_' || k], replace_key => '{id}')
FROM unnest('{uuid,mood,text,numeric,array,float,bytea,bool,code,interval,place,char,ci}'::text[]) k;
SET intervalstyle = 'sql_standard';
SELECT p.projection, (merge_engine.refresh_projection(p.projection)).rows_inserted FROM (SELECT DISTINCT projection FROM merge_engine.projections WHERE projection::text LIKE 'pf\_%') p ORDER BY p.projection::text COLLATE "C";
INSERT INTO f VALUES (2, 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'happy', 'b', 0.2, '{1,2}', 0.2, '\x02', true, 'c2', '3 months', '(b,1)', 'b', 'b');
RESET intervalstyle;
SET extra_float_digits = 0;
SELECT p.projection, r.rows_inserted, r.watermarks_after FROM (SELECT DISTINCT projection FROM merge_engine.projections WHERE projection::text LIKE 'pf\_%') p, merge_engine.refresh_projection(p.projection) r ORDER BY p.projection::text COLLATE "C";
RESET extra_float_digits;

-- equalities between types: a wider column cannot stand for the key, a narrower one can
CREATE TABLE narrow (id smallint PRIMARY KEY, seq bigint NOT NULL);
CREATE TABLE wide (id bigint NOT NULL, seq bigint NOT NULL);
CREATE VIEW nw AS SELECT n.id AS small_id, w.id AS big_id, n.seq AS n_seq, w.seq AS w_seq FROM narrow n JOIN wide w ON w.id = n.id;
SELECT merge_engine.create_projection('p_small', 'nw', 'delete_insert', '{n_seq,w_seq}', replace_key => '{small_id}');
SELECT merge_engine.create_projection('p_big', 'nw', 'delete_insert', '{n_seq,w_seq}', replace_key => '{big_id}');
INSERT INTO narrow VALUES (1, 1), (2, 2);
INSERT INTO wide VALUES (1, 1), (1, 2), (99999, 3);
SELECT * FROM cycle('p_small') UNION ALL SELECT * FROM cycle('p_big');
INSERT INTO wide VALUES (2, 4), (88888, 5);
UPDATE narrow SET seq = 3 WHERE id = 1;
SELECT * FROM cycle('p_small') UNION ALL SELECT * FROM cycle('p_big');
-- collations: a join under another collation, a key that ignores case
CREATE TABLE ca (k text COLLATE "C" PRIMARY KEY, seq bigint NOT NULL);
CREATE TABLE cb (k text COLLATE "POSIX", kk citext, seq bigint NOT NULL, ok boolean NOT NULL DEFAULT true);
CREATE VIEW cab AS SELECT ca.k, cb.kk, ca.seq AS a_seq, cb.seq AS b_seq FROM ca JOIN cb ON cb.k = ca.k COLLATE "C" WHERE cb.ok;
SELECT merge_engine.create_projection('p_cab', 'cab', 'delete_insert', '{a_seq,b_seq}', replace_key => '{kk}');
INSERT INTO ca VALUES ('x', 1), ('y', 2);
INSERT INTO cb VALUES ('x', 'Kk', 1), ('y', 'kK', 2);
SELECT * FROM cycle('p_cab');
UPDATE cb SET ok = false, seq = 3 WHERE k = 'y';
UPDATE ca SET seq = 3 WHERE k = 'x';
SELECT * FROM cycle('p_cab');

-- partitioned and inherited sources, generated and identity columns
CREATE TABLE part (id integer, region text, twice integer GENERATED ALWAYS AS (id * 2) STORED, seq bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE part_n PARTITION OF part FOR VALUES IN ('n');
CREATE TABLE part_s PARTITION OF part FOR VALUES IN ('s');
CREATE TABLE parent (id integer, seq bigint NOT NULL);
CREATE TABLE child () INHERITS (parent);
CREATE VIEW pv AS SELECT id, twice, part.seq AS part_seq, parent.seq AS parent_seq FROM part JOIN parent USING (id);
SELECT merge_engine.create_projection('p_part', 'pv', 'delete_insert', '{part_seq,parent_seq}', replace_key => '{id}');
INSERT INTO part (id, region) VALUES (1, 'n'), (2, 's');
INSERT INTO parent VALUES (1, 1);
INSERT INTO child VALUES (2, 2);
SELECT * FROM cycle('p_part');
UPDATE child SET seq = 3;
INSERT INTO part (id, region) VALUES (3, 's');
SELECT * FROM cycle('p_part');
CREATE VIEW only_parent AS SELECT id, seq FROM ONLY parent;
SELECT merge_engine.create_projection('p_only', 'only_parent', 'insert', '{seq}');
SELECT * FROM cycle('p_only');
INSERT INTO child VALUES (9, 9);
INSERT INTO parent VALUES (8, 8);
SELECT rows_inserted, watermarks_after FROM merge_engine.refresh_projection('p_only');

SET client_min_messages = warning;
DROP SCHEMA "Types, ""quoted""" CASCADE;
