/* Locks, conditions, semaphores, joins, and Python's GIL. A free lock costs one extra call. Only waits are measured,
 * and a release is recorded only when somebody waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "osrt.h"
#include "own_threads.h"
#include "python_layout.h"
#include "python_memory.h"

const void *_Atomic osrt_gil;
/* Set in the thread that searches for the GIL: its next wait is on the GIL's condition. */
static __thread bool is_probing __attribute__((tls_model("initial-exec")));
static _Atomic(const void *) probed;

/* clang-format off */
#define LOCKS(apply)                                                                                                \
    apply(pthread_mutex_lock) apply(pthread_mutex_trylock) apply(pthread_mutex_unlock)                              \
    apply(pthread_mutex_timedlock) apply(pthread_mutex_clocklock) apply(pthread_rwlock_rdlock)                      \
    apply(pthread_rwlock_wrlock) apply(pthread_rwlock_tryrdlock) apply(pthread_rwlock_trywrlock)                    \
    apply(pthread_rwlock_timedrdlock) apply(pthread_rwlock_timedwrlock) apply(pthread_rwlock_unlock)                \
    apply(pthread_barrier_wait) apply(pthread_join)
/* clang-format on */
/* glibc has two versions of these; without one the loader may return the older, with another layout. */
#define CONDITIONS(apply) \
    apply(pthread_cond_wait) apply(pthread_cond_timedwait) apply(pthread_cond_signal) apply(pthread_cond_broadcast)

/* Newer than the oldest C library this is built against. */
int pthread_mutex_clocklock(pthread_mutex_t *, clockid_t, const struct timespec *);
int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

#define DECLARE(name) __typeof__(&name) name;
/* Read by every lock: kept together, first. */
static struct {
    _Atomic bool is_resolved;
    LOCKS(DECLARE) CONDITIONS(DECLARE) DECLARE(pthread_cond_clockwait)
} real __attribute__((aligned(64)));

#if defined(__x86_64__)
#define CONDITION_VERSION "GLIBC_2.3.2"
#else
#define CONDITION_VERSION NULL
#endif

__attribute__((constructor(FIRST_CONSTRUCTOR))) static void resolve(void)
{
#define RESOLVE(name) real.name = (__typeof__(&name))wl_real(#name, NULL);
#define RESOLVE_CONDITION(name) real.name = (__typeof__(&name))wl_real(#name, CONDITION_VERSION);
    LOCKS(RESOLVE)
    CONDITIONS(RESOLVE_CONDITION)
    RESOLVE(pthread_cond_clockwait)
    atomic_store_explicit(&real.is_resolved, true, memory_order_release);
}

/* Constructors of libraries that are initialised before this one may call earlier. */
#define ENSURE_RESOLVED()                                                             \
    do {                                                                              \
        if (UNLIKELY(!atomic_load_explicit(&real.is_resolved, memory_order_acquire))) \
            resolve();                                                                \
    } while (0)

#define WAIT(what, about, by, expression)                                \
    do {                                                                 \
        struct osrt_call call = {.function = (what),                     \
                                 .descriptor = -1,                       \
                                 .object = (uint64_t)(uintptr_t)(about), \
                                 .holder = (by),                         \
                                 .caller = __builtin_return_address(0)}; \
        call.start_ns = wl_clock(CLOCK_MONOTONIC);                       \
        osrt_begin(&call);                                               \
        int result = expression;                                         \
        call.result = result;                                            \
        osrt_finish(&call);                                              \
        return result;                                                   \
    } while (0)

/* --- the GIL
 *
 * Its condition is waited on with its mutex, which every thread needs to take or drop the GIL. So a wait is written
 * only after the mutex is free again. */

static __thread struct {
    struct osrt_call call;
    uint64_t end_ns;
    bool is_there;
} gil_wait __attribute__((tls_model("initial-exec")));

static inline const void *gil_mutex(void) { return (const char *)osrt_gil_address() + sizeof(pthread_cond_t); }

static void write_gil_wait(void)
{
    gil_wait.is_there = false;
    osrt_write(&gil_wait.call, gil_wait.end_ns);
}

/* One attempt to take the GIL waits in pieces of the switch interval. */
static void finish_gil_wait(const struct osrt_call *call)
{
    uint64_t now = wl_clock(CLOCK_MONOTONIC);
    if (call->waiting != NULL)
        __atomic_store_n(&call->waiting->start_ns, 0, __ATOMIC_RELAXED);
    if (!gil_wait.is_there && now - call->start_ns < osrt_threshold_ns)
        return;
    if (!gil_wait.is_there)
        gil_wait.call = *call;
    gil_wait.call.result = call->result;
    gil_wait.end_ns = now;
    gil_wait.is_there = true;
}

