/* The two families of CUPTI's functions. Those of the first have one state for the process. Those of the second
 * (names in _v2, CUPTI 13) belong to a subscriber. Once one family is used, functions of the other answer
 * CUPTI_NOT_COMPATIBLE; several subscribers need CUPTI 13.3 and a driver for CUDA 13.3 (release 610). So the second is
 * used where several subscribers are possible, and the first elsewhere. */
#define _GNU_SOURCE
#include "cupti_family.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cupti_internal.h"

enum { FIRST_API_OF_SEVERAL = 130300, FIRST_DRIVER_OF_SEVERAL = 13030 };

static struct {
    int (*get_version)(uint32_t *);
    int (*subscribe)(void **, cupti_callback, void *);
    int (*unsubscribe)(void *);
    int (*enable_callback)(uint32_t, void *, uint32_t, uint32_t);
    int (*enable_domain)(uint32_t, void *, uint32_t);
    int (*register_callbacks)(cupti_request, cupti_complete);
    int (*enable)(uint32_t);
    int (*enable_and_dump)(uint32_t);
    int (*enable_context)(void *, uint32_t);
    int (*disable)(uint32_t);
    int (*flush_all)(uint32_t);
    int (*next_record)(uint8_t *, size_t, void **);
    int (*dropped_records)(void *, uint32_t, size_t *);
    int (*push_external)(uint32_t, uint64_t);
    int (*pop_external)(uint32_t, uint64_t *);
    int (*get_timestamp)(uint64_t *);
    int (*register_timestamp)(cupti_timestamp);
    int (*set_thread_id_type)(uint32_t);
    int (*latency_timestamps)(uint8_t);
    int (*set_attribute)(uint32_t, size_t *, void *);
    int (*get_attribute)(uint32_t, size_t *, void *);
    int (*finalize)(void);
    int (*subscribe_v2)(void **, cupti_callback, void *, struct subscriber_parameters *);
    int (*register_callbacks_v2)(void *, cupti_request_v2, cupti_complete_v2);
    int (*enable_v2)(void *, uint32_t, void *);
    int (*enable_and_dump_v2)(void *, uint32_t, void *);
    int (*disable_v2)(void *, uint32_t, void *);
    int (*next_record_v2)(void *, uint8_t *, size_t, void **);
    int (*dropped_records_v2)(void *, void *, uint32_t, size_t *);
    int (*push_external_v2)(void *, uint32_t, uint64_t);
    int (*pop_external_v2)(void *, uint32_t, uint64_t *);
    int (*get_timestamp_v2)(void *, uint64_t *);
    int (*set_attribute_v2)(void *, uint32_t, size_t *, void *);
    int (*get_attribute_v2)(void *, uint32_t, size_t *, void *);
} real;

static const struct {
    const char *name;
    void *function;
} symbols[] = {
    {"cuptiGetVersion", &real.get_version},
    {"cuptiSubscribe", &real.subscribe},
    {"cuptiUnsubscribe", &real.unsubscribe},
    {"cuptiEnableCallback", &real.enable_callback},
    {"cuptiEnableDomain", &real.enable_domain},
    {"cuptiActivityRegisterCallbacks", &real.register_callbacks},
    {"cuptiActivityEnable", &real.enable},
    {"cuptiActivityEnableAndDump", &real.enable_and_dump},
    {"cuptiActivityEnableContext", &real.enable_context},
    {"cuptiActivityDisable", &real.disable},
    {"cuptiActivityFlushAll", &real.flush_all},
    {"cuptiActivityGetNextRecord", &real.next_record},
    {"cuptiActivityGetNumDroppedRecords", &real.dropped_records},
    {"cuptiActivityPushExternalCorrelationId", &real.push_external},
    {"cuptiActivityPopExternalCorrelationId", &real.pop_external},
    {"cuptiGetTimestamp", &real.get_timestamp},
    {"cuptiActivityRegisterTimestampCallback", &real.register_timestamp},
    {"cuptiSetThreadIdType", &real.set_thread_id_type},
    {"cuptiActivityEnableLatencyTimestamps", &real.latency_timestamps},
    {"cuptiActivitySetAttribute", &real.set_attribute},
    {"cuptiActivityGetAttribute", &real.get_attribute},
    {"cuptiFinalize", &real.finalize},
    {"cuptiSubscribe_v2", &real.subscribe_v2},
    {"cuptiActivityRegisterCallbacks_v2", &real.register_callbacks_v2},
    {"cuptiActivityEnable_v2", &real.enable_v2},
    {"cuptiActivityEnableAndDump_v2", &real.enable_and_dump_v2},
    {"cuptiActivityDisable_v2", &real.disable_v2},
    {"cuptiActivityGetNextRecord_v2", &real.next_record_v2},
    {"cuptiActivityGetNumDroppedRecords_v2", &real.dropped_records_v2},
    {"cuptiActivityPushExternalCorrelationId_v2", &real.push_external_v2},
    {"cuptiActivityPopExternalCorrelationId_v2", &real.pop_external_v2},
    {"cuptiGetTimestamp_v2", &real.get_timestamp_v2},
    {"cuptiActivitySetAttribute_v2", &real.set_attribute_v2},
    {"cuptiActivityGetAttribute_v2", &real.get_attribute_v2},
};

