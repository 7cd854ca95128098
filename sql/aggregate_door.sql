-- The second door: the rules as SQL aggregates.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA aggregate_door;
SET search_path = aggregate_door;

-- each function, as a table with one column of it would fold the same rows
CREATE TABLE log (k int, n int, i int, m numeric, t text, b bool);
INSERT INTO log VALUES (1, 1, 5, 1.5, 'x', true), (1, 2, NULL, NULL, NULL, NULL), (1, 3, -2, 2.25, 'y', false),
	(1, 4, 7, 1, 'x', true), (2, 1, NULL, NULL, NULL, NULL), (2, 2, 3, 1.00, 'b', true), (2, 3, 3, 1.0, 'a,b', NULL),
	(3, 1, NULL, NULL, NULL, NULL);
SELECT k, merge_engine.sum(i), merge_engine.sum(m), merge_engine.product(i), merge_engine.product(m),
	merge_engine.count(t), merge_engine.max(i), merge_engine.min(i), merge_engine.max(m), merge_engine.max(t COLLATE "C")
FROM log GROUP BY k ORDER BY k;
SELECT k, merge_engine.last_value(t ORDER BY n), merge_engine.last_non_null_value(t ORDER BY n),
	merge_engine.first_value(t ORDER BY n), merge_engine.first_non_null_value(t ORDER BY n),
	merge_engine.listagg(t ORDER BY n), merge_engine.bool_and(b), merge_engine.bool_or(b)
FROM log GROUP BY k ORDER BY k;
-- results have the type of their input, and its limits
SELECT pg_typeof(merge_engine.sum(i)), pg_typeof(merge_engine.sum(m)), pg_typeof(merge_engine.count(i)),
	pg_typeof(merge_engine.last_value(log)) FROM log;
SELECT merge_engine.sum(i) FROM (VALUES (2147483647), (1)) v(i);
SELECT merge_engine.sum(i::bigint) FROM (VALUES (2147483647), (1)) v(i);
SELECT merge_engine.sum(t) FROM log;
SELECT merge_engine.max(log) FROM log;
-- no input, no value
SELECT merge_engine.sum(i), merge_engine.count(i), merge_engine.listagg(t), merge_engine.first_value(t) FROM log WHERE false;
-- the usual clauses
SELECT merge_engine.sum(DISTINCT i), merge_engine.sum(i) FILTER (WHERE i > 0) FROM log;
-- a domain's checks hold for what is computed, too
CREATE DOMAIN small AS int CHECK (VALUE < 10);
SELECT merge_engine.sum(v::small) FROM (VALUES (4), (5)) x(v);
SELECT merge_engine.sum(v::small) FROM (VALUES (4), (6)) x(v);
-- collations: only where values are compared
SELECT merge_engine.last_value(x ORDER BY n) FROM (SELECT t COLLATE "C" || t COLLATE "POSIX" AS x, n FROM log) q;
SELECT merge_engine.max(x) FROM (SELECT 'a' COLLATE "C" || t COLLATE "C" AS x FROM log) q;
SELECT merge_engine.max('a' || x) FROM (SELECT t COLLATE "C" AS x FROM log UNION ALL SELECT t COLLATE "POSIX" FROM log) q;

-- options, as a table's without fields.<column>.
SELECT merge_engine.listagg(t, 'list-agg-delimiter=;' ORDER BY n),
	merge_engine.listagg(t, 'list_agg_delimiter=; ', 'distinct=true' ORDER BY n),
	merge_engine.listagg(t, VARIADIC ARRAY['distinct=yes'] ORDER BY n)
FROM log WHERE k = 1;
SELECT merge_engine.listagg(t, 'distinct') FROM log;
SELECT merge_engine.listagg(t, 'distinct=perhaps') FROM log;
SELECT merge_engine.listagg(t, 'delimiter=;') FROM log;
SELECT merge_engine.listagg(t, 'ts-field=x') FROM log;
SELECT merge_engine.listagg(t, 'distinct=true', 'distinct=false') FROM log;
SELECT merge_engine.listagg(t, 'list-agg-delimiter=' || t) FROM log WHERE t IS NOT NULL;

