-- Constraints and triggers see merged rows.
\pset format unaligned
\pset tuples_only on
\pset null NULL
\set VERBOSITY sqlstate
CREATE SCHEMA constraints_triggers;
SET search_path = constraints_triggers;

-- CHECK and NOT NULL, on the merged row
CREATE TABLE c (k int PRIMARY KEY, a int CHECK (a < 100), b int, CONSTRAINT ordered CHECK (a <= b))
	USING merge_engine WITH ("merge-engine" = 'partial-update');
INSERT INTO c VALUES (1, 10, 20);
INSERT INTO c VALUES (1, 30, NULL);		-- right alone, wrong beside 20
INSERT INTO c VALUES (1, NULL, 5);
INSERT INTO c VALUES (1, 200, NULL);
SELECT * FROM c;
INSERT INTO c VALUES (1, NULL, 40), (1, 30, NULL);
SELECT * FROM c;
CREATE TABLE sums (k int PRIMARY KEY, total int CHECK (total BETWEEN 0 AND 100))
	USING merge_engine WITH ("merge-engine" = 'aggregation', "fields.total.aggregate-function" = 'sum');
INSERT INTO sums VALUES (1, 60);
INSERT INTO sums VALUES (2, 1), (1, 60);
COPY sums FROM stdin;
2	1
1	60
\.
SELECT * FROM sums;
CREATE TABLE n (k int PRIMARY KEY, a int NOT NULL, b text NOT NULL, op text)
	USING merge_engine WITH ("merge-engine" = 'aggregation', "rowkind.field" = 'op',
		"fields.a.aggregate-function" = 'last_value');
INSERT INTO n VALUES (1, 1, 'x', '+I');
INSERT INTO n VALUES (1, 1, 'x', '-D');	-- would set both to NULL
INSERT INTO n VALUES (1, NULL, 'y', '+I');
SELECT * FROM n;

-- generated columns are computed from the merged row
CREATE TABLE g (k int PRIMARY KEY, a int, b int, total int GENERATED ALWAYS AS (a + b) STORED CHECK (total < 100),
		label text GENERATED ALWAYS AS (k || ':' || coalesce(a, 0)) STORED)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
INSERT INTO g VALUES (1, 1, NULL);
INSERT INTO g VALUES (1, NULL, 2);
SELECT * FROM g;
INSERT INTO g VALUES (1, 10, NULL), (1, NULL, 20) RETURNING *;
INSERT INTO g VALUES (1, 90, NULL);
SELECT * FROM g;

-- foreign keys of the merge table are checked on the merged row
CREATE TABLE parent (id int PRIMARY KEY);
INSERT INTO parent VALUES (1), (2);
CREATE TABLE child (k int PRIMARY KEY, parent_id int REFERENCES parent, a int, op text DEFAULT '+I')
	USING merge_engine WITH ("merge-engine" = 'partial-update', "rowkind.field" = 'op',
		"partial-update.remove-record-on-delete" = 'true');
INSERT INTO child VALUES (1, 1, 1, '+I'), (1, NULL, 2, '+I'), (1, 2, NULL, '+I');
INSERT INTO child VALUES (1, 9, NULL, '+I');
INSERT INTO child VALUES (3, 9, NULL, '+I');
SELECT * FROM child;
DELETE FROM parent WHERE id = 2;
DELETE FROM parent WHERE id = 1;
-- a -D row asks for no parent
INSERT INTO child VALUES (1, 9, NULL, '-D');
SELECT * FROM child;
DELETE FROM parent WHERE id = 2;
-- row and -D in one statement
INSERT INTO child VALUES (4, 9, NULL, '+I'), (4, 9, NULL, '-D');

-- foreign keys to the merge table: what a -D row does
CREATE TABLE target (k int PRIMARY KEY, a int UNIQUE, op text)
	USING merge_engine WITH ("rowkind.field" = 'op');
