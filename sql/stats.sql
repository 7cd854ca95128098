-- merge_engine.stats: what has been done to each merge table.
\pset format unaligned
CREATE TABLE d (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op');
CREATE TABLE g (k int PRIMARY KEY, n int, op text) USING merge_engine
WITH (merge_engine = 'aggregation', rowkind.field = 'op', "fields.n.aggregate-function" = 'sum');
CREATE TABLE i (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', ignore_delete);
CREATE VIEW counted AS
SELECT table_name AS t, statements AS st, rows_in AS rows, keys_inserted AS ins, keys_merged AS mrg, keys_unchanged AS unch,
    late_ignored AS late, deletes_applied AS del, deletes_ignored AS ign, retractions AS retr
FROM merge_engine.stats WHERE table_name IN ('d'::regclass, 'g'::regclass, 'i'::regclass) ORDER BY table_name::text;
TABLE counted;
INSERT INTO d VALUES (1, 'a', '+I', 5), (1, 'a', '+I', 4), (2, 'b', '+I', 5);
INSERT INTO d VALUES (1, 'b', '+I', 6), (2, 'late', '+I', 4), (2, 'later', '+I', 3);
INSERT INTO d VALUES (1, NULL, '-D', 5), (2, NULL, '-D', 7), (3, NULL, '-D', 1);
INSERT INTO d VALUES (1, 'b', '+I', 6) RETURNING *;
COPY d FROM stdin;
4	x	+I	1
5	y	+I	1
\.
INSERT INTO g VALUES (1, 5, '+I'), (1, 2, '-U'), (2, 1, '-D');
INSERT INTO i VALUES (1, 'a', '+I', 1), (1, NULL, '-D', 2);
INSERT INTO i VALUES (1, NULL, '-D', 2) RETURNING *;
TABLE counted;
-- exact after rollbacks
BEGIN;
INSERT INTO d VALUES (10, 'a', '+I', 1);
SAVEPOINT s1;
INSERT INTO d VALUES (11, 'a', '+I', 1);
SAVEPOINT s2;
INSERT INTO d VALUES (12, 'a', '+I', 1);
RELEASE s2;
ROLLBACK TO s1;
INSERT INTO d VALUES (13, 'a', '+I', 1);
RELEASE s1;
COMMIT;
BEGIN;
INSERT INTO d VALUES (20, 'a', '+I', 1);
ROLLBACK;
INSERT INTO d VALUES (20, 'a', 'bad', 1);
SELECT * FROM counted WHERE t = 'd'::regclass;
-- not counted
SET merge_engine.track_stats = off;
INSERT INTO d VALUES (20, 'a', '+I', 1);
RESET merge_engine.track_stats;
SELECT * FROM counted WHERE t = 'd'::regclass;
-- another session, which goes on with a row of its own
\connect -
INSERT INTO d VALUES (21, 'a', '+I', 1);
SELECT * FROM counted WHERE t = 'd'::regclass;
-- a commit changes this row in its place
CREATE TEMP TABLE places AS SELECT ctid AS place FROM merge_engine.stats_counters WHERE table_id = 'd'::regclass;
INSERT INTO d VALUES (21, 'b', '+I', 2);
INSERT INTO d VALUES (21, 'late', '+I', 1);
SELECT count(*) FROM merge_engine.stats_counters WHERE table_id = 'd'::regclass AND ctid NOT IN (SELECT place FROM places);
SELECT * FROM counted WHERE t = 'd'::regclass;
-- a heap table with a merge trigger is counted, too
CREATE TABLE h (k int PRIMARY KEY, a text, s int);
CREATE TRIGGER merge BEFORE INSERT ON h FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger('sequence.field=s');
INSERT INTO h VALUES (1, 'a', 5), (1, 'b', 6), (2, 'a', 5);
INSERT INTO h VALUES (1, 'late', 4);
SELECT statements, rows_in, keys_inserted, keys_merged, keys_unchanged, late_ignored FROM merge_engine.stats
WHERE table_name = 'h'::regclass;
DROP TABLE h;
SELECT count(*) FROM merge_engine.stats WHERE table_name::text = 'h';
-- more tables than a commit can do so with
CREATE PROCEDURE for_many(command text) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..40 LOOP
        EXECUTE format(command, i);
    END LOOP;
END $$;
CALL for_many('CREATE TABLE many%s (k int PRIMARY KEY) USING merge_engine WITH ("merge-engine" = ''deduplicate'')');
CALL for_many('INSERT INTO many%s VALUES (1), (2)');
CALL for_many('INSERT INTO many%s VALUES (1), (2)');
SELECT count(*), min(rows_in), max(rows_in) FROM merge_engine.stats WHERE table_name::text LIKE 'many%';
CALL for_many('DROP TABLE many%s');
DROP PROCEDURE for_many;
-- nothing stays of a table that its own transaction drops
CREATE VIEW orphans AS SELECT count(*) FROM merge_engine.stats_counters
WHERE table_id NOT IN (SELECT oid FROM pg_class);
BEGIN;
CREATE TABLE brief (k int PRIMARY KEY) USING merge_engine;
INSERT INTO brief VALUES (1);
DROP TABLE brief;
COMMIT;
BEGIN;
CREATE TEMP TABLE brief (k int PRIMARY KEY) USING merge_engine ON COMMIT DROP;
INSERT INTO brief VALUES (1);
COMMIT;
CREATE TEMP TABLE brief (k int PRIMARY KEY) USING merge_engine;
INSERT INTO brief VALUES (1);
DISCARD TEMP;
TABLE orphans;
DROP VIEW orphans;
-- TRUNCATE and RENAME change nothing, DROP forgets
TRUNCATE d;
ALTER TABLE d RENAME TO e;
SELECT st FROM counted WHERE t = 'e'::regclass;
ALTER TABLE e RENAME TO d;
CREATE ROLE regress_stats;
SET ROLE regress_stats;
SELECT count(*) > 0 FROM merge_engine.stats;
SELECT merge_engine.reset_stats('d');
SELECT merge_engine.reset_stats();
RESET ROLE;
SELECT merge_engine.reset_stats('d');
TABLE counted;
INSERT INTO d VALUES (21, 'a', '+I', 1);
TABLE counted;
SELECT since > now() - interval '1 minute' FROM merge_engine.stats WHERE table_name = 'd'::regclass;
CREATE TEMP TABLE ids AS SELECT table_name::oid AS id FROM merge_engine.stats WHERE table_name IN ('d'::regclass, 'g'::regclass);
DROP VIEW counted;
DROP TABLE d, g, i;
SELECT count(*) FROM merge_engine.stats_counters WHERE table_id IN (SELECT id FROM ids);
DROP ROLE regress_stats;
