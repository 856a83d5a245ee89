/* Takes the records out of CUPTI: a thread of the agent does it regularly, the end of the process for the last time
 * (docs/agent.md, *When records leave CUPTI*). */
#define _GNU_SOURCE
#include "cupti_flushes.h"

#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti_internal.h"
#include "cupti_sharing.h"
#include "cupti_watch.h"
#include "own_threads.h"
#include "spool.h"

#define POLL_NS 20000000u
#define CLOCKS_EVERY_NS 1000000000u
/* From the end of the recording to the forced flush; the recorder reads the spool after AGENT_FLUSH_S (recorder.py). */
#define LAST_WORK_NS 90000000u
/* How long an ending process waits for another thread's flush. */
#define LAST_FLUSH_NS 5000000000u

pthread_mutex_t cupti_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t owner;
static sem_t wake;
static _Atomic bool is_over, is_ready;
static _Atomic bool is_left; /* over only because the process enters a sandbox, which the kernel may refuse */

bool flushes_are_over(void) { return is_over; }

void flushes_flush_locked(uint32_t flag)
{
    if (!is_over && session_is_open_locked())
        cupti.flush_all(flag);
}

void flushes_force_locked(void)
{
    uint64_t now = wl_clock(CLOCK_MONOTONIC);
    if (is_over || !session_is_open_locked())
        return;
    cupti.flush_all(FLUSH_FORCED);
    watch_write_gaps(now);
}

/* Takes the complete buffers, after a look at whether records still come here. */
static void flush_regularly(void)
{
    pthread_mutex_lock(&cupti_lock);
    if (!is_over && session_is_recording_locked() && watch_is_needed()) {
        bool is_ours = cupti_has_foreign_buffers() || watch_has_arrived();
        watch_make_call();
        if (is_ours) /* another profiler may have ended, which disables its kinds for all */
            session_enable_again_locked();
    }
    flushes_flush_locked(FLUSH_COMPLETED);
    pthread_mutex_unlock(&cupti_lock);
}

static void force(void)
{
    pthread_mutex_lock(&cupti_lock);
    flushes_force_locked();
    pthread_mutex_unlock(&cupti_lock);
}

static void add_reason(char *reason, size_t size, const char *format, ...)
{
    va_list arguments;
    size_t used = strlen(reason);
    va_start(arguments, format);
    if (used > 0 && used + 2 < size)
        used += (size_t)snprintf(reason + used, size - used, "; ");
    vsnprintf(reason + used, size - used, format, arguments);
    va_end(arguments);
}

void flushes_write_final_state(void)
{
    char reason[512] = "";
    const struct {
        uint64_t count;
        const char *format;
    } counts[] = {
        {cupti_calls_left_out(), "%llu CUDA calls that only ask for state were left out"},
        {cupti_unreadable(), "%llu buffers could not be read to their end"},
        {sharing_refused(), "%llu records did not reach the program's own profiler, which gave no buffer"},
    };
    if (cupti_has_foreign_buffers())
        add_reason(
            reason, sizeof reason,
            "another profiler was recording when Warpline began: it got no GPU records from then on, and when it "
            "ended, up to 0.25 s of GPU work may have been missed");
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].count > 0)
            add_reason(reason, sizeof reason, counts[i].format, (unsigned long long)counts[i].count);
    if (reason[0] != 0 || cupti_dropped() > 0)
        cupti_set_state(true, reason, "");
}

void flushes_note_initialising(void)
{
    cupti_set_state(true, "when the recording ended, CUDA was not initialised: cuInit had failed or not returned", "");
}

/* The thread starts inside cuInit, which may take seconds, or never end, and holds the driver's locks: CUPTI is left
 * alone until then. */
static bool is_cuda_ready(void)
{
    if (!is_ready)
        is_ready = cupti_is_cuda_initialised();
    return is_ready;
}

/* The process ends: what has not ended on the GPU never will, so its records come without times. */
static void finish(void)
{
    struct timespec until;
    if (getpid() != owner)
        return;
    if (!is_cuda_ready()) {
        is_over = true;
        flushes_note_initialising();
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_FLUSH_NS / 1000000000u;
    if (pthread_mutex_timedlock(&cupti_lock, &until) != 0)
        return;
    flushes_force_locked();
    is_over = true;
    pthread_mutex_unlock(&cupti_lock);
    flushes_write_final_state();
}

static void wait_for_wake(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    sem_timedwait(&wake, &until);
}

static void run(void)
{
    if (atomic_exchange(&is_left, false))
        is_over = false;
    watch_start();
    uint64_t now = wl_clock(CLOCK_MONOTONIC), flushed = now, paired = now, last_work_ends = 0;
    bool is_stop_noted = false;
    while (!is_over) {
        wait_for_wake();
        wl_end_with_program();
        int number = cupti_caught_signal();
        if (number != 0) {
            finish();
            wl_mark_finished();
            cupti_deliver_signal(number);
            return;
        }
        if (wl_must_end() || cupti_is_ending()) {
            is_left = !is_over && !cupti_is_ending();
            finish();
            if (is_left)
                return;
            break;
        }
        if (!is_cuda_ready()) {
            if (!is_stop_noted && atomic_load(&wl_control->state) == STATE_STOPPING) {
                is_stop_noted = true;
                flushes_note_initialising();
            }
            continue;
        }
        bool is_turned_off = session_follow_control();
        now = wl_clock(CLOCK_MONOTONIC);
        if (is_turned_off && atomic_load(&wl_control->state) == STATE_STOPPING)
            last_work_ends = now + LAST_WORK_NS;
        /* Work that was queued before a pause ends during it, and is collected then. Only the end of the recording
         * forces out what is still running. */
        if (last_work_ends != 0 && now >= last_work_ends) {
            force();
            flushes_write_final_state();
            last_work_ends = 0;
        } else if (is_turned_off || last_work_ends != 0 || now - flushed >= FLUSH_EVERY_NS) {
            flushed = now;
            flush_regularly();
        }
        if (now - paired >= CLOCKS_EVERY_NS) {
            paired = now;
            session_write_clock_pair();
        }
    }
    cupti_thread_is_over();
}

static void wake_thread(void) { sem_post(&wake); }

void flushes_start(void)
{
    owner = getpid();
    atexit(finish);
    if (sem_init(&wake, 0, 0) == 0 && wl_start_thread(run))
        cupti_catch_signals(wake_thread);
}
