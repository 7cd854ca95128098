-- A refresh is atomic and can be repeated; whose rights it has; what a changed view, mode or key does to it.
CREATE SCHEMA refresh;
SET search_path = refresh;
CREATE SEQUENCE seq;
CREATE TABLE item (id integer PRIMARY KEY, kind text, n integer, seq bigint NOT NULL DEFAULT nextval('seq'));
CREATE INDEX ON item (seq);
INSERT INTO item VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3);
CREATE VIEW v AS SELECT id, kind, n, seq FROM item WHERE n > 0;
CREATE FUNCTION short(r merge_engine.projection_refresh) RETURNS text LANGUAGE sql AS $$
    SELECT format('%s %s: %s deleted, %s updated, %s inserted, watermarks %s to %s%s', r.kind, r.status,
        r.rows_deleted, r.rows_updated, r.rows_inserted, r.watermarks_before->'seq', r.watermarks_after->'seq', E'\n' || r.error) $$;
SELECT merge_engine.create_projection('p_insert', 'v', 'insert', '{seq}');
SELECT merge_engine.create_projection('p_merge', 'v', 'merge', '{seq}', unique_key => '{id}');
SELECT merge_engine.create_projection('p_delete_insert', 'v', 'delete_insert', '{seq}', replace_key => '{kind}');
SELECT short(merge_engine.refresh_projection(p)) FROM unnest('{p_insert,p_merge,p_delete_insert}'::regclass[]) p;

-- a failure in the last phase leaves rows and watermarks as they were; the next refresh does it all
ALTER TABLE p_insert ADD CONSTRAINT small CHECK (n < 100);
ALTER TABLE p_merge ADD CONSTRAINT small CHECK (n < 100);
ALTER TABLE p_delete_insert ADD CONSTRAINT small CHECK (n < 100);
UPDATE item SET n = 20, seq = nextval('seq') WHERE id = 2;
INSERT INTO item VALUES (4, 'a', 100);
SELECT short(merge_engine.refresh_projection('p_insert'));
SELECT short(merge_engine.refresh_projection('p_merge'));
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
SELECT short(merge_engine.refresh_projection('p_delete_insert', full_rebuild => true));
SELECT projection, watermark, current_maximum FROM merge_engine.projections WHERE projection::text LIKE 'p\_%' ORDER BY 1;
SELECT array_agg(n ORDER BY n) FROM p_insert UNION ALL SELECT array_agg(n ORDER BY n) FROM p_merge UNION ALL SELECT array_agg(n ORDER BY n) FROM p_delete_insert;
-- recorded
SELECT short(merge_engine.refresh_projection(p, on_error => 'record')) FROM unnest('{p_insert,p_merge,p_delete_insert}'::regclass[]) p;
SELECT projection, mode, kind, status, error, phases, affected_keys FROM merge_engine.projection_refreshes WHERE status = 'failed' ORDER BY refresh_id;
SELECT count(last_success) FROM merge_engine.projections WHERE projection::text LIKE 'p\_%';
-- repaired
INSERT INTO item VALUES (5, 'b', 5);
UPDATE item SET n = 40 WHERE id = 4;
SELECT short(merge_engine.refresh_projection(p)) FROM unnest('{p_insert,p_merge,p_delete_insert}'::regclass[]) p;
SELECT p, c.* FROM unnest('{p_insert,p_merge,p_delete_insert}'::regclass[]) p, merge_engine.check_projection(p) c;
-- in one transaction with other work, and rolled back with it
BEGIN;
UPDATE item SET n = 6, seq = nextval('seq') WHERE id = 5;
SELECT short(merge_engine.refresh_projection('p_merge'));
SELECT n FROM p_merge WHERE id = 5;
SAVEPOINT s;
UPDATE item SET n = 7, seq = nextval('seq') WHERE id = 5;
SELECT short(merge_engine.refresh_projection('p_merge'));
ROLLBACK TO s;
SELECT n FROM p_merge WHERE id = 5;
COMMIT;
SELECT short(merge_engine.refresh_projection('p_merge'));
-- never recorded: a cancelled refresh, wrong arguments
CREATE FUNCTION sleeper() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(10); RETURN NEW; END $$;
CREATE TRIGGER sleeps BEFORE INSERT ON p_insert FOR EACH ROW EXECUTE FUNCTION sleeper();
INSERT INTO item VALUES (6, 'b', 6);
SET statement_timeout = '200ms';
SELECT short(merge_engine.refresh_projection('p_insert', on_error => 'record'));
RESET statement_timeout;
SELECT merge_engine.refresh_projection('item', on_error => 'record');
DROP TRIGGER sleeps ON p_insert;
SELECT short(merge_engine.refresh_projection('p_insert', on_error => 'record'));
-- the watermark never falls, whatever becomes of the row that had the maximum
DELETE FROM item WHERE id = 6;
SELECT short(merge_engine.refresh_projection('p_insert'));

