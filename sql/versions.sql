-- A versions column keeps, for each column, the sequence that set it.
CREATE TABLE orders (id int PRIMARY KEY, status text, amount numeric, note text,
    changed bigint, v merge_engine.versions)
USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 'changed', versions.field = 'v');

INSERT INTO orders VALUES (1, 'NEW', 100, NULL, 5);
INSERT INTO orders VALUES (1, 'PAID', NULL, NULL, 9) RETURNING *;
-- a late row corrects what is older than itself, and nothing else
INSERT INTO orders VALUES (1, 'LATE', 110, 'call', 7) RETURNING *;
INSERT INTO orders VALUES (1, 'LATER', 120, 'mail', 6) RETURNING *;
-- all columns at the row's own sequence: nothing to remember
INSERT INTO orders VALUES (1, 'DONE', 130, 'ok', 10) RETURNING *;
SELECT pg_column_size(v) FROM orders;
INSERT INTO orders VALUES (1, 'SENT', NULL, NULL, 11);
SELECT v, v::jsonb, pg_column_size(v) < 34 AS compact FROM orders;

-- columns come, go and change their names
ALTER TABLE orders RENAME note TO remark;
SELECT v FROM orders;
ALTER TABLE orders ADD note text;
INSERT INTO orders (id, note, remark, changed) VALUES (1, 'new column', 'old', 8);
TABLE orders;
ALTER TABLE orders DROP remark;
TABLE orders;
ALTER TABLE orders ADD remark text;
INSERT INTO orders (id, remark, changed) VALUES (1, 'again', 2);
TABLE orders;
-- also the type of the sequence
ALTER TABLE orders ALTER changed TYPE numeric;
TABLE orders;
INSERT INTO orders (id, amount, note, changed) VALUES (1, 140, 'n', 10.5);
TABLE orders;
ALTER TABLE orders RENAME v TO ver;
SELECT options ->> 'versions.field' FROM merge_engine.tables WHERE table_name = 'orders'::regclass;

-- by hand: what is changed is of the row's sequence, the rest stays what it was
UPDATE orders SET note = 'by hand';
TABLE orders;
UPDATE orders SET changed = 20;
TABLE orders;
INSERT INTO orders VALUES (1, 'X', 150, 15) RETURNING *;
INSERT INTO orders AS o VALUES (1) ON CONFLICT (id) DO UPDATE SET remark = NULL RETURNING *;
UPDATE orders SET ver = '{"amount": 19}';
TABLE orders;
UPDATE orders SET ver = NULL;
TABLE orders;
DROP TABLE orders;

-- copies of a table that took different rows become equal by merging
CREATE TABLE a (k int PRIMARY KEY, x text, y text, z text, s1 timestamptz, s2 int, v merge_engine.versions)
USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's1,s2', versions.field = 'v');
CREATE TABLE b (v merge_engine.versions, gone int, s2 int, s1 timestamptz, z text, y text, x text, k int PRIMARY KEY)
USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's1,s2', versions.field = 'v');
ALTER TABLE b DROP gone;
SET timezone = 'UTC';
INSERT INTO a VALUES (1, 'x1', 'y1', NULL, '2026-01-01', 1), (1, NULL, 'y2', NULL, '2026-01-02', 1);
INSERT INTO b (k, x, y, z, s1, s2) VALUES (1, 'x3', NULL, NULL, '2026-01-01', 2), (1, NULL, NULL, 'z0', '2025-12-31', 9);
TABLE a;
SELECT k, x, y, z, s1, s2, v FROM b;
INSERT INTO b (k, x, y, z, s1, s2, v) SELECT * FROM a;
INSERT INTO a SELECT k, x, y, z, s1, s2, v FROM b;
TABLE a;
SELECT * FROM a EXCEPT SELECT k, x, y, z, s1, s2, v FROM b;
INSERT INTO a SELECT k, x, y, z, s1, s2, v FROM b;
INSERT INTO a TABLE a;
SELECT * FROM a EXCEPT SELECT k, x, y, z, s1, s2, v FROM b;
-- through text and binary, under other settings
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Tokyo';
CREATE TEMP TABLE text_copy AS SELECT k, x, y, z, s1, s2, v::text FROM a;
SELECT v FROM text_copy;
RESET datestyle;
SET timezone = 'UTC';
TRUNCATE a;
INSERT INTO a SELECT k, x, y, z, s1, s2, v::merge_engine.versions FROM text_copy;
SELECT * FROM a EXCEPT SELECT k, x, y, z, s1, s2, v FROM b;
RESET timezone;

-- ON CONFLICT and a copy without a key store the table's own form, too
TRUNCATE a;
INSERT INTO a VALUES (1, 'x', 'y', 'z', '2026-01-01', 1, '{"x": ["2025-01-01", 1]}') ON CONFLICT DO NOTHING;
ALTER TABLE a RENAME x TO xx;
SELECT v::jsonb ? 'xx' FROM a;
DROP TABLE a, b;

