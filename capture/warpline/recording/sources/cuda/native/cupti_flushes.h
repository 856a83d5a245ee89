/* When records leave CUPTI. */
#ifndef WARPLINE_CUPTI_FLUSHES_H
#define WARPLINE_CUPTI_FLUSHES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define FLUSH_EVERY_NS 250000000u

/* Held around calls into CUPTI that the end of the process or of the session must not meet. Never waited for inside a
 * callback that CUPTI makes with its own lock held. */
extern pthread_mutex_t cupti_lock;

/* Starts the thread that follows the control page, flushes, and writes clock pairs, and flushes at the end of the
 * process. */
void flushes_start(void);
/* Under cupti_lock: */
void flushes_flush_locked(uint32_t flag);
/* Takes all records, those of unfinished work without times, and writes what did not come. */
void flushes_force_locked(void);
/* The process ends: no more calls into CUPTI. */
bool flushes_are_over(void);
/* The state of the source when the recording ends before cuInit. */
void flushes_note_initialising(void);
/* The state of the source once records have left CUPTI for the last time. */
void flushes_write_final_state(void);

/* The session, which cupti.c has; under cupti_lock where the name says so. */
bool session_is_open_locked(void);
bool session_is_recording_locked(void);
/* Enables its kinds again, which another user may have disabled. */
void session_enable_again_locked(void);
/* Turns CUPTI on or off as the control page says; returns whether it was turned off. */
bool session_follow_control(void);
void session_write_clock_pair(void);

#endif
