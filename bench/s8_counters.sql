-- S8: counters, 1,000 hot keys, 2 clients, one row a statement
-- target: 1.2
-- using: USING merge_engine WITH (merge_engine = 'aggregation', fields.default_aggregate_function = 'sum')
-- set keys = 1000
-- set rows = rows / 8
-- set clients = 2
-- set synchronous_commit = off
-- rounds: 9
-- pgbench: 1
--
-- Every statement is a transaction of its own, and does not wait for the disk. The
-- UPDATE only changes rows that are there.

--- table
CREATE TABLE t (id int PRIMARY KEY, hits bigint, amount bigint) :using;
ALTER TABLE t SET (fillfactor = 50);

--- before
TRUNCATE t;
ALTER TABLE t DISABLE TRIGGER USER;
INSERT INTO t SELECT id, 0, 0 FROM generate_series(1, :keys) id;
ALTER TABLE t ENABLE TRIGGER USER;
VACUUM ANALYZE t;

--- ours merge_engine
\set id random(1, :keys)
\set amount random(1, 1000)
INSERT INTO t VALUES (:id, 1, :amount);

--- rival ON CONFLICT
\set id random(1, :keys)
\set amount random(1, 1000)
INSERT INTO t VALUES (:id, 1, :amount)
ON CONFLICT (id) DO UPDATE SET hits = t.hits + EXCLUDED.hits, amount = t.amount + EXCLUDED.amount;

--- rival MERGE
\set id random(1, :keys)
\set amount random(1, 1000)
MERGE INTO t USING (VALUES (:id::int, 1::bigint, :amount::bigint)) s (id, hits, amount) ON t.id = s.id
WHEN MATCHED THEN UPDATE SET hits = t.hits + s.hits, amount = t.amount + s.amount
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.hits, s.amount);

--- table BEFORE INSERT trigger
CREATE FUNCTION upsert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE t SET hits = hits + NEW.hits, amount = amount + NEW.amount WHERE id = NEW.id;
	IF FOUND THEN
		RETURN NULL;
	END IF;
	RETURN NEW;
END $$;
CREATE TRIGGER upsert BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION upsert();

--- rival BEFORE INSERT trigger
\set id random(1, :keys)
\set amount random(1, 1000)
INSERT INTO t VALUES (:id, 1, :amount);

--- reference UPDATE by key
\set id random(1, :keys)
\set amount random(1, 1000)
UPDATE t SET hits = hits + 1, amount = amount + :amount WHERE id = :id;