/* --- mutexes: glibc stores the owner and whether somebody waits in the mutex */

static inline uint32_t owner_of(const pthread_mutex_t *mutex)
{
    return (uint32_t)__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);
}

/* 0 if it was free; otherwise trylock's error. */
static inline int take(pthread_mutex_t *mutex) { return real.pthread_mutex_trylock(mutex); }

#define LOCK_MUTEX(expression)                                                                \
    do {                                                                                      \
        ENSURE_RESOLVED();                                                                    \
        int taken = take(mutex);                                                              \
        if (LIKELY(taken == 0) || taken == EOWNERDEAD)                                        \
            return taken;                                                                     \
        if (!osrt_is_on())                                                                    \
            return expression;                                                                \
        WAIT(osrt_is_gil(mutex) ? OSRT_GIL : OSRT_MUTEX, mutex, owner_of(mutex), expression); \
    } while (0)

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex) { LOCK_MUTEX(real.pthread_mutex_lock(mutex)); }

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    LOCK_MUTEX(real.pthread_mutex_timedlock(mutex, until));
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
    LOCK_MUTEX(real.pthread_mutex_clocklock(mutex, clock, until));
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    ENSURE_RESOLVED();
    /* 2 in the lock word: taken, with a sleeping waiter (nptl/lowlevellock.h). */
    bool is_wanted = __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 2;
    /* The time is read before the release, so that no waiter ends earlier; writing waits until after it. */
    uint64_t now = UNLIKELY(is_wanted) && osrt_is_on() && !osrt_is_gil(mutex) ? wl_clock(CLOCK_MONOTONIC) : 0;
    int result = real.pthread_mutex_unlock(mutex);
    if (UNLIKELY(gil_wait.is_there) && (const void *)mutex == gil_mutex())
        write_gil_wait();
    if (UNLIKELY(now != 0))
        osrt_release(OSRT_MUTEX, mutex, now, __builtin_return_address(0));
    return result;
}

/* --- readers and writers */

#define LOCK_BOTH(what, attempt, expression)                               \
    do {                                                                   \
        ENSURE_RESOLVED();                                                 \
        if (LIKELY(real.attempt(lock) == 0))                               \
            return 0;                                                      \
        if (!osrt_is_on())                                                 \
            return expression;                                             \
        WAIT(what, lock, (uint32_t)lock->__data.__cur_writer, expression); \
    } while (0)

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    LOCK_BOTH(OSRT_READ_LOCK, pthread_rwlock_tryrdlock, real.pthread_rwlock_rdlock(lock));
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    LOCK_BOTH(OSRT_WRITE_LOCK, pthread_rwlock_trywrlock, real.pthread_rwlock_wrlock(lock));
}

EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
    LOCK_BOTH(OSRT_READ_LOCK, pthread_rwlock_tryrdlock, real.pthread_rwlock_timedrdlock(lock, until));
}

EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
    LOCK_BOTH(OSRT_WRITE_LOCK, pthread_rwlock_trywrlock, real.pthread_rwlock_timedwrlock(lock, until));
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    ENSURE_RESOLVED();
    /* Waiting readers and writers sleep on separate futexes, whose words are then not 0 (glibc 2.25 and later). */
    bool is_wanted = (lock->__data.__wrphase_futex & 2u) || lock->__data.__writers_futex > 1u;
    uint64_t now = UNLIKELY(is_wanted) && osrt_is_on() ? wl_clock(CLOCK_MONOTONIC) : 0;
    int result = real.pthread_rwlock_unlock(lock);
    if (UNLIKELY(now != 0))
        osrt_release(OSRT_WRITE_LOCK, lock, now, __builtin_return_address(0));
    return result;
}

/* --- conditions */

/* The GIL's holder: `last_holder` in CPython's struct, 24 bytes before the condition. */
static uint32_t gil_holder(bool is_mutex_held)
{
    uintptr_t thread = 0;
    uint64_t id = 0;
    if (!python_is_readable())
        return 0;
    memcpy(&thread, (const char *)osrt_gil_address() - 24, sizeof thread);
    if (thread == 0)
        return 0;
    /* While we hold the mutex, nobody can drop the GIL and end: the thread exists. */
    if (is_mutex_held)
        memcpy(&id, (const char *)thread + python_layout.thread_native_id, sizeof id);
    else if (!python_read(&id, thread + python_layout.thread_native_id, sizeof id))
        return 0;
    return (uint32_t)id;
}

