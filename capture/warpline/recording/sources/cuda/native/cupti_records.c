/* Turns CUPTI's activity records into records of the spool, on CUPTI's own thread or the thread that flushes. */
#include <string.h>

#include "cupti_clocks.h"
#include "cupti_internal.h"
#include "cupti_watch.h"
#include "spool.h"

/* A call that takes longer is no mere query: cudaSetDevice makes the context since CUDA 12. */
#define QUERY_NS 20000u

bool cupti_keeps_every_call;
static _Atomic uint64_t left_out, unreadable;

/* Callback ids of one domain that have been named so far. */
#define FUNCTIONS 4096u
static _Atomic uint8_t is_named[2][FUNCTIONS];

uint64_t cupti_calls_left_out(void) { return atomic_load_explicit(&left_out, memory_order_relaxed); }
uint64_t cupti_unreadable(void) { return atomic_load_explicit(&unreadable, memory_order_relaxed); }

/* Calls that only ask for state; frameworks make several of them per operation. */
static bool is_query(bool is_driver, uint32_t function)
{
    if (is_driver)
        return function == DRIVER_CONTEXT_GET_CURRENT || function == 392 /* cuDevicePrimaryCtxGetState */ ||
               function == 626 || function == 677 /* cuGetProcAddress */ || function == 686 /* cuKernelGetAttribute */;
    /* cudaGetLastError, cudaPeekAtLastError, cudaSetDevice, cudaGetDevice */
    return function == 10 || function == 11 || function == 16 || function == 17;
}

/* A failed query is kept: it is the error someone looks for. So is a slow one. */
static bool is_left_out(const struct activity_api *from, bool is_driver)
{
    return !cupti_keeps_every_call && from->result == 0 && from->end - from->start <= QUERY_NS &&
           is_query(is_driver, from->function);
}

static void name_function(bool is_driver, uint32_t function)
{
    if (function >= FUNCTIONS || atomic_exchange_explicit(&is_named[is_driver][function], 1, memory_order_relaxed))
        return;
    const char *name = NULL;
    if (cupti.callback_name(is_driver ? CALLBACK_DRIVER : CALLBACK_RUNTIME, function, &name) != CUPTI_OK)
        name = NULL;
    struct record_cupti_function record = {is_driver, function, wl_intern_text(name), 0};
    wl_define(SLOT_CUPTI_FUNCTION, &record, sizeof record);
}

#define BEGIN(slot, type)                             \
    struct type *to = WL_RESERVE(writer, slot, type); \
    if (UNLIKELY(to == NULL))                         \
        return;
#define END(slot, type) WL_COMMIT(writer, slot, type)

static void write_kernel(struct writer *writer, const struct activity_kernel *from)
{
    uint32_t name = wl_intern_text(from->name);
    BEGIN(SLOT_CUPTI_KERNEL, record_cupti_kernel)
    to->start_ns = from->start;
    to->end_ns = from->end;
    to->queued_ns = from->queued;
    to->submitted_ns = from->submitted;
    to->graph_node = from->graph_node;
    to->name = name;
    to->correlation = from->correlation;
    to->device = from->device;
    to->context = from->context;
    to->stream = from->stream;
    to->graph = from->graph;
    memcpy(to->grid, from->grid, sizeof to->grid);
    memcpy(to->block, from->block, sizeof to->block);
    to->static_shared_bytes = (uint32_t)from->static_shared;
    to->dynamic_shared_bytes = (uint32_t)from->dynamic_shared;
    to->local_per_thread_bytes = from->local_per_thread;
    to->registers = from->registers;
    to->launch_type = from->launch_type;
    END(SLOT_CUPTI_KERNEL, record_cupti_kernel);
}

static void write_memcpy(struct writer *writer, const struct activity_memcpy *from)
{
    BEGIN(SLOT_CUPTI_MEMCPY, record_cupti_memcpy)
    *to = (struct record_cupti_memcpy){
        from->start,   from->end,    from->bytes, from->graph_node, from->correlation, from->device,
        from->context, from->stream, from->graph, from->copy_kind,  from->source_kind, from->destination_kind,
        from->flags,   UINT32_MAX,   UINT32_MAX,
    };
    END(SLOT_CUPTI_MEMCPY, record_cupti_memcpy);
}

static void write_memcpy_peer(struct writer *writer, const struct activity_memcpy_peer *from)
{
    BEGIN(SLOT_CUPTI_MEMCPY, record_cupti_memcpy)
    *to = (struct record_cupti_memcpy){
        from->start,      from->end,           from->bytes,
        from->graph_node, from->correlation,   from->device,
        from->context,    from->stream,        from->graph,
        from->copy_kind,  from->source_kind,   from->destination_kind,
        from->flags,      from->source_device, from->destination_device,
    };
    END(SLOT_CUPTI_MEMCPY, record_cupti_memcpy);
}

