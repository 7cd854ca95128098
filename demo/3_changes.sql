-- A change feed with the four row kinds: +I and +U add a row, -U and -D take
-- the row as it was away.

CREATE SCHEMA demo_changes;
SET search_path = demo_changes, public;

\echo
\echo '(c) One change feed, two tables'
\echo

-- The feed itself, as it came.
CREATE TABLE feed (line int GENERATED ALWAYS AS IDENTITY, kind text, order_id int, customer text, amount numeric(18,2));
\copy feed (kind, order_id, customer, amount) FROM 'test/data/order_changes.csv' CSV HEADER
\echo 'The feed: +I insert, -U and +U an update''s row before and after, -D delete.'
SELECT kind, order_id, customer, amount FROM feed ORDER BY line;

CREATE TABLE orders (
	kind text, order_id int PRIMARY KEY, customer text, amount numeric(18,2)
) USING merge_engine WITH (merge_engine = 'deduplicate', rowkind.field = 'kind');

\copy orders FROM 'test/data/order_changes.csv' CSV HEADER
\echo 'deduplicate follows the source: order 2 is gone, order 5 was deleted and came again.'
SELECT order_id, customer, amount FROM orders ORDER BY order_id;

CREATE TABLE customer_total (
	kind text, customer text PRIMARY KEY, orders int, amount numeric(18,2)
) USING merge_engine WITH (
	merge_engine = 'aggregation', rowkind.field = 'kind',
	"fields.orders.aggregate-function" = 'sum', "fields.amount.aggregate-function" = 'sum');

INSERT INTO customer_total SELECT kind, customer, 1, amount FROM feed ORDER BY line;
\echo 'aggregation keeps sums right through updates and deletes: order 3 moved from'
\echo 'ada to zoë, and both totals followed.'
SELECT customer, orders, amount FROM customer_total ORDER BY customer;

\o /dev/null
SELECT pg_temp.expect('orders', pg_temp.rows('(SELECT order_id, customer, amount FROM orders)'),
	E'1|ada|55.00\n3|zoë|10.00\n4|zoë|99.90\n5|sean|25.00');
SELECT pg_temp.expect('customer_total', pg_temp.rows('(SELECT customer, orders, amount FROM customer_total)'),
	pg_temp.rows('(SELECT customer, count(*), sum(amount) FROM orders GROUP BY customer)'));
\o
\echo 'GROUP BY over the first table gives the second.'
