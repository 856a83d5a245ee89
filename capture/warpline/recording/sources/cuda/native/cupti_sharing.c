/* CUPTI's first family of functions serves one user: the last to register buffers gets all records, and there is one
 * subscription and one clock. Here the process has one subscription, one pair of buffer callbacks and one clock, all
 * ours, and each user has its own view of them. Records are written into Warpline's buffers. Those that the program's
 * profiler has asked for are copied into buffers of its own, with times of its clock.
 *
 * Nothing waits for a lock: CUPTI calls the callbacks with locks of its own held. */
#define _GNU_SOURCE
#include "cupti_sharing.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti_clocks.h"
#include "cupti_family.h"
#include "cupti_handover.h"
#include "cupti_internal.h"
#include "spool.h"

#define FLUSH_WAIT_NS 50000000u
#define FLUSH_PAUSE_NS 1000000u

struct user users[USERS] = {
    [WARPLINE] = {.since_ns = UINT64_MAX},
    [PROGRAM] = {.since_ns = UINT64_MAX},
};

static uint64_t bit_of(uint32_t kind) { return kind < 64 ? 1ull << kind : 0; }

/* Both kinds of kernels are the same to who reads them. */
static uint64_t bits_of_record(uint32_t kind)
{
    const uint64_t kernels = 1ull << ACTIVITY_KERNEL | 1ull << ACTIVITY_CONCURRENT_KERNEL;
    return bit_of(kind) & kernels ? kernels : bit_of(kind);
}

/* --- subscription and callbacks */

static void on_callback(void *data, uint32_t domain, uint32_t id, const void *details)
{
    (void)data;
    for (int i = 0; i < USERS; i++) {
        struct user *user = &users[i];
        cupti_callback callback = atomic_load_explicit(&user->callback, memory_order_acquire);
        if (callback == NULL || domain >= DOMAINS)
            continue;
        if (atomic_load_explicit(&user->is_domain[domain], memory_order_relaxed) ||
            (id < CALLBACKS && atomic_load_explicit(&user->is_callback[domain][id], memory_order_relaxed)))
            callback(atomic_load_explicit(&user->data, memory_order_relaxed), domain, id, details);
    }
}

int sharing_subscribe(enum cupti_user user, cupti_callback callback, void *data)
{
    cupti_callback nobody = NULL;
    int result = family_subscribe(on_callback);
    if (result != CUPTI_OK)
        return result;
    atomic_store(&users[user].data, data);
    return atomic_compare_exchange_strong(&users[user].callback, &nobody, callback) ? CUPTI_OK
                                                                                    : CUPTI_MULTIPLE_SUBSCRIBERS;
}

/* CUPTI calls back for what either user wants. */
static int follow_callback(uint32_t domain, uint32_t id)
{
    bool is_on = false;
    for (int i = 0; i < USERS && domain < DOMAINS && id < CALLBACKS; i++)
        is_on = is_on || atomic_load(&users[i].is_domain[domain]) || atomic_load(&users[i].is_callback[domain][id]);
    return family_enable_callback(is_on, domain, id);
}

int sharing_enable_callback(enum cupti_user user, bool is_on, uint32_t domain, uint32_t id)
{
    if (domain >= DOMAINS || id >= CALLBACKS)
        return family_enable_callback(is_on, domain, id);
    atomic_store(&users[user].is_callback[domain][id], is_on);
    return follow_callback(domain, id);
}

int sharing_enable_domain(enum cupti_user user, bool is_on, uint32_t domain)
{
    if (domain >= DOMAINS)
        return family_enable_domain(is_on, domain);
    atomic_store(&users[user].is_domain[domain], is_on);
    for (uint32_t id = 0; id < CALLBACKS && !is_on; id++)
        atomic_store(&users[user].is_callback[domain][id], false);
    if (is_on || atomic_load(&users[!user].is_domain[domain]))
        return family_enable_domain(true, domain);
    int result = family_enable_domain(false, domain);
    for (uint32_t id = 0; id < CALLBACKS; id++)
        if (atomic_load(&users[!user].is_callback[domain][id]))
            family_enable_callback(true, domain, id);
    return result;
}

