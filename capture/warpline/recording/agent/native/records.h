/* Layouts of what the agent writes; docs/spool.md explains the fields. Written from Python's tables by
 * `python scripts/write_native_headers.py`; a test compares it. */
#ifndef WARPLINE_RECORDS_H
#define WARPLINE_RECORDS_H

#include <stdint.h>

/* clang-format off */
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
    RECORD_CUPTI_GAP = 317,
    RECORD_OSRT_CALL = 400,
    RECORD_OSRT_RELEASE = 401,
    RECORD_OSRT_WAITING = 402,
    RECORD_OSRT_COUNT = 403,
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
    RECORD_FRAMEWORK_INPUT = 705,
    RECORD_FRAMEWORK_MEMORY = 706,
};

/* Every type of fixed size: SLOT(NAME) for RECORD_NAME. */
#define SLOTS(SLOT) \
    SLOT(CLOCK_PAIR) \
    SLOT(SOURCE_STATE) \
    SLOT(RECORDING_STATE) \
    SLOT(NVTX_DOMAIN) \
    SLOT(NVTX_CATEGORY) \
    SLOT(NVTX_RANGE) \
    SLOT(NVTX_RANGE_ATTRIBUTES) \
    SLOT(NVTX_START) \
    SLOT(NVTX_END) \
    SLOT(NVTX_MARK) \
    SLOT(NVTX_THREAD_NAME) \
    SLOT(CUPTI_KERNEL) \
    SLOT(CUPTI_MEMCPY) \
    SLOT(CUPTI_MEMSET) \
    SLOT(CUPTI_RUNTIME) \
    SLOT(CUPTI_DRIVER) \
    SLOT(CUPTI_SYNC) \
    SLOT(CUPTI_OVERHEAD) \
    SLOT(CUPTI_EXTERNAL) \
    SLOT(CUPTI_STREAM) \
    SLOT(CUPTI_CONTEXT) \
    SLOT(CUPTI_DEVICE) \
    SLOT(CUPTI_GRAPH) \
    SLOT(CUPTI_MEMORY) \
    SLOT(CUPTI_FUNCTION) \
    SLOT(CUPTI_SESSION) \
    SLOT(CUPTI_DROPPED) \
    SLOT(CUPTI_NAME) \
    SLOT(CUPTI_GAP) \
    SLOT(OSRT_CALL) \
    SLOT(OSRT_RELEASE) \
    SLOT(OSRT_WAITING) \
    SLOT(OSRT_COUNT) \
    SLOT(PYTHON_CODE) \
    SLOT(PYTHON_STACK) \
    SLOT(PYTHON_SAMPLE) \
    SLOT(PYTHON_THREAD_NAME) \
    SLOT(PYTHON_TASK) \
    SLOT(FRAMEWORK_RANGE) \
    SLOT(FRAMEWORK_MODULE) \
    SLOT(FRAMEWORK_OPERATOR) \
    SLOT(FRAMEWORK_SHAPED) \
    SLOT(FRAMEWORK_EVENT) \
    SLOT(FRAMEWORK_INPUT) \
    SLOT(FRAMEWORK_MEMORY)

/* Bits of the control page: what is asked for. */
enum {
    SOURCE_CPU = 1,
    SOURCE_NVTX = 2,
    SOURCE_CUDA = 4,
    SOURCE_OSRT = 8,
    SOURCE_PYTHON = 16,
    SOURCE_TORCH = 32,
    SOURCE_NVML = 64,
    SOURCE_STEPS = 128,
    SOURCE_NATIVE = 256,
    SOURCE_PADDLE = 512,
};

#define NVTX_POP 0xffffffffu
#define NVTX_POPPED_UNSEEN 0xfffffffeu
#define NVTX_LEVEL_UNBALANCED 0xffffu
#define NVTX_HAS_COLOR 0x1u
#define NVTX_HAS_CATEGORY 0x2u
#define CUPTI_NAMED_DEVICE 0x0u
#define CUPTI_NAMED_CONTEXT 0x1u
#define CUPTI_NAMED_STREAM 0x2u
#define CUPTI_CLOCK_MONOTONIC 0x0u
#define CUPTI_CLOCK_PAIRS 0x1u
#define CUPTI_LOST_NO_ROOM 0x0u
#define CUPTI_LOST_UNFINISHED 0x1u
#define CUPTI_LOST_NO_MEMORY 0x2u
#define RELEASED_BY_CALLER 0x80000000u

