/* merge_engine--0.9.sql: the first script; it does not change any more */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION merge_engine" to load this file. \quit

CREATE FUNCTION @extschema@.table_am_handler(internal)
RETURNS table_am_handler
AS 'MODULE_PATHNAME'
LANGUAGE C STRICT;

CREATE ACCESS METHOD merge_engine TYPE TABLE HANDLER @extschema@.table_am_handler;
COMMENT ON ACCESS METHOD merge_engine IS 'heap tables that merge rows of one primary key';

CREATE FUNCTION @extschema@.ddl_start()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'merge_engine_ddl_start'
LANGUAGE C;
COMMENT ON FUNCTION @extschema@.ddl_start() IS 'takes the merge options out of a command';

CREATE FUNCTION @extschema@.ddl_end()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'merge_engine_ddl_end'
LANGUAGE C;
COMMENT ON FUNCTION @extschema@.ddl_end() IS 'validates and stores the merge options of a command';

-- DROP EXTENSION is left out on purpose: it must work without the library.
CREATE EVENT TRIGGER merge_engine_ddl_start ON ddl_command_start
WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO',
	'CREATE MATERIALIZED VIEW', 'CREATE SCHEMA', 'ALTER TABLE',
	'ALTER FOREIGN TABLE', 'ALTER TYPE', 'DROP TYPE', 'DROP DOMAIN',
	'DROP COLLATION', 'DROP SCHEMA', 'DROP OWNED')
EXECUTE FUNCTION @extschema@.ddl_start();
ALTER EVENT TRIGGER merge_engine_ddl_start ENABLE ALWAYS;

CREATE EVENT TRIGGER merge_engine_ddl_end ON ddl_command_end
WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO',
	'CREATE MATERIALIZED VIEW', 'CREATE SCHEMA', 'ALTER TABLE',
	'ALTER FOREIGN TABLE', 'ALTER TYPE', 'DROP TYPE', 'DROP DOMAIN',
	'DROP COLLATION', 'DROP SCHEMA', 'DROP OWNED')
EXECUTE FUNCTION @extschema@.ddl_end();
ALTER EVENT TRIGGER merge_engine_ddl_end ENABLE ALWAYS;

CREATE VIEW @extschema@.tables AS
SELECT c.oid::pg_catalog.regclass AS table_name,
	o.options OPERATOR(pg_catalog.->>) 'merge-engine' AS engine,
	CASE WHEN o.options OPERATOR(pg_catalog.?) 'sequence.field' THEN
		-- names in double quotes, or literal, separated by commas
		ARRAY(SELECT coalesce(pg_catalog.replace(m.part[1], '""', '"'), m.part[2])
			FROM pg_catalog.regexp_matches(
				o.options OPERATOR(pg_catalog.->>) 'sequence.field',
				'"((?:[^"]|"")+)"|([^,"][^,]*)', 'g') WITH ORDINALITY AS m(part, n)
			ORDER BY m.n)
	END AS sequence_fields,
	o.options
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.relam
	AND a.amname OPERATOR(pg_catalog.=) 'merge_engine'
CROSS JOIN LATERAL (
	-- every option of ours has a dash or a dot in its name, none of heap's has
	SELECT pg_catalog.jsonb_object_agg(p.option_name, p.option_value) AS options
	FROM pg_catalog.pg_options_to_table(c.reloptions) p
	WHERE p.option_name OPERATOR(pg_catalog.~) '[-.]') o
WHERE c.relkind OPERATOR(pg_catalog.=) 'r'
	AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace)
	AND o.options OPERATOR(pg_catalog.?) 'merge-engine';
COMMENT ON VIEW @extschema@.tables IS 'every table that merges: its engine, sequence fields and options';

GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;
GRANT SELECT ON @extschema@.tables TO PUBLIC;
