/* CUPTI activity, through CUDA_INJECTION64_PATH: the CUDA driver calls InitializeInjection inside cuInit, so programs
 * without CUDA pay nothing. A thread of ours follows the control page, flushes, and notes clock pairs. Whatever goes
 * wrong is written as the state of the source "cuda"; the program runs on. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti_internal.h"
#include "interpose.h"
#include "own_threads.h"
#include "spool.h"

#define POLL_NS 20000000u
#define FLUSH_EVERY_NS 250000000u
#define CLOCKS_EVERY_NS 1000000000u

static void *subscriber; /* NULL while CUPTI is not ours; under cupti_lock once the thread runs */
static pid_t owner;
static sem_t wake;
static bool is_per_graph, is_with_memory;
static bool is_cuda_capture_range;
static bool is_started;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Held around calls into CUPTI that may meet the end of the process; is_over: no more of them. */
static pthread_mutex_t cupti_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_over;
static bool is_enabled; /* under cupti_lock once the thread runs */

static uint64_t timestamp(void) { return wl_clock(CLOCK_MONOTONIC); }

/* Kinds that cost something. Devices, contexts and streams are always on: what is used after a pause may have been
 * created during it. */
static const uint32_t busy_kinds[] = {
    ACTIVITY_CONCURRENT_KERNEL, ACTIVITY_MEMCPY,      ACTIVITY_MEMCPY2,         ACTIVITY_MEMSET,
    ACTIVITY_RUNTIME,           ACTIVITY_DRIVER,      ACTIVITY_SYNCHRONIZATION, ACTIVITY_EXTERNAL_CORRELATION,
    ACTIVITY_OVERHEAD,          ACTIVITY_GRAPH_TRACE, ACTIVITY_MEMORY2,
};
static const uint32_t quiet_kinds[] = {ACTIVITY_DEVICE, ACTIVITY_CONTEXT, ACTIVITY_STREAM};

static bool is_wanted(uint32_t kind)
{
    if (kind == ACTIVITY_GRAPH_TRACE)
        return is_per_graph;
    if (kind == ACTIVITY_MEMORY2)
        return is_with_memory;
    return true;
}

/* Enables what is wanted; the first failure per kind goes into the source's state. Returns false when kernels cannot
 * be recorded. */
static bool enable_kinds(bool is_first)
{
    char reason[512] = "", text[160];
    int worst = CUPTI_OK;
    bool has_kernels = true;
    for (size_t i = 0; i < sizeof busy_kinds / sizeof busy_kinds[0]; i++) {
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
    return has_kernels;
}

static void disable_kinds(void)
{
    for (size_t i = 0; i < sizeof busy_kinds / sizeof busy_kinds[0]; i++)
        if (is_wanted(busy_kinds[i]))
            cupti.disable(busy_kinds[i]);
    is_enabled = false;
}

/* The calls that take a context down. CUPTI allows a flush only inside callbacks of calls, never inside those that tell
 * of the context itself. */
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
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (endings[i].domain == domain && endings[i].id == id)
            return true;
    return false;
}

/* Inside a callback, where nothing may be waited for: when the lock is taken, another thread flushes at this moment. */
static void flush_in_callback(void)
{
    if (pthread_mutex_trylock(&cupti_lock) != 0)
        return;
    if (!is_over && subscriber != NULL)
        cupti.flush_all(FLUSH_COMPLETED);
    pthread_mutex_unlock(&cupti_lock);
}

static void flush(uint32_t flag, bool is_last)
{
    pthread_mutex_lock(&cupti_lock);
    if (!is_over && subscriber != NULL)
        cupti.flush_all(flag);
    is_over = is_over || is_last;
    pthread_mutex_unlock(&cupti_lock);
}

/* Turns CUPTI on or off as the control page says. The agent's thread and those that begin a range may meet here: what
 * is wanted is asked under the lock, so that whoever comes last leaves what is wanted then. */
static void follow_control(void)
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
    if (is_turned_off)
        flush(FLUSH_FORCED, false);
}

static void on_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user;
    if (getpid() != owner)
        return;
    bool is_driver = domain == CALLBACK_DRIVER;
    uint32_t site = ((const struct callback_data *)data)->site;
    /* At the return the context's work has ended, and its records are complete. */
    if (is_ending(domain, id)) {
        flush_in_callback();
        return;
    }
    if (!is_cuda_capture_range)
        return;
    /* The range is what lies between the two calls, so it opens when one returns and closes when the other begins.
     * The runtime's call may contain the driver's: the control page turns only once. */
    if (site == CALLBACK_EXIT && id == (is_driver ? DRIVER_PROFILER_START : RUNTIME_PROFILER_START)) {
        wl_capture_range(true);
        follow_control(); /* here, not 20 ms later: the next call may be the launch somebody wants to see */
    } else if (site == CALLBACK_ENTER && id == (is_driver ? DRIVER_PROFILER_STOP : RUNTIME_PROFILER_STOP)) {
        wl_capture_range(false); /* the thread disables and flushes */
    }
}