static void write_memset(struct writer *writer, const struct activity_memset *from)
{
    BEGIN(SLOT_CUPTI_MEMSET, record_cupti_memset)
    *to = (struct record_cupti_memset){
        from->start,
        from->end,
        from->bytes,
        from->graph_node,
        from->correlation,
        from->device,
        from->context,
        from->stream,
        from->graph,
        from->value,
        from->memory_kind,
        from->flags,
        0,
    };
    END(SLOT_CUPTI_MEMSET, record_cupti_memset);
}

static void write_api(struct writer *writer, const struct activity_api *from, bool is_driver)
{
    if (UNLIKELY(is_driver && watch_is_own(from))) {
        watch_note_arrival(from);
        return;
    }
    if (is_left_out(from, is_driver)) {
        atomic_fetch_add_explicit(&left_out, 1, memory_order_relaxed);
        return;
    }
    enum slot slot = is_driver ? SLOT_CUPTI_DRIVER : SLOT_CUPTI_RUNTIME;
    if (UNLIKELY(from->function >= FUNCTIONS ||
                 !atomic_load_explicit(&is_named[is_driver][from->function], memory_order_relaxed)))
        name_function(is_driver, from->function);
    BEGIN(slot, record_cupti_api)
    *to = (struct record_cupti_api){
        from->start, from->end, from->correlation, from->thread, from->function, (int32_t)from->result,
    };
    END(slot, record_cupti_api);
}

static void write_sync(struct writer *writer, const struct activity_sync *from)
{
    BEGIN(SLOT_CUPTI_SYNC, record_cupti_sync)
    *to = (struct record_cupti_sync){
        from->start, from->end, from->correlation, from->context, from->stream, from->event, from->type, 0,
    };
    END(SLOT_CUPTI_SYNC, record_cupti_sync);
}

static void write_overhead(struct writer *writer, const struct activity_overhead *from)
{
    BEGIN(SLOT_CUPTI_OVERHEAD, record_cupti_overhead)
    uint32_t tid = from->object_kind == OBJECT_THREAD ? from->object[1] : 0;
    *to = (struct record_cupti_overhead){from->start, from->end, from->overhead_kind, from->object_kind, tid, 0};
    END(SLOT_CUPTI_OVERHEAD, record_cupti_overhead);
}

static void write_external(struct writer *writer, const struct activity_external *from)
{
    BEGIN(SLOT_CUPTI_EXTERNAL, record_cupti_external)
    *to = (struct record_cupti_external){from->external, from->correlation, from->external_kind};
    END(SLOT_CUPTI_EXTERNAL, record_cupti_external);
}

static void write_stream(struct writer *writer, const struct activity_stream *from)
{
    BEGIN(SLOT_CUPTI_STREAM, record_cupti_stream)
    *to = (struct record_cupti_stream){from->context, from->stream, from->priority, from->flag};
    END(SLOT_CUPTI_STREAM, record_cupti_stream);
}

static void write_context(const struct activity_context *from)
{
    struct record_cupti_context record = {from->context, from->device, from->api, from->null_stream};
    wl_define(SLOT_CUPTI_CONTEXT, &record, sizeof record);
}

static void write_device(const struct activity_device *from)
{
    /* Every subscription describes the devices again, but a definition is repeated in later sessions by itself. */
    static _Atomic uint64_t described;
    uint64_t bit = 1ull << (from->device & 63);
    if (atomic_fetch_or_explicit(&described, bit, memory_order_relaxed) & bit)
        return;
    struct record_cupti_device record = {
        from->memory_bytes,
        from->memory_bandwidth,
        from->device,
        wl_intern_text(from->name),
        from->compute_major,
        from->compute_minor,
        from->multiprocessors,
        from->clock_khz,
        from->threads_per_warp,
        from->max_warps_per_sm,
        from->max_blocks_per_sm,
        from->max_shared_per_sm,
        from->max_registers_per_sm,
        from->max_registers_per_block,
        from->max_shared_per_block,
        from->max_threads_per_block,
        from->l2_bytes,
        from->copy_engines,
        {0},
    };
    memcpy(record.uuid, from->uuid, sizeof record.uuid);
    wl_define(SLOT_CUPTI_DEVICE, &record, sizeof record);
}

static void write_graph(struct writer *writer, const struct activity_graph *from)
{
    BEGIN(SLOT_CUPTI_GRAPH, record_cupti_graph)
    *to = (struct record_cupti_graph){
        from->start, from->end, from->correlation, from->device, from->context, from->stream, from->graph, 0,
    };
    END(SLOT_CUPTI_GRAPH, record_cupti_graph);
}

