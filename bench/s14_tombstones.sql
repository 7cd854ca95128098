-- S14: what tombstones cost, new keys in random order
-- target cost against without: 2.5
-- using: USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version', rowkind.field = 'op', tombstones, "partial-update.remove-record-on-delete")
-- set rows = rows / 5
-- set keys = rows
--
-- The statement of S1. Only rows of new keys look for a tombstone, and here all are. A tenth as many other keys
-- have one. No goal of the project: the cost of a look-up in a second index for each new key.

--- input
\i :bench/orders.sql
CREATE TABLE s AS SELECT *, '+I' AS op FROM orders ORDER BY hashint8(id);
VACUUM ANALYZE s;

--- table
--- table tombstones
CREATE TABLE t (
	id bigint PRIMARY KEY, status text, customer int, amount numeric(18,2),
	tracking_no text, address text, updated_at timestamptz, version bigint, op text
) :using;

--- before
TRUNCATE t;
INSERT INTO t (id, version, op) SELECT :keys + i, 1, '-D' FROM generate_series(1, :keys / 10) i;

--- ours tombstones
INSERT INTO t SELECT * FROM s;

--- table without
CREATE TABLE t (
	id bigint PRIMARY KEY, status text, customer int, amount numeric(18,2),
	tracking_no text, address text, updated_at timestamptz, version bigint, op text
) USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version', rowkind.field = 'op',
	"partial-update.remove-record-on-delete");

--- baseline without
INSERT INTO t SELECT * FROM s;
