/* A stand-in for libcupti.so: hands out activity records at the sizes of a chosen version. The layouts are written
 * here by number, apart from the agent's header, so that a wrong offset there is seen.
 *
 * FAKE_CUPTI_VERSION  12.1 12.9 13.0 13.1 13.3 13.5 (default 12.9): sizes of the records and the API version
 * FAKE_CUPTI_REFUSE   CALL=CODE, for example subscribe=39, enable=35, enable10=35, version=999
 * FAKE_CUPTI_CLOCK    realtime: the timestamp callback is refused; device: accepted, but GPU times stay CLOCK_REALTIME
 * FAKE_CUPTI_SHUFFLE  1: records leave in reverse order
 * FAKE_CUPTI_DROP     N: every flush says that N records were dropped
 * FAKE_CUPTI_FLUSHES  a file to which every flush is appended: "FLAG RECORDS\n"
 * FAKE_CUPTI_THREAD   pthread: thread ids are not the kernel's, as before cuptiSetThreadIdType
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define KINDS 64

typedef void (*request_fn)(uint8_t **, size_t *, size_t *);
typedef void (*complete_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);
typedef uint64_t (*timestamp_fn)(void);

static const struct version {
    const char *name;
    uint32_t api;
    uint16_t kernel, memcpy_, memset_, sync;
} versions[] = {
    {"12.1", 18, 208, 88, 88, 40},      {"12.9", 28, 208, 88, 88, 56},      {"13.0", 130000, 216, 96, 88, 56},
    {"13.1", 130100, 224, 96, 88, 56}, {"13.3", 130300, 232, 112, 104, 56}, {"13.5", 130500, 248, 112, 104, 56},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static request_fn on_request;
static complete_fn on_complete;
static callback_fn on_callback;
static void *callback_user;
static timestamp_fn on_timestamp;
static int is_subscribed, is_enabled[KINDS], is_callback[4][1024], has_system_tids;
static uint8_t *buffer;
static size_t buffer_size, used, records_in_buffer;
static uint32_t next_correlation = 1;
static uint64_t stream_free[64];

/* Work whose end has not come yet. */
#define PENDING 4096
static struct {
    uint8_t bytes[256];
    uint16_t size;
    uint64_t end;
} pending[PENDING];
static unsigned pending_count;

static const struct version *version(void)
{
    const char *name = getenv("FAKE_CUPTI_VERSION");
    for (size_t i = 0; name && i < sizeof versions / sizeof versions[0]; i++)
        if (strcmp(versions[i].name, name) == 0)
            return &versions[i];
    return &versions[1];
}

