/*
 * option_names.c
 *	  Which options there are, and how their names may be spelled.
 *
 * The canonical names are Paimon's.  PostgreSQL's grammar cannot spell them
 * without quotes, so `_` is read as `-`, and the namespace of an option
 * (sequence.field) is part of its name.
 *
 * The grammar also cuts every name after 63 bytes.  A cut suffix is completed
 * as long as it is still unambiguous, so that a column of any length can have
 * options, and pg_dump's output, which is cut again, restores.
 */
#include "postgres.h"

#include "aggregator/aggregator.h"
#include "catalog/nearest_name.h"
#include "catalog/options.h"
#include "mb/pg_wchar.h"

#define FIELDS_PREFIX "fields."

/* Our options that belong to the table. */
static const char *const table_options[] = {
	"merge-engine",
	"sequence.field",
	"sequence.field.sort-order",
	"rowkind.field",
	"versions.field",
	"columns.field",
	"explicit-null",
	"tombstones",
	"tombstones.retention",
	"ignore-delete",
	"ignore-update-before",
	"partial-update.remove-record-on-delete",
	"partial-update.remove-record-on-sequence-group",
	"aggregation.remove-record-on-delete",
	"fields.default-aggregate-function",
	NULL
};

/* Other accepted spellings of ignore-delete. */
static const char *const ignore_delete_aliases[] = {
	"first-row.ignore-delete",
	"deduplicate.ignore-delete",
	"partial-update.ignore-delete",
	NULL
};

/* Our options that belong to a column, besides those of its function. */
static const char *const column_options[] = {
	"sequence-group",
	"aggregate-function",
	"ignore-retract",
	"explicit-null",
	NULL
};

/* Paimon's column options without effect here. */
static const char *const layout_column_options[] = {
	"stats-mode",
	NULL
};

/* Paimon's table options without effect here: storage, compaction, reading. */
static const char *const layout_options[] = {
	"async-file-write",
	"auto-create",
	"branch",
	"bucket",
	"bucket-append-ordered",
	"bucket-key",
	"cache-page-size",
	"changelog-producer",
	"connector",
	"consumer-id",
	"dynamic-partition-overwrite",
	"file-reader-async-threshold",
	"force-lookup",
	"incremental-between",
	"incremental-between-scan-mode",
	"incremental-between-timestamp",
	"incremental-to-auto-tag",
	"local-merge-buffer-size",
	"lookup-wait",
	"num-levels",
	"object-location",
	"page-size",
	"path",
	"precommit-compact",
	"sort-engine",
	"sort-spill-buffer-size",
	"sort-spill-threshold",
	"spill-compression",
	"streaming-read-append-overwrite",
	"streaming-read-mode",
	"streaming-read-overwrite",
	"target-file-size",
	"type",
	"write-buffer-for-append",
	"write-buffer-size",
	"write-buffer-spillable",
	"write-manifest-cache",
	"write-max-writers-to-spill",
	"write-only",
	NULL
};

/* And whole families of them. */
static const char *const layout_prefixes[] = {
	"avro.",
	"bucket-function.",
	"changelog-file.",
	"changelog-producer.",
	"changelog.",
	"clustering.",
	"commit.",
	"compaction.",
	"consumer.",
	"continuous.",
	"cross-partition-upsert.",
	"data-file.",
	"delete-file.",
	"delete.",
	"deletion-vector.",
	"deletion-vectors.",
	"dynamic-bucket.",
	"end-input.",
	"file-index.",
	"file.",
	"format-table.",
	"full-compaction.",
	"local-sort.",
	"log.",
	"lookup.",
	"manifest.",
	"metadata.",
	"metastore.",
	"num-sorted-run.",
	"orc.",
	"parquet.",
	"partition.",
	"read.",
	"record-level.",
	"row-tracking.",
	"scan.",
	"sink.",
	"snapshot.",
	"sort-compaction.",
	"source.",
	"spill-compression.",
	"streaming.",
	"tag.",
	"unaware-bucket.",
	"write-buffer-spill.",
	"write.",
	"zorder.",
	NULL
};

/* Heap's own options, for hints and to leave them alone. */
static const char *const storage_options[] = {
	"fillfactor",
	"toast_tuple_target",
	"parallel_workers",
	"user_catalog_table",
	"vacuum_index_cleanup",
	"vacuum_truncate",
	"log_autovacuum_min_duration",
	"oids",
	NULL
};

