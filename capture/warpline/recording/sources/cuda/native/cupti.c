/* CUPTI activity, through CUDA_INJECTION64_PATH: the CUDA driver calls InitializeInjection inside cuInit, so programs
 * without CUDA pay nothing. A thread of the agent follows the control page, flushes, and writes clock pairs. Failures
 * are written as the state of the source "cuda"; the program runs on. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti_internal.h"
#include "cupti_sharing.h"
#include "interpose.h"
#include "own_threads.h"
#include "spool.h"

#define POLL_NS 20000000u
#define FLUSH_EVERY_NS 250000000u
#define CLOCKS_EVERY_NS 1000000000u
/* From the end of the recording to the forced flush; the recorder reads the spool after AGENT_FLUSH_S (recorder.py). */
#define LAST_WORK_NS 90000000u
/* How long an ending process waits for another thread's flush. */
#define LAST_FLUSH_NS 5000000000u

static pid_t owner;
static sem_t wake;
static bool is_per_graph, is_with_memory, is_with_latency, is_cuda_capture_range;
static _Atomic bool is_started, is_over; /* is_over: no more calls into CUPTI */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Held around calls into CUPTI that the end of the process or of the session must not meet. Never waited for inside a
 * callback that CUPTI makes with its own lock held. */
static pthread_mutex_t cupti_lock = PTHREAD_MUTEX_INITIALIZER;
/* Under cupti_lock: */
static void *subscriber; /* NULL while CUPTI is not ours */
static bool is_enabled;
static uint32_t earlier_thread_ids;

static uint64_t timestamp(void) { return wl_clock(CLOCK_MONOTONIC); }
static uint64_t default_timestamp(void) { return wl_clock(CLOCK_REALTIME); }

/* Kinds that cost something. Devices, contexts and streams are always on: one created during a pause may be used after
 * it. */
static const uint32_t busy_kinds[] = {
    ACTIVITY_CONCURRENT_KERNEL, ACTIVITY_MEMCPY,      ACTIVITY_MEMCPY2,         ACTIVITY_MEMSET,
    ACTIVITY_RUNTIME,           ACTIVITY_DRIVER,      ACTIVITY_SYNCHRONIZATION, ACTIVITY_EXTERNAL_CORRELATION,
    ACTIVITY_OVERHEAD,          ACTIVITY_GRAPH_TRACE, ACTIVITY_MEMORY2,
};
static const uint32_t quiet_kinds[] = {ACTIVITY_DEVICE, ACTIVITY_CONTEXT, ACTIVITY_STREAM};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_wanted(uint32_t kind)
{
    if (kind == ACTIVITY_GRAPH_TRACE)
        return is_per_graph;
    if (kind == ACTIVITY_MEMORY2)
        return is_with_memory;
    return true;
}

/* Enables what is wanted. At first the failures go into the source's state; without kernels it is off. */
static void enable_kinds(bool is_first)
{
    char reason[512] = "", text[160];
    int worst = CUPTI_OK;
    bool has_kernels = true;
    for (size_t i = 0; i < COUNT(busy_kinds); i++) {
        if (!is_wanted(busy_kinds[i]))
            continue;
        int result = cupti.enable(busy_kinds[i]);
        if (result == CUPTI_OK)
            continue;
        worst = worst ? worst : result;
        has_kernels = has_kernels && busy_kinds[i] != ACTIVITY_CONCURRENT_KERNEL;
        size_t used = strlen(reason);
        snprintf(reason + used, sizeof reason - used, "%sactivity kind %u: %s", used ? "; " : "", busy_kinds[i],
                 cupti_result_text(result, text, sizeof text));
    }
    is_enabled = true;
    if (is_first)
        cupti_set_state(has_kernels, reason, worst ? cupti_remedy_of(worst) : "");
}

static void disable_kinds(void)
{
    for (size_t i = 0; i < COUNT(busy_kinds); i++)
        if (is_wanted(busy_kinds[i]))
            cupti.disable(busy_kinds[i]);
    is_enabled = false;
}

static void flush_locked(uint32_t flag)
{
    if (!is_over && subscriber != NULL)
        cupti.flush_all(flag);
}

static void flush(uint32_t flag)
{
    pthread_mutex_lock(&cupti_lock);
    flush_locked(flag);
    pthread_mutex_unlock(&cupti_lock);
}

/* Turns CUPTI on or off as the control page says; returns whether it was turned off. The agent's thread and threads that
 * begin a range may meet here. They read the page under the lock, so that the last one applies the latest state. */