static int refused(const char *call)
{
    const char *text = getenv("FAKE_CUPTI_REFUSE");
    size_t n = strlen(call);
    while (text && *text) {
        if (strncmp(text, call, n) == 0 && text[n] == '=')
            return atoi(text + n + 1);
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
    return 0;
}

static int clock_is(const char *what)
{
    const char *text = getenv("FAKE_CUPTI_CLOCK");
    return text && strcmp(text, what) == 0;
}

static uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t host_now(void) { return on_timestamp ? on_timestamp() : clock_ns(CLOCK_REALTIME); }
static uint64_t device_now(void)
{
    return on_timestamp && !clock_is("device") ? on_timestamp() : clock_ns(CLOCK_REALTIME);
}

static uint32_t thread_id(void)
{
    const char *text = getenv("FAKE_CUPTI_THREAD");
    if (!has_system_tids || (text && strcmp(text, "pthread") == 0))
        return (uint32_t)(uintptr_t)pthread_self();
    return (uint32_t)syscall(SYS_gettid);
}

#define PUT(record, offset, type, value)                                                                               \
    do {                                                                                                               \
        type put_ = (type)(value);                                                                                     \
        memcpy((record) + (offset), &put_, sizeof put_);                                                               \
    } while (0)

static uint16_t size_of(uint32_t kind)
{
    switch (kind) {
    case 1: return version()->memcpy_;
    case 2: return version()->memset_;
    case 3: case 10: return version()->kernel;
    case 4: case 5: return 40;
    case 8: return 184;
    case 9: return 32;
    case 17: return 40;
    case 22: return 96;
    case 37: return 24;
    case 38: return version()->sync;
    case 39: return 24;
    case 49: return 128;
    case 51: return 56;
    default: return 0;
    }
}

static void deliver_locked(uint32_t flag)
{
    const char *log = getenv("FAKE_CUPTI_FLUSHES");
    if (log) {
        FILE *file = fopen(log, "a");
        if (file) {
            fprintf(file, "%u %zu\n", flag, records_in_buffer);
            fclose(file);
        }
    }
    if (!buffer)
        return;
    uint8_t *full = buffer;
    size_t size = buffer_size, valid = used;
    buffer = NULL;
    used = records_in_buffer = 0;
    pthread_mutex_unlock(&lock);
    if (getenv("FAKE_CUPTI_SHUFFLE")) { /* the records in reverse order: a copy, then back */
        uint8_t *copy = malloc(valid + 1), *at = full;
        size_t offset = valid;
        memcpy(copy, full, valid);
        for (uint8_t *from = copy; from < copy + valid;) {
            uint32_t kind;
            memcpy(&kind, from, 4);
            offset -= size_of(kind);
            memcpy(at + offset, from, size_of(kind));
            from += size_of(kind);
        }
        free(copy);
    }
    on_complete(NULL, 0, full, size, valid);
    pthread_mutex_lock(&lock);
}

static void append_locked(const uint8_t *record, size_t size)
{
    if (buffer && used + size > buffer_size)
        deliver_locked(9);
    if (!buffer) {
        size_t most = 0;
        if (!on_request)
            return;
        on_request(&buffer, &buffer_size, &most);
        if (!buffer)
            return;
    }
    memcpy(buffer + used, record, size);
    used += size;
    records_in_buffer++;
}

static void settle_locked(int all)
{
    uint64_t now = device_now();
    unsigned kept = 0;
    for (unsigned i = 0; i < pending_count; i++) {
        if (all || pending[i].end <= now)
            append_locked(pending[i].bytes, pending[i].size);
        else
            pending[kept++] = pending[i];
    }
    pending_count = kept;
}

static void submit(uint8_t *record, uint64_t end)
{
    uint32_t kind;
    memcpy(&kind, record, 4);
    pthread_mutex_lock(&lock);
    if (is_enabled[kind]) {
        if (end <= device_now() || pending_count == PENDING) {
            append_locked(record, size_of(kind));
        } else {
            memcpy(pending[pending_count].bytes, record, size_of(kind));
            pending[pending_count].size = size_of(kind);
            pending[pending_count++].end = end;
        }
    }
    pthread_mutex_unlock(&lock);
}

/* The interface of CUPTI. */
EXPORT int cuptiGetVersion(uint32_t *v)
{
    *v = version()->api;
    return refused("version");
}
EXPORT int cuptiGetTimestamp(uint64_t *t)
{
    *t = host_now();
    return 0;
}
EXPORT int cuptiGetResultString(int result, const char **text)
{
    *text = result == 39   ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
            : result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                           : NULL; /* as 13.3 to 13.5 do without a driver */
    return 0;
}
EXPORT int cuptiSubscribe(void **subscriber, callback_fn callback, void *user)
{
    if (refused("subscribe"))
        return refused("subscribe");
    if (is_subscribed)
        return 39;
    is_subscribed = 1;
    on_callback = callback;
    callback_user = user;
    *subscriber = &is_subscribed;
    return 0;
}
EXPORT int cuptiUnsubscribe(void *subscriber)
{
    (void)subscriber;
    is_subscribed = 0;
    return 0;
}
EXPORT int cuptiEnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
    (void)subscriber;
    if (domain > 3 || id >= 1024)
        return 1;
    is_callback[domain][id] = (int)on;
    return 0;
}
EXPORT int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete)
{
    on_request = request;
    on_complete = complete;
    return refused("register");
}
EXPORT int cuptiActivityRegisterTimestampCallback(timestamp_fn callback)
{
    if (clock_is("realtime"))
        return 27;
    on_timestamp = callback;
    return 0;
}
EXPORT int cuptiSetThreadIdType(uint32_t type)
{
    has_system_tids = type == 1;
    return 0;
}
/* Handles are their ids; the null stream is 7. */
EXPORT int cuptiGetContextId(void *context, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)context;
    return context ? 0 : 1;
}

EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t is_per_thread, uint32_t *id)
{
    (void)context, (void)is_per_thread;
    *id = stream ? (uint32_t)(uintptr_t)stream : 7;
    return 0;
}

EXPORT int cuptiActivityFlushPeriod(uint32_t ms)
{
    (void)ms;
    return 0;
}
static void describe_device(void);
EXPORT int cuptiActivityEnable(uint32_t kind)
{
    char call[16];
    snprintf(call, sizeof call, "enable%u", kind);
    if (refused("enable") || refused(call))
        return refused("enable") ? refused("enable") : refused(call);
    if (kind >= KINDS)
        return 21;
    is_enabled[kind] = 1;
    if (kind == 37)
        describe_device();
    return 0;
}
EXPORT int cuptiActivityDisable(uint32_t kind)
{
    if (kind < KINDS)
        is_enabled[kind] = 0;
    return 0;
}
EXPORT int cuptiActivityFlushAll(uint32_t flag)
{
    pthread_mutex_lock(&lock);
    settle_locked(flag == 1);
    deliver_locked(flag);
    pthread_mutex_unlock(&lock);
    return 0;
}
EXPORT int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, void **record)
{
    uint32_t kind;
    uint8_t *next = from;
    if (*record) {
        memcpy(&kind, *record, 4);
        next = (uint8_t *)*record + size_of(kind);
    }
    if (next >= from + valid)
        return 12;
    memcpy(&kind, next, 4);
    if (size_of(kind) == 0)
        return 21;
    *record = next;
    return 0;
}
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    const char *text = getenv("FAKE_CUPTI_DROP");
    *dropped = text ? (size_t)atoi(text) : 0;
    return 0;
}
EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    *name = domain == 2 ? (id == 211   ? "cudaLaunchKernel_v7000"
                           : id == 41  ? "cudaMemcpyAsync_v3020"
                           : id == 51  ? "cudaMemsetAsync_v3020"
                           : id == 131 ? "cudaStreamSynchronize_v3020"
                           : id == 311 ? "cudaGraphLaunch_v10000"
                           : id == 17  ? "cudaGetDevice_v3020"
                           : id == 20  ? "cudaMalloc_v3020"
                                       : NULL)
                        : (id == 307 ? "cuLaunchKernel" : NULL);
    return *name ? 0 : 1;
}

/* What a program does, through fake_cuda.c. */
static void describe_device(void)
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
    PUT(r, 104, const char *, name);
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
