-- Inheritance and partitioning.
CREATE TABLE cities (name text PRIMARY KEY, population int);
CREATE TABLE capitals (state char(2), PRIMARY KEY (name)) INHERITS (cities);
INSERT INTO cities VALUES ('a', 1), ('b', 2);
INSERT INTO capitals VALUES ('c', 3, 'XX');
INSERT INTO capitals VALUES ('a', 4, 'YY');
SELECT * FROM cities ORDER BY name, population;
SELECT * FROM ONLY cities ORDER BY name;
UPDATE cities SET population = population + 10;
DELETE FROM cities WHERE name = 'b';
SELECT tableoid::regclass, * FROM cities ORDER BY name, population;
ALTER TABLE cities ADD COLUMN mayor text DEFAULT 'm';
ALTER TABLE capitals NO INHERIT cities;
ALTER TABLE capitals INHERIT cities;
SELECT * FROM capitals ORDER BY 1;
CREATE TABLE log (at date, id int, v text, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE log_a PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2024-07-01');
CREATE TABLE log_b PARTITION OF log FOR VALUES FROM ('2024-07-01') TO ('2025-01-01') PARTITION BY LIST (id);
CREATE TABLE log_b1 PARTITION OF log_b FOR VALUES IN (1, 2);
CREATE TABLE log_bd PARTITION OF log_b DEFAULT;
INSERT INTO log VALUES ('2024-01-05', 1, 'a'), ('2024-08-01', 1, 'b'), ('2024-08-01', 5, 'c'), ('2024-09-01', 2, 'd') RETURNING tableoid::regclass, *;
INSERT INTO log VALUES ('2026-01-01', 1, 'x');
INSERT INTO log_a VALUES ('2024-12-01', 1, 'x');
UPDATE log SET at = '2024-08-02' WHERE v = 'a' RETURNING tableoid::regclass, *;
UPDATE log SET id = id + 1 WHERE at > '2024-07-01';
SELECT tableoid::regclass, * FROM log ORDER BY v;
CREATE TABLE log_c (v text, id int NOT NULL, junk int, at date NOT NULL, PRIMARY KEY (id, at));
ALTER TABLE log_c DROP COLUMN junk;
INSERT INTO log_c VALUES ('e', 9, '2025-03-01');
ALTER TABLE log ATTACH PARTITION log_c FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
INSERT INTO log (v, at, id) VALUES ('f', '2025-04-01', 1), ('g', '2024-02-01', 7);
COPY log (id, v, at) FROM STDIN;
20	copied	2025-05-05
21	copied	2024-03-03
22	copied	2024-11-11
\.
SELECT tableoid::regclass, * FROM log ORDER BY v, id;
SELECT at, v FROM log WHERE at > '2025-01-01' ORDER BY 1;
UPDATE log SET at = '2025-06-06', v = v || '!' WHERE id = 7 RETURNING *;
MERGE INTO log USING (VALUES ('2025-06-06'::date, 7), ('2024-04-04', 30)) AS s (at, id) ON log.id = s.id
	WHEN MATCHED THEN UPDATE SET at = '2024-01-01' WHEN NOT MATCHED THEN INSERT VALUES (s.at, s.id, 'merged');
DELETE FROM log WHERE v = 'merged' RETURNING *;
ALTER TABLE log DETACH PARTITION log_c;
INSERT INTO log VALUES ('2025-05-05', 1, 'x');
SELECT count(*) FROM log_c;
CREATE INDEX ON log (v);
ALTER TABLE log ADD COLUMN n int DEFAULT 3;
TRUNCATE log_b;
SELECT * FROM log ORDER BY v;
CREATE TABLE hashed (id int PRIMARY KEY, v int) PARTITION BY HASH (id);
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO hashed SELECT i, i FROM generate_series(1, 1000) AS i;
INSERT INTO hashed VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET v = hashed.v + excluded.v RETURNING *;
SELECT count(*), sum(v) FROM hashed;
CREATE TABLE refers (id int PRIMARY KEY, h int REFERENCES hashed);
INSERT INTO refers VALUES (1, 1), (2, 1001);
INSERT INTO refers VALUES (1, 1), (2, 1000);
DELETE FROM hashed WHERE id = 1;
DROP TABLE log, cities CASCADE;
