# A subscription into a merge table: the initial copy and the apply worker
# merge as INSERT does.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
$publisher->init(allows_streaming => 'logical');
$publisher->start;
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->start;
$subscriber->safe_psql('postgres', 'CREATE EXTENSION merge_engine');

# The publisher keeps every message; the subscriber merges them.
$publisher->safe_psql(
	'postgres', q{
	CREATE TABLE wide (order_id bigint, status text, amount numeric(18,2), tracking_no text, version bigint);
	INSERT INTO wide VALUES (1001, 'CREATED', 100, NULL, 1), (1001, 'PAID', 80, NULL, 3), (1002, 'CREATED', 1, NULL, 1);
	CREATE TABLE totals (id int, kind text, amount int);
	INSERT INTO totals VALUES (1, '+I', 10), (1, '-U', 10), (1, '+U', 15);
	CREATE TABLE mirror (id int PRIMARY KEY, version int, note text);
	INSERT INTO mirror VALUES (1, 1, 'one'), (2, 1, 'two');
	CREATE TABLE names (id int, name text, email text, rank int);
	INSERT INTO names VALUES (1, 'ada', 'not published', 0);
	CREATE PUBLICATION feed FOR TABLE wide, totals, mirror, names (id, name)});
$subscriber->safe_psql(
	'postgres', q{
	CREATE TABLE wide (order_id bigint PRIMARY KEY, status text, amount numeric(18,2), tracking_no text, version bigint)
	USING merge_engine WITH (merge_engine = 'partial-update', sequence.field = 'version');
	CREATE TABLE totals (id int PRIMARY KEY, kind text, amount int)
	USING merge_engine WITH (merge_engine = 'aggregation', rowkind.field = 'kind', "fields.amount.aggregate-function" = 'sum');
	CREATE TABLE mirror (id int PRIMARY KEY, version int, note text)
	USING merge_engine WITH (merge_engine = 'deduplicate', sequence.field = 'version');
	CREATE INDEX ON mirror (note);
	CREATE TABLE names (id int PRIMARY KEY, name text, email text, rank int DEFAULT 1)
	USING merge_engine WITH (merge_engine = 'partial-update');
	INSERT INTO names VALUES (1, NULL, 'ada@example.com', 9)});
my $connection = $publisher->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION feed CONNECTION '$connection' PUBLICATION feed");
$subscriber->wait_for_subscription_sync($publisher, 'feed');

sub table_is
{
	my ($table, $expected, $name) = @_;
	is($subscriber->safe_psql('postgres', "SELECT * FROM $table ORDER BY 1"), $expected, "$name: $table");
	return;
}
table_is('wide', "1001|PAID|80.00||3\n1002|CREATED|1.00||1", 'initial copy');
table_is('totals', '1|+U|15', 'initial copy');
table_is('mirror', "1|1|one\n2|1|two", 'initial copy');
table_is('names', '1|ada|ada@example.com|9', 'initial copy of some columns');

$publisher->safe_psql(
	'postgres', q{
	INSERT INTO wide VALUES (1001, NULL, NULL, 'SF001', 4), (1001, 'CANCELLED', 100, NULL, 2);
	INSERT INTO wide VALUES (1003, 'CREATED', 3, NULL, 1);
	INSERT INTO totals VALUES (1, '-U', 15), (1, '+U', 7), (2, '+I', 1);
	INSERT INTO mirror VALUES (3, 1, 'three');
	INSERT INTO names VALUES (1, 'ada lovelace', NULL, 0), (2, 'sean', NULL, 0)});
$publisher->wait_for_catchup('feed');
table_is('wide', "1001|PAID|80.00|SF001|4\n1002|CREATED|1.00||1\n1003|CREATED|3.00||1", 'apply');
table_is('totals', "1|+U|7\n2|+I|1", 'apply');
table_is('mirror', "1|1|one\n2|1|two\n3|1|three", 'apply');
# The apply worker fills in the DEFAULT of a column that is not published and
# does not say so; without one the column is NULL, and so absent.
table_is('names', "1|ada lovelace|ada\@example.com|1\n2|sean||1", 'apply of some columns');

