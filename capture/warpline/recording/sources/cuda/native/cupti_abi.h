/* The part of CUPTI's binary interface that the agent uses, declared here because it is built without CUDA. Functions and
 * offsets are those of CUPTI 11.8 to 13.5. In these versions records only grew at their end. The structures below are the
 * common beginning, so their sizes are not those of the records. */
#ifndef WARPLINE_CUPTI_ABI_H
#define WARPLINE_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
    CUPTI_OK = 0,
    CUPTI_INVALID_PARAMETER = 1,
    CUPTI_OUT_OF_MEMORY = 8,
    CUPTI_MAX_LIMIT_REACHED = 12,
    CUPTI_NOT_COMPATIBLE = 14,
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_INSUFFICIENT_PRIVILEGES = 35,
    CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    CUPTI_VIRTUALIZED_PRIVILEGES = 40,
    CUPTI_CONFIDENTIAL_COMPUTING = 41,
    CUPTI_MINING_GPU = 42,
    CUPTI_MIG = 43,
    CUPTI_SLI = 44,
    CUPTI_WSL = 45,
    CUPTI_UNKNOWN = 999,
};
#define CUPTI_OLDEST_VERSION 18 /* CUDA 11.8 */

enum {
    ACTIVITY_MEMCPY = 1,
    ACTIVITY_MEMSET = 2,
    ACTIVITY_KERNEL = 3,
    ACTIVITY_DRIVER = 4,
    ACTIVITY_RUNTIME = 5,
    ACTIVITY_DEVICE = 8,
    ACTIVITY_CONTEXT = 9,
    ACTIVITY_CONCURRENT_KERNEL = 10,
    ACTIVITY_MARKER = 12,
    ACTIVITY_OVERHEAD = 17,
    ACTIVITY_MEMCPY2 = 22,
    ACTIVITY_STREAM = 37,
    ACTIVITY_SYNCHRONIZATION = 38,
    ACTIVITY_EXTERNAL_CORRELATION = 39,
    ACTIVITY_MEMORY2 = 49,
    ACTIVITY_GRAPH_TRACE = 51,
};

enum { CALLBACK_DRIVER = 1, CALLBACK_RUNTIME = 2 };
enum { CALLBACK_ENTER = 0, CALLBACK_EXIT = 1 };
enum {
    DRIVER_CONTEXT_DESTROY = 11,
    DRIVER_CONTEXT_GET_CURRENT = 304,
    DRIVER_PROFILER_START = 308,
    DRIVER_PROFILER_STOP = 309,
    DRIVER_CONTEXT_DESTROY_V2 = 322,
    DRIVER_PRIMARY_CONTEXT_RELEASE = 387,
    DRIVER_PRIMARY_CONTEXT_RESET = 389,
    DRIVER_PRIMARY_CONTEXT_RELEASE_V2 = 544,
    DRIVER_PRIMARY_CONTEXT_RESET_V2 = 545,
    DRIVER_GREEN_CONTEXT_DESTROY = 744,
    RUNTIME_DEVICE_RESET = 164,
    RUNTIME_PROFILER_START = 171,
    RUNTIME_PROFILER_STOP = 172,
};

enum { FLUSH_COMPLETED = 0, FLUSH_FORCED = 1 };
enum { THREAD_ID_DEFAULT = 0, THREAD_ID_SYSTEM = 1 };
enum { OBJECT_THREAD = 2 };

/* Checks offsets of fields, each given with AT. */
#define LAYOUT(type, ...)                                      \
    static inline void check_##type(const struct type *record) \
    {                                                          \
        (void)record;                                          \
        __VA_ARGS__                                            \
    }
#define AT(field, offset) _Static_assert(offsetof(__typeof__(*record), field) == (offset), "CUPTI 11.8 to 13.5");

struct activity_kernel {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t partitioned[2];
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, is_shared_carveout_requested, carveout_requested, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
};
LAYOUT(activity_kernel,
       AT(registers, 6) AT(start, 16) AT(end, 24) AT(device, 40) AT(context, 44) AT(stream, 48) AT(grid, 52)
           AT(block, 64) AT(static_shared, 76) AT(dynamic_shared, 80) AT(local_per_thread, 84) AT(correlation, 92)
               AT(name, 104) AT(queued, 120) AT(submitted, 128) AT(launch_type, 136) AT(graph_node, 144) AT(graph, 156))

struct activity_memcpy {
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};
LAYOUT(activity_memcpy, AT(copy_kind, 4) AT(bytes, 8) AT(start, 16) AT(end, 24) AT(device, 32) AT(stream, 40)
                            AT(correlation, 44) AT(graph_node, 64) AT(graph, 72))

struct activity_memcpy_peer {
    uint32_t kind;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, source_device, source_context, destination_device, destination_context;
    uint32_t correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};
LAYOUT(activity_memcpy_peer,
       AT(source_device, 44) AT(destination_device, 52) AT(correlation, 60) AT(graph_node, 72) AT(graph, 80))

