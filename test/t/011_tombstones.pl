# Removed keys: many writers at once, a crash, and dump and restore.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestTables;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum_naptime = 1s');
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION merge_engine;
	CREATE SEQUENCE versions;
	CREATE TABLE d (k int PRIMARY KEY, note text, op text, s bigint)
	USING merge_engine WITH (sequence.field = 's', rowkind.field = 'op', tombstones);
	CREATE TABLE p (k int PRIMARY KEY, a text, b text, op text, s bigint, v merge_engine.versions)
	USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 's', rowkind.field = 'op',
		tombstones, versions.field = 'v', "partial-update.remove-record-on-delete");
	CREATE TABLE log (k int, op text, s bigint, a text, b text)});

# The rows that are left must be those that the log, put in order, leaves.
my $differences = q{
	WITH last_removal AS (SELECT k, max(s) FILTER (WHERE op = '-D') AS s FROM log GROUP BY k),
	alive AS (SELECT l.* FROM log l JOIN last_removal r USING (k) WHERE l.op = '+I' AND l.s > coalesce(r.s, 0)),
	newest AS (SELECT k, max(s) AS s,
		(array_agg(a ORDER BY s DESC) FILTER (WHERE a IS NOT NULL))[1] AS a,
		(array_agg(b ORDER BY s DESC) FILTER (WHERE b IS NOT NULL))[1] AS b FROM alive GROUP BY k)
	SELECT 'd', k FROM newest n FULL JOIN d USING (k) WHERE n.s IS DISTINCT FROM d.s
	UNION ALL
	SELECT 'p', k FROM newest n FULL JOIN p USING (k) WHERE (n.s, n.a, n.b) IS DISTINCT FROM (p.s, p.a, p.b)
	UNION ALL
	SELECT 'tombstone', r.k FROM last_removal r
	LEFT JOIN merge_engine.tombstones t ON t.table_name = 'd'::regclass AND t.key = ARRAY[r.k::text]
	LEFT JOIN newest n USING (k)
	WHERE (CASE WHEN n.k IS NULL THEN r.s END)::text IS DISTINCT FROM t.sequence[1]};

# Sequence numbers are drawn first and used later, so that rows arrive late.
my ($clients, $transactions) = (6, 250);
my $total = $clients * $transactions;
# Nobody tries again: no two of them may deadlock.
$node->pgbench(
	"--no-vacuum --client=$clients --transactions=$transactions",
	0,
	[qr{actually processed: $total/$total}],
	[qr{^$}],
	'concurrent removals and rows',
	{
		'row@3' => q{
		\set k random(1, 4)
		\set late random(0, 40)
		\set which random(0, 1)
		BEGIN;
		SELECT nextval('versions') * 100 - :late * 99 AS s \gset
		INSERT INTO d VALUES (:k, 'n', '+I', :s);
		INSERT INTO p VALUES (:k, CASE :which WHEN 0 THEN 'a' || :s END, CASE :which WHEN 1 THEN 'b' || :s END, '+I', :s);
		INSERT INTO log VALUES (:k, '+I', :s, CASE :which WHEN 0 THEN 'a' || :s END, CASE :which WHEN 1 THEN 'b' || :s END);
		COMMIT;
	},
		'removal@3' => q{
		\set k random(1, 4)
		\set late random(0, 40)
		BEGIN;
		SELECT nextval('versions') * 100 - :late * 99 + 50 AS s \gset
		INSERT INTO d VALUES (:k, NULL, '-D', :s);
		INSERT INTO p VALUES (:k, NULL, NULL, '-D', :s);
		INSERT INTO log VALUES (:k, '-D', :s, NULL, NULL);
		COMMIT;
	},
		'dropped@1' => q{
		\set k random(1, 4)
		\set op random(0, 1)
		BEGIN;
		INSERT INTO d VALUES (:k, 'gone', CASE :op WHEN 0 THEN '-D' ELSE '+I' END, 1000000000);
		ROLLBACK;
	}
	});
is($node->safe_psql('postgres', $differences), '', 'every key is what the log says');
check_indexes($node, 'postgres');

# New keys and removed ones in one statement, which inserts rows together.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE m (k int PRIMARY KEY, note text, op text, s bigint)
	USING merge_engine WITH (sequence.field = 's', rowkind.field = 'op', tombstones);
	CREATE TABLE many_log (low int, high int, s bigint);
	CREATE FUNCTION many(low int, high int, s bigint) RETURNS TABLE (k int, op text, s bigint) LANGUAGE SQL AS
		$$ SELECT k, CASE WHEN (s * 31 + k * 7) % 3 < 2 THEN '+I' ELSE '-D' END, s FROM generate_series(low, high) k $$});
$node->pgbench(
	"--no-vacuum --client=$clients --transactions=$transactions",
	0,
	[qr{actually processed: $total/$total}],
	[qr{^$}],
	'concurrent statements of many keys',
	{
		'many' => q{
		\set low random(1, 60)
		\set high :low + random(0, 40)
		\set s random(1, 1000000)
		BEGIN;
		INSERT INTO m SELECT k, 'n', op, s FROM many(:low, :high, :s) ORDER BY random();
		INSERT INTO many_log VALUES (:low, :high, :s);
		COMMIT;
	}
	});
is( $node->safe_psql('postgres', q{
	WITH newest AS (SELECT DISTINCT ON (k) k, op, c.s FROM many_log l, many(low, high, l.s) c ORDER BY k, c.s DESC)
	SELECT n.*, m.s, t.sequence FROM newest n LEFT JOIN m USING (k)
	LEFT JOIN merge_engine.tombstones t ON t.table_name = 'm'::regclass AND t.key = ARRAY[k::text]
	WHERE (CASE n.op WHEN '+I' THEN n.s END, CASE n.op WHEN '-D' THEN n.s::text END) IS DISTINCT FROM (m.s, t.sequence[1])}),
	'', 'every key is what the newest row says');

# A crash loses what was not committed, and nothing else.
my $session = $node->background_psql('postgres');
$session->query_safe(q{BEGIN; INSERT INTO d SELECT k, NULL, '-D', 1000000000 FROM generate_series(1, 20) k});
$node->stop('immediate');
eval { $session->quit };
$node->start;
is($node->safe_psql('postgres', $differences), '', 'after a crash');

# A restored copy remembers as well: by a late row of each key.
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(['pg_dump', '-Fc', '-f', $node->basedir . '/dump', $node->connstr('postgres')], 'dump');
$node->command_ok(['pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $node->basedir . '/dump'], 'restore');
for my $database ('postgres', 'restored')
{
	$node->safe_psql($database, q{
		INSERT INTO d SELECT k, 'late', '+I', 0 FROM generate_series(1, 4) k;
		INSERT INTO p SELECT k, 'late', NULL, '+I', 0 FROM generate_series(1, 4) k WHERE k IN (SELECT k FROM p)});
}
is($node->safe_psql('restored', $differences), $node->safe_psql('postgres', $differences), 'the copy is the same');
my $versions = 'SELECT k, v FROM p ORDER BY k';
is($node->safe_psql('restored', $versions), $node->safe_psql('postgres', $versions), 'versions too');

done_testing();
