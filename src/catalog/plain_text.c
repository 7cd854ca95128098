/*
 * plain_text.c
 *	  Text of values that does not depend on the session's settings.
 *
 * What one session writes as text another one reads: dates, intervals and
 * floats must be written so that any session reads the same value.
 */
#include "postgres.h"

#include "catalog/plain_text.h"
#include "miscadmin.h"
#include "utils/float.h"

/* Begin to write plain text. */
void
plain_text_begin(PlainText *settings, bool utc)
{
	settings->date_style = DateStyle;
	settings->interval_style = IntervalStyle;
	settings->float_digits = extra_float_digits;
	settings->timezone = session_timezone;
	DateStyle = USE_ISO_DATES;
	IntervalStyle = INTSTYLE_POSTGRES;
	extra_float_digits = 1;
	if (utc)
		session_timezone = pg_tzset("GMT");
}

/* Go back to the session's settings. */
void
plain_text_end(const PlainText *settings)
{
	DateStyle = settings->date_style;
	IntervalStyle = settings->interval_style;
	extra_float_digits = settings->float_digits;
	session_timezone = settings->timezone;
}
