-- Projections: the stored result of a view, kept current by watermarks.

CREATE TYPE @extschema@.projection_refresh AS (
    refresh_id bigint,
    projection regclass,
    mode text,
    kind text,
    started timestamptz,
    finished timestamptz,
    phases jsonb,
    affected_keys bigint,
    rows_deleted bigint,
    rows_updated bigint,
    rows_inserted bigint,
    watermarks_before jsonb,
    watermarks_after jsonb,
    status text,
    error text
);

-- A row a projection. view_definition is the view's text at the last full build; NULL asks for one.
CREATE TABLE @extschema@.projection_definition (
    projection regclass PRIMARY KEY,
    view regclass NOT NULL,
    mode text NOT NULL CHECK (mode IN ('insert', 'merge', 'delete_insert')),
    unique_key text[],
    when_not_matched text NOT NULL CHECK (when_not_matched IN ('insert', 'ignore', 'error')),
    replace_key text[],
    affected_keys text,
    view_definition text
);

-- A row a projection and source. The watermark is the value as text, in ISO date style.
CREATE TABLE @extschema@.projection_source (
    projection regclass,
    position integer,
    field text NOT NULL,
    source regclass NOT NULL,
    source_column text NOT NULL,
    watermark text,
    PRIMARY KEY (projection, position)
);

CREATE SEQUENCE @extschema@.projection_refresh_id;

CREATE TABLE @extschema@.projection_history OF @extschema@.projection_refresh (
    PRIMARY KEY (refresh_id)
);
CREATE INDEX ON @extschema@.projection_history (projection, finished);

SELECT pg_extension_config_dump('@extschema@.projection_definition', '');
SELECT pg_extension_config_dump('@extschema@.projection_source', '');
SELECT pg_extension_config_dump('@extschema@.projection_refresh_id', '');
SELECT pg_extension_config_dump('@extschema@.projection_history', '');

CREATE FUNCTION @extschema@.create_projection(
    projection text, view regclass, mode text,
    incremental_fields text[],
    unique_key text[] DEFAULT NULL,
    when_not_matched text DEFAULT 'insert',
    replace_key text[] DEFAULT NULL,
    affected_keys text DEFAULT NULL)
RETURNS regclass
AS 'MODULE_PATHNAME', 'projection_create' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.create_projection IS 'create an empty table that will hold the result of a view, kept current by refresh_projection';

CREATE FUNCTION @extschema@.alter_projection(
    projection regclass, view regclass DEFAULT NULL, mode text DEFAULT NULL,
    incremental_fields text[] DEFAULT NULL,
    unique_key text[] DEFAULT NULL,
    when_not_matched text DEFAULT NULL,
    replace_key text[] DEFAULT NULL,
    affected_keys text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'projection_alter' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.alter_projection IS 'change a projection and start a new cycle with a full build';

CREATE FUNCTION @extschema@.refresh_projection(
    projection regclass, full_rebuild boolean DEFAULT false, on_error text DEFAULT 'raise')
RETURNS @extschema@.projection_refresh
AS 'MODULE_PATHNAME', 'projection_refresh' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.refresh_projection IS 'bring a projection up to date from what changed in its sources';

CREATE FUNCTION @extschema@.check_projection(projection regclass)
RETURNS TABLE (problem text, key jsonb)
AS 'MODULE_PATHNAME', 'projection_check' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.check_projection IS 'compare a projection with its view: missing, stale, surplus and duplicated keys';

CREATE FUNCTION @extschema@.drop_projection(projection regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'projection_drop' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.drop_projection IS 'drop a projection and its table';

-- For the views below: what the caller may see of a source, never an error.
CREATE FUNCTION @extschema@.projection_source_visible(source regclass, source_column text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'projection_source_visible' LANGUAGE C STABLE STRICT;

CREATE FUNCTION @extschema@.projection_current_maximum(source regclass, source_column text)
RETURNS text
AS 'MODULE_PATHNAME', 'projection_current_maximum' LANGUAGE C STABLE STRICT;

CREATE VIEW @extschema@.projections AS
SELECT d.projection, d.view, d.mode, d.unique_key, d.replace_key, s.field, s.source,
       CASE WHEN @extschema@.projection_source_visible(s.source, s.source_column) THEN s.watermark END AS watermark,
       @extschema@.projection_current_maximum(s.source, s.source_column) AS current_maximum,
       (SELECT max(h.finished) FROM @extschema@.projection_history h
        WHERE h.projection = d.projection AND h.status = 'succeeded') AS last_success
FROM @extschema@.projection_definition d
JOIN @extschema@.projection_source s USING (projection);

CREATE VIEW @extschema@.projection_refreshes AS
SELECT h.refresh_id, h.projection, h.mode, h.kind, h.started, h.finished, h.phases, h.affected_keys,
       h.rows_deleted, h.rows_updated, h.rows_inserted,
       CASE WHEN v.all_visible THEN h.watermarks_before END AS watermarks_before,
       CASE WHEN v.all_visible THEN h.watermarks_after END AS watermarks_after,
       h.status,
       CASE WHEN v.all_visible THEN h.error END AS error
FROM @extschema@.projection_history h
CROSS JOIN LATERAL (
    SELECT bool_and(@extschema@.projection_source_visible(s.source, s.source_column)) AS all_visible
    FROM @extschema@.projection_source s WHERE s.projection = h.projection) v;

GRANT SELECT ON @extschema@.projections, @extschema@.projection_refreshes TO PUBLIC;
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;

-- pg_dump carries no dependencies of ours: this trigger keeps the catalog true, also after a restore.
CREATE FUNCTION @extschema@.projection_on_drop() RETURNS event_trigger
AS 'MODULE_PATHNAME', 'projection_on_drop' LANGUAGE C;

CREATE EVENT TRIGGER merge_engine_projection_drop ON sql_drop
EXECUTE FUNCTION @extschema@.projection_on_drop();
ALTER EVENT TRIGGER merge_engine_projection_drop ENABLE ALWAYS;
