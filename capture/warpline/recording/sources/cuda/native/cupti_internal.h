#ifndef WARPLINE_CUPTI_INTERNAL_H
#define WARPLINE_CUPTI_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "cupti_abi.h"

extern struct cupti cupti;

/* Finds and loads libcupti and fills `cupti`; on failure says why in `reason`. */
bool cupti_load(char *reason, size_t size);

/* The libcupti that the process has loaded; NULL if there is none. */
void *cupti_open_loaded(void);
/* Whether the recording is about CUDA, so that the program's calls of CUPTI matter. */
bool cupti_is_wanted(void);
/* The agent's function of this name that stands in for CUPTI's; NULL if there is none. */
void *cupti_stand_in(const char *name);
/* Whether the program's calls of CUPTI come to the agent, because the loader found it first. */
bool cupti_is_preloaded(void);
/* A function of that libcupti itself, never one that stands in for it. */
void *cupti_symbol(void *library, const char *name);

/* The CUDA version the driver supports, 13000 for 13.0; 0 when unknown. */
uint32_t cupti_driver_version(void);

/* CUPTI's result in words. */
const char *cupti_result_text(int result, char *buffer, size_t size);
const char *cupti_remedy_of(int result);
/* Writes the state of the source "cuda". */
void cupti_set_state(bool is_on, const char *reason, const char *remedy);
void cupti_refuse(const char *what, int result);

/* Whether this process uses CUDA already, which is not begun for it. */
bool cupti_is_cuda_initialised(void);
/* Waits for the work of the calling thread's current context, if it has one. */
void cupti_synchronise(void);

/* Has CUPTI write into buffers of ours, whose records go to the spool; CUPTI's result. */
int cupti_register_buffers(void);
/* Notes that records of an activity kind (0: of several) were lost, and why: CUPTI_LOST_…; and the sum. */
void cupti_count_lost(uint64_t count, uint32_t kind, uint32_t cause);
uint64_t cupti_dropped(void);
/* Those of them that nobody has read, so that they may have been of any kind. */
uint64_t cupti_unread(void);
/* Whether CUPTI returned buffers here that somebody else had given it. */
bool cupti_has_foreign_buffers(void);

/* Every API call is kept; otherwise those that only ask for the current state are counted and left out. */
extern bool cupti_keeps_every_call;
/* Writes the records of a finished buffer to the spool. */
void cupti_write_records(uint8_t *buffer, size_t valid_size);
/* How many records a buffer holds. */
uint64_t cupti_count_records(uint8_t *buffer, size_t valid_size);
/* What was left out on purpose, and what could not be read, since the start. */
uint64_t cupti_calls_left_out(void);
uint64_t cupti_unreadable(void);

/* Ends politely: on SIGTERM, SIGINT and SIGHUP that would kill the process at once, the flush comes first. */
void cupti_catch_signals(void (*wake)(void));
/* The signal that asked, or 0. */
int cupti_caught_signal(void);
/* The process ends by _exit, and waits for the thread's last flush. */
bool cupti_is_ending(void);
/* The thread has flushed for the last time. */
void cupti_thread_is_over(void);
/* Lets the signal do what it would have done. */
void cupti_deliver_signal(int number);

#endif
