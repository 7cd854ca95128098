-- The aggregate functions, one by one.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA aggregates;
SET search_path = aggregates;

-- sum: every numeric type, money and interval
CREATE TABLE sums (k int PRIMARY KEY, a smallint, b int, c bigint, d numeric, e numeric(8,2), f real, g float8,
		h money, i interval, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op',
		"fields.default-aggregate-function" = 'sum');
SET lc_monetary = 'C';
SET intervalstyle = 'postgres';
INSERT INTO sums VALUES (1, 1, 1, 1, 1.5, 1.5, 1.5, 1.5, '1.50', '1 day', '+I'),
	(1, 2, 2, 2, 2.25, 2.25, 2.25, 2.25, '2.25', '1 month 2 hours', '+I');
SELECT a, b, c, d, e, f, g, h::numeric, i FROM sums;
-- NULL changes nothing, a retraction subtracts
INSERT INTO sums VALUES (1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '+I'),
	(1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '-D'),
	(1, 1, 1, 1, 1.5, 1.5, 1.5, 1.5, '1.50', '1 day', '-D');
SELECT a, b, c, d, e, f, g, h::numeric, i FROM sums;
-- from nothing it is the negated value
INSERT INTO sums VALUES (2, 1, 1, 1, 1.5, 1.5, 1.5, 1.5, '1.50', '1 day', '-U');
SELECT a, b, c, d, e, f, g, h::numeric, i FROM sums WHERE k = 2;

-- overflow is an error in every type, and of a numeric's precision too
INSERT INTO sums (k, a, op) VALUES (3, 32767, '+I'), (3, 1, '+I');
INSERT INTO sums (k, b, op) VALUES (3, 2147483647, '+I'), (3, 1, '+I');
INSERT INTO sums (k, c, op) VALUES (3, 9223372036854775807, '+I'), (3, 1, '+I');
INSERT INTO sums (k, e, op) VALUES (3, 999999.99, '+I'), (3, 0.01, '+I');
INSERT INTO sums (k, f, op) VALUES (3, 3e38, '+I'), (3, 3e38, '+I');
INSERT INTO sums (k, g, op) VALUES (3, 1e308, '+I'), (3, 1e308, '+I');
INSERT INTO sums (k, a, op) VALUES (3, -32768, '-D');
INSERT INTO sums (k, b, op) VALUES (3, -2147483648, '-D');
INSERT INTO sums (k, c, op) VALUES (3, -9223372036854775808, '-D');
SELECT count(*) FROM sums WHERE k = 3;

-- product: retracts by division, integers truncate towards zero
CREATE TABLE products (k int PRIMARY KEY, a smallint, b int, c bigint, d numeric, e float8, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op',
		"fields.default-aggregate-function" = 'product');
INSERT INTO products VALUES (1, 7, -7, 7, 1.5, 1.5, '+I'), (1, 3, 3, -3, 2, 2, '+U');
SELECT a, b, c, d, e FROM products;
INSERT INTO products VALUES (1, 2, 2, 2, 2, 2, '-D'), (1, NULL, NULL, NULL, NULL, NULL, '-D');
SELECT a, b, c, d = 1.5, e FROM products;
INSERT INTO products VALUES (2, 2, 2, 2, 2, 2, '-D');
SELECT a, b, c, d, e FROM products WHERE k = 2;
INSERT INTO products (k, b, op) VALUES (1, 0, '-D');
INSERT INTO products (k, d, op) VALUES (1, 0, '-D');
INSERT INTO products (k, e, op) VALUES (1, 0, '-D');
INSERT INTO products (k, a, op) VALUES (1, 32767, '+I');
INSERT INTO products (k, b, op) VALUES (1, 2147483647, '+I');
INSERT INTO products (k, c, op) VALUES (1, 9223372036854775807, '+I');

-- count: of what is not NULL
CREATE TABLE counts (k int PRIMARY KEY, a int, b bigint, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op',
		"fields.default-aggregate-function" = 'count');
INSERT INTO counts VALUES (1, 100, NULL, '+I'), (1, -5, 7, '+I'), (1, NULL, 7, '+I');
SELECT * FROM counts;
INSERT INTO counts VALUES (1, 100, NULL, '-D'), (1, 1, 1, '+I');
SELECT * FROM counts;

-- max and min: whatever has a btree order, except arrays and rows
CREATE TYPE size AS ENUM ('small', 'large');
CREATE TABLE extremes (k int PRIMARY KEY, a int, b text COLLATE "C", c numeric, d date, e timestamptz, f uuid,
		g size, i bool, j bytea, l inet, m int4range, o char(3))
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.default-aggregate-function" = 'max');
INSERT INTO extremes VALUES
	(1, 1, 'B', 1.5, '2024-01-02', '2024-01-01 12:00+00', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'small',
		false, '\x01', '10.0.0.1', '[1,3)', 'ab'),
	(1, -1, 'a', 1.4, '2024-01-01', '2024-01-01 13:00+02', 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'large',
		true, '\xff', '9.0.0.1', '[2,3)', 'b');
