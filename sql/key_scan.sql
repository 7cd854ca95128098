-- Keys of a statement are found along the index's leaf pages where they lie
-- close together, and one by one where not: the result is the same. Each
-- statement is also done by hand, on a table of the same shape.
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;
-- :kind of key: one column, several, a type whose index entries are of another
-- type (name), text that the index compresses, an order of its own (numeric)
CREATE FUNCTION key_of(kind text, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT CASE kind
	WHEN 'bigint' THEN n::text
	WHEN 'name' THEN 'key ' || n
	WHEN 'text' THEN md5(n::text) || repeat('.', n % 1300)
	WHEN 'numeric' THEN ((n - 3000) / 7.0)::numeric(12,4)::text
	ELSE (n / 100)::text END
$$;
-- the keys of a statement, by where they lie among those stored (1 to 6000, the
-- even ones of them)
CREATE FUNCTION keys_of(place text) RETURNS SETOF int LANGUAGE sql AS $$
SELECT n FROM generate_series(-500, 9000) n
WHERE CASE place
	WHEN 'all' THEN n BETWEEN 1 AND 6000
	WHEN 'stored' THEN n BETWEEN 1 AND 6000 AND n % 2 = 0
	WHEN 'new' THEN n BETWEEN 1 AND 6000 AND n % 2 = 1
	WHEN 'sparse' THEN n BETWEEN 1 AND 6000 AND n % 301 IN (0, 1)
	WHEN 'clusters' THEN n BETWEEN 1 AND 6000 AND n % 1500 BETWEEN 700 AND 770
	WHEN 'ends' THEN n < 30 OR n > 5950
	WHEN 'few' THEN n IN (2, 3, 4, 3000, 5999, 6000)
	END
$$;
CREATE FUNCTION try_keys(kind text, place text, setup text DEFAULT '') RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	type text := CASE kind WHEN 'two' THEN 'int' ELSE kind END;
	input text := format('SELECT key_of(%L, n)::%s AS k, n %% 100 AS l, CASE WHEN n %% 3 = 0 THEN n END AS a,
		CASE WHEN n %% 5 <> 0 THEN ''new'' END AS b FROM keys_of(%L) n', kind, type, place);
	same boolean;
BEGIN
	DROP TABLE IF EXISTS merged, by_hand;
	EXECUTE format('CREATE TABLE merged (k %s, l int, a int, b text, PRIMARY KEY (k, l))
		USING merge_engine WITH (merge_engine = ''partial-update'')', type);
	IF kind <> 'two' THEN
		ALTER TABLE merged DROP CONSTRAINT merged_pkey;
		ALTER TABLE merged ADD PRIMARY KEY (k);
	END IF;
	EXECUTE format('INSERT INTO merged SELECT key_of(%L, n)::%s, n %% 100, 0, ''old'' FROM keys_of(''stored'') n',
		kind, type);
	EXECUTE setup;
	CREATE TABLE by_hand AS SELECT * FROM merged;
	EXECUTE format('MERGE INTO by_hand t USING (%s) s ON t.k = s.k AND t.l = s.l
		WHEN MATCHED THEN UPDATE SET a = coalesce(s.a, t.a), b = coalesce(s.b, t.b)
		WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.l, s.a, s.b)', input);
	EXECUTE 'INSERT INTO merged ' || input || ' ORDER BY random()';
	SELECT count(*) = 0 FROM ((TABLE merged EXCEPT ALL TABLE by_hand) UNION ALL
		(TABLE by_hand EXCEPT ALL TABLE merged)) difference INTO same;
	RETURN same;
END $$;
SELECT kind, place FROM unnest('{bigint,two,name,text,numeric}'::text[]) kind,
	unnest('{all,stored,new,sparse,clusters,ends,few}'::text[]) place WHERE NOT try_keys(kind, place);
-- rows that went through the disk are gone when the walk comes to the next page, and
-- with them what its start was read from; other values come to lie where that was
SET merge_engine.write_buffer = '64kB';
CREATE TABLE many (filler text, a text, b numeric, op text, PRIMARY KEY (a, b))
	USING merge_engine WITH (merge_engine = 'deduplicate', rowkind.field = 'op');
CREATE TABLE one (filler text, a text PRIMARY KEY, op text)
	USING merge_engine WITH (merge_engine = 'deduplicate', rowkind.field = 'op');
INSERT INTO many SELECT repeat('z', n % 300), 'k' || n / 100, n, '+I' FROM generate_series(1, 6000) n;
INSERT INTO one SELECT repeat('z', n % 300), 'k' || n, '+I' FROM generate_series(1, 6000) n;
INSERT INTO many SELECT repeat('z', n * 7 % 300), 'k' || n / 100, n, '-D' FROM generate_series(1, 6000) n WHERE n % 3 <> 0;
INSERT INTO one SELECT repeat('z', n * 7 % 300), 'k' || n, '-D' FROM generate_series(1, 6000) n WHERE n % 3 <> 0;
SELECT count(*), bool_and(b % 3 = 0) FROM many;
SELECT count(*) FROM one;
RESET merge_engine.write_buffer;
DROP TABLE many, one;
-- entries without a live row: rows were removed, came back, or moved to another
-- page, in this transaction as well
SELECT try_keys('bigint', 'all', 'DELETE FROM merged WHERE k % 4 = 0');
SELECT try_keys('two', 'all', 'DELETE FROM merged WHERE k % 4 = 0;
	INSERT INTO merged SELECT n / 100, n % 100, 7, ''back'' FROM generate_series(1, 6000, 3) n');
SELECT try_keys('bigint', 'stored', 'CREATE INDEX ON merged (a); UPDATE merged SET a = 1; UPDATE merged SET a = 2');
SELECT try_keys('bigint', 'clusters', 'DELETE FROM merged');
-- a function of the statement writes rows ahead of the one that is merged
CREATE TABLE ahead (k int PRIMARY KEY, a int, b int) USING merge_engine WITH (merge_engine = 'partial-update');
CREATE FUNCTION write_ahead(k int, a int, b int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	-- not the incoming row, which has either a or b
	IF k = 50 AND a IS NOT NULL AND b IS NOT NULL THEN
		INSERT INTO ahead (k, a) VALUES (60, -1), (61, -1);
		UPDATE ahead SET a = -2 WHERE ahead.k = 70;
		DELETE FROM ahead WHERE ahead.k = 80;
	END IF;
	RETURN true;
END $$;
ALTER TABLE ahead ADD CHECK (write_ahead(k, a, b));
INSERT INTO ahead (k, a) SELECT n, n FROM generate_series(10, 90, 10) n;
INSERT INTO ahead (k, b) SELECT n, n FROM generate_series(1, 100) n;
SELECT count(*), count(a), sum(b) FROM ahead;
SELECT * FROM ahead WHERE k IN (50, 59, 60, 61, 70, 80) ORDER BY k;
-- a page that has no room for the next versions of its rows is pruned first: a
-- thousand versions of rows of which 40 fill half of a page stay in it, be they
-- written one by one or together (of a temporary table no other session holds old
-- versions back)
CREATE TEMP TABLE pruned (k int PRIMARY KEY, n int, filler text) USING merge_engine
	WITH (merge_engine = 'partial-update', fillfactor = 50);
CREATE TEMP TABLE pruned_by_trigger (k int PRIMARY KEY, n int, filler text) WITH (fillfactor = 50);
CREATE TRIGGER merge BEFORE INSERT ON pruned_by_trigger FOR EACH ROW
	EXECUTE FUNCTION merge_engine.merge_trigger('merge_engine=partial-update');
INSERT INTO pruned SELECT k, 0, repeat('.', 50) FROM generate_series(1, 40) k;
INSERT INTO pruned_by_trigger SELECT k, 0, repeat('.', 50) FROM generate_series(1, 40) k;
DO $$
BEGIN
	FOR i IN 1..300 LOOP
		INSERT INTO pruned (k, n) VALUES (1 + i * 7 % 40, i);
		COMMIT;
		INSERT INTO pruned_by_trigger (k, n) VALUES (1 + i * 7 % 40, i);
		COMMIT;
		INSERT INTO pruned (k, n) SELECT 1 + (i + j) % 40, i * j FROM generate_series(0, 20) j;
		COMMIT;
	END LOOP;
END $$;
SELECT count(*), max(ctid) < '(1,0)' FROM pruned;
SELECT count(*), max(ctid) < '(1,0)' FROM pruned_by_trigger;
-- nor do versions that become longer and shorter leave it
CREATE TEMP TABLE toggled (k int PRIMARY KEY, filler text) USING merge_engine;
INSERT INTO toggled SELECT k, '' FROM generate_series(1, 10) k;
DO $$
BEGIN
	FOR i IN 1..300 LOOP
		INSERT INTO toggled VALUES (1 + i * 7 % 10, repeat('.', 600 * (i / 10 % 2)));
		COMMIT;
	END LOOP;
END $$;
SELECT count(*), max(ctid) < '(1,0)' FROM toggled;
DROP TABLE pruned, pruned_by_trigger, toggled;
DROP TABLE ahead, merged, by_hand;
DROP FUNCTION write_ahead, try_keys, keys_of, key_of;
