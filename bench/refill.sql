-- Stores the orders afresh: table and index as compact as they can be. The
-- trigger that one of the rivals has must not see these rows.
ALTER TABLE t DISABLE TRIGGER USER;
ALTER TABLE t DROP CONSTRAINT IF EXISTS t_pkey;
TRUNCATE t;
INSERT INTO t SELECT * FROM orders;
ALTER TABLE t ADD CONSTRAINT t_pkey PRIMARY KEY (id);
ALTER TABLE t ENABLE TRIGGER USER;
VACUUM ANALYZE t;
