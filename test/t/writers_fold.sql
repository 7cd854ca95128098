-- Print every key whose row in a table of writers.sql is not what the log says.

SELECT 'totals', k, t.n, l.n, t.cnt, l.cnt
FROM totals AS t
FULL JOIN (SELECT k, sum(CASE WHEN kind IN ('-U', '-D') THEN -n ELSE n END) AS n,
		sum(CASE WHEN kind IN ('-U', '-D') THEN -cnt ELSE cnt END) AS cnt
	FROM totals_log GROUP BY k) AS l USING (k)
WHERE (coalesce(t.n, 0), coalesce(t.cnt, 0)) IS DISTINCT FROM (l.n, l.cnt);

SELECT 'extremes', k, t, l
FROM extremes AS t
FULL JOIN (SELECT k, max(hi) AS hi, min(lo) AS lo, bool_or(anyone) AS anyone, bool_and(everyone) AS everyone
	FROM extremes_log GROUP BY k) AS l USING (k)
WHERE (t.hi, t.lo, t.anyone, t.everyone) IS DISTINCT FROM (l.hi, l.lo, l.anyone, l.everyone);

SELECT 'latest', k, t.version, l.version
FROM latest AS t
FULL JOIN (SELECT k, max(version) AS version FROM latest_log GROUP BY k) AS l USING (k)
WHERE (t.version, t.note) IS DISTINCT FROM (l.version, note(l.version));

SELECT 'grouped', k, t, l
FROM grouped AS t
FULL JOIN (SELECT k, (array_agg(a ORDER BY g1 DESC NULLS LAST))[1] AS a,
		(array_agg(b ORDER BY g1 DESC NULLS LAST))[1] AS b, max(g1) AS g1,
		(array_agg(c ORDER BY g2 DESC NULLS LAST))[1] AS c,
		sum(s) FILTER (WHERE g2 IS NOT NULL) AS s, max(g2) AS g2
	FROM grouped_log GROUP BY k) AS l USING (k)
WHERE (t.a, t.b, t.g1, t.c, t.s, t.g2) IS DISTINCT FROM (l.a, l.b, l.g1, l.c, l.s, l.g2);

SELECT 'versioned', k, left(t::text, 200), left(l::text, 200)
FROM versioned AS t
FULL JOIN (SELECT k, (array_agg(a ORDER BY at DESC) FILTER (WHERE a IS NOT NULL))[1] AS a,
		(array_agg(b ORDER BY at DESC) FILTER (WHERE b IS NOT NULL))[1] AS b,
		(array_agg(c ORDER BY at DESC) FILTER (WHERE c IS NOT NULL))[1] AS c, max(at) AS at
	FROM versioned_log GROUP BY k) AS l USING (k)
WHERE (t.a, t.b, t.c, t.at) IS DISTINCT FROM (l.a, l.b, l.c, l.at);

SELECT 'mine', k, t, l
FROM mine AS t
FULL JOIN (SELECT k, max(c0) AS c0, max(c1) AS c1, max(c2) AS c2, max(c3) AS c3, max(c4) AS c4,
		max(c5) AS c5, max(c6) AS c6, max(c7) AS c7
	FROM mine_log GROUP BY k) AS l USING (k)
WHERE (t.c0, t.c1, t.c2, t.c3, t.c4, t.c5, t.c6, t.c7) IS DISTINCT FROM
	(l.c0, l.c1, l.c2, l.c3, l.c4, l.c5, l.c6, l.c7);

SELECT 'earliest', k, t.version, l.versions
FROM earliest AS t
FULL JOIN (SELECT k, array_agg(version) AS versions FROM earliest_log GROUP BY k) AS l USING (k)
WHERE (t.version = ANY (l.versions) AND t.note = note(t.version)) IS NOT TRUE;

-- One row a key, and every index finds the rows that a scan of the table finds.
DO $$
DECLARE
	tab regclass;
	keys int[];
	by_scan bigint;
	by_index bigint;
BEGIN
	FOR tab IN SELECT indrelid FROM pg_index JOIN pg_class c ON c.oid = indrelid
		WHERE indisprimary AND relkind = 'r' AND relam = (SELECT oid FROM pg_am WHERE amname = 'merge_engine')
	LOOP
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_indexonlyscan = off;
		SET LOCAL enable_bitmapscan = off;
		EXECUTE format('SELECT array_agg(k ORDER BY k), count(*) FROM %s', tab) INTO keys, by_scan;
		IF by_scan <> (SELECT count(DISTINCT k) FROM unnest(keys) AS k) THEN
			RAISE WARNING 'table % has two rows of one key', tab;
		END IF;
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_indexscan = on;
		SET LOCAL enable_bitmapscan = on;
		EXECUTE format('SELECT count(*) FROM unnest($1) AS keys (key) WHERE EXISTS (SELECT FROM %s AS t WHERE t.k = key OFFSET 0)', tab)
			INTO by_index USING keys;
		IF by_scan IS DISTINCT FROM by_index THEN
			RAISE WARNING 'table %: % rows by scan, % by its primary key', tab, by_scan, by_index;
		END IF;
	END LOOP;
END $$;
SET enable_seqscan = off;
SELECT 'latest by hash', count(*) FROM (SELECT note FROM latest OFFSET 0) AS s
WHERE NOT EXISTS (SELECT FROM latest AS t WHERE md5(t.note) = md5(s.note)) HAVING count(*) > 0;
SET enable_seqscan = on;

-- Every btree index, and the heap itself.
SELECT relname, v.* FROM pg_class c CROSS JOIN LATERAL verify_heapam(c.oid, check_toast => true) AS v
WHERE c.relkind = 'r' AND c.relam = 2 AND c.oid >= 16384;