CREATE TABLE restricting (k int REFERENCES target);
CREATE TABLE cascading (k int REFERENCES target ON DELETE CASCADE);
CREATE TABLE nulling (k int REFERENCES target ON DELETE SET NULL, id int);
CREATE TABLE following (a int REFERENCES target (a) ON UPDATE CASCADE);
INSERT INTO target VALUES (1, 10, '+I'), (2, 20, '+I'), (3, 30, '+I'), (4, 40, '+I');
INSERT INTO restricting VALUES (1);
INSERT INTO cascading VALUES (2), (2);
INSERT INTO nulling VALUES (3, 1);
INSERT INTO following VALUES (40);
INSERT INTO target VALUES (1, NULL, '-D');
INSERT INTO target VALUES (2, NULL, '-D'), (3, NULL, '-D');
INSERT INTO target VALUES (4, 41, '+U');
SELECT k, a FROM target ORDER BY k;
SELECT * FROM cascading;
SELECT * FROM nulling;
SELECT * FROM following;
-- removed and inserted again in one statement: the reference holds
INSERT INTO target VALUES (1, NULL, '-D'), (1, 11, '+I');
SELECT k, a FROM target ORDER BY k;
SELECT * FROM restricting;
-- to itself
CREATE TABLE tree (k int PRIMARY KEY, up int REFERENCES tree, a int)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
INSERT INTO tree VALUES (2, 1, NULL), (1, NULL, 1), (2, NULL, 2);
INSERT INTO tree VALUES (3, 4, NULL);
SELECT * FROM tree ORDER BY k;
-- deferred
CREATE TABLE later (k int PRIMARY KEY, parent_id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED, a int)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
BEGIN;
INSERT INTO later VALUES (1, 50, 1);
INSERT INTO later VALUES (1, NULL, 2);
INSERT INTO parent VALUES (50);
COMMIT;
SELECT * FROM later;
BEGIN;
INSERT INTO later VALUES (1, 60, 1);
COMMIT;

-- AFTER ROW triggers: one call for an input row, with what became of it
CREATE TABLE calls (n serial, what text, old_row text, new_row text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO calls (what, old_row, new_row) VALUES (TG_WHEN || ' ' || TG_OP || ' ' || TG_LEVEL,
		CASE WHEN TG_OP <> 'INSERT' AND TG_LEVEL = 'ROW' THEN OLD::text END,
		CASE WHEN TG_OP <> 'DELETE' AND TG_LEVEL = 'ROW' THEN NEW::text END);
	RETURN NEW;
END $$;
CREATE TABLE w (k int PRIMARY KEY, a int, b int, op text)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "rowkind.field" = 'op',
		"partial-update.remove-record-on-delete" = 'true');
CREATE TRIGGER after_insert AFTER INSERT ON w FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO w VALUES (1, 1, NULL, '+I'), (1, NULL, 2, '+U');
INSERT INTO w VALUES (1, 3, NULL, '+U') RETURNING *;
SELECT what, new_row FROM calls ORDER BY n;
TRUNCATE calls;
-- a removal does not end in "failed to fetch tuple"
INSERT INTO w VALUES (1, NULL, NULL, '-D'), (2, NULL, NULL, '-D'), (3, 1, 1, '+I'), (3, NULL, NULL, '-D'), (3, 5, NULL, '+I');
SELECT * FROM w;
DROP TRIGGER after_insert ON w;
TRUNCATE calls;
-- statement triggers fire once
CREATE TRIGGER statement_before BEFORE INSERT ON w EXECUTE FUNCTION note();
CREATE TRIGGER statement_after AFTER INSERT ON w EXECUTE FUNCTION note();
INSERT INTO w VALUES (1, 1, 1, '+I'), (1, 2, NULL, '+U'), (2, 1, 1, '+I');
SELECT what FROM calls ORDER BY n;
DROP TRIGGER statement_before ON w;
DROP TRIGGER statement_after ON w;
-- BEFORE ROW triggers change or drop the incoming row
CREATE FUNCTION change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.a < 0 THEN
		RETURN NULL;
	END IF;
	NEW.b := NEW.a * 10;
	RETURN NEW;
END $$;
CREATE TRIGGER before_row BEFORE INSERT ON w FOR EACH ROW EXECUTE FUNCTION change();
\set QUIET off
INSERT INTO w VALUES (1, 5, NULL, '+U'), (1, -1, 7, '+U'), (2, NULL, 8, '+U');
\set QUIET on
SELECT * FROM w ORDER BY k;
DROP TRIGGER before_row ON w;
-- transition tables hold merged rows
CREATE TABLE seen (k int, a int, b int);
CREATE FUNCTION transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen SELECT k, a, b FROM inserted;
	RETURN NULL;
END $$;
CREATE TABLE tt (k int PRIMARY KEY, a int, b int) USING merge_engine WITH ("merge-engine" = 'partial-update');
INSERT INTO tt VALUES (1, 1, 1);
CREATE TRIGGER transition AFTER INSERT ON tt REFERENCING NEW TABLE AS inserted EXECUTE FUNCTION transition();
INSERT INTO tt VALUES (1, NULL, 2), (2, 5, NULL);
SELECT * FROM seen ORDER BY k;
COPY tt FROM stdin;
1	9	\N
\.
SELECT * FROM seen WHERE a = 9;
-- deferred constraint triggers fetch the row that is stored
CREATE TABLE ct (k int PRIMARY KEY, a int, b int) USING merge_engine WITH ("merge-engine" = 'partial-update');
CREATE CONSTRAINT TRIGGER deferred AFTER INSERT ON ct DEFERRABLE INITIALLY DEFERRED
	FOR EACH ROW EXECUTE FUNCTION note();
