-- Row level security: whose policies, and on which rows.
\set VERBOSITY terse
\pset format unaligned
\pset tuples_only on
CREATE SCHEMA row_security;
SET search_path = row_security;
CREATE ROLE regress_rls_owner;
CREATE ROLE regress_rls_user;
CREATE ROLE regress_rls_bypass BYPASSRLS;
GRANT ALL ON SCHEMA row_security TO regress_rls_owner;
GRANT USAGE ON SCHEMA row_security TO regress_rls_user, regress_rls_bypass;
CREATE TABLE r (k int PRIMARY KEY, who text, v int, n int)
	USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 'n');
ALTER TABLE r OWNER TO regress_rls_owner;
ALTER TABLE r ENABLE ROW LEVEL SECURITY;
GRANT INSERT ON r TO regress_rls_user, regress_rls_bypass;
CREATE POLICY i ON r FOR INSERT TO regress_rls_user WITH CHECK (true);
INSERT INTO r VALUES (1, 'a', 1, 1), (10, 'lim', 50, 1), (20, 'lim', 150, 1);

-- INSERT's privilege and policy are enough for new keys only
SET ROLE regress_rls_user;
INSERT INTO r VALUES (11, 'lim', 1, 1), (12, 'lim', 500, 1);
INSERT INTO r VALUES (10, 'lim', 51, 2);
RESET ROLE;
-- nor is the policy for SELECT enough to change a row; what changes nothing needs no more
CREATE POLICY s ON r FOR SELECT TO regress_rls_user USING (who = 'lim');
SET ROLE regress_rls_user;
INSERT INTO r VALUES (10, 'lim', 51, 2);
INSERT INTO r VALUES (10, 'lim', 50, 1);
INSERT INTO r VALUES (10, NULL, NULL, 0);
RESET ROLE;
CREATE POLICY u ON r FOR UPDATE TO regress_rls_user USING (v >= 0) WITH CHECK (v < 100);
SET ROLE regress_rls_user;
INSERT INTO r VALUES (10, 'lim', 51, 2);
-- the stored row is hidden, also from a row that changes nothing
INSERT INTO r VALUES (1, 'lim', 5, 2);
INSERT INTO r VALUES (1, NULL, NULL, 0);
INSERT INTO r VALUES (1, 'lim', 5, 2) ON CONFLICT DO NOTHING;
-- the merged row is checked, not the incoming one
INSERT INTO r VALUES (10, 'lim', 500, 3);
INSERT INTO r VALUES (20, 'lim', NULL, 2);
INSERT INTO r VALUES (20, 'lim', 99, 2);
INSERT INTO r VALUES (10, 'somebody', 1, 3);
-- each row of a statement, and in a prepared statement
INSERT INTO r VALUES (10, 'lim', 52, 3), (10, 'lim', 100, 4);
INSERT INTO r SELECT k, 'lim', k, 5 FROM generate_series(10, 12) k;
PREPARE p AS INSERT INTO r VALUES ($1, 'lim', $2, $3);
EXECUTE p (10, 60, 6);
EXECUTE p (10, 600, 7);
EXECUTE p (1, 60, 7);
RESET ROLE;
EXECUTE p (10, 600, 7);
EXECUTE p (10, 60, 8);
DEALLOCATE p;
SELECT * FROM r ORDER BY k;
-- RETURNING shows what the policies for SELECT admit
GRANT SELECT ON r TO regress_rls_user;
SET ROLE regress_rls_user;
INSERT INTO r VALUES (10, 'lim', 61, 9) RETURNING *;
INSERT INTO r VALUES (1, 'lim', NULL, 0) RETURNING *;
SELECT count(*) FROM r;
-- row_security = off is an error where policies apply
SET row_security = off;
INSERT INTO r VALUES (10, 'lim', 62, 10);
RESET row_security;
RESET ROLE;
REVOKE SELECT ON r FROM regress_rls_user;

