/* Between spool.c and strings.c; everything here is called with the lock held. */
#ifndef WARPLINE_SPOOL_INTERNAL_H
#define WARPLINE_SPOOL_INTERNAL_H

#include "spool.h"

bool spool_is_open_locked(void);
/* Appends a record of variable size to the string chunk; false when there is no room (counted as lost). */
bool spool_append_string_locked(uint32_t id, const char *text, uint32_t length);
/* Writes a record to a chunk that whoever holds the lock may write to. */
bool spool_define_locked(enum slot slot, const void *record, size_t size);
void spool_lock(void);
void spool_unlock(void);
/* Writes every string known so far: a file was just opened. */
void strings_dump_locked(void);

#endif