TRUNCATE calls;
BEGIN;
INSERT INTO ct VALUES (1, 1, NULL);
SELECT count(*) FROM calls;
COMMIT;
SELECT what, new_row FROM calls ORDER BY n;

-- row level security: WITH CHECK and USING
CREATE ROLE regress_merge_user;
GRANT USAGE ON SCHEMA constraints_triggers TO regress_merge_user;
CREATE TABLE rls (k int PRIMARY KEY, owner name, a int)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
GRANT SELECT, INSERT ON rls TO regress_merge_user;
ALTER TABLE rls ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON rls USING (owner = current_user) WITH CHECK (owner = current_user AND a < 100);
INSERT INTO rls VALUES (2, 'somebody', 1);
SET ROLE regress_merge_user;
INSERT INTO rls VALUES (1, 'regress_merge_user', 1), (1, 'regress_merge_user', 2);
INSERT INTO rls VALUES (1, 'somebody', 3);
INSERT INTO rls VALUES (1, 'regress_merge_user', 100);
-- nor may a row be merged onto one that its policies hide
INSERT INTO rls VALUES (2, 'regress_merge_user', 9);
SELECT * FROM rls;
RESET ROLE;
SELECT * FROM rls ORDER BY k;
-- privileges: INSERT is enough to insert and to merge
CREATE TABLE granted (k int PRIMARY KEY, a int) USING merge_engine WITH ("merge-engine" = 'partial-update');
GRANT INSERT ON granted TO regress_merge_user;
SET ROLE regress_merge_user;
INSERT INTO granted VALUES (1, 1), (1, 2);
INSERT INTO granted VALUES (1, 3);
SELECT * FROM granted;
RESET ROLE;
SELECT * FROM granted;
REVOKE ALL ON ALL TABLES IN SCHEMA constraints_triggers FROM regress_merge_user;
REVOKE ALL ON SCHEMA constraints_triggers FROM regress_merge_user;
DROP ROLE regress_merge_user;

-- other unique constraints: between keys they hold, within a key they do not matter
CREATE TABLE u (k int PRIMARY KEY, a int UNIQUE, b int) USING merge_engine WITH ("merge-engine" = 'partial-update');
INSERT INTO u VALUES (1, 10, 1), (2, 20, 1), (1, 10, 2);
INSERT INTO u VALUES (1, 20, NULL);
INSERT INTO u VALUES (3, 10, NULL);
INSERT INTO u VALUES (1, 11, NULL), (3, 10, NULL);
SELECT k, a FROM u ORDER BY k;
CREATE TABLE ud (k int PRIMARY KEY, a int UNIQUE DEFERRABLE INITIALLY DEFERRED)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
INSERT INTO ud VALUES (1, 1), (2, 2);
BEGIN;
INSERT INTO ud VALUES (1, 2);
INSERT INTO ud VALUES (2, 1);
COMMIT;
SELECT * FROM ud ORDER BY k;
BEGIN;
INSERT INTO ud VALUES (1, 1);
COMMIT;
INSERT INTO ud VALUES (3, 2);
SELECT * FROM ud ORDER BY k;
-- exclusion constraints
CREATE TABLE ex (k int PRIMARY KEY, during int4range, a int, EXCLUDE USING gist (during WITH &&))
	USING merge_engine WITH ("merge-engine" = 'partial-update');
INSERT INTO ex VALUES (1, '[1,5)', 1), (1, '[2,6)', 2), (2, '[6,9)', 1);
INSERT INTO ex VALUES (2, '[5,8)', NULL);
INSERT INTO ex VALUES (3, '[1,3)', NULL);
INSERT INTO ex VALUES (2, '[7,9)', NULL);
INSERT INTO ex VALUES (1, NULL, 3), (1, '[1,7)', NULL);
SELECT * FROM ex ORDER BY k;

-- domains
CREATE DOMAIN small AS int CHECK (VALUE < 100);
CREATE TABLE dom (k int PRIMARY KEY, a small, b text)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
INSERT INTO dom VALUES (1, 5, 'x'), (1, NULL, 'y');
INSERT INTO dom VALUES (1, 100, NULL);
SELECT * FROM dom;
