#define _GNU_SOURCE
#include "gil_work.h"

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "own_threads.h"
#include "python_layout.h"

#define MOST 4

static struct gil_work *known[MOST]; /* all requests so far, in order */
static _Atomic int known_count, running_in;
static _Atomic int serial; /* of the thread that is wanted */
static int initialised_in;
static sem_t asked;

static void do_with_gil(struct gil_work *work)
{
    if (python.is_initialized() && !python.is_finalizing()) {
        int gil = python.ensure_gil();
        work->run();
        python.release_gil(gil);
    }
    atomic_store(&work->is_asked_in, 0);
}

static void run(void)
{
    int own_serial = atomic_load(&serial);
    for (int process = (int)getpid();;) {
        wl_note_rest(true);
        bool is_asked = sem_wait(&asked) == 0;
        wl_note_rest(false);
        if (atomic_load(&serial) != own_serial)
            return;
        if (!is_asked)
            continue;
        for (int i = 0; i < atomic_load(&known_count); i++)
            if (atomic_load(&known[i]->is_asked_in) == process)
                do_with_gil(known[i]);
    }
}

static bool start(int process)
{
    if (initialised_in != process && sem_init(&asked, 0, 0) != 0)
        return false;
    initialised_in = process;
    return wl_start_thread(run);
}

static bool is_known(const struct gil_work *work)
{
    int count = atomic_load(&known_count), i = 0;
    while (i < count && known[i] != work)
        i++;
    return i < count;
}

void gil_work_request(struct gil_work *work)
{
    int process = (int)getpid();
    if (atomic_load(&running_in) != process) {
        if (!start(process))
            return;
        atomic_store(&running_in, process);
    }
    if (!is_known(work)) {
        int count = atomic_load(&known_count);
        if (count == MOST)
            return;
        known[count] = work;
        atomic_store(&known_count, count + 1);
    }
    if (atomic_exchange(&work->is_asked_in, process) != process)
        sem_post(&asked);
}

void gil_work_end(void)
{
    int process = (int)getpid();
    if (!atomic_compare_exchange_strong(&running_in, &process, 0))
        return;
    atomic_fetch_add(&serial, 1);
    sem_post(&asked);
}
