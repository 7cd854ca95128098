--
-- Random histories: tables, statements and their text.
--
-- model.define() declares a table in a short notation, model.generate() makes
-- its history, model.ddl() and model.script() give the SQL that runs it, and
-- model.differences() compares the outcome with the model's.
--

-- Declares a table.  "fields" is a list, separated by semicolons, of
--		name type [function] [group=N] [default=V] [distinct] [delimiter=D] [ignore-retract]
-- and each of "groups" a list of sequence fields, separated by commas; one with
-- an exclamation mark is named by remove-record-on-sequence-group.
CREATE FUNCTION model.define(name text, engine text, fields text, groups text[] DEFAULT '{}',
	sequence text[] DEFAULT '{}', descending bool DEFAULT false, rowkind text DEFAULT NULL,
	ignore_delete bool DEFAULT false, ignore_update_before bool DEFAULT false,
	remove_on_delete bool DEFAULT false, default_function text DEFAULT NULL,
	partial_names bool DEFAULT false, versions bool DEFAULT false, tombstones bool DEFAULT false,
	explicit_null bool DEFAULT false)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	item text;
	word text;
	words text[];
	f model.field;
	parsed model.field[] := '{}';
	parsed_groups model.sequence_group[] := '{}';
	g model.sequence_group;
	ordering text[] := sequence;
BEGIN
	FOREACH item IN ARRAY groups LOOP
		g.fields := string_to_array(replace(item, '!', ''), ',');
		g.removes := substring(item FROM '(\w+)!');
		parsed_groups := parsed_groups || g;
		ordering := ordering || g.fields;
	END LOOP;
	FOREACH item IN ARRAY regexp_split_to_array(fields, '\s*;\s*') LOOP
		words := string_to_array(item, ' ');
		f := NULL;
		f.name := words[1];
		f.type := words[2];
		FOREACH word IN ARRAY words[3:] LOOP
			CASE split_part(word, '=', 1)
				WHEN 'group' THEN f.group_no := split_part(word, '=', 2);
				WHEN 'default' THEN f.value_default := split_part(word, '=', 2);
				WHEN 'delimiter' THEN f.delimiter := split_part(word, '=', 2);
				WHEN 'distinct' THEN f.list_distinct := true;
				WHEN 'ignore-retract' THEN f.ignore_retract := true;
				ELSE f.function := word;
			END CASE;
		END LOOP;
		IF f.function IS NULL AND f.name <> ALL (ordering) AND f.name IS DISTINCT FROM rowkind AND
			(engine = 'aggregation' OR (engine = 'partial-update' AND f.group_no IS NOT NULL))
		THEN
			f.function := coalesce(default_function,
				CASE engine WHEN 'aggregation' THEN 'last_non_null_value' END);
			f.implied := true;
		END IF;
		parsed := parsed || f;
	END LOOP;
	INSERT INTO model.rules
	SELECT count(*) + 1, define.name, define.engine, parsed, parsed_groups, define.sequence,
		define.descending, define.rowkind, define.ignore_delete, define.ignore_update_before,
		define.remove_on_delete, define.default_function, define.partial_names,
		define.versions, define.tombstones, define.explicit_null
	FROM model.rules;
END $$;

-- The columns of the table; the key comes first or last.
CREATE FUNCTION model.columns(r model.rules) RETURNS text[]
LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN r.id % 2 = 1 THEN ARRAY['k'] || array_agg(name ORDER BY n)
		ELSE array_agg(name ORDER BY n) || ARRAY['k'] END
	FROM unnest(r.fields) WITH ORDINALITY t(name, type, value_default, function, group_no,
		list_distinct, delimiter, ignore_retract, implied, n)
$$;

-- The table's options, as name = value.
CREATE FUNCTION model.options(r model.rules) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
	result text[] := ARRAY[format('"merge-engine" = %L', r.engine)];
	f model.field;
	g model.sequence_group;
