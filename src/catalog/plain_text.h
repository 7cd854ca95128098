/*
 * plain_text.h
 *	  Text of values that does not depend on the session's settings.
 */
#ifndef PLAIN_TEXT_H
#define PLAIN_TEXT_H

#include "postgres.h"

#include "pgtime.h"

/* The settings to go back to. */
typedef struct PlainText
{
	int			date_style;
	int			interval_style;
	int			float_digits;
	pg_tz	   *timezone;
} PlainText;

/*
 * plain_text_begin, plain_text_end
 *		Between them, what output functions write is the same in every session;
 *		utc says that this goes for time zones, too.  The end must come, also
 *		after an error.
 */
extern void plain_text_begin(PlainText *settings, bool utc);
extern void plain_text_end(const PlainText *settings);

#endif							/* PLAIN_TEXT_H */
