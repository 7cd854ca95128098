# pg_dump and restore carry tables, options and rows, in every form of a dump.
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
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE source');
make_tables($node, 'source');
my $before = tables_state($node, 'source');
my $dir = PostgreSQL::Test::Utils::tempdir();
my %after;

# Restore into a new database by some commands, and compare.
sub restore_gives_the_same
{
	my ($form, $db, @commands) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->command_ok($_, "$form: " . join(' ', @{$_}[ 0 .. 2 ])) foreach @commands;
	is(tables_state($node, $db), $before, "$form: definitions, options and rows");
	add_rows($node, $db);
	$after{$form} = tables_state($node, $db);
	check_indexes($node, $db);
	return;
}

my @psql = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null');

$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'source' ], 'plain dump');
like(slurp_file("$dir/plain.sql"), qr/"merge-engine"='partial-update'/, 'the dump has the options');
restore_gives_the_same('plain', 'plain', [ @psql, '-f', "$dir/plain.sql", 'plain' ]);

$node->command_ok([ 'pg_dump', '--inserts', '-f', "$dir/inserts.sql", 'source' ], 'dump as INSERT');
restore_gives_the_same('inserts', 'inserts', [ @psql, '-f', "$dir/inserts.sql", 'inserts' ]);

$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'source' ], 'custom dump');
restore_gives_the_same('parallel', 'parallel', [ 'pg_restore', '-j', '2', '-d', 'parallel', "$dir/custom" ]);

$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$dir/directory", 'source' ], 'parallel dump');
restore_gives_the_same('directory', 'directory', [ 'pg_restore', '-j', '2', '-d', 'directory', "$dir/directory" ]);

# Over what is there already, which is dropped first.  (PostgreSQL itself fails to
# drop the key of a partition before its table, and goes on.)
$node->safe_psql('postgres', 'CREATE DATABASE clean');
make_tables($node, 'clean');
add_rows($node, 'clean');
foreach my $clean ('--clean', '--clean --if-exists')
{
	my ($stdout, $stderr) = run_command([ 'pg_restore', split(/ /, $clean), '-h', $node->host, '-p', $node->port, '-d', 'clean', "$dir/custom" ]);
	is(join(' ', grep { !/cannot drop inherited constraint/ } $stderr =~ /ERROR:  .*/g), '', "pg_restore $clean");
	is(tables_state($node, 'clean'), $before, "$clean: definitions, options and rows");
}

# Here the keys are there when the rows come, and foreign keys do not wait for each other.
restore_gives_the_same(
	'data only', 'data_only',
	[ 'pg_restore', '--schema-only', '-d', 'data_only', "$dir/custom" ],
	[ 'pg_restore', '--data-only', '--disable-triggers', '-d', 'data_only', "$dir/custom" ]);

# Twice the same dump: partial-update, deduplicate and first-row do not care.
$node->command_ok([ 'pg_dump', '--data-only', '-t', 'dedup', '-t', 'patch', '-t', 'first_seen',
	'-f', "$dir/again.sql", 'source' ], 'dump of some rows');
my $once = tables_state($node, 'source');
$node->command_ok([ @psql, '-f', "$dir/again.sql", 'source' ], 'rows restored over themselves');
is(tables_state($node, 'source'), $once, 'rows restored over themselves change nothing');

add_rows($node, 'source');
my $expected = tables_state($node, 'source');
isnt($expected, $before, 'more rows change the tables');
is($after{$_}, $expected, "$_: the restored tables merge as the source does") foreach sort keys %after;

# A dump of a dump is the same dump.
$node->safe_psql('postgres', 'CREATE DATABASE again');
$node->command_ok([ @psql, '-f', "$dir/plain.sql", 'again' ], 'plain restore once more');
$node->command_ok([ 'pg_dump', '-f', "$dir/second.sql", 'again' ], 'second dump');
sub without_tokens
{
	my $dump = slurp_file($_[0]);
	$dump =~ s/^\\(un)?restrict .*$//mg;
	return $dump;
}
is(without_tokens("$dir/second.sql"), without_tokens("$dir/plain.sql"), 'a dump of the restored database is the same');

$node->stop;
done_testing();
