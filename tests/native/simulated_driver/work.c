/* What a program does on the simulated GPUs, as records of CUPTI. Fields are written by number, apart from the agent's
 * header, so that a wrong offset there is noticed. */
#define _GNU_SOURCE
#include <unistd.h>

#include "simulation.h"

#define LAUNCH_NS 2000 /* from a launch to the start of its kernel, on an idle stream */

static _Atomic uint32_t next_correlation = 1;

static void describe_device(struct collector *collector, uint32_t device)
{
    uint8_t r[256] = {0};
    PUT(r, 0, uint32_t, 8);
    PUT(r, 8, uint64_t, 3352320000u); /* kB/s */
    PUT(r, 16, uint64_t, 80ull << 30);
    PUT(r, 28, uint32_t, 50 << 20);
    PUT(r, 32, uint32_t, 32);
    PUT(r, 36, uint32_t, 1980000);
    PUT(r, 40, uint32_t, 3);
    PUT(r, 44, uint32_t, 132);
    PUT(r, 52, uint32_t, 64);
    PUT(r, 56, uint32_t, 32);
    PUT(r, 60, uint32_t, 233472);
    PUT(r, 64, uint32_t, 65536);
    PUT(r, 68, uint32_t, 65536);
    PUT(r, 72, uint32_t, 49152);
    PUT(r, 76, uint32_t, 1024);
    PUT(r, 104, uint32_t, 9);
    PUT(r, 108, uint32_t, 0);
    PUT(r, 112, uint32_t, device);
    memcpy(r + 120, machine()->devices[device].uuid, 16);
    PUT(r, 136, const char *, "Simulated H100");
    submit_to(collector, (struct work){.record = r});
}

static void describe_context(struct collector *collector, uint32_t context)
{
    uint8_t r[256] = {0};
    PUT(r, 0, uint32_t, 9);
    PUT(r, 4, uint32_t, context);
    PUT(r, 8, uint32_t, machine()->contexts[context].device);
    PUT(r, 14, uint16_t, machine()->contexts[context].null_stream);
    submit_to(collector, (struct work){.record = r});
}

static void describe_stream(struct collector *collector, uint32_t stream)
{
    uint8_t r[256] = {0};
    PUT(r, 0, uint32_t, 37);
    PUT(r, 4, uint32_t, machine()->streams[stream].context);
    PUT(r, 8, uint32_t, stream);
    PUT(r, 12, int32_t, machine()->streams[stream].priority);
    PUT(r, 16, uint32_t, machine()->streams[stream].flag);
    submit_to(collector, (struct work){.record = r});
}

void dump_existing(struct collector *collector, uint32_t kind)
{
    const struct machine *all = machine();
    for (uint32_t i = 0; kind == 8 && all->is_initialised && i < all->device_count; i++)
        describe_device(collector, i);
    for (uint32_t i = 1; kind == 9 && i < MOST_CONTEXTS; i++)
        if (all->contexts[i].is_alive)
            describe_context(collector, i);
    for (uint32_t i = 0; kind == 37 && i < MOST_STREAMS; i++)
        if (all->streams[i].is_alive)
            describe_stream(collector, i);
}

/* Something came into being: whoever has its kind enabled now gets a record, nobody later. */
EXPORT void simulated_created(uint32_t kind, uint32_t id)
{
    for (size_t i = 0; i < COLLECTORS; i++) {
        if (!collectors[i].is_enabled[kind])
            continue;
        if (kind == 8)
            describe_device(&collectors[i], id);
        else if (kind == 9)
            describe_context(&collectors[i], id);
        else
            describe_stream(&collectors[i], id);
    }
}

/* When work that is given to a stream now will run: after what the stream has already. */
static uint64_t place(uint32_t stream, uint64_t duration, uint64_t *end)
{
    struct machine *all = machine();
    pthread_mutex_lock(&all->lock);
    uint64_t start = clock_ns(CLOCK_MONOTONIC) + LAUNCH_NS;
    if (all->streams[stream % MOST_STREAMS].free_ns > start)
        start = all->streams[stream % MOST_STREAMS].free_ns;
    *end = start + duration;
    all->streams[stream % MOST_STREAMS].free_ns = *end;
    pthread_mutex_unlock(&all->lock);
    return start;
}