/* Held while subscribing, which may begin CUDA and so come here again on the same thread. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static _Atomic bool is_loaded;
static void *_Atomic subscriber;
static _Atomic bool is_second;    /* the family, once `subscriber` is set */
static cupti_timestamp timestamp; /* the last one registered */
static cupti_request on_request;
static cupti_complete on_complete;

void family_load(void *library)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !atomic_load(&is_loaded) && i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = cupti_symbol(library, symbols[i].name);
        memcpy(symbols[i].function, &address, sizeof address);
    }
    atomic_store(&is_loaded, true);
    pthread_mutex_unlock(&lock);
}

bool family_find(void)
{
    if (atomic_load_explicit(&is_loaded, memory_order_acquire))
        return true;
    void *library = cupti_open_loaded();
    if (library != NULL)
        family_load(library);
    return library != NULL;
}

static bool allows_several(void)
{
    uint32_t version = 0;
    return real.subscribe_v2 != NULL && real.register_callbacks_v2 != NULL && real.enable_v2 != NULL &&
           real.disable_v2 != NULL && real.next_record_v2 != NULL && real.dropped_records_v2 != NULL &&
           real.set_attribute_v2 != NULL && real.get_version(&version) == CUPTI_OK && version >= FIRST_API_OF_SEVERAL &&
           cupti_driver_version() >= FIRST_DRIVER_OF_SEVERAL;
}

