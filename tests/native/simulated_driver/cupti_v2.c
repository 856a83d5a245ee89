/* The second family of CUPTI's functions (13.2 and newer): every subscriber has its own kinds, buffers, clock and thread
 * ids. Several subscribers need CUPTI 13.3 and a driver for CUDA 13.3. The two families do not mix: result 14. 13.0 and
 * 13.1 have cuptiSubscribe_v2 alone, which only gives the subscription a name. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "simulation.h"

enum {
    FIRST_API = 130000,
    FIRST_API_OF_FAMILY = 130200,
    FIRST_API_OF_SEVERAL = 130300,
    FIRST_DRIVER_OF_SEVERAL = 13030
};
enum { ATTRIBUTE_GRAPH_TRACE = 20, ATTRIBUTE_THREAD_ID_TYPE = 21, ATTRIBUTE_TIMESTAMP_CALLBACK = 22 };
enum { GRAPH_TRACE = 51 };

static _Atomic bool is_any_enabled, is_graph_trace;

struct parameters {
    size_t size;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t allows_several, padding[7];
};

int cuptiSubscribe(void **subscriber, callback_fn callback, void *user);

static int driver_version(void)
{
    int version = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*get)(int *) = driver ? (int (*)(int *))dlsym(driver, "cuDriverGetVersion") : NULL;
    if (get)
        get(&version);
    return version;
}

static bool is_first_family(void)
{
    for (uint32_t kind = 0; kind < KINDS; kind++)
        if (collectors[0].is_enabled[kind])
            return true;
    return collectors[0].is_subscribed;
}

EXPORT int cuptiSubscribe_v2(void **subscriber, callback_fn callback, void *user, struct parameters *parameters)
{
    bool is_several = parameters && parameters->allows_several;
    if (api_version() < FIRST_API)
        return NOT_SUPPORTED;
    if (parameters && parameters->size < offsetof(struct parameters, padding))
        return INVALID_PARAMETER;
    if (refused("subscribe_v2"))
        return refused("subscribe_v2");
    if (api_version() < FIRST_API_OF_FAMILY && !is_several)
        return cuptiSubscribe(subscriber, callback, user);
    if (is_first_family())
        return NOT_COMPATIBLE;
    if (is_several && (api_version() < FIRST_API_OF_SEVERAL || driver_version() < FIRST_DRIVER_OF_SEVERAL))
        return MULTIPLE_SUBSCRIBERS;
    lock_cupti("cuptiSubscribe_v2", INSIDE_API_CALLBACK);
    int result = MULTIPLE_SUBSCRIBERS;
    for (size_t i = 1; i < COLLECTORS; i++) {
        if (collectors[i].is_subscribed && !is_several)
            break;
        if (collectors[i].is_subscribed)
            continue;
        collectors[i].is_subscribed = true;
        collectors[i].callback = callback;
        collectors[i].user = user;
        *subscriber = &collectors[i];
        result = OK;
        break;
    }
    unlock_cupti();
    return result;
}

static int enable(struct collector *collector, uint32_t kind, bool is_dumping)
{
    if (collector == NULL || !collector->is_subscribed)
        return INVALID_PARAMETER;
    if (collector == &collectors[0])
        return NOT_COMPATIBLE;
    if (kind >= KINDS)
        return INVALID_KIND;
    if (kind == GRAPH_TRACE && !is_graph_trace)
        return NOT_COMPATIBLE;
    is_any_enabled = true;
    lock_cupti("cuptiActivityEnable_v2", INSIDE_API_CALLBACK);
    collector->is_enabled[kind] = true;
    if (is_dumping)
        dump_existing(collector, kind);
    unlock_cupti();
    return OK;
}

EXPORT int cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *config)
{
    (void)config;
    return enable(subscriber, kind, false);
}
EXPORT int cuptiActivityEnableAndDump_v2(void *subscriber, uint32_t kind, void *config)
{
    (void)config;
    return enable(subscriber, kind, true);
}
EXPORT int cuptiActivityDisable_v2(void *subscriber, uint32_t kind, void *config)
{
    struct collector *collector = subscriber;
    (void)config;
    if (kind < KINDS)
        collector->is_enabled[kind] = false;
    return OK;
}
EXPORT int cuptiActivityRegisterCallbacks_v2(void *subscriber, request_v2_fn request, complete_v2_fn complete)
{
    struct collector *collector = subscriber;
    if (collector == &collectors[0])
        return NOT_COMPATIBLE;
    collector->request_v2 = request;
    collector->complete_v2 = complete;
    return OK;
}
EXPORT int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *from, size_t valid, void **record)
{
    int cuptiActivityGetNextRecord(uint8_t *, size_t, void **);
    (void)subscriber;
    return cuptiActivityGetNextRecord(from, valid, record);
}
EXPORT int cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context, uint32_t stream, size_t *dropped)
{
    struct collector *collector = subscriber;
    (void)context, (void)stream;
    *dropped = atomic_exchange(&collector->dropped, 0);
    return OK;
}
EXPORT int cuptiActivitySetAttribute_v2(void *subscriber, uint32_t attribute, size_t *size, void *value)
{
    struct collector *collector = subscriber;
    if (attribute == ATTRIBUTE_THREAD_ID_TYPE && *size >= sizeof(uint32_t))
        collector->has_system_tids = *(uint32_t *)value == 1;
    else if (attribute == ATTRIBUTE_TIMESTAMP_CALLBACK && *size >= sizeof(timestamp_fn))
        collector->timestamp = *(timestamp_fn *)value;
    else if (attribute == ATTRIBUTE_GRAPH_TRACE && !is_any_enabled)
        is_graph_trace = *(uint8_t *)value;
    return OK;
}
EXPORT int cuptiGetTimestamp_v2(void *subscriber, uint64_t *time)
{
    *time = host_now(subscriber);
    return OK;
}