-- aggregation: the functions that follow the order, and those that do not mind
CREATE TABLE agg (k int PRIMARY KEY, n int, lv text, lnn text, fv text, fnn text, s int, v merge_engine.versions)
USING merge_engine
WITH (merge_engine = 'aggregation', sequence.field = 's', versions.field = 'v',
    "fields.n.aggregate-function" = 'sum', "fields.lv.aggregate-function" = 'last_value',
    "fields.fv.aggregate-function" = 'first_value', "fields.fnn.aggregate-function" = 'first_non_null_value');
INSERT INTO agg VALUES (1, 1, 'a5', 'b5', 'c5', NULL, 5);
INSERT INTO agg VALUES (1, 1, NULL, NULL, 'c8', 'd8', 8);
INSERT INTO agg VALUES (1, 1, 'a7', 'b7', NULL, 'd7', 7) RETURNING *;
INSERT INTO agg VALUES (1, 1, 'a2', 'b2', NULL, 'd2', 2) RETURNING *;
INSERT INTO agg VALUES (1, 1, 'a3', 'b3', 'c3', 'd3', 3) RETURNING *;
DROP TABLE agg;

-- a rewrite and a swap of access methods keep versions
CREATE TABLE rewritten (k int PRIMARY KEY, a text, b text, s int, v merge_engine.versions)
USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
INSERT INTO rewritten VALUES (1, 'a', 'b', 1), (1, 'a2', NULL, 2);
VACUUM FULL rewritten;
CLUSTER rewritten USING rewritten_pkey;
ALTER TABLE rewritten ADD c int DEFAULT random() * 0 + 3;
TABLE rewritten;
INSERT INTO rewritten VALUES (1, 'late', 'b1.5', 1) RETURNING *;
ALTER TABLE rewritten SET ACCESS METHOD heap;
TABLE rewritten;
DROP TABLE rewritten;

-- partitions
CREATE TABLE parted (k int, p int, a text, b text, s int, v merge_engine.versions, PRIMARY KEY (k, p)) PARTITION BY LIST (p);
CREATE TABLE part1 PARTITION OF parted FOR VALUES IN (1)
USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
CREATE TABLE part2 (v merge_engine.versions, s int, b text, a text, p int NOT NULL, k int NOT NULL, PRIMARY KEY (k, p))
USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
ALTER TABLE parted ATTACH PARTITION part2 FOR VALUES IN (2);
INSERT INTO parted VALUES (1, 1, 'a', 'b', 1), (1, 1, 'a2', NULL, 2);
TABLE parted;
UPDATE parted SET p = 2;
DROP TABLE part1;
TABLE parted;
INSERT INTO parted VALUES (1, 2, 'late', 'late', 1) RETURNING *;
DROP TABLE parted;

-- what it needs
CREATE TABLE bad (k int PRIMARY KEY, a int, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'partial-update', versions.field = 'v');
CREATE TABLE bad (k int PRIMARY KEY, a int, s int, v text) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
CREATE TABLE bad (k int PRIMARY KEY, a int, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'deduplicate', sequence.field = 's', versions.field = 'v');
CREATE TABLE bad (k int PRIMARY KEY, a int, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 's');
CREATE TABLE bad (k int PRIMARY KEY, a int, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v', "fields.a.sequence-group" = 'v');

-- input
SELECT '{"a": 1, "b": [1, "x"], "c": []}'::merge_engine.versions;
SELECT '[1]'::merge_engine.versions;
SELECT '{"a": {"b": 1}}'::merge_engine.versions;
SELECT '{"a": [[1]]}'::merge_engine.versions;
SELECT 'x'::merge_engine.versions;
CREATE TABLE strict (k int PRIMARY KEY, a int, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
INSERT INTO strict VALUES (1, 1, 1, '{"a": [1, 2]}');
INSERT INTO strict VALUES (1, 1, 1, '{"a": "x"}');
INSERT INTO strict VALUES (1, 1, 1, '{"unknown": 1, "a": null, "s": 3, "k": 4, "": 0}') RETURNING *;

-- a corrupted value is an error
CREATE CAST (bytea AS merge_engine.versions) WITHOUT FUNCTION;
CREATE CAST (merge_engine.versions AS bytea) WITHOUT FUNCTION;
DO $$
DECLARE
    good bytea;
    bad bytea;
    shown int := 0;
    refused int := 0;
BEGIN
    TRUNCATE strict;
    INSERT INTO strict VALUES (1, 1, 1, '{"a": 0}');
    SELECT v::bytea INTO good FROM strict;
    FOR i IN 0 .. 400 LOOP
        bad := CASE WHEN i <= length(good) THEN substr(good, 1, i)
            ELSE set_byte(good, i % length(good), (i * 37) % 256) END;
        BEGIN
            PERFORM bad::merge_engine.versions::text;
            INSERT INTO strict VALUES (2, 2, 2, bad::merge_engine.versions);
            INSERT INTO strict VALUES (2, 3, 1);
            shown := shown + 1;
        EXCEPTION WHEN data_corrupted OR invalid_text_representation THEN
            refused := refused + 1;
        END;
    END LOOP;
    RAISE NOTICE '% values in all', shown + refused;
END $$;
DROP CAST (bytea AS merge_engine.versions);
DROP CAST (merge_engine.versions AS bytea);
DROP TABLE strict;
