# The counters of merge_engine.stats while their table is vacuumed, and after many sessions.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'merge_engine'\nautovacuum = off\nmax_connections = 20");
$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION merge_engine;
	CREATE TABLE a (k int PRIMARY KEY, n int) USING merge_engine;
	CREATE TABLE b (k int PRIMARY KEY, n int) USING merge_engine;
	CREATE TABLE c (k int PRIMARY KEY, n int) USING merge_engine;
	CREATE TABLE bad (t regclass, place tid, rows_in bigint)});

# Rows of counters lie side by side and are moved by vacuum, as others are removed.
# A transaction adds 7 to one of b, 11 to one of a, 3 to one of c.
sub copies
{
	my ($table, $n) = @_;
	return "INSERT INTO $table VALUES " . join(', ', ('(1, 1)') x $n) . ";\n";
}
my ($clients, $transactions) = (3, 2000);
my $total = $clients * $transactions;
$node->pgbench(
	"--no-vacuum --client=$clients --transactions=$transactions --protocol=prepared",
	0,
	[qr{actually processed: $total/$total}],
	[qr{^$}],
	'commits while counters are vacuumed',
	{
		'write@2' => copies('b', 7) . copies('a', 11) . copies('c', 3),
		'vacuum@1' => join(
			'',
			map {
				qq{SELECT merge_engine.reset_stats('$_');
				VACUUM (TRUNCATE off) merge_engine.stats_counters;
				INSERT INTO bad SELECT table_id, ctid, rows_in FROM merge_engine.stats_counters
				WHERE rows_in % CASE table_id WHEN 'a'::regclass THEN 11 WHEN 'b'::regclass THEN 7 ELSE 3 END <> 0;
				}
			} qw(b a c))
	});
is($node->safe_psql('postgres', 'SELECT * FROM bad LIMIT 5'), '', 'every table has its own counts');

# Each backend number has a page, however many sessions there were.
$clients = 4;
$transactions = 60;
$total = $clients * $transactions;
$node->pgbench(
	"--no-vacuum --connect --client=$clients --transactions=$transactions",
	0,
	[qr{actually processed: $total/$total}],
	[qr{^$}],
	'sessions that leave no counters',
	{
		'session' => q{
		CREATE TEMP TABLE t (k int PRIMARY KEY) USING merge_engine;
		INSERT INTO t VALUES (1);
		}
	});
cmp_ok($node->safe_psql('postgres', q{SELECT pg_relation_size('merge_engine.stats_counters') / 8192}),
	'<', 40, 'the table of counters stays small');

done_testing();
