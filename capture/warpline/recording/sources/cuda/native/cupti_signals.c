/* A signal that ends the program at once would lose what CUPTI still holds. Where the program left SIGTERM, SIGINT or
 * SIGHUP at its default, the agent's thread flushes and then delivers the signal, so the exit status stays the same.
 * Signals that the program handles or ignores are left alone. A handler that the program installs later replaces this
 * one. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cupti_internal.h"

static _Atomic int caught;
static pid_t owner;
static void (*wake_thread)(void);

static void on_signal(int number)
{
    int none = 0;
    /* A forked child has no thread to wake. A second signal means that nobody wants to wait. */
    if (getpid() != owner || !atomic_compare_exchange_strong(&caught, &none, number)) {
        signal(number, SIG_DFL);
        raise(number); /* arrives when this handler returns */
        return;
    }
    wake_thread();
}

void cupti_catch_signals(void (*wake)(void))
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    owner = getpid();
    wake_thread = wake;
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
