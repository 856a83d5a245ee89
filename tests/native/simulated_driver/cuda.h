/* Between the two halves of the simulated libcuda: what it is, and the driver's API on top of it. */
#ifndef SIMULATED_CUDA_H
#define SIMULATED_CUDA_H

#include <stddef.h>

#include "machine.h"

enum {
    DRIVER_CONTEXT_DESTROY = 322,
    DRIVER_CONTEXT_GET_CURRENT = 304,
    DRIVER_GREEN_CONTEXT_DESTROY = 744,
    DRIVER_LAUNCH_KERNEL = 307,
    DRIVER_PRIMARY_CONTEXT_RELEASE = 544,
    DRIVER_PRIMARY_CONTEXT_RESET = 545,
    DRIVER_PROFILER_START = 308,
    DRIVER_PROFILER_STOP = 309,
    RUNTIME_DEVICE_RESET = 164,
    RUNTIME_GET_DEVICE = 17,
    RUNTIME_GRAPH_LAUNCH = 311,
    RUNTIME_LAUNCH_KERNEL = 211,
    RUNTIME_MALLOC = 20,
    RUNTIME_MEMCPY_ASYNC = 41,
    RUNTIME_MEMSET_ASYNC = 51,
    RUNTIME_PROFILER_START = 171,
    RUNTIME_PROFILER_STOP = 172,
    RUNTIME_SET_DEVICE = 16,
    RUNTIME_STREAM_SYNCHRONIZE = 131,
};
enum { RESOURCE_CONTEXT_CREATED = 1, RESOURCE_CONTEXT_DESTROY_STARTING = 2, RESOURCE_STREAM_CREATED = 3 };

EXPORT extern struct machine simulated_machine;

#pragma GCC visibility push(hidden)

void call_back(uint32_t domain, uint32_t id, uint32_t site);
uint32_t api_begin(bool is_driver, uint32_t id, uint64_t *start);
void api_end(bool is_driver, uint32_t id, uint32_t correlation, uint64_t start, int result);
/* With id 0: the next free one. Nothing happens where it exists. */
uint32_t create_context(uint32_t device, uint32_t id);
uint32_t create_stream(uint32_t context, uint32_t id, uint32_t flag, int32_t priority);
void destroy_context(uint32_t id);
/* That of the calling thread, else the latest; 0 if there is none. */
uint32_t current_context(void);

#pragma GCC visibility pop

#endif
