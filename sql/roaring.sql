-- Roaring bitmaps: the functions rbm32 and rbm64, and what makes and reads them.
\pset null NULL
CREATE SCHEMA roaring;
SET search_path = roaring, merge_engine;
SELECT rbm32_to_array(rbm32_build('{3,NULL,1,-1,2,100000,3}')), rbm32_cardinality(rbm32_build('{1,2,2}')),
	rbm32_contains(rbm32_build('{5,-3}'), -3), rbm32_contains(rbm32_build('{5,-3}'), 3);
SELECT rbm64_to_array(rbm64_build('{3,NULL,1,-1,2,100000000000,3}')), rbm64_cardinality(rbm64_build('{1,2,2}')),
	rbm64_contains(rbm64_build('{5,-3}'), -3), rbm64_contains(rbm64_build('{5,-3}'), 99999999999);
-- the portable format, byte by byte
SELECT rbm32_build('{}'), rbm32_build('{1,65538}'), rbm32_build('{1,2,3}');
SELECT rbm64_build('{}'), rbm64_build('{1,4294967297}');
SELECT rbm32_to_array(rbm32_build('{}')), rbm64_to_array(rbm64_build('{}')), rbm32_build(NULL);
SELECT rbm32_cardinality(rbm32_agg(i)), rbm64_cardinality(rbm64_agg(i::bigint * 1000003)) FROM generate_series(1::int, 5000) i;
SELECT rbm32_agg(i), rbm64_agg(i) FROM generate_series(1, 0) i;
SELECT rbm32_agg(NULL), rbm64_agg(NULL);
SELECT i, rbm32_to_array(rbm32_agg(i) OVER (ORDER BY i)) FROM generate_series(1, 3) i;
-- parallel
CREATE TABLE numbers AS SELECT i FROM generate_series(1, 20000) i;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT rbm32_agg(i) FROM numbers;
SELECT rbm32_agg(i) = rbm32_build(array_agg(i)), rbm64_agg(i) = rbm64_build(array_agg(i::bigint)) FROM numbers;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
-- tables
CREATE TABLE visits (day date PRIMARY KEY, users bytea, wide bytea, op text DEFAULT '+I')
USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'op',
	"fields.users.aggregate-function" = 'rbm32', "fields.wide.aggregate-function" = 'rbm64');
INSERT INTO visits VALUES ('2024-01-01', rbm32_build('{1,2}'), rbm64_build('{1,2}'));
INSERT INTO visits VALUES ('2024-01-01', rbm32_build('{2,7}'), NULL), ('2024-01-01', NULL, rbm64_build('{10000000000}'));
SELECT day, rbm32_to_array(users), rbm64_to_array(wide) FROM visits;
INSERT INTO visits VALUES ('2024-01-01', rbm32_build('{1}'), NULL, '-D');
INSERT INTO visits VALUES ('2024-01-02', '\x00', NULL);
INSERT INTO visits VALUES ('2024-01-01', NULL, '\x00');
SELECT day, rbm32_to_array(users), rbm64_to_array(wide) FROM visits;
CREATE TABLE bad (k int PRIMARY KEY, v text) USING merge_engine
WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'rbm32');
-- equal sets have equal bytes, whatever they were made from
CREATE TABLE images (k int PRIMARY KEY, v bytea)
USING merge_engine WITH (merge_engine = 'aggregation', "fields.v.aggregate-function" = 'rbm32');
-- a foreign writer's way to write {1,2,10,11}: as runs, where an array takes the same room
INSERT INTO images VALUES (1, '\x3b30000001000003000200010001000a000100'), (2, rbm32_build('{1,2,10,11}')),
	(3, rbm32_build('{1,10}')), (3, rbm32_build('{2,11}')), (4, rbm32_build('{2,11,10}')), (4, rbm32_build('{1,2}'));