int sharing_unsubscribe(enum cupti_user user)
{
    for (uint32_t domain = 0; domain < DOMAINS; domain++) {
        bool has_any = atomic_load(&users[user].is_domain[domain]);
        for (uint32_t id = 0; id < CALLBACKS && !has_any; id++)
            has_any = atomic_load(&users[user].is_callback[domain][id]);
        if (has_any)
            sharing_enable_domain(user, false, domain);
    }
    atomic_store(&users[user].callback, NULL);
    if (user == WARPLINE) {
        atomic_store(&users[WARPLINE].buffers, NULL);
        clocks_leave();
    }
    if (atomic_load(&users[!user].callback) != NULL || (atomic_load(&users[PROGRAM].kinds) != 0 && family_is_second()))
        return CUPTI_OK;
    return family_unsubscribe();
}

/* --- kinds */

/* Asks CUPTI for what both want together, until nobody has changed it meanwhile. */
static int follow_kind(uint32_t kind, bool is_dumping, void *context)
{
    int result;
    uint64_t bit = bit_of(kind), wanted, before;
    do {
        before = (atomic_load(&users[WARPLINE].kinds) | atomic_load(&users[PROGRAM].kinds)) & bit;
        result = before == 0       ? family_disable(kind)
                 : context != NULL ? family_enable_in_context(context, kind)
                                   : family_enable(kind, is_dumping);
        wanted = (atomic_load(&users[WARPLINE].kinds) | atomic_load(&users[PROGRAM].kinds)) & bit;
    } while (wanted != before);
    return result;
}

static int enable(enum cupti_user number, uint32_t kind, bool is_dumping, void *context)
{
    struct user *user = &users[number];
    if (bit_of(kind) == 0)
        return family_enable(kind, is_dumping);
    uint64_t since = wl_clock(CLOCK_MONOTONIC);
    uint64_t before = atomic_fetch_or(&user->kinds, bit_of(kind));
    atomic_fetch_or(&user->kinds_ever, bit_of(kind));
    if (clocks_has_times(kind) && atomic_load(&user->since_ns) == UINT64_MAX)
        atomic_store(&user->since_ns, since);
    int result = follow_kind(kind, is_dumping, context);
    if (result != CUPTI_OK && !(before & bit_of(kind)))
        atomic_fetch_and(&user->kinds, ~bit_of(kind));
    return result;
}

int sharing_enable(enum cupti_user user, uint32_t kind, bool is_dumping)
{
    return enable(user, kind, is_dumping, NULL);
}

int sharing_enable_in_context(enum cupti_user user, void *context, uint32_t kind)
{
    return enable(user, kind, false, context);
}

int sharing_disable(enum cupti_user number, uint32_t kind)
{
    struct user *user = &users[number];
    if (bit_of(kind) == 0)
        return family_disable(kind);
    uint64_t rest = atomic_fetch_and(&user->kinds, ~bit_of(kind)) & ~bit_of(kind);
    if (!clocks_has_any_times(rest) && atomic_load(&user->since_ns) != UINT64_MAX) {
        atomic_store(&user->launched_later, UINT32_MAX);
        atomic_store(&user->stopped_ns, wl_clock(CLOCK_MONOTONIC));
        atomic_store(&user->since_ns, UINT64_MAX);
    }
    return follow_kind(kind, false, NULL);
}

bool sharing_has_program(void) { return atomic_load_explicit(&users[PROGRAM].kinds_ever, memory_order_relaxed) != 0; }

void sharing_note_stranger(void) { atomic_fetch_or(&users[PROGRAM].kinds_ever, 1); } /* no kind has number 0 */

bool sharing_is_for(enum cupti_user number, const struct clocks *clocks, const void *record)
{
    struct user *user = &users[number];
    uint32_t kind, correlation = 0;
    memcpy(&kind, record, sizeof kind);
    uint64_t start = clocks_start(clocks, record), kinds = atomic_load_explicit(&user->kinds, memory_order_relaxed);
    bool is_on = kinds & bits_of_record(kind);
    if (!(atomic_load_explicit(&user->kinds_ever, memory_order_relaxed) & bits_of_record(kind)))
        return false;
    if (!clocks_has_times(kind) || start == 0)
        return is_on;
    if (start >= atomic_load_explicit(&user->since_ns, memory_order_relaxed))
        return is_on;
    if (clocks_is_gpu_work(record, &correlation))
        return correlation < atomic_load_explicit(&user->launched_later, memory_order_relaxed);
    return start < atomic_load_explicit(&user->stopped_ns, memory_order_relaxed);
}

