-- A table that explains itself.
\pset format unaligned
CREATE TABLE wide (k int PRIMARY KEY, status text, amount numeric DEFAULT 0, note text, s bigint, op text,
    v merge_engine.versions, listed text[], twice int GENERATED ALWAYS AS (k * 2) STORED)
USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v', rowkind.field = 'op',
    columns.field = 'listed', "partial-update.remove-record-on-delete", tombstones, "fields.note.explicit-null" = 'clear');
CREATE TABLE grouped (k int PRIMARY KEY, a int, b int, n int, g int, h int, h2 date, op text, free text)
USING merge_engine
WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a,b', "fields.h,h2.sequence-group" = 'n',
    "fields.n.aggregate-function" = 'sum', rowkind.field = 'op');
CREATE TABLE agg (k int PRIMARY KEY, a int, b int, c text, d int, s int)
USING merge_engine
WITH (merge_engine = 'aggregation', sequence.field = 's', "sequence.field.sort-order" = 'descending',
    "fields.a.aggregate-function" = 'sum', "fields.c.aggregate-function" = 'listagg',
    "fields.d.aggregate-function" = 'first_value');
CREATE TABLE retracted (k int PRIMARY KEY, n int, m int, l text, op text) USING merge_engine
WITH (merge_engine = 'aggregation', rowkind.field = 'op', "fields.n.aggregate-function" = 'sum',
    "fields.m.aggregate-function" = 'max', "fields.m.ignore-retract", "fields.l.aggregate-function" = 'last_value');
