-- What is kept of a sequence, in a versions column or a tombstone, for types of
-- every size; and keys whose equal values look different.
\set VERBOSITY terse
CREATE FUNCTION try(type text, one text, two text, three text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE kept (k int PRIMARY KEY, a text, b text, s %s, v merge_engine.versions)
		USING merge_engine WITH (merge_engine = ''partial-update'', sequence.field = ''s'', versions.field = ''v'')', type);
	EXECUTE format('INSERT INTO kept (k, a, b, s) VALUES (1, ''a1'', ''b1'', %L)', one);
	EXECUTE format('INSERT INTO kept (k, a, s) VALUES (1, ''a3'', %L)', three);
	EXECUTE format('INSERT INTO kept (k, a, b, s) VALUES (1, ''a2'', ''b2'', %L)', two);
	RETURN QUERY SELECT k::text || ' ' || a || ' ' || b || ' ' || v::jsonb FROM kept;
	EXECUTE format('CREATE TABLE gone (k int PRIMARY KEY, a text, op text, s %s)
		USING merge_engine WITH (sequence.field = ''s'', rowkind.field = ''op'', tombstones = ''true'')', type);
	EXECUTE format('INSERT INTO gone VALUES (1, ''a'', ''-D'', %L)', two);
	EXECUTE format('INSERT INTO gone VALUES (1, ''late'', ''+I'', %L)', one);
	RETURN QUERY SELECT 'late: ' || count(*) FROM gone;
	EXECUTE format('INSERT INTO gone VALUES (1, ''new'', ''+I'', %L)', three);
	RETURN QUERY SELECT 'new: ' || count(*) FROM gone;
	DROP TABLE kept, gone;
END $$;
SELECT try('"char"', 'a', 'b', 'c');
SELECT try('smallint', '-300', '2', '300');
SELECT try('integer', '-100000', '2', '100000');
SELECT try('uuid', '00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-0000000000ff', 'f0000000-0000-0000-0000-000000000000');
SELECT try('text', 'a', repeat('b', 130), 'c');
SELECT try('numeric', '-1.50', 'Infinity', 'NaN');
DROP FUNCTION try;

-- more columns than one byte counts, and columns beyond the 127th
DO $$
BEGIN
	EXECUTE (SELECT 'CREATE TABLE wide (k int PRIMARY KEY, s int, v merge_engine.versions, '
		|| string_agg(format('c%s int', i), ', ') || ') USING merge_engine
		WITH (merge_engine = ''partial-update'', sequence.field = ''s'', versions.field = ''v'')'
		FROM generate_series(1, 300) i);
	EXECUTE (SELECT format('INSERT INTO wide (k, s, %s) VALUES (1, 1, %s)', string_agg('c' || i, ', '), string_agg(i::text, ', '))
		FROM generate_series(1, 300) i);
END $$;
INSERT INTO wide (k, s, c1, c300) VALUES (1, 3, 3001, 3300);
INSERT INTO wide (k, s, c1, c2, c299) VALUES (1, 2, 2001, 2002, 2299);
SELECT c1, c2, c3, c299, c300, (SELECT count(*) FROM jsonb_each(v::jsonb)) AS versions, v::jsonb -> 'c299' AS c299_version FROM wide;
DROP TABLE wide;

-- copies of a table that know of different removals
CREATE TABLE one (k int PRIMARY KEY, last text, first text, op text, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'aggregation', sequence.field = 's', rowkind.field = 'op', versions.field = 'v',
	"fields.last.aggregate-function" = 'last_non_null_value', "fields.first.aggregate-function" = 'first_value',
	"aggregation.remove-record-on-delete" = 'true');
CREATE TABLE other (LIKE one INCLUDING ALL) USING merge_engine
WITH (merge_engine = 'aggregation', sequence.field = 's', rowkind.field = 'op', versions.field = 'v',
	"fields.last.aggregate-function" = 'last_non_null_value', "fields.first.aggregate-function" = 'first_value',
	"aggregation.remove-record-on-delete" = 'true');
INSERT INTO one (k, last, first, op, s) VALUES (1, 'l1', 'f1', '+I', 1), (2, 'l1', 'f1', '+I', 1), (3, 'l9', 'f9', '+I', 9);
INSERT INTO other (k, last, first, op, s) VALUES (1, 'l2', NULL, '+I', 2), (1, NULL, NULL, '-D', 5), (1, 'l7', NULL, '+I', 7),
	(2, 'l0', 'f0', '+I', 0), (3, NULL, NULL, '-D', 5), (3, 'l6', 'f6', '+I', 6);
SELECT * FROM other ORDER BY k;
INSERT INTO one SELECT * FROM other;
SELECT * FROM one ORDER BY k;
INSERT INTO other SELECT * FROM one;
SELECT * FROM other EXCEPT SELECT * FROM one;
DROP TABLE one, other;
-- a DEFAULT that nobody gave comes along
CREATE TABLE one (k int PRIMARY KEY, a int DEFAULT 7, b text, op text, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', rowkind.field = 'op', versions.field = 'v',
	"partial-update.remove-record-on-delete" = 'true');
CREATE TABLE other (LIKE one INCLUDING ALL) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', rowkind.field = 'op', versions.field = 'v',
	"partial-update.remove-record-on-delete" = 'true');
INSERT INTO one (k, b, op, s) VALUES (1, 'b1', '+I', 1);
INSERT INTO other (k, b, op, s) VALUES (1, NULL, '-D', 5), (1, 'b7', '+I', 7);
TABLE other;
INSERT INTO one SELECT * FROM other RETURNING *;
DROP TABLE one, other;

-- NULLs that clear, where nothing but the order of arrival counts
CREATE TABLE cleared (k int PRIMARY KEY, a text, b text) USING merge_engine
WITH (merge_engine = 'aggregation', "fields.default-aggregate-function" = 'last_non_null_value', "fields.a.explicit-null" = 'clear');
INSERT INTO cleared VALUES (1, 'a', 'b'), (1, NULL, NULL);
TABLE cleared;
CREATE TABLE group_cleared (k int PRIMARY KEY, a text, b text, g int, op text, s int) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', rowkind.field = 'op', "fields.g.sequence-group" = 'a,b',
	"fields.a.aggregate-function" = 'last_non_null_value', "fields.a.explicit-null" = 'clear',
	"fields.b.aggregate-function" = 'last_non_null_value');