static bool follow_control(void)
{
    bool is_turned_off = false;
    pthread_mutex_lock(&cupti_lock);
    bool is_wanted_now = wl_is_recording(SOURCE_CUDA);
    if (!is_over && subscriber != NULL && is_wanted_now != is_enabled) {
        if (is_wanted_now)
            enable_kinds(false);
        else
            disable_kinds();
        is_turned_off = !is_wanted_now;
    }
    pthread_mutex_unlock(&cupti_lock);
    return is_turned_off;
}

/* The calls that take a context down. */
static const struct {
    uint32_t domain, id;
} endings[] = {
    {CALLBACK_RUNTIME, RUNTIME_DEVICE_RESET},
    {CALLBACK_DRIVER, DRIVER_CONTEXT_DESTROY},
    {CALLBACK_DRIVER, DRIVER_CONTEXT_DESTROY_V2},
    {CALLBACK_DRIVER, DRIVER_PRIMARY_CONTEXT_RELEASE},
    {CALLBACK_DRIVER, DRIVER_PRIMARY_CONTEXT_RELEASE_V2},
    {CALLBACK_DRIVER, DRIVER_PRIMARY_CONTEXT_RESET},
    {CALLBACK_DRIVER, DRIVER_PRIMARY_CONTEXT_RESET_V2},
    {CALLBACK_DRIVER, DRIVER_GREEN_CONTEXT_DESTROY},
};

static bool is_ending(uint32_t domain, uint32_t id)
{
    for (size_t i = 0; i < COUNT(endings); i++)
        if (endings[i].domain == domain && endings[i].id == id)
            return true;
    return false;
}

/* Only callbacks of calls are enabled. CUPTI forbids a flush in those about a context or stream, where it holds its own
 * lock. */
static void on_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    if (getpid() != owner)
        return;
    bool is_driver = domain == CALLBACK_DRIVER;
    uint32_t site = ((const struct callback_data *)data)->site;
    if (is_ending(domain, id)) {
        /* Before the call, as CUPTI recommends, and after it, when the context's work has ended. If the lock is taken,
         * another thread is flushing. */
        if (pthread_mutex_trylock(&cupti_lock) == 0) {
            flush_locked(FLUSH_COMPLETED);
            pthread_mutex_unlock(&cupti_lock);
        }
        return;
    }
    /* The range is what lies between the two calls: it opens when the first returns and closes when the second begins.
     * The runtime's call may contain the driver's: the control page turns only once. */
    if (site == CALLBACK_EXIT && id == (is_driver ? DRIVER_PROFILER_START : RUNTIME_PROFILER_START)) {
        wl_capture_range(true);
        follow_control(); /* at once: the next call may be the launch that matters */
    } else if (site == CALLBACK_ENTER && id == (is_driver ? DRIVER_PROFILER_STOP : RUNTIME_PROFILER_STOP)) {
        wl_capture_range(false); /* the agent's thread disables and flushes */
    }
}

static void enable_callbacks(void)
{
    for (size_t i = 0; i < COUNT(endings); i++)
        cupti.enable_callback(1, subscriber, endings[i].domain, endings[i].id);
    if (!is_cuda_capture_range)
        return;
    cupti.enable_callback(1, subscriber, CALLBACK_RUNTIME, RUNTIME_PROFILER_START);
    cupti.enable_callback(1, subscriber, CALLBACK_RUNTIME, RUNTIME_PROFILER_STOP);
    cupti.enable_callback(1, subscriber, CALLBACK_DRIVER, DRIVER_PROFILER_START);
    cupti.enable_callback(1, subscriber, CALLBACK_DRIVER, DRIVER_PROFILER_STOP);
}

static void write_clock_pair(void)
{
    uint64_t third = 0, before, gap;
    int tries = 0;
    do { /* a preemption between the readings would be an error */
        before = timestamp();
        if (cupti.get_timestamp(&third) != CUPTI_OK)
            third = 0;
        gap = timestamp() - before;
    } while (gap > 2000 && ++tries < 10);
    wl_write_clock_pair(third != 0 ? third + (timestamp() - before - gap / 2) : 0);
}

static void final_state(void)
{
    char reason[200] = "";
    if (cupti_calls_left_out() > 0)
        snprintf(reason, sizeof reason, "%llu CUDA calls that only ask for state were left out",
                 (unsigned long long)cupti_calls_left_out());
    if (cupti_unreadable() > 0)
        snprintf(reason, sizeof reason, "%llu buffers could not be read to their end",
                 (unsigned long long)cupti_unreadable());
    if (sharing_refused() > 0)
        snprintf(reason, sizeof reason, "%llu records did not reach the program's own profiler, which gave no buffer",
                 (unsigned long long)sharing_refused());
    if (reason[0] != 0 || cupti_dropped() > 0)
        cupti_set_state(true, reason, "");
}

