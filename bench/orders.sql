-- The orders that most scenarios store and change, as a view: :keys rows of about
-- 110 bytes, all columns set, in key order, version 10. Made once for all.
CREATE SCHEMA IF NOT EXISTS stock;
SELECT to_regclass('stock.orders_' || :keys) IS NULL AS missing \gset
\if :missing
CREATE TABLE stock.orders_:keys AS
SELECT id,
	(ARRAY['CREATED', 'PAID', 'PICKED', 'SHIPPED', 'DELIVERED'])[1 + id % 5] AS status,
	(id * 7919 % 50000)::int AS customer,
	((id * 31 % 1000000)::numeric / 100)::numeric(18,2) AS amount,
	'TRK' || lpad((id * 104729 % 1000000000)::text, 12, '0') AS tracking_no,
	(id % 300) || ' Long Street, 10' || (100 + id % 900) || ' Somewhere' AS address,
	timestamptz '2026-01-01 00:00+00' + (id % 1000000) * interval '1 second' AS updated_at,
	10::bigint AS version
FROM generate_series(1::bigint, :keys) id;
VACUUM ANALYZE stock.orders_:keys;
\endif
CREATE VIEW orders AS SELECT * FROM stock.orders_:keys;
