-- Look at every btree index of this database: all its entries in order, and an
-- entry for each heap row.  Prints "sound" for each, or the fault.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS amcheck SCHEMA pg_catalog;
SELECT format('SELECT ''sound'' FROM bt_index_check(%s, heapallindexed => true) -- %s', c.oid, c.oid::regclass)
FROM pg_class c JOIN pg_am a ON a.oid = c.relam JOIN pg_index i ON i.indexrelid = c.oid
WHERE a.amname = 'btree' AND c.relkind = 'i' AND c.relpersistence <> 't'
	AND c.oid >= 16384 -- the catalogs are PostgreSQL's
	AND i.indisvalid AND i.indisready
ORDER BY c.oid
\gexec
