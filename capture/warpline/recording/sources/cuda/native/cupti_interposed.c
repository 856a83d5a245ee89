/* Stands in for the functions of libcupti in programs that the agent was preloaded into, so that the program's own
 * profiler and Warpline share one CUPTI. PyTorch is linked against libcupti: the loader finds the functions here first.
 * Paddle opens libcupti and looks them up (cupti_lookups.c). */
#define _GNU_SOURCE
#include "cupti_stand_ins.h"

bool cupti_is_wanted(void) { return atomic_load_explicit(&wl_control->sources, memory_order_relaxed) & SOURCE_CUDA; }

int stand_ins_subscribe(void **subscriber, cupti_callback callback, void *data)
{
    int result = sharing_subscribe(PROGRAM, callback, data);
    if (result == CUPTI_OK && subscriber != NULL)
        *subscriber = family_subscriber();
    return result;
}

STAND_IN(cuptiSubscribe, (void **subscriber, cupti_callback callback, void *data), (subscriber, callback, data),
         stand_ins_subscribe(subscriber, callback, data))
STAND_IN_OF_SUBSCRIBER(cuptiUnsubscribe, (void *subscriber), (subscriber), sharing_unsubscribe(PROGRAM))
STAND_IN_OF_SUBSCRIBER(cuptiEnableCallback, (uint32_t is_on, void *subscriber, uint32_t domain, uint32_t id),
                       (is_on, subscriber, domain, id), sharing_enable_callback(PROGRAM, is_on != 0, domain, id))
STAND_IN_OF_SUBSCRIBER(cuptiEnableDomain, (uint32_t is_on, void *subscriber, uint32_t domain),
                       (is_on, subscriber, domain), sharing_enable_domain(PROGRAM, is_on != 0, domain))
STAND_IN(cuptiActivityRegisterCallbacks, (cupti_request request, cupti_complete complete), (request, complete),
         sharing_register_callbacks(PROGRAM, request, complete))
STAND_IN(cuptiActivityEnable, (uint32_t kind), (kind), sharing_enable(PROGRAM, kind, false))
STAND_IN(cuptiActivityEnableAndDump, (uint32_t kind), (kind), sharing_enable(PROGRAM, kind, true))
STAND_IN(cuptiActivityEnableContext, (void *context, uint32_t kind), (context, kind),
         sharing_enable_in_context(PROGRAM, context, kind))
STAND_IN(cuptiActivityDisable, (uint32_t kind), (kind), sharing_disable(PROGRAM, kind))
STAND_IN(cuptiActivityDisableContext, (void *context, uint32_t kind), (context, kind), sharing_disable(PROGRAM, kind))
STAND_IN(cuptiActivityFlushAll, (uint32_t flag), (flag), sharing_flush_all(PROGRAM, flag))
STAND_IN(cuptiActivityGetNextRecord, (uint8_t *buffer, size_t size, void **record), (buffer, size, record),
         family_next_record(buffer, size, record))
STAND_IN(cuptiActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped),
         (context, stream, dropped), family_dropped_records(context, stream, dropped))
STAND_IN(cuptiActivityPushExternalCorrelationId, (uint32_t kind, uint64_t id), (kind, id),
         family_push_external(kind, id))
STAND_IN(cuptiActivityPopExternalCorrelationId, (uint32_t kind, uint64_t *id), (kind, id),
         family_pop_external(kind, id))
STAND_IN(cuptiActivityRegisterTimestampCallback, (cupti_timestamp callback), (callback),
         sharing_register_timestamp(PROGRAM, callback))
STAND_IN(cuptiGetTimestamp, (uint64_t *time), (time), sharing_get_timestamp(PROGRAM, time))
STAND_IN(cuptiSetThreadIdType, (uint32_t type), (type), sharing_set_thread_id_type(PROGRAM, type))
STAND_IN(cuptiFinalize, (void), (), sharing_finalize(PROGRAM))

static const struct stand_in stand_ins[] = {
    NAMED(cuptiSubscribe),
    NAMED(cuptiUnsubscribe),
    NAMED(cuptiEnableCallback),
    NAMED(cuptiEnableDomain),
    NAMED(cuptiActivityRegisterCallbacks),
    NAMED(cuptiActivityEnable),
    NAMED(cuptiActivityEnableAndDump),
    NAMED(cuptiActivityEnableContext),
    NAMED(cuptiActivityDisable),
    NAMED(cuptiActivityDisableContext),
    NAMED(cuptiActivityFlushAll),
    NAMED(cuptiActivityGetNextRecord),
    NAMED(cuptiActivityGetNumDroppedRecords),
    NAMED(cuptiActivityPushExternalCorrelationId),
    NAMED(cuptiActivityPopExternalCorrelationId),
    NAMED(cuptiActivityRegisterTimestampCallback),
    NAMED(cuptiGetTimestamp),
    NAMED(cuptiSetThreadIdType),
    NAMED(cuptiFinalize),
};

void *cupti_stand_in(const char *name)
{
    for (size_t i = 0; i < sizeof stand_ins / sizeof stand_ins[0]; i++)
        if (strcmp(stand_ins[i].name, name) == 0)
            return stand_ins[i].function;
    for (size_t i = 0; i < stand_ins_v2_count; i++)
        if (strcmp(stand_ins_v2[i].name, name) == 0)
            return stand_ins_v2[i].function;
    return NULL;
}