-- who is asked: nobody for an owner and BYPASSRLS, with FORCE the owner too
SET ROLE regress_rls_bypass;
INSERT INTO r VALUES (1, NULL, 2, 2);
SET row_security = off;
INSERT INTO r VALUES (1, NULL, 3, 3);
RESET row_security;
SET ROLE regress_rls_owner;
INSERT INTO r VALUES (1, NULL, 4, 4);
ALTER TABLE r FORCE ROW LEVEL SECURITY;
INSERT INTO r VALUES (1, NULL, 5, 5);
CREATE POLICY owner_i ON r FOR INSERT TO regress_rls_owner WITH CHECK (true);
INSERT INTO r VALUES (1, NULL, 6, 6);
ALTER TABLE r NO FORCE ROW LEVEL SECURITY;
INSERT INTO r VALUES (1, NULL, 7, 7);
-- through a view it is the view's owner, unless it is a security invoker
CREATE VIEW r_owner AS SELECT * FROM r;
CREATE VIEW r_invoker WITH (security_invoker) AS SELECT * FROM r;
GRANT INSERT ON r_owner, r_invoker TO regress_rls_user;
RESET ROLE;
CREATE VIEW r_user AS SELECT * FROM r;
ALTER VIEW r_user OWNER TO regress_rls_user;
INSERT INTO r_user VALUES (1, 'hacked', 8, 8);
INSERT INTO r_user VALUES (10, 'lim', 70, 10);
INSERT INTO r_user VALUES (10, 'lim', 700, 11);
INSERT INTO r_invoker VALUES (10, 'lim', 170, 11), (10, 'lim', 71, 12);
SET ROLE regress_rls_user;
INSERT INTO r_owner VALUES (1, NULL, 9, 9);
INSERT INTO r_invoker VALUES (1, NULL, 10, 10);
INSERT INTO r_invoker VALUES (10, 'lim', 72, 13);
RESET ROLE;
-- one statement, both ways
WITH w AS (INSERT INTO r_user VALUES (10, 'lim', 73, 14)) INSERT INTO r VALUES (1, NULL, 11, 11);
WITH w AS (INSERT INTO r VALUES (1, NULL, 12, 12)) INSERT INTO r_user VALUES (1, NULL, 13, 13);
SELECT * FROM r WHERE k IN (1, 10) ORDER BY k;
-- a function runs as its owner
SET ROLE regress_rls_owner;
CREATE FUNCTION put(int, int) RETURNS void SECURITY DEFINER SET search_path = row_security
	BEGIN ATOMIC INSERT INTO r (k, v, n) VALUES (1, $1, $2); END;
SET ROLE regress_rls_user;
SELECT put(14, 14);
RESET ROLE;
SELECT * FROM r WHERE k = 1;
-- MERGE's insertions ask the same
GRANT SELECT ON r TO regress_rls_user;
SET ROLE regress_rls_user;
MERGE INTO r USING (SELECT 1) s ON false WHEN NOT MATCHED THEN INSERT VALUES (10, 'lim', 74, 15);
MERGE INTO r USING (SELECT 1) s ON false WHEN NOT MATCHED THEN INSERT VALUES (10, 'lim', 740, 16);
MERGE INTO r USING (SELECT 1) s ON false WHEN NOT MATCHED THEN INSERT VALUES (1, 'lim', 15, 15);
RESET ROLE;
REVOKE SELECT ON r FROM regress_rls_user;
-- a table without row security asks nothing; COPY refuses one with it
ALTER TABLE r DISABLE ROW LEVEL SECURITY;
SET ROLE regress_rls_user;
INSERT INTO r VALUES (1, NULL, 16, 16);
RESET ROLE;
ALTER TABLE r ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rls_user;
\copy r FROM /dev/null
RESET ROLE;

-- restrictive policies are named
CREATE POLICY even ON r AS RESTRICTIVE FOR UPDATE TO regress_rls_user USING (true) WITH CHECK (v % 2 = 0);
SET ROLE regress_rls_user;
INSERT INTO r VALUES (10, NULL, 74, 20);
INSERT INTO r VALUES (10, NULL, 75, 21);
RESET ROLE;
DROP POLICY even ON r;

-- policies with subqueries, whole rows and system columns
CREATE TABLE admitted (who text, most int);
INSERT INTO admitted VALUES ('lim', 80);
CREATE POLICY sub ON r AS RESTRICTIVE FOR UPDATE TO regress_rls_user
	USING (EXISTS (SELECT FROM admitted a WHERE a.who = r.who))
	WITH CHECK (v <= (SELECT most FROM admitted a WHERE a.who = r.who) AND r IS NOT NULL
		AND tableoid = (SELECT 'row_security.r'::regclass::oid)
		AND (SELECT (x.row).k = r.k FROM (SELECT r AS row) x));
SET ROLE regress_rls_user;
INSERT INTO r VALUES (10, NULL, 78, 30);
RESET ROLE;
-- with the privileges of whoever is asked
GRANT SELECT ON admitted TO regress_rls_user;
SET ROLE regress_rls_user;
INSERT INTO r VALUES (10, NULL, 78, 30);
INSERT INTO r VALUES (10, NULL, 79, 31), (10, NULL, 80, 32);
INSERT INTO r VALUES (10, NULL, 81, 33);
RESET ROLE;
-- and with the policies of the table that the subquery reads
ALTER TABLE admitted ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rls_user;
INSERT INTO r VALUES (10, NULL, 79, 33);
RESET ROLE;
ALTER TABLE admitted DISABLE ROW LEVEL SECURITY;
INSERT INTO r_user VALUES (10, NULL, 79, 33);
INSERT INTO r_user VALUES (10, NULL, 81, 34);
SELECT * FROM r WHERE k = 10;

