/* What a program does on the fake GPU, through fake_cuda.c, as records of CUPTI: fields are written by number, apart
 * from the agent's header, so that a wrong offset there is seen. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "fake_cupti.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t next_correlation = 1;
static uint64_t stream_free[64];

void describe_device(void)
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
    PUT(r, 112, uint32_t, 0);
    for (int i = 0; i < 16; i++)
        r[120 + i] = (uint8_t)(0x10 + i);
    PUT(r, 136, const char *, "Fake H100");
    submit(r, 0);
    memset(r, 0, sizeof r);
    PUT(r, 0, uint32_t, 9);
    PUT(r, 4, uint32_t, 1);
    PUT(r, 8, uint32_t, 0);
    PUT(r, 14, uint16_t, 7);
    submit(r, 0);
    for (uint32_t stream = 7; stream < 16; stream++) {
        memset(r, 0, sizeof r);
        PUT(r, 0, uint32_t, 37);
        PUT(r, 4, uint32_t, 1);
        PUT(r, 8, uint32_t, stream);
        PUT(r, 12, int32_t, stream == 8 ? -5 : 0);
        PUT(r, 16, uint32_t, stream == 7 ? 3 : 2);
        submit(r, 0);
    }
}

static uint64_t place(uint32_t stream, uint64_t duration, uint64_t *end)
{
    pthread_mutex_lock(&lock);
    uint64_t start = device_now() + 2000;
    if (stream < 64 && stream_free[stream] > start)
        start = stream_free[stream];
    *end = start + duration;
    if (stream < 64)
        stream_free[stream] = *end;
    pthread_mutex_unlock(&lock);
    return start;
}

EXPORT void fake_callback(uint32_t domain, uint32_t id, uint32_t site)
{
    uint8_t data[72] = {0};
    PUT(data, 0, uint32_t, site);
    if (on_callback && domain < 4 && id < 1024 && is_callback[domain][id])
        on_callback(callback_user, domain, id, data);
}

EXPORT uint32_t fake_api_begin(uint32_t is_driver, uint32_t id, uint64_t *start)
{
    pthread_mutex_lock(&lock);
    uint32_t correlation = next_correlation++;
    pthread_mutex_unlock(&lock);
    *start = host_now();
    fake_callback(is_driver ? 1 : 2, id, 0);
    return correlation;
}

EXPORT void fake_api_end(uint32_t is_driver, uint32_t id, uint32_t correlation, uint64_t start, int32_t result)
{
    uint8_t r[256] = {0};
    fake_callback(is_driver ? 1 : 2, id, 1);
    PUT(r, 0, uint32_t, is_driver ? 4 : 5);
    PUT(r, 4, uint32_t, id);
    PUT(r, 8, uint64_t, start);
    PUT(r, 16, uint64_t, host_now());
    PUT(r, 24, uint32_t, getpid());
    PUT(r, 28, uint32_t, thread_id());
    PUT(r, 32, uint32_t, correlation);
    PUT(r, 36, int32_t, result);
    submit(r, 0);
}

EXPORT void fake_kernel(const char *name, uint32_t stream, uint64_t duration, uint32_t correlation, uint32_t graph,
                        uint64_t node)
{
    uint8_t r[256];
    uint64_t end, start = place(stream, duration, &end);
    memset(r, 0xee, sizeof r); /* fields the agent does not know must not matter */
    PUT(r, 0, uint32_t, 10);
    PUT(r, 6, uint16_t, 40);
    PUT(r, 16, uint64_t, start);
    PUT(r, 24, uint64_t, end);
    PUT(r, 40, uint32_t, 0);
    PUT(r, 44, uint32_t, 1);
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
    submit(r, end);
}

EXPORT void fake_copy(uint32_t kind, uint64_t bytes, uint32_t stream, uint64_t duration, uint32_t correlation)
{
    uint8_t r[256];
    uint64_t end, start = place(stream, duration, &end);
    int is_peer = kind == 10;
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, is_peer ? 22 : 1);
    r[4] = (uint8_t)kind;
    r[5] = kind == 2 ? 3 : 1;
    r[6] = kind == 2 ? 1 : 3;
    r[7] = 1;
    PUT(r, 8, uint64_t, bytes);
    PUT(r, 16, uint64_t, start);
    PUT(r, 24, uint64_t, end);
    PUT(r, 32, uint32_t, 0);
    PUT(r, 36, uint32_t, 1);
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
    submit(r, end);
}

