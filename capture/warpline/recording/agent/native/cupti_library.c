/* Finding libcupti inside the recorded program. There must be only one in a process, so one that is already loaded
 * (PyTorch links it) wins over the one the launcher found. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_internal.h"

struct cupti cupti;

uint32_t cupti_driver_version(void)
{
    int version = 0;
    int (*get)(int *);
    void *address = dlsym(RTLD_DEFAULT, "cuDriverGetVersion");
    void *library = address ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL)
        address = dlsym(library, "cuDriverGetVersion");
    memcpy(&get, &address, sizeof address);
    return address != NULL && get(&version) == 0 ? (uint32_t)version : 0;
}

static void *open_any(const char *const *names, size_t count, int flags)
{
    void *library = NULL;
    for (size_t i = 0; i < count && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | flags);
    return library;
}

static void *open_library(void)
{
    static const char *const loaded[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    /* A libcupti newer than the driver does not work, one of an older CUDA does. */
    static const char *const for_old_driver[] = {"libcupti.so.12", "libcupti.so"};
    const char *found = getenv("WARPLINE_LIBCUPTI");
    uint32_t driver = cupti_driver_version();
    void *library = open_any(loaded, 3, RTLD_NOLOAD);
    if (library == NULL && found != NULL && found[0] != 0)
        library = open_any(&found, 1, 0);
    if (library == NULL)
        library = driver != 0 && driver < 13000 ? open_any(for_old_driver, 2, 0) : open_any(loaded, 3, 0);
    return library;
}

bool cupti_load(char *reason, size_t size)
{
    void *library = open_library();
    if (library == NULL) {
        const char *error = dlerror();
        snprintf(reason, size, "libcupti was not found (%s)", error ? error : "no such library");
        return false;
    }
    struct {
        const char *name;
        void *function;
        bool is_needed;
    } symbols[] = {
        {"cuptiSubscribe", &cupti.subscribe, true},
        {"cuptiUnsubscribe", &cupti.unsubscribe, true},
        {"cuptiEnableCallback", &cupti.enable_callback, true},
        {"cuptiActivityRegisterCallbacks", &cupti.register_callbacks, true},
        {"cuptiActivityEnable", &cupti.enable, true},
        {"cuptiActivityDisable", &cupti.disable, true},
        {"cuptiActivityFlushAll", &cupti.flush_all, true},
        {"cuptiActivityGetNextRecord", &cupti.next_record, true},
        {"cuptiActivityGetNumDroppedRecords", &cupti.dropped_records, true},
        {"cuptiGetCallbackName", &cupti.callback_name, true},
        {"cuptiGetResultString", &cupti.result_string, true},
        {"cuptiGetVersion", &cupti.get_version, true},
        {"cuptiGetTimestamp", &cupti.get_timestamp, true},
        {"cuptiActivityRegisterTimestampCallback", &cupti.register_timestamp, false},
        {"cuptiSetThreadIdType", &cupti.set_thread_id_type, false},
        {"cuptiActivityFlushPeriod", &cupti.flush_period, false},
        {"cuptiActivityEnableLatencyTimestamps", &cupti.latency_timestamps, false},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (address == NULL && symbols[i].is_needed) {
            snprintf(reason, size, "libcupti has no %s", symbols[i].name);
            return false;
        }
        memcpy(symbols[i].function, &address, sizeof address); /* ISO C has no cast from void * to a function */
    }
    return true;
}
