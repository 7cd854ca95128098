-- Whole rows of a raw log, folded by a table's rules.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY default
CREATE SCHEMA merge_aggregate;
SET search_path = merge_aggregate;

CREATE TABLE order_wide (order_id bigint PRIMARY KEY, status text, amount numeric(18,2), tracking_no text, source_version bigint,
		label text GENERATED ALWAYS AS (status || '/' || coalesce(tracking_no, '-')) STORED)
	USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'source_version');
CREATE TABLE order_log (arrived bigserial, order_id int, status varchar(20), amount numeric, tracking_no text, source_version int,
	gone int, label text);
ALTER TABLE order_log DROP COLUMN gone;
INSERT INTO order_log (order_id, status, amount, tracking_no, source_version) VALUES
	(1001, 'CREATED', 100, NULL, 1), (1001, 'PAID', 80, NULL, 3), (1001, NULL, NULL, 'SF001', 4),
	(1001, 'CANCELLED', 100, NULL, 2), (1002, 'CREATED', 5.005, NULL, 1);
INSERT INTO order_wide (order_id, status, amount, tracking_no, source_version)
SELECT order_id, status, amount, tracking_no, source_version FROM order_log ORDER BY arrived;

-- by name, with the conversions of an INSERT; what the table has not is NULL
SELECT (merge_engine.merge('order_wide', l ORDER BY l.arrived)).* FROM order_log l GROUP BY l.order_id ORDER BY 2;
SELECT pg_typeof(merge_engine.merge('order_wide', l)) FROM order_log l WHERE order_id = 1001;
SELECT order_id, status, amount, tracking_no, source_version, label FROM order_wide
EXCEPT ALL
SELECT m.order_id, m.status, m.amount, m.tracking_no, m.source_version, m.label
FROM (SELECT (merge_engine.merge('order_wide', l ORDER BY l.arrived)).* FROM order_log l GROUP BY l.order_id) m;
-- a row without a table of its own, and columns in another order or missing
SELECT merge_engine.merge('order_wide', l ORDER BY l.source_version DESC)
FROM (SELECT source_version, status, order_id, 'x' AS other FROM order_log) l GROUP BY order_id ORDER BY order_id;
-- a history of states
SELECT merge_engine.merge('order_wide', l) OVER (ORDER BY arrived) FROM order_log l WHERE order_id = 1001 ORDER BY arrived;
-- no rows, NULL rows
SELECT merge_engine.merge('order_wide', l) IS NULL FROM order_log l WHERE false;
SELECT merge_engine.merge('order_wide', NULLIF(l, l)) IS NULL FROM order_log l;

-- rows that remove, and functions that need the whole order
CREATE TABLE sums (k int PRIMARY KEY, n int, s numeric, list text, op text)
	USING merge_engine WITH (merge_engine = 'aggregation', sequence.field = 'n', "fields.s.aggregate-function" = 'sum',
		"fields.list.aggregate-function" = 'listagg', "fields.list.ignore-retract" = 'true', rowkind.field = 'op',
		"aggregation.remove-record-on-delete" = 'true');
CREATE TABLE sums_log (LIKE sums);
INSERT INTO sums_log VALUES (1, 3, 1, 'c', '+I'), (1, 1, 2, 'a', '+I'), (1, 2, 4, 'b', '+U'), (1, 4, 1, 'c', '-U'),
	(2, 1, 1, 'a', '+I'), (2, 2, NULL, NULL, '-D'), (3, 1, 1, 'a', '+I'), (3, 2, NULL, NULL, '-D'), (3, 3, 7, 'b', '+I');
SELECT k, merge_engine.merge('sums', l) FROM sums_log l GROUP BY k ORDER BY k;
INSERT INTO sums TABLE sums_log;
SELECT sums FROM sums ORDER BY k;

-- many rows of one key: memory does not grow with them
SELECT merge_engine.merge('order_wide', l)
FROM (SELECT 1 AS order_id, CASE WHEN g % 7 = 0 THEN repeat('x', 100) || g END AS status, g AS source_version FROM generate_series(1, 20000) g) l;

-- what is refused
SELECT merge_engine.merge('order_log', l) FROM order_log l;
SELECT merge_engine.merge('order_wide', l) FROM order_log l;
SELECT merge_engine.merge('order_wide', l) FROM (SELECT 'x' AS status) l;
SELECT merge_engine.merge('order_wide', l) FROM (SELECT NULL::int AS order_id) l;
SELECT merge_engine.merge('order_wide', l) FROM (SELECT 1 AS order_id, now() AS amount) l;
SELECT merge_engine.merge('order_wide', 1);
SELECT merge_engine.merge(NULL, l) FROM order_log l;
SELECT merge_engine.merge(CASE WHEN arrived = 1 THEN 'order_wide'::regclass ELSE 'sums' END, l) FROM order_log l;
SELECT merge_engine.merge('order_wide', l) FROM (SELECT 1 AS order_id, repeat('x', 10) AS amount) l;
