-- Random options, DDL and rows until :seconds are over.  Any error is right but
-- one that says "cannot happen" (SQLSTATE XX…); each of these is printed.
\set ON_ERROR_STOP on
SET client_min_messages = error;
DROP SCHEMA IF EXISTS fuzz CASCADE;
CREATE SCHEMA fuzz;
SET search_path = fuzz, public;
CREATE TYPE fuzz.pair AS (a int, b text);
CREATE DOMAIN fuzz.small AS int CHECK (value < 100);
CREATE FUNCTION fuzz.glue(text, text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT $1 || $2';
CREATE FUNCTION fuzz.fails(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 / ($2 - 3)';

-- One of the texts, at random.
CREATE FUNCTION fuzz.pick(VARIADIC texts text[]) RETURNS text LANGUAGE sql VOLATILE
AS 'SELECT texts[1 + floor(random() * cardinality(texts))::int]';

-- A short random text of any bytes that a text may have.
CREATE FUNCTION fuzz.noise() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT string_agg(fuzz.pick(chr(1 + (random() * 126)::int), chr(1 + (random() * 126)::int), '.', ',', '"', '''', ' ', '=',
		'ä', '語', chr(128512), '{', '}', '\', '-', '_'), '') FROM generate_series(1, (random() * 12)::int)
$$;

CREATE FUNCTION fuzz.col() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT fuzz.pick('k', 'a', 'b', 'c', 'd', 'kind', 'a b', 'Ü', 'x"y', 'x,y', 'no_such', repeat('long', 15))
$$;

CREATE FUNCTION fuzz.option_name() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE (random() * 8)::int
		WHEN 0 THEN fuzz.noise()
		WHEN 1 THEN fuzz.pick('fields.', 'sequence.', 'FIELDS.', '') || fuzz.noise()
		WHEN 2 THEN fuzz.pick('fillfactor', 'autovacuum_enabled', 'toast.autovacuum_enabled', 'bucket', 'file.format',
			'compaction.min.file-num', 'user_catalog_table', 'parallel_workers', 'versions.field')
		WHEN 3 THEN fuzz.pick('sequence.field', 'sequence_field', 'rowkind.field', 'sequence.field.sort-order', 'ignore-delete',
			'ignore_delete', 'ignore-update-before', 'partial-update.remove-record-on-delete',
			'partial-update.remove-record-on-sequence-group', 'aggregation.remove-record-on-delete', 'merge-engine')
		WHEN 4 THEN 'fields.default-aggregate-function'
		ELSE 'fields.' || fuzz.pick(fuzz.col(), fuzz.col(), fuzz.col() || ',' || fuzz.col(), fuzz.noise()) || '.'
			|| fuzz.pick('sequence-group', 'aggregate-function', 'aggregate-function', 'ignore-retract', 'distinct', 'list-agg-delimiter',
				'nested-key', 'count-limit', 'nested-sequence-field', 'nested-key-null-strategy', fuzz.noise())
		END
$$;

CREATE FUNCTION fuzz.option_value() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE (random() * 7)::int
		WHEN 0 THEN fuzz.noise()
		WHEN 1 THEN fuzz.pick('true', 'false', 'TRUE', 'on', '1', '', 'null', '-1', '99999999999999999999', '0.5', 'descending')
		WHEN 2 THEN fuzz.col() || ',' || fuzz.col()
		WHEN 3 THEN fuzz.pick('sum', 'product', 'count', 'max', 'min', 'last_value', 'last_non_null_value', 'first_value',
			'first_non_null_value', 'first_not_null_value', 'listagg', 'bool_and', 'bool_or', 'collect', 'merge_map',
			'merge_map_with_keytime', 'nested_update', 'nested_partial_update', 'rbm32', 'rbm64', 'hll_sketch', 'theta_sketch',
			'fuzz.glue', 'fuzz.fails', 'pg_catalog.int4pl', 'pg_catalog.numeric_mul', 'array_cat', 'no.such', 'fuzz."glue')
		WHEN 4 THEN fuzz.pick('deduplicate', 'partial-update', 'aggregation', 'first-row', 'AGGREGATION', 'partial_update')
		ELSE fuzz.col()
		END
$$;

-- An option of a column that a table with the engine may well accept.
CREATE FUNCTION fuzz.likely(engine text, col text, type text) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE engine
		WHEN 'deduplicate' THEN fuzz.pick(format('"sequence.field" = %L', col), '"ignore-delete" = true', '"ignore-update-before" = true')
		WHEN 'first-row' THEN fuzz.pick('"ignore-delete" = true', '"ignore-update-before" = true')
		WHEN 'partial-update' THEN fuzz.pick(format('"sequence.field" = %L', col), '"partial-update.remove-record-on-delete" = true',
			format('"fields.x,y.sequence-group" = %L', col), format('"fields.kind.sequence-group" = %L', col), '"ignore-delete" = true')
		ELSE format('%I = %L', 'fields.' || col || '.aggregate-function', CASE
			WHEN random() < 0.2 THEN fuzz.pick('last_value', 'last_non_null_value', 'first_value', 'first_non_null_value')
			WHEN type ~ 'int$|numeric|real|float|interval|small' THEN fuzz.pick('sum', 'product', 'max', 'min', 'count')
			WHEN type = 'boolean' THEN fuzz.pick('bool_and', 'bool_or')
			WHEN type ~ 'pair..' THEN fuzz.pick('nested_update', 'nested_partial_update', 'collect')
			WHEN type ~ '\[\]' THEN 'collect'
			WHEN type ~ 'json' THEN fuzz.pick('merge_map', 'merge_map_with_keytime')
			WHEN type = 'bytea' THEN fuzz.pick('rbm32', 'rbm64', 'hll_sketch', 'theta_sketch')
			WHEN type ~ 'text|char' THEN fuzz.pick('listagg', 'listagg', 'max', 'fuzz.glue')
			ELSE fuzz.pick('max', 'min', 'last_value') END)
		END
$$;

-- A list of options for WITH or SET.
CREATE FUNCTION fuzz.options(at_most int) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT string_agg(format('%I = %L', n, fuzz.option_value()), ', ')
	FROM (SELECT coalesce(nullif(fuzz.option_name(), ''), 'x') AS n FROM generate_series(1, 1 + (random() * at_most)::int)) AS names
$$;

CREATE FUNCTION fuzz.type() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT fuzz.pick('int', 'bigint', 'smallint', 'text', 'text', 'numeric(6,2)', 'numeric', 'boolean', 'real', 'float8', 'date', 'timestamptz',
		'interval', 'bytea', 'jsonb', 'json', 'int[]', 'text[]', 'fuzz.pair', 'fuzz.pair[]', 'fuzz.small', 'uuid', 'varchar(5)', 'char(3)',
		'point', 'int4range', 'xml', 'bit(3)', 'name', 'oid', 'inet', 'tsvector', '"char"', 'jsonb[]')
$$;

-- A value that may or may not fit, as a literal.
CREATE FUNCTION fuzz.value() RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT fuzz.pick('NULL', '''1''', '''0''', '''-7''', '''2147483647''', '''9223372036854775807''', '''t''', '''NaN''', '''Infinity''',
		'''2024-01-01''', '''{}''', '''{1,2,NULL}''', '''{"(1,x)","(,)"}''', '''(1,y)''', '''{"a": 1, "b": null}''', '''[1, 2]''',
		'''{"a": {"value": 1, "time": 5}}''', '''[{"key": "a", "value": 1}]''', '''\x3a300000010000000000010010000000010002''', '''\x00''', '''\x3b30''', '''abc''', '''''', '''+I''', '''-U''', '''+U''',
		'''-D''', '''d''', 'DEFAULT', '''00000000-0000-0000-0000-000000000001''', '''empty''', '''101''',
		quote_literal(fuzz.noise()), quote_literal(repeat(fuzz.noise(), 500)))
$$;

-- A value that does fit a type, mostly.
CREATE FUNCTION fuzz.fit(type text) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE
		WHEN random() < 0.1 THEN fuzz.value()
		WHEN type ~ '\[\]' AND type !~ 'pair|jsonb' THEN fuzz.pick('NULL', '''{}''', '''{1,2,2}''', '''{NULL,1}''', '''{{1,2},{3,4}}''', '''[5:6]={1,2}''')
		WHEN type ~ 'pair..' THEN fuzz.pick('''{"(1,a)","(2,)"}''', '''{NULL,"(1,b)"}''', '''{"(,)"}''', '''{}''', 'NULL')
		WHEN type ~ 'int$|numeric|real|float|small|oid' THEN fuzz.pick('NULL', '0', '1', '7', '-3', '99', '32767', '2147483647', '0.5', '''NaN''')
		WHEN type = 'boolean' THEN fuzz.pick('NULL', 'true', 'false')
		WHEN type ~ 'json' THEN fuzz.pick('NULL', '''{}''', '''{"a": 1}''', '''{"a": null, "b": [1]}''', '''[]''', '''1''', '''null''',
			'''{"a": {"value": 1, "time": 5}}''', '''[{"key": "a", "value": 1, "time": 2}]''', '''{"a": [1, 5], "b": ["x", null]}''')
		WHEN type = 'bytea' THEN fuzz.pick('NULL', '''\x3a300000010000000000010010000000010002''', '''\x3a30000000000000''', '''\x''',
			quote_literal('\x' || left(md5(random()::text), 2 * (random() * 16)::int)))
		WHEN type ~ 'text|char|name' THEN fuzz.pick('NULL', '''''', ''' ''', '''a''', '''a,a''', '''b,,a''', quote_literal(fuzz.noise()))
		WHEN type ~ 'date|time' THEN fuzz.pick('NULL', '''2024-01-01''', '''infinity''', '''-infinity''')
		WHEN type = 'interval' THEN fuzz.pick('NULL', '''1 day''', '''-3 months 2 hours''', '''170000000 years''')
		ELSE fuzz.value() END
$$;

CREATE FUNCTION fuzz.row_kind() RETURNS text LANGUAGE sql VOLATILE
AS $$ SELECT CASE WHEN random() < 0.9 THEN fuzz.pick('''+I''', '''+I''', '''+U''', '''-U''', '''-D''') ELSE fuzz.value() END $$;

CREATE TABLE fuzz.found (state text, message text, statement text);
CREATE TABLE fuzz.counts (what text PRIMARY KEY, n bigint DEFAULT 1) USING heap;

-- Run a statement; errors are what we are here for.
CREATE FUNCTION fuzz.try(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	state text;
	message text;
BEGIN
	EXECUTE statement;
	RETURN true;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
	IF state LIKE 'XX%' THEN
		INSERT INTO fuzz.found VALUES (state, message, left(statement, 1500));
	END IF;
	RETURN false;
END $$;

CREATE FUNCTION fuzz.count(what text) RETURNS void LANGUAGE sql
AS $$ INSERT INTO fuzz.counts VALUES ($1) ON CONFLICT (what) DO UPDATE SET n = counts.n + 1 $$;

-- One table's life.
CREATE FUNCTION fuzz.life() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	types text[] := ARRAY(SELECT fuzz.type() FROM generate_series(1, 7));
	key text := fuzz.pick('k', 'k', 'k', 'k', 'k', 'x,y', NULL);
	names text[] := ARRAY['a', 'b', 'c', 'd', 'a b', 'Ü', 'x"y'];
	n1 int;
	n2 int;
	engine text := fuzz.pick('deduplicate', 'partial-update', 'aggregation', 'aggregation', 'first-row');
	options text;
	ddl text;
BEGIN
	-- each option once; now and then one that is anything
	SELECT string_agg(o, ', ') INTO options FROM (
		SELECT DISTINCT ON (split_part(o, ' = ', 1)) o FROM (
			SELECT fuzz.likely(engine, names[i], types[i]) AS o FROM generate_series(1, 7) AS i
			WHERE random() < CASE WHEN engine = 'aggregation' THEN 0.9 ELSE 0.2 END
			UNION ALL SELECT '"rowkind.field" = kind' WHERE random() < 0.5) AS all_options) AS distinct_options;
	IF random() < 0.2 THEN
		options := concat_ws(', ', options, fuzz.options(1));
	END IF;
	ddl := format('CREATE TABLE fuzz.t (k %s, a %s, b %s, c %s %s, d %s, kind text, "a b" %s, "Ü" %s, "x""y" %s, "x,y" int%s) %s WITH (%s)',
		fuzz.pick('int', 'int', 'text', 'numeric'), types[1], types[2], types[3],
		fuzz.pick('', '', '', 'DEFAULT NULL', 'CHECK (c IS NOT NULL)'), types[4], types[5], types[6], types[7],
		CASE WHEN key IS NOT NULL THEN format(', PRIMARY KEY (%I)', key) ELSE '' END,
		CASE WHEN random() < 0.95 THEN 'USING merge_engine' ELSE fuzz.pick('USING heap', '') END,
		concat_ws(', ', CASE WHEN random() < 0.97 THEN format('merge_engine = %L', engine) END, options, 'fillfactor = 70'));
	PERFORM fuzz.count('CREATE TABLE');
	IF NOT fuzz.try(ddl) THEN
		RETURN;
	END IF;
	PERFORM fuzz.count('created');
	FOR i IN 1..12 LOOP
		n1 := 1 + floor(random() * 3);
		n2 := 4 + floor(random() * 4);
		ddl := CASE (random() * 20)::int
			WHEN 0 THEN format('ALTER TABLE fuzz.t SET (%s)', fuzz.options(2))
			WHEN 1 THEN format('ALTER TABLE fuzz.t RESET (%I)', coalesce(nullif(fuzz.option_name(), ''), 'x'))
			WHEN 2 THEN format('ALTER TABLE fuzz.t RENAME COLUMN %I TO %I', fuzz.col(), fuzz.pick('z', 'q"', fuzz.col()))
			WHEN 3 THEN format('ALTER TABLE fuzz.t DROP COLUMN %I', fuzz.col())
			WHEN 4 THEN format('ALTER TABLE fuzz.t ALTER COLUMN %I TYPE %s USING NULL', fuzz.col(), fuzz.type())
			WHEN 5 THEN fuzz.pick('ALTER TABLE fuzz.t SET ACCESS METHOD heap', 'ALTER TABLE fuzz.t SET ACCESS METHOD merge_engine',
				'ALTER TABLE fuzz.t DROP CONSTRAINT t_pkey', 'ALTER TABLE fuzz.t ADD PRIMARY KEY (k)', 'TRUNCATE fuzz.t', 'VACUUM FULL fuzz.t',
				'CREATE TABLE fuzz.u (LIKE fuzz.t INCLUDING ALL)', 'CREATE TABLE fuzz.u AS TABLE fuzz.t', 'CREATE INDEX ON fuzz.t (a)',
				'CREATE UNIQUE INDEX ON fuzz.t (b)')
			WHEN 6 THEN format('ALTER TABLE fuzz.t ADD COLUMN IF NOT EXISTS %I %s', fuzz.col(), fuzz.type())
			ELSE format('INSERT INTO fuzz.t (k, kind, %I, %I) VALUES %s %s', names[n1], names[n2],
				(SELECT string_agg(format('(%s, %s, %s, %s)', CASE WHEN random() < 0.97 THEN (random() * 3)::int::text ELSE fuzz.value() END,
					fuzz.row_kind(), fuzz.fit(types[n1]), fuzz.fit(types[n2])), ', ') FROM generate_series(1, 1 + (random() * 4)::int)),
				fuzz.pick('', 'RETURNING *'))
			END;
		PERFORM fuzz.count(split_part(ddl, ' ', 1));
		IF fuzz.try(ddl) THEN
			PERFORM fuzz.count(split_part(ddl, ' ', 1) || ' done');
		END IF;
	END LOOP;
	-- whatever it has come to, it can be read, described, copied and dropped
	PERFORM t::text FROM fuzz.t;
	PERFORM * FROM merge_engine.tables;
	EXECUTE 'ALTER TABLE fuzz.t SET (fillfactor = 60)';
	EXECUTE 'CREATE TABLE fuzz.v (LIKE fuzz.t)';
	EXECUTE 'INSERT INTO fuzz.v SELECT * FROM fuzz.t';
	EXECUTE 'DROP TABLE fuzz.t, fuzz.v';
	EXECUTE 'DROP TABLE IF EXISTS fuzz.u';
END $$;

-- Not in one transaction: locks and dead rows would grow.
CREATE PROCEDURE fuzz.run(seconds float8) LANGUAGE plpgsql AS $$
DECLARE
	until timestamptz := clock_timestamp() + make_interval(secs => seconds);
	state text;
	message text;
BEGIN
	WHILE clock_timestamp() < until LOOP
		BEGIN
			PERFORM fuzz.life();
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
			INSERT INTO fuzz.found VALUES (state, message, 'at the end of a table');
		END;
		COMMIT;
	END LOOP;
END $$;

SELECT setseed(:seed);
CALL fuzz.run(:seconds);
SELECT DISTINCT ON (state, message) 'FOUND', * FROM fuzz.found ORDER BY state, message, length(statement);
SELECT string_agg(format('%s %s', n, what), ', ' ORDER BY n DESC) FROM fuzz.counts;
