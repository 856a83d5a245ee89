/* CUPTI activity, through CUDA_INJECTION64_PATH: the CUDA driver calls InitializeInjection inside cuInit, so programs
 * without CUDA pay nothing. Failures are written as the state of the source "cuda"; the program runs on. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cupti_family.h"
#include "cupti_flushes.h"
#include "cupti_internal.h"
#include "cupti_sharing.h"
#include "cupti_watch.h"
#include "interpose.h"
#include "spool.h"

static _Atomic pid_t owner;
static bool is_per_graph, is_with_memory, is_with_latency, is_cuda_capture_range;
static _Atomic bool is_started;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Under cupti_lock: */
static void *subscriber; /* NULL while CUPTI is not ours */
static bool is_enabled, is_clock_ours;
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

bool session_is_open_locked(void) { return subscriber != NULL; }
bool session_is_recording_locked(void) { return subscriber != NULL && is_enabled; }
void session_enable_again_locked(void) { enable_kinds(false); }

/* The agent's thread and threads that begin a range may meet here. They read the page under the lock, so that the last
 * one applies the latest state. */
bool session_follow_control(void)
{
    bool is_turned_off = false;
    pthread_mutex_lock(&cupti_lock);
    bool is_wanted_now = wl_is_recording(SOURCE_CUDA);
    if (!flushes_are_over() && subscriber != NULL && is_wanted_now != is_enabled) {
        if (is_wanted_now) {
            /* Another profiler has the buffers. It began after Warpline, and now Warpline begins again. */
            if (watch_misses_records())
                cupti_register_buffers();
            enable_kinds(false);
        } else {
            disable_kinds();
        }
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
            flushes_flush_locked(FLUSH_COMPLETED);
            pthread_mutex_unlock(&cupti_lock);
        }
        return;
    }
    /* The range is what lies between the two calls: it opens when the first returns and closes when the second begins.
     * The runtime's call may contain the driver's: the control page turns only once. */
    if (site == CALLBACK_EXIT && id == (is_driver ? DRIVER_PROFILER_START : RUNTIME_PROFILER_START)) {
        wl_capture_range(true);
        session_follow_control(); /* at once: the next call may be the launch that matters */
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

void session_write_clock_pair(void)
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

/* True when times come from our callback: CLOCK_MONOTONIC. Else they are CLOCK_REALTIME, and clock pairs convert them.
 * The callback serves every user of CUPTI in the process. So it is set only where the others get times of their own. */
static bool use_monotonic_clock(void)
{
    uint64_t before, time = 0, after;
    if ((!cupti_is_preloaded() && !family_is_second()) || cupti.register_timestamp == NULL ||
        cupti.register_timestamp(timestamp) != CUPTI_OK)
        return false;
    is_clock_ours = true;
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
    if (is_per_graph)
        family_select_graph_trace();
    cupti.get_version(&version);
    struct record_cupti_session session = {
        wl_clock(CLOCK_MONOTONIC),
        is_monotonic ? CUPTI_CLOCK_MONOTONIC : CUPTI_CLOCK_PAIRS,
        version,
        cupti_driver_version(),
        is_per_graph,
    };
    wl_define(SLOT_CUPTI_SESSION, &session, sizeof session);
    session_write_clock_pair();
}

/* NULL, which would name CUPTI's own clock, is refused. */
static void restore_settings(void)
{
    if (is_clock_ours)
        cupti.register_timestamp(default_timestamp);
    is_clock_ours = false;
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
    watch_session();
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
    flushes_force_locked();
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
    is_started = true;
    flushes_start();
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
    if (!flushes_are_over() && subscriber == NULL)
        subscribe();
    pthread_mutex_unlock(&cupti_lock);
}

/* Applies the state of the control page at once, for a caller who cannot wait for the agent's thread. */
EXPORT void warpline_follow_cuda(void)
{
    if (is_started && getpid() == owner)
        session_follow_control();
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
    if (!cupti_is_cuda_initialised()) { /* CUPTI may have to wait for cuInit: it is kept for a later session */
        flushes_note_initialising();
        return;
    }
    if (has_work())
        cupti_synchronise();
    pthread_mutex_lock(&cupti_lock);
    bool is_ours = !flushes_are_over() && subscriber != NULL;
    if (is_ours)
        unsubscribe();
    pthread_mutex_unlock(&cupti_lock);
    if (is_ours)
        flushes_write_final_state();
}
