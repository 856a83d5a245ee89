/* A process whose main thread ended alone goes on until its last thread ends. Ours do not count: once they are the only
 * ones left, they end the process as its last own thread would have. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "own_threads.h"
#include "sandbox.h"
#include "spool.h"

#define LOOK_EVERY_NS 1000000000u
enum { STATE, THREADS = 17, EXIT_CODE = 49 }; /* proc_pid_stat(5), counted from the state: fields 3, 20 and 52 */

static _Atomic int left; /* the process whose main thread called pthread_exit */
static _Atomic uint64_t next_look_ns;
static atomic_flag is_ending = ATOMIC_FLAG_INIT; /* two of our threads may look at once, and exit is for one */

struct process_state {
    bool is_main_over;
    long threads; /* with the main thread, also when it is over */
    int status;   /* of the main thread */
};

static bool read_state(struct process_state *state)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    char *at = strrchr(text, ')');
    if (at == NULL || at[1] == '\0')
        return false;
    state->is_main_over = at[2] == 'Z';
    for (int field = STATE; at != NULL && field <= EXIT_CODE; field++) {
        at = strchr(at + 1, ' ');
        if (at != NULL && field == THREADS)
            state->threads = atol(at);
        if (at != NULL && field == EXIT_CODE)
            state->status = atoi(at) >> 8;
    }
    return at != NULL;
}

void wl_end_with_program(void)
{
    bool has_left = atomic_load_explicit(&left, memory_order_relaxed) == wl_process;
    uint64_t now = wl_clock(CLOCK_MONOTONIC);
    if (!has_left && now < atomic_load_explicit(&next_look_ns, memory_order_relaxed))
        return;
    atomic_store_explicit(&next_look_ns, now + LOOK_EVERY_NS, memory_order_relaxed);
    struct process_state state = {0};
    if (!read_state(&state) || !state.is_main_over || state.threads > (long)wl_own_threads() + 1)
        return;
    if (atomic_flag_test_and_set(&is_ending))
        return;
    if (has_left)
        exit(0); /* what the C library does when its last thread ends */
    wl_mark_finished();
    /* The main thread was the last to end, or the others ended with 0, as those of the C library do. */
    syscall(SYS_exit_group, state.status);
}

EXPORT __attribute__((noreturn)) void pthread_exit(void *result)
{
    if (wl_process != 0 && wl_thread_id() == (uint32_t)wl_process)
        atomic_store(&left, wl_process);
    REAL(pthread_exit)(result);
    __builtin_unreachable();
}