static uint32_t context_of(uint32_t stream) { return machine()->streams[stream % MOST_STREAMS].context; }
static uint32_t device_of(uint32_t stream) { return machine()->contexts[context_of(stream)].device; }

static void run(uint8_t *record, uint32_t start_at, uint32_t stream, uint64_t duration)
{
    uint64_t end, start = place(stream, duration, &end);
    submit((struct work){record, .start_at = start_at, .start_ns = start, .end_ns = end});
}

EXPORT void simulated_callback(uint32_t domain, uint32_t id, uint32_t site) { call_back(domain, id, site); }

EXPORT uint32_t simulated_api_begin(uint32_t is_driver, uint32_t id, uint64_t *start)
{
    uint32_t correlation = next_correlation++;
    *start = clock_ns(CLOCK_MONOTONIC);
    call_back(is_driver ? 1 : 2, id, 0);
    return correlation;
}

EXPORT void simulated_api_end(uint32_t is_driver, uint32_t id, uint32_t correlation, uint64_t start, int32_t result)
{
    uint8_t r[256] = {0};
    call_back(is_driver ? 1 : 2, id, 1);
    PUT(r, 0, uint32_t, is_driver ? 4 : 5);
    PUT(r, 4, uint32_t, id);
    PUT(r, 24, uint32_t, getpid());
    PUT(r, 32, uint32_t, correlation);
    PUT(r, 36, int32_t, result);
    submit((struct work){
        r,
        .start_at = 8,
        .start_ns = start,
        .end_ns = clock_ns(CLOCK_MONOTONIC),
        .is_of_host = true,
        .thread_at = 28,
    });
}

EXPORT void simulated_kernel(const char *name, uint32_t stream, uint64_t duration, uint32_t correlation, uint32_t graph,
                             uint64_t node)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r); /* fields the agent does not know must not matter */
    PUT(r, 0, uint32_t, 10);
    PUT(r, 6, uint16_t, 40);
    PUT(r, 40, uint32_t, device_of(stream));
    PUT(r, 44, uint32_t, context_of(stream));
    PUT(r, 48, uint32_t, stream);
    PUT(r, 52, int32_t, 264);
    PUT(r, 56, int32_t, 2);
    PUT(r, 60, int32_t, 1);
    PUT(r, 64, int32_t, 256);
    PUT(r, 68, int32_t, 1);
    PUT(r, 72, int32_t, 1);
    PUT(r, 76, int32_t, 4096);
    PUT(r, 80, int32_t, 1024);
    PUT(r, 84, uint32_t, 16);
    PUT(r, 92, uint32_t, correlation);
    PUT(r, 104, const char *, strdup(name)); /* stays, as those of the real one do */
    PUT(r, 120, uint64_t, 0);
    PUT(r, 128, uint64_t, 0);
    r[136] = 0;
    PUT(r, 144, uint64_t, node);
    PUT(r, 156, uint32_t, graph);
    run(r, 16, stream, duration);
}

EXPORT void simulated_copy(uint32_t kind, uint64_t bytes, uint32_t stream, uint64_t duration, uint32_t correlation)
{
    uint8_t r[256];
    int is_peer = kind == 10;
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, is_peer ? 22 : 1);
    r[4] = (uint8_t)kind;
    r[5] = kind == 2 ? 3 : 1;
    r[6] = kind == 2 ? 1 : 3;
    r[7] = 1;
    PUT(r, 8, uint64_t, bytes);
    PUT(r, 32, uint32_t, device_of(stream));
    PUT(r, 36, uint32_t, context_of(stream));
    PUT(r, 40, uint32_t, stream);
    if (is_peer) {
        PUT(r, 44, uint32_t, 0);
        PUT(r, 48, uint32_t, 1);
        PUT(r, 52, uint32_t, 1);
        PUT(r, 56, uint32_t, 2);
        PUT(r, 60, uint32_t, correlation);
        PUT(r, 72, uint64_t, 0);
        PUT(r, 80, uint32_t, 0);
    } else {
        PUT(r, 44, uint32_t, correlation);
        PUT(r, 48, uint32_t, 0);
        PUT(r, 64, uint64_t, 0);
        PUT(r, 72, uint32_t, 0);
    }
    run(r, 16, stream, duration);
}

