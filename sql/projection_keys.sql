-- delete_insert: which replace keys a change affects.  Filters must not hide a key, and no table may be joined that
-- is not needed to reach it: in each case the row that a change removes from the view must leave the projection too.
CREATE SCHEMA keys;
SET search_path = keys;
CREATE SEQUENCE seq;
CREATE TABLE o (id integer PRIMARY KEY, customer text, currency text, status text, ref integer, seq bigint NOT NULL DEFAULT nextval('seq'));
CREATE TABLE l (id integer PRIMARY KEY, order_id integer, sku text, currency text, quantity integer, seq bigint NOT NULL DEFAULT nextval('seq'));
CREATE TABLE p (sku text PRIMARY KEY, category text, seq bigint NOT NULL DEFAULT nextval('seq'));
CREATE TABLE s (order_id integer, carrier text, seq bigint NOT NULL DEFAULT nextval('seq'));
INSERT INTO o VALUES (1, 'ann', 'EUR', 'new', 1), (2, 'bob', 'USD', 'new', 2), (3, NULL, 'EUR', 'new', 3), (4, 'ann', 'EUR', 'new', NULL);
INSERT INTO l VALUES (10, 1, 'a', 'EUR', 1), (11, 1, 'b', 'EUR', 2), (20, 2, 'a', 'USD', 3), (30, 3, 'b', 'EUR', 4), (31, 3, 'a', 'EUR', 5), (40, 4, 'a', 'EUR', 6);
INSERT INTO p VALUES ('a', 'x'), ('b', 'y');
INSERT INTO s VALUES (1, 'ups'), (3, 'dhl');

-- Refresh, then say what the refresh did and what still differs.
CREATE FUNCTION refresh(p regclass, OUT keys bigint, OUT deleted bigint, OUT inserted bigint, OUT problems text) LANGUAGE plpgsql AS $$
DECLARE
    r merge_engine.projection_refresh := merge_engine.refresh_projection(p);
BEGIN
    keys := r.affected_keys; deleted := r.rows_deleted; inserted := r.rows_inserted;
    problems := (SELECT string_agg(c.problem || ' ' || c.key, ', ') FROM merge_engine.check_projection(p) c);
END $$;

CREATE VIEW v AS
SELECT o.id AS order_id, l.id AS line_id, o.customer, o.currency, l.sku, p.category, l.quantity, o.seq AS o_seq, l.seq AS l_seq, p.seq AS p_seq
FROM o JOIN l ON l.order_id = o.id AND l.currency = o.currency JOIN p ON p.sku = l.sku
WHERE o.status = 'new' AND l.quantity > 0;
SELECT merge_engine.create_projection('by_order', 'v', 'delete_insert', '{o_seq,l_seq,p_seq}', replace_key => '{order_id}');
SELECT merge_engine.create_projection('by_customer', 'v', 'delete_insert', '{o_seq,l_seq,p_seq}', replace_key => '{customer}');
SELECT merge_engine.create_projection('by_pair', 'v', 'delete_insert', '{o_seq,l_seq,p_seq}', replace_key => '{customer,category}');
CREATE FUNCTION refresh_three() RETURNS TABLE (p text, keys bigint, deleted bigint, inserted bigint, problems text) LANGUAGE sql AS $$
    SELECT p::text, r.* FROM unnest('{by_order,by_customer,by_pair}'::regclass[]) WITH ORDINALITY u(p, n), refresh(p) r ORDER BY n $$;
