-- Projections: one view over orders, lines and products, kept in three tables, each refreshed from what changed.

CREATE SCHEMA demo_projections;
SET search_path = demo_projections, public;

\echo
\echo '(d) One view, three projections'
\echo

CREATE SEQUENCE change_seq;
CREATE TABLE sales_order (
	order_id bigint PRIMARY KEY, customer text NOT NULL, status text NOT NULL,
	updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE TABLE product (
	sku text PRIMARY KEY, category text NOT NULL,
	updated_seq bigint NOT NULL DEFAULT nextval('change_seq'));
CREATE TABLE order_line (
	order_id bigint, line_no int, sku text NOT NULL, quantity int NOT NULL, price numeric(12,2) NOT NULL,
	is_deleted boolean NOT NULL DEFAULT false, updated_seq bigint NOT NULL DEFAULT nextval('change_seq'),
	PRIMARY KEY (order_id, line_no));

-- Every change takes a new number; a refresh reads the rows above its watermark.
CREATE FUNCTION take_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.updated_seq := nextval('demo_projections.change_seq');
	RETURN NEW;
END $$;
CREATE TRIGGER take_number BEFORE UPDATE ON sales_order FOR EACH ROW EXECUTE FUNCTION take_number();
CREATE TRIGGER take_number BEFORE UPDATE ON product FOR EACH ROW EXECUTE FUNCTION take_number();
CREATE TRIGGER take_number BEFORE UPDATE ON order_line FOR EACH ROW EXECUTE FUNCTION take_number();
CREATE INDEX ON sales_order (updated_seq);
CREATE INDEX ON product (updated_seq);
CREATE INDEX ON order_line (updated_seq);
CREATE INDEX ON order_line (sku);

CREATE VIEW order_amount AS
SELECT o.order_id, l.line_no, o.customer, p.category, l.quantity, l.quantity * l.price AS amount,
	o.updated_seq AS order_seq, l.updated_seq AS line_seq, p.updated_seq AS product_seq
FROM sales_order o
JOIN order_line l ON l.order_id = o.order_id
JOIN product p ON p.sku = l.sku
WHERE o.status <> 'cancelled' AND NOT l.is_deleted;

\o /dev/null
SELECT merge_engine.create_projection('by_insert', 'order_amount', 'insert', '{order_seq,line_seq,product_seq}');
SELECT merge_engine.create_projection('by_merge', 'order_amount', 'merge', '{order_seq,line_seq,product_seq}',
	unique_key => '{order_id,line_no}');
SELECT merge_engine.create_projection('by_delete_insert', 'order_amount', 'delete_insert', '{order_seq,line_seq,product_seq}',
	replace_key => '{order_id}');
CREATE INDEX ON by_delete_insert (order_id);
\o

-- Refresh all three: what each did, and whether it now equals the view.
CREATE FUNCTION pg_temp.refresh_all()
RETURNS TABLE (projection text, affected_keys bigint, deleted bigint, updated bigint, inserted bigint, amount numeric, is_the_view boolean)
LANGUAGE plpgsql AS $$
DECLARE
	r merge_engine.projection_refresh;
BEGIN
	FOREACH projection IN ARRAY '{by_insert,by_merge,by_delete_insert}'::text[] LOOP
		r := merge_engine.refresh_projection(projection::regclass);
		affected_keys := r.affected_keys; deleted := r.rows_deleted; updated := r.rows_updated; inserted := r.rows_inserted;
		EXECUTE format('SELECT sum(amount) FROM %I', projection) INTO amount;
		is_the_view := NOT EXISTS (SELECT FROM merge_engine.check_projection(projection::regclass));
		RETURN NEXT;
	END LOOP;
END $$;

INSERT INTO product VALUES ('apple', 'fruit'), ('kale', 'greens'), ('pear', 'fruit');
INSERT INTO sales_order VALUES (1, 'ann', 'new'), (2, 'bob', 'new');
INSERT INTO order_line VALUES (1, 1, 'apple', 1, 2.50), (1, 2, 'kale', 2, 3.00), (1, 3, 'pear', 3, 1.00), (2, 1, 'apple', 4, 2.50);
\echo 'New orders. The first refresh builds everything; all three modes agree.'
SELECT * FROM pg_temp.refresh_all();

UPDATE order_line SET quantity = 10 WHERE (order_id, line_no) = (1, 1);
\echo 'A quantity changes. insert appends the line once more, merge updates it, and'
\echo 'delete_insert replaces the rows of the order it belongs to.'
SELECT * FROM pg_temp.refresh_all();

UPDATE product SET category = 'orchard' WHERE sku = 'apple';
\echo 'A category changes: it touches every order of the product.'
SELECT * FROM pg_temp.refresh_all();

UPDATE order_line SET is_deleted = true WHERE (order_id, line_no) = (1, 2);
\echo 'A line is deleted logically. It is not in the view any more, so merge does not'
\echo 'see that it has gone. delete_insert finds its order without the view''s filters.'
SELECT * FROM pg_temp.refresh_all();

UPDATE sales_order SET status = 'cancelled' WHERE order_id = 1;
\echo 'An order with several lines is cancelled.'
SELECT * FROM pg_temp.refresh_all();

\echo 'What merge has kept, by key:'
SELECT problem, key FROM merge_engine.check_projection('by_merge');
\echo 'Choose insert where rows never change, merge where they change but stay,'
\echo 'delete_insert where they can disappear.'

\o /dev/null
SELECT pg_temp.expect('delete_insert', pg_temp.rows('by_delete_insert'), pg_temp.rows('order_amount'));
SELECT pg_temp.expect('insert duplicates', pg_temp.rows('(SELECT count(*) FROM by_insert WHERE (order_id, line_no) = (1, 1))'), '3');
SELECT pg_temp.expect('merge keeps', pg_temp.rows('(SELECT problem, key->>''line_no'' FROM merge_engine.check_projection(''by_merge''))'),
	E'surplus|1\nsurplus|2\nsurplus|3');
\o
