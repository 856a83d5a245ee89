/* Between the parts of the spool. What ends in `_locked` is called with the lock held. */
#ifndef WARPLINE_SPOOL_INTERNAL_H
#define WARPLINE_SPOOL_INTERNAL_H

#include "spool.h"

/* The first page of a spool file. */
struct file_header {
    char magic[8];
    uint32_t version, pid;
    uint64_t monotonic_ns, realtime_ns;
    _Atomic uint64_t next;
    _Atomic uint64_t lost;
    uint64_t parent_pid;
    _Atomic uint32_t finished, error;
    char producer[64];
    uint64_t size_cap;
};

bool spool_is_open_locked(void);
/* Makes sure that so many bytes of a file are there and can be written; errno, or 0. */
int spool_reserve_pages(int fd, uint64_t offset, size_t size);
/* MAP_FAILED, and errno, where they cannot be mapped or not be written. */
void *spool_map_pages(int fd, uint64_t offset, size_t size);
/* Appends a record of variable size to the string chunk; false when there is no room (counted as lost). */
bool spool_append_string_locked(uint32_t id, const char *text, uint32_t length);
/* Writes a record to a chunk that whoever holds the lock may write to; where it lies, or NULL when it was lost. */
void *spool_append_locked(enum slot slot, const void *record, size_t size);
/* Keeps the chunk of such records mapped when the next one is begun: something points into it. */
void spool_keep_chunk_locked(enum slot slot, size_t size);
/* The thread of this writer is gone. */
void waiting_give_back_locked(struct writer *writer);
/* In a forked child, before anything else is let go: what the threads of the parent wait for is theirs. */
void waiting_forget_all(void);
void spool_lock(void);
void spool_unlock(void);
/* Writes a record that is not of one thread; takes the lock. */
void spool_write_common(enum slot slot, const void *record, size_t size);
/* Maps the control page of a session; false when there is none. */
bool spool_map_control(const char *folder);
/* Writes every string known so far: a file was just opened. */
void strings_dump_locked(void);
/* Writes every definition made so far: a file was just opened. */
void definitions_dump_locked(void);

#endif
