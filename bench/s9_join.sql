-- S9: reads
-- variant join:
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
SET enable_nestloop = off;
SET enable_mergejoin = off;

--- ours merge_engine
SELECT count(t.status), sum(u.customer) FROM t JOIN t u ON u.id = t.id + 1;

--- reference heap
SELECT count(t.status), sum(u.customer) FROM t JOIN t u ON u.id = t.id + 1;
