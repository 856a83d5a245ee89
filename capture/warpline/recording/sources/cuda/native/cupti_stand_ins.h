/* How a function stands in for one of libcupti; for the two files that have them. */
#ifndef WARPLINE_CUPTI_STAND_INS_H
#define WARPLINE_CUPTI_STAND_INS_H

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "cupti_family.h"
#include "cupti_internal.h"
#include "cupti_sharing.h"
#include "interpose.h"
#include "spool.h"

/* One function. `shared` is what happens while a recording is about CUDA, if `is_ours`; else libcupti's own is called.
 * Before the program has loaded libcupti, CUPTI is not there yet. */
#define STAND_IN_IF(is_ours, name, parameters, arguments, shared)             \
    EXPORT int name parameters                                                \
    {                                                                         \
        static int(*_Atomic own) parameters;                                  \
        if (!family_find())                                                   \
            return CUPTI_NOT_INITIALIZED;                                     \
        if (LIKELY(cupti_is_wanted()) && (is_ours))                           \
            return shared;                                                    \
        if (atomic_load(&own) == NULL) {                                      \
            void *found = cupti_symbol(cupti_open_loaded(), #name);           \
            int(*function) parameters;                                        \
            memcpy(&function, &found, sizeof found);                          \
            atomic_store(&own, function);                                     \
        }                                                                     \
        int(*function) parameters = atomic_load(&own);                        \
        return function != NULL ? function arguments : CUPTI_NOT_INITIALIZED; \
    }

#define STAND_IN(name, parameters, arguments, shared) STAND_IN_IF(true, name, parameters, arguments, shared)
/* For functions of a `subscriber`: the program may have subscribers of its own, where CUPTI serves several. */
#define STAND_IN_OF_SUBSCRIBER(name, parameters, arguments, shared) \
    STAND_IN_IF(subscriber != NULL && subscriber == family_subscriber(), name, parameters, arguments, shared)

struct stand_in {
    const char *name;
    void *function;
};
#define NAMED(name) {#name, (void *)name}

/* The program's profiler becomes the second user of the only subscription, and gets its handle. */
int stand_ins_subscribe(void **subscriber, cupti_callback callback, void *data);
/* Those of the second family (cupti_interposed_v2.c). */
extern const struct stand_in stand_ins_v2[];
extern const size_t stand_ins_v2_count;

#endif
