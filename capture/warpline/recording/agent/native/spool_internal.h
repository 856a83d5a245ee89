/* Shared by the parts of the spool. Functions named `…_locked` are called with the lock held. */
#ifndef WARPLINE_SPOOL_INTERNAL_H
#define WARPLINE_SPOOL_INTERNAL_H

#include "spool.h"

#define PAGE 4096u

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
    /* Of a process in a sandbox, 0 otherwise: how far the file is allocated for it, and how far it is mapped. The
     * recorder allocates more once `mapped` is set. */
    _Atomic uint64_t allocated, mapped;
};

bool spool_is_open_locked(void);
/* The mapped header of the process's file, which is opened if need be; NULL after a failure. */
struct file_header *spool_header_locked(void);
/* Opens the file, as `open` does. */
int spool_open_file_locked(int flags);
/* Maps `size` new bytes of the file at `offset`; NULL, noted as a failure, if that cannot be. Opens the file each time and
 * keeps no descriptor: the program gets the same descriptor numbers as without us, and may close any of them. */
void *spool_map_locked(uint64_t offset, size_t size, int flags);
/* Ends writing with this errno. Returns false. */
bool spool_fail_locked(int error);
/* Takes a chunk of the file that was mapped before a sandbox; NULL if the recorder has allocated no more. */
struct chunk_header *spool_take_ready(struct file_header *header, uint64_t size);
/* Before the process enters a sandbox: opens the file, and maps chunks and what else this thread will need. */
bool spool_confine(struct writer *writer);
/* Once it is in the sandbox: tells the recorder that there is one more file with chunks for one. Makes no system call. */
void spool_announce_confined(void);
/* The process entered no sandbox after all: from now on it extends the file by itself. */
void spool_leave_window(void);
/* From now on, nothing is recorded in this process; and the opposite. */
void spool_leave_control(void);
void spool_return_control(void);
/* Allocates these bytes of the file, so that writing them cannot fail. Returns errno, or 0. */
int spool_reserve_pages(int fd, uint64_t offset, size_t size);
/* Maps them; MAP_FAILED, with errno, if they cannot be mapped or written. */
void *spool_map_pages(int fd, uint64_t offset, size_t size);
/* Appends a string record; false, counted as lost, if there is no room. */
bool spool_append_string_locked(uint32_t id, const char *text, uint32_t length);
/* Writes a record to a chunk for holders of the lock. Returns its address; NULL if it was lost. */
void *spool_append_locked(enum slot slot, const void *record, size_t size);
/* Keeps the current chunk of this slot mapped when the next one begins, for pointers into it. */
void spool_keep_chunk_locked(enum slot slot, size_t size);
/* The writer's thread has ended: its record can be used again. */
void waiting_give_back_locked(struct writer *writer);
/* In a forked child, before other memory is released: forgets the waits of the parent's threads. */
void waiting_forget_all(void);
void spool_lock(void);
void spool_unlock(void);
/* Writes a record that belongs to no thread; takes the lock. */
void spool_write_common(enum slot slot, const void *record, size_t size);
/* CLOCK_MONOTONIC and CLOCK_REALTIME of one moment. */
struct record_clock_pair spool_read_clocks(void);
/* Maps the session's control page; false if there is none. */
bool spool_map_control(const char *folder);
/* Writes all known strings to a file that was just opened. */
void strings_dump_locked(void);
/* Writes all definitions to a file that was just opened. */
void definitions_dump_locked(void);

#endif
