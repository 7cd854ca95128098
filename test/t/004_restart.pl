# Merge tables after a restart, after a crash, and on a standby.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestTables;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(allows_streaming => 1);
$node->start;
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;

make_tables($node, 'postgres');
my $made = tables_state($node, 'postgres');
$node->restart;
is(tables_state($node, 'postgres'), $made, 'after a restart');

# Each of these is the first thing that a session does with a merge table.
$node->safe_psql('postgres', q{INSERT INTO dedup VALUES (50, 2, 'new'), (50, 1, 'old')});
$node->safe_psql('postgres', qq{COPY dedup FROM STDIN;\n51\t2\tnew\n51\t1\told\n\\.\n});
is($node->safe_psql('postgres', 'SELECT id, note FROM dedup WHERE id IN (50, 51) ORDER BY 1'),
	"50|new\n51|new", 'INSERT and COPY as the first statement');
$node->safe_psql('postgres',
	q{CREATE TABLE later (id int PRIMARY KEY, n int) USING merge_engine WITH ("merge-engine" = 'first-row')});
$node->safe_psql('postgres', q{ALTER TABLE later SET ("ignore-delete" = 'true')});
$node->safe_psql('postgres', 'ALTER TABLE later ALTER COLUMN n TYPE bigint');
is( $node->safe_psql('postgres', q{SELECT reloptions FROM pg_class WHERE relname = 'later'}),
	'{merge-engine=first-row,ignore-delete=true}',
	'CREATE and ALTER as the first statement');
my ($status, $out, $err) = $node->psql('postgres', q{ALTER TABLE later SET ("sequence.field" = 'n')});
isnt($status, 0, 'an ALTER that contradicts is refused as the first statement');
$node->safe_psql('postgres', q{DELETE FROM dedup WHERE id IN (50, 51); DROP TABLE later});

# A crash: what was committed is there, what was not is not.
my $session = $node->background_psql('postgres');
$session->query_safe(q{BEGIN; INSERT INTO dedup VALUES (1, 100, 'not committed'), (60, 1, 'not committed')});
$session->query_safe(q{INSERT INTO totals VALUES (1, '+I', 1, 1000, 'lost', NULL)});
$node->stop('immediate');
eval { $session->quit };
$node->start;
is(tables_state($node, 'postgres'), $made, 'after a crash in a transaction');
check_indexes($node, 'postgres');

add_rows($node, 'postgres');
my $more = tables_state($node, 'postgres');
$node->stop('immediate');
$node->start;
is(tables_state($node, 'postgres'), $more, 'committed rows after a crash');
check_indexes($node, 'postgres');

# The standby has the same, and stays right when it is promoted.
$node->wait_for_catchup($standby);
is(tables_state($standby, 'postgres'), $more, 'on the standby');
($status, $out, $err) = $standby->psql('postgres', q{INSERT INTO dedup VALUES (1, 1, 'x')});
like($err, qr/cannot execute INSERT in a read-only transaction/, 'the standby does not merge');
$standby->promote;
check_indexes($standby, 'postgres');
$_->safe_psql('postgres', q{INSERT INTO patch VALUES (1, 'eu', 'final', NULL), (9, 'eu', NULL, 9)}) foreach ($node, $standby);
is(tables_state($standby, 'postgres'), tables_state($node, 'postgres'), 'the promoted standby merges');

$standby->stop;
$node->stop;
done_testing();
