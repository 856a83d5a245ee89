/* A stand-in for libcupti.so: hands out activity records (fake_work.c) at the sizes of a chosen version.
 *
 * FAKE_CUPTI_VERSION  12.1 12.9 13.0 13.1 13.3 13.5 (default 12.9): sizes of the records and the API version
 * FAKE_CUPTI_REFUSE   CALL=CODE, for example subscribe=39, enable=35, enable10=35, version=999
 * FAKE_CUPTI_CLOCK    realtime: the timestamp callback is refused; device: accepted, but GPU times stay CLOCK_REALTIME
 * FAKE_CUPTI_SHUFFLE  1: records leave in reverse order
 * FAKE_CUPTI_DROP     N: every flush says that N records were dropped
 * FAKE_CUPTI_FLUSHES  a file to which every flush is appended: "FLAG RECORDS\n"
 * FAKE_CUPTI_DISABLE_MS  N: a kind takes that long to be disabled, of which nothing is recorded from the beginning of that on
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

#include "fake_cupti.h"

typedef void (*request_fn)(uint8_t **, size_t *, size_t *);
typedef void (*complete_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef uint64_t (*timestamp_fn)(void);

static const struct version {
    const char *name;
    uint32_t api;
    uint16_t kernel, memcpy_, memset_, sync;
} versions[] = {
    {"12.1", 18, 208, 88, 88, 40},     {"12.9", 28, 208, 88, 88, 56},       {"13.0", 130000, 216, 96, 88, 56},
    {"13.1", 130100, 224, 96, 88, 56}, {"13.3", 130300, 232, 112, 104, 56}, {"13.5", 130500, 248, 112, 104, 56},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static request_fn on_request;
static complete_fn on_complete;
callback_fn on_callback;
void *callback_user;
static timestamp_fn on_timestamp;
int is_enabled[KINDS], is_callback[4][1024];
static int is_subscribed, has_system_tids;
static uint8_t *buffer;
static size_t buffer_size, used, records_in_buffer;

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

uint64_t host_now(void) { return on_timestamp ? on_timestamp() : clock_ns(CLOCK_REALTIME); }
uint64_t device_now(void) { return on_timestamp && !clock_is("device") ? on_timestamp() : clock_ns(CLOCK_REALTIME); }

uint32_t thread_id(void)
{
    const char *text = getenv("FAKE_CUPTI_THREAD");
    if (!has_system_tids || (text && strcmp(text, "pthread") == 0))
        return (uint32_t)(uintptr_t)pthread_self();
    return (uint32_t)syscall(SYS_gettid);
}

static uint16_t size_of(uint32_t kind)
{
    switch (kind) {
    case 1: return version()->memcpy_;
    case 2: return version()->memset_;
    case 3:
    case 10: return version()->kernel;
    case 4:
    case 5: return 40;
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

void submit(uint8_t *record, uint64_t end)
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
    const char *text = getenv("FAKE_CUPTI_DISABLE_MS");
    if (kind < KINDS)
        is_enabled[kind] = 0;
    if (text)
        usleep(1000u * (unsigned)atoi(text));
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
