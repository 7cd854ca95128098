-- S12: what a versions column costs, partial rows for existing keys
-- target cost against without: 1.3
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version', versions.field = 'v')
-- compare: id, status, customer, amount, tracking_no, address, updated_at, version
-- set rows = rows / 5
-- set keys = rows
--
-- The statement of S2: every row leaves some columns out, whose versions must be kept then.

--- input
\i :bench/orders.sql
CREATE TABLE s AS
SELECT id, CASE WHEN id % 4 <> 3 THEN 'RETURNED' END AS status, NULL::int AS customer,
	CASE WHEN id % 2 = 0 THEN amount + 1 END AS amount,
	CASE WHEN id % 3 = 0 THEN 'NEW' || tracking_no END AS tracking_no, NULL::text AS address,
	updated_at + interval '1 day' AS updated_at, version + 1 AS version
FROM orders ORDER BY hashint8(id);
VACUUM ANALYZE s;

--- before
\i :bench/refill.sql

--- table
--- table versions column
CREATE TABLE t (
	id bigint PRIMARY KEY, status text, customer int, amount numeric(18,2),
	tracking_no text, address text, updated_at timestamptz, version bigint, v merge_engine.versions
) :using;

--- ours versions column
INSERT INTO t SELECT * FROM s;

--- table without
\set using 'USING merge_engine WITH (merge_engine = ''partial-update'', sequence.field = ''version'')'
\i :bench/table.sql

--- baseline without
INSERT INTO t SELECT * FROM s;
