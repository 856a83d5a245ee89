/* One record per thread with its current wait, so that a wait that never ends is known even if the process is killed. */
#include <errno.h>

#include "spool_internal.h"

/* Records of ended threads, linked by `object`. */
static struct record_osrt_waiting *unused;
/* Records of all threads, ended ones included. */
#define MOST_RECORDS 1024
static struct record_osrt_waiting *all[MOST_RECORDS];
static int all_count;

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
        if (to != NULL && all_count < MOST_RECORDS)
            all[all_count++] = to;
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

void waiting_forget_all(void)
{
    unused = NULL;
    all_count = 0;
}

int wl_threads_waiting(struct thread_waiting *to, int most)
{
    int count = 0;
    spool_lock();
    for (int i = 0; i < all_count && count < most; i++) {
        uint64_t since_ns = __atomic_load_n(&all[i]->start_ns, __ATOMIC_ACQUIRE);
        if (since_ns != 0)
            to[count++] = (struct thread_waiting){since_ns, all[i]->tid};
    }
    spool_unlock();
    return count;
}
