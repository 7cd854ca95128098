-- S13: what counting for merge_engine.stats costs, one row a statement
-- target cost against off: 1.02
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- session off: merge_engine.track_stats = off
-- set keys = rows / 100
-- set rows = rows / 25
-- set synchronous_commit = off
-- rounds: 15
-- pgbench: 1
--
-- The statement of S6, with one client. The counters are written when the transaction commits.

--- input
\i :bench/orders.sql

--- table
\i :bench/table.sql
ALTER TABLE t SET (fillfactor = 90);

--- before
\i :bench/refill.sql

--- ours on
\set id random(1, :keys)
\set n :n + 1
\set version 10 + :n * 2 + :client_id
INSERT INTO t (id, status, amount, version) VALUES (:id, :version, :n, :version);

--- baseline off
\set id random(1, :keys)
\set n :n + 1
\set version 10 + :n * 2 + :client_id
INSERT INTO t (id, status, amount, version) VALUES (:id, :version, :n, :version);
