/* Ends of the program that atexit does not see.
 *
 * A signal that ends the program at once would lose what CUPTI still holds. Where the program left SIGTERM, SIGINT or
 * SIGHUP at its default, the agent's thread flushes and then delivers the signal, so the exit status stays the same.
 * Signals that the program handles or ignores are left alone. A handler that the program installs later replaces this
 * one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cupti_internal.h"
#include "source_hooks.h"
#include "spool.h"

/* No program waits longer for its end. */
#define LONGEST_NS 500000000u
#define PAUSE_NS 500000u

static _Atomic int caught;
static _Atomic pid_t owner;
static void (*_Atomic wake_thread)(void);
static _Atomic bool is_ending, is_thread_over;

static void on_signal(int number)
{
    int none = 0;
    /* A forked child has no thread to wake. A second signal means that nobody wants to wait. */
    if (getpid() != owner || !atomic_compare_exchange_strong(&caught, &none, number)) {
        signal(number, SIG_DFL);
        raise(number); /* arrives when this handler returns */
        return;
    }
    void (*wake)(void) = wake_thread;
    wake();
}

void cupti_catch_signals(void (*wake)(void))
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    wake_thread = wake;
    owner = getpid();
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action, old;
        if (sigaction(numbers[i], NULL, &old) != 0 || (old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL)
            continue;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_signal;
        action.sa_flags = SA_RESTART;
        sigaction(numbers[i], &action, NULL);
    }
}

int cupti_caught_signal(void) { return atomic_load(&caught); }

void cupti_deliver_signal(int number)
{
    sigset_t set;
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}

bool cupti_is_ending(void) { return atomic_load(&is_ending); }

void cupti_thread_is_over(void) { atomic_store(&is_thread_over, true); }

/* The thread flushes, because the caller may be in a signal handler, or hold a lock that a flush needs. */
static void ending(void)
{
    void (*wake)(void) = wake_thread;
    if (wake == NULL || getpid() != owner)
        return;
    uint64_t until = wl_clock(CLOCK_MONOTONIC) + LONGEST_NS;
    atomic_store(&is_ending, true);
    wake();
    while (!atomic_load(&is_thread_over) && wl_clock(CLOCK_MONOTONIC) < until)
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
}

REGISTER_SOURCE(.ending = ending);
