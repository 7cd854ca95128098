-- One order's history, four contracts: one table for each merge engine.
--
-- The messages arrive out of order: created (version 1), paid with a changed
-- amount (3), a tracking number (4), and last a cancellation that is older than
-- the payment (2).

CREATE SCHEMA demo_order;
SET search_path = demo_order, public;

\echo
\echo '(a) One order, four tables'
\echo

CREATE TABLE order_latest (
	order_id bigint PRIMARY KEY, status text, amount numeric(18,2), tracking_no text, version bigint
) USING merge_engine WITH (merge_engine = 'deduplicate', sequence.field = 'version');

\copy order_latest FROM 'test/data/order_states.csv' CSV HEADER
\echo 'deduplicate: each message is the whole order. The highest version is the row;'
\echo 'the late cancellation (version 2) changes nothing.'
SELECT * FROM order_latest;

CREATE TABLE order_wide (
	order_id bigint PRIMARY KEY, status text, amount numeric(18,2), tracking_no text, version bigint
) USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version');

\copy order_wide FROM 'test/data/order_patches.csv' CSV HEADER
\echo 'partial-update: a message brings what changed, and NULL means "not said".'
\echo 'The tracking number came alone; status and amount stayed.'
SELECT * FROM order_wide;

CREATE TABLE order_total (
	order_id bigint PRIMARY KEY, amount numeric(18,2), version bigint
) USING merge_engine WITH (
	merge_engine = 'aggregation',
	"fields.amount.aggregate-function" = 'sum', "fields.version.aggregate-function" = 'max');

\copy order_total FROM 'test/data/order_deltas.csv' CSV HEADER
\echo 'aggregation: a message is a difference (+100, -20, 0, 0). Order does not matter.'
SELECT * FROM order_total;

CREATE TABLE order_first (
	order_id bigint PRIMARY KEY, status text, amount numeric(18,2), version bigint
) USING merge_engine WITH (merge_engine = 'first-row');

\copy order_first FROM 'test/data/order_events.csv' CSV HEADER
\echo 'first-row: the first message to arrive is the row, for good.'
SELECT * FROM order_first;

\o /dev/null
SELECT pg_temp.expect('order_latest', pg_temp.rows('order_latest'), '1001|PAID|80.00|SF001|4');
SELECT pg_temp.expect('order_wide', pg_temp.rows('order_wide'), '1001|PAID|80.00|SF001|4');
SELECT pg_temp.expect('order_total', pg_temp.rows('order_total'), '1001|80.00|4');
SELECT pg_temp.expect('order_first', pg_temp.rows('order_first'), '1001|CREATED|100.00|1');
\o
\echo 'All four are as they should be.'