SELECT a, b, c, d = '2024-01-02', e = '2024-01-01 12:00+00', left(f::text, 1), g, i, j, l, m, o = 'b' FROM extremes;
CREATE TABLE least_of (k int PRIMARY KEY, a int, b text COLLATE "C", c numeric, g size, i bool)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.default-aggregate-function" = 'min');
INSERT INTO least_of VALUES (1, 1, 'B', 1.5, 'small', false),
	(1, NULL, NULL, NULL, NULL, NULL), (1, -1, 'a', 1.4, 'large', true);
SELECT * FROM least_of;

-- last_value and first_value take NULLs, the others do not
CREATE TABLE ends (k int PRIMARY KEY, a int, b int, c int, d int)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.a.aggregate-function" = 'last_value',
		"fields.b.aggregate-function" = 'last_non_null_value', "fields.c.aggregate-function" = 'first_value',
		"fields.d.aggregate-function" = 'first_not_null_value');
INSERT INTO ends VALUES (1, 1, 1, NULL, NULL), (1, 2, 2, 2, 2), (1, NULL, NULL, 3, 3);
INSERT INTO ends VALUES (2, NULL, NULL, 1, 1);
INSERT INTO ends VALUES (2, 5, 5, NULL, NULL);
SELECT * FROM ends ORDER BY k;

-- listagg
CREATE TABLE lists (k int PRIMARY KEY, a text, b text, c text, d varchar)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.default-aggregate-function" = 'listagg',
		"fields.b.list-agg-delimiter" = ' | ', "fields.c.distinct" = 'true');
INSERT INTO lists VALUES (1, 'x', 'x', 'x', 'x'), (1, NULL, NULL, NULL, NULL), (1, '  ', ' ', E'\t', E'\n'),
	(1, 'y', 'y', 'x,y', 'y'), (1, 'x', 'x', 'y,,z, ,x', 'x');
SELECT * FROM lists;
-- a blank list is replaced
INSERT INTO lists (k, a, c) VALUES (2, ' ', ' ');
INSERT INTO lists (k, a, c) VALUES (2, 'a,a', 'a,a');
INSERT INTO lists (k, a, c) VALUES (2, 'a,b', 'a,b');
SELECT k, a, c FROM lists WHERE k = 2;
-- long lists
INSERT INTO lists (k, a) SELECT 3, repeat('x', 100) FROM generate_series(1, 500);
SELECT length(a) FROM lists WHERE k = 3;

-- bool_or and bool_and
CREATE TABLE bools (k int PRIMARY KEY, a bool, b bool)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.a.aggregate-function" = 'bool_or',
		"fields.b.aggregate-function" = 'bool_and');
INSERT INTO bools VALUES (1, false, true), (1, true, true), (1, NULL, NULL), (2, NULL, NULL), (3, false, true), (3, false, false);
SELECT * FROM bools ORDER BY k;

-- what cannot retract is an error, for -U and -D, late or not, unless ignore-retract
CREATE TABLE cannot (k int PRIMARY KEY, v int, a int, b text, c bool, d int, e int, f int, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op', "sequence.field" = 'v',
		"fields.a.aggregate-function" = 'max', "fields.b.aggregate-function" = 'listagg',
		"fields.c.aggregate-function" = 'bool_or', "fields.d.aggregate-function" = 'first_value',
		"fields.e.aggregate-function" = 'first_non_null_value', "fields.f.aggregate-function" = 'min',
		"fields.f.ignore-retract" = 'true');
INSERT INTO cannot VALUES (1, 5, 1, 'a', true, 1, 1, 1, '+I');
INSERT INTO cannot (k, v, a, op) VALUES (1, 6, 1, '-D');
INSERT INTO cannot (k, v, a, op) VALUES (1, 4, 1, '-U');
INSERT INTO cannot (k, v, b, op) VALUES (1, 6, 'a', '-D');
INSERT INTO cannot (k, v, c, op) VALUES (1, 6, true, '-D');
INSERT INTO cannot (k, v, d, op) VALUES (1, 6, 1, '-D');
INSERT INTO cannot (k, v, e, op) VALUES (1, 6, 1, '-D');
INSERT INTO cannot (k, v, f, op) VALUES (1, 6, 1, '-D');
SELECT k, v, a, b, c, d, e, f FROM cannot;

-- columns of domains keep their checks
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TABLE domains (k int PRIMARY KEY, a positive, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op',
		"fields.a.aggregate-function" = 'sum');
INSERT INTO domains VALUES (1, 5, '+I');
INSERT INTO domains VALUES (1, 3, '-D');
SELECT * FROM domains;
INSERT INTO domains VALUES (1, 3, '-D');
SELECT * FROM domains;
