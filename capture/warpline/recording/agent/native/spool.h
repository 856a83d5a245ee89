/* The spool file of this process (docs/spool.md). Each chunk has one writing thread, which needs no lock and no
 * system call per record. Slow operations (a new chunk, a new string, opening the file) take one lock. */
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

enum { STATE_RECORDING = 0, STATE_PAUSED = 1, STATE_STOPPING = 2 }; /* 3 is used by the recorder alone */

struct control_page {
    char magic[8];
    union {
        _Atomic uint64_t change; /* both, changed together: the state is the upper half */
        struct {
            _Atomic uint32_t epoch, state;
        };
    };
    _Atomic uint64_t changed_ns;
    _Atomic uint32_t sources;
    _Atomic uint32_t confined; /* spool files of processes in a sandbox */
    _Atomic uint64_t size_cap;
    _Atomic uint64_t steps;                  /* that the process with the most has ended */
    _Atomic uint64_t first_step, until_step; /* a snapshot, by the steps that have ended then; until 0: none */
    _Atomic uint64_t began_ns;               /* when the first thread began the snapshot's steps */
    _Atomic uint64_t inside[400];            /* process << 32 | id of each thread in these steps; 0: free */
};

struct chunk_header {
    _Atomic uint32_t magic;
    uint32_t type, record_size, tid;
    uint64_t size;
    _Atomic uint64_t committed;
    uint64_t free;
    uint32_t is_closed;       /* complete: no more writes */
    uint32_t process, parent; /* of a child forked in a sandbox, which shares the file; 0: the file's process */
    uint8_t reserved[12];
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
    /* Lowest level popped while paused since the last record, and when; NVTX_LEVEL_UNBALANCED if none was. Without it
     * the next pop would seem to end a range that ended during the pause. */
    uint32_t lost_level;
    uint64_t lost_ns;
};

/* An operator of a framework that has not ended. */
struct open_operator {
    uint64_t start_ns;
    int64_t sequence;
    uint32_t name, thread;
};

/* An event of Paddle that has not ended; `event` is the object. */
struct open_event {
    const void *event;
    uint64_t start_ns;
    uint32_t name, type;
};

struct writer {
    uint64_t last_ns;
    uint32_t tid, serial; /* serial: distinguishes threads that had the same id one after the other */
    bool is_busy;         /* in a slow path, which a signal handler must not enter again */
    uint32_t domain_count;
    struct open_ranges *domains; /* by NVTX domain */
    uint32_t operator_depth, operator_room;
    struct open_operator *operators;
    uint32_t event_depth, event_room;
    struct open_event *events;
    struct recent_name *recent_names;    /* recent_names.c; NULL until first used */
    uint32_t framework_thread;           /* the framework's id of this thread; 0: not known yet */
    bool is_without_operators;           /* operators of this thread are recorded by other means */
    struct record_osrt_waiting *waiting; /* this thread's record of its current wait; NULL until its first wait */
    const void *waiting_caller;          /* return address that `waiting` describes; NULL: none */
    struct writer *next, *previous;
    struct cursor cursors[SLOT_COUNT];
};

/* The process id, cached: asking costs a system call. */
extern int wl_process;
extern struct control_page *wl_control; /* never NULL: a page of our own, stopped, until a session is found */
extern __thread struct writer *wl_self __attribute__((tls_model("initial-exec")));

/* Whether WARPLINE_SPOOL names a session this process can write to. Idempotent. */
bool wl_start(void);
/* From now on, writes to the session in this directory, whatever the process wrote to before. */
bool wl_join(const char *directory);
/* Called when the process exits. Later code (destructors, other threads) may still record. */
void wl_mark_finished(void);

struct writer *wl_create_writer(void);
/* This thread's writer; NULL if memory ran out. */
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

/* CLOCK_MONOTONIC, strictly increasing within a thread: with equal times the order of a push and a pop in different
 * chunks would be lost. */
static inline uint64_t wl_now(struct writer *writer)
{
    uint64_t now = wl_clock(CLOCK_MONOTONIC);
    if (UNLIKELY(now <= writer->last_ns))
        now = writer->last_ns + 1;
    writer->last_ns = now;
    return now;
}

void *wl_next_chunk(struct writer *writer, enum slot slot, size_t size);

/* Sets the writer's `waiting`; false if there is no room. */
bool wl_make_waiting(struct writer *writer);
/* Fills `to` with the threads that are in a blocking call now, and since when; returns their number. */
struct thread_waiting {
    uint64_t since_ns;
    uint32_t tid;
};
int wl_threads_waiting(struct thread_waiting *to, int most);

/* Room for one record; NULL, counted as lost, if there is none. Follow with wl_commit. */
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

/* A record that every spool file needs: written now, or when the file is opened, and again in each forked child. */
void wl_define(enum slot slot, const void *record, size_t size);

void wl_write_clock_pair(uint64_t third_ns);
void wl_write_source_state(const char *name, bool is_enabled, const char *reason, const char *remedy, uint64_t lost);
/* A capture range began or ended here: every process sees it at once, and the recorder follows. */
void wl_capture_range(bool is_start);
/* A step of training ended in this thread, its `count`-th: a snapshot may begin or end here. */
void wl_step_ended(uint64_t count);

uint64_t wl_strings_refused(void);

/* Sets the folder of the ring that keeps the end of the standard error. It is opened at the first write. */
void wl_find_error_ring(const char *folder);
/* Opens it now, and looks whether the standard error is the one that it keeps: for a process that enters a sandbox. */
void wl_prepare_error_ring(void);
/* Adds to that ring what was just written to the standard error. */
void wl_keep_error_text(const void *text, size_t size);

#endif
