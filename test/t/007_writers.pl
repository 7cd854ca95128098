# Many writers of every kind at once: each table is the fold of what committed.
#
# STRESS_SECONDS is the length of each half (6).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Writers;

my $seconds = $ENV{STRESS_SECONDS} || 6;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'merge_engine'\nautovacuum_naptime = 1s\nautovacuum_vacuum_threshold = 50\nmax_connections = 50\n"
	  . "log_min_messages = error");
$node->start;
make_writers_tables($node, 'postgres');
my $dir = PostgreSQL::Test::Utils::tempdir();
my ($single, $other) = write_scripts($node, 'postgres', $dir);

sub transactions
{
	my ($output) = @_;
	return $output =~ /actually processed: (\d+)/ ? $1 : 0;
}

# One merging statement a transaction: no deadlock, no error at all.
my ($out, $err);
my $ok = IPC::Run::run([ pgbench_command($node, 'postgres', 8, 0, $seconds, @$single) ], '>', \$out, '2>', \$err);
ok($ok, 'one merging statement a transaction: no error') or diag($err =~ s/(.{3000}).*/$1/sr);
note(transactions($out) . ' transactions of 8 clients');
is($node->safe_psql('postgres', q{SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'}), '0', 'no deadlock');
writers_are_right($node, 'postgres', 'one statement a transaction');

# And now several in one, and sessions that are killed while they write.
my ($main_out, $main_err, $killer_out, $killer_err);
my $main = IPC::Run::start([ pgbench_command($node, 'postgres', 6, 0, $seconds, '--max-tries=100', @$single, @$other) ],
	'>', \$main_out, '2>', \$main_err);
my $killer = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', qq{
	DO \$\$
	DECLARE
		killed int := 0;
	BEGIN
		WHILE clock_timestamp() < now() + interval '$seconds s'
		LOOP
			PERFORM pg_sleep(0.2 * random()), pg_stat_clear_snapshot();
			killed := killed + (SELECT count(pg_terminate_backend(pid)) FROM
				(SELECT pid FROM pg_stat_activity WHERE application_name = 'victim' AND state = 'active'
				ORDER BY random() LIMIT 1) AS v);
		END LOOP;
		RAISE WARNING '% sessions killed', killed;
	END \$\$} ], '>', \$killer_out, '2>', \$killer_err);
my $end = time + $seconds;
while (time < $end)
{
	local $ENV{PGAPPNAME} = 'victim';
	IPC::Run::run([ pgbench_command($node, 'postgres', 2, 6, 2, @$single) ], '>', \$out, '2>', \$err);
}
$killer->finish;
ok($main->finish, 'several statements a transaction: no error but deadlocks') or diag($main_err =~ s/(.{3000}).*/$1/sr);
my ($killed) = ($killer_err || '') =~ /(\d+) sessions killed/;
ok($killed, 'sessions were killed');
note(transactions($main_out) . " transactions of 6 clients, $killed sessions killed");
writers_are_right($node, 'postgres', 'with sessions killed');

# Nothing is left of those who are gone.
$node->safe_psql('postgres', 'VACUUM FREEZE');
$node->restart;
writers_are_right($node, 'postgres', 'after VACUUM FREEZE and a restart');

$node->stop;
done_testing();
