/* Where the agent was not preloaded, another profiler's calls of CUPTI are unseen. The last to register buffers gets all
 * records, and a kind that one user disables is off for all. So the agent's thread makes a CUDA call now and then, which
 * changes nothing, and looks for its record. */
#define _GNU_SOURCE
#include "cupti_watch.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti_clocks.h"
#include "cupti_family.h"
#include "cupti_internal.h"
#include "spool.h"

#define MOST_CALLS 4096
#define LATE_NS 1000000000u
/* How exactly a time of another clock can be converted. */
#define CLOCK_ERROR_NS 10000000u

/* The calls since the last gaps were written, oldest first, without those before the last that came in order. */
static struct call {
    uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC; end 0: not returned yet */
    bool has_arrived;
} calls[MOST_CALLS];
static size_t count;
static uint64_t session_ns, unread_before;
static bool has_any_arrived;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the above; no call of CUPTI inside */

static _Atomic uint32_t thread;

void watch_start(void) { atomic_store(&thread, (uint32_t)syscall(SYS_gettid)); }

/* The agent's last calls on the program's threads, by the two clocks that records may have. */
#define OTHER_CALLS 8
static struct {
    _Atomic uint32_t thread;
    _Atomic uint64_t begin_ns[2], end_ns[2];
} others[OTHER_CALLS];
static const clockid_t clock_ids[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};

void watch_begin_call(struct watched_call *call)
{
    for (int i = 0; i < 2; i++)
        call->begin_ns[i] = wl_clock(clock_ids[i]);
}

void watch_end_call(const struct watched_call *call)
{
    static _Atomic uint32_t next;
    uint32_t caller = (uint32_t)syscall(SYS_gettid);
    if (caller == atomic_load(&thread))
        return;
    uint32_t number = atomic_fetch_add(&next, 1) % OTHER_CALLS;
    for (int i = 0; i < 2; i++) {
        atomic_store(&others[number].begin_ns[i], call->begin_ns[i]);
        atomic_store(&others[number].end_ns[i], wl_clock(clock_ids[i]));
    }
    atomic_store(&others[number].thread, caller);
}

static bool is_of_program_thread(const struct activity_api *call)
{
    for (int i = 0; i < OTHER_CALLS; i++)
        if (atomic_load_explicit(&others[i].thread, memory_order_relaxed) == call->thread)
            for (int clock = 0; clock < 2; clock++)
                if (call->start >= atomic_load_explicit(&others[i].begin_ns[clock], memory_order_relaxed) &&
                    call->end <= atomic_load_explicit(&others[i].end_ns[clock], memory_order_relaxed))
                    return true;
    return false;
}

void watch_session(void)
{
    pthread_mutex_lock(&lock);
    count = 0;
    has_any_arrived = false;
    session_ns = wl_clock(CLOCK_MONOTONIC);
    unread_before = cupti_unread();
    pthread_mutex_unlock(&lock);
}

static void remove_arrived(void)
{
    size_t removed = 0;
    while (removed + 1 < count && calls[removed].has_arrived && calls[removed + 1].has_arrived)
        removed++;
    for (size_t i = removed; removed > 0 && i < count; i++)
        calls[i - removed] = calls[i];
    count -= removed;
}

bool watch_is_needed(void) { return !cupti_is_preloaded() && !family_is_second(); }

void watch_make_call(void)
{
    pthread_mutex_lock(&lock);
    remove_arrived();
    count -= count == MOST_CALLS;
    size_t number = count++;
    calls[number] = (struct call){.begin_ns = wl_clock(CLOCK_MONOTONIC)};
    pthread_mutex_unlock(&lock);
    cupti_is_cuda_initialised();
    pthread_mutex_lock(&lock);
    calls[number].end_ns = wl_clock(CLOCK_MONOTONIC); /* only this thread moves calls */
    pthread_mutex_unlock(&lock);
}

bool watch_is_own(const struct activity_api *call)
{
    return call->kind == ACTIVITY_DRIVER && call->function == DRIVER_CONTEXT_GET_CURRENT &&
           (call->thread == atomic_load_explicit(&thread, memory_order_relaxed) || is_of_program_thread(call));
}

void watch_note_arrival(const struct activity_api *call)
{
    struct clocks clocks = clocks_read();
    uint64_t start = clocks_start(&clocks, call) + CLOCK_ERROR_NS;
    if (call->thread != atomic_load(&thread))
        return;
    pthread_mutex_lock(&lock);
    for (size_t i = count; i > 0; i--) {
        if (calls[i - 1].begin_ns > start || calls[i - 1].has_arrived)
            continue;
        calls[i - 1].has_arrived = has_any_arrived = true;
        break;
    }
    pthread_mutex_unlock(&lock);
}

bool watch_has_arrived(void)
{
    pthread_mutex_lock(&lock);
    bool has_arrived = count > 0 && calls[count - 1].has_arrived;
    pthread_mutex_unlock(&lock);
    return has_arrived;
}

bool watch_misses_records(void)
{
    pthread_mutex_lock(&lock);
    uint64_t now = wl_clock(CLOCK_MONOTONIC), oldest = now;
    for (size_t i = count; i > 0 && !calls[i - 1].has_arrived; i--)
        oldest = calls[i - 1].begin_ns;
    bool is_late = has_any_arrived && now - oldest >= LATE_NS;
    pthread_mutex_unlock(&lock);
    return is_late;
}

static void write_gap(uint64_t begin_ns, uint64_t end_ns)
{
    struct writer *writer = wl_writer();
    struct record_cupti_gap *record = writer ? WL_RESERVE(writer, SLOT_CUPTI_GAP, record_cupti_gap) : NULL;
    if (record == NULL)
        return;
    *record = (struct record_cupti_gap){begin_ns, end_ns};
    WL_COMMIT(writer, SLOT_CUPTI_GAP, record_cupti_gap);
}

/* Without any arrival, CUPTI does not record these calls. Where it dropped records, theirs may be among them. */
void watch_write_gaps(uint64_t flush_ns)
{
    pthread_mutex_lock(&lock);
    bool is_certain = has_any_arrived && cupti_unread() == unread_before;
    uint64_t last_ns = session_ns;
    for (size_t i = 0; i < count && calls[i].end_ns != 0 && calls[i].end_ns < flush_ns; i++) {
        size_t next = i;
        if (calls[i].has_arrived) {
            last_ns = calls[i].begin_ns;
            continue;
        }
        while (next < count && !calls[next].has_arrived)
            next++;
        if (is_certain)
            write_gap(last_ns, next < count ? calls[next].begin_ns : flush_ns);
        i = next - 1;
    }
    count = 0;
    session_ns = flush_ns;
    unread_before = cupti_unread();
    pthread_mutex_unlock(&lock);
}
