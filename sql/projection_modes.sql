-- One projection of each mode through the life of some orders, with the row counts of every refresh.
CREATE SCHEMA modes;
SET search_path = modes;
CREATE SEQUENCE change_seq;
CREATE TABLE sales_order (order_id bigint PRIMARY KEY, customer text NOT NULL, status text NOT NULL DEFAULT 'new',
    updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE TABLE product (sku text PRIMARY KEY, category text NOT NULL, updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE TABLE order_line (order_id bigint, line_no integer, sku text NOT NULL, quantity integer NOT NULL, price numeric(12, 2) NOT NULL,
    is_deleted boolean NOT NULL DEFAULT false, updated_seq bigint NOT NULL DEFAULT nextval('change_seq'), PRIMARY KEY (order_id, line_no));
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

SELECT merge_engine.create_projection('p_insert', 'order_amount', 'insert', '{order_seq,line_seq,product_seq}');
SELECT merge_engine.create_projection('p_merge', 'order_amount', 'merge', '{order_seq,line_seq,product_seq}', unique_key => '{order_id,line_no}');
SELECT merge_engine.create_projection('p_line', 'order_amount', 'delete_insert', '{order_seq,line_seq,product_seq}', replace_key => '{order_id,line_no}');
SELECT merge_engine.create_projection('p_order', 'order_amount', 'delete_insert', '{order_seq,line_seq,product_seq}', replace_key => '{order_id}');
SELECT merge_engine.create_projection('p_customer', 'order_amount', 'delete_insert', '{order_seq,line_seq,product_seq}', replace_key => '{customer}');

-- what each refresh did, and what check_projection then finds
CREATE FUNCTION refresh_all(full_rebuild boolean DEFAULT false)
RETURNS TABLE (projection text, kind text, keys bigint, deleted bigint, updated bigint, inserted bigint, problems text) LANGUAGE plpgsql AS $$
DECLARE
    p regclass;
    r merge_engine.projection_refresh;
BEGIN
    FOREACH p IN ARRAY '{p_insert,p_merge,p_line,p_order,p_customer}'::regclass[] LOOP
        r := merge_engine.refresh_projection(p, full_rebuild);
        problems := (SELECT string_agg(format('%s %s', c.n, c.problem), ', ' ORDER BY c.problem)
                     FROM (SELECT c.problem, count(*) AS n FROM merge_engine.check_projection(p) c GROUP BY c.problem) c);
        projection := p; kind := r.kind; keys := r.affected_keys; deleted := r.rows_deleted;
        updated := r.rows_updated; inserted := r.rows_inserted;
        RETURN NEXT;
    END LOOP;
END $$;

-- the tables are created empty
SELECT count(*) FROM p_insert;
SELECT problem, key FROM merge_engine.check_projection('p_order');
\d p_merge
\d p_order

-- first build, over empty and then filled sources
SELECT * FROM refresh_all();
INSERT INTO product VALUES ('apple', 'fruit'), ('kale', 'greens'), ('pear', 'fruit');
INSERT INTO sales_order VALUES (1, 'ann'), (2, 'bob'), (3, 'ann');
INSERT INTO order_line VALUES (1, 1, 'apple', 1, 2.50), (1, 2, 'kale', 2, 3), (1, 3, 'pear', 3, 1), (2, 1, 'apple', 4, 2.50), (3, 1, 'pear', 5, 1);
SELECT * FROM refresh_all();
SELECT * FROM p_order ORDER BY order_id, line_no;
-- no change
SELECT * FROM refresh_all();
-- new rows: a line of an old order, and a new order
INSERT INTO order_line VALUES (2, 2, 'kale', 1, 3);
INSERT INTO sales_order VALUES (4, 'cid');
INSERT INTO order_line VALUES (4, 1, 'apple', 1, 2.50);
SELECT * FROM refresh_all();
-- one line of several changes: its siblings stay; insert now has it twice
UPDATE order_line SET quantity = 10, updated_seq = nextval('change_seq') WHERE (order_id, line_no) = (1, 1);
SELECT * FROM refresh_all();
SELECT quantity, amount FROM p_insert WHERE (order_id, line_no) = (1, 1) ORDER BY 1;
SELECT line_no, quantity, amount FROM p_merge WHERE order_id = 1 ORDER BY 1;
SELECT line_no, quantity, amount FROM p_order WHERE order_id = 1 ORDER BY 1;
-- a category changes: it touches every order of the product
UPDATE product SET category = 'citrus', updated_seq = nextval('change_seq') WHERE sku = 'apple';
SELECT * FROM refresh_all();
SELECT category, count(*) FROM p_merge GROUP BY 1 ORDER BY 1;
SELECT category, count(*) FROM p_customer GROUP BY 1 ORDER BY 1;
-- a line is logically deleted: merge keeps it
UPDATE order_line SET is_deleted = true, updated_seq = nextval('change_seq') WHERE (order_id, line_no) = (1, 2);
SELECT * FROM refresh_all();
SELECT p.* FROM merge_engine.check_projection('p_merge') p;
SELECT line_no FROM p_order WHERE order_id = 1 ORDER BY 1;
-- an order with several lines is cancelled
UPDATE sales_order SET status = 'cancelled', updated_seq = nextval('change_seq') WHERE order_id = 1;
SELECT * FROM refresh_all();
-- and comes back
UPDATE sales_order SET status = 'paid', updated_seq = nextval('change_seq') WHERE order_id = 1;
SELECT * FROM refresh_all();
-- a customer's orders move to another: a changed replace key gives no signal for the old one in p_customer
UPDATE sales_order SET customer = 'dan', updated_seq = nextval('change_seq') WHERE order_id = 2;
SELECT * FROM refresh_all();
SELECT * FROM merge_engine.check_projection('p_customer');
-- the remedy is a full build
SELECT * FROM refresh_all(true);
-- several parts of one row change at once: it is taken once
UPDATE sales_order SET updated_seq = nextval('change_seq') WHERE order_id = 4;
UPDATE order_line SET quantity = 2, updated_seq = nextval('change_seq') WHERE order_id = 4;
UPDATE product SET updated_seq = nextval('change_seq') WHERE sku = 'apple';
SELECT * FROM refresh_all();

-- when_not_matched
SELECT merge_engine.create_projection('p_ignore', 'order_amount', 'merge', '{line_seq}', unique_key => '{order_id,line_no}', when_not_matched => 'ignore');
SELECT merge_engine.create_projection('p_error', 'order_amount', 'merge', '{line_seq}', unique_key => '{order_id,line_no}', when_not_matched => 'error');
SELECT (merge_engine.refresh_projection(p)).rows_inserted FROM unnest('{p_ignore,p_error}'::regclass[]) p;
UPDATE order_line SET quantity = 3, updated_seq = nextval('change_seq') WHERE order_id = 4;
INSERT INTO order_line VALUES (4, 2, 'kale', 1, 3);
SELECT kind, rows_updated, rows_inserted FROM merge_engine.refresh_projection('p_ignore');
SELECT line_no, quantity FROM p_ignore WHERE order_id = 4 ORDER BY 1;
SELECT merge_engine.refresh_projection('p_error');
SELECT line_no, quantity FROM p_error WHERE order_id = 4 ORDER BY 1;
SELECT count(*) FROM merge_engine.projections WHERE projection = 'p_error'::regclass AND watermark < current_maximum;

-- merge: a key that occurs twice is an error that shows it, in a full build and in an increment
SELECT merge_engine.create_projection('p_twice', 'order_amount', 'merge', '{line_seq}', unique_key => '{order_id}');
SELECT merge_engine.refresh_projection('p_twice');
UPDATE order_line SET is_deleted = true WHERE line_no > 1;
SELECT status, rows_inserted FROM merge_engine.refresh_projection('p_twice');
UPDATE order_line SET is_deleted = false, updated_seq = nextval('change_seq') WHERE order_id = 2;
SELECT merge_engine.refresh_projection('p_twice');
-- a NULL in the key is an error that names the column
CREATE VIEW nullable_key AS SELECT nullif(l.quantity, 7) AS k, l.updated_seq FROM order_line l WHERE order_id = 3;
SELECT merge_engine.create_projection('p_null', 'nullable_key', 'merge', '{updated_seq}', unique_key => '{k}');
SELECT status, rows_inserted FROM merge_engine.refresh_projection('p_null');
UPDATE order_line SET quantity = 7, updated_seq = nextval('change_seq') WHERE order_id = 3;
SELECT merge_engine.refresh_projection('p_null');
SELECT merge_engine.refresh_projection('p_null', full_rebuild => true);

-- mode insert: a row appears once, when all its parts are at or below the bounds
CREATE TABLE a (id integer PRIMARY KEY, seq integer NOT NULL);
CREATE TABLE b (id integer PRIMARY KEY, seq integer NOT NULL);
CREATE VIEW ab AS SELECT a.id, a.seq AS a_seq, b.seq AS b_seq FROM a JOIN b USING (id);
SELECT merge_engine.create_projection('p_ab', 'ab', 'insert', '{a_seq,b_seq}');
INSERT INTO a VALUES (1, 1), (2, 2);
SELECT rows_inserted, watermarks_after FROM merge_engine.refresh_projection('p_ab');
INSERT INTO b VALUES (1, 1);
SELECT rows_inserted, watermarks_after FROM merge_engine.refresh_projection('p_ab');
INSERT INTO b VALUES (2, 2);
INSERT INTO a VALUES (3, 3);
INSERT INTO b VALUES (3, 3);
SELECT rows_inserted, watermarks_after FROM merge_engine.refresh_projection('p_ab');
SELECT rows_inserted, watermarks_after FROM merge_engine.refresh_projection('p_ab');
SELECT * FROM p_ab ORDER BY id;
SELECT * FROM merge_engine.check_projection('p_ab');
-- a row taken twice is reported
INSERT INTO p_ab VALUES (3, 3, 3);
DELETE FROM p_ab WHERE id = 1;
SELECT * FROM merge_engine.check_projection('p_ab');

-- check_projection names each kind of problem by key
SELECT status FROM merge_engine.refresh_projection('p_order', full_rebuild => true);
DELETE FROM p_order WHERE order_id = 2;
UPDATE p_order SET amount = 0 WHERE order_id = 3;
INSERT INTO p_order (order_id, line_no) VALUES (99, 1);
INSERT INTO p_order SELECT * FROM p_order WHERE order_id = 4;
SELECT * FROM merge_engine.check_projection('p_order');

-- the history has a row for every refresh
SELECT mode, kind, count(*), count(phases), count(affected_keys), count(watermarks_before), count(watermarks_after), count(error)
FROM merge_engine.projection_refreshes WHERE projection IN ('p_insert'::regclass, 'p_merge', 'p_order') GROUP BY 1, 2 ORDER BY 1, 2;
SELECT pg_typeof(merge_engine.refresh_projection('p_order'));
SELECT (r).status, (r).finished >= (r).started AS finished, jsonb_object_keys((r).phases)
FROM (SELECT r FROM merge_engine.projection_refreshes r WHERE projection = 'p_order'::regclass ORDER BY refresh_id DESC LIMIT 1) r ORDER BY 3;

SET client_min_messages = warning;
SELECT count(merge_engine.drop_projection(projection)) FROM (SELECT DISTINCT projection FROM merge_engine.projections WHERE projection::text LIKE 'p\_%') p;
DROP SCHEMA modes CASCADE;
