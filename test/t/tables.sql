-- The tables of the TAP tests: each engine, with what else a table can have.

CREATE EXTENSION merge_engine;

CREATE TABLE people (name text PRIMARY KEY);
INSERT INTO people VALUES ('ada'), ('sean');

CREATE TABLE dedup (
	id int PRIMARY KEY,
	version bigint,
	note text CHECK (note <> 'forbidden'),
	doubled bigint GENERATED ALWAYS AS (version * 2) STORED
) USING merge_engine WITH (sequence.field = 'version', merge_engine = 'deduplicate', fillfactor = 80);
CREATE INDEX dedup_note ON dedup (lower(note)) WHERE note IS NOT NULL;
INSERT INTO dedup VALUES (1, 1, 'one'), (1, 3, 'three'), (1, 2, 'two'), (2, 5, NULL);
INSERT INTO dedup SELECT n, 1, repeat(md5(n::text), 200) FROM generate_series(100, 120) AS n;

CREATE TABLE patch (
	"order id" int, region text, status text DEFAULT 'new', amount numeric(18,2),
	PRIMARY KEY (region, "order id")
) USING merge_engine WITH (merge_engine = 'partial-update');
COMMENT ON TABLE patch IS 'patches of an order';
INSERT INTO patch VALUES (1, 'eu', 'paid', NULL), (1, 'eu', NULL, 80), (1, 'us', NULL, 7);
INSERT INTO patch ("order id", region, amount) VALUES (2, 'eu', 5), (1, 'eu', 75);

CREATE TABLE grouped (
	id int PRIMARY KEY, a text, b int, g1 int, c text, g2 int, g3 int
) USING merge_engine WITH (
	merge_engine = 'partial-update',
	"fields.g1.sequence-group" = 'a,b', "fields.g2,g3.sequence-group" = 'c',
	"fields.b.aggregate-function" = 'sum');
INSERT INTO grouped VALUES (1, 'a1', 1, 1, 'c5', 5, 5), (1, 'a3', 1, 3, 'c4', 4, 9), (1, 'a2', 1, 2, NULL, NULL, NULL);

CREATE TABLE totals (
	id int PRIMARY KEY, kind text, n int DEFAULT 1, amount numeric(18,2), names text, last date
) USING merge_engine WITH (
	merge_engine = 'aggregation', rowkind.field = 'kind',
	"fields.n.aggregate-function" = 'sum', "fields.amount.aggregate-function" = 'sum',
	"fields.names.aggregate-function" = 'listagg', "fields.names.list-agg-delimiter" = ''', ',
	"fields.names.ignore-retract" = 'true', "fields.last.aggregate-function" = 'max',
	"fields.last.ignore-retract" = 'true');
INSERT INTO totals VALUES (1, '+I', 1, 10, 'a', '2024-01-01'), (1, '+U', 1, 5, 'b', '2023-01-01'),
	(2, '+I', 1, 1, 'x', NULL), (1, '+U', 1, 0.5, NULL, NULL);

CREATE TABLE first_seen (
	id int PRIMARY KEY, at timestamp, who text REFERENCES people
) USING merge_engine WITH (merge_engine = 'first-row');
INSERT INTO first_seen VALUES (1, '2024-01-01', 'ada'), (1, '2023-01-01', 'sean'), (2, NULL, NULL);

CREATE TABLE parted (id int, day date, n int, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
CREATE TABLE parted_2023 PARTITION OF parted FOR VALUES FROM ('2023-01-01') TO ('2024-01-01')
	USING merge_engine WITH (merge_engine = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE TABLE parted_2024 PARTITION OF parted FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')
	USING merge_engine WITH (merge_engine = 'aggregation', "fields.n.aggregate-function" = 'max');
INSERT INTO parted VALUES (1, '2023-05-05', 1), (1, '2023-05-05', 2), (1, '2024-05-05', 1), (1, '2024-05-05', 2);

CREATE TABLE no_engine (id int PRIMARY KEY, note text);
INSERT INTO no_engine VALUES (1, 'a plain table');
