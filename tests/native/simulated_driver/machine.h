/* What libcuda.so.1 knows and libcupti asks for: the devices, contexts and streams that exist. */
#ifndef SIMULATED_MACHINE_H
#define SIMULATED_MACHINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST_DEVICES 8u
#define MOST_CONTEXTS 64u
#define MOST_STREAMS 512u
#define NULL_STREAM 7u /* of context 1; a later context has its own */

enum stream_flag { STREAM_NON_BLOCKING = 2, STREAM_NULL = 3 };

struct device {
    uint8_t uuid[16];
};
struct context {
    _Atomic bool is_alive;
    _Atomic uint32_t device, null_stream;
};
struct stream {
    _Atomic bool is_alive;
    _Atomic uint32_t context, flag;
    _Atomic int32_t priority;
    _Atomic uint64_t free_ns; /* CLOCK_MONOTONIC: when the work it was given so far has ended */
};

struct machine {
    pthread_mutex_t lock;
    _Atomic bool is_initialised, is_initialising; /* inside cuInit, which holds the locks of the driver */
    uint32_t device_count;
    struct device devices[MOST_DEVICES];
    struct context contexts[MOST_CONTEXTS]; /* by id, from 1 */
    struct stream streams[MOST_STREAMS];    /* by id, from NULL_STREAM */
};

#endif
