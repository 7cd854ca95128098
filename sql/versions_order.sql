-- With a versions column nothing depends on arrival: every order of the rows and
-- every grouping into statements gives the same rows, those that a plain query
-- over all rows computes.
CREATE TABLE changes (n int, k int, a int, b text, c date, s int);
CREATE TABLE merged (k int PRIMARY KEY, a int, b text, c date, s int, v merge_engine.versions)
USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
CREATE TABLE folded (k int PRIMARY KEY, a int, b text, c date, s int, v merge_engine.versions)
USING merge_engine
WITH (merge_engine = 'aggregation', sequence.field = 's', versions.field = 'v',
    "fields.a.aggregate-function" = 'sum', "fields.b.aggregate-function" = 'first_non_null_value',
    "fields.c.aggregate-function" = 'last_value');

CREATE FUNCTION newest() RETURNS TABLE (k int, a int, b text, c date, s int)
LANGUAGE sql AS $$
    SELECT k, (array_agg(a ORDER BY s DESC) FILTER (WHERE a IS NOT NULL))[1],
        (array_agg(b ORDER BY s DESC) FILTER (WHERE b IS NOT NULL))[1],
        (array_agg(c ORDER BY s DESC) FILTER (WHERE c IS NOT NULL))[1], max(s)
    FROM changes GROUP BY k
$$;
CREATE FUNCTION aggregated() RETURNS TABLE (k int, a int, b text, c date, s int)
LANGUAGE sql AS $$
    SELECT k, sum(a)::int, (array_agg(b ORDER BY s) FILTER (WHERE b IS NOT NULL))[1],
        (array_agg(c ORDER BY s DESC))[1], max(s)
    FROM changes GROUP BY k
$$;

-- Write the rows in an order, in statements of random size; report a difference.
CREATE FUNCTION run(target text, model text, ordering int[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    i int := 1;
    size int;
    wrong int;
    version_texts text;
BEGIN
    EXECUTE format('TRUNCATE %I', target);
    WHILE i <= cardinality(ordering) LOOP
        size := 1 + floor(random() * 3);
        EXECUTE format('INSERT INTO %I SELECT k, a, b, c, s FROM changes '
            'JOIN unnest($1) WITH ORDINALITY o(n, i) USING (n) ORDER BY i', target)
        USING ordering[i : i + size - 1];
        i := i + size;
    END LOOP;
    EXECUTE format('SELECT count(*) FROM (SELECT k, a, b, c, s FROM %I) t FULL JOIN %I() m '
        'USING (k) WHERE (t.a, t.b, t.c, t.s) IS DISTINCT FROM (m.a, m.b, m.c, m.s)', target, model)
    INTO wrong;
    EXECUTE format('SELECT string_agg(coalesce(v::text, ''-''), '';'' ORDER BY k) FROM %I', target)
    INTO version_texts;
    INSERT INTO outcomes VALUES (target, version_texts);
    IF wrong > 0 THEN
        RAISE WARNING '%: % keys differ after order %', target, wrong, ordering;
    END IF;
END $$;
CREATE TABLE outcomes (target text, version_texts text);

SELECT setseed(0.4);
INSERT INTO changes
SELECT n, 1, CASE WHEN random() < 0.6 THEN (random() * 100)::int END,
    CASE WHEN random() < 0.6 THEN 'b' || n END,
    CASE WHEN random() < 0.6 THEN date '2026-01-01' + n END, n
FROM generate_series(1, 5) n;

-- every permutation of five rows
WITH RECURSIVE p(ordering) AS (
    SELECT ARRAY[]::int[]
    UNION ALL
    SELECT ordering || n FROM p, generate_series(1, 5) n WHERE n <> ALL (ordering)
)
SELECT count(run('merged', 'newest', ordering)), count(run('folded', 'aggregated', ordering))
FROM p WHERE cardinality(ordering) = 5;
-- the versions end equal as well
SELECT target, count(*), count(DISTINCT version_texts) FROM outcomes GROUP BY target ORDER BY target;

-- random orders of many rows, sequences with gaps
TRUNCATE changes, outcomes;
INSERT INTO changes
SELECT n, 1 + n % 4, CASE WHEN random() < 0.4 THEN (random() * 100)::int END,
    CASE WHEN random() < 0.4 THEN 'b' || n END,
    CASE WHEN random() < 0.4 THEN date '2026-01-01' + n END, n * 3 - 100
FROM generate_series(1, 60) n;
SELECT count(run('merged', 'newest', o.ordering)), count(run('folded', 'aggregated', o.ordering))
FROM (SELECT round, array_agg(n ORDER BY random()) AS ordering
      FROM generate_series(1, 40) round, changes GROUP BY round) o;
SELECT target, count(*), count(DISTINCT version_texts) FROM outcomes GROUP BY target ORDER BY target;

-- several copies, each with some of the rows, merged into each other both ways
CREATE TABLE copy1 (LIKE merged INCLUDING ALL) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
CREATE TABLE copy2 (LIKE merged INCLUDING ALL) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
CREATE TABLE copy3 (LIKE merged INCLUDING ALL) USING merge_engine
WITH (merge_engine = 'partial-update', sequence.field = 's', versions.field = 'v');
DO $$
DECLARE
    copies text[] := '{copy1,copy2,copy3}';
    wrong int := 0;
    n int;
BEGIN
    FOR round IN 1 .. 30 LOOP
        TRUNCATE copy1, copy2, copy3;
        FOR i IN 1 .. 3 LOOP
            EXECUTE format('INSERT INTO %I SELECT k, a, b, c, s FROM changes WHERE n %% 3 = %s OR random() < 0.2 ORDER BY random()',
                copies[i], i - 1);
        END LOOP;
        -- around the ring, twice, and each a second time
        FOR i IN 0 .. 5 LOOP
            EXECUTE format('INSERT INTO %I TABLE %I', copies[(i + 1) % 3 + 1], copies[i % 3 + 1]);
            IF random() < 0.5 THEN
                EXECUTE format('INSERT INTO %I TABLE %I', copies[(i + 1) % 3 + 1], copies[i % 3 + 1]);
            END IF;
        END LOOP;
        SELECT count(*) INTO n FROM (
            (TABLE copy1 EXCEPT TABLE copy2) UNION ALL (TABLE copy2 EXCEPT TABLE copy3)
            UNION ALL (TABLE copy3 EXCEPT TABLE copy1)) d;
        wrong := wrong + n;
        SELECT count(*) INTO n FROM (SELECT k, a, b, c, s FROM copy1 EXCEPT SELECT * FROM newest()) d;
        wrong := wrong + n;
    END LOOP;
    RAISE NOTICE '% differences', wrong;
END $$;
DROP TABLE changes, merged, folded, outcomes, copy1, copy2, copy3;
DROP FUNCTION newest, aggregated, run;
