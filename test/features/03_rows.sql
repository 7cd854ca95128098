-- Data manipulation: every form of INSERT, UPDATE, DELETE, MERGE, COPY.
CREATE TABLE t (id int PRIMARY KEY, a int DEFAULT 7, b text);
INSERT INTO t DEFAULT VALUES;
INSERT INTO t VALUES (1), (2);
INSERT INTO t (b, id) VALUES ('x', 3), ('y', 4) RETURNING id + 1, upper(b), t.*, t;
INSERT INTO t SELECT id + 10, a, b FROM t;
INSERT INTO t SELECT id + 100, a, b FROM t ORDER BY id DESC LIMIT 3 RETURNING id;
INSERT INTO t TABLE t OFFSET 1000;
INSERT INTO t (id) VALUES (DEFAULT);
WITH moved AS (DELETE FROM t WHERE id > 100 RETURNING *), s AS (INSERT INTO t SELECT id + 1000, a, b FROM moved RETURNING id)
	SELECT id FROM s ORDER BY 1;
WITH a AS (INSERT INTO t VALUES (50, 1, 'cte') RETURNING *), b AS (INSERT INTO t VALUES (51, 1, 'cte') RETURNING *)
	SELECT * FROM a UNION ALL SELECT * FROM b ORDER BY 1;
INSERT INTO t VALUES (1, 1, 'conflict') ON CONFLICT DO NOTHING;
INSERT INTO t VALUES (1, 1, 'conflict'), (60, 1, 'new') ON CONFLICT (id) DO UPDATE SET a = t.a + excluded.a, b = excluded.b
	WHERE t.a > 0 RETURNING *;
INSERT INTO t VALUES (61, 1, 'x'), (61, 2, 'y') ON CONFLICT (id) DO UPDATE SET a = 0;
INSERT INTO t VALUES (1, 1, 'n') ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET b = 'by name' RETURNING *;
UPDATE t SET a = a + 1, b = coalesce(b, 'was null') WHERE id < 5 RETURNING *;
UPDATE t SET (a, b) = (SELECT 5, 'sub') WHERE id = 2;
UPDATE t SET a = s.a + 1 FROM t AS s WHERE s.id = t.id AND t.id IN (3, 4);
UPDATE t SET id = id + 5000 WHERE id = 3;
UPDATE t SET id = 1 WHERE id = 2;
UPDATE t SET b = 'ctid' WHERE ctid = (SELECT ctid FROM t WHERE id = 4);
DELETE FROM t USING t AS s WHERE t.id = s.id + 1000 AND s.id < 20 RETURNING t.id;
DELETE FROM t WHERE id = 60;
MERGE INTO t USING (VALUES (1, 'm1'), (70, 'm70'), (51, 'm51')) AS s (id, b) ON t.id = s.id
	WHEN MATCHED AND s.id = 51 THEN DELETE
	WHEN MATCHED THEN UPDATE SET b = s.b
	WHEN NOT MATCHED THEN INSERT (id, b) VALUES (s.id, s.b);
SELECT * FROM t ORDER BY id;
COPY t FROM STDIN;
200	1	copied
201	\N	\N
\.
COPY t (id, b) FROM STDIN WITH (FORMAT csv, HEADER true, NULL 'nil');
id,b
202,"quoted, text"
203,nil
\.
COPY t FROM STDIN WHERE id % 2 = 0;
204	1	even
205	1	odd
\.
COPY t FROM STDIN;
206	1	fine
207	x	broken
\.
COPY t TO STDOUT (FORMAT csv);
COPY (SELECT id FROM t WHERE id > 200 ORDER BY id) TO STDOUT;
BEGIN;
CREATE TABLE frozen (id int PRIMARY KEY, v text);
COPY frozen FROM STDIN (FREEZE);
1	a
2	b
\.
COMMIT;
TABLE frozen;
PREPARE ins (int, text) AS INSERT INTO t (id, b) VALUES ($1, $2) RETURNING *;
EXECUTE ins (300, 'p'); EXECUTE ins (301, 'q'); EXECUTE ins (302, NULL);
EXECUTE ins (303, 'r'); EXECUTE ins (304, 's'); EXECUTE ins (305, 't'); EXECUTE ins (306, 'u');
ALTER TABLE t ADD COLUMN c int DEFAULT 1;
EXECUTE ins (307, 'v');
DEALLOCATE ins;
SELECT count(*), sum(a), sum(c) FROM t;
BEGIN;
DECLARE cur SCROLL CURSOR FOR SELECT id, b FROM t ORDER BY id FOR UPDATE;
FETCH 2 FROM cur;
UPDATE t SET b = 'by cursor' WHERE CURRENT OF cur;
FETCH RELATIVE 1 FROM cur;
DELETE FROM t WHERE CURRENT OF cur;
MOVE LAST IN cur;
CLOSE cur;
COMMIT;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM t WHERE id >= 300 ORDER BY id;
COMMIT;
FETCH 2 FROM held;
CLOSE held;
SELECT * FROM t WHERE id < 10 ORDER BY id;
SELECT id FROM t WHERE id = 300 FOR UPDATE;
SELECT id FROM t WHERE id = 300 FOR KEY SHARE;
SELECT id FROM t WHERE ctid IN (SELECT ctid FROM t ORDER BY id LIMIT 2) ORDER BY id;
SELECT count(*) FROM t WHERE ctid >= '(0,1)' AND ctid < '(100,1)';
SELECT count(*) > 0 FROM t TABLESAMPLE BERNOULLI (100);
SELECT count(*) FROM t TABLESAMPLE SYSTEM (100) REPEATABLE (1);
SELECT count(*) FROM t WHERE xmin IS NOT NULL AND cmin IS NOT NULL AND xmax IS NOT NULL AND tableoid = 't'::regclass;
INSERT INTO t (id, b) VALUES (400, repeat('long ', 100000));
INSERT INTO t (id, b) SELECT 401, string_agg(md5(i::text), '') FROM generate_series(1, 20000) AS i;
UPDATE t SET a = 0 WHERE id IN (400, 401);
SELECT id, a, length(b), md5(b) FROM t WHERE id IN (400, 401) ORDER BY id;
CREATE TABLE empty_rows ();
INSERT INTO empty_rows DEFAULT VALUES;
SELECT count(*) FROM empty_rows;
CREATE TABLE only_key (k int PRIMARY KEY);
INSERT INTO only_key SELECT i FROM generate_series(1, 10) AS i;
SELECT count(*), max(k) FROM only_key;
CREATE FUNCTION counting(int) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT count(*) FROM only_key WHERE $1 IS NOT NULL';
CREATE FUNCTION adding(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN INSERT INTO only_key VALUES ($1); RETURN $1; END';
SELECT adding(i) FROM generate_series(11, 13) AS i;
INSERT INTO t (id, a) SELECT 500 + i, adding(20 + i) FROM generate_series(1, 3) AS i;
SELECT counting(1);
SELECT id, a FROM t WHERE id > 500 ORDER BY 1;
INSERT INTO t (id) VALUES ((SELECT max(id) + 1 FROM t)), ((SELECT max(id) + 2 FROM t)) RETURNING id;
