--
-- The tables of the random history test: engines and their options.
--

-- deduplicate
SELECT model.define('deduplicate', 'deduplicate', 'a int; b text');
SELECT model.define('deduplicate, names and defaults', 'deduplicate',
	'a int default=5; b text default=new; c bool', partial_names => true);
SELECT model.define('deduplicate, sequence', 'deduplicate', 's int; a int; b text', sequence => '{s}');
SELECT model.define('deduplicate, sequence, names', 'deduplicate',
	'a int default=5; s int; b text', sequence => '{s}', partial_names => true);
SELECT model.define('deduplicate, two sequence fields', 'deduplicate',
	's2 int; a int; s1 int; b text', sequence => '{s1,s2}');
SELECT model.define('deduplicate, descending', 'deduplicate',
	's2 int; a int; s1 int; b text', sequence => '{s1,s2}', descending => true);
SELECT model.define('deduplicate, row kinds', 'deduplicate', 'a int; op text; b text', rowkind => 'op');
SELECT model.define('deduplicate, row kinds, sequence', 'deduplicate',
	'a int; op text; s int; b text', rowkind => 'op', sequence => '{s}');
SELECT model.define('deduplicate, ignore-delete', 'deduplicate',
	'a int; op text; s int; b text', rowkind => 'op', sequence => '{s}', ignore_delete => true);
SELECT model.define('deduplicate, ignore-update-before', 'deduplicate',
	'a int; op text; s int', rowkind => 'op', sequence => '{s}', ignore_update_before => true);

-- first-row
SELECT model.define('first-row', 'first-row', 'a int; b text');
SELECT model.define('first-row, names and defaults', 'first-row',
	'a int default=5; b text default=new; c bool', partial_names => true);
SELECT model.define('first-row, row kinds', 'first-row', 'a int; op text; b text', rowkind => 'op');

-- partial-update
SELECT model.define('partial-update', 'partial-update', 'a int; b text; c bool; d numeric');
SELECT model.define('partial-update, names and defaults', 'partial-update',
	'a int default=5; b text default=new; c bool; d int', partial_names => true);
SELECT model.define('partial-update, sequence', 'partial-update',
	'a int; b text; s int; c bool; d numeric', sequence => '{s}');
SELECT model.define('partial-update, two sequence fields', 'partial-update',
	'a int; s1 int; b text; s2 int; c bool', sequence => '{s1,s2}');
SELECT model.define('partial-update, descending', 'partial-update',
	'a int; s1 int; b text; s2 int; c bool', sequence => '{s1,s2}', descending => true);
SELECT model.define('partial-update, sequence, names and defaults', 'partial-update',
	'a int default=5; s int; b text default=new; c bool', sequence => '{s}', partial_names => true);
SELECT model.define('partial-update, last_non_null_value', 'partial-update',
	'a int last_non_null_value; s int; b text', sequence => '{s}');
SELECT model.define('partial-update, ignore-delete', 'partial-update',
	'a int; op text; s int; b text', sequence => '{s}', rowkind => 'op', ignore_delete => true);
SELECT model.define('partial-update, remove-record-on-delete', 'partial-update',
	'a int; op text; b text; c bool', rowkind => 'op', remove_on_delete => true);
SELECT model.define('partial-update, remove-record-on-delete, sequence', 'partial-update',
	'a int; op text; b text; s int; c bool', rowkind => 'op', remove_on_delete => true,
	sequence => '{s}');
SELECT model.define('partial-update, remove-record-on-delete, descending', 'partial-update',
	'a int; op text; b text; s int; c bool', rowkind => 'op', remove_on_delete => true,
	sequence => '{s}', descending => true);
SELECT model.define('partial-update, remove-record-on-delete, names', 'partial-update',
	'a int default=7; op text; b text; s int; c bool', rowkind => 'op', remove_on_delete => true,
	sequence => '{s}', partial_names => true);

-- partial-update with sequence groups
SELECT model.define('groups', 'partial-update',
	'a int group=1; g int; b text group=1; c int group=2; h int; free text', groups => '{g,h}');
SELECT model.define('groups of two fields', 'partial-update',
	'a int group=1; g2 int; b text group=1; c int group=2; h int; g1 int; free text',
	groups => '{"g1,g2",h}');
SELECT model.define('groups, names and defaults', 'partial-update',
	'a int group=1 default=3; g int; b text group=1; c int group=2; h2 int; h1 int; free text default=new',
	groups => '{g,"h1,h2"}', partial_names => true);
