-- Tombstones: a removed key does not come back with older data.
CREATE VIEW stones AS
SELECT table_name, key, sequence FROM merge_engine.tombstones ORDER BY table_name::text, key;
CREATE TABLE d (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones = 'true', tombstones.retention = '30 days');
INSERT INTO d VALUES (1, 'a', '+I', 5), (2, 'b', '+I', 5);
INSERT INTO d VALUES (1, NULL, '-D', 7);
TABLE d;
TABLE stones;
-- late rows, in one statement or in many, by COPY too
INSERT INTO d VALUES (1, 'late', '+I', 6);
INSERT INTO d VALUES (1, 'late', '+I', 3), (1, 'later', '+I', 4);
COPY d FROM stdin;
1	late	+U	6
\.
TABLE d;
-- an older delete does nothing, a newer one moves the tombstone
INSERT INTO d VALUES (1, NULL, '-D', 2);
TABLE stones;
INSERT INTO d VALUES (1, NULL, '-D', 9), (1, NULL, '-D', 8);
TABLE stones;
INSERT INTO d VALUES (1, 'late', '+I', 8);
-- a newer row comes, and the tombstone goes
INSERT INTO d VALUES (1, 'new', '+I', 10) RETURNING *;
TABLE stones;
-- a key never seen; a delete that changes nothing
INSERT INTO d VALUES (3, NULL, '-D', 5), (2, NULL, '-D', 1);
INSERT INTO d VALUES (3, 'late', '+I', 4);
INSERT INTO d VALUES (3, 'equal', '+I', 5);
SELECT * FROM d ORDER BY k;
TABLE stones;
-- no lock is left of looking for others
BEGIN;
INSERT INTO d SELECT k, NULL, '-D', 1 FROM generate_series(100, 110) k;
INSERT INTO d SELECT k, NULL, '+I', 2 FROM generate_series(100, 110) k;
INSERT INTO d SELECT k, NULL, '-D', 3 FROM generate_series(100, 110) k;
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'spectoken';
ROLLBACK;
-- removed and back within one statement
INSERT INTO d VALUES (2, NULL, '-D', 6), (2, 'back', '+I', 7), (4, NULL, '-D', 5), (4, 'never', '+I', 4);
SELECT * FROM d ORDER BY k;
TABLE stones;
-- a rollback takes the tombstone with it, also one of a savepoint
BEGIN;
INSERT INTO d VALUES (1, NULL, '-D', 20);
SAVEPOINT s;
INSERT INTO d VALUES (2, NULL, '-D', 20);
INSERT INTO d VALUES (1, 'back', '+I', 21);
ROLLBACK TO s;
INSERT INTO d VALUES (1, 'late', '+I', 19), (2, 'on', '+I', 19);
TABLE stones;
ROLLBACK;
TABLE stones;
SELECT * FROM d ORDER BY k;

-- what else happens to rows and tables
DELETE FROM d WHERE k = 1;
TABLE stones;
INSERT INTO d VALUES (1, 'plain DELETE leaves none', '+I', 1) RETURNING *;
ALTER TABLE d RENAME TO renamed;
ALTER TABLE renamed RENAME k TO key;
TABLE stones;
INSERT INTO renamed VALUES (4, 'late', '+I', 4);
VACUUM FULL renamed;
ALTER TABLE renamed ADD extra int DEFAULT random() * 0 + 1;
TABLE stones;
TRUNCATE renamed;
TABLE stones;
BEGIN;
INSERT INTO renamed VALUES (4, NULL, '-D', 4);
TRUNCATE renamed;
TABLE stones;
ROLLBACK;
INSERT INTO renamed VALUES (4, NULL, '-D', 4), (5, NULL, '-D', 5);
DROP TABLE renamed;
TABLE stones;

-- purging
CREATE TABLE p (k text, n numeric, op text, s timestamptz, t text, PRIMARY KEY (n, k)) USING merge_engine
WITH (sequence.field = 's,t', rowkind.field = 'op', tombstones, tombstones.retention = '30 days');
SET timezone = 'Asia/Tokyo';
INSERT INTO p VALUES ('x', 1.50, '-D', '2026-01-01 00:00+00', NULL), ('it''s, "quoted"', 0, '-D', '2026-01-01 00:00+00', 't');
RESET timezone;
SELECT key, sequence FROM stones;
-- equal keys and sequences, whatever they look like
INSERT INTO p VALUES ('x', 1.5, '+I', '2025-12-31 23:59:59+00', 'z');
TABLE p;
SELECT merge_engine.purge_tombstones('p');
SELECT merge_engine.purge_tombstones('p', '1 day');
UPDATE merge_engine.tombstones SET removed_at = now() - interval '31 days' WHERE key[2] = 'x';
SELECT merge_engine.purge_tombstones('p');
SELECT key FROM stones;
INSERT INTO p VALUES ('x', 1.5, '+I', '2025-12-31 23:59:59+00', 'z');
SELECT count(*) FROM p;
SELECT merge_engine.purge_tombstones('p', '0');
TABLE stones;
ALTER TABLE p RESET (tombstones.retention);
SELECT merge_engine.purge_tombstones('p');
CREATE ROLE regress_tombstones;
SET ROLE regress_tombstones;
SELECT merge_engine.purge_tombstones('p', '0');
TABLE merge_engine.tombstones;
RESET ROLE;
-- who may write to the table may leave tombstones
GRANT INSERT ON p TO regress_tombstones;
SET ROLE regress_tombstones;
INSERT INTO p VALUES ('y', 1, '-D', '2026-01-01 00:00+00', NULL);
INSERT INTO p VALUES ('y', 1, '+I', '2025-01-01 00:00+00', NULL);
RESET ROLE;
SELECT count(*) FROM stones;
DROP TABLE p;
DROP ROLE regress_tombstones;