-- a view replaced by one with the same columns is a full build, a nested one too
CREATE VIEW below AS SELECT * FROM item;
CREATE OR REPLACE VIEW v AS SELECT id, kind, n, seq FROM below WHERE n > 1;
SELECT short(merge_engine.refresh_projection(p)) FROM unnest('{p_merge,p_delete_insert}'::regclass[]) p;
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
CREATE OR REPLACE VIEW below AS SELECT id, upper(kind) AS kind, n, seq FROM item;
SELECT short(merge_engine.refresh_projection('p_merge'));
-- an expression is no plain column: that projection says so
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
CREATE OR REPLACE VIEW below AS SELECT id, kind, n, seq FROM item;
-- a new column: the error says what to do
CREATE OR REPLACE VIEW v AS SELECT id, kind, n, seq, n * 2 AS twice FROM below WHERE n > 1;
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
SELECT short(merge_engine.refresh_projection('p_delete_insert', on_error => 'record'));
SELECT merge_engine.alter_projection('p_delete_insert');
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
SELECT * FROM p_delete_insert ORDER BY id;

-- how a constant prints in a session makes no other view of it, and no other query
CREATE VIEW dated AS SELECT id, kind, seq FROM item WHERE now() > '2020-02-01 10:00+00';
SELECT merge_engine.create_projection('p_dated', 'dated', 'delete_insert', '{seq}', replace_key => '{id}',
    affected_keys => $$SELECT id FROM item WHERE now() > '2020-02-01 10:00+00' AND now() - '2020-02-01'::date > '1 day -00:00:01'$$);
SELECT affected_keys FROM merge_engine.projection_definition WHERE projection = 'p_dated'::regclass;
SELECT short(merge_engine.refresh_projection('p_dated'));
SET timezone = 'Asia/Tokyo';
SET datestyle = 'SQL, DMY';
SET intervalstyle = 'sql_standard';
UPDATE item SET seq = nextval('seq') WHERE id = 3;
SELECT short(merge_engine.refresh_projection('p_dated'));
SELECT merge_engine.alter_projection('p_dated');
SELECT affected_keys FROM merge_engine.projection_definition WHERE projection = 'p_dated'::regclass;
RESET timezone;
RESET datestyle;
RESET intervalstyle;
SELECT merge_engine.drop_projection('p_dated');

-- switching mode and keys: a full build each; indexes and grants stay
CREATE INDEX by_kind ON p_delete_insert (kind);
GRANT SELECT ON p_delete_insert TO PUBLIC;
SELECT merge_engine.alter_projection('p_delete_insert', replace_key => '{id}');
SELECT projection, replace_key, watermark FROM merge_engine.projections WHERE projection = 'p_delete_insert'::regclass;
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
SELECT merge_engine.alter_projection('p_delete_insert', mode => 'merge', unique_key => '{id}', when_not_matched => 'error');
\d p_delete_insert
SELECT amname, reloptions FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE c.oid = 'p_delete_insert'::regclass;
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
UPDATE item SET n = 21, seq = nextval('seq') WHERE id = 2;
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
SELECT merge_engine.alter_projection('p_delete_insert', unique_key => '{n}');
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
SELECT merge_engine.alter_projection('p_delete_insert', mode => 'insert');
SELECT short(merge_engine.refresh_projection('p_delete_insert'));
SELECT relacl::text LIKE '%,=r/%' AS readable FROM pg_class WHERE oid = 'p_delete_insert'::regclass;
\d p_delete_insert
SELECT p.mode, p.unique_key, p.replace_key, d.when_not_matched FROM merge_engine.projections p JOIN merge_engine.projection_definition d USING (projection) WHERE projection = 'p_delete_insert'::regclass;
-- a merging projection whose table has been told not to merge
ALTER TABLE p_merge SET ACCESS METHOD heap;
SELECT merge_engine.alter_projection('p_merge');
SELECT short(merge_engine.refresh_projection('p_merge'));
ALTER TABLE p_merge SET ACCESS METHOD merge_engine;
SELECT short(merge_engine.refresh_projection('p_merge'));

