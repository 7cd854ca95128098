/*
 * ddl.h
 *	  DDL on merge tables: what a running command has to do with our options.
 *
 * ddl.c finds the commands, ddl_start.c takes our options out of the parse
 * tree, ddl_end.c puts them into the catalog.
 */
#ifndef DDL_H
#define DDL_H

#include "postgres.h"

#include "nodes/nodes.h"
#include "nodes/pg_list.h"

/* One SET or RESET of an option. */
typedef struct DdlChange
{
	int			command;		/* which SET or RESET it stands in */
	bool		reset;
	char	   *name;			/* canonical */
	char	   *value;			/* as given; NULL for RESET */
} DdlChange;

/* A table whose options, or access method, a command names. */
typedef struct DdlTable
{
	bool		create;
	char	   *name;			/* as in the statement */
	Oid			relid;			/* altered: the table */
	bool		named_am;		/* the statement names our access method */
	bool		changes_am;		/* altered: it names an access method */
	List	   *changes;		/* of DdlChange * */
	List	   *layout;			/* of char *: Paimon's options without effect */
	List	   *stored;			/* altered: of MergeOption *, before */
	bool		stripped;		/* altered: they are out of the catalog now */
} DdlTable;

/* A column that a command has renamed or dropped. */
typedef struct DdlColumn
{
	Oid			relid;
	char	   *old_name;
	char	   *new_name;		/* NULL: dropped */
} DdlColumn;

/* An object that a command has created or altered. */
typedef struct DdlObject
{
	Oid			class_id;		/* pg_class or pg_constraint */
	Oid			object_id;
} DdlObject;

/* A running command. */
typedef struct DdlCommand
{
	struct DdlCommand *outer;	/* the command that this one runs inside */
	MemoryContext context;		/* holds all of it */
	Node	   *parsetree;		/* identifies it */
	int			nest_level;		/* of the transaction that it runs in */
	List	   *tables;			/* of DdlTable * */
	List	   *created;		/* of Oid: relations */
	List	   *altered;		/* of DdlObject *: check their tables again */
	List	   *retyped;		/* OIDs of tables whose columns may change their
								 * types: their functions are recorded again */
	List	   *columns;		/* of DdlColumn *, in order */
	List	   *invalid;		/* of Oid: their options had lost their meaning
								 * before */
} DdlCommand;

/* ddl.c */

/* ddl_init
 *		Installs the hooks; call once when the module loads.
 */
extern void ddl_init(void);

/* ddl_access_method
 *		Our access method's OID, or InvalidOid where the extension is not
 *		installed.
 */
extern Oid	ddl_access_method(void);

#define DDL_ACCESS_METHOD_NAME "merge_engine"

/* ddl_start.c */
extern void ddl_start_command(DdlCommand *command);

/* ddl_end.c */
extern void ddl_end_command(DdlCommand *command);
extern void ddl_write_options(Oid relid, List *others, List *options);

#endif							/* DDL_H */
