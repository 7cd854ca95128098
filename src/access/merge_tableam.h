/*
 * merge_tableam.h
 *	  The table access method.
 */
#ifndef MERGE_TABLEAM_H
#define MERGE_TABLEAM_H

#include "postgres.h"

#include "access/tableam.h"

extern void merge_tableam_init(void);
extern const TableAmRoutine *merge_tableam_routine(void);

#endif							/* MERGE_TABLEAM_H */