#define CONDITION_WAIT(expression)                                           \
    do {                                                                     \
        ENSURE_RESOLVED();                                                   \
        if (UNLIKELY(is_probing)) {                                          \
            is_probing = false;                                              \
            atomic_store_explicit(&probed, condition, memory_order_release); \
        }                                                                    \
        if (!osrt_is_on())                                                   \
            return expression;                                               \
        if (UNLIKELY((const void *)condition == osrt_gil_address())) {       \
            struct osrt_call call = {.function = OSRT_GIL,                   \
                                     .descriptor = -1,                       \
                                     .object = (uintptr_t)condition,         \
                                     .holder = gil_holder(true),             \
                                     .caller = __builtin_return_address(0)}; \
            call.start_ns = wl_clock(CLOCK_MONOTONIC);                       \
            osrt_begin(&call);                                               \
            call.result = expression;                                        \
            finish_gil_wait(&call);                                          \
            return (int)call.result;                                         \
        }                                                                    \
        if (osrt_is_gil(condition))                                          \
            WAIT(OSRT_GIL, condition, gil_holder(false), expression);        \
        WAIT(OSRT_COND_WAIT, condition, 0, expression);                      \
    } while (0)

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    CONDITION_WAIT(real.pthread_cond_wait(condition, mutex));
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    CONDITION_WAIT(real.pthread_cond_timedwait(condition, mutex, until));
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *until)
{
    CONDITION_WAIT(real.pthread_cond_clockwait(condition, mutex, clock, until));
}

/* The upper bits of `__wrefs` count waiters. The GIL is released thousands of times a second, so it is excluded: the
 * record of a wait has its holder. */
static inline bool has_waiters(const pthread_cond_t *condition)
{
    return __atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED) >> 3 != 0 && !osrt_is_gil(condition);
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
    ENSURE_RESOLVED();
    uint64_t now = UNLIKELY(has_waiters(condition)) && osrt_is_on() ? wl_clock(CLOCK_MONOTONIC) : 0;
    int result = real.pthread_cond_signal(condition);
    if (UNLIKELY(now != 0))
        osrt_release(OSRT_COND_WAIT, condition, now, __builtin_return_address(0));
    return result;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
    ENSURE_RESOLVED();
    uint64_t now = UNLIKELY(has_waiters(condition)) && osrt_is_on() ? wl_clock(CLOCK_MONOTONIC) : 0;
    int result = real.pthread_cond_broadcast(condition);
    if (UNLIKELY(now != 0))
        osrt_release(OSRT_COND_WAIT, condition, now, __builtin_return_address(0));
    return result;
}

/* --- barriers and threads */

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    ENSURE_RESOLVED();
    if (!osrt_is_on())
        return real.pthread_barrier_wait(barrier);
    WAIT(OSRT_BARRIER, barrier, 0, real.pthread_barrier_wait(barrier));
}

EXPORT int pthread_join(pthread_t thread, void **result_of_thread)
{
    ENSURE_RESOLVED();
    if (!osrt_is_on())
        return real.pthread_join(thread, result_of_thread);
    WAIT(OSRT_JOIN, thread, 0, real.pthread_join(thread, result_of_thread));
}

/* --- finding the GIL */

static void wait_for_gil(void)
{
    is_probing = true;
    int gil = python.ensure_gil();
    is_probing = false;
    python.release_gil(gil);
}

/* A thread that asks for the GIL while the caller holds it waits on the GIL's condition, in every version: that is
 * its address. Accepted only if the holder beside it is the caller. */
void osrt_find_gil(void)
{
    if (osrt_gil_address() != NULL || !wl_start_thread(wait_for_gil))
        return;
    const void *found = NULL;
    for (int attempt = 0; attempt < 200 && found == NULL; attempt++) {
        struct timespec pause = {0, 50000};
        syscall(SYS_nanosleep, &pause, NULL);
        found = atomic_load_explicit(&probed, memory_order_acquire);
    }
    uintptr_t holder = 0;
    if (found != NULL && python_read(&holder, (uintptr_t)found - 24, sizeof holder) &&
        holder == (uintptr_t)python.this_thread_state())
        atomic_store_explicit(&osrt_gil, found, memory_order_relaxed);
}
