/* The part of the CUDA driver's API that tests/gpu/programs/ use, on top of cuda.c: the checks for a GPU machine can be
 * tried without one. Handles are ids. A kernel's second parameter is the number of its turns. */
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

#define KERNEL_NS 2000u
#define TURN_NS 50u

void simulatedDriverLaunch(const char *name, uint32_t stream, uint64_t duration_ns);
void simulatedCopy(uint32_t kind, uint64_t bytes, uint32_t stream, uint64_t duration_ns);
void simulatedSet(uint32_t value, uint64_t bytes, uint32_t stream, uint64_t duration_ns);
void simulatedGraph(uint32_t graph, uint32_t nodes, uint32_t stream, uint64_t duration_ns);
void simulatedSynchronize(uint32_t stream);
void simulatedAllocate(uint64_t address, uint64_t bytes, int is_release);
uint32_t simulatedPerThreadStream(void);
void simulatedProfiler(int is_start);

static uint32_t captured;
static uintptr_t capturing;

static uint32_t context_in_use(void) { return current_context() ? current_context() : create_context(0, 1); }

static uint32_t number_of(uintptr_t stream)
{
    return stream ? (uint32_t)stream : simulated_machine.contexts[context_in_use()].null_stream;
}

EXPORT int cuDeviceGetCount(int *count) { return *count = (int)simulated_machine.device_count, 0; }
EXPORT int cuDeviceGetUuid_v2(uint8_t *uuid, int device)
{
    memcpy(uuid, simulated_machine.devices[device].uuid, 16);
    return 0;
}
EXPORT int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
EXPORT int cuDevicePrimaryCtxRetain(uintptr_t *context, int device)
{
    return *context = create_context((uint32_t)device, (uint32_t)device + 1), 0;
}
EXPORT int cuCtxCreate_v2(uintptr_t *context, unsigned flags, int device)
{
    (void)flags;
    return *context = create_context((uint32_t)device, 0), 0;
}
static int destroy(uint32_t context, uint32_t call)
{
    uint64_t start = 0;
    uint32_t correlation = api_begin(true, call, &start);
    destroy_context(context);
    api_end(true, call, correlation, start, 0);
    return 0;
}
EXPORT int cuCtxDestroy_v2(uintptr_t context) { return destroy((uint32_t)context, DRIVER_CONTEXT_DESTROY); }
EXPORT int cuGreenCtxDestroy(uintptr_t context) { return destroy((uint32_t)context, DRIVER_GREEN_CONTEXT_DESTROY); }
EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    return destroy((uint32_t)device + 1, DRIVER_PRIMARY_CONTEXT_RELEASE);
}
EXPORT int cuDevicePrimaryCtxReset_v2(int device)
{
    return destroy((uint32_t)device + 1, DRIVER_PRIMARY_CONTEXT_RESET);
}
EXPORT int cuModuleLoadData(uintptr_t *module, const void *image) { return *module = 1, image ? 0 : 200; }
EXPORT int cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name)
{
    *function = (uintptr_t)strdup(name);
    return module ? 0 : 400;
}
/* Recorded like cudaMalloc. */
EXPORT int cuMemAlloc_v2(uintptr_t *memory, size_t size)
{
    *memory = (uintptr_t)malloc(size);
    return simulatedAllocate(*memory, size, 0), 0;
}
EXPORT int cuMemHostAlloc(void **memory, size_t size, unsigned flags)
{
    return *memory = malloc(size), (int)(flags * 0);
}
EXPORT int cuStreamCreate(uintptr_t *stream, unsigned flags)
{
    (void)flags;
    return *stream = create_stream(context_in_use(), 0, STREAM_NON_BLOCKING, 0), 0;
}
EXPORT int cuStreamGetCtx(uintptr_t stream, uintptr_t *context)
{
    return *context = stream < MOST_STREAMS ? simulated_machine.streams[stream].context : 1, 0;
}
EXPORT int cuStreamSynchronize(uintptr_t stream) { return simulatedSynchronize(number_of(stream)), 0; }
EXPORT int cuCtxSynchronize(void)
{
    uint32_t context = context_in_use();
    for (uint32_t i = 0; i < MOST_STREAMS; i++)
        if (simulated_machine.streams[i].is_alive && simulated_machine.streams[i].context == context)
            simulatedSynchronize(i);
    return 0;
}
EXPORT int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t size, uintptr_t stream)
{
    (void)to, (void)from;
    return simulatedCopy(1, size, number_of(stream), KERNEL_NS), 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t size, uintptr_t stream)
{
    (void)to, (void)from;
    return simulatedCopy(2, size, number_of(stream), KERNEL_NS), 0;
}
EXPORT int cuMemsetD32Async(uintptr_t to, unsigned value, size_t count, uintptr_t stream)
{
    (void)to;
    return simulatedSet(value, 4 * count, number_of(stream), KERNEL_NS), 0;
}
static void launch(uintptr_t function, uint32_t stream, void **parameters)
{
    uint32_t turns = parameters ? *(uint32_t *)parameters[1] : 1;
    simulatedDriverLaunch((const char *)function, stream, KERNEL_NS + (uint64_t)turns * TURN_NS);
}
EXPORT int cuLaunchKernel(uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, uintptr_t stream, void **parameters, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
    if (capturing && capturing == stream)
        captured++;
    else
        launch(function, number_of(stream), parameters);
    return 0;
}
/* For programs compiled with a default stream per thread. */
EXPORT int cuLaunchKernel_ptsz(uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, uintptr_t stream, void **parameters, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)extra;
    return launch(function, stream ? number_of(stream) : simulatedPerThreadStream(), parameters), 0;
}
EXPORT int cuStreamSynchronize_ptsz(uintptr_t stream)
{
    return simulatedSynchronize(stream ? number_of(stream) : simulatedPerThreadStream()), 0;
}
EXPORT int cuStreamBeginCapture_v2(uintptr_t stream, int mode)
{
    (void)mode;
    captured = 0;
    return capturing = stream, 0;
}
EXPORT int cuStreamEndCapture(uintptr_t stream, uintptr_t *graph)
{
    *graph = stream;
    return capturing = 0, 0;
}
EXPORT int cuGraphInstantiateWithFlags(uintptr_t *executable, uintptr_t graph, uint64_t flags)
{
    (void)flags;
    return *executable = graph, 0;
}
EXPORT int cuGraphLaunch(uintptr_t executable, uintptr_t stream)
{
    (void)executable;
    return simulatedGraph(3, captured, number_of(stream), KERNEL_NS), 0;
}
EXPORT int cuProfilerStart(void) { return simulatedProfiler(1), 0; }
EXPORT int cuProfilerStop(void) { return simulatedProfiler(0), 0; }