SELECT model.define('groups and a sequence field', 'partial-update',
	'a int group=1; g int; b text group=1; s int; free text; more int', groups => '{g}',
	sequence => '{s}');
SELECT model.define('groups, functions', 'partial-update',
	'a int group=1 sum; g int; b text group=1 listagg; c int group=1 max; d text group=1 first_value; '
	'e text group=1 last_value; f int group=1 last_non_null_value; i int group=1; free text',
	groups => '{g}');
SELECT model.define('groups of two fields, functions', 'partial-update',
	'a int group=1 product; g2 int; b text group=1 listagg distinct; c text group=1 min; '
	'd text group=1 first_non_null_value; g1 int; e bool group=2 bool_or; f bool group=2 bool_and; '
	'h int; i int group=2 count; j text group=2', groups => '{"g1,g2",h}');
SELECT model.define('groups, default function', 'partial-update',
	'a int group=1 sum; g int; b text group=1; c int group=2; h int; free int', groups => '{g,h}',
	default_function => 'last_non_null_value');
SELECT model.define('groups, row kinds', 'partial-update',
	'a int group=1; op text; g int; b text group=1; c int group=2; h2 int; h1 int; free text',
	groups => '{g,"h1,h2"}', rowkind => 'op');
SELECT model.define('groups, row kinds, names', 'partial-update',
	'a int group=1; op text; g int; b text group=1; c int group=2 sum; h2 int; h1 int; free text',
	groups => '{g,"h1,h2"}', rowkind => 'op', partial_names => true);
SELECT model.define('groups, row kinds, functions', 'partial-update',
	'a int group=1 sum; op text; g int; b text group=1 last_value; c int group=1 last_non_null_value; '
	'd int group=1 product; e int group=1; f int group=2 max ignore-retract; h int; '
	'i text group=2 listagg ignore-retract; free text',
	groups => '{g,h}', rowkind => 'op');
SELECT model.define('groups, ignore-delete', 'partial-update',
	'a int group=1; op text; g int; b text group=1; c int group=2; h int; free text',
	groups => '{g,h}', rowkind => 'op', ignore_delete => true);
SELECT model.define('groups, ignore-update-before', 'partial-update',
	'a int group=1; op text; g int; b text group=1; c int group=2 sum; h int; free text',
	groups => '{g,h}', rowkind => 'op', ignore_update_before => true);
SELECT model.define('groups, remove-record-on-sequence-group', 'partial-update',
	'a int group=1; op text; g int; b text group=1; c int group=2; h int; free text',
	groups => '{g!,h}', rowkind => 'op');
SELECT model.define('groups of two fields, remove-record-on-sequence-group', 'partial-update',
	'a int group=1 sum; op text; g2 int; b text group=1; g1 int; c int group=2; h int; free text',
	groups => '{"g1,g2!",h}', rowkind => 'op');

-- aggregation
SELECT model.define('aggregation', 'aggregation',
	'a int sum; b int product; c int max; d text min; e text last_value; f int last_non_null_value; '
	'g text first_value; h int first_non_null_value; i text listagg; j bool bool_or; m bool bool_and; '
	'n text; o numeric sum; p int count');
SELECT model.define('aggregation, sequence', 'aggregation',
	'a int sum; b int product; c int max; d text min; e text last_value; f int last_non_null_value; '
	'g text first_value; s int; h int first_non_null_value; i text listagg; j bool bool_or; '
	'm bool bool_and; n text; o numeric sum; p int count', sequence => '{s}');
SELECT model.define('aggregation, two sequence fields, descending', 'aggregation',
	'a int sum; s2 int; c numeric max; e text last_value; f int last_non_null_value; g text first_value; '
	's1 int; h int first_non_null_value; i text listagg', sequence => '{s1,s2}', descending => true);
SELECT model.define('aggregation, listagg options', 'aggregation',
	'i text listagg distinct; s int; j text listagg delimiter=/; m text listagg distinct delimiter=--',
	sequence => '{s}');
SELECT model.define('aggregation, names and defaults', 'aggregation',
	'a int sum default=1; b int max default=3; c text listagg default=z; d int default=9; '
	'e text last_value default=lv; f int first_non_null_value default=4; g int sum; h int count default=1',
	partial_names => true);
SELECT model.define('aggregation, sequence, names and defaults', 'aggregation',
	'a int sum default=1; b int max default=3; c text listagg default=z; s int; d int default=9; '
	'e text last_value default=lv; f int first_non_null_value default=4; g int sum', sequence => '{s}',
	partial_names => true);
SELECT model.define('aggregation, default function', 'aggregation',
	'a int; b text last_value; c int sum; d int; s int', sequence => '{s}',
	default_function => 'first_non_null_value');