static void write_memory(struct writer *writer, const struct activity_memory *from)
{
    uint32_t name = wl_intern_text(from->name);
    BEGIN(SLOT_CUPTI_MEMORY, record_cupti_memory)
    *to = (struct record_cupti_memory){
        from->timestamp,
        from->address,
        from->bytes,
        from->correlation,
        from->device,
        from->context,
        from->stream,
        from->operation,
        from->memory_kind,
        name,
        0,
    };
    END(SLOT_CUPTI_MEMORY, record_cupti_memory);
}

/* A forced flush hands out records of work that has not ended: CUPTI leaves zeros in their times. Returns the kind that
 * the loss is counted by, or 0. */
static uint32_t unfinished_kind(uint32_t kind, const void *record)
{
    const struct activity_kernel *kernel = record;
    const struct activity_memcpy *copy = record;
    const struct activity_memset *set = record;
    const struct activity_graph *graph = record;
    switch (kind) {
    case ACTIVITY_KERNEL:
    case ACTIVITY_CONCURRENT_KERNEL: return kernel->start && kernel->end ? 0 : ACTIVITY_KERNEL;
    case ACTIVITY_MEMCPY:
    case ACTIVITY_MEMCPY2: return copy->start && copy->end ? 0 : ACTIVITY_MEMCPY; /* the times lie alike */
    case ACTIVITY_MEMSET: return set->start && set->end ? 0 : ACTIVITY_MEMSET;
    case ACTIVITY_GRAPH_TRACE: return graph->start && graph->end ? 0 : ACTIVITY_GRAPH_TRACE;
    default: return 0;
    }
}

static void write_record(struct writer *writer, uint32_t kind, const void *record)
{
    switch (kind) {
    case ACTIVITY_KERNEL:
    case ACTIVITY_CONCURRENT_KERNEL: write_kernel(writer, record); break;
    case ACTIVITY_RUNTIME: write_api(writer, record, false); break;
    case ACTIVITY_DRIVER: write_api(writer, record, true); break;
    case ACTIVITY_MEMCPY: write_memcpy(writer, record); break;
    case ACTIVITY_MEMCPY2: write_memcpy_peer(writer, record); break;
    case ACTIVITY_MEMSET: write_memset(writer, record); break;
    case ACTIVITY_SYNCHRONIZATION: write_sync(writer, record); break;
    case ACTIVITY_OVERHEAD: write_overhead(writer, record); break;
    case ACTIVITY_EXTERNAL_CORRELATION: write_external(writer, record); break;
    case ACTIVITY_STREAM: write_stream(writer, record); break;
    case ACTIVITY_CONTEXT: write_context(record); break;
    case ACTIVITY_DEVICE: write_device(record); break;
    case ACTIVITY_GRAPH_TRACE: write_graph(writer, record); break;
    case ACTIVITY_MEMORY2: write_memory(writer, record); break;
    default: /* somebody else in the process enabled this kind */ break;
    }
}

void cupti_write_records(uint8_t *buffer, size_t valid_size)
{
    struct writer *writer = wl_writer();
    uint32_t unfinished[ACTIVITY_GRAPH_TRACE + 1] = {0};
    void *record = NULL;
    int result;
    if (writer == NULL)
        return;
    bool is_shared = sharing_has_program();
    struct clocks clocks = is_shared ? clocks_read() : (struct clocks){0};
    while ((result = cupti.next_record(buffer, valid_size, &record)) == CUPTI_OK) {
        uint32_t kind, lost;
        if (UNLIKELY(is_shared) && !sharing_is_for(WARPLINE, &clocks, record))
            continue;
        memcpy(&kind, record, sizeof kind);
        lost = unfinished_kind(kind, record);
        if (LIKELY(lost == 0))
            write_record(writer, kind, record);
        else
            unfinished[lost]++;
    }
    for (uint32_t kind = 0; kind <= ACTIVITY_GRAPH_TRACE; kind++)
        if (UNLIKELY(unfinished[kind] > 0))
            cupti_count_lost(unfinished[kind], kind, CUPTI_LOST_UNFINISHED);
    if (result != CUPTI_MAX_LIMIT_REACHED)
        atomic_fetch_add_explicit(&unreadable, 1, memory_order_relaxed);
}

uint64_t cupti_count_records(uint8_t *buffer, size_t valid_size)
{
    uint64_t count = 0;
    void *record = NULL;
    while (cupti.next_record(buffer, valid_size, &record) == CUPTI_OK)
        count++;
    return count;
}
