-- Values at the edges of what aggregate functions take: nothing, the ends of a
-- type's range, what is not a number, and values that come and go.
\set VERBOSITY terse
CREATE TABLE products (k int PRIMARY KEY, r real, b bigint, n numeric, op text) USING merge_engine
WITH (merge_engine = 'aggregation', rowkind.field = 'op', "fields.default-aggregate-function" = 'product');
INSERT INTO products VALUES (1, 2.5, 4, 3, '+I'), (1, 4, 5, 7, '+U');
INSERT INTO products VALUES (1, 2.5, 5, 3, '-U');
SELECT r, b, n FROM products;
-- the smallest bigint has no opposite
INSERT INTO products VALUES (2, 1, -9223372036854775808, 1, '+I');
INSERT INTO products VALUES (2, 1, -1, 1, '-U');
INSERT INTO products VALUES (2, 1, 0, 1, '-U');
INSERT INTO products VALUES (2, 0, 1, 1, '-U');
-- nothing to retract from, and nothing retracted
INSERT INTO products VALUES (3, NULL, NULL, NULL, '+I');
INSERT INTO products VALUES (3, 2, 2, 2, '-U'), (2, NULL, NULL, NULL, '-U');
-- infinite factors and those that are no numbers have no scale to restore
INSERT INTO products VALUES (4, 1, 1, 'Infinity', '+I'), (5, 1, 1, 'NaN', '+I'), (6, 1, 1, 1, '+I');
INSERT INTO products VALUES (4, 1, 1, 2.50, '-U'), (5, 1, 1, 2, '-U'), (6, 1, 1, 3, '-U');
SELECT k, r, b, n FROM products WHERE k > 1 ORDER BY k;

-- windows that move: what leaves is taken out where that is exact, else all is folded again
SELECT i, merge_engine.sum(n) OVER w AS sum, merge_engine.product(f) OVER w AS product,
	merge_engine.collect(a) OVER w AS collect, merge_engine.collect(a, 'distinct=true') OVER w AS distinct
FROM (VALUES (1, 'NaN'::numeric, 0.1::float8, '{1,2}'::int[]), (2, 1.5, 3, '{2}'), (3, 'Infinity', NULL, NULL),
	(4, 2.25, 7, '{2,2}'), (5, 1, 2, '{}')) AS v(i, n, f, a)
WINDOW w AS (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);

-- elements without an equality of their own are compared by what they are made of
CREATE TYPE spot AS (at point, name text);
CREATE TABLE collected (k int PRIMARY KEY, spots spot[], points point[], op text) USING merge_engine
WITH (merge_engine = 'aggregation', rowkind.field = 'op', "fields.default-aggregate-function" = 'collect',
	"fields.spots.distinct" = 'true', "fields.points.distinct" = 'true');
INSERT INTO collected VALUES (1, ARRAY[('(1,2)', 'a'), ('(1,2)', 'a'), NULL]::spot[], '{"(0,0)","(0,0)",NULL}', '+I'),
	(1, ARRAY[('(1,2)', 'b'), ('(1,2)', 'a'), NULL]::spot[], '{NULL,"(-0,0)"}', '+U');
SELECT spots, points FROM collected;
INSERT INTO collected VALUES (1, ARRAY[('(1,2)', 'a')]::spot[], NULL, '-U'), (2, NULL, NULL, '+I');
INSERT INTO collected VALUES (2, '{}', '{}', '-U');
SELECT k, spots, points FROM collected ORDER BY k;

-- NULL is no input to those that gather
CREATE TYPE item AS (sku text, quantity int);
CREATE TABLE gathered (k int PRIMARY KEY, list text, attributes jsonb, keyed jsonb, items item[], small bytea, large bytea, op text)
USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op',
	"fields.list.aggregate-function" = 'listagg', "fields.list.ignore-retract" = 'true',
	"fields.attributes.aggregate-function" = 'merge_map',
	"fields.keyed.aggregate-function" = 'merge_map_with_keytime', "fields.keyed.ts-field" = 't', "fields.keyed.ignore-retract" = 'true',
	"fields.items.aggregate-function" = 'nested_update', "fields.items.nested-key" = 'sku',
	"fields.small.aggregate-function" = 'rbm32', "fields.small.ignore-retract" = 'true',
	"fields.large.aggregate-function" = 'rbm64', "fields.large.ignore-retract" = 'true');
INSERT INTO gathered VALUES (1, 'a', '{"x":1}', NULL, '{"(a,1)"}', merge_engine.rbm32_build('{1}'), merge_engine.rbm64_build('{1}'), '+I'),
	(1, NULL, NULL, NULL, NULL, NULL, NULL, '+U'), (2, NULL, NULL, NULL, NULL, NULL, NULL, '+I');
INSERT INTO gathered VALUES (1, NULL, NULL, NULL, NULL, NULL, NULL, '-U'), (2, NULL, '{"x":1}', NULL, '{"(a,1)"}', NULL, NULL, '-U');
SELECT k, list, attributes, items, merge_engine.rbm32_to_array(small) AS small, merge_engine.rbm64_to_array(large) AS large
FROM gathered ORDER BY k;
-- a list grows beyond what was set aside for it
CREATE TABLE long_list (k int PRIMARY KEY, list text) USING merge_engine
WITH (merge_engine = 'aggregation', "fields.list.aggregate-function" = 'listagg', "fields.list.distinct" = 'true',
	"fields.list.list-agg-delimiter" = ' and ');
INSERT INTO long_list VALUES (1, 'a'), (1, 'b and c and b and d and e and f and g and h and i'), (1, 'a and j');
-- wide spaces are blank, no-break spaces and letters are not
INSERT INTO long_list VALUES (2, U&'\00E9'), (2, U&'\3000\2003'), (2, U&'\2007'), (2, U&'a\00E9');
SELECT k, length(list), list = U&'\00E9 and \2007 and a\00E9' AS expected FROM long_list WHERE k = 2;
SELECT * FROM long_list WHERE k = 1;
CREATE TABLE bad (k int PRIMARY KEY, list text) USING merge_engine
WITH (merge_engine = 'aggregation', "fields.list.aggregate-function" = 'listagg', "fields.list.distinct" = 'true',
	"fields.list.list-agg-delimiter" = '');
DROP TABLE products, collected, gathered, long_list;
DROP TYPE spot, item;
