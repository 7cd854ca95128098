-- S3: many rows on few keys
-- variant sums:
-- target against staging + aggregated upsert: 1.5
-- target against row by row: 5
-- using: USING merge_engine WITH (merge_engine = 'aggregation', fields.default_aggregate_function = 'sum', "fields.lowest.aggregate-function" = 'min', "fields.highest.aggregate-function" = 'max')
-- set keys = rows / 100
--
-- 100 rows of each key in random order; half of the keys are stored already. The
-- aggregated upsert can do without a staging table only where the rows are in a
-- table already, as here.

--- input
CREATE TABLE s AS
SELECT 1 + i % :keys AS id, 1::bigint AS hits, (hashint8(i) % 1000)::bigint AS amount,
	hashint8(i) % 10000 AS lowest, hashint8(i) % 10000 AS highest
FROM generate_series(1::bigint, :rows) i ORDER BY hashint8(i);
VACUUM ANALYZE s;

--- table
CREATE TABLE t (id bigint PRIMARY KEY, hits bigint, amount bigint, lowest int, highest int) :using;

--- before
TRUNCATE t;
INSERT INTO t SELECT id, 1000, 0, 0, 0 FROM generate_series(1, :keys / 2) id;
VACUUM ANALYZE t;

--- ours merge_engine
INSERT INTO t SELECT * FROM s;

--- rival aggregated upsert
INSERT INTO t SELECT id, sum(hits), sum(amount), min(lowest), max(highest) FROM s GROUP BY id
ON CONFLICT (id) DO UPDATE SET
	hits = t.hits + EXCLUDED.hits, amount = t.amount + EXCLUDED.amount,
	lowest = least(t.lowest, EXCLUDED.lowest), highest = greatest(t.highest, EXCLUDED.highest);

--- rival staging + aggregated upsert
CREATE TEMP TABLE stage (LIKE s);
INSERT INTO stage SELECT * FROM s;
INSERT INTO t SELECT id, sum(hits), sum(amount), min(lowest), max(highest) FROM stage GROUP BY id
ON CONFLICT (id) DO UPDATE SET
	hits = t.hits + EXCLUDED.hits, amount = t.amount + EXCLUDED.amount,
	lowest = least(t.lowest, EXCLUDED.lowest), highest = greatest(t.highest, EXCLUDED.highest);
DROP TABLE stage;

--- rival MERGE
MERGE INTO t USING (
	SELECT id, sum(hits) AS hits, sum(amount) AS amount, min(lowest) AS lowest, max(highest) AS highest
	FROM s GROUP BY id) s
ON t.id = s.id
WHEN MATCHED THEN UPDATE SET
	hits = t.hits + s.hits, amount = t.amount + s.amount,
	lowest = least(t.lowest, s.lowest), highest = greatest(t.highest, s.highest)
WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.hits, s.amount, s.lowest, s.highest);

--- rival row by row
DO $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT * FROM s LOOP
		INSERT INTO t VALUES (r.id, r.hits, r.amount, r.lowest, r.highest)
		ON CONFLICT (id) DO UPDATE SET
			hits = t.hits + EXCLUDED.hits, amount = t.amount + EXCLUDED.amount,
			lowest = least(t.lowest, EXCLUDED.lowest), highest = greatest(t.highest, EXCLUDED.highest);
	END LOOP;
END $$;
