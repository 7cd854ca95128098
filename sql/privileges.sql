-- Who may merge, and what he may learn by it.
CREATE ROLE regress_merge_writer;
CREATE TABLE accounts (id int PRIMARY KEY, note text, balance int CHECK (balance < 100),
	secret text NOT NULL DEFAULT 'none')
USING merge_engine WITH (merge_engine = 'aggregation', "fields.balance.aggregate-function" = 'sum');
INSERT INTO accounts VALUES (1, 'private note', 60, 'stored');
GRANT INSERT (id, note, balance) ON accounts TO regress_merge_writer;

-- INSERT is enough to merge: the table's owner has declared what it does
SET ROLE regress_merge_writer;
INSERT INTO accounts (id, balance) VALUES (1, 30);
INSERT INTO accounts (id, secret) VALUES (1, 'x');
-- a row that fails is not shown, whether there was one or not
INSERT INTO accounts (id, note, balance) VALUES (1, NULL, 30);
INSERT INTO accounts (id, note, balance) VALUES (1, NULL, 30), (1, NULL, 0);
INSERT INTO accounts (id, note, balance) VALUES (2, NULL, 300);
COPY accounts (id, note, balance) FROM STDIN;
1	\N	30
\.
-- RETURNING is a SELECT
INSERT INTO accounts (id, balance) VALUES (1, 1) RETURNING id;
UPDATE accounts SET balance = 0;
DELETE FROM accounts;
ALTER TABLE accounts SET ("ignore-delete" = true);
RESET ROLE;
GRANT SELECT (id, balance) ON accounts TO regress_merge_writer;
SET ROLE regress_merge_writer;
INSERT INTO accounts (id, balance) VALUES (1, 1) RETURNING id, balance;
INSERT INTO accounts (id, balance) VALUES (1, 1) RETURNING secret;
INSERT INTO accounts (id, balance) VALUES (1, 1) RETURNING *;
INSERT INTO accounts (id, note, balance) VALUES (1, NULL, 30);
RESET ROLE;
GRANT SELECT ON accounts TO regress_merge_writer;
SET ROLE regress_merge_writer;
INSERT INTO accounts (id, note, balance) VALUES (1, NULL, 30);
RESET ROLE;
SELECT * FROM accounts;

-- a view lends its owner's rights, row security or not
REVOKE ALL ON accounts FROM regress_merge_writer;
CREATE VIEW door WITH (security_barrier) AS SELECT id, balance FROM accounts;
GRANT INSERT ON door TO regress_merge_writer;
SET ROLE regress_merge_writer;
INSERT INTO door VALUES (1, 1);
INSERT INTO accounts (id, balance) VALUES (1, 1);
RESET ROLE;
ALTER TABLE accounts ENABLE ROW LEVEL SECURITY;
SET ROLE regress_merge_writer;
INSERT INTO door VALUES (1, 1), (1, 1);
RESET ROLE;
SELECT * FROM accounts;
DROP TABLE accounts CASCADE;

-- names in options are names: nothing in them is run
CREATE TABLE "a'; DROP TABLE x; --" (id int PRIMARY KEY, "v""; SELECT 1/0; --" int, "q'q" int)
USING merge_engine WITH (merge_engine = 'aggregation', sequence.field = '"q''q"',
	"fields.v""; SELECT 1/0; --.aggregate-function" = 'sum');
INSERT INTO "a'; DROP TABLE x; --" VALUES (1, 1, 1), (1, 2, 2);
SELECT * FROM "a'; DROP TABLE x; --";
SELECT table_name, sequence_fields FROM merge_engine.tables WHERE table_name::text ~ 'DROP';
ALTER TABLE "a'; DROP TABLE x; --" RENAME "q'q" TO "r"" , ""s";
INSERT INTO "a'; DROP TABLE x; --" VALUES (1, 1, 3);
SELECT reloptions FROM pg_class WHERE relname ~ 'DROP TABLE x' ORDER BY reloptions IS NULL;
DROP TABLE "a'; DROP TABLE x; --";

-- an aggregate function of one's own runs with the rights of who inserts, by
-- the name that it had when it was declared
CREATE SCHEMA evil;
CREATE FUNCTION evil.sum(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 666';
CREATE TABLE sums (id int PRIMARY KEY, v int)
USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'sum');
SET search_path = evil, public, pg_catalog;
CREATE OPERATOR evil.+ (FUNCTION = evil.sum, LEFTARG = int, RIGHTARG = int);
INSERT INTO public.sums VALUES (1, 1), (1, 2);
SELECT * FROM sums;
RESET search_path;
DROP SCHEMA evil CASCADE;

-- nothing of the extension runs with other rights than the caller's
SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
WHERE refobjid = (SELECT oid FROM pg_extension WHERE extname = 'merge_engine') AND prosecdef;
DROP TABLE sums;
DROP ROLE regress_merge_writer;
