/* A stand-in for libcuda.so.1: honours CUDA_INJECTION64_PATH as the driver does, and has a few calls that a program may
 * make (from C, or from Python with ctypes). What they do is told to the fake libcupti, if an agent has loaded it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static void *cupti;
#define CALL(name, type, ...)                                                  \
    do {                                                                       \
        __typeof__(type) function_ = cupti ? (type)dlsym(cupti, #name) : NULL; \
        if (function_)                                                         \
            function_(__VA_ARGS__);                                            \
    } while (0)

static uint32_t (*api_begin)(uint32_t, uint32_t, uint64_t *);
static void (*api_end)(uint32_t, uint32_t, uint32_t, uint64_t, int32_t);
static void (*kernel)(const char *, uint32_t, uint64_t, uint32_t, uint32_t, uint64_t);

EXPORT int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

/* An agent loads libcupti when CUDA is initialised, or later. */
static void find_cupti(void)
{
    cupti = cupti ? cupti : dlopen("libcupti.so.12", RTLD_NOW | RTLD_NOLOAD);
    if (cupti && !api_begin) {
        api_begin = (uint32_t (*)(uint32_t, uint32_t, uint64_t *))dlsym(cupti, "fake_api_begin");
        api_end = (void (*)(uint32_t, uint32_t, uint32_t, uint64_t, int32_t))dlsym(cupti, "fake_api_end");
        kernel = (void (*)(const char *, uint32_t, uint64_t, uint32_t, uint32_t, uint64_t))dlsym(cupti, "fake_kernel");
    }
}

static int is_initialised;

EXPORT int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    (void)flags;
    if (is_initialised++ || !path)
        return 0;
    void *library = dlopen(path, RTLD_NOW);
    int (*initialize)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
    if (initialize && initialize() != 1)
        return 999;
    find_cupti();
    return 0;
}

EXPORT int cuCtxGetCurrent(uintptr_t *context)
{
    *context = is_initialised ? 1 : 0;
    return is_initialised ? 0 : 3;
}

static uint32_t begin(uint32_t is_driver, uint32_t id, uint64_t *start)
{
    if (!cupti)
        find_cupti();
    return api_begin ? api_begin(is_driver, id, start) : 0;
}
static void end(uint32_t is_driver, uint32_t id, uint32_t correlation, uint64_t start, int result)
{
    if (api_end)
        api_end(is_driver, id, correlation, start, result);
}

EXPORT void fakeLaunch(const char *name, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 211, &start);
    if (kernel)
        kernel(name, stream, duration_ns, correlation, 0, 0);
    end(0, 211, correlation, start, 0);
}

EXPORT void fakeDriverLaunch(const char *name, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = begin(1, 307, &start);
    if (kernel)
        kernel(name, stream, duration_ns, correlation, 0, 0);
    end(1, 307, correlation, start, 0);
}

EXPORT void fakeCopy(uint32_t kind, uint64_t bytes, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 41, &start);
    CALL(fake_copy, void (*)(uint32_t, uint64_t, uint32_t, uint64_t, uint32_t), kind, bytes, stream, duration_ns,
         correlation);
    end(0, 41, correlation, start, 0);
}

EXPORT void fakeSet(uint32_t value, uint64_t bytes, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 51, &start);
    CALL(fake_set, void (*)(uint32_t, uint64_t, uint32_t, uint64_t, uint32_t), value, bytes, stream, duration_ns,
         correlation);
    end(0, 51, correlation, start, 0);
}

/* A graph of `nodes` kernels: one record per kernel, or one per launch where the agent asked for that. */
EXPORT void fakeGraph(uint32_t graph, uint32_t nodes, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 311, &start);
    int (*is_enabled)(uint32_t) = cupti ? (int (*)(uint32_t))dlsym(cupti, "fake_is_enabled") : NULL;
    if (is_enabled && is_enabled(51))
        CALL(fake_graph, void (*)(uint32_t, uint32_t, uint64_t, uint32_t), graph, stream, duration_ns *nodes,
             correlation);
    else
        for (uint32_t i = 0; i < nodes && kernel; i++)
            kernel("_Z4nodePf", stream, duration_ns, correlation, graph, 100 + i);
    end(0, 311, correlation, start, 0);
}

EXPORT void fakeSynchronize(uint32_t stream)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 131, &start);
    uint64_t (*stream_end)(uint32_t) = cupti ? (uint64_t (*)(uint32_t))dlsym(cupti, "fake_stream_end") : NULL;
    uint64_t (*device_now)(void) = cupti ? (uint64_t (*)(void))dlsym(cupti, "fake_device_now") : NULL;
    while (stream_end && device_now() < stream_end(stream))
        usleep(20);
    CALL(fake_synchronised, void (*)(uint32_t, uint32_t, uint64_t, uint32_t), 3, stream, start, correlation);
    end(0, 131, correlation, start, 0);
}

EXPORT void fakeGetDevice(int result)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 17, &start);
    end(0, 17, correlation, start, result);
}

EXPORT void fakeAllocate(uint64_t address, uint64_t bytes, int is_release)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 20, &start);
    CALL(fake_allocated, void (*)(uint32_t, uint64_t, uint64_t, uint32_t), is_release ? 2 : 1, address, bytes,
         correlation);
    end(0, 20, correlation, start, is_release ? 0 : 2);
}

EXPORT void fakeExternal(uint64_t id, const char *name, uint32_t stream, uint64_t duration_ns)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 211, &start);
    CALL(fake_external, void (*)(uint32_t, uint64_t, uint32_t), 3, id, correlation);
    if (kernel)
        kernel(name, stream, duration_ns, correlation, 0, 0);
    end(0, 211, correlation, start, 0);
}

EXPORT void fakeOverhead(uint32_t kind)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    CALL(fake_overhead, void (*)(uint32_t, uint64_t), kind,
         (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - 1000);
}

EXPORT void fakeProfiler(int is_start)
{
    uint64_t start = 0;
    uint32_t id = is_start ? 171 : 172;
    uint32_t correlation = begin(0, id, &start);
    CALL(fake_callback, void (*)(uint32_t, uint32_t, uint32_t), 1, is_start ? 308 : 309, 0);
    CALL(fake_callback, void (*)(uint32_t, uint32_t, uint32_t), 1, is_start ? 308 : 309, 1);
    end(0, id, correlation, start, 0);
}

EXPORT void fakeReset(void)
{
    uint64_t start = 0;
    uint32_t correlation = begin(0, 164, &start);
    end(0, 164, correlation, start, 0);
}
