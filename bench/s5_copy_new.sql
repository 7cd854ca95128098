-- S5: COPY from a file
-- variant new keys:
-- target: 2.0
-- target against plain COPY: 1.0
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- set keys = rows
--
-- S1 by COPY. The staging table is unlogged, and empty when the clock starts.

--- input
\i :bench/orders.sql
COPY (SELECT * FROM orders ORDER BY hashint8(id)) TO :'file';

--- before
TRUNCATE t;

--- table
\i :bench/table.sql
CREATE UNLOGGED TABLE stage (LIKE t);

--- ours merge_engine
COPY t FROM :'file';

--- rival staging, ON CONFLICT
TRUNCATE stage;
COPY stage FROM :'file';
INSERT INTO t SELECT * FROM stage
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), customer = coalesce(EXCLUDED.customer, t.customer),
	amount = coalesce(EXCLUDED.amount, t.amount), tracking_no = coalesce(EXCLUDED.tracking_no, t.tracking_no),
	address = coalesce(EXCLUDED.address, t.address), updated_at = coalesce(EXCLUDED.updated_at, t.updated_at),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;

--- rival staging, ON CONFLICT, sorted
TRUNCATE stage;
COPY stage FROM :'file';
INSERT INTO t SELECT * FROM stage ORDER BY id
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), customer = coalesce(EXCLUDED.customer, t.customer),
	amount = coalesce(EXCLUDED.amount, t.amount), tracking_no = coalesce(EXCLUDED.tracking_no, t.tracking_no),
	address = coalesce(EXCLUDED.address, t.address), updated_at = coalesce(EXCLUDED.updated_at, t.updated_at),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;

--- rival staging, MERGE
TRUNCATE stage;
COPY stage FROM :'file';
ANALYZE stage;
MERGE INTO t USING stage s ON t.id = s.id
WHEN MATCHED AND t.version < s.version THEN UPDATE SET
	status = coalesce(s.status, t.status), customer = coalesce(s.customer, t.customer),
	amount = coalesce(s.amount, t.amount), tracking_no = coalesce(s.tracking_no, t.tracking_no),
	address = coalesce(s.address, t.address), updated_at = coalesce(s.updated_at, t.updated_at),
	version = s.version
WHEN NOT MATCHED THEN INSERT
	VALUES (s.id, s.status, s.customer, s.amount, s.tracking_no, s.address, s.updated_at, s.version);

--- rival staging, aggregated upsert
TRUNCATE stage;
COPY stage FROM :'file';
INSERT INTO t
SELECT id,
	(array_agg(status ORDER BY version DESC) FILTER (WHERE status IS NOT NULL))[1],
	(array_agg(customer ORDER BY version DESC) FILTER (WHERE customer IS NOT NULL))[1],
	(array_agg(amount ORDER BY version DESC) FILTER (WHERE amount IS NOT NULL))[1],
	(array_agg(tracking_no ORDER BY version DESC) FILTER (WHERE tracking_no IS NOT NULL))[1],
	(array_agg(address ORDER BY version DESC) FILTER (WHERE address IS NOT NULL))[1],
	(array_agg(updated_at ORDER BY version DESC) FILTER (WHERE updated_at IS NOT NULL))[1],
	max(version)
FROM stage GROUP BY id
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), customer = coalesce(EXCLUDED.customer, t.customer),
	amount = coalesce(EXCLUDED.amount, t.amount), tracking_no = coalesce(EXCLUDED.tracking_no, t.tracking_no),
	address = coalesce(EXCLUDED.address, t.address), updated_at = coalesce(EXCLUDED.updated_at, t.updated_at),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;

--- table BEFORE INSERT trigger
\i :bench/trigger.sql

--- rival BEFORE INSERT trigger
COPY t FROM :'file';

--- reference plain COPY
COPY t FROM :'file';
