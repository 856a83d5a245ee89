/* How a function of ours stands in for one of the C library that is known by its name. */
#ifndef WARPLINE_OSRT_MEASURE_H
#define WARPLINE_OSRT_MEASURE_H

#include "osrt.h"

#define REAL(name)                                                                                                  \
    ({                                                                                                              \
        static __typeof__(&name) found;                                                                             \
        __typeof__(&name) real = __atomic_load_n(&found, __ATOMIC_RELAXED);                                         \
        if (UNLIKELY(real == NULL)) {                                                                               \
            real = (__typeof__(&name))osrt_real(#name, NULL);                                                       \
            __atomic_store_n(&found, real, __ATOMIC_RELAXED);                                                       \
        }                                                                                                           \
        real;                                                                                                       \
    })

/* Runs `expression`, a call of the real function, and writes it down when it was long. */
#define MEASURE(what, fd, about, name, expression)                                                                  \
    do {                                                                                                            \
        if (!osrt_is_on())                                                                                          \
            return expression;                                                                                      \
        struct osrt_call call = {.function = (what), .descriptor = (fd), .object = (uint64_t)(about),               \
                                 .text = (name), .caller = __builtin_return_address(0)};                            \
        call.start_ns = wl_clock(CLOCK_MONOTONIC);                                                                  \
        osrt_begin(&call);                                                                                          \
        __auto_type result = expression;                                                                            \
        call.result = (int64_t)result;                                                                              \
        osrt_finish(&call);                                                                                         \
        return result;                                                                                              \
    } while (0)

#define ON_DESCRIPTOR(what, fd, expression) MEASURE(what, fd, fd, NULL, expression)

#endif
