-- The third door: heap tables with a merge trigger.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY default
CREATE SCHEMA merge_trigger;
SET search_path = merge_trigger;

CREATE TABLE t (id int PRIMARY KEY, status text DEFAULT 'new', amount numeric(18,2) CHECK (amount < 1000), v bigint,
	label text GENERATED ALWAYS AS (status || '/' || coalesce(amount, 0)) STORED);
CREATE TRIGGER merge BEFORE INSERT ON t FOR EACH ROW
EXECUTE FUNCTION merge_engine.merge_trigger('merge_engine=partial-update', 'sequence.field=v');

-- command tags and RETURNING know new keys only
\set QUIET off
INSERT INTO t VALUES (1, 'CREATED', 100, 1), (1, 'PAID', 80, 3), (1, NULL, NULL, 4), (1, 'CANCELLED', 100, 2), (2, 'x', 1, 1);
INSERT INTO t VALUES (1, NULL, 75, 5), (3, 'y', 3, 1) RETURNING *;
COPY t (id, amount, v) FROM stdin;
1	99	9
4	1	1
4	2	3
4	\N	4
\.
INSERT INTO t (id, amount) VALUES (5, 7), (1, 7);
WITH w AS (INSERT INTO t (id, v, amount) VALUES (1, 10, 10), (6, 1, 1) RETURNING id) SELECT count(*) FROM w;
\set QUIET on
SELECT * FROM t ORDER BY id;

-- constraints of the merged row
INSERT INTO t VALUES (1, NULL, 1000, 11);
INSERT INTO t VALUES (7, NULL, 1000, 1);
INSERT INTO t (status) VALUES ('x');
SELECT * FROM t WHERE id IN (1, 7);

-- savepoints, ON CONFLICT, MERGE
BEGIN;
INSERT INTO t VALUES (8, 'a', 1, 1);
SAVEPOINT s;
INSERT INTO t VALUES (8, 'b', 2, 2), (9, 'a', 1, 1);
ROLLBACK TO s;
INSERT INTO t VALUES (8, NULL, 3, 3), (9, 'c', NULL, 1), (9, NULL, 5, 2) ON CONFLICT (id) DO NOTHING;
MERGE INTO t USING (VALUES (8, 4), (10, 1)) AS n(id, v) ON false WHEN NOT MATCHED THEN INSERT (id, amount, v) VALUES (n.id, 8, n.v);
SELECT * FROM t WHERE id > 7 ORDER BY id;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
COMMIT;

-- other engines, removal, and a table without options
CREATE TABLE d (k int PRIMARY KEY, a int, op text);
CREATE TRIGGER merge BEFORE INSERT ON d FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('rowkind.field=op');
INSERT INTO d VALUES (1, 1, '+I'), (2, 2, '+I'), (1, 3, '+U'), (2, NULL, '-D'), (3, NULL, '-D');
SELECT * FROM d ORDER BY k;
INSERT INTO d VALUES (1, 1, 'x');
CREATE TABLE a (k int PRIMARY KEY, s int DEFAULT 1, l text, c int[]);
CREATE TRIGGER merge BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('merge-engine=aggregation',
	'fields.s.aggregate-function=sum', 'fields.l.aggregate-function=listagg', 'fields.l.list-agg-delimiter=, ',
	'fields.c.aggregate-function=collect', 'fields.c.distinct=true');
INSERT INTO a (k, l, c) VALUES (1, 'x', '{1,1}'), (1, 'y', '{1,2}'), (2, 'z', '{3,3}');
INSERT INTO a (k, l) VALUES (1, 'z');
SELECT * FROM a ORDER BY k;

-- triggers: AFTER UPDATE and AFTER DELETE for what was merged
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % %: % -> %', TG_NAME, TG_WHEN, TG_OP, OLD, NEW;
	RETURN NULL;
END $$;
CREATE TRIGGER tell AFTER INSERT OR UPDATE OR DELETE ON d FOR EACH ROW EXECUTE FUNCTION tell();
INSERT INTO d VALUES (1, 4, '+U'), (4, 1, '+I'), (4, 2, '+U'), (1, NULL, '-D'), (4, 2, '+U');
COPY d FROM stdin;
4	3	+U
4	4	-D
5	5	+I
5	6	+U
5	7	-D
4	2	+I
\.
DROP TRIGGER tell ON d;
-- earlier BEFORE triggers change the incoming row, later ones the row of a new key
CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.a := coalesce(NEW.a, 0) + TG_ARGV[0]::int;
	RETURN CASE WHEN NEW.a < 1000 THEN NEW END;
END $$;
CREATE TRIGGER before_merge BEFORE INSERT ON d FOR EACH ROW EXECUTE FUNCTION fill('10');
CREATE TRIGGER merge_after BEFORE INSERT ON d FOR EACH ROW EXECUTE FUNCTION fill('100');
INSERT INTO d (k, op) VALUES (5, '+I'), (4, '+I');
INSERT INTO d VALUES (6, 900, '+I'), (6, 1, '+I');
SELECT * FROM d ORDER BY k;

-- foreign keys, both ways
CREATE TABLE parent (id int PRIMARY KEY, n int, op text);
CREATE TRIGGER merge BEFORE INSERT ON parent FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('rowkind.field=op');
CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE, v int);
CREATE TRIGGER merge BEFORE INSERT ON child FOR EACH ROW
EXECUTE FUNCTION merge_engine.merge_trigger('merge-engine=partial-update', 'sequence.field=v');
INSERT INTO parent VALUES (1, 1, '+I'), (2, 2, '+I');
INSERT INTO child VALUES (1, 3, 1);
INSERT INTO child VALUES (1, 3, 1), (1, 1, 2);
INSERT INTO child VALUES (1, 1, 1), (1, 3, 2);
INSERT INTO child VALUES (1, 3, 3);
INSERT INTO child VALUES (2, 1, 1), (2, 2, 2);
INSERT INTO parent VALUES (1, 1, '-D');
SELECT * FROM child ORDER BY id;

