# Many writers at once on few keys: nothing is lost, nothing is merged twice.
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
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'merge_engine'\nautovacuum_naptime = 1s");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION merge_engine;
	CREATE TABLE counts (k int PRIMARY KEY, n bigint, latest bigint)
	USING merge_engine WITH (merge_engine = 'aggregation', fillfactor = 50,
		"fields.n.aggregate-function" = 'sum', "fields.latest.aggregate-function" = 'max');
	CREATE INDEX ON counts (latest);
	CREATE TABLE latest (k int PRIMARY KEY, version bigint, note text)
	USING merge_engine WITH (merge_engine = 'deduplicate', sequence.field = 'version');
	CREATE INDEX ON latest (note);
	CREATE TABLE log (k int, version bigint)});

my ($clients, $transactions) = (8, 100);
my $total = $clients * $transactions;

# Each transaction adds 1 to two keys in key order, and writes down what it sent.
$node->pgbench(
	"--no-vacuum --client=$clients --transactions=$transactions",
	0,
	[qr{actually processed: $total/$total}],
	[qr{^$}],
	'concurrent INSERT',
	{
		'single' => q{
		\set k random(1, 5)
		\set version random(1, 1000000)
		BEGIN;
		INSERT INTO counts VALUES (:k, 1, :version), (:k + 5, 1, :version);
		INSERT INTO latest VALUES (:k, :version, 'v' || :version);
		INSERT INTO log VALUES (:k, :version);
		COMMIT;
	}
	});
is($node->safe_psql('postgres', 'SELECT sum(n) FROM counts'), 2 * $total, 'every row is counted once');
is( $node->safe_psql('postgres', q{
		(SELECT k, n, latest FROM counts WHERE k <= 5 EXCEPT SELECT k, count(*), max(version) FROM log GROUP BY k)
		UNION ALL (SELECT k, max(version), max(version) FROM log GROUP BY k EXCEPT SELECT k, version, substr(note, 2)::bigint FROM latest)}),
	'', 'every key is what the log says');
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT k) FROM counts'), '10|10', 'one row a key');
check_indexes($node, 'postgres');

# New keys from every session at the same moment, some of them rolled back.
# The counters are those of what committed, also while their table is rewritten.
$node->safe_psql('postgres', q{TRUNCATE counts, log; SELECT merge_engine.reset_stats('counts')});
$node->pgbench(
	"--no-vacuum --client=$clients --transactions=$transactions",
	0,
	[qr{actually processed: $total/$total}],
	[qr{^$}],
	'concurrent new keys',
	{
		'kept@2' => q{
		\set k random(1, 300)
		BEGIN;
		INSERT INTO counts VALUES (:k, 1, 0) RETURNING n;
		INSERT INTO log VALUES (:k, 0);
		COMMIT;
	},
		'dropped@1' => q{
		\set k random(1, 300)
		BEGIN;
		INSERT INTO counts VALUES (:k, 1000, 0);
		INSERT INTO log VALUES (:k, 0);
		ROLLBACK;
	},
		'rewrite@1' => 'VACUUM FULL merge_engine.stats_counters;'
	});
is( $node->safe_psql('postgres', 'SELECT k, n FROM counts EXCEPT SELECT k, count(*) FROM log GROUP BY k'),
	'', 'each new key holds its committed rows');
is( $node->safe_psql('postgres', 'SELECT count(*) - (SELECT count(DISTINCT k) FROM log) FROM counts'),
	'0', 'no key is missing or doubled');
is( $node->safe_psql('postgres', q{SELECT rows_in - (SELECT count(*) FROM log) FROM merge_engine.stats WHERE table_name = 'counts'::regclass}),
	'0', 'every committed row is in the counters');
check_indexes($node, 'postgres');

# A removal finds the row of its key, also one that is moving to another place
# at that moment.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE moving (k int PRIMARY KEY, n int, op text, version bigint)
	USING merge_engine WITH (rowkind.field = 'op', sequence.field = 'version');
	CREATE INDEX ON moving (n);
	INSERT INTO moving VALUES (1, 0, '+I', 1)});
$node->pgbench(
	"--no-vacuum --client=3 --jobs=2 --transactions=15000",
	0,
	[qr{actually processed: 45000/45000}],
	[qr{^$}],
	'removals of a row that moves',
	{
		'move@3' => 'UPDATE moving SET n = n + 1 WHERE k = 1;',
		'removal@1' => q{
		BEGIN;
		INSERT INTO moving VALUES (1, NULL, '-D', 2);
		SELECT 1 / (count(*) = 0)::int FROM moving;
		ROLLBACK;
	}
	});

$node->stop;
done_testing();