static void enable_callbacks(void)
{
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
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
    uint64_t third = 0;
    if (cupti.get_timestamp(&third) != CUPTI_OK)
        third = 0;
    wl_write_clock_pair(third);
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
    if (reason[0] != 0 || cupti_dropped() > 0)
        cupti_set_state(true, reason, "");
}

static void finish(void)
{
    if (getpid() != owner)
        return;
    flush(FLUSH_FORCED, true);
    final_state();
}

static void run(void)
{
    uint64_t now = wl_clock(CLOCK_MONOTONIC), flushed = now, paired = now;
    while (!is_over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += POLL_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        sem_timedwait(&wake, &until);
        int number = cupti_caught_signal();
        if (number != 0) {
            finish();
            wl_mark_finished();
            cupti_deliver_signal(number);
            return;
        }
        follow_control();
        now = wl_clock(CLOCK_MONOTONIC);
        if (now - flushed >= FLUSH_EVERY_NS) {
            flushed = now;
            flush(FLUSH_COMPLETED, false);
        }
        if (now - paired >= CLOCKS_EVERY_NS) {
            paired = now;
            write_clock_pair();
        }
    }
}

static void wake_thread(void) { sem_post(&wake); }

static bool start_thread(void) { return sem_init(&wake, 0, 0) == 0 && wl_start_thread(run); }

/* True when times come from our callback: CLOCK_MONOTONIC. Else they are CLOCK_REALTIME, and clock pairs convert. */
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

static void read_options(void)
{
    const char *options = getenv("WARPLINE_CUPTI");
    const char *range = getenv("WARPLINE_CAPTURE_RANGE");
    is_per_graph = options != NULL && strstr(options, "graphs=graph") != NULL;
    is_with_memory = options != NULL && strstr(options, "memory=1") != NULL;
    cupti_keeps_every_call = options != NULL && strstr(options, "calls=all") != NULL;
    is_cuda_capture_range = range != NULL && strcmp(range, "cuda-profiler") == 0;
}

/* Subscribes and enables what is wanted, with the lock held or before there is a thread. */
static bool subscribe(void)
{
    const char *options = getenv("WARPLINE_CUPTI");
    void *wanted = NULL;
    int result;
    if ((result = cupti.subscribe(&wanted, on_callback, NULL)) != CUPTI_OK) {
        cupti_refuse("CUPTI refused the subscription", result);
        return false;
    }
    if (cupti.set_thread_id_type != NULL)
        cupti.set_thread_id_type(THREAD_ID_SYSTEM);
    if (options != NULL && strstr(options, "latency=1") != NULL && cupti.latency_timestamps != NULL)
        cupti.latency_timestamps(1);
    if ((result = cupti_register_buffers()) != CUPTI_OK) {
        cupti_refuse("CUPTI refused the buffers", result);
        cupti.unsubscribe(wanted);
        return false;
    }
    subscriber = wanted;
    /* Also those that exist already: CUPTI describes each only once, when it is created. */
    for (size_t i = 0; i < sizeof quiet_kinds / sizeof quiet_kinds[0]; i++)
        (cupti.enable_and_dump ? cupti.enable_and_dump : cupti.enable)(quiet_kinds[i]);
    enable_callbacks();
    enable_kinds(true);
    if (!wl_is_recording(SOURCE_CUDA))
        disable_kinds();
    return true;
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
        snprintf(reason, sizeof reason, "this libcupti is too old (API version %u; CUDA 12 or newer is needed)",
                 version);
        if (result != CUPTI_OK)
            cupti_refuse("libcupti does not start", result);
        else
            cupti_set_state(false, reason, "name a newer libcupti in WARPLINE_LIBCUPTI");
        return;
    }
    read_options();
    bool is_monotonic = use_monotonic_clock();
    if (!subscribe())
        return;
    struct record_cupti_session session = {
        wl_clock(CLOCK_MONOTONIC),
        is_monotonic ? CUPTI_CLOCK_MONOTONIC : CUPTI_CLOCK_PAIRS,
        version,
        cupti_driver_version(),
        is_per_graph,
    };
    wl_define(SLOT_CUPTI_SESSION, &session, sizeof session);
    write_clock_pair();
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
    write_clock_pair();
}

/* What the control page says holds from now on, for a caller who cannot wait until the thread has looked. */
EXPORT void warpline_follow_cuda(void)
{
    if (is_started && getpid() == owner)
        follow_control();
}

/* The session is about to end: what the GPU has been given is waited for and written, and CUPTI is free for others. */
EXPORT void warpline_leave_cuda(void)
{
    if (!is_started || getpid() != owner || subscriber == NULL)
        return;
    if (is_enabled)
        cupti_synchronise();
    flush(FLUSH_FORCED, false);
    final_state();
    pthread_mutex_lock(&cupti_lock);
    if (!is_over && subscriber != NULL) {
        if (is_enabled)
            disable_kinds();
        for (size_t i = 0; i < sizeof quiet_kinds / sizeof quiet_kinds[0]; i++)
            cupti.disable(quiet_kinds[i]);
        cupti.unsubscribe(subscriber);
        subscriber = NULL;
    }
    pthread_mutex_unlock(&cupti_lock);
}
