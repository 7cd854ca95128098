-- What the demo's checks use: fail loudly, naming what was expected and what came.

CREATE FUNCTION pg_temp.expect(subject text, got text, expected text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	IF got IS DISTINCT FROM expected THEN
		RAISE EXCEPTION '%: expected %, not %', subject, expected, got;
	END IF;
END
$$;

-- The rows of a table, or of a query in parentheses, as "1|a|2.00", one a line.
CREATE FUNCTION pg_temp.rows(source text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format(
		'SELECT string_agg(line, E''\n'' ORDER BY line) FROM ('
		'SELECT (SELECT string_agg(coalesce(value, ''''), ''|'' ORDER BY n)'
		' FROM json_each_text(row_to_json(s)) WITH ORDINALITY AS f (name, value, n)) AS line'
		' FROM %s AS s) AS lines', source) INTO result;
	RETURN coalesce(result, 'no row');
END
$$;