-- arrays, maps, rows and bitmaps
CREATE TYPE item AS (id int, qty int, note text);
CREATE TABLE parts (n int, a int[], m jsonb, kt jsonb, i item[], b int[]);
INSERT INTO parts VALUES
	(1, '{1,2}', '{"a": 1, "b": 1}', '{"a": {"t": 2, "v": 1}}', '{"(1,1,x)"}', '{1,2}'),
	(2, NULL, NULL, NULL, NULL, NULL),
	(3, '{2,3}', '{"b": 2}', '{"a": {"t": 1, "v": 2}, "b": {"t": 1, "v": 3}}', '{"(1,,y)","(2,1,)"}', '{2,9}');
SELECT merge_engine.collect(a ORDER BY n), merge_engine.collect(a, 'distinct=true' ORDER BY n),
	merge_engine.merge_map(m ORDER BY n), merge_engine.merge_map_with_keytime(kt, 'ts-field=t' ORDER BY n)
FROM parts;
SELECT merge_engine.nested_update(i ORDER BY n), merge_engine.nested_update(i, 'nested-key=id' ORDER BY n),
	merge_engine.nested_partial_update(i, 'nested-key=id' ORDER BY n)
FROM parts;
SELECT merge_engine.rbm32_to_array(merge_engine.rbm32(merge_engine.rbm32_build(b))),
	merge_engine.rbm64_to_array(merge_engine.rbm64(merge_engine.rbm64_build(b::bigint[])))
