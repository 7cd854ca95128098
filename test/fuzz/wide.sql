-- 1,600 columns, each with options; rows of them.
SET client_min_messages = error;
SELECT format('CREATE TABLE wide (k int PRIMARY KEY, %s) USING merge_engine WITH (merge_engine = aggregation, %s)',
	string_agg(format('%I int', name), ', '),
	string_agg(format('"fields.%s.aggregate-function" = ''%s''', name, (ARRAY['sum', 'max', 'last_value'])[1 + i % 3]), ', '))
FROM (SELECT i, 'c' || i AS name FROM generate_series(1, 1599) AS i) AS columns
\gexec
SELECT format('INSERT INTO wide VALUES (1%1$s), (1%1$s), (2%1$s)', string_agg(', ' || i % 5, '' ORDER BY i))
FROM generate_series(1, 1599) AS i
\gexec
DO $$ BEGIN
	ASSERT (SELECT (c1, c2, c3, c4, c1599) = (1, 2, 6, 4, 8) FROM wide WHERE k = 1), (SELECT row(c1, c2, c3, c4, c1599) FROM wide WHERE k = 1);
	ASSERT (SELECT count(*) FROM wide) = 2;
END $$;
TRUNCATE wide;
ALTER TABLE wide RESET ("fields.c5.aggregate-function"), DROP COLUMN c5;
ALTER TABLE wide RENAME COLUMN c7 TO renamed;
INSERT INTO wide (k, c1598) VALUES (2, 9);

-- A row of 1,600 columns that no page can hold is an error.
CREATE TABLE broad (k int PRIMARY KEY) USING merge_engine;
SELECT format('ALTER TABLE broad %s', string_agg(format('ADD COLUMN c%s bigint', i), ', ')) FROM generate_series(1, 1599) AS i
\gexec
DO $$
BEGIN
	EXECUTE (SELECT format('INSERT INTO broad VALUES (1%s)', string_agg(', 1', '')) FROM generate_series(1, 1599));
	ASSERT false, 'the row must be too big';
EXCEPTION WHEN program_limit_exceeded THEN NULL;
END $$;
INSERT INTO broad (k, c1) VALUES (1, 1), (1, 2);

-- Names of 63 bytes, of several bytes a character.
SELECT format('CREATE TABLE %1$I (k int PRIMARY KEY, %2$I int, v int) USING merge_engine WITH (merge_engine = deduplicate, "sequence.field" = %2$L)',
	repeat('語', 21), repeat('é', 31) || 'x')
\gexec
SELECT format('INSERT INTO %I VALUES (1, 2, 2), (1, 1, 1)', repeat('語', 21))
\gexec
DO $$ BEGIN
	ASSERT (SELECT count(*) FROM merge_engine.tables WHERE table_name::text LIKE '%語%' AND sequence_fields = ARRAY[repeat('é', 31) || 'x']) = 1;
END $$;

-- Values of a megabyte in an option.
DO $$
BEGIN
	EXECUTE format('CREATE TABLE long_option (k int PRIMARY KEY, v text) USING merge_engine WITH (merge_engine = aggregation,
		"fields.v.aggregate-function" = listagg, "fields.v.list-agg-delimiter" = %L)', repeat('x', 1000000));
	INSERT INTO long_option VALUES (1, 'a'), (1, 'b');
	ASSERT (SELECT length(v) FROM long_option) = 1000002;
EXCEPTION WHEN program_limit_exceeded THEN NULL;
END $$;
