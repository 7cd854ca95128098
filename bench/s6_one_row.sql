-- S6: one row a statement, prepared, existing keys
-- variant 1 client: clients = 1
-- variant 2 clients, synchronous: clients = 2, synchronous_commit = on, rows = rows / 50
-- variant 2 clients: clients = 2, rows = rows * 3
-- target: 1.25
-- target WAL against ON CONFLICT: 0.6
-- target growth against ON CONFLICT: 0.6
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- set keys = rows / 10
-- set rows = rows / 20
-- set synchronous_commit = off
-- rounds: 9
-- pgbench: 1
--
-- Every statement is a transaction of its own. Its commit does not wait for the
-- disk, which would hide what the statement itself takes; one variant shows that.
-- Versions rise; with two clients a few rows come late. The UPDATE, which only
-- changes rows that are there, is what PostgreSQL takes for that.

--- input
\i :bench/orders.sql

--- table
\i :bench/table.sql
ALTER TABLE t SET (fillfactor = 90);

--- before
\i :bench/refill.sql

--- ours merge_engine
\set id random(1, :keys)
\set n :n + 1
\set version 10 + :n * 2 + :client_id
INSERT INTO t (id, status, amount, version) VALUES (:id, :version, :n, :version);

--- rival ON CONFLICT
\set id random(1, :keys)
\set n :n + 1
\set version 10 + :n * 2 + :client_id
INSERT INTO t (id, status, amount, version) VALUES (:id, :version, :n, :version)
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), amount = coalesce(EXCLUDED.amount, t.amount),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;

--- rival MERGE
\set id random(1, :keys)
\set n :n + 1
\set version 10 + :n * 2 + :client_id
MERGE INTO t
USING (VALUES (:id::bigint, :version::text, :n::numeric(18,2), :version::bigint)) s (id, status, amount, version)
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
\set id random(1, :keys)
\set n :n + 1
\set version 10 + :n * 2 + :client_id
INSERT INTO t (id, status, amount, version) VALUES (:id, :version, :n, :version);

--- reference UPDATE by key
\set id random(1, :keys)
\set n :n + 1
\set version 10 + :n * 2 + :client_id
UPDATE t SET
	status = coalesce(:version::text, status), amount = coalesce(:n::numeric(18,2), amount), version = :version
WHERE id = :id AND version < :version;
