/* Stands in for the functions of CUPTI's second family (cupti_family.c). Where CUPTI serves several subscribers and the
 * program allows that, it gets a subscriber of its own. Elsewhere it shares Warpline's subscription, like a program that
 * uses the first family. */
#define _GNU_SOURCE
#include "cupti_stand_ins.h"

static _Atomic(cupti_request_v2) program_request;
static _Atomic(cupti_complete_v2) program_complete;

/* What follows the size in CUPTI's structures is only present if the size says so. */
static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    size_t info = sizeof info;
    atomic_load (&program_request)(buffer, size, max_records, &info);
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size)
{
    size_t info = sizeof info;
    (void)context, (void)stream;
    atomic_load (&program_complete)(buffer, size, valid_size, &info);
}

static int register_callbacks(cupti_request_v2 to_request, cupti_complete_v2 to_complete)
{
    if (to_request == NULL || to_complete == NULL)
        return CUPTI_INVALID_PARAMETER;
    atomic_store(&program_request, to_request);
    atomic_store(&program_complete, to_complete);
    return sharing_register_callbacks(PROGRAM, request, complete);
}

static bool is_alone(const struct subscriber_parameters *parameters)
{
    return parameters == NULL || parameters->size <= offsetof(struct subscriber_parameters, allows_several) ||
           !parameters->allows_several || !family_serves_several();
}

static int set_attribute(uint32_t attribute, size_t *size, void *value)
{
    if (attribute == ATTRIBUTE_TIMESTAMP_CALLBACK && size != NULL && *size >= sizeof(cupti_timestamp))
        return sharing_register_timestamp(PROGRAM, *(cupti_timestamp *)value);
    if (attribute == ATTRIBUTE_THREAD_ID_TYPE && size != NULL && *size >= sizeof(uint32_t))
        return sharing_set_thread_id_type(PROGRAM, *(uint32_t *)value);
    return family_set_attribute(attribute, size, value);
}

STAND_IN_IF(is_alone(parameters), cuptiSubscribe_v2,
            (void **subscriber, cupti_callback callback, void *data, struct subscriber_parameters *parameters),
            (subscriber, callback, data, parameters), stand_ins_subscribe(subscriber, callback, data))
STAND_IN_OF_SUBSCRIBER(cuptiActivityRegisterCallbacks_v2,
                       (void *subscriber, cupti_request_v2 to_request, cupti_complete_v2 to_complete),
                       (subscriber, to_request, to_complete), register_callbacks(to_request, to_complete))
STAND_IN_OF_SUBSCRIBER(cuptiActivityEnable_v2, (void *subscriber, uint32_t kind, void *configuration),
                       (subscriber, kind, configuration), sharing_enable(PROGRAM, kind, false))
STAND_IN_OF_SUBSCRIBER(cuptiActivityEnableAndDump_v2, (void *subscriber, uint32_t kind, void *configuration),
                       (subscriber, kind, configuration), sharing_enable(PROGRAM, kind, true))
STAND_IN_OF_SUBSCRIBER(cuptiActivityDisable_v2, (void *subscriber, uint32_t kind, void *configuration),
                       (subscriber, kind, configuration), sharing_disable(PROGRAM, kind))
STAND_IN_OF_SUBSCRIBER(cuptiActivityGetNextRecord_v2, (void *subscriber, uint8_t *buffer, size_t size, void **record),
                       (subscriber, buffer, size, record), family_next_record(buffer, size, record))
STAND_IN_OF_SUBSCRIBER(cuptiActivityGetNumDroppedRecords_v2,
                       (void *subscriber, void *context, uint32_t stream, size_t *dropped),
                       (subscriber, context, stream, dropped), family_dropped_records(context, stream, dropped))
STAND_IN_OF_SUBSCRIBER(cuptiActivityPushExternalCorrelationId_v2, (void *subscriber, uint32_t kind, uint64_t id),
                       (subscriber, kind, id), family_push_external(kind, id))
STAND_IN_OF_SUBSCRIBER(cuptiActivityPopExternalCorrelationId_v2, (void *subscriber, uint32_t kind, uint64_t *id),
                       (subscriber, kind, id), family_pop_external(kind, id))
STAND_IN_OF_SUBSCRIBER(cuptiActivitySetAttribute_v2, (void *subscriber, uint32_t attribute, size_t *size, void *value),
                       (subscriber, attribute, size, value), set_attribute(attribute, size, value))
STAND_IN_OF_SUBSCRIBER(cuptiActivityGetAttribute_v2, (void *subscriber, uint32_t attribute, size_t *size, void *value),
                       (subscriber, attribute, size, value), family_get_attribute(attribute, size, value))
STAND_IN_OF_SUBSCRIBER(cuptiGetTimestamp_v2, (void *subscriber, uint64_t *time), (subscriber, time),
                       sharing_get_timestamp(PROGRAM, time))

const struct stand_in stand_ins_v2[] = {
    NAMED(cuptiSubscribe_v2),
    NAMED(cuptiActivityRegisterCallbacks_v2),
    NAMED(cuptiActivityEnable_v2),
    NAMED(cuptiActivityEnableAndDump_v2),
    NAMED(cuptiActivityDisable_v2),
    NAMED(cuptiActivityGetNextRecord_v2),
    NAMED(cuptiActivityGetNumDroppedRecords_v2),
    NAMED(cuptiActivityPushExternalCorrelationId_v2),
    NAMED(cuptiActivityPopExternalCorrelationId_v2),
    NAMED(cuptiActivitySetAttribute_v2),
    NAMED(cuptiActivityGetAttribute_v2),
    NAMED(cuptiGetTimestamp_v2),
};
const size_t stand_ins_v2_count = sizeof stand_ins_v2 / sizeof stand_ins_v2[0];
