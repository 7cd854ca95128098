-- S3: many rows on few keys
-- variant patches:
-- target against staging + aggregated upsert: 1.5
-- target against row by row: 5
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- set keys = rows / 100
--
-- 100 partial rows of each key in random order, later versions first or last as
-- it happens; half of the keys are stored already. Row by row is only right in
-- the order of the versions, so that rival sorts first.

--- input
\i :bench/orders.sql
CREATE OR REPLACE VIEW orders AS SELECT * FROM stock.orders_:keys WHERE id <= :keys / 2;
CREATE TABLE s AS
SELECT 1 + i % :keys AS id, CASE i % 3 WHEN 0 THEN 'S' || i END AS status, (i % 1000)::int AS customer,
	CASE WHEN i % 4 <> 1 THEN (i % 5000)::numeric(18,2) END AS amount, CASE i % 7 WHEN 0 THEN 'T' || i END AS tracking_no,
	CASE i % 11 WHEN 0 THEN i || ' Long Street' END AS address,
	timestamptz '2026-02-01 00:00+00' + i * interval '1 second' AS updated_at, 10 + i AS version
FROM generate_series(1::bigint, :rows) i ORDER BY hashint8(i);
VACUUM ANALYZE s;

--- table
\i :bench/table.sql

--- before
\i :bench/refill.sql

--- ours merge_engine
INSERT INTO t SELECT * FROM s;

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

--- rival staging + aggregated upsert
CREATE TEMP TABLE stage (LIKE s);
INSERT INTO stage SELECT * FROM s;
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
DROP TABLE stage;

--- rival row by row
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT * FROM s ORDER BY version LOOP
		INSERT INTO t
		VALUES (r.id, r.status, r.customer, r.amount, r.tracking_no, r.address, r.updated_at, r.version)
		ON CONFLICT (id) DO UPDATE SET
			status = coalesce(EXCLUDED.status, t.status), customer = coalesce(EXCLUDED.customer, t.customer),
			amount = coalesce(EXCLUDED.amount, t.amount), tracking_no = coalesce(EXCLUDED.tracking_no, t.tracking_no),
			address = coalesce(EXCLUDED.address, t.address), updated_at = coalesce(EXCLUDED.updated_at, t.updated_at),
			version = EXCLUDED.version
		WHERE t.version < EXCLUDED.version;
	END LOOP;
END $$;
