/* Calls that block, measured where the program makes them: the functions of the C library that this library, when it
 * is preloaded, stands in for. A call is written down only when it lasted longer than the threshold. */
#ifndef WARPLINE_OSRT_H
#define WARPLINE_OSRT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "interpose.h"
#include "spool.h"

/* Numbers are in the file: docs/spool.md lists them. */
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

/* The file, pipe, socket behind a descriptor, as text. Found out once and again when the descriptor was given anew. */
uint32_t osrt_descriptor_text(int descriptor, bool is_long);
/* By descriptor, 0 where it is not known. */
#define DESCRIPTORS 4096
extern _Atomic uint32_t osrt_known_texts[DESCRIPTORS];
uint32_t osrt_find_waiting_text(int descriptor);
/* The same before the call: of a plain file 0, unless it was found out before. */
static inline uint32_t osrt_waiting_text(int descriptor)
{
    if (descriptor < 0 || descriptor >= DESCRIPTORS)
        return 0;
    uint32_t text = atomic_load_explicit(&osrt_known_texts[descriptor], memory_order_relaxed);
    return LIKELY(text != 0) ? text : osrt_find_waiting_text(descriptor);
}
/* A pipe, socket, terminal …: what it is read for may never come. */
bool osrt_may_never_come(int descriptor);
/* Reads and writes of it return at once, whether or not there is something (O_NONBLOCK). The kernel is asked each time
 * where the last answer was yes: the mode belongs to what is open, which other descriptors and processes change too, by
 * fcntl, ioctl or the bare call. */
bool osrt_never_waits(int descriptor);
void osrt_forget_descriptor(int descriptor);
/* From `first` to `last`, both included. */
void osrt_forget_descriptors(unsigned int first, unsigned int last);
/* The ends of a pair of sockets, just made. */
void osrt_note_pair(const int ends[2]);
/* What was just opened by a path, which is that text. */
void osrt_note_opened(int descriptor, const char *path, uint32_t text);
/* Before a socket that was forgotten is connected, and when it is. */
void osrt_note_connecting(int descriptor, const struct sockaddr *peer, socklen_t length);
void osrt_note_connected(int descriptor, const struct sockaddr *peer);
void osrt_note_accepted(int listening, int descriptor, const struct sockaddr *peer, const socklen_t *length);
/* `to` leads to what `from` leads to. */
void osrt_note_copy(int from, int to);

struct osrt_call {
    enum osrt_function function;
    int descriptor;  /* -1 without */
    uint64_t object; /* address of a lock, child's id, descriptor … */
    uint64_t start_ns;
    int64_t result;
    uint32_t holder;  /* thread that held a lock when the wait began; 0 when not known */
    const char *text; /* path or host; NULL without */
    const void *caller;
    struct record_osrt_waiting *waiting; /* where it says that it is under way; NULL when it does not */
};

/* The first call of this thread that may last: has it say from now on what it is in. NULL when this one need not. */
struct record_osrt_waiting *osrt_first_wait(const struct osrt_call *call);
/* Where a call comes from, as text; 0 where that is not known yet and finding it out is not `wanted`. */
uint32_t osrt_caller_text(const void *address, bool is_wanted);

/* Just before the call: says what it is, for the case that it never ends. */
static inline void osrt_begin(struct osrt_call *call)
{
    struct record_osrt_waiting *to = LIKELY(wl_self != NULL) ? wl_self->waiting : NULL;
    if (UNLIKELY(to == NULL) && (to = osrt_first_wait(call)) == NULL)
        return;
    struct writer *writer = wl_self;
    if (UNLIKELY(to->start_ns != 0))
        return; /* a signal handler's call, inside another */
    to->object = call->object;
    to->function = call->function;
    to->holder = call->holder;
    to->text = call->descriptor >= 0 ? osrt_waiting_text(call->descriptor) : 0;
    if (writer->waiting_caller != call->caller) { /* most threads wait in one place again and again */
        /* Those from here on always last: what is found out now need not be later. */
        to->caller = osrt_caller_text(call->caller, call->function >= OSRT_SLEEP);
        writer->waiting_caller = to->caller != 0 ? call->caller : NULL;
    }
    __atomic_store_n(&to->start_ns, call->start_ns, __ATOMIC_RELEASE);
    call->waiting = to;
}

/* Ends a call that began at `start_ns`; keeps errno. */
void osrt_write(const struct osrt_call *call, uint64_t end_ns);

static inline void osrt_finish(const struct osrt_call *call)
{
    uint64_t now = wl_clock(CLOCK_MONOTONIC);
    if (call->waiting != NULL)
        __atomic_store_n(&call->waiting->start_ns, 0, __ATOMIC_RELAXED);
    if (UNLIKELY(now - call->start_ns >= osrt_threshold_ns))
        osrt_write(call, now);
}

/* What ends the wait of somebody else: a lock given back that others wait for, a signalled condition. `now` is before
 * it is done. */
void osrt_release(enum osrt_function function, const void *object, uint64_t now, const void *caller);

/* In a forked child: who holds semaphores there is another thread. */
void osrt_forget_holders(void);

/* The program's GIL, as the address of the condition its threads wait on; NULL until it is known. Behind it lie its
 * mutex, and the condition and mutex on which a thread that was asked for it waits until another has taken it. */
extern const void *osrt_gil;
#define GIL_BYTES (2 * (sizeof(pthread_cond_t) + sizeof(pthread_mutex_t)))
static inline bool osrt_is_gil(const void *object)
{
    return UNLIKELY((uintptr_t)object - (uintptr_t)osrt_gil < GIL_BYTES) && osrt_gil != NULL;
}
/* Finds it out: called with the GIL held. */
void osrt_find_gil(void);

#endif
