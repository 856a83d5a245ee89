/* Records blocking calls: the agent, when preloaded, stands in for functions of the C library and writes calls that
 * last longer than the threshold. */
#ifndef WARPLINE_OSRT_H
#define WARPLINE_OSRT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "interpose.h"
#include "spool.h"

/* The numbers are part of the file format (docs/spool.md). */
enum osrt_function {
    OSRT_READ = 1,
    OSRT_WRITE,
    OSRT_PREAD,
    OSRT_PWRITE,
    OSRT_READV,
    OSRT_WRITEV,
    OSRT_RECV,
    OSRT_SEND,
    OSRT_ACCEPT,
    OSRT_CONNECT,
    OSRT_POLL,
    OSRT_SELECT,
    OSRT_EPOLL_WAIT,
    OSRT_OPEN,
    OSRT_FSYNC,
    OSRT_FDATASYNC,
    OSRT_MSYNC,
    OSRT_FLOCK,
    OSRT_LOCKF,
    OSRT_SLEEP,
    OSRT_WAIT,
    OSRT_SIGNAL_WAIT,
    OSRT_GETADDRINFO,
    OSRT_MUTEX,
    OSRT_COND_WAIT,
    OSRT_SEMAPHORE,
    OSRT_READ_LOCK,
    OSRT_WRITE_LOCK,
    OSRT_BARRIER,
    OSRT_JOIN,
    OSRT_GIL,
};

extern uint64_t osrt_threshold_ns;

static inline bool osrt_is_on(void) { return wl_is_recording(SOURCE_OSRT) && LIKELY(wl_quiet == 0); }

/* Text of the file, pipe or socket behind a descriptor; looked up once, and again when the number is reused. */
uint32_t osrt_descriptor_text(int descriptor, bool is_long);
/* By descriptor; 0: unknown. */
#define DESCRIPTORS 4096
extern _Atomic uint32_t osrt_known_texts[DESCRIPTORS];
uint32_t osrt_find_waiting_text(int descriptor);
/* The same before the call; 0 for a plain file that is not known yet. */
static inline uint32_t osrt_waiting_text(int descriptor)
{
    if (descriptor < 0 || descriptor >= DESCRIPTORS)
        return 0;
    uint32_t text = atomic_load_explicit(&osrt_known_texts[descriptor], memory_order_relaxed);
    return LIKELY(text != 0) ? text : osrt_find_waiting_text(descriptor);
}
/* A pipe, socket, terminal …: data may never come. */
bool osrt_may_never_come(int descriptor);
/* Whether reads and writes return at once (O_NONBLOCK). If it was so last time, the kernel is asked again: other
 * descriptors and processes can change the mode by fcntl, ioctl or a bare system call. */
bool osrt_never_waits(int descriptor);
void osrt_forget_descriptor(int descriptor);
/* From `first` to `last`, inclusive. */
void osrt_forget_descriptors(unsigned int first, unsigned int last);
/* A new pair of sockets. */
void osrt_note_pair(const int ends[2]);
/* A descriptor just opened by this path, whose string id is `text`. */
void osrt_note_opened(int descriptor, const char *path, uint32_t text);
/* Before connecting a socket that is not known, and when it is connected. */
void osrt_note_connecting(int descriptor, const struct sockaddr *peer, socklen_t length);
void osrt_note_connected(int descriptor, const struct sockaddr *peer);
void osrt_note_accepted(int listening, int descriptor, const struct sockaddr *peer, const socklen_t *length);
/* `to` is now a copy of `from`. */
void osrt_note_copy(int from, int to);

struct osrt_call {
    enum osrt_function function;
    int descriptor;  /* -1 without */
    uint64_t object; /* address of a lock, id of a child, descriptor … */
    uint64_t start_ns;
    int64_t result;
    uint32_t holder;  /* thread that held the lock when the wait began; 0: unknown */
    const char *text; /* path or host; NULL without */
    const void *caller;
    struct record_osrt_waiting *waiting; /* the thread's record of its current wait; NULL: none */
};

/* This thread's first call that may last: makes its record of waits. NULL if this call needs none. */
struct record_osrt_waiting *osrt_first_wait(const struct osrt_call *call);
/* The caller as text; 0 if it is not known and not `is_wanted`. */
uint32_t osrt_caller_text(const void *address, bool is_wanted);