struct activity_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph;
};
LAYOUT(activity_memset, AT(start, 16) AT(correlation, 44) AT(memory_kind, 50) AT(graph_node, 64) AT(graph, 72))

struct activity_api {
    uint32_t kind, function;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};
LAYOUT(activity_api, AT(thread, 28) AT(result, 36))

struct activity_sync {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
};
LAYOUT(activity_sync, AT(start, 8) AT(event, 36))

struct activity_overhead {
    uint32_t kind, overhead_kind, object_kind;
    uint32_t object[3]; /* process and thread, or device, context and stream */
    uint64_t start, end;
};
LAYOUT(activity_overhead, AT(object, 12) AT(start, 24))

struct activity_external {
    uint32_t kind, external_kind;
    uint64_t external;
    uint32_t correlation;
};
LAYOUT(activity_external, AT(correlation, 16))

struct activity_stream {
    uint32_t kind, context, stream, priority, flag;
};
struct activity_context {
    uint32_t kind, context, device;
    uint16_t api, null_stream;
};
LAYOUT(activity_context, AT(null_stream, 14))

struct activity_device {
    uint32_t kind, flags;
    uint64_t memory_bandwidth, memory_bytes;
    uint32_t constant_bytes, l2_bytes, threads_per_warp, clock_khz, copy_engines, multiprocessors, max_ipc;
    uint32_t max_warps_per_sm, max_blocks_per_sm, max_shared_per_sm, max_registers_per_sm, max_registers_per_block;
    uint32_t max_shared_per_block, max_threads_per_block, max_block[3], max_grid[3];
    uint32_t compute_major, compute_minor, device, ecc;
    uint8_t uuid[16];
    const char *name;
};
LAYOUT(activity_device, AT(multiprocessors, 44) AT(max_threads_per_block, 76) AT(compute_major, 104) AT(device, 112)
                            AT(uuid, 120) AT(name, 136))

struct activity_graph {
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
};
LAYOUT(activity_graph, AT(device, 24) AT(stream, 36))

struct activity_memory {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, timestamp, pc;
    uint32_t process, device, context, stream;
    const char *name;
};
LAYOUT(activity_memory, AT(timestamp, 32) AT(device, 52) AT(name, 64))

/* The beginning of CUpti_CallbackData. */
struct callback_data {
    uint32_t site;
};

typedef void (*cupti_request)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);
typedef void (*cupti_callback)(void *user, uint32_t domain, uint32_t id, const void *data);
typedef uint64_t (*cupti_timestamp)(void);

/* CUpti_SubscriberParams of CUPTI 13. */
struct subscriber_parameters {
    size_t size;
    const char *name;
    char *other_name;
    size_t other_name_size;
    uint8_t allows_several, padding[7];
};
_Static_assert(offsetof(struct subscriber_parameters, padding) == 33, "cupti_callbacks.h of 13.3 to 13.5");
enum {
    ATTRIBUTE_LATENCY_TIMESTAMPS = 15,
    ATTRIBUTE_GRAPH_TRACE_OF_SEVERAL = 20,
    ATTRIBUTE_THREAD_ID_TYPE = 21,
    ATTRIBUTE_TIMESTAMP_CALLBACK = 22,
};

typedef void (*cupti_request_v2)(uint8_t **buffer, size_t *size, size_t *max_records, void *info);
typedef void (*cupti_complete_v2)(uint8_t *buffer, size_t size, size_t valid_size, void *info);

/* The functions that are used; those after `get_timestamp` may be absent. */
struct cupti {
    int (*subscribe)(void **subscriber, cupti_callback callback, void *user);
    int (*unsubscribe)(void *subscriber);
    int (*enable_callback)(uint32_t is_on, void *subscriber, uint32_t domain, uint32_t id);
    int (*register_callbacks)(cupti_request request, cupti_complete complete);
    int (*enable)(uint32_t kind);
    int (*disable)(uint32_t kind);
    int (*flush_all)(uint32_t flag);
    int (*next_record)(uint8_t *buffer, size_t valid_size, void **record);
    int (*dropped_records)(void *context, uint32_t stream, size_t *dropped);
    int (*callback_name)(uint32_t domain, uint32_t id, const char **name);
    int (*result_string)(int result, const char **text);
    int (*get_version)(uint32_t *version);
    int (*get_timestamp)(uint64_t *time);
    int (*enable_and_dump)(uint32_t kind);
    int (*register_timestamp)(cupti_timestamp callback);
    int (*set_thread_id_type)(uint32_t type);
    int (*get_thread_id_type)(uint32_t *type);
    int (*flush_period)(uint32_t milliseconds);
    int (*latency_timestamps)(uint8_t is_on);
    int (*context_id)(void *context, uint32_t *id);
    int (*stream_id)(void *context, void *stream, uint8_t is_per_thread, uint32_t *id); /* NULL: the current context */
};

#endif
