# A merge table as the subscriber of three publishers: each knows some columns
# of a customer, the table assembles the record.  And what decoding shows of
# merged rows replays to the same rows elsewhere.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sources = PostgreSQL::Test::Cluster->new('sources');
$sources->init(allows_streaming => 'logical');
$sources->start;
my $hub = PostgreSQL::Test::Cluster->new('hub');
$hub->init(allows_streaming => 'logical');
$hub->append_conf('postgresql.conf', 'max_logical_replication_workers = 12');
$hub->start;

my %columns = (crm => 'name, email, crm_at', billing => 'balance, billing_at', loyalty => 'points');
foreach my $source (sort keys %columns)
{
	my $at = $source eq 'loyalty' ? '' : ", ${source}_at bigint";
	my $own = { crm => 'name text, email text', billing => 'balance numeric', loyalty => 'points int' }->{$source};
	# a customer that one source forgets is still known to the others
	my $publish = $source eq 'crm' ? '' : q{WITH (publish = 'insert, update')};
	$sources->safe_psql('postgres', "CREATE DATABASE $source");
	$sources->safe_psql($source, "CREATE TABLE customer (id int PRIMARY KEY, $own$at); CREATE PUBLICATION $source FOR TABLE customer $publish");
}
$hub->safe_psql(
	'postgres', q{
	CREATE EXTENSION merge_engine;
	CREATE TABLE customer (id int PRIMARY KEY, name text, email text, crm_at bigint,
		balance numeric, billing_at bigint, points int)
	USING merge_engine WITH (merge_engine = 'partial-update',
		"fields.crm_at.sequence-group" = 'name,email', "fields.billing_at.sequence-group" = 'balance')});

# some rows before, for the initial copies; the rest by three sources at once
$sources->safe_psql('crm', q{INSERT INTO customer VALUES (1, 'ada', 'ada@example.com', 10), (2, 'sean', NULL, 10)});
$sources->safe_psql('billing', q{INSERT INTO customer VALUES (1, 99.50, 7)});
foreach my $source (sort keys %columns)
{
	my $connection = $sources->connstr($source) =~ s/'/''/gr;
	$hub->safe_psql('postgres', "CREATE SUBSCRIPTION $source CONNECTION '$connection' PUBLICATION $source");
}
$hub->wait_for_subscription_sync;
sub wait_for_hub
{
	foreach my $source (sort keys %columns)
	{
		my $lsn = $sources->safe_psql($source, 'SELECT pg_current_wal_lsn()');
		$sources->poll_query_until('postgres', "SELECT replay_lsn >= '$lsn' FROM pg_stat_replication WHERE application_name = '$source'")
		  or die "$source did not catch up";
	}
	return;
}
sub customer_is
{
	my ($id, $expected, $name) = @_;
	wait_for_hub();
	is($hub->safe_psql('postgres', "SELECT * FROM customer WHERE id = $id"), $expected, $name);
	return;
}
customer_is(1, '1|ada|ada@example.com|10|99.50|7|', 'initial copies');
customer_is(2, '2|sean||10|||', 'initial copies: one source alone');

$sources->safe_psql('loyalty', 'INSERT INTO customer VALUES (1, 500), (2, 20)');
$sources->safe_psql('billing', 'INSERT INTO customer VALUES (2, 0, 3)');
customer_is(1, '1|ada|ada@example.com|10|99.50|7|500', 'INSERT of a third source');
customer_is(2, '2|sean||10|0|3|20', 'INSERT of the others');

# UPDATE upstream is an UPDATE by hand here: of the source's columns only, without
# regard to order, and NULL is a value.
$sources->safe_psql('crm', q{UPDATE customer SET name = 'ada lovelace', email = NULL, crm_at = 9 WHERE id = 1});
customer_is(1, '1|ada lovelace||9|99.50|7|500', 'UPDATE changes the columns of its source');

# a source that does not publish DELETE forgets without a trace, and starts anew
$sources->safe_psql('billing', 'DELETE FROM customer WHERE id = 1; INSERT INTO customer VALUES (1, 1, 6)');
customer_is(1, '1|ada lovelace||9|99.50|7|500', 'INSERT again, late in its group');
$sources->safe_psql('billing', 'DELETE FROM customer WHERE id = 1; INSERT INTO customer VALUES (1, 5, 8)');
customer_is(1, '1|ada lovelace||9|5|8|500', 'INSERT again, newer');

