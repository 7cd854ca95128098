-- Option names, values, contradictions, and what is stored.
CREATE SCHEMA options;
SET search_path = options;

-- what is stored for a table, in order
CREATE FUNCTION stored(regclass) RETURNS SETOF text LANGUAGE sql AS
$$ SELECT unnest(reloptions) FROM pg_class WHERE oid = $1 $$;

--
-- spelling: _ for -, one dot without quotes, and the canonical names
--
CREATE TABLE spelled (k int PRIMARY KEY, v int, w int, ts int, op text) USING merge_engine WITH (
	merge_engine = aggregation, sequence.field = 'ts', "sequence.field.sort_order" = descending,
	rowkind.field = op, ignore_update_before = on, fillfactor = 70,
	fields.default_aggregate_function = max, "fields.v.aggregate_function" = sum,
	"fields.v.ignore-retract" = 'TRUE', aggregation.remove_record_on_delete);
SELECT stored('spelled');

-- values: enums and booleans without regard to case, lists without blanks
CREATE TABLE valued (k int PRIMARY KEY, a int, b int, "c,d" int, " e" int) USING merge_engine WITH (
	"merge-engine" = 'Partial-Update', "sequence.field" = ' b , "c,d"',
	"fields. a .sequence-group" = '" e"', "ignore-delete" = 'NO');
SELECT stored('valued');
DROP TABLE spelled, valued;

-- engine-prefixed spellings of ignore-delete
CREATE TABLE prefixed (k int PRIMARY KEY) USING merge_engine WITH (first_row.ignore_delete = true);
SELECT stored('prefixed');
DROP TABLE prefixed;
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine
	WITH ("deduplicate.ignore-delete" = true, "ignore-delete" = true);

-- given twice
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine
	WITH ("merge-engine" = 'deduplicate', merge_engine = 'first-row');

-- a column name that cannot stand in an option name
CREATE TABLE bad (k int PRIMARY KEY, "v=w" int) USING merge_engine
	WITH ("merge-engine" = 'aggregation', "fields.v=w.aggregate-function" = 'sum');

-- a name that the grammar cuts after 63 bytes is completed
CREATE TABLE cut (k int PRIMARY KEY, a_column_with_a_name_of_fully_fifty_bytes_in_length int) USING merge_engine
	WITH (merge_engine = aggregation,
		"fields.a_column_with_a_name_of_fully_fifty_bytes_in_length.aggregate-function" = 'sum');
SELECT stored('cut');
DROP TABLE cut;

--
-- Paimon's options without effect
--
CREATE TABLE layout (k int PRIMARY KEY, v int) USING merge_engine
	WITH (bucket = 4, file.format = 'orc', "changelog-producer" = 'lookup', "fields.v.stats-mode" = 'none');
SELECT stored('layout');
DROP TABLE layout;
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine WITH ("fields.w.stats-mode" = 'none');
-- heap tables stay PostgreSQL's
CREATE TABLE bad (k int PRIMARY KEY) WITH (bucket = 4);

--
-- unknown things, with the nearest name
--
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine WITH (merge_engin = 'deduplicate');
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine WITH (filfactor = 50);
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine WITH (something_else_entirely = 1);
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine WITH ("primary-key" = 'k');
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine WITH (merge_engine = 'agregation');
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine WITH (merge_engine = 'upsert');
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine WITH (ignore_delete = 'maybe');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (sequence.field = 'v', "sequence.field.sort-order" = 'up');
CREATE TABLE bad (k int PRIMARY KEY, amount int) USING merge_engine WITH (sequence.field = 'ammount');
CREATE TABLE bad (k int PRIMARY KEY, amount int) USING merge_engine WITH (sequence.field = 'Amount');
CREATE TABLE bad (k int PRIMARY KEY, amount int) USING merge_engine WITH (sequence.field = 'amount,,k');
CREATE TABLE bad (k int PRIMARY KEY, amount int) USING merge_engine WITH (sequence.field = 'amount,amount');
CREATE TABLE bad (k int PRIMARY KEY, amount int) USING merge_engine WITH (sequence.field = '');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = aggregation, "fields.v.aggregate-function" = 'summ');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = aggregation, fields.default_aggregate_function = 'nothing_like_it');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = aggregation, "fields.v.agregate-function" = 'sum');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = aggregation, fields.v = 'sum');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = aggregation, "fields.v.default-value" = '1');
-- every fields option names an existing column, under every engine
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = deduplicate, "fields.w.aggregate-function" = 'sum');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = 'first-row', "fields.w.ignore-retract" = 'true');

--
-- contradictions
--
-- order
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = 'first-row', sequence.field = 'v');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = 'deduplicate', "sequence.field.sort-order" = 'descending');
CREATE TABLE bad (k int PRIMARY KEY, v json) USING merge_engine WITH (sequence.field = 'v');
CREATE TABLE bad (k int PRIMARY KEY, v int GENERATED ALWAYS AS (k + 1) STORED) USING merge_engine
	WITH (sequence.field = 'v');