SELECT * FROM refresh_three();
-- filter loss, in the line and in the order (customer NULL counts as a key)
UPDATE l SET quantity = 0, seq = nextval('seq') WHERE id = 10;
SELECT * FROM refresh_three();
UPDATE o SET status = 'cancelled', seq = nextval('seq') WHERE id = 3;
SELECT * FROM refresh_three();
UPDATE o SET status = 'new', seq = nextval('seq') WHERE id = 3;
SELECT * FROM refresh_three();
-- join loss by a condition beyond the key: the line's currency is no longer the order's, the way to the customer stays
UPDATE l SET currency = 'XXX', seq = nextval('seq') WHERE id = 20;
SELECT * FROM refresh_three();
UPDATE l SET currency = 'USD', seq = nextval('seq') WHERE id = 20;
SELECT * FROM refresh_three();
-- join loss: the product no longer joins; by_pair cannot know the category that the line has left
UPDATE l SET sku = 'gone', seq = nextval('seq') WHERE id = 11;
SELECT * FROM refresh_three();
SELECT rows_deleted, rows_inserted FROM merge_engine.refresh_projection('by_pair', full_rebuild => true);
-- a product changes, whose lines have lost their order without a signal: the line alone leads to the order
DELETE FROM o WHERE id = 4;
UPDATE p SET category = 'z', seq = nextval('seq') WHERE sku = 'a';
SELECT * FROM refresh('by_order');

-- a chain of equalities leads to the key in the changed table itself: no join with l, whose row is gone
CREATE VIEW chain AS SELECT o.id AS order_id, s.carrier, o.seq AS o_seq, l.seq AS l_seq, s.seq AS s_seq
FROM o JOIN l ON o.id = l.order_id JOIN s ON s.order_id = l.order_id;
SELECT merge_engine.create_projection('p_chain', 'chain', 'delete_insert', '{o_seq,l_seq,s_seq}', replace_key => '{order_id}');
SELECT * FROM refresh('p_chain');
DELETE FROM l WHERE order_id = 1;
UPDATE s SET carrier = 'tnt', seq = nextval('seq') WHERE order_id = 1;
SELECT * FROM refresh('p_chain');
INSERT INTO l VALUES (12, 1, 'a', 'EUR', 1);
SELECT * FROM refresh('p_chain');

-- LEFT JOIN: the right side comes, changes and is filtered out
CREATE VIEW lj AS SELECT o.id AS order_id, o.customer, s.carrier, o.seq AS o_seq, s.seq AS s_seq
FROM o LEFT JOIN s ON s.order_id = o.id AND s.carrier <> 'none';
SELECT merge_engine.create_projection('p_lj', 'lj', 'delete_insert', '{o_seq,s_seq}', replace_key => '{order_id}');
SELECT * FROM refresh('p_lj');
INSERT INTO s VALUES (2, 'ups');
SELECT * FROM refresh('p_lj');
UPDATE s SET carrier = 'none', seq = nextval('seq') WHERE order_id = 2;
SELECT * FROM refresh('p_lj');
SELECT carrier FROM p_lj WHERE order_id = 2;
-- an equality in ON that concerns the other side only does not hold in rows without a match: t must join o
CREATE TABLE t (id integer, note text, seq bigint NOT NULL DEFAULT nextval('seq'));
INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three');
UPDATE o SET ref = id + 1 WHERE id < 3;
CREATE VIEW onlj AS SELECT o.id AS order_id, t.note, s.carrier, t.seq AS t_seq
FROM o JOIN t ON t.id = o.ref LEFT JOIN s ON s.order_id = o.id AND o.id = o.ref;
SELECT merge_engine.create_projection('p_onlj', 'onlj', 'delete_insert', '{t_seq}', replace_key => '{order_id}');
SELECT * FROM refresh('p_onlj');
UPDATE t SET note = upper(note), seq = nextval('seq');
SELECT * FROM refresh('p_onlj');
-- nor does one in an aggregate without GROUP BY, which has a row even of no rows
CREATE VIEW agglj AS SELECT o.id AS order_id, t.note, x.carriers, t.seq AS t_seq
FROM o JOIN t ON t.id = o.ref CROSS JOIN LATERAL (SELECT count(*) AS carriers FROM s WHERE s.order_id = o.id AND o.id = o.ref) x;
SELECT merge_engine.create_projection('p_agglj', 'agglj', 'delete_insert', '{t_seq}', replace_key => '{order_id}');
SELECT * FROM refresh('p_agglj');
UPDATE t SET note = lower(note), seq = nextval('seq');
SELECT * FROM refresh('p_agglj');
-- FULL JOIN: the key of a side that can be null is refused, one that a later join makes not null is not
CREATE VIEW fj AS SELECT o.id AS order_id, s.carrier, o.seq AS o_seq, s.seq AS s_seq FROM o FULL JOIN s ON s.order_id = o.id;
SELECT merge_engine.create_projection('p_fj', 'fj', 'delete_insert', '{o_seq,s_seq}', replace_key => '{order_id}');
CREATE VIEW fj_inner AS SELECT o.id AS order_id, s.carrier, l.id AS line_id, o.seq AS o_seq, s.seq AS s_seq, l.seq AS l_seq
FROM o FULL JOIN s ON s.order_id = o.id JOIN l ON l.order_id = o.id;
SELECT merge_engine.create_projection('p_fj', 'fj_inner', 'delete_insert', '{o_seq,s_seq,l_seq}', replace_key => '{order_id}');
SELECT * FROM refresh('p_fj');
UPDATE s SET carrier = 'fedex', seq = nextval('seq') WHERE order_id = 1;
SELECT * FROM refresh('p_fj');

