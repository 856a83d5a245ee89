/* CUPTI's functions as libcupti has them, in the one of its two families that this process uses. */
#ifndef WARPLINE_CUPTI_FAMILY_H
#define WARPLINE_CUPTI_FAMILY_H

#include <stdbool.h>

#include "cupti_abi.h"

/* Takes the functions of this libcupti; only the first call does something. */
void family_load(void *library);
/* The same with the libcupti that the process has loaded; false if there is none. */
bool family_find(void);

/* The only subscription of this process. CUPTI calls `callback`. */
int family_subscribe(cupti_callback callback);
int family_unsubscribe(void);
/* The handle of that subscription; NULL without one. */
void *family_subscriber(void);
/* Whether CUPTI accepts subscribers beside it. */
bool family_serves_several(void);
/* Whether kinds and buffers belong to the subscription. */
bool family_is_second(void);
int family_enable_callback(bool is_on, uint32_t domain, uint32_t id);
int family_enable_domain(bool is_on, uint32_t domain);

int family_register_callbacks(cupti_request request, cupti_complete complete);
int family_enable(uint32_t kind, bool is_dumping);
int family_enable_in_context(void *context, uint32_t kind);
int family_disable(uint32_t kind);
int family_flush_all(uint32_t flag);
int family_next_record(uint8_t *buffer, size_t valid_size, void **record);
int family_dropped_records(void *context, uint32_t stream, size_t *dropped);
int family_push_external(uint32_t kind, uint64_t id);
int family_pop_external(uint32_t kind, uint64_t *id);
int family_get_timestamp(uint64_t *time);
int family_register_timestamp(cupti_timestamp callback);
int family_set_thread_id_type(uint32_t type);
int family_latency_timestamps(uint8_t is_on);
int family_set_attribute(uint32_t attribute, size_t *size, void *value);
int family_get_attribute(uint32_t attribute, size_t *size, void *value);
/* Where CUPTI serves several, a record per launch of a graph has to be chosen before any kind is enabled. */
void family_select_graph_trace(void);
int family_finalize(void);

#endif
