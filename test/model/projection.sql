-- Tables, views, projections and random changes for test/check_projection.
--
-- Every view has NULLs, joins that get lost and filters that come and go.  The changes obey
-- what docs/projections.md asks for: every change takes a new number, rows are deleted
-- logically, and a row's replace and join keys stay.
CREATE EXTENSION merge_engine;
SET client_min_messages = warning;

CREATE SEQUENCE change_seq;
CREATE TABLE sales_order (
    order_id bigint PRIMARY KEY, customer text, status text NOT NULL,
    updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE TABLE product (
    sku text PRIMARY KEY, category text, is_listed boolean NOT NULL DEFAULT true,
    updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE TABLE order_line (
    order_id bigint, line_no integer NOT NULL, sku text, quantity integer, price numeric(12, 2),
    is_deleted boolean NOT NULL DEFAULT false, line_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE INDEX ON sales_order (updated_seq);
CREATE INDEX ON product (updated_seq);
CREATE INDEX ON order_line (updated_seq);
CREATE INDEX ON order_line (order_id);
CREATE INDEX ON order_line (sku);

-- inner joins, filters over each table
CREATE VIEW wide AS
SELECT o.order_id, l.line_no, l.line_id, o.customer, l.sku, p.category, l.quantity,
       l.quantity * l.price AS amount,
       o.updated_seq AS order_seq, l.updated_seq AS line_seq, p.updated_seq AS product_seq
FROM sales_order o
JOIN order_line l ON l.order_id = o.order_id
JOIN product p ON p.sku = l.sku
WHERE o.status <> 'cancelled' AND NOT l.is_deleted AND p.is_listed AND l.quantity > 0;

-- lines that have lost their order or product stay, with NULLs
CREATE VIEW lines AS
SELECT l.line_id, l.order_id, l.sku, o.status, p.category, l.quantity,
       o.updated_seq AS order_seq, l.updated_seq AS line_seq, p.updated_seq AS product_seq
FROM order_line l
LEFT JOIN sales_order o ON o.order_id = l.order_id AND o.status <> 'cancelled'
LEFT JOIN product p ON p.sku = l.sku AND p.is_listed
WHERE NOT l.is_deleted;

-- aggregated, with a HAVING clause
CREATE VIEW totals AS
SELECT o.order_id, o.customer, count(*) AS n, sum(l.quantity * l.price) AS amount,
       string_agg(p.category, ',' ORDER BY l.line_id) AS categories,
       max(o.updated_seq) AS order_seq, max(l.updated_seq) AS line_seq, max(p.updated_seq) AS product_seq
FROM sales_order o
JOIN order_line l ON l.order_id = o.order_id
JOIN product p ON p.sku = l.sku
WHERE o.status <> 'cancelled' AND NOT l.is_deleted
GROUP BY o.order_id, o.customer
HAVING sum(l.quantity) > 3;

-- an aggregate below an outer join, through a nested view
CREATE VIEW line_sums AS
SELECT l.order_id, sum(l.quantity) AS quantity, max(l.updated_seq) AS line_seq, max(p.updated_seq) AS product_seq
FROM order_line l LEFT JOIN product p USING (sku)
WHERE NOT l.is_deleted AND coalesce(p.is_listed, true)
GROUP BY l.order_id;
CREATE VIEW orders AS
SELECT o.order_id, o.customer, o.status, s.quantity, o.updated_seq AS order_seq, s.line_seq, s.product_seq
FROM sales_order o LEFT JOIN line_sums s ON s.order_id = o.order_id
WHERE o.status <> 'cancelled';

SELECT merge_engine.create_projection('p_wide_order', 'wide', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{order_id}');
SELECT merge_engine.create_projection('p_wide_line', 'wide', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{line_id}');
SELECT merge_engine.create_projection('p_wide_customer', 'wide', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{customer}');
SELECT merge_engine.create_projection('p_wide_pair', 'wide', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{customer,sku}');
SELECT merge_engine.create_projection('p_lines', 'lines', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{line_id}');
SELECT merge_engine.create_projection('p_lines_order', 'lines', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{order_id}');
SELECT merge_engine.create_projection('p_totals', 'totals', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{order_id}');
SELECT merge_engine.create_projection('p_totals_customer', 'totals', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{customer}');
SELECT merge_engine.create_projection('p_orders', 'orders', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{order_id}');
SELECT merge_engine.create_projection('p_by_query', 'wide', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{customer}', affected_keys => $$
    SELECT o.customer FROM sales_order o
    FULL JOIN order_line l ON l.order_id = o.order_id
    FULL JOIN product p ON p.sku = l.sku $$);
SELECT merge_engine.create_projection('p_by_union', 'wide', 'delete_insert',
    '{order_seq,line_seq,product_seq}', replace_key => '{order_id}', affected_keys => $$
    SELECT order_id FROM sales_order UNION ALL SELECT order_id FROM order_line
    UNION SELECT l.order_id FROM product JOIN order_line l USING (sku) $$);

-- A random number from 1 to n.
CREATE FUNCTION dice(n integer) RETURNS integer LANGUAGE sql VOLATILE
RETURN 1 + floor(random() * n)::integer;

-- One random change.
CREATE PROCEDURE random_change() LANGUAGE plpgsql AS $$
DECLARE
    o bigint := dice(12);
    k text := 'sku' || dice(6);
    l bigint := (SELECT line_id FROM order_line ORDER BY random() LIMIT 1);
BEGIN
    CASE dice(10)
    WHEN 1 THEN
        INSERT INTO sales_order VALUES (o, CASE WHEN dice(4) > 1 THEN 'c' || dice(4) END, 'new')
        ON CONFLICT (order_id) DO UPDATE SET status = 'new', updated_seq = nextval('change_seq');
    WHEN 2 THEN
        UPDATE sales_order SET status = (ARRAY['new', 'paid', 'cancelled'])[dice(3)],
            updated_seq = nextval('change_seq') WHERE order_id = o;
    WHEN 3 THEN
        INSERT INTO product VALUES (k, 'cat' || dice(3))
        ON CONFLICT (sku) DO UPDATE SET category = excluded.category, updated_seq = excluded.updated_seq;
    WHEN 4 THEN
        UPDATE product SET is_listed = NOT is_listed, category = nullif('cat' || dice(4), 'cat4'),
            updated_seq = nextval('change_seq') WHERE sku = k;
    WHEN 5, 6 THEN
        INSERT INTO order_line (order_id, line_no, sku, quantity, price)
        SELECT CASE WHEN dice(9) > 1 THEN o END, i, CASE WHEN dice(9) > 1 THEN k END, dice(4), dice(100)
        FROM generate_series(1, dice(3)) i;
    WHEN 7 THEN
        UPDATE order_line SET quantity = dice(5) - 1, updated_seq = nextval('change_seq') WHERE line_id = l;
    WHEN 8 THEN
        UPDATE order_line SET is_deleted = NOT is_deleted, updated_seq = nextval('change_seq') WHERE line_id = l;
    WHEN 9 THEN
        UPDATE order_line SET price = dice(50), updated_seq = nextval('change_seq')
        WHERE order_id = o AND dice(2) = 1;
    ELSE
        UPDATE sales_order SET updated_seq = nextval('change_seq') WHERE order_id = o;
    END CASE;
END $$;

-- Batches of changes, each followed by a refresh and a comparison of every projection.
CREATE PROCEDURE random_history(seed integer, rounds integer) LANGUAGE plpgsql AS $$
DECLARE
    p regclass;
    v regclass;
    columns text;
    differences bigint;
    refreshed merge_engine.projection_refresh;
BEGIN
    PERFORM setseed(seed / 1000.0);
    FOR round IN 1 .. rounds LOOP
        FOR i IN 1 .. dice(6) LOOP
            CALL random_change();
        END LOOP;
        FOR p, v IN SELECT DISTINCT projection, view FROM merge_engine.projections ORDER BY 1 LOOP
            refreshed := merge_engine.refresh_projection(p, full_rebuild => dice(40) = 1);
            columns := (SELECT string_agg(quote_ident(attname), ',') FROM pg_attribute
                        WHERE attrelid = v AND attnum > 0);
            EXECUTE format('SELECT count(*) FROM ((TABLE %2$s EXCEPT ALL SELECT %3$s FROM %1$s)'
                           ' UNION ALL (SELECT %3$s FROM %1$s EXCEPT ALL TABLE %2$s)) d', p, v, columns)
            INTO differences;
            IF differences > 0 OR EXISTS (SELECT FROM merge_engine.check_projection(p)) THEN
                RAISE EXCEPTION 'seed %, round %: % differs from % by % rows', seed, round, p, v, differences
                USING DETAIL = refreshed::text;
            END IF;
        END LOOP;
        IF dice(2) = 1 THEN
            COMMIT;
        END IF;
    END LOOP;
END $$;
