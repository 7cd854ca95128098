-- The partial-update engine: column by column, the newest value that is not NULL.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA partial_update;
SET search_path = partial_update;

CREATE TABLE t (k int PRIMARY KEY, a int, b text, c numeric(8,2))
	USING merge_engine WITH ("merge-engine" = 'partial-update');
\set QUIET off
INSERT INTO t VALUES (1, 1, NULL, NULL), (1, NULL, 'x', NULL), (1, NULL, NULL, 2.5), (2, NULL, NULL, NULL);
\set QUIET on
SELECT * FROM t ORDER BY k;
INSERT INTO t VALUES (1, NULL, 'y', NULL), (2, 5, NULL, NULL);
INSERT INTO t VALUES (1, NULL, NULL, NULL);
SELECT * FROM t ORDER BY k;

-- RETURNING returns the merged row, not the incoming one
INSERT INTO t VALUES (1, NULL, NULL, 3), (1, 9, NULL, NULL), (3, 1, NULL, NULL), (3, NULL, 'z', NULL)
	RETURNING *;

-- the order of an ordinary INSERT … SELECT is its order of input
INSERT INTO t SELECT 4, nullif(i % 3, 1), CASE WHEN i % 4 = 0 THEN 'i' || i END, i
	FROM generate_series(1, 10) i;
SELECT * FROM t WHERE k = 4;

-- the example of the documentation
CREATE TABLE order_wide (order_id bigint PRIMARY KEY, status text, amount numeric(18,2), tracking_no text,
	source_version bigint)
	USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'source_version');
INSERT INTO order_wide VALUES
	(1001, 'CREATED',   100, NULL,    1), (1001, 'PAID', 80, NULL, 3),
	(1001, NULL,        NULL, 'SF001', 4), (1001, 'CANCELLED', 100, NULL, 2);
SELECT * FROM order_wide;
INSERT INTO order_wide VALUES (1001, NULL, 75, NULL, 5) RETURNING *;

-- late rows of a later statement fill what is NULL and correct nothing
CREATE TABLE s (k int PRIMARY KEY, v int, a text, b text, c text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 'v');
INSERT INTO s VALUES (1, 5, 'a5', NULL, NULL);
INSERT INTO s VALUES (1, 3, 'a3', 'b3', NULL);
SELECT * FROM s;
INSERT INTO s VALUES (1, 4, 'a4', 'b4', 'c4');
SELECT * FROM s;
-- and an equal one does
INSERT INTO s VALUES (1, 5, NULL, 'b5', NULL);
SELECT * FROM s;
-- a newer row of NULLs moves the sequence
INSERT INTO s VALUES (1, 9, NULL, NULL, NULL);
INSERT INTO s VALUES (1, 8, 'a8', 'b8', 'c8');
SELECT * FROM s;

-- within a statement the input order does not matter
CREATE TABLE p (k int PRIMARY KEY, v int, a text, b text, c text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 'v');
INSERT INTO p
	SELECT n, v, a, b, c
	FROM (VALUES (1, 'a1', 'b1', 'c1'), (2, 'a2', NULL, 'c2'), (3, NULL, 'b3', NULL), (4, NULL, NULL, NULL))
			AS r(v, a, b, c),
		(VALUES (1, '{1,2,3,4}'::int[]), (2, '{4,3,2,1}'), (3, '{3,1,4,2}'), (4, '{2,4,1,3}'), (5, '{4,1,2,3}'))
			AS o(n, positions)
	ORDER BY n, positions[v];
SELECT DISTINCT v, a, b, c FROM p;
-- nor does RETURNING
DELETE FROM p;
INSERT INTO p VALUES (1, 4, NULL, NULL, NULL), (1, 1, 'a1', 'b1', 'c1'), (1, 3, NULL, 'b3', NULL),
	(1, 2, 'a2', NULL, 'c2') RETURNING *;
SELECT * FROM p;

-- without options for it a retraction is an error, for an unknown key too
CREATE TABLE r (k int PRIMARY KEY, a int, op text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "rowkind.field" = 'op');
INSERT INTO r VALUES (1, 1, '+I');
INSERT INTO r VALUES (1, NULL, '-D');
INSERT INTO r VALUES (1, NULL, '-U');
INSERT INTO r VALUES (2, NULL, '-D');
SELECT * FROM r;

-- partial-update.remove-record-on-delete: only -D removes
CREATE TABLE rr (k int PRIMARY KEY, v int, a text, b text DEFAULT 'new', op text DEFAULT '+I')
	USING merge_engine WITH ("merge-engine" = 'partial-update', "rowkind.field" = 'op', "sequence.field" = 'v',
		"partial-update.remove-record-on-delete" = 'true');
INSERT INTO rr VALUES (1, 5, 'a5', 'b5', '+I'), (2, 5, 'a5', NULL, '+I');
INSERT INTO rr VALUES (1, 4, NULL, NULL, '-D'), (2, 5, NULL, NULL, '-D'), (3, 1, NULL, NULL, '-D');
SELECT k, v, a, b FROM rr ORDER BY k;
-- the row that follows a removal is new, also within a statement
INSERT INTO rr VALUES (1, 7, NULL, 'b7', '+I'), (1, 6, NULL, NULL, '-D'), (1, 8, 'a8', NULL, '+U');
SELECT k, v, a, b FROM rr ORDER BY k;
INSERT INTO rr (k, v, op, a) VALUES (1, 9, '-D', NULL), (1, 10, '+I', 'a10');
SELECT k, v, a, b FROM rr ORDER BY k;
-- RETURNING gives the incoming row where nothing is stored
INSERT INTO rr VALUES (1, 11, 'gone', NULL, '-D'), (4, 1, 'none', NULL, '-D'), (1, 3, 'a3', NULL, '+I')
	RETURNING k, v, a, b;
SELECT count(*) FROM rr;
