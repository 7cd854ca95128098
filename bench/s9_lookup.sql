-- S9: reads
-- variant primary key look-up:
-- target against heap: 1.00 ± 0.03
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- set keys = rows
-- set rows = rows / 10
-- rounds: 15
--
-- A nested loop looks up a tenth of the keys, in random order.

--- input
\i :bench/orders.sql
CREATE TABLE s AS SELECT id FROM orders WHERE id % 10 = 0 ORDER BY hashint8(id);
VACUUM ANALYZE s;

--- table
\i :bench/table.sql
\i :bench/refill.sql

--- before
SET max_parallel_workers_per_gather = 0;
SET enable_hashjoin = off;
SET enable_mergejoin = off;

--- ours merge_engine
SELECT count(t.status) FROM s JOIN t USING (id);

--- reference heap
SELECT count(t.status) FROM s JOIN t USING (id);
