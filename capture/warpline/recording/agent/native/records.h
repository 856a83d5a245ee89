/* Layouts of what the agent writes. docs/spool.md is their specification; the readers are
 * the sources' translate.py. Little-endian, no padding the compiler may choose. */
#ifndef WARPLINE_RECORDS_H
#define WARPLINE_RECORDS_H

#include <stdint.h>

enum {
    RECORD_STRING = 1,
    RECORD_CLOCK_PAIR = 2,
    RECORD_SOURCE_STATE = 3,
    RECORD_RECORDING_STATE = 4,

    RECORD_NVTX_DOMAIN = 200,
    RECORD_NVTX_CATEGORY = 201,
    RECORD_NVTX_RANGE = 202,
    RECORD_NVTX_RANGE_ATTRIBUTES = 203,
    RECORD_NVTX_START = 204,
    RECORD_NVTX_END = 205,
    RECORD_NVTX_MARK = 206,
    RECORD_NVTX_THREAD_NAME = 207,

    RECORD_CUPTI_KERNEL = 300,
    RECORD_CUPTI_MEMCPY = 301,
    RECORD_CUPTI_MEMSET = 302,
    RECORD_CUPTI_RUNTIME = 303,
    RECORD_CUPTI_DRIVER = 304,
    RECORD_CUPTI_SYNC = 305,
    RECORD_CUPTI_OVERHEAD = 306,
    RECORD_CUPTI_EXTERNAL = 307,
    RECORD_CUPTI_STREAM = 308,
    RECORD_CUPTI_CONTEXT = 309,
    RECORD_CUPTI_DEVICE = 310,
    RECORD_CUPTI_GRAPH = 311,
    RECORD_CUPTI_MEMORY = 312,
    RECORD_CUPTI_FUNCTION = 313,
    RECORD_CUPTI_SESSION = 314,
    RECORD_CUPTI_DROPPED = 315,
    RECORD_CUPTI_NAME = 316,

    RECORD_OSRT_CALL = 400,
    RECORD_OSRT_RELEASE = 401,
    RECORD_OSRT_WAITING = 402,

    RECORD_PYTHON_CODE = 500,
    RECORD_PYTHON_STACK = 501,
    RECORD_PYTHON_SAMPLE = 502,
    RECORD_PYTHON_THREAD_NAME = 503,
    RECORD_PYTHON_TASK = 504,

    RECORD_FRAMEWORK_RANGE = 700,
    RECORD_FRAMEWORK_MODULE = 701,
    RECORD_FRAMEWORK_OPERATOR = 702,
    RECORD_FRAMEWORK_SHAPED = 703,
    RECORD_FRAMEWORK_EVENT = 704,
};

struct record_clock_pair {
    uint64_t monotonic_ns, realtime_ns, third_ns;
};
struct record_source_state {
    uint32_t name, enabled, reason, remedy;
    uint64_t lost;
};
struct record_recording_state {
    uint64_t time_ns;
    uint32_t state, reason; /* state as in the control page; reason is a string */
};

/* NVTX */
struct record_nvtx_domain {
    uint32_t domain, name;
};
struct record_nvtx_category {
    uint32_t domain, category, name, reserved;
};
struct record_nvtx_range {
    uint64_t time_ns;
    uint32_t name; /* or NVTX_POP, NVTX_POPPED_UNSEEN */
    uint16_t domain, level;
};
#define NVTX_POP UINT32_MAX
/* Ranges from this level on were popped while nothing was recorded; the time is when the lowest of them was. */
#define NVTX_POPPED_UNSEEN (UINT32_MAX - 1)
#define NVTX_LEVEL_UNBALANCED UINT16_MAX