/* Does a name spell a canonical one?  `_` stands for `-`. */
static bool
name_spells(const char *name, const char *canonical)
{
	for (; *name && *canonical; name++, canonical++)
	{
		if (*name != *canonical && !(*name == '_' && *canonical == '-'))
			return false;
	}
	return *name == *canonical;
}

/* Does a name start with a canonical prefix? */
static bool
name_starts(const char *name, const char *prefix)
{
	for (; *prefix; name++, prefix++)
	{
		if (*name != *prefix && !(*name == '_' && *prefix == '-'))
			return false;
	}
	return true;
}

/* The canonical name in a list that a name spells, or NULL. */
static const char *
name_find(const char *name, const char *const *list)
{
	for (; *list; list++)
	{
		if (name_spells(name, *list))
			return *list;
	}
	return NULL;
}

/* Call visit with each known column option. */
static void
column_options_visit(void (*visit) (const char *name, void *arg), void *arg)
{
	const FieldAggregator *const *functions;
	int			count;

	for (int i = 0; column_options[i]; i++)
		visit(column_options[i], arg);
	for (int i = 0; layout_column_options[i]; i++)
		visit(layout_column_options[i], arg);

	functions = aggregator_all(&count);
	for (int i = 0; i < count; i++)
	{
		const char *const *option = functions[i]->options;

		for (; option && *option; option++)
			visit(*option, arg);
	}
}

/* A search for the one suffix that a cut one begins. */
typedef struct SuffixSearch
{
	const char *cut;
	const char *match;
	bool		ambiguous;
} SuffixSearch;

/* column_options_visit callback of suffix_find */
static void
suffix_visit(const char *name, void *arg)
{
	SuffixSearch *search = (SuffixSearch *) arg;

	/* is the cut suffix a beginning of this one? */
	for (int i = 0; search->cut[i]; i++)
	{
		char		c = search->cut[i];

		if (c != name[i] && !(c == '_' && name[i] == '-'))
			return;
	}
	if (search->match && strcmp(search->match, name) != 0)
		search->ambiguous = true;
	search->match = name;
}

/* The canonical column option that a suffix spells, or NULL. */
static const char *
suffix_find(const char *suffix, bool cut)
{
	const char *found;
	char	   *dashed;

	found = name_find(suffix, column_options);
	if (!found)
		found = name_find(suffix, layout_column_options);
	if (found)
		return found;

	dashed = pstrdup(suffix);
	for (char *c = dashed; *c; c++)
	{
		if (*c == '_')
			*c = '-';
	}
	if (aggregator_is_option(dashed))
		return dashed;

	if (cut && suffix[0] != '\0')
	{
		SuffixSearch search = {suffix, NULL, false};

		column_options_visit(suffix_visit, &search);
		if (search.match && !search.ambiguous)
			return search.match;
	}
	return NULL;
}

/* Classify fields.<columns>.<suffix>. */
static OptionKind
field_option_kind(const char *name, char **canonical)
{
	const char *start = name + strlen(FIELDS_PREFIX);
	const char *dot = strrchr(start, '.');
	bool		cut = strlen(name) >= NAMEDATALEN - MAX_MULTIBYTE_CHAR_LEN;
	const char *suffix;
	char	   *part;
	List	   *columns;

	if (dot == NULL || dot == start)
		return OPTION_UNKNOWN;
	suffix = suffix_find(dot + 1, cut);
	if (suffix == NULL)
		return OPTION_UNKNOWN;

	part = pnstrdup(start, dot - start);
	columns = column_list_parse(part);
	if (columns != NIL)
		part = column_list_format(columns);
	*canonical = psprintf(FIELDS_PREFIX "%s.%s", part, suffix);
	return name_find(suffix, layout_column_options) ? OPTION_LAYOUT : OPTION_MERGE;
}

