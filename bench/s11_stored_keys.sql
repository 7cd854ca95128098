-- S11: S2 as the table grows
-- variant {keys} stored keys: keys = rows
-- variant {keys} stored keys: keys = rows * 10
-- variant {keys} stored keys: keys = rows * 100
-- target of growth: 1.0
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')
-- set rows = rows / 10
--
-- One statement changes a tenth of ROWS keys, spread evenly over the table, in
-- random order; each round brings newer rows. A narrower table than S2's, so
-- that 10 million keys fit.

--- input
CREATE TABLE s AS
SELECT 1 + (i - 1) * (:keys / :rows) AS id, CASE WHEN i % 4 <> 3 THEN 'RETURNED' END AS status,
	CASE WHEN i % 2 = 0 THEN i::numeric(18,2) END AS amount
FROM generate_series(1::bigint, :rows) i ORDER BY hashint8(i);
VACUUM ANALYZE s;

--- table
CREATE TABLE t (id bigint, status text, amount numeric(18,2), version bigint) :using;
INSERT INTO t SELECT id, 'CREATED', id % 10000, 10 FROM generate_series(1, :keys) id;
ALTER TABLE t ADD CONSTRAINT t_pkey PRIMARY KEY (id);
VACUUM ANALYZE t;

--- before
VACUUM t;

--- ours merge_engine
INSERT INTO t SELECT id, status, amount, 10 + :round FROM s;

--- rival ON CONFLICT, sorted
INSERT INTO t SELECT id, status, amount, 10 + :round FROM s ORDER BY id
ON CONFLICT (id) DO UPDATE SET
	status = coalesce(EXCLUDED.status, t.status), amount = coalesce(EXCLUDED.amount, t.amount),
	version = EXCLUDED.version
WHERE t.version < EXCLUDED.version;