struct nvtx_attributes {
    uint32_t category, color_argb;
    uint64_t payload;
    uint32_t payload_type, flags;
};

/* No source's own */
struct record_clock_pair {
    uint64_t monotonic_ns, realtime_ns, third_ns;
};
struct record_source_state {
    uint32_t name, enabled, reason, remedy;
    uint64_t lost;
};
struct record_recording_state {
    uint64_t time_ns;
    uint32_t state, reason;
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
    uint32_t name;
    uint16_t domain, level;
};
struct record_nvtx_range_attributes {
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
    uint32_t name, correlation, device, context, stream, graph, grid[3], block[3], static_shared_bytes;
    uint32_t dynamic_shared_bytes, local_per_thread_bytes;
    uint16_t registers, launch_type;
};
struct record_cupti_memcpy {
    uint64_t start_ns, end_ns, bytes, graph_node;
    uint32_t correlation, device, context, stream, graph;
    uint8_t copy_kind, source_kind, destination_kind, flags;
    uint32_t source_device, destination_device;
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
    uint32_t context, stream;
    int32_t priority;
    uint32_t flag;
};
struct record_cupti_context {
    uint32_t context, device, api, null_stream;
};
struct record_cupti_device {
    uint64_t memory_bytes, memory_bandwidth_kbps;
    uint32_t device, name, compute_major, compute_minor, multiprocessors, clock_khz, threads_per_warp;
    uint32_t max_warps_per_sm, max_blocks_per_sm, max_shared_per_sm_bytes, max_registers_per_sm;
    uint32_t max_registers_per_block, max_shared_per_block_bytes, max_threads_per_block, l2_bytes, copy_engines;
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
struct record_cupti_session {
    uint64_t time_ns;
    uint32_t clock, cupti_version, driver_version, per_graph;
};
struct record_cupti_dropped {
    uint64_t time_ns, count;
    uint32_t kind, cause;
};
struct record_cupti_name {
    uint32_t what, context, id, name;
};
struct record_cupti_gap {
    uint64_t start_ns, stop_ns;
};
/* The OS runtime, and Python */
struct record_osrt_call {
    uint64_t start_ns, end_ns, object;
    int64_t result;
    uint32_t function, stack, text, holder, caller, task;
};
struct record_osrt_release {
    uint64_t time_ns, object;
    uint32_t function, stack;
};
struct record_osrt_waiting {
    uint64_t start_ns, object;
    uint32_t tid, function, text, holder, caller, reserved[5];
};
struct record_osrt_count {
    uint64_t time_ns, bytes;
    uint32_t function, stack, caller, count;
};
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
struct record_python_task {
    uint64_t time_ns;
    uint32_t tid, name;
};
/* Frameworks, by hooks inside them */
struct record_framework_range {
    uint64_t start_ns, end_ns;
    int64_t value;
    uint32_t kind, name, detail, step;
};
struct record_framework_module {
    uint64_t start_ns, end_ns;
    uint32_t path, class_name;
};
/* PyTorch's operators */
struct record_framework_operator {
    uint64_t start_ns, end_ns;
    int64_t sequence;
    uint32_t name, thread;
};
struct record_framework_shaped {
    uint64_t start_ns, end_ns;
    int64_t sequence, flops;
    uint32_t name, thread, tid, shapes, types, reserved;
};
/* Paddle's events */
struct record_framework_event {
    uint64_t start_ns, end_ns;
    uint32_t name, type;
};
struct record_framework_input {
    uint64_t start_ns;
    uint32_t shapes, reserved;
};
struct record_framework_memory {
    uint64_t time_ns, address, bytes;
    uint8_t operation, place_type, device, reserved;
    uint32_t reserved_too;
};

#define RECORD_SIZE(type, size) _Static_assert(sizeof(struct type) == (size), "docs/spool.md promises this")
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
RECORD_SIZE(record_cupti_dropped, 24);
RECORD_SIZE(record_cupti_name, 16);
RECORD_SIZE(record_cupti_gap, 16);
RECORD_SIZE(record_osrt_call, 56);
RECORD_SIZE(record_osrt_release, 24);
RECORD_SIZE(record_osrt_waiting, 56);
RECORD_SIZE(record_osrt_count, 32);
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
RECORD_SIZE(record_framework_input, 16);
RECORD_SIZE(record_framework_memory, 32);
/* clang-format on */

#endif
