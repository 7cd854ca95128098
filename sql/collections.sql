-- collect, merge_map, merge_map_with_keytime, nested_update, nested_partial_update: corners.
\pset null NULL
CREATE SCHEMA collections;
SET search_path = collections;
-- collect: dimensions, lower bounds, elements without an equality or without a hash
CREATE TABLE c (k int PRIMARY KEY, plain int[], once numeric[], js json[], pt point[], op text DEFAULT '+I')
USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op',
	"fields.plain.aggregate-function" = 'collect',
	"fields.once.aggregate-function" = 'collect', "fields.once.distinct" = 'true',
	"fields.js.aggregate-function" = 'collect', "fields.js.distinct" = 'TRUE',
	"fields.pt.aggregate-function" = 'collect', "fields.pt.distinct" = 'true');
INSERT INTO c VALUES (1, '{{1,2},{3,4}}', '{1.0,1.00,NULL,2,NULL}', '{"{\"a\":1}","{\"a\":1}"}', ARRAY[point(1,1), point(1,1)]);
INSERT INTO c VALUES (1, '[5:6]={5,6}', '{2.0,3}', '{"{\"a\": 1}"}', ARRAY[point(1,1), point(2,2)]);
SELECT k, plain, once, js, pt FROM c;
INSERT INTO c VALUES (1, '{6,2,9}', '{1,NULL}', '{"{\"a\":1}"}', ARRAY[point(2,2)], '-U');
SELECT k, plain, once, js, pt FROM c;
-- a retraction of a key never seen leaves nothing in the column
INSERT INTO c VALUES (2, '{1}', '{1}', NULL, NULL, '-D');
SELECT k, plain, once, js, pt FROM c WHERE k = 2;
CREATE TABLE g (k int PRIMARY KEY, seq int, a int[]) USING merge_engine WITH (merge_engine = 'partial-update',
	"fields.seq.sequence-group" = 'a', "fields.a.aggregate-function" = 'collect');
INSERT INTO g VALUES (1, 5, '{5}'), (1, 3, '{3}'), (1, 6, '{6}');
SELECT * FROM g;
-- what is in it already is not written again
CREATE TABLE once (k int PRIMARY KEY, a text[]) USING merge_engine
WITH (merge_engine = 'aggregation', "fields.a.aggregate-function" = 'collect', "fields.a.distinct" = 'true');
INSERT INTO once VALUES (1, '{a,b}');
SELECT ctid, a FROM once;
INSERT INTO once VALUES (1, '{b}'), (1, '{a,a}');
SELECT ctid, a FROM once;
-- maps
CREATE TABLE m (k int PRIMARY KEY, m jsonb, op text DEFAULT '+I')
USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op', "fields.m.aggregate-function" = 'merge_map');
INSERT INTO m VALUES (1, '{"a": 1, "b": {"x": [1, {}]}, "c": null}'), (1, '{"b": {"y": 2}}');
INSERT INTO m VALUES (1, '{"a": 7, "zz": 1}', '-D');
SELECT k, m FROM m;
INSERT INTO m VALUES (1, '[1]');
INSERT INTO m VALUES (2, '"text"');
CREATE TABLE kt (k int PRIMARY KEY, seq int, m jsonb) USING merge_engine WITH (merge_engine = 'partial-update',
	"fields.seq.sequence-group" = 'm', "fields.m.aggregate-function" = 'merge_map_with_keytime', "fields.m.ts-field" = 'ts');
-- the first input goes through the function too; numbers compare as numbers
INSERT INTO kt VALUES (1, 5, '{"a": {"ts": 9}, "gone": null, "never": {"ts": null}, "no": {"v": 1}}');
INSERT INTO kt VALUES (1, 6, '{"a": {"ts": 10}, "b": {"ts": 1.5}}');
SELECT * FROM kt;
-- late: on a tie the older row's entry was there first; a late removal removes nothing
INSERT INTO kt VALUES (1, 4, '{"a": {"ts": 10, "late": true}, "b": null, "c": {"ts": 0}}');
SELECT * FROM kt;
INSERT INTO kt VALUES (1, 7, '{"a": {"ts": "11"}}');
INSERT INTO kt VALUES (1, 7, '{"a": {"ts": true}}');
INSERT INTO kt VALUES (1, 7, '{"a": 1}');
INSERT INTO kt VALUES (1, 7, '[]');
CREATE TABLE bad (k int PRIMARY KEY, v jsonb) USING merge_engine
WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'merge_map_with_keytime');
-- nested tables
CREATE TYPE item AS (id int, part int, v text, seq numeric);
CREATE TABLE n (k int PRIMARY KEY, g int, i item[]) USING merge_engine WITH (merge_engine = 'partial-update',
	"fields.g.sequence-group" = 'i', "fields.i.aggregate-function" = 'nested_update',
	"fields.i.nested-key" = 'id , part', "fields.i.count-limit" = '3');
