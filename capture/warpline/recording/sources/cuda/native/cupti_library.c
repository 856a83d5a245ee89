/* Finding libcupti inside the recorded program. There must be only one in a process, so one that is already loaded
 * (PyTorch links it) wins over the one the launcher found. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_internal.h"
#include "cupti_sharing.h"
#include "cupti_watch.h"
#include "source_hooks.h"
#include "spool.h"

struct cupti cupti;

/* A function of the CUDA driver, if the program has loaded it. */
static void *of_driver(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    void *library = address ? NULL : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return library != NULL ? dlsym(library, name) : address;
}

uint32_t cupti_driver_version(void)
{
    int version = 0;
    int (*get)(int *);
    void *address = of_driver("cuDriverGetVersion");
    memcpy(&get, &address, sizeof address);
    return address != NULL && get(&version) == 0 ? (uint32_t)version : 0;
}

static void *current_context(int *result)
{
    int (*get)(void **);
    void *address = of_driver("cuCtxGetCurrent"), *context = NULL;
    struct watched_call call;
    memcpy(&get, &address, sizeof address);
    watch_begin_call(&call);
    *result = address != NULL ? get(&context) : -1;
    watch_end_call(&call);
    return context;
}

bool cupti_is_cuda_initialised(void)
{
    int result;
    current_context(&result);
    return result == 0;
}

void cupti_synchronise(void)
{
    int (*synchronise)(void), result;
    void *address = of_driver("cuCtxSynchronize");
    memcpy(&synchronise, &address, sizeof address);
    if (address != NULL && current_context(&result) != NULL)
        synchronise();
}

static void write_name(uint32_t what, uint32_t context, uint32_t id, uint32_t name)
{
    struct record_cupti_name record = {what, context, id, name};
    wl_define(SLOT_CUPTI_NAME, &record, sizeof record);
}

static void name_context(void *context, uint32_t name)
{
    uint32_t id;
    if (cupti.context_id != NULL && cupti.context_id(context, &id) == CUPTI_OK)
        write_name(CUPTI_NAMED_CONTEXT, id, id, name);
}

static void name_stream(void *stream, uint32_t name)
{
    int (*get_context)(void *, void **);
    void *address = of_driver("cuStreamGetCtx"), *context = NULL;
    uint32_t id, context_id = UINT32_MAX;
    if (cupti.stream_id == NULL || cupti.stream_id(NULL, stream, 0, &id) != CUPTI_OK)
        return;
    memcpy(&get_context, &address, sizeof address);
    if (address != NULL && get_context(stream, &context) == 0 && cupti.context_id != NULL &&
        cupti.context_id(context, &context_id) != CUPTI_OK)
        context_id = UINT32_MAX;
    write_name(CUPTI_NAMED_STREAM, context_id, id, name);
}

static void name_gpu_object(enum gpu_object kind, uintptr_t object, uint32_t name)
{
    switch (kind) {
    case GPU_DEVICE: write_name(CUPTI_NAMED_DEVICE, UINT32_MAX, (uint32_t)object, name); break;
    case GPU_CONTEXT: name_context((void *)object, name); break;
    case GPU_STREAM: name_stream((void *)object, name); break;
    }
}

REGISTER_SOURCE(.name_gpu_object = name_gpu_object);

static void *open_any(const char *const *names, size_t count)
{
    void *library = NULL;
    for (size_t i = 0; i < count && library == NULL; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static int is_libcupti(struct dl_phdr_info *info, size_t size, void *path)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (slash == NULL || strncmp(slash + 1, "libcupti.so", strlen("libcupti.so")) != 0 ||
        strlen(info->dlpi_name) >= PATH_MAX)
        return 0;
    strcpy(path, info->dlpi_name);
    return 1;
}

/* By its file, for its version is part of its name: libcupti.so.11.8, .so.12, .so.13. */
void *cupti_open_loaded(void)
{
    char path[PATH_MAX];
    return dl_iterate_phdr(is_libcupti, path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) : NULL;
}

static void *open_library(void)
{
    static const char *const newest_first[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"};
    const char *found = getenv("WARPLINE_LIBCUPTI");
    uint32_t driver = cupti_driver_version();
    /* A libcupti newer than the driver does not work, one of an older CUDA does. */
    size_t too_new = driver == 0 || driver >= 13000 ? 0 : driver >= 12000 ? 1 : 2;
    void *library = cupti_open_loaded();
    if (library == NULL && found != NULL && found[0] != 0)
        library = open_any(&found, 1);
    if (library == NULL)
        library = open_any(newest_first + too_new, sizeof newest_first / sizeof *newest_first - too_new);
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
        {"cuptiActivityEnableAndDump", &cupti.enable_and_dump, false},
        {"cuptiActivityRegisterTimestampCallback", &cupti.register_timestamp, false},
        {"cuptiGetThreadIdType", &cupti.get_thread_id_type, false},
        {"cuptiSetThreadIdType", &cupti.set_thread_id_type, false},
        {"cuptiActivityFlushPeriod", &cupti.flush_period, false},
        {"cuptiActivityEnableLatencyTimestamps", &cupti.latency_timestamps, false},
        {"cuptiGetContextId", &cupti.context_id, false},
        {"cuptiGetStreamIdEx", &cupti.stream_id, false},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = cupti_symbol(library, symbols[i].name);
        if (address == NULL && symbols[i].is_needed) {
            snprintf(reason, size, "libcupti has no %s", symbols[i].name);
            return false;
        }
        memcpy(symbols[i].function, &address, sizeof address); /* ISO C has no cast from void * to a function */
    }
    sharing_use(library);
    return true;
}
