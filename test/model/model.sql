--
-- An independent model of the merge rules.
--
-- Given a table's rules and the statements that were run, model.replay()
-- computes the rows that the table must hold.  It does not use the extension,
-- knows nothing of how the extension works, and aims at being short enough to
-- be compared with the written rules by reading.
--
-- Rows are jsonb objects.  Inside an accumulator SQL NULL stands for "never
-- set" and the JSON null for "set to NULL".
--
DROP SCHEMA IF EXISTS model CASCADE;
CREATE SCHEMA model;

-- A column of the table and what is declared for it.
CREATE TYPE model.field AS (
	name text,
	type text,
	value_default text,			-- an SQL literal, or NULL
	function text,				-- aggregate function; NULL is a plain column
	group_no int,				-- the sequence group that protects it
	list_distinct bool,			-- fields.X.distinct
	delimiter text,				-- fields.X.list-agg-delimiter
	ignore_retract bool,		-- fields.X.ignore-retract
	implied bool				-- the function is the default one
);

-- A sequence group.
CREATE TYPE model.sequence_group AS (
	fields text[],
	removes text				-- the field named by remove-record-on-sequence-group
);

-- The rules of a table.
CREATE TABLE model.rules (
	id int PRIMARY KEY,
	name text NOT NULL,
	engine text NOT NULL,
	fields model.field[] NOT NULL,
	groups model.sequence_group[] NOT NULL DEFAULT '{}',
	sequence text[] NOT NULL DEFAULT '{}',
	descending bool NOT NULL DEFAULT false,
	rowkind text,				-- the row kind column
	ignore_delete bool NOT NULL DEFAULT false,
	ignore_update_before bool NOT NULL DEFAULT false,
	remove_on_delete bool NOT NULL DEFAULT false,
	default_function text,		-- fields.default-aggregate-function
	partial_names bool NOT NULL DEFAULT false,	-- do statements leave columns out?
	versions bool NOT NULL DEFAULT false,		-- is there a versions column?
	tombstones bool NOT NULL DEFAULT false,
	explicit_null bool NOT NULL DEFAULT false	-- explicit-null = clear
);

-- The input: rows of statements, in input order.  "fields" has the columns that
-- the statement names, and only those.
CREATE TABLE model.history (
	rules int,
	statement int,
	n int,
	method text,
	k int,
	fields jsonb,
	PRIMARY KEY (rules, statement, n)
);

-- The final rows, and what RETURNING must have shown.
CREATE TABLE model.expected (rules int, k int, fields jsonb, PRIMARY KEY (rules, k));
CREATE TABLE model.returned (rules int, statement int, n int, fields jsonb,
	PRIMARY KEY (rules, statement, n));

-- Is it there and not NULL?
CREATE FUNCTION model.given(value jsonb) RETURNS bool
LANGUAGE sql IMMUTABLE AS $$ SELECT coalesce(jsonb_typeof(value) <> 'null', false) $$;

-- The values of sequence fields, so that array comparison orders them: NULL is
-- lowest, in both directions.
CREATE FUNCTION model.sequence_value(names text[], fields jsonb, descending bool DEFAULT false)
RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	result bigint[] := '{}';
	name text;
	value bigint;
BEGIN
	FOREACH name IN ARRAY names LOOP
		value := (fields ->> name)::bigint;
		IF descending THEN
			value := - value;
		END IF;
		result := result || coalesce(value, -1000000000000);
	END LOOP;
	RETURN result;
END $$;

-- Are all fields of a group NULL?
CREATE FUNCTION model.sequence_missing(names text[], fields jsonb) RETURNS bool
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY names LOOP
		IF fields ->> name IS NOT NULL THEN
			RETURN false;
		END IF;
	END LOOP;
	RETURN true;
END $$;