EXPORT void fake_set(uint32_t value, uint64_t bytes, uint32_t stream, uint64_t duration, uint32_t correlation)
{
    uint8_t r[256];
    uint64_t end, start = place(stream, duration, &end);
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 2);
    PUT(r, 4, uint32_t, value);
    PUT(r, 8, uint64_t, bytes);
    PUT(r, 16, uint64_t, start);
    PUT(r, 24, uint64_t, end);
    PUT(r, 32, uint32_t, 0);
    PUT(r, 36, uint32_t, 1);
    PUT(r, 40, uint32_t, stream);
    PUT(r, 44, uint32_t, correlation);
    PUT(r, 48, uint16_t, 0);
    PUT(r, 50, uint16_t, 3);
    PUT(r, 64, uint64_t, 0);
    PUT(r, 72, uint32_t, 0);
    submit(r, end);
}

EXPORT void fake_graph(uint32_t graph, uint32_t stream, uint64_t duration, uint32_t correlation)
{
    uint8_t r[256];
    uint64_t end, start = place(stream, duration, &end);
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 51);
    PUT(r, 4, uint32_t, correlation);
    PUT(r, 8, uint64_t, start);
    PUT(r, 16, uint64_t, end);
    PUT(r, 24, uint32_t, 0);
    PUT(r, 28, uint32_t, graph);
    PUT(r, 32, uint32_t, 1);
    PUT(r, 36, uint32_t, stream);
    submit(r, end);
}

EXPORT int fake_is_enabled(uint32_t kind) { return kind < KINDS && is_enabled[kind]; }

EXPORT uint64_t fake_stream_end(uint32_t stream) { return stream < 64 ? stream_free[stream] : 0; }
EXPORT uint64_t fake_device_now(void) { return device_now(); }

EXPORT void fake_synchronised(uint32_t type, uint32_t stream, uint64_t start, uint32_t correlation)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 38);
    PUT(r, 4, uint32_t, type);
    PUT(r, 8, uint64_t, start);
    PUT(r, 16, uint64_t, host_now());
    PUT(r, 24, uint32_t, correlation);
    PUT(r, 28, uint32_t, 1);
    PUT(r, 32, uint32_t, stream);
    PUT(r, 36, uint32_t, UINT32_MAX);
    submit(r, 0);
}

EXPORT void fake_overhead(uint32_t kind, uint64_t start)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 17);
    PUT(r, 4, uint32_t, kind);
    PUT(r, 8, uint32_t, 2);
    PUT(r, 12, uint32_t, getpid());
    PUT(r, 16, uint32_t, thread_id());
    PUT(r, 24, uint64_t, start);
    PUT(r, 32, uint64_t, host_now());
    submit(r, 0);
}

EXPORT void fake_external(uint32_t kind, uint64_t id, uint32_t correlation)
{
    uint8_t r[256] = {0};
    PUT(r, 0, uint32_t, 39);
    PUT(r, 4, uint32_t, kind);
    PUT(r, 8, uint64_t, id);
    PUT(r, 16, uint32_t, correlation);
    submit(r, 0);
}

EXPORT void fake_allocated(uint32_t operation, uint64_t address, uint64_t bytes, uint32_t correlation)
{
    uint8_t r[256];
    memset(r, 0xee, sizeof r);
    PUT(r, 0, uint32_t, 49);
    PUT(r, 4, uint32_t, operation);
    PUT(r, 8, uint32_t, 3);
    PUT(r, 12, uint32_t, correlation);
    PUT(r, 16, uint64_t, address);
    PUT(r, 24, uint64_t, bytes);
    PUT(r, 32, uint64_t, host_now());
    PUT(r, 40, uint64_t, 0);
    PUT(r, 48, uint32_t, getpid());
    PUT(r, 52, uint32_t, 0);
    PUT(r, 56, uint32_t, 1);
    PUT(r, 60, uint32_t, 7);
    PUT(r, 64, const char *, NULL);
    submit(r, 0);
}
