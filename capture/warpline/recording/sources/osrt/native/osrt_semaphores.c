/* Semaphores, which Python's locks are. The first word holds the value in its lower half, the waiters in its upper.
 *
 * A semaphore does not know its holder. We remember who took it without waiting until it is released. If the waiter
 * itself had taken it, it serves as a condition. */
#define _GNU_SOURCE
#include <semaphore.h>
#include <string.h>
#include <time.h>

#include "osrt.h"
#include "sandbox.h"

#define HOLDERS 4096u  /* 12 bits */
#define THREAD_BITS 22 /* the kernel's ids are smaller than 2^22 */

/* Newer than the oldest C library this is built against. */
int sem_clockwait(sem_t *, clockid_t, const struct timespec *);

static struct {
    __typeof__(&sem_wait) wait;
    __typeof__(&sem_trywait) trywait;
    __typeof__(&sem_timedwait) timedwait;
    __typeof__(&sem_clockwait) clockwait;
    __typeof__(&sem_post) post;
} real;
static _Atomic bool is_resolved;

/* Holders by address, in slots that may be overwritten: part of the address and the thread; 0: nobody. */
static _Atomic uint64_t holders[HOLDERS];
static __thread uint32_t own_thread __attribute__((tls_model("initial-exec")));

__attribute__((constructor(FIRST_CONSTRUCTOR))) static void resolve(void)
{
    real.wait = (__typeof__(&sem_wait))wl_real("sem_wait", NULL);
    real.trywait = (__typeof__(&sem_trywait))wl_real("sem_trywait", NULL);
    real.timedwait = (__typeof__(&sem_timedwait))wl_real("sem_timedwait", NULL);
    real.clockwait = (__typeof__(&sem_clockwait))wl_real("sem_clockwait", NULL);
    real.post = (__typeof__(&sem_post))wl_real("sem_post", NULL);
    atomic_store_explicit(&is_resolved, true, memory_order_release);
}

/* Constructors of libraries that are initialised before this one may call earlier. */
static inline void ensure_resolved(void)
{
    if (UNLIKELY(!atomic_load_explicit(&is_resolved, memory_order_acquire)))
        resolve();
}

static inline _Atomic uint64_t *place_of(const sem_t *semaphore)
{
    /* Mixed, because the first locks of many threads share the lower bits of their addresses. */
    return &holders[(uint64_t)(uintptr_t)semaphore * 0x9e3779b97f4a7c15u >> 52];
}

static inline uint64_t mark_of(const sem_t *semaphore) { return (uint64_t)(uintptr_t)semaphore >> 4 << THREAD_BITS; }

static inline void note_taken(const sem_t *semaphore)
{
    if (UNLIKELY(own_thread == 0))
        own_thread = wl_thread_id();
    atomic_store_explicit(place_of(semaphore), mark_of(semaphore) | own_thread, memory_order_relaxed);
}

static inline uint32_t holder_of(const sem_t *semaphore)
{
    uint64_t found = atomic_load_explicit(place_of(semaphore), memory_order_relaxed) ^ mark_of(semaphore);
    return found >> THREAD_BITS == 0 ? (uint32_t)found : 0;
}

void osrt_forget_holders(void)
{
    own_thread = 0;
    for (unsigned i = 0; i < HOLDERS; i++)
        atomic_store_explicit(&holders[i], 0, memory_order_relaxed);
}

EXPORT int sem_trywait(sem_t *semaphore)
{
    ensure_resolved();
    int result = real.trywait(semaphore);
    if (result == 0 && osrt_is_on())
        note_taken(semaphore);
    return result;
}

#define WAIT(expression)                                                 \
    do {                                                                 \
        ensure_resolved();                                               \
        if (!osrt_is_on())                                               \
            return expression;                                           \
        pthread_testcancel(); /* as the C library does first */          \
        int saved_errno = errno;                                         \
        if (LIKELY(real.trywait(semaphore) == 0)) {                      \
            note_taken(semaphore);                                       \
            return 0;                                                    \
        }                                                                \
        errno = saved_errno;                                             \
        struct osrt_call call = {.function = OSRT_SEMAPHORE,             \
                                 .descriptor = -1,                       \
                                 .object = (uintptr_t)semaphore,         \
                                 .holder = holder_of(semaphore),         \
                                 .caller = __builtin_return_address(0)}; \
        call.start_ns = wl_clock(CLOCK_MONOTONIC);                       \
        osrt_begin(&call);                                               \
        call.result = expression;                                        \
        if (call.result == 0 && call.holder != 0)                        \
            note_taken(semaphore);                                       \
        osrt_finish(&call);                                              \
        return (int)call.result;                                         \
    } while (0)

EXPORT int sem_wait(sem_t *semaphore) { WAIT(real.wait(semaphore)); }

EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *until) { WAIT(real.timedwait(semaphore, until)); }

EXPORT int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
    WAIT(real.clockwait(semaphore, clock, until));
}

EXPORT int sem_post(sem_t *semaphore)
{
    ensure_resolved();
    if (holder_of(semaphore) != 0)
        atomic_store_explicit(place_of(semaphore), 0, memory_order_relaxed);
    uint64_t data;
    memcpy(&data, semaphore, sizeof data);
    /* The time is read before the release, so that no waiter ends earlier; writing waits until after it. */
    uint64_t now = UNLIKELY(data >> 32 != 0) && osrt_is_on() ? wl_clock(CLOCK_MONOTONIC) : 0;
    int result = real.post(semaphore);
    if (UNLIKELY(now != 0))
        osrt_release(OSRT_SEMAPHORE, semaphore, now, __builtin_return_address(0));
    return result;
}
