/* The spool file of this process: see docs/spool.md. One thread writes a chunk, without locks and without system
 * calls per record; what is slow (a new chunk, a new string, opening the file) happens under one lock. */
#ifndef WARPLINE_SPOOL_H
#define WARPLINE_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "records.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum { STATE_RECORDING = 0, STATE_PAUSED = 1, STATE_STOPPING = 2 }; /* 3: the recorder's alone */

struct control_page {
    char magic[8];
    union {
        _Atomic uint64_t change; /* both, to be changed together: the state stands in the upper half */
        struct {
            _Atomic uint32_t epoch, state;
        };
    };
    _Atomic uint64_t changed_ns;
    _Atomic uint32_t sources;
    uint32_t reserved;
    _Atomic uint64_t size_cap;
};

struct chunk_header {
    _Atomic uint32_t magic;
    uint32_t type, record_size, tid;
    uint64_t size;
    _Atomic uint64_t committed;
    uint64_t free;
    uint32_t is_closed; /* nobody will write into it any more */
    uint8_t reserved[20];
};
_Static_assert(sizeof(struct chunk_header) == 64, "docs/spool.md");

/* clang-format off */
/* One cursor per record type and thread. */
enum slot {
#define SLOT(name) SLOT_##name,
    SLOTS(SLOT)
#undef SLOT
    SLOT_COUNT
};
/* clang-format on */

struct cursor {
    uint8_t *position, *end;
    struct chunk_header *chunk;
    uint32_t next_size;
};

/* The push/pop ranges a thread has open in one NVTX domain. */
struct open_ranges {
    uint32_t depth;
    /* Lowest level that was popped while nothing was recorded since the last record, and when; NVTX_LEVEL_UNBALANCED
     * when there was none. Without it the next pop would seem to end a range that ended during a pause. */
    uint32_t lost_level;
    uint64_t lost_ns;
};

/* An operator of a framework that has begun. */
struct open_operator {
    uint64_t start_ns;
    int64_t sequence;
    uint32_t name, thread;
};

/* An event of Paddle's that has begun; `event` is the object. */
struct open_event {
    const void *event;
    uint64_t start_ns;
    uint32_t name, type;
};

struct writer {
    uint64_t last_ns;
    uint32_t tid, serial; /* serial: tells threads apart that had the same id one after the other */
    bool is_busy;         /* in a slow path: a signal handler must not enter it again */
    uint32_t domain_count;
    struct open_ranges *domains; /* by NVTX domain */
    uint32_t operator_depth, operator_room;
    struct open_operator *operators;
    uint32_t event_depth, event_room;
    struct open_event *events;
    struct recent_name *recent_names;    /* of operators (torch/native/operators.c); NULL until there is one */
    uint32_t framework_thread;           /* what a framework calls this thread; 0 until it was asked */
    bool is_without_operators;           /* something else tells those of this thread */
    struct record_osrt_waiting *waiting; /* what this thread waits for, in the file; NULL until it first waits */
    const void *waiting_caller;          /* return address whose text `waiting` has; NULL: none */
    struct writer *next, *previous;
    struct cursor cursors[SLOT_COUNT];
};

/* Of this process, as the kernel has it: asking costs a system call. */
extern int wl_process;
extern struct control_page *wl_control; /* never NULL: a stopped page of our own until a session is found */
extern __thread struct writer *wl_self __attribute__((tls_model("initial-exec")));

/* True when WARPLINE_SPOOL names a session this process can write to. Idempotent. */
bool wl_start(void);
/* Writes to the session in this directory from now on, whatever was written before went elsewhere or nowhere. */
bool wl_join(const char *directory);
/* Set once the process is exiting: what exits later (destructors, other threads) may still record. */
void wl_mark_finished(void);

struct writer *wl_create_writer(void);
/* This thread's writer, or NULL when memory ran out. */
static inline struct writer *wl_writer(void) { return LIKELY(wl_self != NULL) ? wl_self : wl_create_writer(); }

static inline bool wl_is_recording(uint32_t source)
{
    return LIKELY(atomic_load_explicit(&wl_control->state, memory_order_relaxed) == STATE_RECORDING &&
                  (atomic_load_explicit(&wl_control->sources, memory_order_relaxed) & source));
}

static inline uint64_t wl_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CLOCK_MONOTONIC, strictly increasing within a thread: equal times would lose the order of a push and a pop that
 * lie in different chunks. */
static inline uint64_t wl_now(struct writer *writer)
{
    uint64_t now = wl_clock(CLOCK_MONOTONIC);
    if (UNLIKELY(now <= writer->last_ns))
        now = writer->last_ns + 1;
    writer->last_ns = now;
    return now;
}

void *wl_next_chunk(struct writer *writer, enum slot slot, size_t size);

/* Gives the writer its `waiting`; false when there is no room. */
bool wl_make_waiting(struct writer *writer);
/* Threads that are in a call just now, and since when; how many. */
struct thread_waiting {
    uint64_t since_ns;
    uint32_t tid;
};
int wl_threads_waiting(struct thread_waiting *to, int most);

/* Room for one record, or NULL (counted as lost) when there is none. Follow with wl_commit. */
static inline void *wl_reserve(struct writer *writer, enum slot slot, size_t size)
{
    struct cursor *cursor = &writer->cursors[slot];
    if (LIKELY(cursor->position + size <= cursor->end))
        return cursor->position;
    return wl_next_chunk(writer, slot, size);
}

static inline void wl_commit(struct writer *writer, enum slot slot, size_t size)
{
    struct cursor *cursor = &writer->cursors[slot];
    cursor->position += size;
    atomic_store_explicit(&cursor->chunk->committed,
                          (uint64_t)(cursor->position - (uint8_t *)cursor->chunk) - sizeof(struct chunk_header),
                          memory_order_release);
}

#define WL_RESERVE(writer, slot, type) ((struct type *)wl_reserve((writer), (slot), sizeof(struct type)))
#define WL_COMMIT(writer, slot, type) wl_commit((writer), (slot), sizeof(struct type))

void wl_count_lost(uint64_t records);

/* The id of a text; 0 for NULL and "". Ids stay valid in forked children. */
uint32_t wl_intern(const char *text, size_t length);
uint32_t wl_intern_text(const char *text);
uint32_t wl_intern_wide(const wchar_t *text);

/* A record that a forked child needs too: written now (or when the file is opened) and again in every child. */
void wl_define(enum slot slot, const void *record, size_t size);

void wl_write_clock_pair(uint64_t third_ns);
void wl_write_source_state(const char *name, bool is_enabled, const char *reason, const char *remedy, uint64_t lost);
/* A capture range began or ended in this process: every other process sees it at once, and the recorder follows. */
void wl_capture_range(bool is_start);

uint64_t wl_strings_refused(void);

/* Where the ring is that keeps the last of the program's standard error; it is opened when something is written there. */
void wl_find_error_ring(const char *folder);
/* Keeps what was just written to the standard error. */
void wl_keep_error_text(const void *text, size_t size);

#endif
