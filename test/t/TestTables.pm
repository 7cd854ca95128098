# The tables of the TAP tests (tables.sql), and what the tests ask of them.
package TestTables;

use strict;
use warnings;
use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(make_tables add_rows tables_state check_indexes file_here);

my @tables = qw(people dedup patch grouped totals first_seen parted no_engine);

# The path of a file beside the tests.
sub file_here
{
	my ($name) = @_;
	return "$FindBin::RealBin/$name";
}

# Create the tables in a database, with their rows.
sub make_tables
{
	my ($node, $db) = @_;
	$node->safe_psql($db, slurp_file(file_here('tables.sql')));
	return;
}

# Give the tables more rows, which merge with what is there.
sub add_rows
{
	my ($node, $db) = @_;
	$node->safe_psql($db, slurp_file(file_here('more_rows.sql')));
	return;
}

# All that matters of the tables as text: definitions, options, rows.
sub tables_state
{
	my ($node, $db) = @_;
	my $sql = "\\pset format aligned\n\\pset tuples_only off\n\\d+ public.*\n\\pset format unaligned\n";
	$sql .= "SELECT t::text FROM merge_engine.tables AS t ORDER BY 1;\n";
	# long rows as a checksum, so that a difference stays readable
	$sql .= "SELECT '$_', CASE WHEN length(t::text) < 200 THEN t::text ELSE md5(t::text) END"
	  . " FROM $_ AS t ORDER BY t::text COLLATE \"C\";\n" foreach @tables;
	return $node->safe_psql($db, $sql);
}

# Every btree index of a database is sound and has an entry for each row.
sub check_indexes
{
	my ($node, $db) = @_;
	my $faults = '';
	$node->psql(
		$db, slurp_file(file_here('../amcheck.sql')),
		stderr => \$faults,
		on_error_stop => 0);
	is($faults, '', "indexes of $db are sound");
	return;
}

1;
