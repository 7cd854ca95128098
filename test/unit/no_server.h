/*
 * no_server.h
 *	  What parts of the source need of a server, where there is none.
 *
 * Every allocation is a block of its own, so that the address sanitizer sees
 * each step beside it; all blocks live until no_server_reset.  An error jumps
 * to no_server_on_error.
 */
#ifndef NO_SERVER_H
#define NO_SERVER_H

#include "postgres.h"

#include <setjmp.h>

#include "fmgr.h"

extern sigjmp_buf no_server_on_error;
extern long no_server_errors;

extern void no_server_reset(void);
extern int	below(int limit);
extern Datum make_varlena(const void *data, int length);
extern Datum make_text(const char *string);
extern Datum make_array(Oid type, Datum *values, bool *nulls, int count);
extern bool same_image(Datum a, Datum b, bool typbyval, int typlen);

#endif							/* NO_SERVER_H */
