# The server is killed again and again under load: what a client was told has
# committed is there, each table is the fold of its log, and so are options.
#
# CRASH_KILLS is how often (20).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);
use TestTables;
use Writers;

my $kills = $ENV{CRASH_KILLS} || 20;
my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
# crashes must find all sorts of WAL and pages, so checkpoints are frequent
$node->append_conf('postgresql.conf', "fsync = on\nrestart_after_crash = on\ncheckpoint_timeout = 30s\n"
	  . "max_wal_size = 32MB\nautovacuum_naptime = 1s\nautovacuum_vacuum_threshold = 50\nlog_min_messages = error\n"
	  . "session_preload_libraries = 'merge_engine'");
$node->start;
make_writers_tables($node, 'postgres');
my $dir = PostgreSQL::Test::Utils::tempdir();
my ($single, $other) = write_scripts($node, 'postgres', $dir);

# A client that says what has committed.
sub write_told_script
{
	my ($round) = @_;
	my $script = '';
	for my $i (1 .. 3000)
	{
		my $batch = 2000000000000 + $round * 10000 + $i;
		$script .= "BEGIN;\n"
		  . "INSERT INTO totals_log SELECT $batch, i % 40, '+I', 1, 1 FROM generate_series(1, 5) AS i;\n"
		  . "INSERT INTO totals SELECT k, kind, n, cnt FROM totals_log WHERE batch = $batch;\nCOMMIT;\n\\echo $batch\n";
	}
	append_to_file("$dir/told.$round.sql", $script);
	return "$dir/told.$round.sql";
}

# Definitions that come and go; every one of these is right at any time.
my $ddl = '';
for my $i (1 .. 200)
{
	$ddl .= "DROP TABLE IF EXISTS d$i;\n"
	  . qq{CREATE TABLE d$i (k int PRIMARY KEY, v int, n int) USING merge_engine WITH ("merge-engine" = 'partial-update', "sequence.field" = 'v');\n}
	  . qq{INSERT INTO d$i VALUES (1, 1, 1), (1, 2, NULL);\n}
	  . qq{ALTER TABLE d$i SET ("ignore-delete" = 'true', fillfactor = 50);\n}
	  . qq{ALTER TABLE d$i RESET ("ignore-delete");\nALTER TABLE d$i RENAME v TO w;\nALTER TABLE d$i RENAME w TO v;\n}
	  . qq{BEGIN; TRUNCATE d$i; ALTER TABLE d$i SET ("merge-engine" = 'deduplicate'); INSERT INTO d$i VALUES (1, 2, NULL); COMMIT;\n};
}
append_to_file("$dir/ddl.sql", $ddl);

my $told = 0;
my $psql = [ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') ];
for my $round (1 .. $kills)
{
	my ($out, $err) = ('', '');
	my ($told_out, $told_err, $ddl_out, $ddl_err) = ('', '', '', '');
	my $load = IPC::Run::start([ pgbench_command($node, 'postgres', 6, 0, 60, '--max-tries=100', @$single, @$other) ],
		'>', \$out, '2>', \$err);
	my $teller = IPC::Run::start([ @$psql, '-f', write_told_script($round) ], '>', \$told_out, '2>', \$told_err);
	my $definer = IPC::Run::start([ @$psql, '-f', "$dir/ddl.sql" ], '>', \$ddl_out, '2>', \$ddl_err);
	usleep(200_000 + rand(700_000));
	if ($round % 2)
	{
		$node->stop('immediate');
		$_->finish foreach ($load, $teller, $definer);
		$node->start;
	}
	else
	{
		# one of the backends, by SIGKILL: the server restarts by itself
		my $pid = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'
			AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1});
		kill 'KILL', $pid;
		$_->finish foreach ($load, $teller, $definer);
		my $tries = 0;
		until (IPC::Run::run([ @$psql, '-c', 'SELECT 1' ], '>', \$out, '2>', \$err))
		{
			die 'the server did not come back' if ++$tries > 600;
			usleep(100_000);
		}
	}

	my @batches = split /\n/, $told_out;
	$told += @batches;
	my $missing = $node->safe_psql('postgres', 'SELECT count(*) FROM unnest(ARRAY[' . join(', ', @batches, 0)
		  . ']::bigint[]) AS b WHERE b > 0 AND (SELECT count(*) FROM totals_log WHERE batch = b) <> 5');
	is($missing, '0', "kill $round: what was told to have committed is there");
	writers_are_right($node, 'postgres', "kill $round");
	is( $node->safe_psql('postgres', q{
			SELECT relname, reloptions FROM pg_class WHERE relname ~ '^d\d' AND relkind = 'r' AND array_to_string(reloptions, ' ') NOT IN (
			'merge-engine=partial-update sequence.field=v',
			'merge-engine=partial-update sequence.field=v ignore-delete=true fillfactor=50',
			'fillfactor=50 merge-engine=partial-update sequence.field=v ignore-delete=true',
			'fillfactor=50 merge-engine=partial-update sequence.field=v',
			'fillfactor=50 merge-engine=partial-update sequence.field=w',
			'fillfactor=50 merge-engine=deduplicate sequence.field=v')}),
		'', "kill $round: options are those of one moment");
}
note("$kills kills, $told transactions told");

# The tables whose definition was cut short merge.
is( $node->safe_psql('postgres', q{
		DO $$
		DECLARE
			d regclass;
		BEGIN
			FOR d IN SELECT oid FROM pg_class WHERE relname ~ '^d\d' AND relkind = 'r'
			LOOP
				EXECUTE format('INSERT INTO %s VALUES (7, 1, 1), (7, 2, 2)', d);
				EXECUTE format('INSERT INTO %s VALUES (7, 0, 0)', d);
			END LOOP;
		END $$;
		SELECT count(*) > 0 FROM pg_class WHERE relname ~ '^d\d' AND relkind = 'r'}),
	't', 'tables with options after crashes merge');

$node->stop;
done_testing();
