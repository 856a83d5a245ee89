/* The sampling thread: waits for the interpreter, has its layout checked, then samples all its threads. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gil_work.h"
#include "interpose.h"
#include "own_threads.h"
#include "sandbox.h"
#include "python_layout.h"
#include "python_memory.h"
#include "python_names.h"
#include "python_stacks.h"
#include "python_tasks.h"
#include "python_walk.h"
#include "source_hooks.h"
#include "spool.h"

#define ATTEMPTS 3
#define MAX_THREADS 4096
#define FIRST_POLL_NS 200000u
#define LAST_POLL_NS 50000000u
#define NUDGE_NS 2000000u
#define CHILD_NAMES_NS 200000000u

static uint64_t period_ns;     /* 0: stacks of waits only, no samples */
static _Atomic int running_in; /* process the thread was started in */
static _Atomic bool is_booted, is_asked;
static bool is_child; /* forked, not executed */

/* --- once, in Python's main thread, with the GIL */

/* Whether Python is between two lines of its import system. Its locks know one import per thread at a time (3.11, 3.12:
 * python/cpython#106176): an import of ours would take away what the interrupted one has noted, which then fails. */
static bool is_importing(void)
{
    void *frame = python.current_frame(), *code = frame != NULL ? python.frame_code(frame) : NULL;
    void *file = code != NULL ? python.attribute(code, "co_filename") : NULL;
    const char *name = file != NULL ? python.text_utf8(file) : NULL;
    bool is_inside = name != NULL && strcmp(name, "<frozen importlib._bootstrap>") == 0;
    if (file != NULL)
        python.release(file);
    if (code != NULL)
        python.release(code);
    python.clear_error();
    return is_inside;
}

static int boot(void *unused)
{
    (void)unused;
    wl_quiet++;
    if (is_importing()) {
        atomic_store(&is_asked, false); /* too early */
        wl_quiet--;
        return 0;
    }
    CALL_SOURCES(python_started);
    python_layout_verify();
    if (python_state() != PYTHON_UNKNOWN) {
        if (python_state() == PYTHON_READY)
            CALL_SOURCES(python_readable);
        atomic_store(&is_booted, true);
    }
    atomic_store(&is_asked, false);
    wl_quiet--;
    return 0;
}

static void write_task(struct writer *writer, uint64_t now, uint32_t tid, uint32_t task)
{
    struct record_python_task *to = WL_RESERVE(writer, SLOT_PYTHON_TASK, record_python_task);
    if (to == NULL)
        return;
    *to = (struct record_python_task){now, tid, task};
    WL_COMMIT(writer, SLOT_PYTHON_TASK, record_python_task);
}

/* The stack of a thread when it was last read, and its CPU time then. */
struct last_read {
    uintptr_t thread;
    uint64_t id, ran_ns, read_ns;
    uint64_t waits_since_ns, waits_at; /* begin of the call it was in, and the round that saw it */
    uint32_t stack, task;
};
#define LAST_READS 512u
static struct last_read last_reads[LAST_READS];