int family_subscribe(cupti_callback callback)
{
    void *given = NULL;
    bool is_of_second = false;
    int result = CUPTI_OK;
    pthread_mutex_lock(&lock);
    if (atomic_load(&subscriber) == NULL) {
        if (allows_several()) {
            struct subscriber_parameters parameters = {
                offsetof(struct subscriber_parameters, padding), "Warpline", NULL, 0, 1, {0},
            };
            is_of_second = real.subscribe_v2(&given, callback, NULL, &parameters) == CUPTI_OK;
        }
        if (!is_of_second && atomic_load(&subscriber) == NULL)
            result = real.subscribe(&given, callback, NULL);
        if (atomic_load(&subscriber) != NULL) { /* meanwhile, inside this call */
            if (result == CUPTI_OK && given != NULL)
                real.unsubscribe(given);
            result = CUPTI_OK;
        } else if (result == CUPTI_OK) {
            atomic_store(&is_second, is_of_second);
            atomic_store(&subscriber, given);
            if (is_of_second && timestamp != NULL) /* registered earlier, for the process */
                family_register_timestamp(timestamp);
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

bool family_serves_several(void)
{
    return atomic_load(&subscriber) != NULL ? atomic_load(&is_second) : allows_several();
}

void *family_subscriber(void) { return atomic_load(&subscriber); }

bool family_is_second(void) { return atomic_load(&is_second); }

int family_unsubscribe(void)
{
    void *given = atomic_exchange(&subscriber, NULL);
    atomic_store(&is_second, false);
    return given != NULL ? real.unsubscribe(given) : CUPTI_OK;
}

int family_enable_callback(bool is_on, uint32_t domain, uint32_t id)
{
    return real.enable_callback(is_on, atomic_load(&subscriber), domain, id);
}

int family_enable_domain(bool is_on, uint32_t domain)
{
    return real.enable_domain ? real.enable_domain(is_on, atomic_load(&subscriber), domain) : CUPTI_NOT_INITIALIZED;
}

static void request_of_second(uint8_t **buffer, size_t *size, size_t *max_records, void *info)
{
    (void)info;
    on_request(buffer, size, max_records);
}

static void complete_of_second(uint8_t *buffer, size_t size, size_t valid_size, void *info)
{
    (void)info;
    on_complete(NULL, 0, buffer, size, valid_size);
}

int family_register_callbacks(cupti_request request, cupti_complete complete)
{
    on_request = request;
    on_complete = complete;
    if (atomic_load(&is_second))
        return real.register_callbacks_v2(atomic_load(&subscriber), request_of_second, complete_of_second);
    return real.register_callbacks(request, complete);
}

int family_enable(uint32_t kind, bool is_dumping)
{
    void *given = atomic_load(&subscriber);
    if (atomic_load(&is_second))
        return (is_dumping && real.enable_and_dump_v2 ? real.enable_and_dump_v2 : real.enable_v2)(given, kind, NULL);
    return (is_dumping && real.enable_and_dump ? real.enable_and_dump : real.enable)(kind);
}

int family_enable_in_context(void *context, uint32_t kind)
{
    if (atomic_load(&is_second) || real.enable_context == NULL)
        return family_enable(kind, false);
    return real.enable_context(context, kind);
}

int family_disable(uint32_t kind)
{
    return atomic_load(&is_second) ? real.disable_v2(atomic_load(&subscriber), kind, NULL) : real.disable(kind);
}

int family_flush_all(uint32_t flag) { return real.flush_all(flag); }

int family_next_record(uint8_t *buffer, size_t valid_size, void **record)
{
    if (atomic_load_explicit(&is_second, memory_order_relaxed))
        return real.next_record_v2(atomic_load_explicit(&subscriber, memory_order_relaxed), buffer, valid_size, record);
    return real.next_record(buffer, valid_size, record);
}

int family_dropped_records(void *context, uint32_t stream, size_t *dropped)
{
    if (atomic_load(&is_second))
        return real.dropped_records_v2(atomic_load(&subscriber), context, stream, dropped);
    return real.dropped_records(context, stream, dropped);
}

int family_push_external(uint32_t kind, uint64_t id)
{
    if (atomic_load(&is_second) && real.push_external_v2 != NULL)
        return real.push_external_v2(atomic_load(&subscriber), kind, id);
    return real.push_external ? real.push_external(kind, id) : CUPTI_NOT_INITIALIZED;
}

int family_pop_external(uint32_t kind, uint64_t *id)
{
    if (atomic_load(&is_second) && real.pop_external_v2 != NULL)
        return real.pop_external_v2(atomic_load(&subscriber), kind, id);
    return real.pop_external ? real.pop_external(kind, id) : CUPTI_NOT_INITIALIZED;
}

int family_get_timestamp(uint64_t *time)
{
    if (atomic_load(&is_second) && real.get_timestamp_v2 != NULL)
        return real.get_timestamp_v2(atomic_load(&subscriber), time);
    return real.get_timestamp(time);
}

int family_set_attribute(uint32_t attribute, size_t *size, void *value)
{
    if (atomic_load(&is_second))
        return real.set_attribute_v2(atomic_load(&subscriber), attribute, size, value);
    return real.set_attribute ? real.set_attribute(attribute, size, value) : CUPTI_NOT_INITIALIZED;
}

int family_get_attribute(uint32_t attribute, size_t *size, void *value)
{
    if (atomic_load(&is_second) && real.get_attribute_v2 != NULL)
        return real.get_attribute_v2(atomic_load(&subscriber), attribute, size, value);
    return real.get_attribute ? real.get_attribute(attribute, size, value) : CUPTI_NOT_INITIALIZED;
}

static int set_attribute(uint32_t attribute, void *value, size_t size)
{
    return family_set_attribute(attribute, &size, value);
}

void family_select_graph_trace(void)
{
    uint8_t is_on = 1;
    if (atomic_load(&is_second))
        set_attribute(ATTRIBUTE_GRAPH_TRACE_OF_SEVERAL, &is_on, sizeof is_on);
}

int family_register_timestamp(cupti_timestamp callback)
{
    timestamp = callback;
    if (atomic_load(&is_second))
        return set_attribute(ATTRIBUTE_TIMESTAMP_CALLBACK, &callback, sizeof callback);
    return real.register_timestamp ? real.register_timestamp(callback) : CUPTI_NOT_INITIALIZED;
}

int family_set_thread_id_type(uint32_t type)
{
    if (atomic_load(&is_second))
        return set_attribute(ATTRIBUTE_THREAD_ID_TYPE, &type, sizeof type);
    return real.set_thread_id_type ? real.set_thread_id_type(type) : CUPTI_NOT_INITIALIZED;
}

int family_latency_timestamps(uint8_t is_on)
{
    if (atomic_load(&is_second))
        return set_attribute(ATTRIBUTE_LATENCY_TIMESTAMPS, &is_on, sizeof is_on);
    return real.latency_timestamps ? real.latency_timestamps(is_on) : CUPTI_NOT_INITIALIZED;
}

int family_finalize(void)
{
    atomic_store(&subscriber, NULL);
    atomic_store(&is_second, false);
    return real.finalize ? real.finalize() : CUPTI_NOT_INITIALIZED;
}