-- aggregates, nested views, subqueries, CTEs, LATERAL, USING, DISTINCT
CREATE VIEW sums AS SELECT l.order_id, count(*) AS n, sum(l.quantity) AS quantity, max(l.seq) AS l_seq FROM l WHERE l.quantity > 0 GROUP BY l.order_id HAVING count(*) > 0;
CREATE VIEW nested AS
WITH big AS (SELECT * FROM sums WHERE quantity > 1)
SELECT o.id AS order_id, big.n, big.quantity, x.carriers, o.seq AS o_seq, big.l_seq, x.s_seq
FROM (SELECT * FROM o WHERE status = 'new') o
JOIN big ON big.order_id = o.id
LEFT JOIN LATERAL (SELECT string_agg(s.carrier, ',') AS carriers, max(s.seq) AS s_seq FROM s WHERE s.order_id = o.id) x ON true;
SELECT merge_engine.create_projection('p_nested', 'nested', 'delete_insert', '{o_seq,l_seq,s_seq}', replace_key => '{order_id}');
-- the join condition of a LATERAL aggregate is inside it, where s is not null: that is an equality as any other
SELECT * FROM refresh('p_nested');
UPDATE l SET quantity = 1, seq = nextval('seq') WHERE id = 31;
SELECT * FROM refresh('p_nested');
UPDATE l SET quantity = 0, seq = nextval('seq') WHERE order_id = 3;
SELECT * FROM refresh('p_nested');
INSERT INTO s VALUES (2, 'dpd');
SELECT * FROM refresh('p_nested');
CREATE VIEW used AS SELECT DISTINCT l.sku, p.category, l.seq AS l_seq, p.seq AS p_seq FROM l JOIN p USING (sku) WHERE l.quantity > 0;
SELECT merge_engine.create_projection('p_used', 'used', 'delete_insert', '{l_seq,p_seq}', replace_key => '{sku}');
SELECT * FROM refresh('p_used');
UPDATE l SET quantity = 0, seq = nextval('seq') WHERE sku = 'b';
UPDATE p SET category = 'q', seq = nextval('seq') WHERE sku = 'a';
SELECT * FROM refresh('p_used');

