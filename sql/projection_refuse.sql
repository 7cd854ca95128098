-- Every refusal of create_projection, alter_projection and refresh_projection, with its SQLSTATE, reason and way out.
CREATE SCHEMA refuse;
SET search_path = refuse;
\set VERBOSITY terse

CREATE FUNCTION refused(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text; message text; detail text; hint text;
BEGIN
    EXECUTE statement;
    RETURN 'not refused';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN format(E'%s: %s\n  %s\n  %s', state, message, detail, hint);
END $$;
\pset format unaligned
\pset tuples_only on

CREATE TABLE sales_order (order_id bigint PRIMARY KEY, customer text, status text, note json,
    updated_seq bigint NOT NULL, nullable_seq bigint, day date NOT NULL, second timestamptz(0) NOT NULL,
    tod time NOT NULL, shape point NOT NULL, serial_seq bigserial, identity_seq bigint GENERATED ALWAYS AS IDENTITY,
    down_seq bigint NOT NULL);
CREATE TABLE order_line (order_id bigint NOT NULL, line_no integer NOT NULL, sku text, quantity integer,
    updated_seq bigint NOT NULL, PRIMARY KEY (order_id, line_no));
CREATE TABLE product (sku text PRIMARY KEY, category text, updated_seq bigint NOT NULL);
CREATE VIEW v AS
SELECT o.order_id, l.line_no, o.customer, o.note, o.nullable_seq, o.day, o.second, o.tod, o.shape, o.serial_seq,
       o.identity_seq, o.down_seq, o.updated_seq AS order_seq, l.updated_seq AS line_seq, p.updated_seq AS product_seq,
       l.updated_seq + 0 AS expression, random() AS r, 1 AS constant, o AS whole
FROM sales_order o JOIN order_line l USING (order_id) JOIN product p USING (sku);
CREATE VIEW plain AS
SELECT o.order_id, l.line_no, o.customer, o.status, o.updated_seq AS order_seq, l.updated_seq AS line_seq, p.updated_seq AS product_seq
FROM sales_order o JOIN order_line l USING (order_id) JOIN product p USING (sku);

-- arguments
SELECT refused($$SELECT merge_engine.create_projection(NULL, 'plain', 'insert', '{order_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', NULL, 'insert', '{order_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', NULL, '{order_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'upsert', '{order_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', NULL)$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{order_seq,NULL}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{order_seq}', unique_key => '{order_id}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{order_seq}', when_not_matched => 'error')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{order_seq}', replace_key => '{order_id}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{order_seq}', affected_keys => 'SELECT 1')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'merge', '{order_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'merge', '{order_seq}', unique_key => '{order_id}', when_not_matched => 'skip')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'merge', '{order_seq}', unique_key => '{order_id}', replace_key => '{order_id}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'merge', '{order_seq}', unique_key => '{order_id}', affected_keys => 'SELECT 1')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'delete_insert', '{order_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'delete_insert', '{order_seq}', replace_key => '{order_id}', unique_key => '{order_id}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'delete_insert', '{order_seq}', replace_key => '{order_id}', when_not_matched => 'ignore')$$);

-- columns
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{absent}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{order_seq,order_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'merge', '{order_seq}', unique_key => '{order_id,order_id}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'delete_insert', '{order_seq}', replace_key => '{order_id,order_id}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'merge', '{order_seq}', unique_key => '{absent}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'v', 'delete_insert', '{order_seq}', replace_key => '{note}')$$);

-- the view
SELECT refused($$SELECT merge_engine.create_projection('p', 'product', 'insert', '{updated_seq}')$$);
CREATE MATERIALIZED VIEW mv AS SELECT sku, updated_seq FROM product;
SELECT refused($$SELECT merge_engine.create_projection('p', 'mv', 'insert', '{updated_seq}')$$);
CREATE VIEW over_mv AS SELECT * FROM mv;
SELECT refused($$SELECT merge_engine.create_projection('p', 'over_mv', 'insert', '{updated_seq}')$$);
CREATE TEMP VIEW temporary AS SELECT sku, updated_seq FROM product;
SELECT refused($$SELECT merge_engine.create_projection('p', 'temporary', 'insert', '{updated_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('pg_temp.p', 'plain', 'insert', '{order_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('product', 'plain', 'insert', '{order_seq}')$$);
CREATE FOREIGN DATA WRAPPER nowhere;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
CREATE FOREIGN TABLE elsewhere (sku text, updated_seq bigint NOT NULL) SERVER nowhere;
CREATE VIEW over_foreign AS SELECT * FROM elsewhere;
SELECT refused($$SELECT merge_engine.create_projection('p', 'over_foreign', 'insert', '{updated_seq}')$$);
CREATE TABLE parted (id integer, updated_seq bigint NOT NULL) PARTITION BY LIST (id);
CREATE FOREIGN TABLE parted_elsewhere PARTITION OF parted FOR VALUES IN (1) SERVER nowhere;
CREATE VIEW over_parted AS SELECT * FROM parted;
SELECT refused($$SELECT merge_engine.create_projection('p', 'over_parted', 'insert', '{updated_seq}')$$);

-- lineage: each column that fails, and why
SELECT refused($$SELECT merge_engine.create_projection('p', 'v', 'insert', '{expression}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'v', 'delete_insert', '{constant}', replace_key => '{order_id}', affected_keys => 'SELECT order_id FROM sales_order')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'plain', 'insert', '{customer,order_seq}')$$);
CREATE VIEW united AS SELECT sku, updated_seq FROM product UNION ALL SELECT sku, updated_seq FROM order_line;
SELECT refused($$SELECT merge_engine.create_projection('p', 'united', 'delete_insert', '{updated_seq}', replace_key => '{sku}')$$);
CREATE VIEW from_function AS SELECT g AS n FROM generate_series(1, 3) g;
SELECT refused($$SELECT merge_engine.create_projection('p', 'from_function', 'delete_insert', '{n}', replace_key => '{n}')$$);
CREATE VIEW totals AS SELECT order_id, sum(quantity) AS quantity, max(updated_seq) AS line_seq, min(updated_seq) AS least,
    max(updated_seq) FILTER (WHERE quantity > 1) AS filtered FROM order_line GROUP BY order_id;
SELECT refused($$SELECT merge_engine.create_projection('p', 'totals', 'insert', '{line_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'totals', 'delete_insert', '{least}', replace_key => '{order_id}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'totals', 'delete_insert', '{filtered}', replace_key => '{order_id}')$$);
CREATE VIEW twice AS SELECT a.order_id, a.updated_seq AS a_seq, b.updated_seq AS b_seq FROM order_line a JOIN order_line b USING (order_id);
SELECT refused($$SELECT merge_engine.create_projection('p', 'twice', 'insert', '{a_seq}')$$);
CREATE VIEW both_of_one AS SELECT order_id, updated_seq, updated_seq AS again, line_no FROM order_line;
SELECT refused($$SELECT merge_engine.create_projection('p', 'both_of_one', 'insert', '{updated_seq,again}')$$);

-- the field's column
SELECT refused($$SELECT merge_engine.create_projection('p', 'v', 'delete_insert', '{nullable_seq}', replace_key => '{order_id}', affected_keys => 'SELECT order_id FROM sales_order')$$);
CREATE VIEW dates AS SELECT order_id, day, second, tod, shape, serial_seq, identity_seq, down_seq FROM sales_order;
SELECT refused($$SELECT merge_engine.create_projection('p', 'dates', 'insert', '{day}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'dates', 'insert', '{second}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'dates', 'insert', '{tod}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'dates', 'insert', '{shape}')$$);
ALTER SEQUENCE sales_order_serial_seq_seq CACHE 5;
SELECT refused($$SELECT merge_engine.create_projection('p', 'dates', 'insert', '{serial_seq}')$$);
ALTER TABLE sales_order ALTER identity_seq SET CACHE 2;
SELECT refused($$SELECT merge_engine.create_projection('p', 'dates', 'insert', '{identity_seq}')$$);
CREATE SEQUENCE down INCREMENT -1;
ALTER TABLE sales_order ALTER down_seq SET DEFAULT nextval('down') + 0;
SELECT refused($$SELECT merge_engine.create_projection('p', 'dates', 'insert', '{down_seq}')$$);

-- views that insert and merge cannot use
CREATE VIEW outer_joined AS SELECT o.order_id, o.updated_seq AS order_seq, l.line_no, l.updated_seq AS line_seq FROM sales_order o LEFT JOIN order_line l USING (order_id);
SELECT refused($$SELECT merge_engine.create_projection('p', 'outer_joined', 'insert', '{order_seq,line_seq}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'outer_joined', 'merge', '{order_seq,line_seq}', unique_key => '{order_id,line_no}')$$);
CREATE VIEW grouped AS SELECT order_id, updated_seq, count(*) FROM order_line GROUP BY 1, 2;
SELECT refused($$SELECT merge_engine.create_projection('p', 'grouped', 'merge', '{updated_seq}', unique_key => '{order_id}')$$);

-- views from which keys cannot be derived
SELECT refused($$SELECT merge_engine.create_projection('p', 'outer_joined', 'delete_insert', '{order_seq,line_seq}', replace_key => '{line_no}')$$);
CREATE VIEW crossed AS SELECT o.order_id, o.updated_seq AS order_seq, p.updated_seq AS product_seq FROM sales_order o CROSS JOIN product p;
SELECT refused($$SELECT merge_engine.create_projection('p', 'crossed', 'delete_insert', '{order_seq,product_seq}', replace_key => '{order_id}')$$);
CREATE VIEW by_customer AS SELECT o.customer, upper(o.customer) AS upper, count(*) AS n, max(o.updated_seq) AS order_seq FROM sales_order o GROUP BY o.customer;
SELECT refused($$SELECT merge_engine.create_projection('p', 'by_customer', 'delete_insert', '{order_seq}', replace_key => '{n}')$$);
SELECT refused($$SELECT merge_engine.create_projection('p', 'by_customer', 'delete_insert', '{order_seq}', replace_key => '{upper}')$$);
CREATE VIEW v1 AS SELECT order_id, max(updated_seq) AS seq FROM order_line GROUP BY ROLLUP (order_id);
SELECT refused($$SELECT merge_engine.create_projection('p', 'v1', 'delete_insert', '{seq}', replace_key => '{order_id}')$$);
CREATE VIEW v2 AS SELECT order_id, updated_seq AS seq, row_number() OVER () AS n FROM order_line;
SELECT refused($$SELECT merge_engine.create_projection('p', 'v2', 'delete_insert', '{seq}', replace_key => '{order_id}')$$);
CREATE VIEW v3 AS SELECT order_id, updated_seq AS seq FROM order_line ORDER BY 1 LIMIT 5;
SELECT refused($$SELECT merge_engine.create_projection('p', 'v3', 'delete_insert', '{seq}', replace_key => '{order_id}')$$);
CREATE VIEW v4 AS SELECT DISTINCT ON (order_id) order_id, updated_seq AS seq FROM order_line ORDER BY 1, 2;
SELECT refused($$SELECT merge_engine.create_projection('p', 'v4', 'delete_insert', '{seq}', replace_key => '{order_id}')$$);
CREATE VIEW v5 AS SELECT order_id, updated_seq AS seq, random() AS r FROM order_line;
SELECT refused($$SELECT merge_engine.create_projection('p', 'v5', 'delete_insert', '{seq}', replace_key => '{order_id}')$$);
CREATE VIEW v6 AS SELECT o.order_id, o.updated_seq AS seq FROM sales_order o JOIN (SELECT sku FROM order_line EXCEPT SELECT sku FROM product) x ON x.sku = o.customer;
SELECT refused($$SELECT merge_engine.create_projection('p', 'v6', 'delete_insert', '{seq}', replace_key => '{order_id}')$$);
-- a source inside a sublink has no column in the result; where it is also outside, it is one occurrence too many
CREATE VIEW v7 AS SELECT o.order_id, o.updated_seq AS seq FROM sales_order o WHERE EXISTS (SELECT FROM sales_order x WHERE x.customer = o.customer AND x.status = 'open');
SELECT refused($$SELECT merge_engine.create_projection('p', 'v7', 'delete_insert', '{seq}', replace_key => '{order_id}')$$);

-- the affected_keys query
CREATE FUNCTION with_query(query text) RETURNS text LANGUAGE sql AS $f$
    SELECT refused(format($$SELECT merge_engine.create_projection('p', 'plain', 'delete_insert',
        '{order_seq,line_seq}', replace_key => '{order_id,customer}', affected_keys => %L)$$, query)) $f$;
SELECT with_query($$SELECT 1; SELECT 2$$);
SELECT with_query($$DELETE FROM product$$);
SELECT with_query($$SELECT order_id, customer INTO x FROM sales_order$$);
SELECT with_query($$WITH d AS (DELETE FROM product RETURNING sku) SELECT order_id, customer FROM sales_order$$);
SELECT with_query($$SELECT order_id, customer FROM sales_order FOR UPDATE$$);
SELECT with_query($$SELECT order_id, customer, status FROM sales_order$$);
SELECT with_query($$SELECT order_id FROM sales_order$$);
SELECT with_query($$SELECT order_id, customer, order_id FROM sales_order$$);
SELECT with_query($$SELECT order_id::integer, customer FROM sales_order$$);
SELECT with_query($$SELECT order_id, customer FROM sales_order$$);
SELECT with_query($$SELECT order_id, customer FROM plain JOIN order_line USING (order_id)$$);
SELECT with_query($$SELECT order_id, customer FROM sales_order JOIN order_line USING (order_id) WHERE random() < 2$$);
SELECT with_query($$SELECT order_id, customer FROM sales_order o WHERE EXISTS (SELECT FROM order_line l WHERE l.order_id = o.order_id)$$);
SELECT with_query($$SELECT order_id, customer FROM sales_order JOIN order_line USING (order_id) LIMIT 10$$);
SELECT with_query($$SELECT order_id, customer FROM sales_order EXCEPT SELECT order_id, sku FROM order_line$$);
SELECT with_query($$SELECT a.order_id, customer FROM sales_order JOIN (SELECT order_id, row_number() OVER () FROM order_line) a USING (order_id)$$);
SELECT with_query($$WITH l AS (SELECT order_id FROM order_line) SELECT a.order_id, customer FROM sales_order JOIN l a USING (order_id) JOIN l b USING (order_id)$$);
SELECT with_query($$SELECT order_id, customer FROM sales_order WHERE updated_seq > $1$$);

-- nothing has been left behind
SELECT count(*) FROM merge_engine.projections WHERE projection::text LIKE 'refuse.%';
SELECT to_regclass('refuse.p');

-- what alter_projection and refresh_projection refuse
SELECT merge_engine.create_projection('p', 'plain', 'delete_insert', '{order_seq,line_seq}', replace_key => '{order_id}');
SELECT refused($$SELECT merge_engine.alter_projection(NULL)$$);
SELECT refused($$SELECT merge_engine.alter_projection('product')$$);
SELECT refused($$SELECT merge_engine.alter_projection('p', unique_key => '{order_id}')$$);
SELECT refused($$SELECT merge_engine.alter_projection('p', when_not_matched => 'error')$$);
SELECT refused($$SELECT merge_engine.alter_projection('p', mode => 'merge')$$);
SELECT refused($$SELECT merge_engine.alter_projection('p', mode => 'insert', replace_key => '{order_id}')$$);
SELECT refused($$SELECT merge_engine.alter_projection('p', affected_keys => 'SELECT p.order_id FROM p JOIN sales_order USING (order_id) JOIN order_line USING (order_id)')$$);
CREATE VIEW on_itself AS SELECT p.order_id, o.updated_seq AS order_seq, l.updated_seq AS line_seq FROM p JOIN sales_order o USING (order_id) JOIN order_line l USING (order_id);
SELECT refused($$SELECT merge_engine.alter_projection('p', view => 'on_itself')$$);
DROP VIEW on_itself;
SELECT refused($$SELECT merge_engine.refresh_projection(NULL)$$);
SELECT refused($$SELECT merge_engine.refresh_projection('product')$$);
SELECT refused($$SELECT merge_engine.refresh_projection(4294967295::oid::regclass)$$);
SELECT refused($$SELECT merge_engine.refresh_projection('p', on_error => 'ignore')$$);
SELECT refused($$SELECT merge_engine.refresh_projection('p', on_error => NULL)$$);
SELECT refused($$SELECT merge_engine.check_projection('product')$$);
SELECT refused($$SELECT merge_engine.drop_projection('product')$$);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT refused($$SELECT merge_engine.refresh_projection('p')$$);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT refused($$SELECT merge_engine.refresh_projection('p')$$);
COMMIT;
BEGIN READ ONLY;
SELECT refused($$SELECT merge_engine.refresh_projection('p')$$);
COMMIT;

-- what has become wrong since is refused by the refresh
ALTER TABLE order_line ALTER updated_seq DROP NOT NULL;
SELECT refused($$SELECT merge_engine.refresh_projection('p')$$);
ALTER TABLE order_line ALTER updated_seq SET NOT NULL;
ALTER TABLE p RENAME customer TO client;
SELECT refused($$SELECT merge_engine.refresh_projection('p')$$);
SELECT refused($$SELECT merge_engine.check_projection('p')$$);
ALTER TABLE p RENAME client TO customer;
ALTER TABLE p ALTER customer TYPE varchar(10);
SELECT refused($$SELECT merge_engine.refresh_projection('p')$$);
SELECT merge_engine.alter_projection('p');
SELECT (merge_engine.refresh_projection('p')).status;

-- dropping
SELECT refused($$DROP VIEW plain$$);
SELECT refused($$DROP TABLE product CASCADE$$);
CREATE VIEW needs_p AS SELECT * FROM p;
SELECT refused($$SELECT merge_engine.drop_projection('p')$$);
DROP VIEW needs_p;
SELECT merge_engine.drop_projection('p');
SELECT count(*) FROM merge_engine.projections WHERE view = 'plain'::regclass;
SELECT count(*) FROM merge_engine.projection_refreshes WHERE projection::text LIKE '%p';

\pset format aligned
\pset tuples_only off
RESET client_min_messages;
DROP SERVER nowhere CASCADE;
DROP FOREIGN DATA WRAPPER nowhere;
DROP SCHEMA refuse CASCADE;