SELECT k, v FROM images ORDER BY k;
SELECT count(*), count(DISTINCT rbm32_agg), count(DISTINCT length(rbm32_agg))
FROM (SELECT rbm32_agg(i ORDER BY hashint4(i + seed)) FROM generate_series(1, 5000, 3) i, generate_series(1, 5) seed GROUP BY seed) s;
-- bytes that are no bitmap
SELECT rbm32_cardinality('');
SELECT rbm32_cardinality('\x3a3000');
SELECT rbm32_cardinality('\x0102030405060708');
SELECT rbm32_cardinality('\x3a300000ffffffff');
SELECT rbm32_cardinality('\x3a3000000000000000');
SELECT rbm32_cardinality('\x3a3000000100000000000100100000000200');
SELECT rbm32_cardinality('\x3a30000001000000000001001000000002000100');
SELECT rbm32_cardinality('\x3a30000001000000000001001100000001000200');
SELECT rbm32_cardinality('\x3a300000020000000000000000000000180000001a00000001000200');
SELECT rbm32_cardinality('\x3b30000001000003000200010001000200010000');
SELECT rbm32_cardinality('\x3b3000000100000300010001ffff01');
SELECT rbm32_cardinality('\x3b300000010000050001000100010000');
SELECT rbm64_cardinality('\xffffffffffffffff');
SELECT rbm64_cardinality('\x0200000000000000010000003a30000000000000010000003a30000000000000');
SELECT rbm64_cardinality('\x0100000000000000010000003a3000000000000000');
-- a bitmap of all 32-bit numbers has more than an array can hold
SELECT rbm32_to_array(('\x3b30ffff' || string_agg(part, '' ORDER BY n, i))::bytea)
FROM (SELECT 1 AS n, 0 AS i, repeat('ff', 8192) AS part
	UNION ALL SELECT 2, i, encode(substring(int4send(i) FROM 4 FOR 1) || substring(int4send(i) FROM 3 FOR 1), 'hex') || 'ffff' FROM generate_series(0, 65535) i
	UNION ALL SELECT 3, i, encode(substring(int4send(o) FROM 4 FOR 1) || substring(int4send(o) FROM 3 FOR 1) || substring(int4send(o) FROM 2 FOR 1) || substring(int4send(o) FROM 1 FOR 1), 'hex')
		FROM (SELECT i, 4 + 8192 + 8 * 65536 + 6 * i AS o FROM generate_series(0, 65535) i) s
	UNION ALL SELECT 4, i, '01000000ffff' FROM generate_series(0, 65535) i) parts;
-- spoilt bytes are refused or read, and nothing else happens
CREATE FUNCTION spoil(bitmap bytea, seed int) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	size int := length(bitmap);
BEGIN
	IF seed % 4 = 0 THEN
		RETURN substring(bitmap FROM 1 FOR abs(hashint4(seed)) % (size + 1));
	END IF;
	FOR i IN 1 .. 1 + seed % 3 LOOP
		bitmap := set_byte(bitmap, abs(hashint4(seed * 7 + i)::bigint)::int8::int % size, abs(hashint4(seed * 11 + i)::bigint)::int % 256);
	END LOOP;
	RETURN bitmap;
END $$;
DO $$
DECLARE
	seeds bytea[] := ARRAY[rbm32_build('{1,2,3,100000,200000,-1}'), rbm32_build(ARRAY(SELECT i * 3 FROM generate_series(1, 6000) i)),
		rbm64_build('{1,2,3,100000000000,-1}')];
	refused int := 0;
	taken int := 0;
	spoilt bytea;
BEGIN
	FOR seed IN 1 .. 3000 LOOP
		spoilt := spoil(seeds[1 + seed % 3], seed);
		BEGIN
			IF seed % 3 = 2 THEN
				PERFORM rbm64_cardinality(spoilt), rbm64_to_array(spoilt);
			ELSE
				PERFORM rbm32_cardinality(spoilt), rbm32_to_array(spoilt);
			END IF;
			taken := taken + 1;
		EXCEPTION WHEN invalid_binary_representation THEN
			refused := refused + 1;
		END;
	END LOOP;
	RAISE NOTICE 'some refused: %, some taken: %', refused > 0, taken > 0;
END $$;