-- a table that occurs twice, with a field for each
CREATE VIEW pairs AS SELECT a.id AS a_id, b.id AS b_id, a.order_id, a.seq AS a_seq, b.seq AS b_seq FROM l a JOIN l b ON b.order_id = a.order_id AND b.id > a.id WHERE a.quantity >= 0 AND b.quantity >= 0;
SELECT merge_engine.create_projection('p_pairs', 'pairs', 'delete_insert', '{a_seq,b_seq}', replace_key => '{a_id}');
INSERT INTO l VALUES (13, 1, 'a', 'EUR', 1), (14, 1, 'a', 'EUR', 1);
SELECT * FROM refresh('p_pairs');
UPDATE l SET quantity = -1, seq = nextval('seq') WHERE id = 14;
SELECT * FROM refresh('p_pairs');

-- key columns from different tables, with NULLs in each
CREATE VIEW two AS SELECT o.customer, l.sku, count(*) AS n, max(o.seq) AS o_seq, max(l.seq) AS l_seq FROM o JOIN l ON l.order_id = o.id WHERE l.quantity > 0 GROUP BY o.customer, l.sku;
INSERT INTO l VALUES (50, 3, NULL, 'EUR', 1), (51, 1, NULL, 'EUR', 1), (52, 3, 'a', 'EUR', 1);
SELECT merge_engine.create_projection('p_two', 'two', 'delete_insert', '{o_seq,l_seq}', replace_key => '{customer,sku}');
SELECT * FROM refresh('p_two');
UPDATE l SET quantity = 0, seq = nextval('seq') WHERE id IN (50, 51, 52, 20);
SELECT * FROM refresh('p_two');
UPDATE l SET quantity = 1, seq = nextval('seq') WHERE id IN (50, 51, 52, 20);
SELECT * FROM refresh('p_two');
SELECT customer, sku, n FROM p_two ORDER BY 1, 2;

-- affected_keys: outer joins, so that a lost join still yields its key; a source that occurs twice; UNION
SELECT merge_engine.create_projection('p_query', 'v', 'delete_insert', '{o_seq,l_seq,p_seq}', replace_key => '{customer}', affected_keys => $$
    SELECT o.customer FROM p FULL JOIN l ON l.sku = p.sku FULL JOIN o ON o.id = l.order_id $$);
SELECT affected_keys FROM merge_engine.projection_definition WHERE projection = 'p_query'::regclass;
SELECT * FROM refresh('p_query');
UPDATE l SET sku = 'gone', seq = nextval('seq') WHERE id = 20;
SELECT * FROM refresh('p_query');
UPDATE o SET status = 'cancelled', seq = nextval('seq') WHERE id = 1;
SELECT * FROM refresh('p_query');
CREATE VIEW ranked AS SELECT l.order_id, l.id AS line_id, rank() OVER (PARTITION BY l.order_id ORDER BY l.quantity) AS rank, l.seq AS l_seq FROM l;
SELECT merge_engine.create_projection('p_ranked', 'ranked', 'delete_insert', '{l_seq}', replace_key => '{order_id}',
    affected_keys => 'SELECT a.order_id FROM l a LEFT JOIN l b ON b.order_id = a.order_id UNION ALL SELECT id FROM o');
SELECT * FROM refresh('p_ranked');
UPDATE l SET quantity = 9, seq = nextval('seq') WHERE id = 13;
SELECT * FROM refresh('p_ranked');
-- the stored query does not hang on the search path
SET search_path = pg_catalog;
UPDATE keys.l SET quantity = 8, seq = nextval('keys.seq') WHERE id = 13;
SELECT affected_keys, rows_inserted FROM merge_engine.refresh_projection('keys.p_ranked');
SET search_path = keys;
-- back to derivation
SELECT merge_engine.alter_projection('p_query', affected_keys => '');
SELECT * FROM refresh('p_query');
UPDATE o SET status = 'new', seq = nextval('seq') WHERE id = 1;
SELECT * FROM refresh('p_query');

SET client_min_messages = warning;
DROP SCHEMA keys CASCADE;
SELECT count(*) FROM merge_engine.projection_definition;
SELECT count(*) FROM merge_engine.projection_source;
SELECT count(*) FROM merge_engine.projection_history;
