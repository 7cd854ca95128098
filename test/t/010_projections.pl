# Projections outlive a dump and restore, and a crash between any two phases of a refresh.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
$node->safe_psql('postgres', 'CREATE DATABASE source');

$node->safe_psql('source', <<'SQL');
CREATE EXTENSION merge_engine;
CREATE SCHEMA "Shop";
CREATE SEQUENCE "Shop".seq;
CREATE TABLE "Shop"."Order" (id integer PRIMARY KEY, "Customer" text, status text,
	seq bigint NOT NULL DEFAULT nextval('"Shop".seq'), at timestamptz NOT NULL DEFAULT now());
CREATE VIEW "Shop"."View" AS SELECT id, "Customer", seq AS "Seq" FROM "Shop"."Order" WHERE status <> 'cancelled';
CREATE VIEW "Shop".times AS SELECT id, at FROM "Shop"."Order";
INSERT INTO "Shop"."Order" VALUES (1, 'ann', 'new'), (2, 'bob', 'new'), (3, 'ann', 'new');
SELECT merge_engine.create_projection('"Shop"."P insert"', '"Shop"."View"', 'insert', '{Seq}');
SELECT merge_engine.create_projection('"Shop"."P merge"', '"Shop"."View"', 'merge', '{Seq}', unique_key => '{id}');
SELECT merge_engine.create_projection('"Shop"."P delete"', '"Shop"."View"', 'delete_insert', '{Seq}',
	replace_key => '{Customer}', affected_keys => 'SELECT "Customer" FROM "Shop"."Order"');
SELECT merge_engine.create_projection('"Shop"."P times"', '"Shop".times', 'merge', '{at}', unique_key => '{id}');
SELECT merge_engine.create_projection('"Shop"."P new"', '"Shop"."View"', 'insert', '{Seq}');
SQL

my $all = q{unnest(ARRAY['"Shop"."P insert"', '"Shop"."P merge"', '"Shop"."P delete"', '"Shop"."P times"']::regclass[]) p};
my $refresh = qq{SELECT p, (merge_engine.refresh_projection(p)).kind FROM $all;};
my $state = q{SELECT projection, view, mode, unique_key, replace_key, field, source, watermark, current_maximum
	FROM merge_engine.projections ORDER BY projection::text, field;
	SELECT refresh_id, projection, kind, watermarks_after, status FROM merge_engine.projection_refreshes ORDER BY 1;};
my $rows = join '', map { qq{SELECT '$_', t.* FROM "Shop"."P $_" t ORDER BY 2;} } qw(insert merge delete times new);

$node->safe_psql('source', $refresh);
$node->safe_psql('source', q{UPDATE "Shop"."Order" SET status = 'paid', seq = nextval('"Shop".seq') WHERE id = 2});
$node->safe_psql('source', $refresh);
my $before = $node->safe_psql('source', $state . $rows);

# Restore, and go on where the source was.
my $dir = PostgreSQL::Test::Utils::tempdir();
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'source' ], 'plain dump');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'source' ], 'custom dump');
$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(plain parallel);
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-f', "$dir/plain.sql", 'plain' ], 'restore plain');
$node->command_ok([ 'pg_restore', '-j', '2', '-d', 'parallel', "$dir/custom" ], 'restore in parallel');
foreach my $db (qw(plain parallel))
{
	is($node->safe_psql($db, $state . $rows), $before, "$db: projections, watermarks, history and rows");
	$node->safe_psql($db, q{INSERT INTO "Shop"."Order" VALUES (4, 'cid', 'new');
		UPDATE "Shop"."Order" SET status = 'cancelled', seq = nextval('"Shop".seq') WHERE id = 1});
	is($node->safe_psql($db, $refresh), <<'OUT' =~ s/\n$//r, "$db: the next refresh is incremental");
"Shop"."P insert"|incremental
"Shop"."P merge"|incremental
"Shop"."P delete"|incremental
"Shop"."P times"|incremental
OUT
	is($node->safe_psql($db, q{SELECT problem, key FROM merge_engine.check_projection('"Shop"."P delete"')}), '', "$db: delete_insert equals the view");
	is($node->safe_psql($db, q{SELECT problem, key FROM merge_engine.check_projection('"Shop"."P times"')}), '', "$db: merge by time equals the view");
	is($node->safe_psql($db, q{SELECT count(*) FROM "Shop"."P insert"}), '5', "$db: insert has appended one row");
	cmp_ok($node->safe_psql($db, 'SELECT max(refresh_id) FROM merge_engine.projection_refreshes'), '>', 8, "$db: the history goes on");

	# pg_depend knows nothing of projections: the event trigger does
	my ($ret, $out, $err) = $node->psql($db, 'DROP VIEW "Shop"."View"');
	like($err, qr/cannot drop view "Shop"\."View" because projection "Shop"\."P/, "$db: the view of a projection stays");
	$node->safe_psql($db, 'DROP TABLE "Shop"."P insert"');
	is($node->safe_psql($db, q{SELECT count(*) FROM merge_engine.projection_definition}), '4', "$db: dropping the table forgets the projection");
	$node->safe_psql($db, 'DROP SCHEMA "Shop" CASCADE');
	is($node->safe_psql($db, q{SELECT count(*) FROM merge_engine.projection_history}), '0', "$db: dropping the schema forgets all");
	$node->safe_psql($db, 'DROP EXTENSION merge_engine CASCADE');
}

# Crash while a refresh is in a phase: an advisory lock, taken by a trigger, holds it there.
$node->safe_psql('source', <<'SQL');
CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_advisory_xact_lock(1);
	RETURN NULL;
END $$;
SQL
foreach my $phase ([ 'insert', 'INSERT' ], [ 'merge', 'INSERT' ], [ 'delete', 'DELETE' ], [ 'delete', 'INSERT' ])
{
	foreach my $when (qw(BEFORE AFTER))
	{
		my ($name, $event) = @$phase;
		my $table = qq{"Shop"."P $name"};
		my $label = "crash $when $event on $name";
		$node->safe_psql('source', qq{CREATE TRIGGER hold $when $event ON $table FOR EACH STATEMENT EXECUTE FUNCTION public.hold();
			UPDATE "Shop"."Order" SET seq = nextval('"Shop".seq') WHERE id = 3});
		my $was = $node->safe_psql('source', $state . $rows);
		my ($out, $err) = ('', '');
		my @psql = ('psql', '-XAtq', '-d', $node->connstr('source'));
		my $holder = IPC::Run::start([ @psql, '-c', 'SELECT pg_advisory_lock(1)', '-c', 'SELECT pg_sleep(600)' ], '<', \undef, '>', \$out, '2>', \$err);
		$node->poll_query_until('source', q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted)});
		my $refresher = IPC::Run::start([ @psql, '-c', "SELECT merge_engine.refresh_projection('$table')" ], '<', \undef, '>', \$out, '2>', \$err);
		ok($node->poll_query_until('source', q{SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)}), "$label: the refresh is there");
		$node->stop('immediate');
		$_->finish foreach ($holder, $refresher);
		$node->start;
		is($node->safe_psql('source', $state . $rows), $was, "$label: all is as before");
		$node->safe_psql('source', qq{DROP TRIGGER hold ON $table; SELECT merge_engine.refresh_projection('$table')});
		is($node->safe_psql('source', qq{SELECT watermark = current_maximum FROM merge_engine.projections WHERE projection = '$table'::regclass}), 't', "$label: the next refresh does it");
	}
}

$node->stop;
done_testing();