enum { NVTX_HAS_COLOR = 1, NVTX_HAS_CATEGORY = 2 };
struct nvtx_attributes {
    uint32_t category, color_argb;
    uint64_t payload;
    uint32_t payload_type, flags;
};
struct record_nvtx_range_attributes { /* a push, and a mark */
    uint64_t time_ns;
    uint32_t name;
    uint16_t domain, level;
    struct nvtx_attributes attributes;
};
struct record_nvtx_start {
    uint64_t time_ns, range;
    uint32_t name;
    uint16_t domain, reserved;
    struct nvtx_attributes attributes;
};
struct record_nvtx_end {
    uint64_t time_ns, range;
};
struct record_nvtx_thread_name {
    uint32_t tid, name;
};

/* CUPTI */
struct record_cupti_kernel {
    uint64_t start_ns, end_ns, queued_ns, submitted_ns, graph_node;
    uint32_t name, correlation, device, context, stream, graph;
    uint32_t grid[3], block[3];
    uint32_t static_shared_bytes, dynamic_shared_bytes, local_per_thread_bytes;
    uint16_t registers, launch_type;
};
struct record_cupti_memcpy {
    uint64_t start_ns, end_ns, bytes, graph_node;
    uint32_t correlation, device, context, stream, graph;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint32_t source_device, destination_device; /* UINT32_MAX when the copy is not between devices */
};
struct record_cupti_memset {
    uint64_t start_ns, end_ns, bytes, graph_node;
    uint32_t correlation, device, context, stream, graph, value;
    uint16_t memory_kind, flags;
    uint32_t reserved;
};
struct record_cupti_api {
    uint64_t start_ns, end_ns;
    uint32_t correlation, tid, function;
    int32_t result;
};
struct record_cupti_sync {
    uint64_t start_ns, end_ns;
    uint32_t correlation, context, stream, event, type, reserved;
};
struct record_cupti_overhead {
    uint64_t start_ns, end_ns;
    uint32_t kind, object_kind, tid, correlation;
};
struct record_cupti_external {
    uint64_t external;
    uint32_t correlation, kind;
};
struct record_cupti_stream {
    uint32_t context, stream, priority, flag;
};
struct record_cupti_context {
    uint32_t context, device, api, null_stream;
};
struct record_cupti_device {
    uint64_t memory_bytes, memory_bandwidth;
    uint32_t device, name, compute_major, compute_minor;
    uint32_t multiprocessors, clock_khz, threads_per_warp, max_warps_per_sm;
    uint32_t max_blocks_per_sm, max_shared_per_sm_bytes, max_registers_per_sm, max_registers_per_block;
    uint32_t max_shared_per_block_bytes, max_threads_per_block, l2_bytes, copy_engines;
    uint8_t uuid[16];
};
struct record_cupti_graph {
    uint64_t start_ns, end_ns;
    uint32_t correlation, device, context, stream, graph, reserved;
};
struct record_cupti_memory {
    uint64_t time_ns, address, bytes;
    uint32_t correlation, device, context, stream, operation, memory_kind, name, reserved;
};
struct record_cupti_function {
    uint32_t is_driver, function, name, reserved;
};
enum { CUPTI_CLOCK_MONOTONIC = 0, CUPTI_CLOCK_PAIRS = 1 };
struct record_cupti_session {
    uint64_t time_ns;
    uint32_t clock, cupti_version, driver_version, per_graph;
};
struct record_cupti_dropped {
    uint64_t time_ns, count;
};
/* What the program called a device, a context or a stream through NVTX; the context of a stream may be unknown. */
enum { CUPTI_NAMED_DEVICE = 0, CUPTI_NAMED_CONTEXT = 1, CUPTI_NAMED_STREAM = 2 };
struct record_cupti_name {
    uint32_t what, context, id, name;
};

/* The OS runtime */
struct record_osrt_call {
    uint64_t start_ns, end_ns;
    uint64_t object; /* address of a lock, descriptor, child's id */
    int64_t result;  /* or -errno */
    uint32_t function, stack, text, holder, caller, task;
};
struct record_osrt_release { /* the waits for `object` of others end here */
    uint64_t time_ns, object;
    uint32_t function, stack;
};
#define RELEASED_BY_CALLER 0x80000000u /* in `function`: there is no Python stack, `stack` is the caller's text */
struct record_osrt_waiting {           /* what a thread is in just now; it writes here again and again */
    uint64_t start_ns;                 /* 0: in nothing */
    uint64_t object;
    uint32_t tid, function, text, holder, caller, reserved[5];
};