INSERT INTO group_cleared VALUES (1, 'a', 'b', 1, '+I', 5), (1, NULL, NULL, 2, '+U', 6);
TABLE group_cleared;
-- a retraction gives its kind to the row unless it is late
INSERT INTO group_cleared VALUES (1, NULL, NULL, 1, '-U', 4);
SELECT op, s FROM group_cleared;
INSERT INTO group_cleared VALUES (1, NULL, NULL, 1, '-U', 6);
SELECT op, s FROM group_cleared;
DROP TABLE cleared, group_cleared;

-- tombstones of keys that are equal and do not look so
CREATE TABLE blank (k char(5), f float8, n numeric, s int, op text, PRIMARY KEY (k, f, n)) USING merge_engine
WITH (sequence.field = 's', rowkind.field = 'op', tombstones = 'true');
INSERT INTO blank VALUES ('a', '-0', 1.50, 5, '-D'), ('', 0, 0.0, 5, '-D');
INSERT INTO blank VALUES ('a  ', 0, 1.5, 4, '+I'), ('  ', '-0', 0, 4, '+I');
SELECT count(*) FROM blank;
SELECT key FROM merge_engine.tombstones WHERE table_name = 'blank'::regclass ORDER BY key;
INSERT INTO blank VALUES ('a  ', 0, 1.5, 6, '+I');
SELECT k, f, n FROM blank;
SELECT key FROM merge_engine.tombstones WHERE table_name = 'blank'::regclass;
DROP TABLE blank;
