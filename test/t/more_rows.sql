-- What the tables of tables.sql take afterwards: they still merge.

INSERT INTO dedup VALUES (1, 2, 'late'), (2, 6, 'new'), (3, 1, 'first');
COPY patch FROM STDIN;
1	eu	\N	70
2	eu	sent	\N
3	us	\N	\N
\.
INSERT INTO grouped VALUES (1, 'late', 10, 1, 'c6', 6, 0), (2, NULL, NULL, NULL, 'c', 1, 1);
INSERT INTO totals VALUES (1, '-D', 1, 5, 'b', NULL), (3, '+I', 1, 7, 'y', NULL);
INSERT INTO totals (id, kind, amount) VALUES (1, '+I', 2);
INSERT INTO first_seen VALUES (1, NULL, NULL), (3, '2024-03-03', 'sean');
INSERT INTO parted VALUES (1, '2023-05-05', 4), (1, '2024-05-05', 1), (2, '2024-05-05', 1);
