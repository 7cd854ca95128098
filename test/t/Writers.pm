# The load of the stress tests: what a writer does to the tables of writers.sql,
# as pgbench scripts, and the comparison with the logs (writers_fold.sql).
package Writers;

use strict;
use warnings;
use Exporter 'import';
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;
use TestTables;

our @EXPORT = qw(make_writers_tables write_scripts pgbench_command writers_are_right);

# Tables, and what a log and its table have in common.
my %columns = (
	totals   => 'k, kind, n, cnt',
	extremes => 'k, hi, lo, anyone, everyone',
	latest   => 'k, version, note',
	grouped  => 'k, a, b, g1, c, s, g2',
	earliest => 'k, version, note',
	versioned => 'k, a, b, c, at');

# A skewed key, and random rows of each table; "i" numbers the rows.
my $key = '(300 * random() ^ 3)::int';
my $g1  = q{CASE WHEN i % 3 > 0 THEN nextval('versions') END};
my $g2  = q{CASE WHEN i % 3 < 2 THEN nextval('versions') END};
my %rows = (
	totals   => "$key, (ARRAY['+I', '-U', '+U', '-D'])[1 + i % 4], (random() * 1000)::bigint, 1",
	extremes => "$key, (random() * 1e9)::bigint, (random() * 1e9)::bigint, random() < 0.3, random() < 0.9",
	latest   => "$key, nextval('versions')",
	grouped  => "k, 'a' || g1, g1 + 1, g1, 'c' || g2, (random() * 100)::bigint, g2",
	earliest => "$key * 7, nextval('versions')",
	versioned => q{k, CASE WHEN random() < 0.4 THEN 'a' || at END, CASE WHEN random() < 0.4 THEN at END,
		CASE WHEN random() < 0.1 THEN repeat('c' || at, 300) END, at});
my %inner = (
	grouped   => "$key AS k, $g1 AS g1, $g2 AS g2",
	versioned => "$key AS k, nextval('versions') - (random() * 1000)::int * 1000000 AS at");

# SELECT of rows numbered by a source.
sub rows_of
{
	my ($table, $source) = @_;
	return "SELECT $rows{$table} FROM $source" unless $inner{$table};
	return "SELECT $rows{$table} FROM (SELECT $inner{$table} FROM $source OFFSET 0) AS s";
}