# one that publishes it removes the whole record, and an UPDATE finds no row then
$sources->safe_psql('crm', 'DELETE FROM customer WHERE id = 1');
customer_is(1, '', 'DELETE removes the whole record');
$sources->safe_psql('loyalty', 'UPDATE customer SET points = 501 WHERE id = 1');
customer_is(1, '', 'UPDATE of a removed record is passed over');
$sources->safe_psql('crm', q{INSERT INTO customer VALUES (1, 'ada', 'new', 1)});
customer_is(1, '1|ada|new|1|||', 'INSERT starts it again');

# Three apply workers at the same new keys.
$sources->safe_psql('crm', q{INSERT INTO customer SELECT i, 'n' || i, 'e' || i, 1 FROM generate_series(100, 599) AS i});
$sources->safe_psql('loyalty', 'INSERT INTO customer SELECT i, i FROM generate_series(100, 599) AS i');
$sources->safe_psql('billing', 'DO $$ BEGIN FOR i IN REVERSE 599..100 LOOP INSERT INTO customer VALUES (i, i, 1); COMMIT; END LOOP; END $$');
wait_for_hub();
is( $hub->safe_psql('postgres', q{SELECT count(*), count(*) FILTER (WHERE (name, email, crm_at, balance, billing_at, points)
		= ('n' || id, 'e' || id, 1, id, 1, id)) FROM customer WHERE id >= 100}),
	'500|500', 'three sources at once');
is($hub->safe_psql('postgres', 'SELECT sum(apply_error_count + sync_error_count) FROM pg_stat_subscription_stats'),
	'0', 'no apply error');

# What decoding shows: inserts, updates and deletes of whole rows.
$hub->safe_psql(
	'postgres', q{
	CREATE TABLE changes (id int PRIMARY KEY, kind text, v int, n int)
	USING merge_engine WITH (merge_engine = 'deduplicate', rowkind.field = 'kind', sequence.field = 'v');
	SELECT pg_create_logical_replication_slot('decoded', 'test_decoding');
	INSERT INTO changes VALUES (1, '+I', 1, 10), (2, '+I', 1, 20), (1, '+U', 2, 11);
	INSERT INTO changes VALUES (1, '+U', 3, 12), (2, '+U', 0, 21), (3, '+I', 1, 30);
	INSERT INTO changes VALUES (2, '-D', 5, NULL), (9, '-D', 1, NULL);
	BEGIN; INSERT INTO changes VALUES (1, '+U', 9, 99); ROLLBACK;
	INSERT INTO changes VALUES (3, '+U', 2, 31) RETURNING *});
is( $hub->safe_psql('postgres', q{SELECT data FROM pg_logical_slot_get_changes('decoded', NULL, NULL, 'include-xids', '0', 'skip-empty-xacts', '1')
		WHERE data LIKE 'table public.changes%'}),
	q{table public.changes: INSERT: id[integer]:1 kind[text]:'+U' v[integer]:2 n[integer]:11
table public.changes: INSERT: id[integer]:2 kind[text]:'+I' v[integer]:1 n[integer]:20
table public.changes: UPDATE: id[integer]:1 kind[text]:'+U' v[integer]:3 n[integer]:12
table public.changes: INSERT: id[integer]:3 kind[text]:'+I' v[integer]:1 n[integer]:30
table public.changes: DELETE: id[integer]:2
table public.changes: UPDATE: id[integer]:3 kind[text]:'+U' v[integer]:2 n[integer]:31},
	'test_decoding');

# The same by pgoutput, into a plain table, with writers that race for new keys.
$sources->safe_psql('postgres', 'CREATE TABLE changes (id int PRIMARY KEY, kind text, v int, n int)');
$hub->safe_psql('postgres', 'CREATE PUBLICATION onward FOR TABLE changes');
my $connection = $hub->connstr('postgres') =~ s/'/''/gr;
$sources->safe_psql('postgres', "CREATE SUBSCRIPTION onward CONNECTION '$connection' PUBLICATION onward");
$sources->wait_for_subscription_sync($hub, 'onward');
$hub->pgbench(
	'--no-vacuum --client=6 --transactions=60', 0, [qr{actually processed}], [qr{^$}],
	'writers that race for keys',
	{
		'changes' => q{
		\set v random(1, 1000000)
		INSERT INTO changes SELECT 100 + random() * 40, CASE WHEN random() < 0.2 THEN '-D' ELSE '+U' END, :v + i, i FROM generate_series(1, 20) AS i;
	}
	});
$hub->wait_for_catchup('onward');
is( $sources->safe_psql('postgres', 'SELECT * FROM changes ORDER BY id'),
	$hub->safe_psql('postgres', 'SELECT * FROM changes ORDER BY id'),
	'a plain subscriber has the same rows');

$sources->stop;
$hub->stop;
done_testing();