CREATE TABLE dedup (k int PRIMARY KEY, a int, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op');
CREATE TABLE first (k int PRIMARY KEY, a int) USING merge_engine WITH (merge_engine = 'first-row');
CREATE TABLE plain (k int PRIMARY KEY, a int);
CREATE TABLE parted (k int PRIMARY KEY) PARTITION BY LIST (k);

SELECT * FROM merge_engine.describe('wide');
SELECT * FROM merge_engine.describe('grouped');
SELECT * FROM merge_engine.describe('agg');
SELECT * FROM merge_engine.describe('retracted');
SELECT * FROM merge_engine.describe('dedup');
SELECT * FROM merge_engine.describe('first');
SELECT * FROM merge_engine.describe('plain');
SELECT * FROM merge_engine.describe('parted');
-- a merge trigger's table is like any other
CREATE TABLE triggered (k int PRIMARY KEY, a int, op text, s int);
CREATE TRIGGER merge BEFORE INSERT ON triggered FOR EACH ROW
EXECUTE FUNCTION merge_engine.merge_trigger('sequence.field=s', 'rowkind.field=op');
SELECT * FROM merge_engine.describe('triggered') EXCEPT SELECT * FROM merge_engine.describe('dedup');
INSERT INTO triggered VALUES (1, 10, '+I', 5);
SELECT * FROM merge_engine.explain_merge('triggered', '{"k": 1, "a": 11, "op": "+U", "s": 4}');
DROP TRIGGER merge ON triggered;
SELECT * FROM merge_engine.describe('triggered');
DROP TABLE triggered;
-- what it says of order is what the options make of it
SELECT order_free, note FROM merge_engine.describe('dedup') WHERE role IN ('table', 'value');
ALTER TABLE dedup SET (tombstones);
SELECT order_free, note FROM merge_engine.describe('dedup') WHERE role IN ('table', 'value');
-- a DEFAULT is taken from the first row of a key, if that does not name the column
CREATE TABLE defaults (k int PRIMARY KEY, s int, newest int DEFAULT 1, kept int DEFAULT 1, oldest int DEFAULT 1,
    total int DEFAULT 1, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'aggregation', sequence.field = 's', versions.field = 'v', "fields.newest.aggregate-function" = 'last_value',
    "fields.oldest.aggregate-function" = 'first_value', "fields.total.aggregate-function" = 'sum');
SELECT column_name, order_free, note FROM merge_engine.describe('defaults');
INSERT INTO defaults (k, s, kept) VALUES (1, 1, NULL);
INSERT INTO defaults (k, s) VALUES (1, 2), (2, 2);
INSERT INTO defaults (k, s, kept) VALUES (2, 1, NULL);
SELECT k, newest, kept, oldest, total FROM defaults ORDER BY k;
DROP TABLE defaults;
CREATE TABLE defaults (k int PRIMARY KEY, g int, a int DEFAULT 1, b int) USING merge_engine
WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a,b');
SELECT column_name, order_free, note FROM merge_engine.describe('defaults');
INSERT INTO defaults (k) VALUES (1);
INSERT INTO defaults (k, a) VALUES (1, NULL);
INSERT INTO defaults (k, a) VALUES (2, NULL);
INSERT INTO defaults (k) VALUES (2);
INSERT INTO defaults (k, g, b) VALUES (3, 1, 1);
INSERT INTO defaults (k, g) VALUES (3, 2), (4, 2);
INSERT INTO defaults (k, g, b) VALUES (4, 1, 1);
SELECT * FROM defaults ORDER BY k;
DROP TABLE defaults;

-- explain_merge: the outcome, and each column with its reason
INSERT INTO wide VALUES (1, 'NEW', 5, 'n', 4, '+I'), (1, 'PAID', NULL, NULL, 6, '+I');
SELECT * FROM merge_engine.explain_merge('wide', '{"k": 1, "status": "x", "amount": 7, "s": 5, "op": "+I"}');
SELECT * FROM merge_engine.explain_merge('wide', ROW(1, 'x', 7, NULL, 2, '+I'));
SELECT * FROM merge_engine.explain_merge('wide', ROW(2, 'x', 7, NULL, 2, '+I'));
SELECT * FROM merge_engine.explain_merge('wide', '{"k": 2, "s": 2, "op": "+I"}'::jsonb);
SELECT * FROM merge_engine.explain_merge('wide', '{"k": 1, "status": "x", "amount": null, "s": 9, "op": "+I", "listed": ["amount"]}');
SELECT * FROM merge_engine.explain_merge('wide', '{"k": 3, "op": "-D", "s": 4}');
SELECT * FROM merge_engine.explain_merge('wide', '{"k": 1, "op": "-D", "s": 5}');
SELECT * FROM merge_engine.explain_merge('wide', '{"k": 1, "op": "-D", "s": 9}');
SELECT * FROM merge_engine.explain_merge('wide', '{"k": 1, "op": "-U", "s": 9}');
INSERT INTO wide (k, s, op) VALUES (5, 5, '-D');
SELECT * FROM merge_engine.explain_merge('wide', '{"k": 5, "status": "late", "op": "+I", "s": 4}');
SELECT * FROM merge_engine.explain_merge('wide', (SELECT w FROM wide w WHERE k = 1));
SELECT column_name, merged, reason FROM merge_engine.explain_merge('wide', '{"k": 1, "op": "delete", "s": 9}');

INSERT INTO grouped VALUES (1, 1, 1, 1, 5, 5, '2026-01-01', '+I', 'f');
SELECT * FROM merge_engine.explain_merge('grouped', ROW(1, 2, NULL, 2, 4, 6, NULL, '+I', NULL));
SELECT * FROM merge_engine.explain_merge('grouped', ROW(1, 2, NULL, 2, 6, NULL, NULL, '-U', NULL));
INSERT INTO agg VALUES (1, 1, 1, 'c', 1, 5);
SELECT * FROM merge_engine.explain_merge('agg', ROW(1, 2, 2, 'd', 2, 6));
INSERT INTO retracted VALUES (1, 5, 5, 'x', '+I');
SELECT * FROM merge_engine.explain_merge('retracted', ROW(1, 2, 2, 'x', '-U'));
INSERT INTO dedup VALUES (1, 1, '+I', 5);
SELECT * FROM merge_engine.explain_merge('dedup', ROW(1, 2, '+I', 4));
SELECT * FROM merge_engine.explain_merge('dedup', ROW(1, 2, '-U', 6));
INSERT INTO first VALUES (1, 1);
SELECT * FROM merge_engine.explain_merge('first', '{"k": 1, "a": 2}');
-- nothing was written
SELECT * FROM wide ORDER BY k;
TABLE agg;

-- what it refuses
SELECT * FROM merge_engine.explain_merge('first', '{"a": 2}');
SELECT * FROM merge_engine.explain_merge('first', '{"k": 2, "b": 2}');
SELECT * FROM merge_engine.explain_merge('first', '[1, 2]');
SELECT * FROM merge_engine.explain_merge('first', '{"k": "x"}');
SELECT * FROM merge_engine.explain_merge('first', ROW(1, 2, 3));
SELECT * FROM merge_engine.explain_merge('plain', ROW(1, 2));
-- but a query that is cancelled is not a row that is refused
CREATE FUNCTION cancels(int, int) RETURNS int LANGUAGE plpgsql STRICT AS $$
BEGIN
    RAISE 'canceled' USING ERRCODE = 'query_canceled';
END $$;
CREATE TABLE cancelled (k int PRIMARY KEY, n int) USING merge_engine
WITH (merge_engine = 'aggregation', "fields.n.aggregate-function" = 'public.cancels');
INSERT INTO cancelled VALUES (1, 1);
SELECT * FROM merge_engine.explain_merge('cancelled', '{"k": 1, "n": 2}');
DROP TABLE cancelled;
DROP FUNCTION cancels;
-- it reads with the caller's rights
CREATE ROLE regress_describe;
SET ROLE regress_describe;
SELECT count(*) FROM merge_engine.describe('first');
SELECT * FROM merge_engine.explain_merge('first', '{"k": 1, "a": 2}');
RESET ROLE;
GRANT SELECT ON first TO regress_describe;
SET ROLE regress_describe;
SELECT merged, reason FROM merge_engine.explain_merge('first', '{"k": 1, "a": 2}') WHERE column_name IS NULL;
RESET ROLE;
DROP TABLE wide, grouped, agg, retracted, dedup, first, plain, parted;
DROP ROLE regress_describe;

-- merge_engine.tables has it in one line
CREATE TABLE line (k int PRIMARY KEY, a int, s int, op text) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones);
CREATE TABLE arrival (k int PRIMARY KEY, a int) USING merge_engine WITH (merge_engine = 'partial-update');
CREATE TABLE broken (k int PRIMARY KEY, a int, s int) USING merge_engine WITH (sequence.field = 's');
UPDATE pg_class SET reloptions = '{merge-engine=deduplicate,sequence.field=gone}' WHERE oid = 'broken'::regclass;
SELECT options FROM merge_engine.tables WHERE table_name = 'line'::regclass;
SELECT table_name, summary FROM merge_engine.tables
WHERE table_name::oid IN ('line'::regclass, 'arrival'::regclass, 'broken'::regclass) ORDER BY table_name::text;
ALTER TABLE broken RESET (sequence.field);
DROP TABLE line, arrival, broken;