/* CPU time of another thread; 0 if the kernel does not tell. Its clock id is computed from the thread's id. */
static uint64_t time_run_ns(uint64_t id)
{
    struct timespec time;
    clockid_t clock = (clockid_t)(~(uint32_t)id << 3 | 6u);
    return clock_gettime(clock, &time) == 0 ? (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec : 0;
}

/* Notes which threads are in a blocking call, from their own records: no system call. */
static uint64_t find_waiting(void)
{
    static struct thread_waiting waiting[LAST_READS];
    static uint64_t rounds;
    rounds++;
    for (int count = wl_threads_waiting(waiting, (int)LAST_READS), i = 0; i < count; i++) {
        struct last_read *last = &last_reads[waiting[i].tid % LAST_READS];
        if (last->id != waiting[i].tid)
            continue;
        last->waits_since_ns = waiting[i].since_ns;
        last->waits_at = rounds;
    }
    return rounds;
}

/* Whether a thread is where it was last read: still in the same call, or without CPU time since. */
static bool has_rested(const struct last_read *last, uintptr_t thread, uint64_t id, uint64_t round, uint64_t *ran_ns)
{
    *ran_ns = 0;
    bool is_same = last->thread == thread && last->id == id && last->stack != 0;
    if (is_same && last->waits_at == round && last->read_ns >= last->waits_since_ns)
        return true;
    *ran_ns = time_run_ns(id);
    return is_same && *ran_ns != 0 && last->ran_ns == *ran_ns;
}

static void write_sample(struct writer *writer, uint64_t now, uint32_t tid, uint32_t stack, uint32_t task)
{
    names_note_thread(tid);
    if (task != 0)
        write_task(writer, now, tid, task);
    struct record_python_sample *to = WL_RESERVE(writer, SLOT_PYTHON_SAMPLE, record_python_sample);
    if (to == NULL)
        return;
    *to = (struct record_python_sample){now, tid, stack};
    WL_COMMIT(writer, SLOT_PYTHON_SAMPLE, record_python_sample);
}

/* A thread that moved mostly did so while this one had no core, so it is read again at once. If it moved every time,
 * stack 0 is written, so that these are counted. */
static void sample_thread(struct writer *writer, struct walk *walk, uintptr_t thread, uint64_t round)
{
    uint64_t id = walk_thread_id(walk), now = wl_now(writer);
    uint32_t stack = 0, task = 0;
    int depth = -1;
    if (id == 0 || id > INT32_MAX)
        return;
    struct last_read *last = &last_reads[id % LAST_READS];
    uint64_t ran_ns;
    if (has_rested(last, thread, id, round, &ran_ns)) {
        write_sample(writer, now, (uint32_t)id, last->stack, last->task);
        return;
    }
    if (!walk_read_again(walk, thread))
        return;
    for (int attempt = 0; attempt < ATTEMPTS && depth != 0 && stack == 0; attempt++) {
        now = wl_now(writer);
        depth = walk_stack(walk, thread);
        task = depth > 0 ? task_of_sampled(walk->coroutine, &walk->said.task, walk->task_size) : 0;
        stack = depth > 0 ? stack_intern(&walk->codes, walk->frames, depth) : 0;
        if (depth < 0 && !walk_read_thread(walk, thread))
            return;
    }
    if (depth == 0)
        return;
    write_sample(writer, now, (uint32_t)id, stack, task);
    *last = (struct last_read){thread, id, ran_ns, now, 0, 0, stack, task};
}

static void sample(struct writer *writer, struct walk *walk)
{
    uintptr_t interpreter = 0, thread = 0;
    if (!python_is_readable() || !walk_begin(walk) ||
        !python_read(&interpreter, (uintptr_t)python.runtime + python_layout.interpreters_head, sizeof interpreter))
        return;
    uint64_t round = find_waiting();
    for (int interpreters = 0; interpreter != 0 && interpreters < 64; interpreters++) {
        if (!python_read(&thread, interpreter + python_layout.threads_head, sizeof thread))
            return;
        for (int threads = 0; thread != 0 && threads < MAX_THREADS; threads++) {
            if (!walk_find_thread(walk, thread))
                return;
            uintptr_t next = walk_next_thread(walk);
            sample_thread(writer, walk, thread, round);
            thread = next;
        }
        if (!python_read(&interpreter, interpreter + python_layout.interpreter_next, sizeof interpreter))
            return;
    }
}

/* --- the thread */

static void rest(uint64_t time_ns)
{
    struct timespec time = {(time_t)(time_ns / 1000000000u), (long)(time_ns % 1000000000u)};
    nanosleep(&time, NULL);
}

static void do_nothing(void) {}

static struct gil_work nudge = {.run = do_nothing};

/* Waits until Python has run `boot`; false if this thread must end first. Asks again as long as it was too early. 3.11 notices a call queued by
 * another thread only when it next releases the GIL (Py_AddPendingCall checks there whether *this* thread may run
 * it), so another thread makes it release the GIL. */
static bool wait_for_python(void)
{
    for (uint64_t pause = FIRST_POLL_NS, waited = 0; !atomic_load(&is_booted); rest(pause), waited += pause) {
        if (pause < LAST_POLL_NS)
            pause += pause / 16;
        wl_end_with_program();
        if (wl_must_end())
            return false;
        if (!python.is_initialized() || python.is_finalizing())
            continue;
        if (!atomic_exchange(&is_asked, true)) {
            waited = 0;
            if (python.add_pending_call(boot, NULL) != 0)
                atomic_store(&is_asked, false);
        } else if (waited > NUDGE_NS) {
            waited = 0;
            gil_work_request(&nudge);
        }
    }
    return true;
}

static void sample_until_stopped(void)
{
    bool is_readable = python_state() == PYTHON_READY;
    wl_write_source_state("python", is_readable, python_refusal(),
                          is_readable ? "" : "record with CPython 3.11 to 3.15, built with a GIL", 0);
    struct writer *writer = wl_writer();
    struct walk *walk = calloc(1, sizeof *walk);
    if (period_ns == 0 || writer == NULL || walk == NULL || !is_readable) {
        free(walk);
        return;
    }
    prctl(PR_SET_TIMERSLACK, 1UL);
    python_memory_read_often();
    if (is_child)
        names_wait_until(wl_clock(CLOCK_MONOTONIC) + CHILD_NAMES_NS);
    for (uint64_t next = wl_clock(CLOCK_MONOTONIC) + period_ns;; next += period_ns) {
        uint64_t now = wl_clock(CLOCK_MONOTONIC);
        if (now < next)
            rest(next - now);
        else
            next = now; /* late: skip the missed samples */
        wl_end_with_program();
        bool is_stopping = atomic_load_explicit(&wl_control->state, memory_order_relaxed) == STATE_STOPPING;
        /* A process that is not recorded because of its sandbox may still end by its main thread alone. */
        if (wl_must_end() || (is_stopping && !wl_is_confined()))
            break;
        if (wl_is_recording(SOURCE_PYTHON)) {
            sample(writer, walk);
            names_write_new(writer, next);
            tasks_find(next);
        }
    }
    free(walk);
}

static void follow(void)
{
    if (!wait_for_python())
        return;
    sample_until_stopped();
    if (!wl_must_end())
        gil_work_end();
}

/* Sources that do not need Python, although the agent may be preloaded for them. */
#define SOURCES_WITHOUT_PYTHON (SOURCE_CPU | SOURCE_NVTX | SOURCE_CUDA | SOURCE_NVML)

/* Starts the thread once per process, if the process has Python and a source needs it. */
static void start_sampler(void)
{
    if ((atomic_load(&wl_control->sources) & ~SOURCES_WITHOUT_PYTHON) == 0)
        return;
    int process = (int)getpid(), before_fork = atomic_exchange(&running_in, process);
    if (before_fork == process || !python_find())
        return;
    is_child = before_fork != 0;
    const char *options = getenv("WARPLINE_PYTHON");
    const char *rate = options ? strstr(options, "hz=") : NULL;
    unsigned long hz = rate ? strtoul(rate + 3, NULL, 10) : 0;
    period_ns = hz ? 1000000000u / hz : 0;
    wl_start_thread(follow);
}

REGISTER_SOURCE(.start_threads = start_sampler, .file_opened_locked = stacks_dump_locked,
                .python_stack = stack_and_task, .confining = stacks_prepare);