/* Whose option a name is. */
OptionKind
option_kind(const char *name, char **canonical)
{
	const char *found;

	*canonical = NULL;
	found = name_find(name, table_options);
	if (!found && name_find(name, ignore_delete_aliases))
		found = "ignore-delete";
	if (found)
	{
		*canonical = pstrdup(found);
		return OPTION_MERGE;
	}
	if (strncmp(name, FIELDS_PREFIX, strlen(FIELDS_PREFIX)) == 0)
		return field_option_kind(name, canonical);

	for (int i = 0; storage_options[i]; i++)
	{
		if (strcmp(name, storage_options[i]) == 0)
			return OPTION_STORAGE;
	}
	if (strncmp(name, "autovacuum_", strlen("autovacuum_")) == 0 ||
		strncmp(name, "toast.", strlen("toast.")) == 0)
		return OPTION_STORAGE;

	found = name_find(name, layout_options);
	if (found)
	{
		*canonical = pstrdup(found);
		return OPTION_LAYOUT;
	}
	for (int i = 0; layout_prefixes[i]; i++)
	{
		if (name_starts(name, layout_prefixes[i]) &&
			name[strlen(layout_prefixes[i])] != '\0')
		{
			*canonical = pstrdup(name);
			return OPTION_LAYOUT;
		}
	}
	return OPTION_UNKNOWN;
}

/* Whether a canonical name survives the grammar's cut. */
bool
option_name_fits(const char *canonical)
{
	int			length = strlen(canonical);
	char	   *cut;
	char	   *again;

	if (length < NAMEDATALEN)
		return true;
	cut = pnstrdup(canonical, pg_mbcliplen(canonical, length, NAMEDATALEN - 1));
	return option_kind(cut, &again) == OPTION_MERGE &&
		strcmp(again, canonical) == 0;
}

/* Split a canonical fields.<columns>.<suffix>. */
bool
option_field_parts(const char *name, char **columns, char **suffix)
{
	const char *start = name + strlen(FIELDS_PREFIX);
	const char *dot;

	if (strncmp(name, FIELDS_PREFIX, strlen(FIELDS_PREFIX)) != 0)
		return false;
	dot = strrchr(start, '.');
	if (dot == NULL)
		return false;
	*columns = pnstrdup(start, dot - start);
	*suffix = pstrdup(dot + 1);
	return true;
}

/* column_options_visit callback of option_unknown_error */
static void
offer_visit(const char *name, void *arg)
{
	nearest_name_offer((NearestName *) arg, name);
}

/* The nearest known name to an unknown option, or NULL. */
static const char *
option_nearest(const char *name)
{
	NearestName nearest;
	char	   *dashed = pstrdup(name);
	char	   *columns;
	char	   *suffix;

	if (option_field_parts(name, &columns, &suffix) && columns[0] != '\0')
	{
		nearest_name_start(&nearest, suffix);
		column_options_visit(offer_visit, &nearest);
		if (nearest.match)
			return psprintf(FIELDS_PREFIX "%s.%s", columns, nearest.match);
		return NULL;
	}

	for (char *c = dashed; *c; c++)
	{
		if (*c == '_')
			*c = '-';
	}
	nearest_name_start(&nearest, dashed);
	for (int i = 0; table_options[i]; i++)
		nearest_name_offer(&nearest, table_options[i]);
	for (int i = 0; layout_options[i]; i++)
		nearest_name_offer(&nearest, layout_options[i]);
	nearest.source = name;
	for (int i = 0; storage_options[i]; i++)
		nearest_name_offer(&nearest, storage_options[i]);
	return nearest.match;
}

/* Refuse an unknown option. */
void
option_unknown_error(const char *name)
{
	const char *nearest = option_nearest(name);
	char	   *columns;
	char	   *suffix;

	if (name_spells(name, "primary-key"))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is not supported", name),
				 errhint("Declare PRIMARY KEY among the columns of the table.")));
	if (name_spells(name, "partition"))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is not supported", name),
				 errhint("Use PARTITION BY and give each partition its options.")));
	if (option_field_parts(name, &columns, &suffix) &&
		name_spells(suffix, "default-value"))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is not supported", name),
				 errhint("Give the column a DEFAULT.")));

	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown option \"%s\"", name),
			 strlen(name) >= NAMEDATALEN - MAX_MULTIBYTE_CHAR_LEN ?
				 errdetail("PostgreSQL cuts an option name after %d bytes.",
						   NAMEDATALEN - 1) :
				 0,
			 nearest ? errhint("Perhaps you meant \"%s\".", nearest) :
					   errhint("docs/options.md lists every option.")));
}