BEGIN
	IF cardinality(r.sequence) > 0 THEN
		result := result || format('"sequence.field" = %L', array_to_string(r.sequence, ','));
	END IF;
	IF r.descending THEN
		result := result || '"sequence.field.sort-order" = ''descending'''::text;
	END IF;
	IF r.rowkind IS NOT NULL THEN
		result := result || format('"rowkind.field" = %L', r.rowkind);
	END IF;
	IF r.ignore_delete THEN
		result := result || '"ignore-delete" = ''true'''::text;
	END IF;
	IF r.ignore_update_before THEN
		result := result || '"ignore-update-before" = ''true'''::text;
	END IF;
	IF r.remove_on_delete THEN
		result := result || format('"%s.remove-record-on-delete" = ''true''', r.engine);
	END IF;
	IF r.versions THEN
		result := result || '"versions.field" = ''v'''::text;
	END IF;
	IF r.tombstones THEN
		result := result || '"tombstones" = ''true'''::text;
	END IF;
	IF r.explicit_null THEN
		result := result || '"explicit-null" = ''clear'''::text;
	END IF;
	IF r.default_function IS NOT NULL THEN
		result := result || format('"fields.default-aggregate-function" = %L', r.default_function);
	END IF;
	FOR i IN 1 .. cardinality(r.groups) LOOP
		g := r.groups[i];
		result := result || format('"fields.%s.sequence-group" = %L',
			array_to_string(g.fields, ','),
			(SELECT string_agg(name, ',') FROM unnest(r.fields) WHERE group_no = i));
	END LOOP;
	IF EXISTS (SELECT FROM unnest(r.groups) u WHERE u.removes IS NOT NULL) THEN
		result := result || format('"partial-update.remove-record-on-sequence-group" = %L',
			(SELECT string_agg(u.removes, ',') FROM unnest(r.groups) u));
	END IF;
	FOREACH f IN ARRAY r.fields LOOP
		IF f.function IS NOT NULL AND f.implied IS NULL THEN
			result := result || format('"fields.%s.aggregate-function" = %L', f.name, f.function);
		END IF;
		IF f.list_distinct THEN
			result := result || format('"fields.%s.distinct" = ''true''', f.name);
		END IF;
		IF f.delimiter IS NOT NULL THEN
			result := result || format('"fields.%s.list-agg-delimiter" = %L', f.name, f.delimiter);
		END IF;
		IF f.ignore_retract THEN
			result := result || format('"fields.%s.ignore-retract" = ''true''', f.name);
		END IF;
	END LOOP;
	RETURN array_to_string(result, ', ');
END $$;

-- The table, with an index: every third has a dropped column, every fifth is
-- partitioned, with partitions whose columns are in another order.
-- The door that rows come through: the access method, or a merge trigger.
CREATE FUNCTION model.by_trigger() RETURNS bool
LANGUAGE sql STABLE AS $$ SELECT coalesce(current_setting('model.door', true) = 'trigger', false) $$;

CREATE FUNCTION model.ddl(r model.rules) RETURNS SETOF text
LANGUAGE plpgsql STABLE AS $$
DECLARE
	items text[] := '{}';
	backward text[] := '{}';
	item text;
	column_name text;
	f model.field;
	storage text := CASE WHEN NOT model.by_trigger() THEN format('USING merge_engine WITH (%s)', model.options(r)) END;
