-- S4: late and repeated rows that change nothing
-- target: 4.0
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- set keys = rows
--
-- Half of the rows are of an older version than the stored ones, the others are
-- repeated as they are. Every column is set in the table, so a late row fills nothing.

--- input
\i :bench/orders.sql
CREATE TABLE s AS
SELECT id, status, customer, CASE WHEN id % 2 = 0 THEN amount ELSE amount + 1 END AS amount, tracking_no, address,
	updated_at, CASE WHEN id % 2 = 0 THEN version ELSE version - 1 END AS version
FROM orders ORDER BY hashint8(id);
VACUUM ANALYZE s;

--- before
VACUUM t;

--- table
\i :bench/table.sql
\i :bench/refill.sql

--- ours merge_engine
INSERT INTO t SELECT * FROM s;

--- rival ON CONFLICT
INSERT INTO t SELECT * FROM s
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), customer = coalesce(EXCLUDED.customer, t.customer),
	amount = coalesce(EXCLUDED.amount, t.amount), tracking_no = coalesce(EXCLUDED.tracking_no, t.tracking_no),
	address = coalesce(EXCLUDED.address, t.address), updated_at = coalesce(EXCLUDED.updated_at, t.updated_at),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;

--- rival ON CONFLICT, sorted
INSERT INTO t SELECT * FROM s ORDER BY id
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), customer = coalesce(EXCLUDED.customer, t.customer),
	amount = coalesce(EXCLUDED.amount, t.amount), tracking_no = coalesce(EXCLUDED.tracking_no, t.tracking_no),
	address = coalesce(EXCLUDED.address, t.address), updated_at = coalesce(EXCLUDED.updated_at, t.updated_at),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;

--- rival MERGE
MERGE INTO t USING s ON t.id = s.id
WHEN MATCHED AND t.version < s.version THEN UPDATE SET
	status = coalesce(s.status, t.status), customer = coalesce(s.customer, t.customer),
	amount = coalesce(s.amount, t.amount), tracking_no = coalesce(s.tracking_no, t.tracking_no),
	address = coalesce(s.address, t.address), updated_at = coalesce(s.updated_at, t.updated_at),
	version = s.version
WHEN NOT MATCHED THEN INSERT
	VALUES (s.id, s.status, s.customer, s.amount, s.tracking_no, s.address, s.updated_at, s.version);

--- rival aggregated upsert
INSERT INTO t
SELECT id,
	(array_agg(status ORDER BY version DESC) FILTER (WHERE status IS NOT NULL))[1],
	(array_agg(customer ORDER BY version DESC) FILTER (WHERE customer IS NOT NULL))[1],
	(array_agg(amount ORDER BY version DESC) FILTER (WHERE amount IS NOT NULL))[1],
	(array_agg(tracking_no ORDER BY version DESC) FILTER (WHERE tracking_no IS NOT NULL))[1],
	(array_agg(address ORDER BY version DESC) FILTER (WHERE address IS NOT NULL))[1],
	(array_agg(updated_at ORDER BY version DESC) FILTER (WHERE updated_at IS NOT NULL))[1],
	max(version)
FROM s GROUP BY id
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), customer = coalesce(EXCLUDED.customer, t.customer),
	amount = coalesce(EXCLUDED.amount, t.amount), tracking_no = coalesce(EXCLUDED.tracking_no, t.tracking_no),
	address = coalesce(EXCLUDED.address, t.address), updated_at = coalesce(EXCLUDED.updated_at, t.updated_at),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;

--- table BEFORE INSERT trigger
\i :bench/trigger.sql

--- rival BEFORE INSERT trigger
INSERT INTO t SELECT * FROM s;
