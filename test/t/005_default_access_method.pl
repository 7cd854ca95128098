# default_table_access_method = merge_engine: a table that names no engine is a
# heap table, and everything else goes on as before.
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
$node->safe_psql('postgres', 'CREATE DATABASE plain');
make_tables($node, 'plain');

$node->safe_psql('postgres', 'CREATE DATABASE everywhere');
$node->safe_psql('everywhere', 'CREATE EXTENSION merge_engine');
$node->safe_psql('postgres', 'ALTER DATABASE everywhere SET default_table_access_method = merge_engine');

my $everything = q{
	CREATE TABLE t (id int PRIMARY KEY, note text UNIQUE);
	INSERT INTO t VALUES (1, 'a'), (2, 'b');
	INSERT INTO t VALUES (1, 'c') ON CONFLICT (id) DO UPDATE SET note = excluded.note;
	INSERT INTO t VALUES (1, 'd') ON CONFLICT DO NOTHING;
	UPDATE t SET note = note || '!' WHERE id = 1;
	MERGE INTO t USING (VALUES (1, 'm'), (3, 'n')) AS s (id, note) ON t.id = s.id
		WHEN MATCHED THEN UPDATE SET note = s.note WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.note);
	CREATE TABLE copied AS SELECT * FROM t;
	CREATE MATERIALIZED VIEW seen AS SELECT count(*) FROM t;
	INSERT INTO t VALUES (4, 'x');
	CREATE UNLOGGED TABLE u (LIKE t INCLUDING ALL);
	INSERT INTO u SELECT * FROM t;
	CREATE TABLE p (id int PRIMARY KEY, n int) PARTITION BY HASH (id);
	CREATE TABLE p0 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
	CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO p SELECT i, i FROM generate_series(1, 100) AS i;
	CREATE TABLE child (id int REFERENCES t, v int DEFAULT 7);
	INSERT INTO child VALUES (1), (1);
	ALTER TABLE t ALTER COLUMN id TYPE bigint;
	CREATE INDEX ON t (lower(note));
	VACUUM FULL t;
	CLUSTER p0 USING p0_pkey;
	BEGIN; DELETE FROM t WHERE id = 4; SAVEPOINT s; TRUNCATE t CASCADE; ROLLBACK TO s; COMMIT;
	REFRESH MATERIALIZED VIEW seen;
	ANALYZE;
};
my $result = q{
	SELECT * FROM t ORDER BY 1; SELECT * FROM copied ORDER BY 1; SELECT * FROM seen; SELECT * FROM u ORDER BY 1;
	SELECT count(*), sum(n) FROM p; SELECT * FROM child ORDER BY 1};

foreach my $db ('plain', 'everywhere')
{
	foreach my $statement (split /;\n/, $everything)
	{
		my ($status, $out, $err) = $node->psql($db, $statement);
		is($status, 0, "$db: " . ($statement =~ /(\w+(?: \w+)?)/)[0]) or diag($err);
	}
}
is($node->safe_psql('everywhere', $result), $node->safe_psql('plain', $result), 'a heap table, whatever is done');
is( $node->safe_psql('everywhere',
		q{SELECT amname, count(*) > 3 FROM pg_class c JOIN pg_am a ON a.oid = relam
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'm') GROUP BY 1}),
	'merge_engine|t', 'they have the access method');
is($node->safe_psql('everywhere', 'SELECT count(*) FROM merge_engine.tables'), '0', 'none of them merges');

# Duplicate keys are errors, in every form.
foreach my $statement ("INSERT INTO t VALUES (1, 'other')", "INSERT INTO t VALUES (10, 'm')",
	"INSERT INTO t VALUES (7, 'x'), (7, 'y')", "COPY t FROM STDIN;\n1\tz\n\\.\n", 'INSERT INTO p VALUES (1, 1)')
{
	my ($status, $out, $err) = $node->psql('everywhere', "\\set VERBOSITY verbose\n$statement");
	like($err, qr/ERROR:  23505: duplicate key value/, 'duplicate key: ' . substr($statement, 0, 30));
}

# A table that names an engine merges, with USING or without.
$node->safe_psql(
	'everywhere', q{
	CREATE TABLE named (id int PRIMARY KEY, n int) WITH (merge_engine = 'aggregation', "fields.n.aggregate-function" = 'sum');
	CREATE TABLE used (id int PRIMARY KEY, n int) USING merge_engine;
	INSERT INTO named VALUES (1, 1), (1, 2);
	INSERT INTO used VALUES (1, 1), (1, 2)});
is($node->safe_psql('everywhere', 'SELECT n FROM named UNION ALL SELECT n FROM used'), "3\n2", 'an engine named, and USING');
my ($status, $out, $err) =
  $node->psql('everywhere', q{CREATE TABLE h (id int PRIMARY KEY) USING heap WITH (merge_engine = 'first-row')});
isnt($status, 0, 'a heap table takes no engine');

# A dump restores through that setting: both kinds come back as they were.
$node->safe_psql('postgres', 'CREATE DATABASE restored');
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->command_ok([ 'pg_dump', '-f', $dump, 'everywhere' ], 'dump');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', $dump, 'restored' ], 'restore');
is($node->safe_psql('restored', $result), $node->safe_psql('everywhere', $result), 'plain tables restored');
($status, $out, $err) = $node->psql('restored', "INSERT INTO t VALUES (1, 'other')");
like($err, qr/duplicate key value/, 'a restored plain table is plain');
$node->safe_psql('restored', 'INSERT INTO named VALUES (1, 10)');
is($node->safe_psql('restored', 'SELECT n FROM named'), '13', 'a restored merge table merges');

# And the tables of a database without the setting can be restored into one
# with it.  (The extension's schema is there already: that is an error to pass over.)
$node->safe_psql('postgres', 'CREATE DATABASE into_setting');
$node->safe_psql('into_setting', 'CREATE EXTENSION merge_engine');
$node->safe_psql('postgres', 'ALTER DATABASE into_setting SET default_table_access_method = merge_engine');
$node->safe_psql('postgres', 'CREATE DATABASE source');
make_tables($node, 'source');
$node->command_ok([ 'pg_dump', '-f', $dump, 'source' ], 'dump without the setting');
$node->command_ok([ 'psql', '-X', '-q', '-o', '/dev/null', '-f', $dump, 'into_setting' ], 'restore');
is(tables_state($node, 'into_setting'), tables_state($node, 'source'), 'restored');

check_indexes($node, $_) foreach ('everywhere', 'restored');

$node->stop;
done_testing();
