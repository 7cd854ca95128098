-- S9: reads
-- variant sequential scan:
-- target against heap: 1.00 ± 0.03
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- set keys = rows
-- rounds: 15


--- input
\i :bench/orders.sql
CREATE TABLE s AS SELECT id FROM orders WHERE id % 10 = 0 ORDER BY hashint8(id);
VACUUM ANALYZE s;

--- table
\i :bench/table.sql
\i :bench/refill.sql

--- before
SET max_parallel_workers_per_gather = 0;


--- ours merge_engine
SELECT count(status), sum(customer) FROM t;

--- reference heap
SELECT count(status), sum(customer) FROM t;