# UPDATE and DELETE are PostgreSQL's own.
$publisher->safe_psql(
	'postgres', q{
	UPDATE mirror SET note = 'two again', version = 0 WHERE id = 2;
	DELETE FROM mirror WHERE id = 1});
$publisher->wait_for_catchup('feed');
table_is('mirror', "2|0|two again\n3|1|three", 'UPDATE and DELETE');

# A row that is there already is no conflict.
$subscriber->safe_psql('postgres', q{INSERT INTO mirror VALUES (4, 9, 'newer here'), (5, 1, 'older here')});
$publisher->safe_psql('postgres', q{INSERT INTO mirror VALUES (4, 8, 'older'), (5, 2, 'newer')});
$publisher->wait_for_catchup('feed');
table_is('mirror', "2|0|two again\n3|1|three\n4|9|newer here\n5|2|newer", 'rows on both sides');

# The merge table's own changes go on to another subscriber as rows.
$subscriber->safe_psql('postgres', 'CREATE PUBLICATION onward FOR TABLE mirror');
my $third = PostgreSQL::Test::Cluster->new('third');
$third->init;
$third->start;
$third->safe_psql('postgres', 'CREATE TABLE mirror (id int PRIMARY KEY, version int, note text)');
$connection = $subscriber->connstr . ' dbname=postgres';
$third->safe_psql('postgres', "CREATE SUBSCRIPTION onward CONNECTION '$connection' PUBLICATION onward");
$third->wait_for_subscription_sync($subscriber, 'onward');
$subscriber->safe_psql('postgres',
	q{INSERT INTO mirror VALUES (5, 3, 'a'), (5, 5, 'c'), (5, 4, 'b'), (6, 1, 'new'), (6, 2, 'newer')});
$subscriber->wait_for_catchup('onward');
is( $third->safe_psql('postgres', 'SELECT * FROM mirror ORDER BY 1'),
	$subscriber->safe_psql('postgres', 'SELECT * FROM mirror ORDER BY 1'),
	'a plain table follows a merge table');

# Tombstones that come, move and go can be decoded, and only what stays is seen.
my $options = q{'sequence.field=version', 'rowkind.field=op', 'tombstones=true'};
my %doors = (
	'a merge table' => q{CREATE TABLE kept (id int PRIMARY KEY, op text, version int)
		USING merge_engine WITH (sequence.field = 'version', rowkind.field = 'op', tombstones);},
	'a merge trigger' => qq{CREATE TABLE kept (id int PRIMARY KEY, op text, version int);
		CREATE TRIGGER merge BEFORE INSERT ON kept FOR EACH ROW EXECUTE FUNCTION merge_engine.merge_trigger($options);});
for my $door (sort keys %doors)
{
	$subscriber->safe_psql('postgres',
		"$doors{$door} SELECT pg_create_logical_replication_slot('kept', 'test_decoding')");
	$subscriber->safe_psql('postgres', "INSERT INTO kept VALUES (1, '$_->[0]', $_->[1])")
	  for ['-D', 5], ['-D', 7], ['+I', 6], ['+I', 9], ['+I', 8], ['-D', 9];
	is( $subscriber->safe_psql('postgres', q{
		SELECT substring(data FROM '^table (\S+ [A-Z]+)') FROM pg_logical_slot_get_changes('kept', NULL, NULL)
		WHERE data LIKE 'table%'}),
		join("\n",
			'merge_engine.tombstones: INSERT', 'merge_engine.tombstones: UPDATE',
			'merge_engine.tombstones: DELETE', 'public.kept: INSERT',
			'public.kept: DELETE', 'merge_engine.tombstones: INSERT'),
		"tombstones of $door are decoded");
	$subscriber->safe_psql('postgres', q{DROP TABLE kept; SELECT pg_drop_replication_slot('kept')});
}

$third->stop;
$subscriber->stop;
$publisher->stop;
done_testing();
