/* libcuda.so.1, simulated: honours CUDA_INJECTION64_PATH as the driver does, and has a few calls that a program may make
 * (from C, or from Python with ctypes). The simulated libcupti hears of them if somebody has loaded it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"

EXPORT struct machine simulated_machine = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct machine *const machine = &simulated_machine;

static int count_loads(struct dl_phdr_info *info, size_t size, void *loads)
{
    (void)size;
    *(unsigned long long *)loads = info->dlpi_adds;
    return 1;
}

/* A function of libcupti, which an agent or a profiler may load at any time. A search in vain takes 0.2 ms, so the next
 * one waits until another library has been loaded. */
static void *of_cupti(const char *name)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
    static void *_Atomic cupti;
    static _Atomic unsigned long long searched_at;
    unsigned long long loads = 0;
    if (cupti == NULL) {
        dl_iterate_phdr(count_loads, &loads);
        if (searched_at == loads)
            return NULL;
    }
    for (size_t i = 0; i < 2 && cupti == NULL; i++)
        cupti = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    searched_at = loads;
    return cupti ? dlsym(cupti, name) : NULL;
}

/* Calls a function of libcupti, if it is loaded. The lookup is made once for each call in the source. */
#define CALL(name, type, ...)                       \
    do {                                            \
        static _Atomic(__typeof__(type)) function_; \
        if (!function_)                             \
            function_ = (type)of_cupti(#name);      \
        if (function_)                              \
            function_(__VA_ARGS__);                 \
    } while (0)

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = (int)setting("SIMULATED_DRIVER_VERSION", 13000);
    return 0;
}

/* SIMULATED_CUDA_DEVICES says how many there are; CUDA_VISIBLE_DEVICES, with numbers, which of them the program sees. */
static void find_devices(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    long count = setting("SIMULATED_CUDA_DEVICES", 1);
    for (long i = 0; i < count && machine->device_count < MOST_DEVICES; i++) {
        long physical = i;
        if (visible != NULL) {
            char *end;
            physical = strtol(visible, &end, 10);
            if (end == visible || physical < 0 || physical >= count)
                break;
            visible = *end == ',' ? end + 1 : end;
        }
        struct device *device = &machine->devices[machine->device_count++];
        for (int j = 0; j < 16; j++)
            device->uuid[j] = (uint8_t)(0x10 + 0x20 * physical + j);
    }
}

EXPORT int cuInit(unsigned flags)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    int result = 0;
    (void)flags;
    pthread_mutex_lock(&once);
    if (!machine->is_initialised) {
        void *library = path ? dlopen(path, RTLD_NOW) : NULL;
        int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
        if (initialize && initialize() != 1) {
            result = 999;
        } else {
            machine->is_initialising = true;
            for (long ms = setting("SIMULATED_CUDA_INIT_MS", 0); ms > 0; ms--)
                usleep(1000);
            find_devices();
            machine->is_initialised = true;
            machine->is_initialising = false;
            for (uint32_t i = 0; i < machine->device_count; i++)
                CALL(simulated_created, void (*)(uint32_t, uint32_t), 8, i);
        }
    }
    pthread_mutex_unlock(&once);
    return result;
}

void call_back(uint32_t domain, uint32_t id, uint32_t site)
{
    CALL(simulated_callback, void (*)(uint32_t, uint32_t, uint32_t), domain, id, site);
}

uint32_t api_begin(bool is_driver, uint32_t id, uint64_t *start)
{
    static uint32_t (*_Atomic function)(uint32_t, uint32_t, uint64_t *);
    if (!function)
        function = (uint32_t (*)(uint32_t, uint32_t, uint64_t *))of_cupti("simulated_api_begin");
    return function ? function(is_driver, id, start) : 0;
}
void api_end(bool is_driver, uint32_t id, uint32_t correlation, uint64_t start, int result)
{
    CALL(simulated_api_end, void (*)(uint32_t, uint32_t, uint32_t, uint64_t, int32_t), is_driver, id, correlation,
         start, result);
}

uint32_t create_stream(uint32_t context, uint32_t id, uint32_t flag, int32_t priority)
{
    pthread_mutex_lock(&machine->lock);
    if (id == 0)
        for (id = NULL_STREAM + 6; id < MOST_STREAMS - 1 && machine->streams[id].is_alive; id++)
            ;
    bool is_new = !machine->streams[id].is_alive;
    if (is_new) {
        struct stream *stream = &machine->streams[id];
        stream->context = context;
        stream->flag = flag;
        stream->priority = priority;
        stream->free_ns = 0;
        stream->is_alive = true;
    }
    pthread_mutex_unlock(&machine->lock);
    if (is_new) {
        CALL(simulated_created, void (*)(uint32_t, uint32_t), 37, id);
        call_back(3, RESOURCE_STREAM_CREATED, 0);
    }
    return id;
}

