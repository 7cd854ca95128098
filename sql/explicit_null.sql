-- What NULL means: absent, unless the table, the column or the row says otherwise.
CREATE TABLE absent (k int PRIMARY KEY, a int, b text, s int) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's');
INSERT INTO absent VALUES (1, 1, 'x', 1), (1, NULL, NULL, 2);
TABLE absent;

-- the whole table: a NULL that is named clears, a column that is not named stays
CREATE TABLE cleared (k int PRIMARY KEY, a int DEFAULT 7, b text, s int) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', explicit_null = 'CLEAR');
SELECT options ->> 'explicit-null' FROM merge_engine.tables WHERE table_name = 'cleared'::regclass;
INSERT INTO cleared VALUES (1, 1, 'x', 1);
INSERT INTO cleared VALUES (1, NULL, 'y', 2) RETURNING *;
INSERT INTO cleared (k, b, s) VALUES (1, NULL, 3) RETURNING *;
-- ordered like any value: within a statement exactly
INSERT INTO cleared VALUES (2, 5, 'five', 5), (2, NULL, NULL, 4), (2, 3, 'three', 3) RETURNING *;
INSERT INTO cleared VALUES (3, NULL, NULL, 5), (3, 4, 'four', 4);
-- and what is cleared is not filled by late rows
INSERT INTO cleared VALUES (3, 3, 'three', 3);
SELECT * FROM cleared WHERE k = 3;
-- a new key: DEFAULT for what is not named, NULL for what is
INSERT INTO cleared (k, s) VALUES (4, 1);
INSERT INTO cleared VALUES (5, NULL, NULL, 1);
SELECT * FROM cleared WHERE k >= 4 ORDER BY k;
COPY cleared (k, a, s) FROM stdin;
4	\N	2
\.
SELECT * FROM cleared WHERE k = 4;
-- it can be changed at any time
ALTER TABLE cleared SET (explicit_null = 'absent');
INSERT INTO cleared VALUES (2, NULL, NULL, 9) RETURNING *;

-- single columns, without a sequence field
CREATE TABLE one (k int PRIMARY KEY, a int, b text) USING merge_engine
WITH (merge_engine = 'partial-update', "fields.b.explicit-null" = 'clear');
INSERT INTO one VALUES (1, 1, 'x'), (1, NULL, NULL), (2, 2, 'y'), (2, NULL, NULL), (2, 3, 'z');
SELECT * FROM one ORDER BY k;
-- one column excepted
CREATE TABLE but (k int PRIMARY KEY, a int, b text) USING merge_engine
WITH (merge_engine = 'partial-update', explicit_null = 'clear', "fields.b.explicit-null" = 'absent');
INSERT INTO but VALUES (1, 1, 'x'), (1, NULL, NULL);
TABLE but;

-- aggregation: the functions that choose a value
CREATE TABLE agg (k int PRIMARY KEY, n int, lnn int, fnn int, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'aggregation', sequence.field = 's', versions.field = 'v', explicit_null = 'clear',
    "fields.n.aggregate-function" = 'sum', "fields.fnn.aggregate-function" = 'first_non_null_value');
INSERT INTO agg VALUES (1, 1, 1, 1, 5);
INSERT INTO agg VALUES (1, NULL, NULL, NULL, 7) RETURNING *;
INSERT INTO agg VALUES (1, NULL, 6, NULL, 6) RETURNING *;
INSERT INTO agg VALUES (1, 4, 4, NULL, 4) RETURNING *;
INSERT INTO agg VALUES (1, 8, 8, 8, 8) RETURNING *;

-- with a versions column "cleared" and "never set" are told apart for ever
CREATE TABLE exact (k int PRIMARY KEY, a int, b text, s int, v merge_engine.versions) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v', explicit_null = 'clear');
INSERT INTO exact (k, a, s) VALUES (1, NULL, 5);
TABLE exact;
INSERT INTO exact VALUES (1, 3, 'three', 3) RETURNING *;
INSERT INTO exact (k, a, s) VALUES (1, 6, 6) RETURNING *;
-- so by another copy of the key, too: what it was never given clears nothing here
CREATE TABLE copied (LIKE exact INCLUDING ALL) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v', explicit_null = 'clear');
INSERT INTO exact (k, a, s) VALUES (2, 1, 1);
INSERT INTO copied (k, b, s) VALUES (2, 'two', 2);
INSERT INTO exact SELECT * FROM copied RETURNING *;
INSERT INTO copied SELECT * FROM exact WHERE k = 2 RETURNING *;