/* The process ends: what has not ended on the GPU never will, so its records come without times. */
static void finish(void)
{
    struct timespec until;
    if (getpid() != owner)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LAST_FLUSH_NS / 1000000000u;
    if (pthread_mutex_timedlock(&cupti_lock, &until) != 0)
        return;
    flush_locked(FLUSH_FORCED);
    is_over = true;
    pthread_mutex_unlock(&cupti_lock);
    final_state();
}

static void wait_for_wake(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    sem_timedwait(&wake, &until);
}

/* The thread starts inside cuInit, which may take seconds and holds the driver's locks: CUPTI is left alone until then. */
static bool is_cuda_ready(void)
{
    static bool is_ready;
    is_ready = is_ready || cupti_is_cuda_initialised();
    return is_ready;
}

static void run(void)
{
    uint64_t now = wl_clock(CLOCK_MONOTONIC), flushed = now, paired = now, last_work_ends = 0;
    while (!is_over) {
        wait_for_wake();
        int number = cupti_caught_signal();
        if (number != 0) {
            finish();
            wl_mark_finished();
            cupti_deliver_signal(number);
            return;
        }
        if (cupti_is_ending()) {
            finish();
            break;
        }
        bool is_turned_off = follow_control();
        now = wl_clock(CLOCK_MONOTONIC);
        if (is_turned_off && atomic_load(&wl_control->state) == STATE_STOPPING)
            last_work_ends = now + LAST_WORK_NS;
        /* Work that was queued before a pause ends during it, and is collected then. Only the end of the recording
         * forces out what is still running. */
        if (last_work_ends != 0 && now >= last_work_ends) {
            flush(FLUSH_FORCED);
            final_state();
            last_work_ends = 0;
        } else if ((is_turned_off || last_work_ends != 0 || now - flushed >= FLUSH_EVERY_NS) && is_cuda_ready()) {
            flushed = now;
            flush(FLUSH_COMPLETED);
        }
        if (now - paired >= CLOCKS_EVERY_NS) {
            paired = now;
            write_clock_pair();
        }
    }
    cupti_thread_is_over();
}

static void wake_thread(void) { sem_post(&wake); }

static bool start_thread(void) { return sem_init(&wake, 0, 0) == 0 && wl_start_thread(run); }

/* True when times come from our callback: CLOCK_MONOTONIC. Else they are CLOCK_REALTIME, and clock pairs convert them.
 * The callback serves every user of CUPTI in the process, so only a subscriber may set it, and must take it back. */
static bool use_monotonic_clock(void)
{
    uint64_t before, time = 0, after;
    if (cupti.register_timestamp == NULL || cupti.register_timestamp(timestamp) != CUPTI_OK)
        return false;
    before = timestamp();
    int result = cupti.get_timestamp(&time);
    after = timestamp();
    return result == CUPTI_OK && before <= time && time <= after;
}

static void use_own_settings(void)
{
    uint32_t version = 0;
    bool is_monotonic = use_monotonic_clock();
    if (cupti.get_thread_id_type == NULL || cupti.get_thread_id_type(&earlier_thread_ids) != CUPTI_OK)
        earlier_thread_ids = THREAD_ID_DEFAULT;
    if (cupti.set_thread_id_type != NULL)
        cupti.set_thread_id_type(THREAD_ID_SYSTEM);
    if (is_with_latency && cupti.latency_timestamps != NULL)
        cupti.latency_timestamps(1);
    cupti.get_version(&version);
    struct record_cupti_session session = {
        wl_clock(CLOCK_MONOTONIC),
        is_monotonic ? CUPTI_CLOCK_MONOTONIC : CUPTI_CLOCK_PAIRS,
        version,
        cupti_driver_version(),
        is_per_graph,
    };
    wl_define(SLOT_CUPTI_SESSION, &session, sizeof session);
    write_clock_pair();
}

/* NULL, which would name CUPTI's own clock, is refused. */
static void restore_settings(void)
{
    if (cupti.register_timestamp != NULL)
        cupti.register_timestamp(default_timestamp);
    if (cupti.set_thread_id_type != NULL)
        cupti.set_thread_id_type(earlier_thread_ids);
    if (is_with_latency && cupti.latency_timestamps != NULL)
        cupti.latency_timestamps(0);
}

static void read_options(void)
{
    const char *options = getenv("WARPLINE_CUPTI");
    const char *range = getenv("WARPLINE_CAPTURE_RANGE");
    is_per_graph = options != NULL && strstr(options, "graphs=graph") != NULL;
    is_with_memory = options != NULL && strstr(options, "memory=1") != NULL;
    is_with_latency = options != NULL && strstr(options, "latency=1") != NULL;
    cupti_keeps_every_call = options != NULL && strstr(options, "calls=all") != NULL;
    is_cuda_capture_range = range != NULL && strcmp(range, "cuda-profiler") == 0;
}

