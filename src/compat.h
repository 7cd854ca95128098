/*
 * compat.h
 *	  The differences between the PostgreSQL versions we build on: 15 and 17.
 */
#ifndef COMPAT_H
#define COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 180000
#error "merge_engine builds on PostgreSQL 15, 16 and 17"
#endif

#endif							/* COMPAT_H */