# What the log has, and what the table gets of it.
sub logged { my ($table) = @_; return $columns{$table} =~ s/, note//r; }
sub sent   { my ($table) = @_; return $columns{$table} =~ s/note/note(version)/r; }

# Make the tables in a database.
sub make_writers_tables
{
	my ($node, $db) = @_;
	$node->safe_psql($db, slurp_file(file_here('writers.sql')));
	$node->safe_psql($db, 'CREATE EXTENSION amcheck');
	return;
}

# Files for COPY, table.N in a folder, of rows that nobody else sends.
sub write_copy_files
{
	my ($node, $db, $dir) = @_;
	foreach my $table (sort keys %columns)
	{
		my ($logged, $sent) = (logged($table), sent($table));
		for my $n (1 .. 10)
		{
			my $rows = 'SELECT * FROM (' . rows_of($table, 'generate_series(1, 60) AS i') . ') AS r';
			$node->safe_psql($db, "CREATE TEMP TABLE r AS SELECT $logged FROM ${table}_log LIMIT 0;"
				  . "INSERT INTO r $rows; COPY r TO '$dir/$table.log.$n'; COPY (SELECT $sent FROM r) TO '$dir/$table.$n'");
		}
	}
	return;
}

# Write the scripts; returns pgbench's arguments for those of one merging
# statement a transaction, and a reference to those of the others.
sub write_scripts
{
	my ($node, $db, $dir) = @_;
	my (@single, @other);
	my $add = sub {
		my ($list, $name, $weight, $text) = @_;
		append_to_file("$dir/$name.sql", $text);
		push @$list, '-f', "$dir/$name.sql\@$weight";
	};
	write_copy_files($node, $db, $dir);
	foreach my $table (sort keys %columns)
	{
		my ($columns, $logged, $sent) = ($columns{$table}, logged($table), sent($table));
		# rows that are merged one by one must come in the order of partitions and keys
		my $order = $table eq 'extremes' ? q{satisfies_hash_partition('extremes'::regclass, 2, 1, k), k} : 'k';
		my $batch = "\\set batch random(1, 1000000000000)\n\\set n random(2, 40)\n";
		my $log = "INSERT INTO ${table}_log (batch, $logged) SELECT :batch, r.* FROM ("
		  . rows_of($table, 'generate_series(1, :n) AS i') . ") AS r;\n";
		my $merge = "INSERT INTO $table ($columns) SELECT $sent FROM ${table}_log WHERE batch = :batch";

		$add->(\@single, "$table-many", 4, "${batch}BEGIN;\n$log$merge;\nCOMMIT;\n");
		$add->(\@single, "$table-returning", 1, "${batch}BEGIN;\n$log$merge ORDER BY $order RETURNING *;\nCOMMIT;\n");
		$add->(\@single, "$table-single", 6,
			"\\set i random(1, 1000)\nWITH l AS (INSERT INTO ${table}_log ($logged) "
			  . rows_of($table, '(VALUES (:i)) AS v (i)') . " RETURNING *)\n"
			  . "INSERT INTO $table ($columns) SELECT $sent FROM l;\n");
		$add->(\@single, "$table-copy", 1,
			"\\set n random(1, 10)\nBEGIN;\nCOPY ${table}_log ($logged) FROM '$dir/$table.log.:n';\n"
			  . "COPY $table ($columns) FROM '$dir/$table.:n';\nCOMMIT;\n");
		$add->(\@single, "$table-rolled-back", 1,
			"${batch}BEGIN;\n$log$merge;\nROLLBACK;\n");
		$add->(\@single, "$table-savepoint", 2,
			"${batch}BEGIN;\nSAVEPOINT a;\n$log$merge;\nROLLBACK TO a;\nRELEASE a;\n"
			  . "SAVEPOINT b;\n$log$merge;\nRELEASE b;\nCOMMIT;\n");
		$add->(\@other, "$table-twice", 2,
			"${batch}BEGIN;\nSAVEPOINT a;\n$log$merge;\nRELEASE a;\n\\set batch :batch + 1\n$log$merge;\nCOMMIT;\n");
	}
	$add->(\@single, 'mine', 8,
		"\\set batch random(1, 1000000000000)\n\\set n random(1, 20)\n\\set w :client_id + :first_client\nBEGIN;\n"
		  . "INSERT INTO mine_log (batch, k, c:w) SELECT :batch, $key, nextval('versions') FROM generate_series(1, :n);\n"
		  . "INSERT INTO mine (k, c:w) SELECT k, c:w FROM mine_log WHERE batch = :batch ORDER BY c:w;\nCOMMIT;\n");
	# by hand; one that does not commute with merging is logged as what it did
	$add->(\@single, 'totals-update', 3,
		"\\set k random(0, 30)\nWITH u AS (UPDATE totals SET n = n + 7 WHERE k = :k RETURNING k)\n"
		  . "INSERT INTO totals_log (k, n, cnt) SELECT k, 7, 0 FROM u;\n");
	$add->(\@single, 'totals-delete', 2,
		"\\set k random(0, 30)\nWITH d AS (DELETE FROM totals WHERE k = :k RETURNING k, n, cnt)\n"
		  . "INSERT INTO totals_log (k, n, cnt) SELECT k, -n, -cnt FROM d;\n");
	$add->(\@single, 'extremes-update', 2,
		"\\set k random(0, 30)\n\\set hi random(1, 2000000000)\n"
		  . "WITH u AS (UPDATE extremes SET hi = greatest(hi, :hi) WHERE k = :k RETURNING k)\n"
		  . "INSERT INTO extremes_log (k, hi) SELECT k, :hi FROM u;\n");
	$add->(\@single, 'latest-update', 2,
		"\\set k random(0, 30)\nSELECT nextval('versions') AS v \\gset\n"
		  . "WITH u AS (UPDATE latest SET version = :v, note = note(:v) WHERE k = :k AND version < :v RETURNING k)\n"
		  . "INSERT INTO latest_log (k, version) SELECT k, :v FROM u;\n");
	$add->(\@single, 'latest-upsert', 2,
		"\\set k random(0, 400)\nSELECT nextval('versions') AS v \\gset\nBEGIN;\n"
		  . "INSERT INTO latest_log (k, version) VALUES (:k, :v);\n"
		  . "INSERT INTO latest AS t VALUES (:k, :v, note(:v)) ON CONFLICT (k) DO UPDATE\n"
		  . "SET version = excluded.version, note = excluded.note WHERE t.version < excluded.version;\nCOMMIT;\n");
	return (\@single, \@other);
}

# A pgbench that runs scripts for some seconds.
sub pgbench_command
{
	my ($node, $db, $clients, $first_client, $seconds, @scripts) = @_;
	return ('pgbench', '-n', '-h', $node->host, '-p', $node->port, '-c', $clients, '-j', 2, '-T', $seconds,
		'-D', "first_client=$first_client", @scripts, $db);
}

# The tables are what their logs say, and nothing is broken.
sub writers_are_right
{
	my ($node, $db, $name) = @_;
	my ($out, $err) = ('', '');
	$node->psql($db, slurp_file(file_here('writers_fold.sql')), stdout => \$out, stderr => \$err);
	is("$out$err", '', "$name: every table is the fold of its log");
	check_indexes($node, $db);
	return;
}

1;
