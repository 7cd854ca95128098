/*
 * compat_varlena.h
 *	  The macros of variable-length values, which have a header of their own
 *	  from PostgreSQL 16 on.  Apart from compat.h for those that know values
 *	  only.
 */
#ifndef COMPAT_VARLENA_H
#define COMPAT_VARLENA_H

#include "postgres.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#endif							/* COMPAT_VARLENA_H */
