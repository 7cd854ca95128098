-- S7: 100 rows a statement, 2 clients, overlapping keys in random order
-- target: 1.5
-- target deadlocks: 0
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- set keys = rows / 100 + 1000
-- set rows = rows
-- set clients = 2
-- set synchronous_commit = off
-- pgbench: 100
--
-- The keys of a statement are scattered, and come in one order or its opposite.
-- The rivals sort them: they would deadlock otherwise. As in S6, commits do not
-- wait for the disk, and the UPDATE only changes rows that are there.

--- input
\i :bench/orders.sql

--- table
\i :bench/table.sql
ALTER TABLE t SET (fillfactor = 90);

--- before
\i :bench/refill.sql

--- ours merge_engine
\set first random(1, :keys)
\set direction random(0, 1) * 2 - 1
\set n :n + 1
\set version 10 + :n * 2 + :client_id
INSERT INTO t (id, status, amount, version)
SELECT 1 + ((:first + :direction * i * 7919) % :keys + :keys) % :keys AS id, :version::text AS status,
	:n::numeric(18,2) AS amount, :version::bigint AS version
FROM generate_series(1, 100) i;

--- rival ON CONFLICT, sorted
\set first random(1, :keys)
\set direction random(0, 1) * 2 - 1
\set n :n + 1
\set version 10 + :n * 2 + :client_id
INSERT INTO t (id, status, amount, version)
SELECT 1 + ((:first + :direction * i * 7919) % :keys + :keys) % :keys AS id, :version::text AS status,
	:n::numeric(18,2) AS amount, :version::bigint AS version
FROM generate_series(1, 100) i
ORDER BY 1
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), amount = coalesce(EXCLUDED.amount, t.amount),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;

--- rival MERGE, sorted
\set first random(1, :keys)
\set direction random(0, 1) * 2 - 1
\set n :n + 1
\set version 10 + :n * 2 + :client_id
MERGE INTO t USING (
SELECT 1 + ((:first + :direction * i * 7919) % :keys + :keys) % :keys AS id, :version::text AS status,
	:n::numeric(18,2) AS amount, :version::bigint AS version
FROM generate_series(1, 100) i ORDER BY 1) s
ON t.id = s.id
WHEN MATCHED AND t.version < s.version THEN UPDATE SET
	status = coalesce(s.status, t.status), amount = coalesce(s.amount, t.amount), version = s.version
WHEN NOT MATCHED THEN INSERT (id, status, amount, version) VALUES (s.id, s.status, s.amount, s.version);

--- table BEFORE INSERT trigger
CREATE FUNCTION upsert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE t SET
		status = coalesce(NEW.status, status), amount = coalesce(NEW.amount, amount), version = NEW.version
	WHERE id = NEW.id AND version < NEW.version;
	IF FOUND OR EXISTS (SELECT FROM t WHERE id = NEW.id) THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER upsert BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION upsert();

--- rival BEFORE INSERT trigger
\set first random(1, :keys)
\set direction random(0, 1) * 2 - 1
\set n :n + 1
\set version 10 + :n * 2 + :client_id
INSERT INTO t (id, status, amount, version)
SELECT 1 + ((:first + :direction * i * 7919) % :keys + :keys) % :keys AS id, :version::text AS status,
	:n::numeric(18,2) AS amount, :version::bigint AS version
FROM generate_series(1, 100) i
ORDER BY 1;

--- reference UPDATE, sorted
\set first random(1, :keys)
\set direction random(0, 1) * 2 - 1
\set n :n + 1
\set version 10 + :n * 2 + :client_id
UPDATE t SET
	status = coalesce(s.status, t.status), amount = coalesce(s.amount, t.amount), version = s.version
FROM (
SELECT 1 + ((:first + :direction * i * 7919) % :keys + :keys) % :keys AS id, :version::text AS status,
	:n::numeric(18,2) AS amount, :version::bigint AS version
FROM generate_series(1, 100) i ORDER BY 1) s
WHERE t.id = s.id AND t.version < s.version;