/* Notes the call before it begins, in case it never ends. */
static inline void osrt_begin(struct osrt_call *call)
{
    struct record_osrt_waiting *to = LIKELY(wl_self != NULL) ? wl_self->waiting : NULL;
    if (UNLIKELY(to == NULL) && (to = osrt_first_wait(call)) == NULL)
        return;
    struct writer *writer = wl_self;
    if (UNLIKELY(to->start_ns != 0))
        return; /* called by a signal handler inside another call */
    to->object = call->object;
    to->function = call->function;
    to->holder = call->holder;
    to->text = call->descriptor >= 0 ? osrt_waiting_text(call->descriptor) : 0;
    if (writer->waiting_caller != call->caller) { /* most threads always wait in the same place */
        /* Calls from here on always last: looking up the caller now saves it later. */
        to->caller = osrt_caller_text(call->caller, call->function >= OSRT_SLEEP);
        writer->waiting_caller = to->caller != 0 ? call->caller : NULL;
    }
    __atomic_store_n(&to->start_ns, call->start_ns, __ATOMIC_RELEASE);
    call->waiting = to;
}

/* Writes a call that began at `start_ns`; keeps errno. */
void osrt_write(const struct osrt_call *call, uint64_t end_ns);

/* Calls of this thread that have no stack of their own, by function and caller. Every `COUNTED_TOGETHER` of them become
 * one record with a stack, so that the places of many short calls are known for the price of few stacks. */
#define COUNTED_PLACES 16u
#define COUNTED_TOGETHER 128u
struct osrt_counted {
    const void *caller;
    uint64_t bytes;
    uint32_t function, count;
};
extern __thread struct osrt_counted osrt_counted[COUNTED_PLACES] __attribute__((tls_model("initial-exec")));
/* Writes a full count and begins the next one; keeps errno. */
void osrt_write_count(struct osrt_counted *counted, uint64_t now);

static inline void osrt_count(const struct osrt_call *call, uint64_t now)
{
    uintptr_t key = (uintptr_t)call->caller ^ ((uintptr_t)call->function * 37u);
    struct osrt_counted *to = &osrt_counted[(key ^ key >> 6) % COUNTED_PLACES];
    if (UNLIKELY(to->caller != call->caller || to->function != call->function))
        *to = (struct osrt_counted){.caller = call->caller, .function = call->function};
    to->bytes += call->result > 0 ? (uint64_t)call->result : 0;
    if (UNLIKELY(++to->count == COUNTED_TOGETHER))
        osrt_write_count(to, now);
}

static inline void osrt_finish(const struct osrt_call *call)
{
    uint64_t now = wl_clock(CLOCK_MONOTONIC);
    if (call->waiting != NULL)
        __atomic_store_n(&call->waiting->start_ns, 0, __ATOMIC_RELAXED);
    if (UNLIKELY(now - call->start_ns >= osrt_threshold_ns))
        osrt_write(call, now);
    else if (call->function <= OSRT_OPEN)
        osrt_count(call, now);
}

/* Records the end of another thread's wait: a contended lock released, a condition signalled. `now` is before the
 * release. */
void osrt_release(enum osrt_function function, const void *object, uint64_t now, const void *caller);

/* In a forked child: forgets the holders of semaphores, which are threads of the parent. */
void osrt_forget_holders(void);

/* The GIL: address of the condition its threads wait on; NULL until found. Its mutex follows, then the condition and
 * mutex on which a thread that drops the GIL waits until another has taken it. */
extern const void *_Atomic osrt_gil;
static inline const void *osrt_gil_address(void) { return atomic_load_explicit(&osrt_gil, memory_order_relaxed); }
#define GIL_BYTES (2 * (sizeof(pthread_cond_t) + sizeof(pthread_mutex_t)))
static inline bool osrt_is_gil(const void *object)
{
    const void *gil = osrt_gil_address();
    return UNLIKELY((uintptr_t)object - (uintptr_t)gil < GIL_BYTES) && gil != NULL;
}
/* Finds the GIL; called with the GIL held. */
void osrt_find_gil(void);

#endif