uint32_t create_context(uint32_t device, uint32_t id)
{
    pthread_mutex_lock(&machine->lock);
    if (id == 0)
        for (id = MOST_DEVICES + 1; id < MOST_CONTEXTS - 1 && machine->contexts[id].is_alive; id++)
            ;
    bool is_new = !machine->contexts[id].is_alive;
    /* The null streams of other contexts are numbered from the end. */
    uint32_t null_stream = id == 1 ? NULL_STREAM : MOST_STREAMS - id;
    if (is_new) {
        machine->contexts[id].device = device;
        machine->contexts[id].null_stream = null_stream;
        machine->contexts[id].is_alive = true;
    }
    pthread_mutex_unlock(&machine->lock);
    if (is_new) {
        CALL(simulated_created, void (*)(uint32_t, uint32_t), 9, id);
        call_back(3, RESOURCE_CONTEXT_CREATED, 0);
        create_stream(id, null_stream, STREAM_NULL, 0);
    }
    return id;
}

/* Waits for the context's work, as the driver does, and forgets the context. */
void destroy_context(uint32_t id)
{
    call_back(3, RESOURCE_CONTEXT_DESTROY_STARTING, 0);
    for (uint32_t i = 0; i < MOST_STREAMS; i++) {
        while (machine->streams[i].is_alive && machine->streams[i].context == id && machine->streams[i].free_ns > now())
            usleep(20);
        if (machine->streams[i].context == id)
            machine->streams[i].is_alive = false;
    }
    machine->contexts[id].is_alive = false;
}

static _Thread_local uint32_t current;
static _Atomic uint32_t latest;

uint32_t current_context(void) { return current ? current : latest; }

EXPORT int cuCtxGetCurrent(uintptr_t *context)
{
    uint64_t start = 0;
    if (!machine->is_initialised)
        return 3;
    uint32_t correlation = api_begin(true, DRIVER_CONTEXT_GET_CURRENT, &start);
    *context = current_context();
    api_end(true, DRIVER_CONTEXT_GET_CURRENT, correlation, start, 0);
    return 0;
}
EXPORT int cuCtxSetCurrent(uintptr_t context)
{
    current = latest = (uint32_t)context;
    return context ? 0 : 201;
}

/* A stream the program uses without having created it, as stream 7, the null stream. */
static uint32_t use(uint32_t stream)
{
    if (stream >= MOST_STREAMS || machine->streams[stream].is_alive)
        return stream;
    uint32_t context = create_context(0, 1);
    current = latest = context;
    return create_stream(context, stream, STREAM_NON_BLOCKING, stream == 8 ? -5 : 0);
}

static void run_kernel(const char *name, uint32_t stream, uint64_t duration_ns, uint32_t correlation, uint32_t graph,
                       uint64_t node)
{
    stream = use(stream);
    CALL(simulated_kernel, void (*)(const char *, uint32_t, uint64_t, uint32_t, uint32_t, uint64_t), name, stream,
         duration_ns, correlation, graph, node);
}

EXPORT void simulatedLaunch(const char *name, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_LAUNCH_KERNEL, &start);
    run_kernel(name, stream, duration_ns, correlation, 0, 0);
    api_end(false, RUNTIME_LAUNCH_KERNEL, correlation, start, 0);
}

EXPORT void simulatedDriverLaunch(const char *name, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(true, DRIVER_LAUNCH_KERNEL, &start);
    run_kernel(name, stream, duration_ns, correlation, 0, 0);
    api_end(true, DRIVER_LAUNCH_KERNEL, correlation, start, 0);
}

EXPORT void simulatedCopy(uint32_t kind, uint64_t bytes, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_MEMCPY_ASYNC, &start);
    stream = use(stream);
    CALL(simulated_copy, void (*)(uint32_t, uint64_t, uint32_t, uint64_t, uint32_t), kind, bytes, stream, duration_ns,
         correlation);
    api_end(false, RUNTIME_MEMCPY_ASYNC, correlation, start, 0);
}

EXPORT void simulatedSet(uint32_t value, uint64_t bytes, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_MEMSET_ASYNC, &start);
    stream = use(stream);
    CALL(simulated_set, void (*)(uint32_t, uint64_t, uint32_t, uint64_t, uint32_t), value, bytes, stream, duration_ns,
         correlation);
    api_end(false, RUNTIME_MEMSET_ASYNC, correlation, start, 0);
}

/* A graph of `nodes` kernels: one record per kernel, or one per launch where somebody asked for that. The kernels of a
 * graph that was instantiated before anybody had subscribed carry no ids of graph and node. */