-- whose rights: ownership, the owner's own, and nothing lent
CREATE ROLE projection_owner;
CREATE ROLE projection_other;
GRANT USAGE, CREATE ON SCHEMA refresh TO projection_owner, projection_other;
GRANT SELECT ON v TO projection_owner;
SET ROLE projection_owner;
SELECT merge_engine.create_projection('p_owned', 'v', 'delete_insert', '{seq}', replace_key => '{id}');
RESET ROLE;
GRANT SELECT (seq) ON item TO projection_owner;
SET ROLE projection_owner;
-- the way from the source to the key is read as the owner, too
SELECT merge_engine.create_projection('p_owned', 'v', 'delete_insert', '{seq}', replace_key => '{id}');
RESET ROLE;
GRANT SELECT (id, seq) ON item TO projection_owner;
SET ROLE projection_owner;
SELECT merge_engine.create_projection('p_owned', 'v', 'delete_insert', '{seq}', replace_key => '{id}');
SELECT short(merge_engine.refresh_projection('p_owned'));
SELECT merge_engine.refresh_projection('p_merge');
SELECT merge_engine.refresh_projection('p_merge', on_error => 'record');
SELECT * FROM merge_engine.check_projection('p_merge');
SELECT merge_engine.alter_projection('p_merge');
SELECT merge_engine.drop_projection('p_merge');
-- the views for people show what the reader may see
SELECT projection, field, source, watermark IS NOT NULL AS watermark, current_maximum IS NOT NULL AS maximum FROM merge_engine.projections WHERE projection IN ('p_owned'::regclass, 'p_merge') ORDER BY 1;
SET ROLE projection_other;
SELECT projection, field, source, watermark, current_maximum, last_success IS NOT NULL AS success FROM merge_engine.projections WHERE projection = 'p_owned'::regclass;
SELECT projection, kind, status, watermarks_after, error FROM merge_engine.projection_refreshes WHERE projection = 'p_owned'::regclass;
SELECT * FROM merge_engine.projection_definition;
RESET ROLE;
-- a superuser's refresh runs as the owner: a function of the owner's cannot use the superuser's rights
CREATE TABLE secret (x integer);
SET ROLE projection_owner;
CREATE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'as %', current_user; INSERT INTO refresh.secret VALUES (1); RETURN NEW; END $$;
CREATE TRIGGER spies BEFORE INSERT ON p_owned FOR EACH ROW EXECUTE FUNCTION spy();
RESET ROLE;
SELECT short(merge_engine.refresh_projection('p_owned', full_rebuild => true));
SET ROLE projection_owner;
CREATE OR REPLACE FUNCTION spy() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE 'RESET ROLE'; RETURN NEW; END $$;
RESET ROLE;
SELECT short(merge_engine.refresh_projection('p_owned', full_rebuild => true));
DROP TRIGGER spies ON p_owned;
SELECT current_user = session_user AS back;
-- row security that hides rows of a source from the owner, or from the view's owner
ALTER TABLE item ENABLE ROW LEVEL SECURITY;
SELECT short(merge_engine.refresh_projection('p_owned'));
SELECT short(merge_engine.refresh_projection('p_owned', on_error => 'record'));
SELECT short(merge_engine.refresh_projection('p_merge'));
ALTER ROLE projection_owner BYPASSRLS;
SELECT short(merge_engine.refresh_projection('p_owned'));
ALTER ROLE projection_owner NOBYPASSRLS;
SET ROLE projection_owner;
SELECT merge_engine.create_projection('p_rls', 'v', 'insert', '{seq}');
SELECT watermark, current_maximum FROM merge_engine.projections WHERE projection = 'p_owned'::regclass;
RESET ROLE;
ALTER TABLE item DISABLE ROW LEVEL SECURITY;
ALTER TABLE p_owned ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SELECT short(merge_engine.refresh_projection('p_owned'));
ALTER TABLE p_owned DISABLE ROW LEVEL SECURITY;
-- privileges taken away are an error, recorded or not
REVOKE SELECT ON v FROM projection_owner;
INSERT INTO item VALUES (9, 'c', 9);
SELECT short(merge_engine.refresh_projection('p_owned', on_error => 'record'));

-- timestamps: up to the start of the oldest transaction, our own included
CREATE TABLE event (id integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE VIEW events AS SELECT id, at FROM event;
SELECT merge_engine.create_projection('p_event', 'events', 'insert', '{at}');
INSERT INTO event VALUES (1), (2);
SELECT rows_inserted FROM merge_engine.refresh_projection('p_event');
BEGIN;
INSERT INTO event VALUES (3);
SELECT rows_inserted FROM merge_engine.refresh_projection('p_event');
INSERT INTO event VALUES (4);
COMMIT;
SET datestyle = 'SQL, DMY';
SELECT rows_inserted FROM merge_engine.refresh_projection('p_event');
SELECT rows_inserted FROM merge_engine.refresh_projection('p_event');
RESET datestyle;
SELECT count(*) FROM merge_engine.check_projection('p_event');
SELECT watermark::timestamptz = max(at), current_maximum::timestamptz = max(at) FROM merge_engine.projections, event WHERE projection = 'p_event'::regclass GROUP BY watermark, current_maximum;

-- dropping the table by SQL forgets the projection
DROP TABLE p_event;
SELECT count(*) FROM merge_engine.projections WHERE view = 'events'::regclass;
DROP VIEW events;
SET client_min_messages = warning;
DROP SCHEMA refresh CASCADE;
DROP ROLE projection_owner, projection_other;