EXPORT void simulated_set(uint32_t value, uint64_t bytes, uint32_t stream, uint64_t duration, uint32_t correlation)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 2);
    PUT(r, 4, uint32_t, value);
    PUT(r, 8, uint64_t, bytes);
    PUT(r, 32, uint32_t, device_of(stream));
    PUT(r, 36, uint32_t, context_of(stream));
    PUT(r, 40, uint32_t, stream);
    PUT(r, 44, uint32_t, correlation);
    PUT(r, 48, uint16_t, 0);
    PUT(r, 50, uint16_t, 3);
    PUT(r, 64, uint64_t, 0);
    PUT(r, 72, uint32_t, 0);
    run(r, 16, stream, duration);
}

EXPORT void simulated_graph(uint32_t graph, uint32_t stream, uint64_t duration, uint32_t correlation)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 51);
    PUT(r, 4, uint32_t, correlation);
    PUT(r, 24, uint32_t, device_of(stream));
    PUT(r, 28, uint32_t, graph);
    PUT(r, 32, uint32_t, context_of(stream));
    PUT(r, 36, uint32_t, stream);
    run(r, 8, stream, duration);
}

EXPORT void simulated_synchronised(uint32_t type, uint32_t stream, uint64_t start, uint32_t correlation)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 38);
    PUT(r, 4, uint32_t, type);
    PUT(r, 24, uint32_t, correlation);
    PUT(r, 28, uint32_t, context_of(stream));
    PUT(r, 32, uint32_t, stream);
    PUT(r, 36, uint32_t, UINT32_MAX);
    submit((struct work){
        r,
        .start_at = 8,
        .start_ns = start,
        .end_ns = clock_ns(CLOCK_MONOTONIC),
        .is_of_host = true,
    });
}

EXPORT void simulated_overhead(uint32_t kind, uint64_t start)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 17);
    PUT(r, 4, uint32_t, kind);
    PUT(r, 8, uint32_t, 2);
    PUT(r, 12, uint32_t, getpid());
    submit((struct work){
        r,
        .start_at = 24,
        .start_ns = start,
        .end_ns = clock_ns(CLOCK_MONOTONIC),
        .is_of_host = true,
        .thread_at = 16,
    });
}

EXPORT void simulated_external(uint32_t kind, uint64_t id, uint32_t correlation)
{
    uint8_t r[256] = {0};
    PUT(r, 0, uint32_t, 39);
    PUT(r, 4, uint32_t, kind);
    PUT(r, 8, uint64_t, id);
    PUT(r, 16, uint32_t, correlation);
    submit((struct work){.record = r});
}

EXPORT void simulated_allocated(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 49);
    PUT(r, 4, uint32_t, operation);
    PUT(r, 8, uint32_t, 3);
    PUT(r, 12, uint32_t, correlation);
    PUT(r, 16, uint64_t, address);
    PUT(r, 24, uint64_t, bytes);
    PUT(r, 40, uint64_t, 0);
    PUT(r, 48, uint32_t, getpid());
    PUT(r, 52, uint32_t, 0);
    PUT(r, 56, uint32_t, 1);
    PUT(r, 60, uint32_t, 7);
    PUT(r, 64, const char *, NULL);
    submit((struct work){r, .start_at = 32, .start_ns = clock_ns(CLOCK_MONOTONIC), .is_of_host = true});
}