-- row kind
CREATE TABLE bad (k int PRIMARY KEY, op int) USING merge_engine WITH (rowkind.field = 'op');
CREATE TABLE bad (k text PRIMARY KEY, op text) USING merge_engine WITH (rowkind.field = 'k');
CREATE TABLE bad (k text PRIMARY KEY, op text) USING merge_engine WITH (rowkind.field = 'op', sequence.field = 'op');
CREATE TABLE bad (k text PRIMARY KEY, op text) USING merge_engine WITH (rowkind.field = 'op,k');

-- groups
CREATE TABLE bad (k int PRIMARY KEY, g int, a int) USING merge_engine
	WITH (merge_engine = 'aggregation', "fields.g.sequence-group" = 'a');
CREATE TABLE bad (k int PRIMARY KEY, g int, h int, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a', "fields.h.sequence-group" = 'a');
CREATE TABLE bad (k int PRIMARY KEY, g int, h int, a int, b int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a', "fields.g,h.sequence-group" = 'b');
CREATE TABLE bad (k int PRIMARY KEY, g int, h int, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a', "fields.h.sequence-group" = 'g');
CREATE TABLE bad (k int PRIMARY KEY, g int, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a,k');
CREATE TABLE bad (k int PRIMARY KEY, g int, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.k.sequence-group" = 'a');
CREATE TABLE bad (k int PRIMARY KEY, g json, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a');
CREATE TABLE bad (k int PRIMARY KEY, g int, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', sequence.field = 'g', "fields.g.sequence-group" = 'a');

-- functions
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.v.aggregate-function" = 'sum');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = 'partial-update', fields.default_aggregate_function = 'max');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = aggregation, sequence.field = 'v', "fields.v.aggregate-function" = 'max');
CREATE TABLE bad (k int PRIMARY KEY, g int, v int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'v', "fields.g.aggregate-function" = 'max');
CREATE TABLE bad (k int PRIMARY KEY, op text) USING merge_engine
	WITH (merge_engine = aggregation, rowkind.field = 'op', "fields.op.aggregate-function" = 'max');
CREATE TABLE bad (k int PRIMARY KEY, v int GENERATED ALWAYS AS (k + 1) STORED) USING merge_engine
	WITH (merge_engine = aggregation, "fields.v.aggregate-function" = 'max');
CREATE TABLE bad (k int PRIMARY KEY, v text) USING merge_engine
	WITH (merge_engine = aggregation, "fields.v.aggregate-function" = 'sum');
CREATE TABLE bad (k int PRIMARY KEY, v text) USING merge_engine
	WITH (merge_engine = aggregation, fields.default_aggregate_function = 'sum');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = aggregation, "fields.v.aggregate-function" = 'sum', "fields.v.distinct" = 'true');
CREATE TABLE bad (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.v.ignore-retract" = 'true');

-- deletes
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine
	WITH (merge_engine = 'partial-update', ignore_delete = true, "partial-update.remove-record-on-delete" = true);
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine
	WITH (merge_engine = aggregation, ignore_delete = true, "aggregation.remove-record-on-delete" = true);
CREATE TABLE bad (k int PRIMARY KEY, g int, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a', ignore_delete = true,
		"partial-update.remove-record-on-sequence-group" = 'g');
CREATE TABLE bad (k int PRIMARY KEY, g int, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a',
		"partial-update.remove-record-on-delete" = true);
CREATE TABLE bad (k int PRIMARY KEY, g int, a int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g.sequence-group" = 'a',
		"partial-update.remove-record-on-sequence-group" = 'a');
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine
	WITH (merge_engine = aggregation, "partial-update.remove-record-on-delete" = true);
CREATE TABLE bad (k int PRIMARY KEY) USING merge_engine
	WITH (merge_engine = 'partial-update', "aggregation.remove-record-on-delete" = true);

--
-- what is no contradiction
--
CREATE TABLE ok (k int PRIMARY KEY, v int, ts int, op varchar(2)) USING merge_engine
	WITH (merge_engine = aggregation, sequence.field = 'ts', rowkind.field = 'op',
		"fields.k.aggregate-function" = 'listagg', "fields.default-aggregate-function" = 'sum');
DROP TABLE ok;
-- the other engines take whole rows
CREATE TABLE ok (k int PRIMARY KEY, v int) USING merge_engine
	WITH (merge_engine = deduplicate, "fields.v.aggregate-function" = 'sum');
SELECT stored('ok');
DROP TABLE ok;
CREATE TABLE ok (k int, v int, PRIMARY KEY (k, v)) USING merge_engine WITH (sequence.field = 'v');
DROP TABLE ok;
CREATE TABLE ok (k int PRIMARY KEY, g1 int, g2 timestamptz, a int, b int) USING merge_engine
	WITH (merge_engine = 'partial-update', "fields.g1,g2.sequence-group" = 'a,b',
		"fields.b.aggregate-function" = 'sum', "partial-update.remove-record-on-sequence-group" = 'g2',
		"fields.default-aggregate-function" = 'last_non_null_value');
DROP TABLE ok;

SET client_min_messages = warning;
DROP SCHEMA options CASCADE;
