/* Measuring a call of the C library. */
#ifndef WARPLINE_OSRT_MEASURE_H
#define WARPLINE_OSRT_MEASURE_H

#include "osrt.h"

/* Runs `expression`, a call of the real function, and records it if it was long. */
#define MEASURE(what, fd, about, name, expression)                       \
    do {                                                                 \
        if (!osrt_is_on())                                               \
            return expression;                                           \
        struct osrt_call call = {.function = (what),                     \
                                 .descriptor = (fd),                     \
                                 .object = (uint64_t)(about),            \
                                 .text = (name),                         \
                                 .caller = __builtin_return_address(0)}; \
        call.start_ns = wl_clock(CLOCK_MONOTONIC);                       \
        osrt_begin(&call);                                               \
        __auto_type result = expression;                                 \
        call.result = (int64_t)result;                                   \
        osrt_finish(&call);                                              \
        return result;                                                   \
    } while (0)

#define ON_DESCRIPTOR(what, fd, expression) MEASURE(what, fd, fd, NULL, expression)

#endif
