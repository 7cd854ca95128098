-- The statement buffer cannot be observed: not by its size, nor by how the
-- rows come, nor by queries inside the statement.
\pset format unaligned
\pset tuples_only on
CREATE TABLE buffer_source AS
SELECT i AS arrival, CASE WHEN i % 4 = 1 THEN i % 5 ELSE (i * 7919) % 601 END AS k, (i * 104729) % 1009 AS s,
	CASE WHEN i % 3 = 0 THEN i % 97 END AS a,
	CASE WHEN i % 4 < 2 THEN repeat(chr(97 + i % 26), 1 + i % 40) END AS b,
	CASE WHEN i % 5 = 0 THEN (i % 1000) / 10.0 END AS c,
	(ARRAY['+I', '+U', '-U', '-D'])[1 + (i * 31) % 4] AS op
FROM generate_series(1, 12000) i;
-- one table for each kind of rules: rows folded as they come, by version or
-- not; rows kept as they came; rows that need their whole order
CREATE FUNCTION buffer_tables(suffix text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE buffer_d_%s (k int PRIMARY KEY, s int, a int, b text, c numeric(8,2), op text)
		USING merge_engine WITH ("merge-engine" = ''deduplicate'', "sequence.field" = ''s'', "rowkind.field" = ''op'')', suffix);
	EXECUTE format('CREATE TABLE buffer_f_%s (k int PRIMARY KEY, s int, a int, b text, c numeric(8,2), op text)
		USING merge_engine WITH ("merge-engine" = ''first-row'')', suffix);
	EXECUTE format('CREATE TABLE buffer_p_%s (k int PRIMARY KEY, s int, a int DEFAULT 3, b text, c numeric(8,2), op text)
		USING merge_engine WITH ("merge-engine" = ''partial-update'', "sequence.field" = ''s'')', suffix);
	EXECUTE format('CREATE TABLE buffer_g_%s (k int PRIMARY KEY, s int, a int, b text, c numeric(8,2), op text)
		USING merge_engine WITH ("merge-engine" = ''partial-update'', "fields.s.sequence-group" = ''a,b'',
		"fields.a.aggregate-function" = ''sum'', "rowkind.field" = ''op'')', suffix);
	EXECUTE format('CREATE TABLE buffer_a_%s (k int PRIMARY KEY, s int, a int, b text, c numeric(8,2), op text)
		USING merge_engine WITH ("merge-engine" = ''aggregation'', "sequence.field" = ''s'',
		"fields.a.aggregate-function" = ''sum'', "fields.b.aggregate-function" = ''max'')', suffix);
	EXECUTE format('CREATE TABLE buffer_l_%s (k int PRIMARY KEY, s int, a int, b text, c numeric(8,2), op text)
		USING merge_engine WITH ("merge-engine" = ''aggregation'', "sequence.field" = ''s'', "rowkind.field" = ''op'',
		"aggregation.remove-record-on-delete" = ''true'', "ignore-update-before" = ''true'',
		"fields.a.aggregate-function" = ''product'', "fields.b.aggregate-function" = ''listagg'',
		"fields.a.ignore-retract" = ''true'', "fields.b.ignore-retract" = ''true'')', suffix);
END $$;
SELECT buffer_tables('small'), buffer_tables('large'), buffer_tables('copy'), buffer_tables('rows');
SET merge_engine.write_buffer = '64kB';
CREATE FUNCTION buffer_fill(suffix text, returning_rows text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	kind text;
BEGIN
	FOREACH kind IN ARRAY '{d,f,p,g,a,l}'::text[] LOOP
		-- two statements: the second meets stored rows
		FOR part IN 0 .. 1 LOOP
			-- a WITH or RETURNING keeps the rows from being buffered
			EXECUTE format(CASE WHEN returning_rows = '' THEN '%s' ELSE 'WITH filled AS (%s) SELECT' END,
				format('INSERT INTO buffer_%s_%s (k, s, %s b, c, op)
				SELECT k, s, %s left(b, CASE WHEN %L = ''l'' THEN 3 ELSE 99 END), c, op FROM buffer_source
				WHERE (arrival > 7000)::int = %s ORDER BY arrival %s',
				kind, suffix, CASE WHEN kind <> 'p' THEN 'a,' END,
				CASE kind WHEN 'p' THEN '' WHEN 'l' THEN 'a % 2,' ELSE 'a,' END, kind, part, returning_rows));
		END LOOP;
	END LOOP;
END $$;
SELECT buffer_fill('small', '');
SET merge_engine.write_buffer = '64MB';
SELECT buffer_fill('large', '');
RESET merge_engine.write_buffer;
SELECT buffer_fill('rows', 'RETURNING k');
-- the same by COPY, through files of the server's
SELECT current_setting('data_directory') || '/buffer_source' AS file \gset
SET merge_engine.write_buffer = '64kB';
COPY (SELECT k, s, a, b, c, op FROM buffer_source WHERE arrival <= 7000 ORDER BY arrival) TO :'file';
COPY buffer_d_copy FROM :'file';
COPY buffer_f_copy FROM :'file';
COPY buffer_g_copy FROM :'file';
COPY buffer_a_copy FROM :'file';
COPY (SELECT k, s, b, c, op FROM buffer_source WHERE arrival <= 7000 ORDER BY arrival) TO :'file';
COPY buffer_p_copy (k, s, b, c, op) FROM :'file';
COPY (SELECT k, s, a % 2, left(b, 3), c, op FROM buffer_source WHERE arrival <= 7000 ORDER BY arrival) TO :'file';
COPY buffer_l_copy FROM :'file';
COPY (SELECT k, s, a, b, c, op FROM buffer_source WHERE arrival > 7000 ORDER BY arrival) TO :'file';
COPY buffer_d_copy FROM :'file';
COPY buffer_f_copy FROM :'file';
COPY buffer_g_copy FROM :'file';
COPY buffer_a_copy FROM :'file';
COPY (SELECT k, s, b, c, op FROM buffer_source WHERE arrival > 7000 ORDER BY arrival) TO :'file';
COPY buffer_p_copy (k, s, b, c, op) FROM :'file';
COPY (SELECT k, s, a % 2, left(b, 3), c, op FROM buffer_source WHERE arrival > 7000 ORDER BY arrival) TO :'file';
COPY buffer_l_copy FROM :'file';
RESET merge_engine.write_buffer;
CREATE FUNCTION buffer_differs(kind text) RETURNS TABLE (rows bigint, differences bigint) LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT (SELECT count(*) FROM buffer_%1$s_small), (SELECT count(*) FROM
		((SELECT ''l'', t::text FROM buffer_%1$s_large t UNION ALL SELECT ''r'', t::text FROM buffer_%1$s_rows t
		  UNION ALL SELECT ''c'', t::text FROM buffer_%1$s_copy t)
		 EXCEPT ALL
		 SELECT w, t::text FROM buffer_%1$s_small t, unnest(''{l,r,c}''::text[]) w) d)', kind);
END $$;
SELECT kind, differences FROM unnest('{d,f,p,g,a,l}'::text[]) kind, buffer_differs(kind);
SELECT kind FROM unnest('{d,f,p,g,a,l}'::text[]) kind, buffer_differs(kind) WHERE rows = 0;
-- a query inside the statement sees the rows before it, as in any table
CREATE TABLE nested (k int PRIMARY KEY, n int, seen text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE FUNCTION nested_sum() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT count(*) || ' rows, ' || coalesce(sum(n), 0) FROM nested);
END $$;
INSERT INTO nested SELECT i % 2, 1, nested_sum() FROM generate_series(1, 5) i;
SELECT * FROM nested ORDER BY k;
-- also when it looks at the table through its parent
CREATE TABLE nested_parent (k int PRIMARY KEY, n int, seen text) PARTITION BY RANGE (k);
CREATE TABLE nested_part PARTITION OF nested_parent FOR VALUES FROM (0) TO (10)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE FUNCTION nested_parent_sum() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT count(*) || ' rows, ' || coalesce(sum(n), 0) FROM nested_parent);
END $$;
INSERT INTO nested_part SELECT i % 2, 1, nested_parent_sum() FROM generate_series(1, 5) i;
SELECT * FROM nested_parent ORDER BY k;
-- and what it writes itself is merged into
CREATE FUNCTION nested_add(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO nested VALUES (i % 2, 100, 'nested');
	RETURN 1;
END $$;
INSERT INTO nested SELECT i % 2, nested_add(i), 'outer' FROM generate_series(1, 4) i;
SELECT * FROM nested ORDER BY k;
-- two INSERTs of one query are one statement: the order of versions holds
CREATE TABLE twice (k int PRIMARY KEY, s int, a text, b text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 's');
WITH late AS (INSERT INTO twice SELECT 1, 5, NULL, 'b5' FROM generate_series(1, 2)),
	later AS (INSERT INTO twice VALUES (1, 2, 'a2', 'b2'), (1, 2, NULL, NULL))
INSERT INTO twice VALUES (1, 3, 'a3', NULL), (1, 1, 'a1', 'b1');
SELECT * FROM twice;
-- an error names the key, and leaves nothing behind
\set VERBOSITY default
CREATE TABLE fails (k1 int, k2 text, n int2, PRIMARY KEY (k1, k2))
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
INSERT INTO fails VALUES (1, 'x', 1), (2, 'y', 32767), (3, 'z', 1), (2, 'y', 1), (4, 'w', 1);
COPY fails FROM stdin;
1	x	1
2	y	32767
2	y	1
\.
SELECT count(*) FROM fails;
-- a subtransaction inside the statement that is rolled back takes none of the
-- statement's own rows along
CREATE TABLE kept (k int PRIMARY KEY, n int)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
CREATE FUNCTION look_and_fail(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		PERFORM count(*) FROM kept;
		IF i % 2 = 0 THEN
			RAISE EXCEPTION 'rolled back';
		END IF;
	EXCEPTION WHEN raise_exception THEN
		NULL;
	END;
	RETURN 1;
END $$;
INSERT INTO kept SELECT i % 10, look_and_fail(i) FROM generate_series(1, 100) i;
SELECT count(*), sum(n), min(n), max(n) FROM kept;
-- nor those that were folded already, or are in the sort
TRUNCATE kept;
INSERT INTO kept SELECT i % 1500, CASE WHEN i > 2990 THEN look_and_fail(i) ELSE 1 END FROM generate_series(1, 3000) i;
SET merge_engine.write_buffer = '64kB';
INSERT INTO kept SELECT i % 1500, CASE WHEN i > 2990 THEN look_and_fail(i) ELSE 1 END FROM generate_series(1, 3000) i;
RESET merge_engine.write_buffer;
SELECT count(*), sum(n), min(n), max(n) FROM kept;
-- rows that wait once more are older than those that came meanwhile, however many
-- they are and wherever these wait
CREATE TABLE kept_last (k int PRIMARY KEY, n int) USING merge_engine
	WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'last_value');
CREATE FUNCTION look_and_fail_each(i int, n int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i % n = 0 THEN
		PERFORM count(*) FROM kept_last;
		RAISE EXCEPTION 'rolled back';
	END IF;
	RETURN i;
EXCEPTION WHEN raise_exception THEN
	RETURN i;
END $$;
INSERT INTO kept_last SELECT i % 3, look_and_fail_each(i, 10) FROM generate_series(1, 25) i;
SELECT * FROM kept_last ORDER BY k;
INSERT INTO kept_last SELECT i % 3, look_and_fail_each(i, 900) FROM generate_series(1, 1001) i;
SELECT * FROM kept_last ORDER BY k;
INSERT INTO kept_last SELECT i % 3, look_and_fail_each(i, 2000) FROM generate_series(1, 5000) i;
SELECT * FROM kept_last ORDER BY k;
SET merge_engine.write_buffer = '64kB';
INSERT INTO kept_last SELECT i % 3, look_and_fail_each(i, 4000) FROM generate_series(1, 9000) i;
RESET merge_engine.write_buffer;
SELECT * FROM kept_last ORDER BY k;
-- nor do they depend on the subtransaction in which they come to wait once more, be
-- it that they have to wait on disk
CREATE TABLE other (k int);
CREATE TABLE kept_wide (k int PRIMARY KEY, n int, filler text) USING merge_engine;
CREATE FUNCTION look_and_look_elsewhere(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i = 4000 THEN
		PERFORM count(*) FROM kept_wide;
		RAISE EXCEPTION 'rolled back';
	ELSIF i = 4002 THEN
		PERFORM count(*) FROM other;
		RAISE EXCEPTION 'rolled back';
	END IF;
	RETURN i;
EXCEPTION WHEN raise_exception THEN
	RETURN i;
END $$;
SET merge_engine.write_buffer = '64kB';
INSERT INTO kept_wide SELECT i, look_and_look_elsewhere(i), repeat('.', 100) FROM generate_series(1, 9000) i;
RESET merge_engine.write_buffer;
SELECT count(*), sum(n) FROM kept_wide;
-- where an error is caught in the middle of that, no row is lost without a word, nor
-- where how the statement's other rows were merged is forgotten
CREATE FUNCTION look_and_run_out(i int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF i = 4000 THEN
		PERFORM set_config('temp_file_limit', '1kB', true);
		PERFORM count(*) FROM kept_wide;
	END IF;
	RETURN i;
EXCEPTION WHEN configuration_limit_exceeded THEN
	RETURN i;
END $$;
TRUNCATE kept_wide;
SET merge_engine.write_buffer = '64kB';
INSERT INTO kept_wide SELECT i, look_and_run_out(i), repeat('.', 100) FROM generate_series(1, 6000) i;
RESET merge_engine.write_buffer;
SELECT count(*) FROM kept_wide;
CREATE TABLE kept_newest (k int PRIMARY KEY, v int, s int) USING merge_engine
	WITH ("merge-engine" = 'partial-update', sequence.field = 's');
CREATE FUNCTION look(i int, what text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF what <> '' THEN
		PERFORM count(*) FROM kept_newest;
	END IF;
	IF what = 'fail' THEN
		RAISE EXCEPTION 'rolled back';
	END IF;
	RETURN i;
EXCEPTION WHEN raise_exception THEN
	RETURN i;
END $$;
INSERT INTO kept_newest SELECT look(k, what), v, s FROM (VALUES (1, 5, 5, ''), (1, NULL, 9, ''), (2, 1, 9, ''),
	(2, 2, 8, 'fail'), (1, 7, 7, '')) i (k, v, s, what);
SELECT * FROM kept_newest WHERE k = 1;
INSERT INTO kept_newest SELECT look(k, what), v, s FROM (VALUES (1, 5, 15, ''), (1, NULL, 19, ''), (2, 1, 19, 'look'),
	(2, 2, 18, 'fail'), (1, 7, 17, '')) i (k, v, s, what);
-- two INSERTs of one query that run row by row
CREATE TABLE both_sides (k int PRIMARY KEY, a int, b int) USING merge_engine WITH ("merge-engine" = 'partial-update');
WITH first AS (INSERT INTO both_sides (k, a) SELECT i, i FROM generate_series(1, 10) i RETURNING k)
INSERT INTO both_sides (k, b) SELECT k + 5, k FROM first WHERE k < 9;
SELECT count(*), sum(a), sum(b) FROM both_sides;
-- COPY that inserts row by row, and COPY into more partitions than it keeps open
CREATE TABLE volatile_default (k int PRIMARY KEY, v float DEFAULT random(), a int)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
COPY volatile_default (k, a) FROM stdin;
1	1
2	2
1	3
\.
SELECT k, a FROM volatile_default ORDER BY k;
-- rows of one COPY that end in the same tuple have one index entry
CREATE TABLE same_tuple (k int PRIMARY KEY, a text) USING merge_engine;
CREATE INDEX same_tuple_a ON same_tuple (upper(a));
COPY same_tuple FROM stdin;
1	a
2	b
1	c
3	d
2	e
\.
SET enable_seqscan = off;
SELECT k, a FROM same_tuple WHERE upper(a) >= 'A' ORDER BY upper(a);
SELECT count(*) FROM same_tuple WHERE k > 0;
RESET enable_seqscan;
CREATE TABLE many_parts (k int PRIMARY KEY, s int, a int, b int) PARTITION BY RANGE (k);
DO $$
BEGIN
	FOR i IN 0 .. 49 LOOP
		EXECUTE format('CREATE TABLE many_parts_%s PARTITION OF many_parts FOR VALUES FROM (%s) TO (%s)
			USING merge_engine WITH ("merge-engine" = ''partial-update'', "sequence.field" = ''s'')', i, i * 10, i * 10 + 10);
	END LOOP;
END $$;
-- each key comes ten times, the newest first; b only with the oldest
COPY (SELECT (i * 79) % 500, 10 - i / 500, i / 500, CASE WHEN i / 500 = 9 THEN 1 END FROM generate_series(0, 4999) i) TO :'file';
COPY many_parts FROM :'file';
SELECT count(*), sum(s), sum(a), sum(b) FROM many_parts;
-- a key type without a hash function; the error of a long group names its key
CREATE TABLE no_hash (k money[] PRIMARY KEY, a int) USING merge_engine;
INSERT INTO no_hash SELECT ARRAY[(i % 1500)::money], i FROM generate_series(1, 3000) i;
SELECT count(*), min(a) FROM no_hash;
CREATE TABLE long_group (k int PRIMARY KEY, n int)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.n.aggregate-function" = 'sum');
INSERT INTO long_group SELECT i, 1 FROM generate_series(1, 20000) i UNION ALL SELECT 10001, 2000000000 FROM generate_series(1, 100);
-- a long group that cannot be folded is merged in parts
CREATE TABLE in_parts (k int PRIMARY KEY, n int, g int, free int, op text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "fields.g.sequence-group" = 'n',
		"fields.n.aggregate-function" = 'sum', "rowkind.field" = 'op');
INSERT INTO in_parts SELECT i % 2, 1, i, i, '+I' FROM generate_series(1, 10001) i;
SELECT * FROM in_parts ORDER BY k;
-- a further unique index admits rows in the order of input only
CREATE TABLE swap (k int PRIMARY KEY, w text UNIQUE) USING merge_engine;
INSERT INTO swap VALUES (1, 'a'), (2, 'b');
INSERT INTO swap VALUES (2, 'c'), (1, 'b');
SELECT * FROM swap ORDER BY k;
-- COPY merges a batch before the executor looks at its constraints
CREATE TABLE excluded (k int PRIMARY KEY, r int4range, EXCLUDE USING gist (r WITH &&))
	USING merge_engine WITH ("merge-engine" = 'partial-update');
COPY excluded FROM stdin;
6	[30,35)
6	[30,34)
6	[31,33)
\.
SELECT * FROM excluded;
-- a removal cascades, even if the key comes back in the same statement, by
-- whatever way it comes
CREATE TABLE parent (k int PRIMARY KEY, v int, op text)
	USING merge_engine WITH ("merge-engine" = 'deduplicate', "rowkind.field" = 'op');
CREATE TABLE child (k int PRIMARY KEY, parent int REFERENCES parent ON DELETE CASCADE);
INSERT INTO parent VALUES (1, 1, '+I'), (2, 1, '+I'), (3, 1, '+I'), (4, 1, '+I');
INSERT INTO child VALUES (1, 1), (2, 2), (3, 3), (4, 4);
INSERT INTO parent VALUES (1, NULL, '-D'), (1, 5, '+I');
INSERT INTO parent VALUES (2, NULL, '-D'), (2, 5, '+I') RETURNING k, v, op;
COPY parent FROM stdin;
3	\N	-D
3	5	+I
\.
SELECT * FROM parent ORDER BY k;
SELECT * FROM child;
-- a generated column, and an update that is not HOT
CREATE TABLE generated (k int PRIMARY KEY, v int, g int GENERATED ALWAYS AS (k + v) STORED)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
CREATE INDEX ON generated (v);
INSERT INTO generated VALUES (1, 1);
INSERT INTO generated VALUES (1, 2);
INSERT INTO generated SELECT 1, i FROM generate_series(3, 4) i;
SELECT * FROM generated;
-- a merged row may not leave its partition
CREATE TABLE bounds (k int, r int) PARTITION BY RANGE (r);
CREATE TABLE bounds_low (k int PRIMARY KEY, r int)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.r.aggregate-function" = 'sum');
ALTER TABLE bounds ATTACH PARTITION bounds_low FOR VALUES FROM (0) TO (10);
INSERT INTO bounds VALUES (1, 6), (1, 7);
-- an error while rows wait names the key
INSERT INTO long_group SELECT i % 10, 2000000 FROM generate_series(1, 50000) i;
INSERT INTO parent VALUES (8, 1, '+I'), (9, 1, 'xx');
INSERT INTO in_parts VALUES (8, 1, 1, 1, '+I'), (9, 1, 1, 1, 'xx');