-- Rule 25: listagg.
CREATE FUNCTION model.listagg(f model.field, accumulator text, input text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	token text;
	delimiter text := coalesce(f.delimiter, ',');
BEGIN
	IF input IS NULL OR input ~ '^\s*$' THEN
		RETURN accumulator;
	ELSIF accumulator IS NULL OR accumulator ~ '^\s*$' THEN
		RETURN input;
	ELSIF NOT coalesce(f.list_distinct, false) THEN
		RETURN accumulator || delimiter || input;
	END IF;
	FOREACH token IN ARRAY string_to_array(input, delimiter) LOOP
		IF token !~ '^\s*$' AND token <> ALL (string_to_array(accumulator, delimiter)) THEN
			accumulator := accumulator || delimiter || token;
		END IF;
	END LOOP;
	RETURN accumulator;
END $$;

-- What a row contributes to a column: its value, or 1 for a function that counts.
CREATE FUNCTION model.contribution(f model.field, value jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN f.function = 'count' AND model.given(value) THEN '1' ELSE value END
$$;

-- Rules 21 to 25: f(accumulator, input), the input being newer.
CREATE FUNCTION model.combine(f model.field, accumulator jsonb, input jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF input IS NULL THEN
		RETURN accumulator;
	ELSIF accumulator IS NULL THEN
		RETURN input;
	ELSIF f.function = 'last_value' THEN
		RETURN input;
	ELSIF f.function = 'first_value' THEN
		RETURN accumulator;
	ELSIF NOT model.given(input) THEN
		RETURN accumulator;
	ELSIF NOT model.given(accumulator) THEN
		RETURN input;
	END IF;
	CASE f.function
		WHEN 'last_non_null_value' THEN
			RETURN input;
		WHEN 'first_non_null_value' THEN
			RETURN accumulator;
		WHEN 'sum', 'count' THEN
			RETURN to_jsonb(accumulator::numeric + input::numeric);
		WHEN 'product' THEN
			RETURN to_jsonb(accumulator::numeric * input::numeric);
		WHEN 'max' THEN
			IF f.type = 'text' THEN
				RETURN to_jsonb(greatest(accumulator #>> '{}', input #>> '{}'));
			END IF;
			RETURN to_jsonb(greatest(accumulator::numeric, input::numeric));
		WHEN 'min' THEN
			IF f.type = 'text' THEN
				RETURN to_jsonb(least(accumulator #>> '{}', input #>> '{}'));
			END IF;
			RETURN to_jsonb(least(accumulator::numeric, input::numeric));
		WHEN 'bool_or' THEN
			RETURN to_jsonb(accumulator::bool OR input::bool);
		WHEN 'bool_and' THEN
			RETURN to_jsonb(accumulator::bool AND input::bool);
		WHEN 'listagg' THEN
			RETURN to_jsonb(model.listagg(f, accumulator #>> '{}', input #>> '{}'));
	END CASE;
END $$;

-- Rules 22 to 24: takes an input out of the accumulator.
CREATE FUNCTION model.retract(f model.field, accumulator jsonb, input jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF f.ignore_retract OR input IS NULL THEN
		RETURN accumulator;
	END IF;
	CASE f.function
		WHEN 'last_value' THEN
			RETURN 'null';
		WHEN 'last_non_null_value' THEN
			RETURN CASE WHEN model.given(input) THEN 'null' ELSE accumulator END;
		WHEN 'sum', 'count' THEN
			IF NOT model.given(input) THEN
				RETURN accumulator;
			END IF;
			RETURN to_jsonb(CASE WHEN model.given(accumulator) THEN accumulator::numeric ELSE 0 END
							- input::numeric);
		WHEN 'product' THEN
			IF NOT model.given(input) OR NOT model.given(accumulator) THEN
				RETURN accumulator;
			END IF;
			RETURN to_jsonb(div(accumulator::numeric, input::numeric));
	END CASE;
END $$;

-- The DEFAULT of a column, or the JSON null.
CREATE FUNCTION model.default_of(f model.field) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN f.value_default IS NULL THEN 'null'
		WHEN f.type = 'text' THEN to_jsonb(f.value_default)
		ELSE f.value_default::jsonb
	END
$$;

-- The whole row of deduplicate and first-row: DEFAULTs fill what is not named.
CREATE FUNCTION model.whole_row(r model.rules, input jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	f model.field;
BEGIN
	FOREACH f IN ARRAY r.fields LOOP
		IF NOT input ? f.name THEN
			input := input || jsonb_build_object(f.name,
				CASE WHEN f.name = ANY (r.sequence) THEN 'null' ELSE model.default_of(f) END);
		END IF;
	END LOOP;
	RETURN input;
END $$;

CREATE FUNCTION model.kind_of(r model.rules, input jsonb) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN r.rowkind IS NULL THEN '+I' ELSE upper(input ->> r.rowkind) END
$$;

-- The newest of the rows, which are sorted, and the stored one: which is its
-- row kind, and, where retractions advance it, its sequence?
CREATE FUNCTION model.set_newest(r model.rules, result jsonb, stored jsonb, sorted jsonb[],
								 retractions bool)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	row jsonb;
	name text;
BEGIN
	FOREACH row IN ARRAY sorted LOOP
		IF stored IS NOT NULL AND
			model.sequence_value(r.sequence, row, r.descending) <
			model.sequence_value(r.sequence, stored, r.descending) THEN
			CONTINUE;
		END IF;
		IF r.rowkind IS NOT NULL THEN
			result := result || jsonb_build_object(r.rowkind, row -> r.rowkind);
		END IF;
		IF retractions OR model.kind_of(r, row) LIKE '+%' THEN
			FOREACH name IN ARRAY r.sequence LOOP
				result := result || jsonb_build_object(name, row -> name);
			END LOOP;
		END IF;
	END LOOP;
	RETURN result;
END $$;

-- partial-update: the columns of sequence groups; rows act in input order.
-- Returns the group columns after the last removal, and the number of the row
-- that removed, 0 if none did.
CREATE FUNCTION model.fold_groups(r model.rules, stored jsonb, rows jsonb[],
								  OUT result jsonb, OUT removed_at int)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	row jsonb;
	g model.sequence_group;
	f model.field;
	name text;
	kind text;
	empty jsonb := '{}';
	fresh bool;
	newer bool;
	value jsonb;
BEGIN
	-- a new key: DEFAULT for what is not named (rule 32)
	FOREACH f IN ARRAY r.fields LOOP
		IF f.group_no IS NOT NULL THEN
			empty := empty || jsonb_build_object(f.name,
				CASE WHEN rows[1] ? f.name THEN 'null' ELSE model.default_of(f) END);
		END IF;
	END LOOP;
	FOREACH g IN ARRAY r.groups LOOP
		FOREACH name IN ARRAY g.fields LOOP
			empty := empty || jsonb_build_object(name, NULL);
		END LOOP;
	END LOOP;
	result := empty;
	IF stored IS NOT NULL THEN
		SELECT jsonb_object_agg(key, stored -> key) INTO result FROM jsonb_object_keys(empty) key;
	END IF;
	removed_at := 0;

	FOR i IN 1 .. cardinality(rows) LOOP
		row := rows[i];
		kind := model.kind_of(r, row);
		-- rule 11: a removal
		IF kind = '-D' AND EXISTS (
			SELECT FROM unnest(r.groups) u
			WHERE u.removes IS NOT NULL AND NOT model.sequence_missing(u.fields, row)
			AND model.sequence_value(u.fields, row) >= model.sequence_value(u.fields, result))
		THEN
			result := empty;
			removed_at := i;
			CONTINUE;
		END IF;
		FOR g_no IN 1 .. cardinality(r.groups) LOOP
			g := r.groups[g_no];
			-- rule 15
			CONTINUE WHEN model.sequence_missing(g.fields, row);
			fresh := model.sequence_missing(g.fields, result);
			newer := model.sequence_value(g.fields, row) >= model.sequence_value(g.fields, result);
			FOREACH f IN ARRAY r.fields LOOP
				CONTINUE WHEN f.group_no IS DISTINCT FROM g_no;
				value := result -> f.name;
				IF f.function IS NULL THEN
					-- rules 11, 16
					IF newer AND kind LIKE '-%' THEN
						value := 'null';
					ELSIF newer AND row ? f.name THEN
						value := row -> f.name;
					END IF;
				ELSIF NOT row ? f.name THEN
					NULL;
				ELSIF kind LIKE '-%' THEN
					value := model.retract(f, value, model.contribution(f, row -> f.name));
				ELSE
					-- rule 17; a first value in a group never seen before is taken
					IF fresh AND f.function IN ('first_value', 'last_value') THEN
						value := NULL;
					END IF;
					IF newer THEN
						value := model.combine(f, value, model.contribution(f, row -> f.name));
					ELSE
						value := model.combine(f, model.contribution(f, row -> f.name), value);
					END IF;
				END IF;
				result := result || jsonb_build_object(f.name, value);
			END LOOP;
			IF newer THEN
				FOREACH name IN ARRAY g.fields LOOP
					result := result || jsonb_build_object(name, row -> name);
				END LOOP;
			END IF;
		END LOOP;
	END LOOP;
END $$;

-- partial-update: one column outside groups; the newest value that is not NULL.
CREATE FUNCTION model.fold_plain(r model.rules, f model.field, stored jsonb, sorted jsonb[])
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	late jsonb;
	newer jsonb;
	row jsonb;
BEGIN
	FOREACH row IN ARRAY sorted LOOP
		CONTINUE WHEN model.kind_of(r, row) LIKE '-%' OR NOT row ? f.name
			OR NOT (r.explicit_null OR model.given(row -> f.name));
		IF stored IS NULL OR
			model.sequence_value(r.sequence, row, r.descending) >=
			model.sequence_value(r.sequence, stored, r.descending) THEN
			newer := row -> f.name;
		ELSE
			late := row -> f.name;
		END IF;
	END LOOP;
	IF newer IS NOT NULL THEN
		RETURN newer;
	ELSIF model.given(stored -> f.name) OR (r.explicit_null AND stored IS NOT NULL) THEN
		RETURN stored -> f.name;
	ELSIF stored IS NULL AND NOT sorted[1] ? f.name THEN
		RETURN model.default_of(f);
	END IF;
	RETURN coalesce(late, 'null');
END $$;

-- aggregation: one column.
CREATE FUNCTION model.fold_aggregate(r model.rules, f model.field, stored jsonb, sorted jsonb[])
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	result jsonb := stored -> f.name;
	under jsonb;				-- the late rows, folded
	row jsonb;
	named bool;
	is_late bool[] := '{}';
	inputs jsonb[] := '{}';
BEGIN
	named := sorted[1] ? f.name;
	IF NOT named THEN
		-- rule 32
		IF f.function IN ('last_value', 'last_non_null_value') THEN
			RETURN CASE WHEN stored IS NULL THEN model.default_of(f) ELSE result END;
		END IF;
	END IF;
	IF NOT model.given(result) AND f.function NOT IN ('first_value', 'last_value') THEN
		result := NULL;
	END IF;

	FOREACH row IN ARRAY sorted LOOP
		is_late := is_late || (stored IS NOT NULL AND
			model.sequence_value(r.sequence, row, r.descending) <
			model.sequence_value(r.sequence, stored, r.descending));
		-- an unnamed column contributes its DEFAULT, but not to a retraction
		inputs := inputs || model.contribution(f,
			CASE WHEN named OR model.kind_of(r, row) LIKE '-%' THEN row -> f.name
				ELSE model.default_of(f) END);
	END LOOP;
	-- late rows go under the stored one
	FOR i IN 1 .. cardinality(sorted) LOOP
		IF is_late[i] AND model.kind_of(r, sorted[i]) LIKE '+%' THEN
			under := model.combine(f, under, inputs[i]);
		END IF;
	END LOOP;
	result := model.combine(f, under, result);
	-- rule 18: of the late retractions, sum and product take theirs
	FOR i IN 1 .. cardinality(sorted) LOOP
		IF is_late[i] AND model.kind_of(r, sorted[i]) LIKE '-%' AND
			f.function NOT IN ('last_value', 'last_non_null_value') THEN
			result := model.retract(f, result, inputs[i]);
		END IF;
	END LOOP;
	-- newer rows go onto it
	FOR i IN 1 .. cardinality(sorted) LOOP
		CONTINUE WHEN is_late[i];
		IF model.kind_of(r, sorted[i]) LIKE '+%' THEN
			result := model.combine(f, result, inputs[i]);
		ELSE
			result := model.retract(f, result, inputs[i]);
		END IF;
	END LOOP;
	RETURN coalesce(result, 'null');
END $$;

-- The row of one key after a statement, NULL for none: "stored" is the row
-- before it (or NULL), "rows" are the statement's rows of the key.
CREATE FUNCTION model.fold(r model.rules, stored jsonb, rows jsonb[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
	sorted jsonb[];
	row jsonb;
	result jsonb;
	f model.field;
	name text;
	grouped jsonb := '{}';			-- the columns of groups, folded
	removed_at int;
	last_delete int := 0;
BEGIN
	-- rules 5 and 10: what is ignored changes nothing
	SELECT array_agg(t.row ORDER BY n) INTO rows
	FROM unnest(rows) WITH ORDINALITY t(row, n)
	WHERE NOT (r.ignore_delete AND model.kind_of(r, t.row) LIKE '-%')
		AND NOT (r.ignore_update_before AND model.kind_of(r, t.row) = '-U')
		AND NOT (r.engine = 'partial-update' AND r.remove_on_delete
				 AND model.kind_of(r, t.row) = '-U');
	IF rows IS NULL THEN
		RETURN stored;
	END IF;

	-- an unnamed sequence field is NULL
	SELECT array_agg((SELECT coalesce(jsonb_object_agg(s, NULL), '{}') FROM unnest(r.sequence) s)
					 || t.row ORDER BY n)
	INTO rows
	FROM unnest(rows) WITH ORDINALITY t(row, n);

	IF r.engine = 'first-row' THEN
		RETURN coalesce(stored, model.whole_row(r, rows[1]));
	END IF;

	SELECT array_agg(t.row ORDER BY model.sequence_value(r.sequence, t.row, r.descending), n)
	INTO sorted
	FROM unnest(rows) WITH ORDINALITY t(row, n);

	IF r.engine = 'deduplicate' THEN
		row := sorted[cardinality(sorted)];
		IF stored IS NOT NULL AND
			model.sequence_value(r.sequence, row, r.descending) <
			model.sequence_value(r.sequence, stored, r.descending) THEN
			RETURN stored;
		END IF;
		RETURN CASE WHEN model.kind_of(r, row) LIKE '+%' THEN model.whole_row(r, row) END;
	END IF;

	-- remove-record-on-delete: what sorts before a -D is gone
	IF r.remove_on_delete THEN
		FOR i IN 1 .. cardinality(sorted) LOOP
			IF model.kind_of(r, sorted[i]) = '-D' THEN
				last_delete := i;
			END IF;
		END LOOP;
		IF last_delete > 0 THEN
			IF stored IS NOT NULL AND
				model.sequence_value(r.sequence, sorted[last_delete], r.descending) >=
				model.sequence_value(r.sequence, stored, r.descending) THEN
				stored := NULL;
			END IF;
			sorted := sorted[last_delete + 1 :];
		END IF;
		IF cardinality(sorted) = 0 THEN
			RETURN stored;
		END IF;
	END IF;

	IF r.engine = 'aggregation' THEN
		result := jsonb_build_object('k', sorted[1] -> 'k');
		FOREACH f IN ARRAY r.fields LOOP
			result := result || jsonb_build_object(f.name,
				CASE WHEN f.function IS NULL THEN coalesce(stored -> f.name, 'null')
					ELSE model.fold_aggregate(r, f, stored, sorted) END);
		END LOOP;
		RETURN model.set_newest(r, result, stored, sorted, true);
	END IF;

	-- partial-update
	result := jsonb_build_object('k', sorted[1] -> 'k');
	IF cardinality(r.groups) > 0 THEN
		SELECT * INTO grouped, removed_at FROM model.fold_groups(r, stored, rows);
		IF removed_at > 0 THEN
			stored := NULL;
			rows := rows[removed_at + 1 :];
			IF cardinality(rows) = 0 THEN
				RETURN NULL;
			END IF;
			SELECT array_agg(t.row ORDER BY model.sequence_value(r.sequence, t.row, r.descending), n)
			INTO sorted
			FROM unnest(rows) WITH ORDINALITY t(row, n);
		END IF;
	END IF;
	-- rule 13: retractions of a key never seen leave nothing visible
	IF stored IS NULL AND NOT EXISTS (
		SELECT FROM unnest(sorted) u WHERE model.kind_of(r, u) LIKE '+%') THEN
		RETURN NULL;
	END IF;
	FOREACH f IN ARRAY r.fields LOOP
		IF f.name = ANY (r.sequence) OR f.name = r.rowkind THEN
			result := result || jsonb_build_object(f.name, coalesce(stored -> f.name, 'null'));
		ELSIF grouped ? f.name THEN
			result := result || jsonb_build_object(f.name, grouped -> f.name);
		ELSE
			result := result || jsonb_build_object(f.name,
				model.fold_plain(r, f, stored, sorted));
		END IF;
	END LOOP;
	RETURN model.set_newest(r, result, stored, sorted, cardinality(r.groups) = 0);
END $$;

-- Replays the whole history of one table.  Where nothing is forgotten (a versions
-- column, tombstones), a statement leaves what all rows so far, taken together,
-- give: that is the promise that arrival never matters.
CREATE FUNCTION model.replay(rules_id int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	r model.rules;
	s record;
	stored jsonb;
	result jsonb;
	prefix jsonb;
	before jsonb[] := '{}';
BEGIN
	SELECT * INTO r FROM model.rules WHERE id = rules_id;
	FOR s IN
		SELECT statement, k, min(method) AS method,
			array_agg(fields ORDER BY n) AS rows, array_agg(n ORDER BY n) AS numbers
		FROM model.history WHERE rules = rules_id
		GROUP BY statement, k ORDER BY statement, k
	LOOP
		SELECT fields INTO stored FROM model.expected WHERE rules = rules_id AND k = s.k;
		IF r.versions OR r.tombstones THEN
			SELECT coalesce(array_agg(h.fields ORDER BY h.statement, h.n), '{}') INTO before
			FROM model.history h
			WHERE h.rules = rules_id AND h.k = s.k AND h.statement < s.statement;
			stored := NULL;
		END IF;
		result := model.fold(r, stored, before || s.rows);
		IF s.method = 'returning' THEN
			FOR i IN 1 .. cardinality(s.rows) LOOP
				prefix := model.fold(r, stored, before || s.rows[: i]);
				INSERT INTO model.returned
				VALUES (rules_id, s.statement, s.numbers[i], prefix);
			END LOOP;
		END IF;
		IF result IS NULL THEN
			DELETE FROM model.expected WHERE rules = rules_id AND k = s.k;
		ELSIF result IS DISTINCT FROM stored THEN
			INSERT INTO model.expected VALUES (rules_id, s.k, result)
			ON CONFLICT (rules, k) DO UPDATE SET fields = excluded.fields;
		END IF;
	END LOOP;
END $$;