-- columns.field: each row lists what it carries
CREATE TABLE listed (k int PRIMARY KEY, a int DEFAULT 7, b text, n int, s int, columns text[]) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', columns.field = 'columns');
COPY listed FROM stdin;
1	1	x	1	1	\N
1	\N	\N	2	2	{a,n}
1	9	\N	9	3	{b}
2	5	\N	\N	1	{b}
\.
SELECT * FROM listed ORDER BY k;
-- NULL in the list's column: the table's default rule
INSERT INTO listed VALUES (1, 4, NULL, NULL, 4, NULL) RETURNING *;
-- an empty list: only the sequence moves
INSERT INTO listed VALUES (1, 5, 'z', 5, 5, '{}') RETURNING *;
-- late
INSERT INTO listed VALUES (1, NULL, 'late', NULL, 4, '{a,b}') RETURNING *;
-- many rows, through the write buffer's stages
INSERT INTO listed SELECT 3, i, 't' || i, i, i, CASE i % 3 WHEN 0 THEN '{a}' WHEN 1 THEN '{b}' ELSE '{n}' END::text[]
FROM generate_series(1, 5000) i;
SELECT * FROM listed WHERE k = 3;
SET merge_engine.write_buffer = '64kB';
INSERT INTO listed SELECT 4, i, 't' || i, i, i, CASE i % 3 WHEN 0 THEN '{a}' WHEN 1 THEN '{b}' ELSE '{n}' END::text[]
FROM generate_series(1, 5000) i;
RESET merge_engine.write_buffer;
SELECT * FROM listed WHERE k = 4;
INSERT INTO listed VALUES (1, 1, 'x', 1, 6, '{a,zzz}');
INSERT INTO listed VALUES (1, 1, 'x', 1, 6, '{a,NULL}');
-- retractions take nothing from a column that they do not list
CREATE TABLE taken (k int PRIMARY KEY, n int, m int, op text, columns text[]) USING merge_engine
WITH (merge_engine = 'aggregation', rowkind.field = 'op', columns.field = 'columns',
    "fields.default-aggregate-function" = 'sum');
INSERT INTO taken VALUES (1, 5, 5, '+I', NULL), (1, 2, 2, '-U', '{n}'), (1, 1, 1, '+U', '{m}');
TABLE taken;
-- groups: the sequence of a group is listed like any column
CREATE TABLE grouped (k int PRIMARY KEY, a int, b int, g int, columns text[]) USING merge_engine
WITH (merge_engine = 'partial-update', columns.field = 'columns', "fields.g.sequence-group" = 'a,b');
INSERT INTO grouped VALUES (1, 1, 1, 1, NULL), (1, NULL, 5, 2, '{a,g}'), (1, 7, 7, 3, '{a}');
TABLE grouped;

-- refused
CREATE TABLE bad (k int PRIMARY KEY, a int, c text) USING merge_engine
WITH (merge_engine = 'partial-update', columns.field = 'c');
CREATE TABLE bad (k int PRIMARY KEY, a int, c text[]) USING merge_engine WITH (columns.field = 'c');
CREATE TABLE bad (k int PRIMARY KEY, a int) USING merge_engine WITH (explicit_null = 'clear');
CREATE TABLE bad (k int PRIMARY KEY, a int) USING merge_engine
WITH (merge_engine = 'partial-update', explicit_null = 'sometimes');
CREATE TABLE bad (k int PRIMARY KEY, a int) USING merge_engine
WITH (merge_engine = 'aggregation', "fields.a.aggregate-function" = 'sum', "fields.a.explicit-null" = 'clear');
CREATE TABLE bad (k int PRIMARY KEY, a int) USING merge_engine
WITH (merge_engine = 'partial-update', "fields.k.explicit-null" = 'clear');
ALTER TABLE listed DROP columns;
DROP TABLE absent, cleared, one, but, agg, exact, copied, listed, taken, grouped;