-- partitions: the trigger is the parent's; UPDATE moves rows as ever
CREATE TABLE p (k int, region text, n int, PRIMARY KEY (region, k)) PARTITION BY LIST (region);
CREATE TABLE p_eu PARTITION OF p FOR VALUES IN ('eu');
CREATE TABLE p_us (n int, gone int, region text NOT NULL, k int NOT NULL);
ALTER TABLE p_us DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p_us FOR VALUES IN ('us');
CREATE TRIGGER merge BEFORE INSERT ON p FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('merge-engine=aggregation',
	'fields.n.aggregate-function=sum');
INSERT INTO p VALUES (1, 'eu', 1), (1, 'us', 10), (1, 'eu', 2), (1, 'us', 20);
INSERT INTO p_us (k, region, n) VALUES (1, 'us', 30), (2, 'us', 1);
COPY p FROM stdin;
2	us	1
1	eu	1
\.
SELECT tableoid::regclass, * FROM p ORDER BY region, k;
UPDATE p SET region = 'eu' WHERE k = 2;
UPDATE p SET region = 'eu' WHERE region = 'us';
SELECT tableoid::regclass, * FROM p ORDER BY region, k;
MERGE INTO p USING (VALUES (2, 'us'), (1, 'us')) AS n(k, r) ON p.k = n.k AND p.region = 'eu'
WHEN MATCHED AND n.k = 2 THEN UPDATE SET region = n.r;
MERGE INTO p USING (VALUES (2, 'us')) AS n(k, r) ON false WHEN NOT MATCHED THEN INSERT VALUES (n.k, n.r, 100);
MERGE INTO p USING (VALUES (1, 'us')) AS n(k, r) ON p.k = n.k AND p.region = 'eu' WHEN MATCHED THEN UPDATE SET region = n.r;
SELECT tableoid::regclass, * FROM p ORDER BY region, k;

-- a function of the statement sees what was merged before
CREATE FUNCTION add(key int, amount int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO a (k, s) VALUES (key, amount);
	RETURN (SELECT s FROM a WHERE k = key);
END $$;
INSERT INTO a (k, s) VALUES (10, 1), (10, add(10, 5)), (11, add(11, 1)), (11, 1);
SELECT k, s FROM a WHERE k >= 10 ORDER BY k;

-- the log of such a table can be audited, too
SELECT merge_engine.merge('t', l ORDER BY n)
FROM (VALUES (1, 1, 'a', NULL::numeric, 2), (2, 1, 'b', 5, 1)) AS l(n, id, status, amount, v) GROUP BY id;

-- row security: a row may be merged into only where it may be updated
CREATE ROLE merge_trigger_user;
GRANT USAGE ON SCHEMA merge_trigger TO merge_trigger_user;
CREATE TABLE secured (k int PRIMARY KEY, owner name, a int);
CREATE TRIGGER merge BEFORE INSERT ON secured FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('merge-engine=partial-update');
INSERT INTO secured VALUES (1, 'merge_trigger_user', 1), (2, 'another', 2);
ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON secured USING (owner = current_user);
GRANT SELECT, INSERT, UPDATE ON secured TO merge_trigger_user;
SET ROLE merge_trigger_user;
INSERT INTO secured VALUES (1, current_user, 5), (3, current_user, 3);
INSERT INTO secured VALUES (2, current_user, 5);
INSERT INTO secured VALUES (4, 'another', 5);
RESET ROLE;
SELECT * FROM secured ORDER BY k;
DROP TABLE secured;
REVOKE USAGE ON SCHEMA merge_trigger FROM merge_trigger_user;
DROP ROLE merge_trigger_user;

-- what is refused when the trigger is created
CREATE TABLE x (k int, a int, s int);
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger();
ALTER TABLE x ADD PRIMARY KEY (k);
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('sequence.field=b');
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('merge-engine=partial');
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('sequence.fields=s');
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('fillfactor=70');
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('partial-update');
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('sequence.field=s', 'sequence_field=s');
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('merge-engine=aggregation',
	'fields.a.aggregate-function=summ');
CREATE TRIGGER merge AFTER INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger();
CREATE TRIGGER merge BEFORE INSERT ON x EXECUTE FUNCTION merge_engine.merge_trigger();
CREATE TRIGGER merge BEFORE INSERT OR UPDATE ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger();
CREATE TABLE merging (k int PRIMARY KEY) USING merge_engine;
CREATE TRIGGER merge BEFORE INSERT ON merging FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger();
SELECT count(*) FROM pg_trigger WHERE tgrelid IN ('x'::regclass, 'merging'::regclass);
CREATE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('sequence.field=s', 'bucket=4');
CREATE TRIGGER another BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('sequence.field=s');
CREATE OR REPLACE TRIGGER merge BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('sequence.field=s');

-- and later: the options must keep their meaning
ALTER TABLE x DROP COLUMN s;
ALTER TABLE x RENAME COLUMN s TO t;
ALTER TABLE x RENAME COLUMN a TO b;
ALTER TABLE x DROP COLUMN b;
ALTER TABLE x SET ACCESS METHOD merge_engine;
ALTER TABLE x DROP CONSTRAINT x_pkey;
INSERT INTO x VALUES (1, 1);
ALTER TABLE x DISABLE TRIGGER merge;
INSERT INTO x VALUES (1, 1);
SELECT merge_engine.merge_trigger();
