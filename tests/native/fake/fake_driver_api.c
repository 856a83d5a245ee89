/* The part of the CUDA driver's API that tests/gpu/programs/driver.py uses, on top of fake_cuda.c: the checks for a GPU
 * machine can be tried without one. Handles are small numbers. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define KERNEL_NS 2000u

void fakeDriverLaunch(const char *name, uint32_t stream, uint64_t duration_ns);
void fakeCopy(uint32_t kind, uint64_t bytes, uint32_t stream, uint64_t duration_ns);
void fakeSet(uint32_t value, uint64_t bytes, uint32_t stream, uint64_t duration_ns);
void fakeGraph(uint32_t graph, uint32_t nodes, uint32_t stream, uint64_t duration_ns);
void fakeSynchronize(uint32_t stream);
void fakeProfiler(int is_start);

static uint32_t streams = 12, captured;
static uintptr_t capturing;

static uint32_t number_of(uintptr_t stream) { return stream ? (uint32_t)stream : 7; }

EXPORT int cuDeviceGetCount(int *count) { return *count = 1, 0; }
EXPORT int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, 0; }
EXPORT int cuDevicePrimaryCtxRetain(uintptr_t *context, int device) { return *context = 1 + (uintptr_t)device, 0; }
EXPORT int cuCtxSetCurrent(uintptr_t context) { return context ? 0 : 201; }
EXPORT int cuModuleLoadData(uintptr_t *module, const void *image) { return *module = 1, image ? 0 : 200; }
EXPORT int cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name)
{
    *function = (uintptr_t)strdup(name);
    return module ? 0 : 400;
}
EXPORT int cuMemAlloc_v2(uintptr_t *memory, size_t size) { return *memory = (uintptr_t)malloc(size), 0; }
EXPORT int cuMemHostAlloc(void **memory, size_t size, unsigned flags)
{
    return *memory = malloc(size), (int)(flags * 0);
}
EXPORT int cuStreamCreate(uintptr_t *stream, unsigned flags) { return *stream = ++streams, (int)(flags * 0); }
EXPORT int cuStreamGetCtx(uintptr_t stream, uintptr_t *context)
{
    (void)stream;
    return *context = 1, 0;
}
EXPORT int cuStreamSynchronize(uintptr_t stream) { return fakeSynchronize(number_of(stream)), 0; }
EXPORT int cuCtxSynchronize(void)
{
    fakeSynchronize(7);
    for (uint32_t i = 13; i <= streams; i++)
        fakeSynchronize(i);
    return 0;
}
EXPORT int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t size, uintptr_t stream)
{
    (void)to, (void)from;
    return fakeCopy(1, size, number_of(stream), KERNEL_NS), 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t size, uintptr_t stream)
{
    (void)to, (void)from;
    return fakeCopy(2, size, number_of(stream), KERNEL_NS), 0;
}
EXPORT int cuMemsetD32Async(uintptr_t to, unsigned value, size_t count, uintptr_t stream)
{
    (void)to;
    return fakeSet(value, 4 * count, number_of(stream), KERNEL_NS), 0;
}
EXPORT int cuLaunchKernel(uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, uintptr_t stream, void **parameters, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)parameters, (void)extra;
    if (capturing && capturing == stream)
        captured++;
    else
        fakeDriverLaunch((const char *)function, number_of(stream), KERNEL_NS);
    return 0;
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
    return fakeGraph(3, captured, number_of(stream), KERNEL_NS), 0;
}
EXPORT int cuProfilerStart(void) { return fakeProfiler(1), 0; }
EXPORT int cuProfilerStop(void) { return fakeProfiler(0), 0; }