BEGIN
	FOREACH column_name IN ARRAY model.columns(r) LOOP
		SELECT * INTO f FROM unnest(r.fields) u WHERE u.name = column_name;
		item := CASE WHEN column_name = 'k' THEN 'k int PRIMARY KEY' ELSE
			format('%s %s%s', f.name,
				CASE f.type WHEN 'int' THEN 'bigint' WHEN 'numeric' THEN 'numeric(20,2)' ELSE f.type END,
				' DEFAULT ' || quote_literal(f.value_default)) END;
		items := items || item;
		backward := item || backward;
	END LOOP;
	IF r.versions THEN
		items := items || 'v merge_engine.versions'::text;
		backward := 'v merge_engine.versions'::text || backward;
	END IF;
	IF r.id % 5 = 0 THEN
		RETURN NEXT format('CREATE TABLE history.t (%s) PARTITION BY HASH (k);', array_to_string(items, ', '));
		FOR i IN 0 .. 1 LOOP
			RETURN NEXT format('CREATE TABLE history.t%s (%s, gone text) %s;', i,
				array_to_string(CASE i WHEN 0 THEN backward ELSE items END, ', '), storage);
			RETURN NEXT format('ALTER TABLE history.t%s DROP COLUMN gone;', i);
			RETURN NEXT format('ALTER TABLE history.t ATTACH PARTITION history.t%s'
				' FOR VALUES WITH (MODULUS 2, REMAINDER %s);', i, i);
		END LOOP;
	ELSE
		RETURN NEXT format('CREATE TABLE history.t (%s%s) %s;',
			CASE WHEN r.id % 3 = 0 THEN 'gone text, ' END, array_to_string(items, ', '), storage);
		IF r.id % 3 = 0 THEN
			RETURN NEXT 'ALTER TABLE history.t DROP COLUMN gone;';
		END IF;
	END IF;
	RETURN NEXT format('CREATE INDEX ON history.t (%s, k);', r.fields[1].name);
	IF model.by_trigger() THEN
		RETURN NEXT format('CREATE TRIGGER merge BEFORE INSERT ON history.t FOR EACH ROW'
			' EXECUTE FUNCTION merge_engine.merge_trigger(%s);',
			regexp_replace(model.options(r), '"([^"]+)" = ''', '''\1=', 'g'));
	END IF;
END $$;

-- One of the texts.
CREATE FUNCTION model.pick(VARIADIC choices text[]) RETURNS text
LANGUAGE sql VOLATILE AS $$ SELECT choices[1 + floor(random() * cardinality(choices))::int] $$;

-- A random value for a column; "progress" grows from 0 to 1 with the history.
CREATE FUNCTION model.random_value(r model.rules, f model.field, progress float8) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF f.name = r.rowkind THEN
		RETURN to_jsonb(CASE
			WHEN r.engine = 'first-row' OR random() < 0.7 THEN model.pick('+I', '+I', '+U', '+i')
			ELSE model.pick('-D', '-U', '-d')
		END);
	ELSIF f.name = ANY (r.sequence) OR
		EXISTS (SELECT FROM unnest(r.groups) g WHERE f.name = ANY (g.fields)) THEN
		IF random() < 0.12 THEN
			RETURN 'null';
		END IF;
		-- late and new ones, with ties
		progress := CASE WHEN r.descending THEN 1 - progress ELSE progress END;
		RETURN to_jsonb((progress * 24 + random() * 10)::int
						/ CASE WHEN f.name LIKE '%1' THEN 4 ELSE 1 END);
	ELSIF random() < 0.3 THEN
		RETURN 'null';
	END IF;
	CASE
		WHEN f.function = 'product' THEN
			RETURN to_jsonb((ARRAY[1, -1, 2, -2, 1])[1 + floor(random() * 5)::int]);
		WHEN f.function = 'listagg' THEN
			RETURN to_jsonb(replace(model.pick('a', 'b', 'c', 'd', 'a,b', 'c,a', 'd''"e', ' ', '', 'a, ,b'),
									',', coalesce(f.delimiter, ',')));
		WHEN f.type = 'bool' THEN
			RETURN to_jsonb(random() < 0.5);
		WHEN f.type = 'text' THEN
			RETURN to_jsonb(model.pick('x', 'y', 'Z', 'é', 'it''s', 'a "b", c', E'tab\there', '\N'));
		WHEN f.type = 'numeric' THEN
			RETURN to_jsonb((random() * 200 - 100)::numeric(10, 2));
		ELSE
			RETURN to_jsonb((random() * 200 - 100)::int);
	END CASE;
END $$;

-- Makes about "total" rows of history.
CREATE FUNCTION model.generate(rules_id int, total int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	r model.rules;
	f model.field;
	made int := 0;
	statement int := 0;
	size int;
	method text;
	keys int := greatest(total / 16, 4);
	hot int;
	named text[];
	fields jsonb;
BEGIN
	SELECT * INTO r FROM model.rules WHERE id = rules_id;
	WHILE made < total LOOP
		statement := statement + 1;
		method := model.pick('single', 'values', 'select', 'copy', 'csv', 'returning',
							 'plain returning', 'prepared', 'plpgsql', 'cte');
		size := CASE
			WHEN method IN ('single', 'prepared') THEN 1
			WHEN method IN ('select', 'copy', 'csv') THEN 1 + floor(random() * 40)
			ELSE 1 + floor(random() * 9)
		END;
		named := NULL;
		IF r.partial_names AND random() < 0.7 THEN
			SELECT array_agg(u.name) INTO named
			FROM unnest(r.fields) u WHERE random() < 0.6 OR u.name = r.rowkind;
			named := coalesce(named, '{}');
		END IF;
		-- most rows of a statement go to a few keys
		hot := floor(random() * keys);
		FOR n IN 1 .. size LOOP
			fields := '{}';
			FOREACH f IN ARRAY r.fields LOOP
				IF named IS NULL OR f.name = ANY (named) THEN
					fields := fields || jsonb_build_object(f.name,
						model.random_value(r, f, made::float8 / total));
				END IF;
			END LOOP;
			INSERT INTO model.history
			SELECT rules_id, statement, n, method, key, fields || jsonb_build_object('k', key)
			FROM (SELECT CASE WHEN random() < 0.7 THEN (hot + floor(random() * 3)::int) % keys
					ELSE floor(random() * keys)::int END AS key) AS choice;
			made := made + 1;
		END LOOP;
	END LOOP;
END $$;

-- A field of COPY's text format.
CREATE FUNCTION model.copy_text(value text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(replace(replace(replace(value, E'\\', E'\\\\'), E'\t', E'\\t'), E'\n', E'\\n'), E'\\N')
$$;

-- The psql script that runs a history on the table history.t.
CREATE FUNCTION model.script(rules_id int) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	r model.rules;
	s record;
	columns text[];
	list text;
	target text;
	tuples text;
	command text;
	plan text;
	plans text[] := '{}';
	in_transaction bool := false;
	half int;
BEGIN
	SELECT * INTO r FROM model.rules WHERE id = rules_id;
	SELECT max(statement) / 2 INTO half FROM model.history WHERE rules = rules_id;
	FOR s IN
		SELECT statement, min(method) AS method, array_agg(fields ORDER BY n) AS rows
		FROM model.history WHERE rules = rules_id
		GROUP BY statement ORDER BY statement
	LOOP
		SELECT array_agg(name ORDER BY n) INTO columns
		FROM unnest(model.columns(r)) WITH ORDINALITY t(name, n) WHERE s.rows[1] ? name;
		list := array_to_string(columns, ', ');
		-- columns at the end may be left out without a list
		target := CASE
			WHEN columns = (model.columns(r))[: cardinality(columns)] AND random() < 0.5 THEN ''
			ELSE format(' (%s)', list)
		END;
		SELECT string_agg(format('(%s)', v.text), ', ' ORDER BY n) INTO tuples
		FROM unnest(s.rows) WITH ORDINALITY t(row, n),
			LATERAL (SELECT string_agg(coalesce(quote_literal(t.row ->> name), 'NULL'), ', ' ORDER BY i)
					 FROM unnest(columns) WITH ORDINALITY c(name, i)) AS v(text);

		-- the second half runs with a row trigger
		IF s.statement = half THEN
			IF in_transaction THEN
				RETURN NEXT 'COMMIT;';
				in_transaction := false;
			END IF;
			RETURN NEXT 'CREATE TRIGGER watch AFTER INSERT OR UPDATE OR DELETE ON history.t'
				' FOR EACH ROW EXECUTE FUNCTION model.watch();';
		END IF;
		IF NOT in_transaction AND random() < 0.2 THEN
			RETURN NEXT 'BEGIN;';
			in_transaction := true;
		ELSIF in_transaction AND random() < 0.3 THEN
			RETURN NEXT 'COMMIT;';
			in_transaction := false;
		END IF;
		-- a statement that is rolled back leaves nothing
		IF in_transaction AND random() < 0.3 THEN
			RETURN NEXT 'SAVEPOINT s;';
			RETURN NEXT format('INSERT INTO history.t (%s) VALUES %s;', list, tuples);
			RETURN NEXT 'ROLLBACK TO s;';
		END IF;

		command := format('INSERT INTO history.t%s VALUES %s', target, tuples);
		CASE s.method
			WHEN 'single', 'values' THEN
				RETURN NEXT command || ';';
			WHEN 'select' THEN
				RETURN NEXT format('INSERT INTO history.t (%s) SELECT %s FROM (SELECT'
					' jsonb_populate_record(NULL::history.t, fields) AS r FROM model.history'
					' WHERE rules = %s AND statement = %s ORDER BY n) AS q;',
					list, (SELECT string_agg('(r).' || name, ', ' ORDER BY n)
						   FROM unnest(columns) WITH ORDINALITY t(name, n)),
					rules_id, s.statement);
			WHEN 'copy' THEN
				RETURN NEXT format('COPY history.t%s FROM stdin;',
					CASE WHEN columns = model.columns(r) AND NOT r.versions THEN target ELSE format(' (%s)', list) END);
				RETURN QUERY
					SELECT (SELECT string_agg(model.copy_text(t.row ->> name), E'\t' ORDER BY i)
							FROM unnest(columns) WITH ORDINALITY c(name, i))
					FROM unnest(s.rows) WITH ORDINALITY t(row, n) ORDER BY n;
				RETURN NEXT E'\\.';
			WHEN 'csv' THEN
				RETURN NEXT format('COPY history.t (%s) FROM stdin (FORMAT csv);', list);
				RETURN QUERY
					SELECT (SELECT string_agg(coalesce('"' || replace(t.row ->> name, '"', '""') || '"', ''),
											  ',' ORDER BY i)
							FROM unnest(columns) WITH ORDINALITY c(name, i))
					FROM unnest(s.rows) WITH ORDINALITY t(row, n) ORDER BY n;
				RETURN NEXT E'\\.';
			WHEN 'returning' THEN
				RETURN NEXT format('WITH r AS (%s RETURNING *) INSERT INTO model.shown'
					' SELECT %s, %s, row_number() OVER (), to_jsonb(r) FROM r;',
					command, rules_id, s.statement);
			WHEN 'plain returning' THEN
				RETURN NEXT command || ' RETURNING k;';
			WHEN 'prepared' THEN
				plan := 'p_' || md5(list);
				IF plan <> ALL (plans) THEN
					plans := plans || plan;
					RETURN NEXT format('PREPARE %s AS INSERT INTO history.t (%s) VALUES (%s);', plan, list,
						(SELECT string_agg('$' || i, ', ' ORDER BY i)
						 FROM generate_subscripts(columns, 1) i));
				END IF;
				RETURN NEXT format('EXECUTE %s %s;', plan, tuples);
			WHEN 'plpgsql' THEN
				RETURN NEXT format('DO $do$ BEGIN %s; END $do$;', command);
			WHEN 'cte' THEN
				RETURN NEXT format('WITH w AS (%s) SELECT 1 WHERE false;', command);
		END CASE;
	END LOOP;
	IF in_transaction THEN
		RETURN NEXT 'COMMIT;';
	END IF;
END $$;

CREATE FUNCTION model.watch() RETURNS trigger
LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;

-- What RETURNING has shown.
CREATE TABLE model.shown (rules int, statement int, n int, fields jsonb);

-- Rows in a form that can be compared: a blank list is as good as none.
CREATE FUNCTION model.normal(r model.rules, fields jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	f model.field;
BEGIN
	IF r.versions THEN
		fields := fields - 'v';
	END IF;
	FOREACH f IN ARRAY r.fields LOOP
		IF f.function = 'listagg' AND fields ->> f.name ~ '^\s*$' THEN
			fields := fields || jsonb_build_object(f.name, NULL);
		ELSIF f.name = r.rowkind AND r.engine = 'first-row' THEN
			fields := fields - f.name;
		END IF;
	END LOOP;
	RETURN fields;
END $$;

-- The differences between the table history.t and the model.
CREATE FUNCTION model.differences(rules_id int)
RETURNS TABLE (what text, k int, expected jsonb, got jsonb)
LANGUAGE plpgsql AS $$
DECLARE
	r model.rules;
BEGIN
	SELECT * INTO r FROM model.rules WHERE id = rules_id;
	RETURN QUERY
		SELECT 'final row', coalesce(e.k, (g.fields ->> 'k')::int), e.fields, g.fields
		FROM (SELECT x.k, x.fields FROM model.expected x WHERE x.rules = rules_id) e
		FULL JOIN (SELECT to_jsonb(t) AS fields FROM history.t) g ON e.k = (g.fields ->> 'k')::int
		WHERE model.normal(r, e.fields) IS DISTINCT FROM model.normal(r, g.fields)
		ORDER BY 2;
	-- a merge trigger lets RETURNING show new keys only
	IF model.by_trigger() THEN
		RETURN;
	END IF;
	-- where nothing is stored, RETURNING shows the incoming row
	RETURN QUERY
		SELECT format('returned by statement %s, row %s', e.statement, e.n), h.k,
			coalesce(e.fields, h.fields), g.fields
		FROM model.returned e
		JOIN model.history h USING (rules, statement, n)
		LEFT JOIN model.shown g USING (rules, statement, n)
		WHERE e.rules = rules_id AND CASE
			WHEN e.fields IS NULL THEN NOT coalesce(g.fields @> h.fields, false)
			ELSE model.normal(r, e.fields) IS DISTINCT FROM model.normal(r, g.fields) END
		ORDER BY e.statement, e.n;
END $$;
