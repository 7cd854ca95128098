/* merge_engine--1.0.sql */

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

-- what version 0.9 lacks: from here on this is also the end of the update script (Makefile)

-- DROP EXTENSION is left out on purpose: it must work without the library.
CREATE EVENT TRIGGER merge_engine_ddl_start ON ddl_command_start
WHEN TAG IN ('CREATE TABLE', 'CREATE TRIGGER', 'CREATE TABLE AS', 'SELECT INTO',
	'CREATE MATERIALIZED VIEW', 'CREATE SCHEMA', 'ALTER TABLE',
	'ALTER FOREIGN TABLE', 'ALTER TYPE', 'DROP TYPE', 'DROP DOMAIN',
	'DROP COLLATION', 'DROP SCHEMA', 'DROP OWNED', 'DROP FUNCTION',
	'DROP ROUTINE')
EXECUTE FUNCTION @extschema@.ddl_start();
ALTER EVENT TRIGGER merge_engine_ddl_start ENABLE ALWAYS;

CREATE EVENT TRIGGER merge_engine_ddl_end ON ddl_command_end
WHEN TAG IN ('CREATE TABLE', 'CREATE TRIGGER', 'CREATE TABLE AS', 'SELECT INTO',
	'CREATE MATERIALIZED VIEW', 'CREATE SCHEMA', 'ALTER TABLE',
	'ALTER FOREIGN TABLE', 'ALTER TYPE', 'DROP TYPE', 'DROP DOMAIN',
	'DROP COLLATION', 'DROP SCHEMA', 'DROP OWNED', 'DROP FUNCTION',
	'DROP ROUTINE')
EXECUTE FUNCTION @extschema@.ddl_end();
ALTER EVENT TRIGGER merge_engine_ddl_end ENABLE ALWAYS;

CREATE FUNCTION @extschema@.summary(pg_catalog.regclass)
RETURNS text
AS 'MODULE_PATHNAME', 'merge_engine_summary'
LANGUAGE C STABLE STRICT;
COMMENT ON FUNCTION @extschema@.summary(pg_catalog.regclass) IS 'what describe says of a merge table, in one line';

CREATE OR REPLACE VIEW @extschema@.tables AS
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
	o.options,
	@extschema@.summary(c.oid::pg_catalog.regclass) AS summary
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_am a ON a.oid OPERATOR(pg_catalog.=) c.relam
	AND a.amname OPERATOR(pg_catalog.=) 'merge_engine'
CROSS JOIN LATERAL (
	-- but for "tombstones", options of ours have a dash or a dot in their names,
	-- and heap's have none
	SELECT pg_catalog.jsonb_object_agg(p.option_name, p.option_value) AS options
	FROM pg_catalog.pg_options_to_table(c.reloptions) p
	WHERE p.option_name OPERATOR(pg_catalog.~) '[-.]|^tombstones$') o
WHERE c.relkind OPERATOR(pg_catalog.=) 'r'
	AND NOT pg_catalog.pg_is_other_temp_schema(c.relnamespace)
	AND o.options OPERATOR(pg_catalog.?) 'merge-engine';
COMMENT ON VIEW @extschema@.tables IS 'every table that merges: its engine, sequence fields and options';

GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;
GRANT SELECT ON @extschema@.tables TO PUBLIC;

-- roaring bitmaps in the portable format, as the aggregate functions rbm32 and rbm64 take them

CREATE FUNCTION @extschema@.rbm32_build(integer[])
RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm32_cardinality(bytea)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm32_contains(bytea, integer)
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm32_to_array(bytea)
RETURNS integer[]
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm64_build(bigint[])
RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm64_cardinality(bytea)
RETURNS bigint
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm64_contains(bytea, bigint)
RETURNS boolean
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm64_to_array(bytea)
RETURNS bigint[]
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm_agg_combine(internal, internal)
RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm_agg_final(internal)
RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm_agg_serialize(internal)
RETURNS bytea
AS 'MODULE_PATHNAME', 'rbm_agg_final'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm32_agg_transition(internal, integer)
RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm32_agg_deserialize(bytea, internal)
RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE @extschema@.rbm32_agg(integer) (
	SFUNC = @extschema@.rbm32_agg_transition,
	STYPE = internal,
	FINALFUNC = @extschema@.rbm_agg_final,
	COMBINEFUNC = @extschema@.rbm_agg_combine,
	SERIALFUNC = @extschema@.rbm_agg_serialize,
	DESERIALFUNC = @extschema@.rbm32_agg_deserialize,
	PARALLEL = SAFE
);

