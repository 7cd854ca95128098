-- The tables of the stress tests, one for each order-free set of rules, each
-- with a log of the rows that were sent.  A writer logs in its own transaction,
-- so a log holds exactly what committed.

CREATE EXTENSION merge_engine;

-- Every row counts once; a row deleted by hand is logged as what it held, negated.
CREATE TABLE totals (k int PRIMARY KEY, kind text, n bigint, cnt bigint)
USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'kind', fillfactor = 70,
	"fields.n.aggregate-function" = 'sum', "fields.cnt.aggregate-function" = 'sum');
CREATE INDEX ON totals (n);
CREATE TABLE totals_log (batch bigint, k int, kind text, n bigint, cnt bigint);

-- Functions that do not depend on order, through a partitioned table.
CREATE TABLE extremes (k int PRIMARY KEY, hi bigint, lo bigint, anyone boolean, everyone boolean) PARTITION BY HASH (k);
CREATE TABLE extremes_0 PARTITION OF extremes FOR VALUES WITH (MODULUS 2, REMAINDER 0)
	USING merge_engine WITH (merge_engine = 'aggregation',
	"fields.hi.aggregate-function" = 'max', "fields.lo.aggregate-function" = 'min',
	"fields.anyone.aggregate-function" = 'bool_or', "fields.everyone.aggregate-function" = 'bool_and');
CREATE TABLE extremes_1 PARTITION OF extremes FOR VALUES WITH (MODULUS 2, REMAINDER 1)
	USING merge_engine WITH (merge_engine = 'aggregation',
	"fields.hi.aggregate-function" = 'max', "fields.lo.aggregate-function" = 'min',
	"fields.anyone.aggregate-function" = 'bool_or', "fields.everyone.aggregate-function" = 'bool_and');
CREATE INDEX ON extremes (hi);
CREATE TABLE extremes_log (batch bigint, k int, hi bigint, lo bigint, anyone boolean, everyone boolean);

-- The newest row, some of them too long for a page.
CREATE SEQUENCE versions START 1000000000 CACHE 10;
CREATE TABLE latest (k int PRIMARY KEY, version bigint, note text)
USING merge_engine WITH (merge_engine = 'deduplicate', sequence.field = 'version');
CREATE INDEX ON latest (version);
CREATE INDEX ON latest USING hash (md5(note));
CREATE TABLE latest_log (batch bigint, k int, version bigint);
CREATE FUNCTION note(version bigint) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE WHEN version % 50 = 0 THEN (SELECT string_agg(md5((version + i)::text), '') FROM generate_series(1, 300) AS i)
	ELSE 'v' || version END;

-- Two sequence groups, one with a function that takes late rows as well.
CREATE TABLE grouped (k int PRIMARY KEY, a text, b bigint, g1 bigint, c text, s bigint, g2 bigint)
USING merge_engine WITH (merge_engine = 'partial-update',
	"fields.g1.sequence-group" = 'a,b', "fields.g2.sequence-group" = 'c,s', "fields.s.aggregate-function" = 'sum');
CREATE TABLE grouped_log (batch bigint, LIKE grouped);

-- Each column has its own version, and rows come in any order.
CREATE TABLE versioned (k int PRIMARY KEY, a text, b bigint, c text, at bigint, v merge_engine.versions)
USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'at', versions.field = 'v');
CREATE TABLE versioned_log (batch bigint, k int, a text, b bigint, c text, at bigint);

-- No sequence, but each column has one writer, whose values only grow.
CREATE TABLE mine (k int PRIMARY KEY, c0 bigint, c1 bigint, c2 bigint, c3 bigint, c4 bigint, c5 bigint, c6 bigint, c7 bigint)
USING merge_engine WITH (merge_engine = 'partial-update');
CREATE TABLE mine_log (batch bigint, LIKE mine);

-- The first row: which one is first only the table knows.
CREATE TABLE earliest (k int PRIMARY KEY, version bigint, note text)
USING merge_engine WITH (merge_engine = 'first-row');
CREATE TABLE earliest_log (batch bigint, k int, version bigint);

DO $$
DECLARE
	log regclass;
BEGIN
	FOREACH log IN ARRAY ARRAY['totals_log', 'extremes_log', 'latest_log', 'grouped_log', 'versioned_log', 'mine_log', 'earliest_log']
	LOOP
		EXECUTE format('CREATE INDEX ON %s (batch)', log);
	END LOOP;
END $$;
