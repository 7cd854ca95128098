-- usage: psql -v lines=1000000 -f bench/projections.sql
--
-- What a refresh costs when 0.1, 1 and 10 percent of the lines have changed, against a full rebuild of the same
-- projection and REFRESH MATERIALIZED VIEW CONCURRENTLY of the same view.  Prints a table of seconds and ratios.
\set QUIET on
\set ON_ERROR_STOP on
\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS merge_engine;
CREATE SCHEMA bench_projections;
SET search_path = bench_projections;

CREATE SEQUENCE change_seq;
CREATE TABLE sales_order (order_id bigint PRIMARY KEY, customer text NOT NULL, status text NOT NULL,
    updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE TABLE product (sku text PRIMARY KEY, category text NOT NULL, updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE TABLE order_line (order_id bigint, line_no integer, sku text NOT NULL, quantity integer NOT NULL, price numeric(12, 2) NOT NULL,
    is_deleted boolean NOT NULL DEFAULT false, updated_seq bigint NOT NULL DEFAULT nextval('change_seq'), PRIMARY KEY (order_id, line_no));
INSERT INTO product SELECT 'sku' || i, 'category' || i % 50 FROM generate_series(1, 10000) i;
INSERT INTO sales_order SELECT i, 'customer' || i % 20000, 'paid' FROM generate_series(1, :lines / 4) i;
INSERT INTO order_line SELECT 1 + i / 4, 1 + i % 4, 'sku' || 1 + i * 7919 % 10000, 1 + i % 9, 1 + i % 100
FROM generate_series(0, :lines - 1::bigint) i;
-- the indexes that docs/projections.md names
CREATE INDEX ON sales_order (updated_seq);
CREATE INDEX ON product (updated_seq);
CREATE INDEX ON order_line (updated_seq);
CREATE INDEX ON order_line (sku);
CREATE VIEW order_amount AS
SELECT o.order_id, l.line_no, o.customer, l.sku, p.category, l.quantity, l.quantity * l.price AS amount,
       o.updated_seq AS order_seq, l.updated_seq AS line_seq, p.updated_seq AS product_seq
FROM sales_order o
JOIN order_line l ON l.order_id = o.order_id
JOIN product p ON p.sku = l.sku
WHERE o.status <> 'cancelled' AND NOT l.is_deleted;
CREATE MATERIALIZED VIEW order_amount_mv AS TABLE order_amount;
CREATE UNIQUE INDEX ON order_amount_mv (order_id, line_no);
SELECT merge_engine.create_projection('p_merge', 'order_amount', 'merge', '{order_seq,line_seq,product_seq}', unique_key => '{order_id,line_no}') \g /dev/null
SELECT merge_engine.create_projection('p_delete_insert', 'order_amount', 'delete_insert', '{order_seq,line_seq,product_seq}', replace_key => '{order_id}') \g /dev/null
CREATE INDEX ON p_delete_insert (order_id);
VACUUM ANALYZE sales_order, product, order_line, order_amount_mv;

CREATE TABLE measured (changed numeric, what text, seconds numeric);

-- Run a statement and keep its time.
CREATE PROCEDURE measure(changed numeric, what text, statement text) LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz := clock_timestamp();
BEGIN
    EXECUTE statement;
    INSERT INTO bench_projections.measured VALUES (changed, what, extract(epoch FROM clock_timestamp() - started));
END $$;

CALL measure(100, 'merge', $$SELECT merge_engine.refresh_projection('p_merge')$$);
CALL measure(100, 'delete_insert', $$SELECT merge_engine.refresh_projection('p_delete_insert')$$);
VACUUM ANALYZE p_merge, p_delete_insert;

-- Change this percentage of the lines, spread over the table, and refresh everything.
CREATE PROCEDURE change_and_refresh(percent numeric) LANGUAGE plpgsql AS $$
BEGIN
    UPDATE order_line SET quantity = quantity % 9 + 1, updated_seq = nextval('change_seq')
    WHERE (order_id * 4 + line_no) * 7919 % 1000 < percent * 10;
    COMMIT;
    CALL measure(percent, 'merge', $m$SELECT merge_engine.refresh_projection('p_merge')$m$);
    COMMIT;
    CALL measure(percent, 'delete_insert', $m$SELECT merge_engine.refresh_projection('p_delete_insert')$m$);
    COMMIT;
    CALL measure(percent, 'REFRESH MATERIALIZED VIEW CONCURRENTLY', $m$REFRESH MATERIALIZED VIEW CONCURRENTLY order_amount_mv$m$);
    COMMIT;
END $$;
CALL change_and_refresh(0.1);
VACUUM p_merge, p_delete_insert, order_amount_mv, order_line;
CALL change_and_refresh(0.1);
VACUUM p_merge, p_delete_insert, order_amount_mv, order_line;
CALL change_and_refresh(0.1);
VACUUM p_merge, p_delete_insert, order_amount_mv, order_line;
CALL change_and_refresh(1);
VACUUM p_merge, p_delete_insert, order_amount_mv, order_line;
CALL change_and_refresh(1);
VACUUM p_merge, p_delete_insert, order_amount_mv, order_line;
CALL change_and_refresh(10);
VACUUM p_merge, p_delete_insert, order_amount_mv, order_line;
CALL measure(100, 'merge, full_rebuild', $$SELECT merge_engine.refresh_projection('p_merge', full_rebuild => true)$$);
CALL measure(100, 'delete_insert, full_rebuild', $$SELECT merge_engine.refresh_projection('p_delete_insert', full_rebuild => true)$$);

-- the fastest of each kind
\echo 'projections over' :lines 'lines: seconds of a refresh, and how many times faster than the others'
WITH best AS (SELECT changed, what, min(seconds) AS seconds FROM measured GROUP BY 1, 2)
SELECT b.changed || ' %' AS changed, b.what AS mode, round(b.seconds, 3) AS seconds, round(r.seconds, 3) AS full_rebuild,
       round(m.seconds, 3) AS matview_concurrently, round(r.seconds / b.seconds, 1) AS times_full_rebuild,
       round(m.seconds / b.seconds, 1) AS times_matview
FROM best b
JOIN best r ON r.what = b.what || ', full_rebuild'
JOIN best m ON m.what LIKE 'REFRESH%' AND m.changed = b.changed
WHERE b.what IN ('merge', 'delete_insert')
ORDER BY b.what, b.changed;
SELECT p.what, count(*) FILTER (WHERE c.problem IS NOT NULL) AS problems
FROM unnest('{p_merge,p_delete_insert}'::regclass[]) p(what) LEFT JOIN LATERAL merge_engine.check_projection(p.what) c ON true GROUP BY 1;
DROP SCHEMA bench_projections CASCADE;