/* Subscribes and enables what is wanted, under cupti_lock. Before the subscription nothing is changed that another user
 * of CUPTI would notice. */
static bool subscribe(void)
{
    void *wanted = NULL;
    int result;
    if ((result = cupti.subscribe(&wanted, on_callback, NULL)) != CUPTI_OK) {
        cupti_refuse("CUPTI refused the subscription", result);
        return false;
    }
    if ((result = cupti_register_buffers()) != CUPTI_OK) {
        cupti_refuse("CUPTI refused the buffers", result);
        cupti.unsubscribe(wanted);
        return false;
    }
    subscriber = wanted;
    use_own_settings();
    /* With a description of those that exist: CUPTI describes each only once, when it is created. */
    for (size_t i = 0; i < COUNT(quiet_kinds); i++)
        (cupti.enable_and_dump ? cupti.enable_and_dump : cupti.enable)(quiet_kinds[i]);
    enable_callbacks();
    enable_kinds(true);
    if (!wl_is_recording(SOURCE_CUDA))
        disable_kinds();
    return true;
}

static void unsubscribe(void)
{
    if (is_enabled)
        disable_kinds();
    for (size_t i = 0; i < COUNT(quiet_kinds); i++)
        cupti.disable(quiet_kinds[i]);
    flush_locked(FLUSH_FORCED);
    restore_settings();
    cupti.unsubscribe(subscriber);
    subscriber = NULL;
}

static void start_session(void)
{
    char reason[512];
    uint32_t version = 0;
    int result;
    if (!cupti_load(reason, sizeof reason)) {
        cupti_set_state(
            false, reason,
            "install the nvidia-cuda-cupti package (nvidia-cuda-cupti-cu12 for CUDA 12) beside the program, or "
            "name a libcupti in WARPLINE_LIBCUPTI");
        return;
    }
    if ((result = cupti.get_version(&version)) != CUPTI_OK || version < CUPTI_OLDEST_VERSION) {
        snprintf(reason, sizeof reason, "this libcupti is too old (API version %u; CUDA 11.8 or newer is needed)",
                 version);
        if (result != CUPTI_OK)
            cupti_refuse("libcupti does not start", result);
        else
            cupti_set_state(false, reason, "name a newer libcupti in WARPLINE_LIBCUPTI");
        return;
    }
    read_options();
    pthread_mutex_lock(&cupti_lock);
    bool is_subscribed = subscribe();
    pthread_mutex_unlock(&cupti_lock);
    if (!is_subscribed)
        return;
    if (cupti.flush_period != NULL)
        cupti.flush_period(FLUSH_EVERY_NS / 1000000);
    atexit(finish);
    is_started = true;
    if (start_thread())
        cupti_catch_signals(wake_thread);
}

/* Called by the CUDA driver. Anything but 1 would be reported to the program as an error. */
EXPORT int InitializeInjection(void)
{
    int saved_errno = errno;
    if (wl_start() && (atomic_load(&wl_control->sources) & SOURCE_CUDA)) {
        owner = getpid();
        pthread_once(&once, start_session);
    }
    errno = saved_errno;
    return 1;
}

/* For warpline.Profiler: this process has joined a session and may use the GPU already. Where CUDA has not been
 * initialised nothing happens; the driver calls InitializeInjection when it is. */
EXPORT void warpline_join_cuda(void)
{
    if (!cupti_is_cuda_initialised())
        return;
    bool is_later = is_started;
    InitializeInjection();
    if (!is_later || getpid() != owner || !(atomic_load(&wl_control->sources) & SOURCE_CUDA))
        return;
    pthread_mutex_lock(&cupti_lock);
    if (!is_over && subscriber == NULL)
        subscribe();
    pthread_mutex_unlock(&cupti_lock);
}

/* Applies the state of the control page at once, for a caller who cannot wait for the agent's thread. */
EXPORT void warpline_follow_cuda(void)
{
    if (is_started && getpid() == owner)
        follow_control();
}

static bool has_work(void)
{
    pthread_mutex_lock(&cupti_lock);
    bool is_recording = subscriber != NULL && is_enabled;
    pthread_mutex_unlock(&cupti_lock);
    return is_recording;
}

/* Ends the session: waits for the GPU's work, writes it, and releases CUPTI. */
EXPORT void warpline_leave_cuda(void)
{
    if (!is_started || getpid() != owner)
        return;
    if (has_work())
        cupti_synchronise();
    pthread_mutex_lock(&cupti_lock);
    bool is_ours = !is_over && subscriber != NULL;
    if (is_ours)
        unsubscribe();
    pthread_mutex_unlock(&cupti_lock);
    if (is_ours)
        final_state();
}
