# COPY through psql: every format, column lists, and an error half way.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION merge_engine');
my $dir = PostgreSQL::Test::Utils::tempdir();

my @rows = (
	[ 1001, 'CREATED',   '100.00', undef,         1 ],
	[ 1001, 'PAID',      '80.00',  undef,         3 ],
	[ 1001, undef,       undef,    "SF\t\"001\"", 4 ],
	[ 1002, 'CREATED',   '7.50',   undef,         1 ],
	[ 1001, 'CANCELLED', '100.00', undef,         2 ]);

# A new empty table to copy into, with its rows as they should be.
sub new_table
{
	$node->safe_psql(
		'postgres', q{
		DROP TABLE IF EXISTS wide;
		CREATE TABLE wide (order_id bigint PRIMARY KEY, status text, amount numeric(18,2),
			tracking_no text, version bigint)
		USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version')});
	return;
}
sub table_is
{
	my ($expected, $name) = @_;
	is($node->safe_psql('postgres', 'SELECT * FROM wide ORDER BY 1'), $expected, $name);
	return;
}
my $merged = "1001|PAID|80.00|SF\t\"001\"|4\n1002|CREATED|7.50||1";

# The rows as INSERT merges them.
new_table();
$node->safe_psql('postgres', 'INSERT INTO wide VALUES ('
	. join('), (', map { join(', ', map { defined $_ ? "'$_'" : 'NULL' } @$_) } @rows) . ')');
table_is($merged, 'INSERT');

# The same rows in a table that keeps them all, to write the files from.
$node->safe_psql('postgres', 'CREATE TABLE log (LIKE wide)');
$node->safe_psql('postgres', 'ALTER TABLE log ADD COLUMN line serial');
$node->safe_psql('postgres', 'INSERT INTO log VALUES '
	. join(', ', map { '(' . join(', ', map { defined $_ ? "'$_'" : 'NULL' } @$_) . ')' } @rows));

foreach my $format ('TEXT', 'CSV', 'BINARY')
{
	my $file = "$dir/rows.$format";
	my $log = 'SELECT order_id, status, amount, tracking_no, version FROM log ORDER BY line';
	$node->safe_psql('postgres', "\\copy ($log) TO '$file' (FORMAT $format)");
	new_table();
	my ($status, $out) =
	  $node->psql('postgres', "\\set QUIET off\n\\copy wide FROM '$file' (FORMAT $format)\n\\set QUIET on");
	like($out, qr/COPY 5/, "$format: the tag counts every row");
	table_is($merged, "$format: as INSERT merges");
	$node->safe_psql('postgres', "\\copy wide FROM '$file' (FORMAT $format)");
	table_is($merged, "$format: once more changes nothing");

	# COPY in the server, within a transaction that is rolled back
	new_table();
	$node->safe_psql('postgres', "BEGIN; COPY wide FROM '$file' (FORMAT $format); ROLLBACK");
	table_is('', "$format: rolled back");
	$node->safe_psql('postgres', "BEGIN; TRUNCATE wide; COPY wide FROM '$file' (FORMAT $format, FREEZE); COMMIT");
	table_is($merged, "$format: FREEZE");
}

# A column list: the columns that are not in it stay.
$node->safe_psql('postgres', "COPY wide (version, order_id) FROM STDIN;\n9\t1001\n\\.\n");
table_is("1001|PAID|80.00|SF\t\"001\"|9\n1002|CREATED|7.50||1", 'column list');

# An error half way leaves the table as it was.
my ($status, $out, $err) =
  $node->psql('postgres', "COPY wide FROM STDIN;\n1001\tLOST\t1\t\\N\t10\n1003\tLOST\tx\t\\N\t1\n\\.\n");
like($err, qr/invalid input syntax for type numeric/, 'a bad row is an error');
table_is("1001|PAID|80.00|SF\t\"001\"|9\n1002|CREATED|7.50||1", 'after the error');

# COPY out is a plain table's, and its rows come back as they are.
$node->safe_psql('postgres', "\\copy wide TO '$dir/out.csv' CSV HEADER");
new_table();
$node->safe_psql('postgres', "\\copy wide FROM '$dir/out.csv' CSV HEADER");
table_is("1001|PAID|80.00|SF\t\"001\"|9\n1002|CREATED|7.50||1", 'out and in again');

# Many rows, few keys, wide rows: more than one batch of COPY.
$node->safe_psql(
	'postgres', q{
	CREATE TABLE counts (k int PRIMARY KEY, n bigint, biggest text)
	USING merge_engine WITH (merge_engine = 'aggregation',
		"fields.n.aggregate-function" = 'sum', "fields.biggest.aggregate-function" = 'max');
	CREATE INDEX ON counts (n)});
$node->safe_psql('postgres',
	"COPY (SELECT i % 97, 1, repeat(md5(i::text), 20) FROM generate_series(1, 20000) AS i) TO '$dir/many'");
$node->safe_psql('postgres', "COPY counts FROM '$dir/many'");
is($node->safe_psql('postgres', 'SELECT count(*), sum(n), max(biggest) = (SELECT max(repeat(md5(i::text), 20)) FROM generate_series(1, 20000) AS i) FROM counts'),
	'97|20000|t', 'many rows on few keys');

$node->stop;
done_testing();