SELECT model.define('aggregation, row kinds', 'aggregation',
	'a int sum; op text; b int product; c text last_value; d int last_non_null_value; e text; '
	'f int max ignore-retract; g text listagg ignore-retract; h int first_non_null_value ignore-retract; '
	'i int count', rowkind => 'op');
SELECT model.define('aggregation, row kinds, sequence', 'aggregation',
	'a int sum; op text; b int product; c text last_value; s int; d int last_non_null_value; e text; '
	'f int max ignore-retract; g text listagg ignore-retract; h int first_non_null_value ignore-retract; '
	'i int count', rowkind => 'op', sequence => '{s}');
SELECT model.define('aggregation, row kinds, names', 'aggregation',
	'a int sum; op text; b int product; c text last_value; s int; d int last_non_null_value; e text',
	rowkind => 'op', sequence => '{s}', partial_names => true);
SELECT model.define('aggregation, remove-record-on-delete', 'aggregation',
	'a int sum; op text; b text last_value; c text listagg ignore-retract; d int; '
	'e int first_non_null_value ignore-retract', rowkind => 'op', remove_on_delete => true);
SELECT model.define('aggregation, remove-record-on-delete, sequence', 'aggregation',
	'a int sum; op text; b text last_value; s int; c text listagg ignore-retract; d int; '
	'e int first_non_null_value ignore-retract', rowkind => 'op', remove_on_delete => true,
	sequence => '{s}');
SELECT model.define('aggregation, remove-record-on-delete, ignore-update-before', 'aggregation',
	'a int sum; op text; b text last_value; s int; c text listagg; d int max; e text first_value',
	rowkind => 'op', remove_on_delete => true, ignore_update_before => true, sequence => '{s}');
SELECT model.define('aggregation, ignore-delete', 'aggregation',
	'a int sum; op text; b int max; s int; c text listagg; d text first_value', rowkind => 'op',
	ignore_delete => true, sequence => '{s}');
SELECT model.define('aggregation, ignore-update-before', 'aggregation',
	'a int sum; op text; b int last_non_null_value; s int; c text last_value', rowkind => 'op',
	ignore_update_before => true, sequence => '{s}');

-- NULLs that clear
SELECT model.define('partial-update, explicit-null', 'partial-update',
	'a int; b text; s int; c bool', sequence => '{s}', explicit_null => true, partial_names => true);
SELECT model.define('partial-update, explicit-null, no sequence', 'partial-update',
	'a int; b text; c bool', explicit_null => true, partial_names => true);

-- a versions column
SELECT model.define('versions', 'partial-update',
	'a int; b text; s int; c bool; d numeric', sequence => '{s}', versions => true);
SELECT model.define('versions, two sequence fields, descending', 'partial-update',
	'a int; s1 int; b text; s2 int; c bool', sequence => '{s1,s2}', descending => true, versions => true);
SELECT model.define('versions, explicit-null, names', 'partial-update',
	'a int; b text; s int; c bool', sequence => '{s}', explicit_null => true, partial_names => true,
	versions => true);
SELECT model.define('versions, aggregation', 'aggregation',
	'a int sum; b int max; e text last_value; f int last_non_null_value; g text first_value; s int; '
	'h int first_non_null_value; n text; o numeric sum', sequence => '{s}', versions => true);

-- tombstones
SELECT model.define('tombstones, deduplicate', 'deduplicate',
	'a int; op text; s int; b text', rowkind => 'op', sequence => '{s}', tombstones => true);
SELECT model.define('tombstones, deduplicate, two sequence fields, descending', 'deduplicate',
	'a int; op text; s1 int; b text; s2 int', rowkind => 'op', sequence => '{s1,s2}', descending => true,
	tombstones => true);
SELECT model.define('tombstones, versions, partial-update', 'partial-update',
	'a int; op text; b text; s int; c bool', rowkind => 'op', remove_on_delete => true,
	sequence => '{s}', versions => true, tombstones => true);
SELECT model.define('tombstones, versions, explicit-null, names, partial-update', 'partial-update',
	'a int; op text; b text; s int; c bool', rowkind => 'op', remove_on_delete => true,
	sequence => '{s}', explicit_null => true, partial_names => true, versions => true,
	tombstones => true);
SELECT model.define('tombstones, versions, aggregation', 'aggregation',
	'a int; op text; b text last_value; s int', rowkind => 'op', remove_on_delete => true,
	ignore_update_before => true, sequence => '{s}', versions => true, tombstones => true);