INSERT INTO n VALUES (1, 5, '{"(1,1,a,)","(2,1,b,)",NULL,"(1,1,c,)"}');
INSERT INTO n VALUES (1, 6, '{"(2,1,B,)","(3,1,d,)","(4,1,e,)","(3,1,D,)"}');
SELECT * FROM n;
-- a late row's come first, and count first
INSERT INTO n VALUES (1, 4, '{"(9,9,late,)","(1,1,late,)"}');
SELECT * FROM n;
CREATE TABLE s (k int PRIMARY KEY, i item[], op text DEFAULT '+I') USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op',
	"fields.i.aggregate-function" = 'nested_partial_update', "fields.i.nested-key" = 'id', "fields.i.nested-sequence-field" = 'seq',
	"fields.i.nested-key-null-strategy" = 'Error', "fields.i.count-limit" = '2');
INSERT INTO s VALUES (1, '{"(1,,a,1)"}');
INSERT INTO s VALUES (1, '{"(1,5,,1.0)","(2,,x,)","(3,,y,)","(1,7,old,0)"}');
SELECT k, i FROM s;
INSERT INTO s VALUES (1, '{"(,1,q,1)"}');
INSERT INTO s VALUES (1, '{"(1,,,)"}', '-D');
-- without a key: append, and remove every equal row; NULL members are equal
CREATE TABLE a (k int PRIMARY KEY, i item[], op text DEFAULT '+I')
USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op', "fields.i.aggregate-function" = 'nested_update');
INSERT INTO a VALUES (1, '{"(1,,,)","(1,,a,)",NULL}'), (1, '{"(1,,,)","(2,,,1.0)"}');
SELECT k, i FROM a;
INSERT INTO a VALUES (1, '{"(1,,,)",NULL,"(2,,,1.00)"}', '-D');
SELECT k, i FROM a;
-- the row type changes under the table
ALTER TYPE item ADD ATTRIBUTE extra text;
INSERT INTO s VALUES (1, '{"(1,,,2,new)"}');
SELECT k, i FROM s;
ALTER TYPE item DROP ATTRIBUTE part;
INSERT INTO s VALUES (1, '{"(2,z,2,more)"}');
SELECT k, i FROM s;
INSERT INTO n VALUES (1, 9, '{"(1,a,1,x)"}');
-- what is refused
CREATE TABLE bad (k int PRIMARY KEY, v item[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_partial_update');
CREATE TABLE bad (k int PRIMARY KEY, v item[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update', "fields.v.nested-key" = 'id,zz');
CREATE TABLE bad (k int PRIMARY KEY, v item[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update', "fields.v.nested-key" = 'id,,v');
CREATE TABLE bad (k int PRIMARY KEY, v item[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update', "fields.v.nested-sequence-field" = 'seq');
CREATE TABLE bad (k int PRIMARY KEY, v item[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update', "fields.v.nested-key-null-strategy" = 'merge');
CREATE TABLE bad (k int PRIMARY KEY, v item[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update', "fields.v.nested-key" = 'id', "fields.v.nested-key-null-strategy" = 'drop');
CREATE TABLE bad (k int PRIMARY KEY, v item[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update', "fields.v.count-limit" = '0');
CREATE TABLE bad (k int PRIMARY KEY, v int[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update');
CREATE TYPE odd AS (id json, seq point);
CREATE TABLE bad (k int PRIMARY KEY, v odd[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update', "fields.v.nested-key" = 'id');
CREATE TABLE bad (k int PRIMARY KEY, v odd[]) USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'nested_update', "fields.v.nested-key" = 'seq', "fields.v.nested-sequence-field" = 'seq');