-- partial-update and aggregation
CREATE TABLE u (k int PRIMARY KEY, a text, b text, op text, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', rowkind.field = 'op', tombstones, versions.field = 'v',
    "partial-update.remove-record-on-delete");
INSERT INTO u VALUES (1, 'a1', NULL, '+I', 1);
INSERT INTO u VALUES (1, NULL, NULL, '-D', 5);
INSERT INTO u VALUES (1, NULL, 'b4', '+I', 4);
INSERT INTO u VALUES (1, 'a6', NULL, '+I', 6);
-- the row remembers the removal now
TABLE u;
INSERT INTO u VALUES (1, NULL, 'b4', '+I', 4) RETURNING *;
TABLE stones;
-- a late delete takes what is older than itself
INSERT INTO u VALUES (1, NULL, 'b9', '+I', 9);
INSERT INTO u VALUES (1, NULL, NULL, '-D', 7);
TABLE u;
CREATE TABLE g (k int PRIMARY KEY, n int, op text, s int) USING merge_engine
WITH (merge_engine = 'aggregation', sequence.field = 's', rowkind.field = 'op', tombstones,
    "aggregation.remove-record-on-delete", "fields.n.aggregate-function" = 'sum');
INSERT INTO g VALUES (1, 5, '+I', 5), (2, 1, '+I', 1);
INSERT INTO g VALUES (1, NULL, '-D', 6);
INSERT INTO g VALUES (1, 1, '+I', 4), (1, 1, '+I', 3), (1, 10, '+I', 7), (1, 20, '+I', 2);
SELECT * FROM g ORDER BY k;
INSERT INTO g VALUES (3, NULL, '-D', 9);
INSERT INTO g VALUES (3, 1, '+I', 10), (3, 1, '+I', 8);
SELECT * FROM g WHERE k = 3;
TABLE stones;
DROP TABLE u, g;
TABLE stones;

-- partitions
CREATE TABLE parted (k int PRIMARY KEY, a text, op text, s int) PARTITION BY RANGE (k);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (10) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones);
CREATE TABLE parted2 PARTITION OF parted FOR VALUES FROM (10) TO (20) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones);
INSERT INTO parted VALUES (1, NULL, '-D', 5), (11, NULL, '-D', 5);
INSERT INTO parted VALUES (1, 'late', '+I', 4), (11, 'late', '+I', 4), (12, 'new', '+I', 4);
TABLE parted;
TABLE stones;
TRUNCATE parted1;
TABLE stones;
DROP TABLE parted;
TABLE stones;

-- a heap table with a merge trigger: a row that comes back clears the tombstone, too
CREATE TABLE h (k int PRIMARY KEY, a text, op text, s int);
CREATE TRIGGER merge BEFORE INSERT ON h FOR EACH ROW
EXECUTE FUNCTION merge_engine.merge_trigger('sequence.field=s', 'rowkind.field=op', 'tombstones=true');
INSERT INTO h VALUES (1, NULL, '-D', 5), (2, 'b', '+I', 1);
INSERT INTO h VALUES (1, 'late', '+I', 4), (2, NULL, '-D', 3);
TABLE h;
TABLE stones;
INSERT INTO h VALUES (1, 'new', '+I', 6);
TABLE h;
TABLE stones;
DROP TABLE h;
TABLE stones;

-- a temporary table's go with it, also where nobody drops it
CREATE TEMP TABLE brief (k int PRIMARY KEY, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones);
INSERT INTO brief VALUES (1, '-D', 5);
TABLE stones;
DISCARD TEMP;
TABLE stones;
BEGIN;
CREATE TEMP TABLE brief (k int PRIMARY KEY, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones) ON COMMIT DROP;
INSERT INTO brief VALUES (1, '-D', 5);
TABLE stones;
COMMIT;
TABLE stones;

-- refused
CREATE TABLE bad (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (rowkind.field = 'op', tombstones);
CREATE TABLE bad (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', tombstones);
CREATE TABLE bad (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', rowkind.field = 'op', tombstones);
CREATE TABLE bad (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones, ignore_delete);
CREATE TABLE bad (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones.retention = '1 day');
CREATE TABLE bad (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones, tombstones.retention = 'soon');
CREATE TABLE bad (k int PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones, tombstones.retention = '-1 day');
CREATE TABLE bad (k interval PRIMARY KEY, a text, op text, s int) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones);
DROP VIEW stones;
