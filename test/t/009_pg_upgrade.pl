# pg_upgrade, by the steps of docs/upgrade.md: definitions, options and rows
# come over, and the tables merge.
#
# OLD_INSTALL is the folder of another version's server with the extension (its
# bin is in it); test/on17 sets it.  Without it the upgrade is to the same version.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use TestTables;

# What the tables are, in a form that does not depend on psql's version.
sub rows_and_options
{
	my ($node, $db) = @_;
	my $sql = "SELECT relname, relkind, amname, reloptions FROM pg_class c LEFT JOIN pg_am a ON a.oid = relam\n"
	  . "WHERE relnamespace = 'public'::regnamespace ORDER BY relname COLLATE \"C\";\n"
	  . "SELECT t::text FROM merge_engine.tables AS t ORDER BY t::text COLLATE \"C\";\n";
	$sql .= "SELECT '$_', md5(t::text) FROM $_ AS t ORDER BY t::text COLLATE \"C\";\n"
	  foreach qw(people dedup patch grouped totals first_seen parted no_engine);
	return $node->safe_psql($db, $sql);
}

foreach my $name ($ENV{OLD_INSTALL} ? ('copy', 'link') : ('link'))
{
	my $old = PostgreSQL::Test::Cluster->new("old_$name", install_path => $ENV{OLD_INSTALL});
	$old->init(extra => [ '-E', 'UTF8', '--locale=C' ]);
	$old->start;
	make_tables($old, 'postgres');
	$old->safe_psql('postgres', 'CREATE DATABASE everywhere');
	$old->safe_psql('everywhere', 'CREATE EXTENSION merge_engine');
	$old->safe_psql('postgres', 'ALTER DATABASE everywhere SET default_table_access_method = merge_engine');
	$old->safe_psql(
		'everywhere', q{
		CREATE TABLE plain (id int PRIMARY KEY, note text);
		INSERT INTO plain VALUES (1, 'a');
		CREATE TABLE sums (id int PRIMARY KEY, n int) WITH (merge_engine = 'aggregation', "fields.n.aggregate-function" = 'sum');
		INSERT INTO sums VALUES (1, 1), (1, 2);
		CREATE MATERIALIZED VIEW seen AS SELECT sum(n) AS n FROM sums});
	my $before = rows_and_options($old, 'postgres');
	$old->stop;

	my $new = PostgreSQL::Test::Cluster->new("new_$name");
	$new->init(extra => [ '-E', 'UTF8', '--locale=C' ]);
	# the step that docs/upgrade.md adds to pg_upgrade's own
	$new->append_conf('postgresql.conf', "shared_preload_libraries = 'merge_engine'");
	my @upgrade = (
		'pg_upgrade', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old->config_data('--bindir'), '-B', $new->config_data('--bindir'),
		'-s', $new->host, '-p', $old->port, '-P', $new->port, $name eq 'link' ? '--link' : ());
	chdir PostgreSQL::Test::Utils::tempdir();
	$new->command_ok([ @upgrade, '--check' ], "$name: pg_upgrade --check");
	$new->command_ok([@upgrade], "$name: pg_upgrade");
	$new->start;
	is(rows_and_options($new, 'postgres'), $before, "$name: definitions, options and rows");
	check_indexes($new, 'postgres');

	# from here on the library need not be preloaded
	$new->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
	$new->restart;
	add_rows($new, 'postgres');
	$new->safe_psql('postgres', 'CREATE DATABASE fresh');
	make_tables($new, 'fresh');
	add_rows($new, 'fresh');
	is(rows_and_options($new, 'postgres'), rows_and_options($new, 'fresh'), "$name: the tables merge");
	check_indexes($new, 'postgres');

	$new->safe_psql('everywhere', 'INSERT INTO sums VALUES (1, 10); REFRESH MATERIALIZED VIEW seen');
	is($new->safe_psql('everywhere', 'SELECT n FROM seen'), '13', "$name: with the setting for a whole database");
	my ($status, $out, $err) = $new->psql('everywhere', q{INSERT INTO plain VALUES (1, 'b')});
	like($err, qr/duplicate key value/, "$name: a plain table is plain");
	$new->safe_psql('postgres', q{ALTER TABLE dedup SET ("ignore-delete" = 'true'); ALTER TABLE dedup RENAME note TO remark;
		CREATE TABLE fresh (id int PRIMARY KEY) USING merge_engine; VACUUM FULL dedup});
	$new->stop;
}
done_testing();