CREATE FUNCTION @extschema@.rbm64_agg_transition(internal, bigint)
RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.rbm64_agg_deserialize(bytea, internal)
RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE AGGREGATE @extschema@.rbm64_agg(bigint) (
	SFUNC = @extschema@.rbm64_agg_transition,
	STYPE = internal,
	FINALFUNC = @extschema@.rbm_agg_final,
	COMBINEFUNC = @extschema@.rbm_agg_combine,
	SERIALFUNC = @extschema@.rbm_agg_serialize,
	DESERIALFUNC = @extschema@.rbm64_agg_deserialize,
	PARALLEL = SAFE
);

-- aggregates and trigger: the same rules for what is no merge table ------------

CREATE FUNCTION @extschema@.field_aggregate_final(internal, anyelement)
RETURNS anyelement
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.field_aggregate_final(internal, anyelement, text[])
RETURNS anyelement
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.field_aggregate_final(internal, anyarray)
RETURNS anyarray
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.field_aggregate_final(internal, anyarray, text[])
RETURNS anyarray
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- a count, whatever it counts
CREATE FUNCTION @extschema@.count_final(internal, "any")
RETURNS bigint
AS 'MODULE_PATHNAME', 'field_aggregate_final'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.field_aggregate_combine(internal, internal)
RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.field_aggregate_serialize(internal)
RETURNS bytea
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.field_aggregate_deserialize(bytea, internal)
RETURNS internal
AS 'MODULE_PATHNAME'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- One aggregate for each field aggregator, and one more where it has options.
-- any_order: parallel workers may fold parts.  inverts: inputs can be taken out.
DO $do$
DECLARE
	f record;
	arguments text;
	signature text;
	final text;
	definition text;
BEGIN
	FOR f IN
		SELECT * FROM (VALUES
			('sum', 'anyelement', true, true, false),
			('product', 'anyelement', true, true, false),
			('count', '"any"', true, true, false),
			('max', 'anyelement', true, false, false),
			('min', 'anyelement', true, false, false),
			('last_value', 'anyelement', false, true, false),
			('last_non_null_value', 'anyelement', false, true, false),
			('first_value', 'anyelement', false, false, false),
			('first_non_null_value', 'anyelement', false, false, false),
			('listagg', 'text', false, false, true),
			('bool_and', 'boolean', true, false, false),
			('bool_or', 'boolean', true, false, false),
			('collect', 'anyarray', false, true, true),
			('merge_map', 'anyelement', false, false, false),
			('merge_map_with_keytime', 'jsonb', false, false, true),
			('nested_update', 'anyarray', false, false, true),
			('nested_partial_update', 'anyarray', false, false, true),
			('rbm32', 'bytea', true, false, false),
			('rbm64', 'bytea', true, false, false),
			('hll_sketch', 'anyelement', true, false, false)
		) AS v(name, input, any_order, inverts, has_options)
	LOOP
		FOR arguments, signature IN
			SELECT f.input, f.input
			UNION ALL
			SELECT f.input || ', text[]', f.input || ', VARIADIC options text[]' WHERE f.has_options
		LOOP
			final := CASE f.name WHEN 'count' THEN '@extschema@.count_final'
				ELSE '@extschema@.field_aggregate_final' END;
			EXECUTE pg_catalog.format($$
				CREATE FUNCTION @extschema@.%I(internal, %s) RETURNS internal
				AS 'MODULE_PATHNAME', 'field_aggregate_transition'
				LANGUAGE C IMMUTABLE PARALLEL SAFE$$, f.name || '_transition', arguments);
			definition := pg_catalog.format(
				'SFUNC = @extschema@.%I, STYPE = internal, FINALFUNC = %s, FINALFUNC_EXTRA, PARALLEL = SAFE',
				f.name || '_transition', final);
			IF f.any_order THEN
				definition := definition || ', COMBINEFUNC = @extschema@.field_aggregate_combine,
					SERIALFUNC = @extschema@.field_aggregate_serialize,
					DESERIALFUNC = @extschema@.field_aggregate_deserialize';
			END IF;
			IF f.inverts THEN
				EXECUTE pg_catalog.format($$
					CREATE FUNCTION @extschema@.%I(internal, %s) RETURNS internal
					AS 'MODULE_PATHNAME', 'field_aggregate_inverse'
					LANGUAGE C IMMUTABLE PARALLEL SAFE$$, f.name || '_inverse', arguments);
				definition := definition || pg_catalog.format(
					', MSFUNC = @extschema@.%I, MINVFUNC = @extschema@.%I, MSTYPE = internal,
					MFINALFUNC = %s, MFINALFUNC_EXTRA',
					f.name || '_transition', f.name || '_inverse', final);
			END IF;
			EXECUTE pg_catalog.format('CREATE AGGREGATE @extschema@.%I(%s) (%s)',
				f.name, signature, definition);
		END LOOP;
	END LOOP;