FROM parts;
SELECT n, merge_engine.collect(a) OVER s, merge_engine.collect(a, 'distinct=true') OVER s
FROM parts WINDOW s AS (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ORDER BY n;
SELECT merge_engine.merge_map_with_keytime(kt) FROM parts;
SELECT merge_engine.hll_sketch(a) FROM parts;
-- values that grow are folded in parts, which nobody sees
SELECT bool_and(l = s), bool_and(c = a), bool_and(merge_engine.rbm32_cardinality(r) = cardinality(a)), bool_and(m = j)
FROM (SELECT merge_engine.listagg('t' || g ORDER BY g) AS l, string_agg('t' || g, ',' ORDER BY g) AS s,
		merge_engine.collect(ARRAY[g] ORDER BY g) AS c, array_agg(g ORDER BY g) AS a,
		merge_engine.rbm32(merge_engine.rbm32_build(ARRAY[g])) AS r,
		merge_engine.merge_map(jsonb_build_object(g % 7, g) ORDER BY g) AS m, jsonb_object_agg(g % 7, g ORDER BY g) AS j
	FROM generate_series(1, 300) n, generate_series(1, n) g GROUP BY n) q;
SELECT n, merge_engine.listagg('t' || n) OVER (ORDER BY n) FROM generate_series(1, 6) n;

-- an aggregate for each function that a table can have, but the one that needs a function of the user's
SELECT name FROM (VALUES ('sum'), ('product'), ('count'), ('max'), ('min'), ('last_value'), ('last_non_null_value'),
	('first_value'), ('first_non_null_value'), ('listagg'), ('bool_and'), ('bool_or'), ('collect'), ('merge_map'),
	('merge_map_with_keytime'), ('nested_update'), ('nested_partial_update'), ('rbm32'), ('rbm64'), ('hll_sketch')) f(name)
WHERE NOT EXISTS (SELECT FROM pg_proc WHERE proname = name AND prokind = 'a' AND pronamespace = 'merge_engine'::regnamespace);

-- windows: the same as folding each frame
CREATE TABLE frames AS
SELECT g AS n, nullif((g * 7919) % 23 - 11, 5) AS i, nullif((g * 7919) % 23 - 11, 4) / 4.0 AS m, ((g * 7919) % 7)::float8 / 3 AS f,
	make_interval(months => (g * 7919) % 5, days => g % 3) AS v, nullif((g * 7919) % 5, 1)::text AS t, ((g * 7919) % 3)::bigint AS z
FROM generate_series(1, 200) g;
SELECT count(*) AS frames, count(*) FILTER (WHERE
	(w.sum_i, w.sum_m::text, w.sum_f, w.sum_v, w.count, w.last, w.last_non_null, w.product, w.list, w.first)
	IS DISTINCT FROM
	(g.sum_i, g.sum_m::text, g.sum_f, g.sum_v, g.count, g.last, g.last_non_null, g.product, g.list, g.first)) AS different
FROM (SELECT n, merge_engine.sum(i) OVER s AS sum_i, merge_engine.sum(m) OVER s AS sum_m, merge_engine.sum(f) OVER s AS sum_f,
		merge_engine.sum(v) OVER s AS sum_v, merge_engine.count(t) OVER s AS count, merge_engine.last_value(t) OVER s AS last,
		merge_engine.last_non_null_value(t) OVER s AS last_non_null, merge_engine.product(z) OVER s AS product,
		merge_engine.listagg(t) OVER s AS list, merge_engine.first_value(t) OVER s AS first
	FROM frames WINDOW s AS (ORDER BY n ROWS BETWEEN 3 PRECEDING AND 1 FOLLOWING)) w
JOIN LATERAL (SELECT merge_engine.sum(i ORDER BY n) AS sum_i, merge_engine.sum(m ORDER BY n) AS sum_m,
		merge_engine.sum(f ORDER BY n) AS sum_f, merge_engine.sum(v ORDER BY n) AS sum_v, merge_engine.count(t ORDER BY n) AS count,
		merge_engine.last_value(t ORDER BY n) AS last, merge_engine.last_non_null_value(t ORDER BY n) AS last_non_null,
		merge_engine.product(z ORDER BY n) AS product, merge_engine.listagg(t ORDER BY n) AS list,
		merge_engine.first_value(t ORDER BY n) AS first
	FROM frames f WHERE f.n BETWEEN w.n - 3 AND w.n + 1) g ON true;
-- a frame that empties
SELECT n, merge_engine.sum(i) OVER s, merge_engine.count(i) OVER s, merge_engine.last_non_null_value(i) OVER s
FROM (VALUES (1, 1), (2, NULL), (3, NULL), (4, 2)) v(n, i)
WINDOW s AS (ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ORDER BY n;

-- parallel workers
CREATE TABLE big AS SELECT g % 10 AS k, g AS i, g / 4.0 AS m, 't' || g AS t, g % 2 = 0 AS b FROM generate_series(1, 20000) g;
ANALYZE big;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS off) SELECT k, merge_engine.sum(i) FROM big GROUP BY k;
CREATE TABLE parallel_result AS
SELECT k, merge_engine.sum(i) AS s, merge_engine.sum(m) AS sm, merge_engine.count(t) AS c, merge_engine.max(t COLLATE "C") AS x,
	merge_engine.min(m) AS n, merge_engine.bool_and(b) AS ba, merge_engine.bool_or(b) AS bo,
	merge_engine.product(CASE WHEN i < 20 THEN i END) AS p
FROM big GROUP BY k;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM (
	SELECT k, merge_engine.sum(i), merge_engine.sum(m), merge_engine.count(t), merge_engine.max(t COLLATE "C"),
		merge_engine.min(m), merge_engine.bool_and(b), merge_engine.bool_or(b), merge_engine.product(CASE WHEN i < 20 THEN i END)
	FROM big GROUP BY k
	INTERSECT SELECT * FROM parallel_result) q;
-- partial states of every kind
CREATE TABLE bits AS SELECT g % 3 AS k, merge_engine.rbm32_build(ARRAY[g, g % 100]) AS b FROM generate_series(1, 3000) g;
ANALYZE bits;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS off) SELECT merge_engine.rbm32(b) FROM bits;
SELECT merge_engine.rbm32_cardinality(merge_engine.rbm32(b)) FROM bits;
RESET max_parallel_workers_per_gather;
RESET min_parallel_table_scan_size;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