-- removing asks the policies for DELETE instead of those for UPDATE
CREATE TABLE d (k int PRIMARY KEY, who text, kind text)
	USING merge_engine WITH ("rowkind.field" = 'kind');
ALTER TABLE d ENABLE ROW LEVEL SECURITY;
GRANT INSERT ON d TO regress_rls_user;
CREATE POLICY i ON d FOR INSERT WITH CHECK (true);
CREATE POLICY s ON d FOR SELECT USING (who <> 'hidden');
CREATE POLICY u ON d FOR UPDATE USING (who = 'update') WITH CHECK (true);
CREATE POLICY d ON d FOR DELETE USING (who IN ('delete', 'hidden'));
INSERT INTO d VALUES (1, 'update', '+I'), (2, 'delete', '+I'), (3, 'hidden', '+I'), (4, 'none', '+I');
SET ROLE regress_rls_user;
INSERT INTO d VALUES (1, NULL, '-D');
INSERT INTO d VALUES (2, 'new', '+U');
INSERT INTO d VALUES (2, NULL, '-D');
INSERT INTO d VALUES (3, NULL, '-D');
INSERT INTO d VALUES (4, NULL, '-D');
INSERT INTO d VALUES (5, NULL, '-D');
INSERT INTO d VALUES (1, 'delete', '+U'), (1, NULL, '-D');
RESET ROLE;
SELECT * FROM d ORDER BY k;

-- partitions: the policies are those of the table that the statement names
CREATE TABLE part (k int, who text, v int, PRIMARY KEY (k)) PARTITION BY RANGE (k);
CREATE TABLE part_1 (gone int, v int, who text, k int NOT NULL, PRIMARY KEY (k))
	USING merge_engine WITH ("merge-engine" = 'partial-update');
ALTER TABLE part_1 DROP COLUMN gone;
ALTER TABLE part ATTACH PARTITION part_1 FOR VALUES FROM (0) TO (10);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20)
	USING merge_engine WITH ("merge-engine" = 'partial-update');
GRANT INSERT ON part, part_1 TO regress_rls_user;
ALTER TABLE part ENABLE ROW LEVEL SECURITY;
CREATE POLICY i ON part FOR INSERT WITH CHECK (true);
CREATE POLICY s ON part FOR SELECT USING (who = 'lim');
CREATE POLICY u ON part FOR UPDATE USING ((SELECT part.who) = 'lim' AND part IS NOT NULL)
	WITH CHECK (v < 100 AND (part).v < (SELECT 90 FROM admitted WHERE part.k >= 0));
INSERT INTO part VALUES (1, 'lim', 1), (2, 'a', 1), (11, 'lim', 1), (12, 'a', 1);
SET ROLE regress_rls_user;
INSERT INTO part VALUES (1, NULL, 2), (11, NULL, 2), (3, 'lim', 300);
INSERT INTO part VALUES (2, 'lim', 2);
INSERT INTO part VALUES (12, 'lim', 2);
INSERT INTO part VALUES (1, NULL, 95);
INSERT INTO part VALUES (11, NULL, 100);
INSERT INTO part_1 VALUES (400, NULL, 1);
RESET ROLE;
ALTER TABLE part_1 ENABLE ROW LEVEL SECURITY;
SET ROLE regress_rls_user;
INSERT INTO part_1 VALUES (500, NULL, 1);
INSERT INTO part VALUES (1, NULL, NULL), (1, 'lim', 3);
RESET ROLE;
SELECT * FROM part ORDER BY k;
-- also in the statement that loads the library
CREATE VIEW part_user AS SELECT * FROM part;
ALTER VIEW part_user OWNER TO regress_rls_user;
\c -
INSERT INTO row_security.part_user VALUES (2, 'lim', 3);
\c -
SET ROLE regress_rls_user;
INSERT INTO row_security.part VALUES (11, NULL, 100);
\c -
SET ROLE regress_rls_user;
INSERT INTO row_security.part VALUES (11, NULL, 3);
RESET ROLE;
SET search_path = row_security;
SELECT * FROM part WHERE k IN (2, 11) ORDER BY k;

-- an engine that never changes a row needs to see it only
CREATE TABLE f (k int PRIMARY KEY, who text) USING merge_engine WITH ("merge-engine" = 'first-row');
ALTER TABLE f ENABLE ROW LEVEL SECURITY;
GRANT INSERT ON f TO regress_rls_user;
CREATE POLICY i ON f FOR INSERT WITH CHECK (true);
CREATE POLICY s ON f FOR SELECT USING (who = 'lim');
INSERT INTO f VALUES (1, 'lim'), (2, 'a');
SET ROLE regress_rls_user;
INSERT INTO f VALUES (1, 'new');
INSERT INTO f VALUES (2, 'new');
RESET ROLE;

DROP SCHEMA row_security CASCADE;
DROP ROLE regress_rls_owner, regress_rls_user, regress_rls_bypass;