END $do$;

-- whole rows, by the rules of a table

CREATE FUNCTION @extschema@.merge_transition(internal, regclass, anyelement)
RETURNS internal
AS 'MODULE_PATHNAME', 'merge_aggregate_transition'
LANGUAGE C STABLE PARALLEL SAFE;

CREATE FUNCTION @extschema@.merge_final(internal, regclass, anyelement)
RETURNS anyelement
AS 'MODULE_PATHNAME', 'merge_aggregate_final'
LANGUAGE C STABLE PARALLEL SAFE;

CREATE AGGREGATE @extschema@.merge(table_name regclass, r anyelement) (
	SFUNC = @extschema@.merge_transition,
	STYPE = internal,
	FINALFUNC = @extschema@.merge_final,
	FINALFUNC_EXTRA,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE @extschema@.merge(regclass, anyelement) IS 'the row that the table would hold';

-- rows before they are inserted into a table that stays on heap

CREATE FUNCTION @extschema@.merge_trigger()
RETURNS trigger
AS 'MODULE_PATHNAME', 'merge_engine_trigger'
LANGUAGE C;
COMMENT ON FUNCTION @extschema@.merge_trigger() IS 'merges rows before they are inserted; its arguments are the options of a merge table';

-- ---------------------------------------------------------------------------
-- What is remembered and explained: versions, tombstones, inspection, counters

CREATE TYPE @extschema@.versions;

-- output is STABLE: the names of columns are the catalog's
CREATE FUNCTION @extschema@.versions_in(cstring)
RETURNS @extschema@.versions
AS 'MODULE_PATHNAME', 'merge_engine_versions_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.versions_out(@extschema@.versions)
RETURNS cstring
AS 'MODULE_PATHNAME', 'merge_engine_versions_out'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.versions_recv(internal)
RETURNS @extschema@.versions
AS 'MODULE_PATHNAME', 'merge_engine_versions_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION @extschema@.versions_send(@extschema@.versions)
RETURNS bytea
AS 'MODULE_PATHNAME', 'merge_engine_versions_send'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE TYPE @extschema@.versions (
	INPUT = @extschema@.versions_in,
	OUTPUT = @extschema@.versions_out,
	RECEIVE = @extschema@.versions_recv,
	SEND = @extschema@.versions_send,
	STORAGE = extended
);
COMMENT ON TYPE @extschema@.versions IS 'which sequence value set each column of a merged row';

CREATE FUNCTION @extschema@.jsonb(@extschema@.versions)
RETURNS pg_catalog.jsonb
AS 'MODULE_PATHNAME', 'merge_engine_versions_to_jsonb'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE CAST (@extschema@.versions AS pg_catalog.jsonb)
WITH FUNCTION @extschema@.jsonb(@extschema@.versions);

CREATE FUNCTION @extschema@.versions_cmp(@extschema@.versions, @extschema@.versions)
RETURNS integer AS 'MODULE_PATHNAME', 'merge_engine_versions_cmp'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.versions_eq(@extschema@.versions, @extschema@.versions)
RETURNS boolean AS 'MODULE_PATHNAME', 'merge_engine_versions_eq'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.versions_ne(@extschema@.versions, @extschema@.versions)
RETURNS boolean AS 'MODULE_PATHNAME', 'merge_engine_versions_ne'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.versions_lt(@extschema@.versions, @extschema@.versions)
RETURNS boolean AS 'MODULE_PATHNAME', 'merge_engine_versions_lt'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.versions_le(@extschema@.versions, @extschema@.versions)
RETURNS boolean AS 'MODULE_PATHNAME', 'merge_engine_versions_le'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.versions_gt(@extschema@.versions, @extschema@.versions)
RETURNS boolean AS 'MODULE_PATHNAME', 'merge_engine_versions_gt'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION @extschema@.versions_ge(@extschema@.versions, @extschema@.versions)
RETURNS boolean AS 'MODULE_PATHNAME', 'merge_engine_versions_ge'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

CREATE OPERATOR @extschema@.= (
	LEFTARG = @extschema@.versions, RIGHTARG = @extschema@.versions,
	FUNCTION = @extschema@.versions_eq, COMMUTATOR = OPERATOR(@extschema@.=),
	NEGATOR = OPERATOR(@extschema@.<>), RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR @extschema@.<> (
	LEFTARG = @extschema@.versions, RIGHTARG = @extschema@.versions,
	FUNCTION = @extschema@.versions_ne, COMMUTATOR = OPERATOR(@extschema@.<>),
	NEGATOR = OPERATOR(@extschema@.=), RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR @extschema@.< (
	LEFTARG = @extschema@.versions, RIGHTARG = @extschema@.versions,
	FUNCTION = @extschema@.versions_lt, COMMUTATOR = OPERATOR(@extschema@.>),
	NEGATOR = OPERATOR(@extschema@.>=));
CREATE OPERATOR @extschema@.<= (
	LEFTARG = @extschema@.versions, RIGHTARG = @extschema@.versions,
	FUNCTION = @extschema@.versions_le, COMMUTATOR = OPERATOR(@extschema@.>=),
	NEGATOR = OPERATOR(@extschema@.>));
CREATE OPERATOR @extschema@.> (
	LEFTARG = @extschema@.versions, RIGHTARG = @extschema@.versions,
	FUNCTION = @extschema@.versions_gt, COMMUTATOR = OPERATOR(@extschema@.<),
	NEGATOR = OPERATOR(@extschema@.<=));
CREATE OPERATOR @extschema@.>= (
	LEFTARG = @extschema@.versions, RIGHTARG = @extschema@.versions,
	FUNCTION = @extschema@.versions_ge, COMMUTATOR = OPERATOR(@extschema@.<=),
	NEGATOR = OPERATOR(@extschema@.<));

-- so that whole rows can be compared: DISTINCT, EXCEPT, REPLICA IDENTITY FULL
CREATE OPERATOR CLASS @extschema@.versions_ops DEFAULT FOR TYPE @extschema@.versions USING btree AS
	OPERATOR 1 @extschema@.<, OPERATOR 2 @extschema@.<=, OPERATOR 3 @extschema@.=,
	OPERATOR 4 @extschema@.>=, OPERATOR 5 @extschema@.>,
	FUNCTION 1 @extschema@.versions_cmp(@extschema@.versions, @extschema@.versions);

-- removed keys of tables with option tombstones; the library reads and writes it
CREATE TABLE @extschema@.tombstones (
	table_name pg_catalog.regclass NOT NULL,
	key text[] COLLATE pg_catalog."C" NOT NULL,
	sequence text[] NOT NULL,
	removed_at timestamptz NOT NULL,
	PRIMARY KEY (table_name, key)
) USING heap;
COMMENT ON TABLE @extschema@.tombstones IS 'removed keys of merge tables, and the sequence of their removal';
SELECT pg_catalog.pg_extension_config_dump('@extschema@.tombstones', '');

CREATE FUNCTION @extschema@.purge_tombstones(table_name pg_catalog.regclass, older_than interval DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'merge_engine_purge_tombstones'
LANGUAGE C;
COMMENT ON FUNCTION @extschema@.purge_tombstones(pg_catalog.regclass, interval)
IS 'forgets removals older than the interval, or than the table''s tombstones.retention';

CREATE FUNCTION @extschema@.forget_dropped()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'merge_engine_forget_dropped'
LANGUAGE C;
COMMENT ON FUNCTION @extschema@.forget_dropped() IS 'forgets what is remembered of dropped tables';

CREATE EVENT TRIGGER merge_engine_sql_drop ON sql_drop
WHEN TAG IN ('DROP TABLE', 'DROP SCHEMA', 'DROP OWNED', 'DROP TYPE')
EXECUTE FUNCTION @extschema@.forget_dropped();
ALTER EVENT TRIGGER merge_engine_sql_drop ENABLE ALWAYS;

CREATE FUNCTION @extschema@.describe(table_name pg_catalog.regclass,
	OUT column_name text, OUT role text, OUT rule text, OUT ordered_by text,
	OUT null_means text, OUT late_row text, OUT retraction text,
	OUT order_free boolean, OUT note text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'merge_engine_describe'
LANGUAGE C STABLE STRICT;
COMMENT ON FUNCTION @extschema@.describe(pg_catalog.regclass)
IS 'what a merge table''s rules do: a row for the table, then one for each column';

CREATE FUNCTION @extschema@.explain_merge(table_name pg_catalog.regclass, incoming_row record,
	OUT column_name text, OUT stored text, OUT version text, OUT incoming text,
	OUT merged text, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'merge_engine_explain_record'
LANGUAGE C VOLATILE STRICT;

CREATE FUNCTION @extschema@.explain_merge(table_name pg_catalog.regclass, incoming_row pg_catalog.jsonb,
	OUT column_name text, OUT stored text, OUT version text, OUT incoming text,
	OUT merged text, OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'merge_engine_explain_jsonb'
LANGUAGE C VOLATILE STRICT;
COMMENT ON FUNCTION @extschema@.explain_merge(pg_catalog.regclass, record)
IS 'what would happen if the row came now: the outcome, then each column';
COMMENT ON FUNCTION @extschema@.explain_merge(pg_catalog.regclass, pg_catalog.jsonb)
IS 'what would happen if the row came now: the outcome, then each column';

-- so that a literal without a type is taken for JSON
CREATE FUNCTION @extschema@.explain_merge(table_name pg_catalog.regclass, incoming_row text,
	OUT column_name text, OUT stored text, OUT version text, OUT incoming text,
	OUT merged text, OUT reason text)
RETURNS SETOF record
LANGUAGE SQL VOLATILE STRICT
AS $$ SELECT * FROM @extschema@.explain_merge($1, $2::pg_catalog.jsonb) $$;

-- counters, a row for each table and backend number; see stats_rows.c
CREATE UNLOGGED TABLE @extschema@.stats_counters (
	table_id oid NOT NULL,
	backend integer NOT NULL,
	since timestamptz NOT NULL,
	statements bigint NOT NULL,
	rows_in bigint NOT NULL,
	keys_inserted bigint NOT NULL,
	keys_merged bigint NOT NULL,
	keys_unchanged bigint NOT NULL,
	late_ignored bigint NOT NULL,
	deletes_applied bigint NOT NULL,
	deletes_ignored bigint NOT NULL,
	retractions bigint NOT NULL
) USING heap;

CREATE VIEW @extschema@.stats AS
SELECT t.table_name,
	pg_catalog.min(c.since) AS since,
	coalesce(pg_catalog.sum(c.statements), 0)::bigint AS statements,
	coalesce(pg_catalog.sum(c.rows_in), 0)::bigint AS rows_in,
	coalesce(pg_catalog.sum(c.keys_inserted), 0)::bigint AS keys_inserted,
	coalesce(pg_catalog.sum(c.keys_merged), 0)::bigint AS keys_merged,
	coalesce(pg_catalog.sum(c.keys_unchanged), 0)::bigint AS keys_unchanged,
	coalesce(pg_catalog.sum(c.late_ignored), 0)::bigint AS late_ignored,
	coalesce(pg_catalog.sum(c.deletes_applied), 0)::bigint AS deletes_applied,
	coalesce(pg_catalog.sum(c.deletes_ignored), 0)::bigint AS deletes_ignored,
	coalesce(pg_catalog.sum(c.retractions), 0)::bigint AS retractions
FROM (
	SELECT table_name FROM @extschema@.tables
	UNION
	SELECT r.oid::pg_catalog.regclass
	FROM pg_catalog.pg_trigger g
	JOIN pg_catalog.pg_class r ON r.oid OPERATOR(pg_catalog.=) g.tgrelid
	WHERE g.tgfoid OPERATOR(pg_catalog.=) '@extschema@.merge_trigger()'::pg_catalog.regprocedure
		AND r.relkind OPERATOR(pg_catalog.=) 'r'
		AND NOT pg_catalog.pg_is_other_temp_schema(r.relnamespace)) t
LEFT JOIN @extschema@.stats_counters c ON c.table_id OPERATOR(pg_catalog.=) t.table_name
GROUP BY t.table_name;
COMMENT ON VIEW @extschema@.stats IS 'what has been done to each table that merges, be it by a trigger, since its counters were reset';
GRANT SELECT ON @extschema@.stats TO PUBLIC;

CREATE FUNCTION @extschema@.reset_stats(table_name pg_catalog.regclass DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'merge_engine_reset_stats'
LANGUAGE C;
COMMENT ON FUNCTION @extschema@.reset_stats(pg_catalog.regclass)
IS 'sets the counters of a merge table, or of all of them, to zero';