/* Python */
struct record_python_code {
    uint32_t code, name, file;
    int32_t first_line;
};
struct record_python_stack {
    uint32_t stack, parent, code;
    int32_t line;
};
struct record_python_sample {
    uint64_t time_ns;
    uint32_t tid, stack;
};
struct record_python_thread_name {
    uint64_t time_ns;
    uint32_t tid, name;
};
struct record_python_task { /* the asyncio task that the thread is in at the sample of this time */
    uint64_t time_ns;
    uint32_t tid, name;
};

/* Frameworks, by hooks inside them; kinds and values are those of hooks/inside */
struct record_framework_range {
    uint64_t start_ns, end_ns;
    int64_t value;
    uint32_t kind, name, detail, reserved;
};
struct record_framework_module {
    uint64_t start_ns, end_ns;
    uint32_t path, class_name;
};
struct record_framework_operator {
    uint64_t start_ns, end_ns;
    int64_t sequence; /* of autograd: the number of the next node to be made; of a node -2 less its own; -1 unknown */
    uint32_t name, thread; /* PyTorch's id of the thread that makes, or made, nodes */
};
struct record_framework_shaped { /* an operator of any thread, and what it was called with */
    uint64_t start_ns, end_ns;
    int64_t sequence, flops; /* flops: 0 unknown */
    uint32_t name, thread, tid, shapes, types, reserved;
};
struct record_framework_event { /* one that Paddle tells; `type` as Paddle numbers them */
    uint64_t start_ns, end_ns;
    uint32_t name, type;
};

#define RECORD_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), "docs/spool.md promises this size")
RECORD_SIZE(record_clock_pair, 24);
RECORD_SIZE(record_source_state, 24);
RECORD_SIZE(record_recording_state, 16);
RECORD_SIZE(record_nvtx_domain, 8);
RECORD_SIZE(record_nvtx_category, 16);
RECORD_SIZE(record_nvtx_range, 16);
RECORD_SIZE(record_nvtx_range_attributes, 40);
RECORD_SIZE(record_nvtx_start, 48);
RECORD_SIZE(record_nvtx_end, 16);
RECORD_SIZE(record_nvtx_thread_name, 8);
RECORD_SIZE(record_cupti_kernel, 104);
RECORD_SIZE(record_cupti_memcpy, 64);
RECORD_SIZE(record_cupti_memset, 64);
RECORD_SIZE(record_cupti_api, 32);
RECORD_SIZE(record_cupti_sync, 40);
RECORD_SIZE(record_cupti_overhead, 32);
RECORD_SIZE(record_cupti_external, 16);
RECORD_SIZE(record_cupti_stream, 16);
RECORD_SIZE(record_cupti_context, 16);
RECORD_SIZE(record_cupti_device, 96);
RECORD_SIZE(record_cupti_graph, 40);
RECORD_SIZE(record_cupti_memory, 56);
RECORD_SIZE(record_cupti_function, 16);
RECORD_SIZE(record_cupti_session, 24);
RECORD_SIZE(record_cupti_dropped, 16);
RECORD_SIZE(record_cupti_name, 16);
RECORD_SIZE(record_osrt_call, 56);
RECORD_SIZE(record_osrt_release, 24);
RECORD_SIZE(record_osrt_waiting, 56);
RECORD_SIZE(record_python_code, 16);
RECORD_SIZE(record_python_stack, 16);
RECORD_SIZE(record_python_sample, 16);
RECORD_SIZE(record_python_thread_name, 16);
RECORD_SIZE(record_python_task, 16);
RECORD_SIZE(record_framework_range, 40);
RECORD_SIZE(record_framework_module, 24);
RECORD_SIZE(record_framework_operator, 32);
RECORD_SIZE(record_framework_shaped, 56);
RECORD_SIZE(record_framework_event, 24);

#endif
