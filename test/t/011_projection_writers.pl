# Writers that take numbers and times and commit in another order, some of them never, while projections of every mode
# are refreshed: in the end nothing is missing, and every appended row is there once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nmax_prepared_transactions = 10");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION merge_engine;
CREATE SEQUENCE seq;
CREATE TABLE entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, grp integer NOT NULL,
	seq bigint NOT NULL DEFAULT nextval('seq'), at timestamptz NOT NULL DEFAULT now());
CREATE TABLE grp (id integer PRIMARY KEY, n bigint NOT NULL DEFAULT 0, gone boolean NOT NULL DEFAULT false,
	seq bigint NOT NULL DEFAULT nextval('seq'), at timestamptz NOT NULL DEFAULT now());
INSERT INTO grp SELECT i FROM generate_series(1, 200) i;
CREATE INDEX ON entry (seq); CREATE INDEX ON entry (at); CREATE INDEX ON entry (grp);
CREATE INDEX ON grp (seq); CREATE INDEX ON grp (at);
CREATE VIEW entries AS SELECT id, grp, seq, at FROM entry;
CREATE VIEW groups AS SELECT id, n, seq, at FROM grp;
CREATE VIEW joined AS SELECT e.id, g.id AS grp, g.n, e.seq AS e_seq, e.at AS e_at, g.seq AS g_seq, g.at AS g_at
	FROM entry e JOIN grp g ON g.id = e.grp WHERE NOT g.gone;
SELECT merge_engine.create_projection('insert_seq', 'entries', 'insert', '{seq}');
SELECT merge_engine.create_projection('insert_at', 'entries', 'insert', '{at}');
SELECT merge_engine.create_projection('merge_seq', 'groups', 'merge', '{seq}', unique_key => '{id}');
SELECT merge_engine.create_projection('merge_at', 'groups', 'merge', '{at}', unique_key => '{id}');
SELECT merge_engine.create_projection('delete_insert_seq', 'joined', 'delete_insert', '{e_seq,g_seq}', replace_key => '{grp}');
SELECT merge_engine.create_projection('delete_insert_at', 'joined', 'delete_insert', '{e_at,g_at}', replace_key => '{id}');
CREATE INDEX ON delete_insert_seq (grp);
CREATE INDEX ON delete_insert_at (id);
SQL

my $dir = PostgreSQL::Test::Utils::tempdir();
my %scripts = (
	write => <<'PGBENCH',
\set g random(1, 200)
\set h random(1, 200)
\set pause random(0, 3000)
\set abort random(1, 10)
BEGIN;
SELECT 1;
\sleep :pause us
INSERT INTO entry (grp) VALUES (:g), (:h);
UPDATE grp SET n = n + 1, gone = random() < 0.1, seq = nextval('seq'), at = now() WHERE id = :g;
\sleep :pause us
\if :abort = 1
ROLLBACK;
\else
COMMIT;
\endif
PGBENCH
	prepare => <<'PGBENCH',
\set g random(1, 200)
BEGIN;
INSERT INTO entry (grp) VALUES (:g);
PREPARE TRANSACTION 'p:client_id';
\sleep 5 ms
COMMIT PREPARED 'p:client_id';
PGBENCH
	refresh => <<'PGBENCH');
\set which random(1, 6)
SELECT merge_engine.refresh_projection((ARRAY['insert_seq', 'insert_at', 'merge_seq', 'merge_at', 'delete_insert_seq', 'delete_insert_at'])[:which]::regclass);
PGBENCH
append_to_file("$dir/$_.sql", $scripts{$_}) foreach keys %scripts;

$node->command_ok(
	[ 'pgbench', '-n', '-c', '8', '-j', '2', '-T', $ENV{STRESS_SECONDS} || 10,
	  '-f', "$dir/write.sql\@12", '-f', "$dir/refresh.sql\@5", '-d', 'postgres' ],
	'writers and refreshes');
$node->command_ok(
	[ 'pgbench', '-n', '-c', '4', '-j', '2', '-t', '40', '-f', "$dir/prepare.sql", '-f', "$dir/refresh.sql", '-d', 'postgres' ],
	'prepared transactions and refreshes');

cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM entry'), '>', 100, 'there are rows');
foreach my $projection (qw(insert_seq insert_at merge_seq merge_at delete_insert_seq delete_insert_at))
{
	my $kinds = $node->safe_psql('postgres', qq{SELECT count(*) FROM merge_engine.projection_refreshes WHERE projection = '$projection'::regclass AND kind = 'incremental'});
	cmp_ok($kinds, '>', 0, "$projection: $kinds incremental refreshes");
	$node->safe_psql('postgres', "SELECT merge_engine.refresh_projection('$projection')");
	is($node->safe_psql('postgres', "SELECT problem, count(*) FROM merge_engine.check_projection('$projection') GROUP BY 1"), '', "$projection equals its view");
}

$node->stop;
done_testing();