static void launch_graph(uint32_t graph, uint32_t nodes, uint32_t stream, uint64_t duration_ns, bool is_known)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_GRAPH_LAUNCH, &start);
    int (*is_enabled)(uint32_t) = (int (*)(uint32_t))of_cupti("simulated_is_enabled");
    stream = use(stream);
    if (is_enabled && is_enabled(51))
        CALL(simulated_graph, void (*)(uint32_t, uint32_t, uint64_t, uint32_t), graph, stream, duration_ns *nodes,
             correlation);
    else
        for (uint32_t i = 0; i < nodes; i++)
            run_kernel("_Z4nodePf", stream, duration_ns, correlation, is_known ? graph : 0, is_known ? 100 + i : 0);
    api_end(false, RUNTIME_GRAPH_LAUNCH, correlation, start, 0);
}

EXPORT void simulatedGraph(uint32_t graph, uint32_t nodes, uint32_t stream, uint64_t duration_ns)
{
    launch_graph(graph, nodes, stream, duration_ns, true);
}

EXPORT bool simulatedGraphInstantiate(void)
{
    int (*is_subscribed)(void) = (int (*)(void))of_cupti("simulated_is_subscribed");
    return is_subscribed && is_subscribed();
}

EXPORT void simulatedGraphLaunch(bool is_known, uint32_t graph, uint32_t nodes, uint32_t stream, uint64_t duration_ns)
{
    launch_graph(graph, nodes, stream, duration_ns, is_known);
}

EXPORT void simulatedSynchronize(uint32_t stream)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_STREAM_SYNCHRONIZE, &start);
    stream = use(stream);
    while (machine->streams[stream].free_ns > now())
        usleep(20);
    CALL(simulated_synchronised, void (*)(uint32_t, uint32_t, uint64_t, uint32_t), 3, stream, start, correlation);
    api_end(false, RUNTIME_STREAM_SYNCHRONIZE, correlation, start, 0);
}

/* The stream of this thread, for programs compiled with --default-stream per-thread. */
EXPORT uint32_t simulatedPerThreadStream(void)
{
    static _Thread_local uint32_t own;
    use(NULL_STREAM);
    if (own == 0)
        own = create_stream(1, 0, STREAM_NON_BLOCKING, 0);
    return own;
}

EXPORT void simulatedGetDevice(int result)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_GET_DEVICE, &start);
    api_end(false, RUNTIME_GET_DEVICE, correlation, start, result);
}

/* Since CUDA 12 the call makes the context, which takes long the first time. */
EXPORT void simulatedSetDevice(uint32_t device, uint64_t duration_ns)
{
    uint64_t start = 0, until = now() + duration_ns;
    uint32_t correlation = api_begin(false, RUNTIME_SET_DEVICE, &start);
    current = latest = create_context(device, device + 1);
    while (now() < until)
        usleep(20);
    api_end(false, RUNTIME_SET_DEVICE, correlation, start, 0);
}

EXPORT void simulatedAllocate(uint64_t address, uint64_t bytes, int is_release)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_MALLOC, &start);
    CALL(simulated_allocated, void (*)(uint32_t, uint64_t, uint64_t, uint32_t), is_release ? 2 : 1, address, bytes,
         correlation);
    api_end(false, RUNTIME_MALLOC, correlation, start, is_release ? 0 : 2);
}

EXPORT void simulatedExternal(uint64_t id, const char *name, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_LAUNCH_KERNEL, &start);
    CALL(simulated_external, void (*)(uint32_t, uint64_t, uint32_t), 3, id, correlation);
    run_kernel(name, stream, duration_ns, correlation, 0, 0);
    api_end(false, RUNTIME_LAUNCH_KERNEL, correlation, start, 0);
}

EXPORT void simulatedOverhead(uint32_t kind)
{
    CALL(simulated_overhead, void (*)(uint32_t, uint64_t), kind, now() - 1000);
}

EXPORT void simulatedProfiler(int is_start)
{
    uint64_t start = 0;
    uint32_t id = is_start ? RUNTIME_PROFILER_START : RUNTIME_PROFILER_STOP;
    uint32_t inner = is_start ? DRIVER_PROFILER_START : DRIVER_PROFILER_STOP;
    uint32_t correlation = api_begin(false, id, &start);
    call_back(1, inner, 0);
    call_back(1, inner, 1);
    api_end(false, id, correlation, start, 0);
}

EXPORT void simulatedReset(void)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(false, RUNTIME_DEVICE_RESET, &start);
    for (uint32_t i = 1; i <= MOST_DEVICES; i++)
        if (machine->contexts[i].is_alive)
            destroy_context(i);
    api_end(false, RUNTIME_DEVICE_RESET, correlation, start, 0);
}
