/* One record per thread that says what it waits for now, so that a wait that never ends is known too: a process may be
 * killed at any time, and nobody asks it then. */
#include <errno.h>

#include "spool_internal.h"

/* Of threads that are gone, linked by `object`. */
static struct record_osrt_waiting *unused;

bool wl_make_waiting(struct writer *writer)
{
    static const struct record_osrt_waiting nothing;
    int saved_errno = errno;
    writer->is_busy = true;
    spool_lock();
    struct record_osrt_waiting *to = unused;
    if (to != NULL) {
        unused = (struct record_osrt_waiting *)(uintptr_t)to->object;
    } else {
        spool_keep_chunk_locked(SLOT_OSRT_WAITING, sizeof nothing);
        to = spool_append_locked(SLOT_OSRT_WAITING, &nothing, sizeof nothing);
    }
    if (to != NULL)
        to->tid = writer->tid;
    writer->waiting = to;
    writer->waiting_caller = NULL;
    spool_unlock();
    writer->is_busy = false;
    errno = saved_errno;
    return to != NULL;
}

void waiting_give_back_locked(struct writer *writer)
{
    struct record_osrt_waiting *to = writer->waiting;
    if (to == NULL)
        return;
    __atomic_store_n(&to->start_ns, 0, __ATOMIC_RELEASE);
    to->object = (uintptr_t)unused;
    unused = to;
}

void waiting_forget_all(void) { unused = NULL; }