int sharing_flush_all(enum cupti_user user, uint32_t flag)
{
    if (user == WARPLINE || flag == FLUSH_COMPLETED || atomic_load(&users[WARPLINE].buffers) == NULL)
        return family_flush_all(flag);
    /* A forced flush takes the times of unfinished work from both users. Without one, CUPTI keeps each buffer with an
     * unfinished record. Profilers wait for the GPU before they flush, so mostly all buffers come at once. */
    uint64_t until = wl_clock(CLOCK_MONOTONIC) + FLUSH_WAIT_NS;
    int result;
    while ((result = family_flush_all(FLUSH_COMPLETED)) == CUPTI_OK && handover_buffers_out() > 0) {
        if (wl_clock(CLOCK_MONOTONIC) >= until)
            return family_flush_all(flag);
        nanosleep(&(struct timespec){0, FLUSH_PAUSE_NS}, NULL);
    }
    return result;
}

/* --- the rest */

int sharing_set_thread_id_type(enum cupti_user user, uint32_t type)
{
    if (user == PROGRAM && atomic_load(&users[WARPLINE].callback) != NULL)
        return CUPTI_OK; /* the kernel's ids stay */
    return family_set_thread_id_type(type);
}

/* Ends CUPTI for this user; for the process when the other does not need it. */
int sharing_finalize(enum cupti_user user)
{
    if (atomic_load(&users[!user].callback) == NULL)
        return family_finalize();
    for (uint32_t kind = 1; kind < 64; kind++)
        if (atomic_load(&users[user].kinds) & bit_of(kind))
            sharing_disable(user, kind);
    family_flush_all(FLUSH_COMPLETED);
    atomic_store(&users[user].buffers, NULL);
    return sharing_unsubscribe(user);
}

/* --- Warpline's side */

static int subscribe(void **subscriber, cupti_callback callback, void *data)
{
    static char handle;
    int result = sharing_subscribe(WARPLINE, callback, data);
    *subscriber = &handle;
    return result;
}

static int unsubscribe(void *subscriber)
{
    (void)subscriber;
    return sharing_unsubscribe(WARPLINE);
}

static int enable_callback(uint32_t is_on, void *subscriber, uint32_t domain, uint32_t id)
{
    (void)subscriber;
    return sharing_enable_callback(WARPLINE, is_on, domain, id);
}

static int register_callbacks(cupti_request request, cupti_complete complete)
{
    return sharing_register_callbacks(WARPLINE, request, complete);
}

static int enable_kind(uint32_t kind) { return sharing_enable(WARPLINE, kind, false); }
static int enable_and_dump(uint32_t kind) { return sharing_enable(WARPLINE, kind, true); }
static int disable_kind(uint32_t kind) { return sharing_disable(WARPLINE, kind); }
static int flush_all(uint32_t flag) { return sharing_flush_all(WARPLINE, flag); }
static int get_timestamp(uint64_t *time) { return sharing_get_timestamp(WARPLINE, time); }
static int register_timestamp(cupti_timestamp callback) { return sharing_register_timestamp(WARPLINE, callback); }
static int set_thread_id_type(uint32_t type) { return sharing_set_thread_id_type(WARPLINE, type); }

void sharing_use(void *library)
{
    family_load(library);
    cupti.subscribe = subscribe;
    cupti.unsubscribe = unsubscribe;
    cupti.enable_callback = enable_callback;
    cupti.register_callbacks = register_callbacks;
    cupti.enable = enable_kind;
    cupti.enable_and_dump = enable_and_dump;
    cupti.disable = disable_kind;
    cupti.flush_all = flush_all;
    cupti.next_record = family_next_record;
    cupti.dropped_records = family_dropped_records;
    cupti.get_timestamp = get_timestamp;
    cupti.register_timestamp = register_timestamp;
    cupti.set_thread_id_type = set_thread_id_type;
    cupti.latency_timestamps = family_latency_timestamps;
}
