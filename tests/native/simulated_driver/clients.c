/* Two other users of CUPTI, reduced to the calls they make and the checks they apply to records.
 *
 * Kineto (torch.profiler) is linked against libcupti. It subscribes first, or, since August 2026, not at all.
 * Paddle (paddle.profiler) opens libcupti and looks its functions up; it never subscribes, and it discards records that
 * began, by CLOCK_REALTIME, before it started. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define BUFFER_BYTES (1u << 20)

typedef void (*request_fn)(uint8_t **, size_t *, size_t *);
typedef void (*complete_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*callback_fn)(void *, uint32_t, uint32_t, const void *);

int cuptiSubscribe(void **subscriber, callback_fn callback, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete);
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
int cuptiGetTimestamp(uint64_t *time);
int cuptiGetVersion(uint32_t *version);
int cuptiSubscribe_v2(void **subscriber, callback_fn callback, void *user, void *parameters);
int cuptiActivityRegisterCallbacks_v2(void *subscriber, void (*request)(uint8_t **, size_t *, size_t *, void *),
                                      void (*complete)(uint8_t *, size_t, size_t, void *));
int cuptiActivityEnable_v2(void *subscriber, uint32_t kind, void *configuration);
int cuptiActivityDisable_v2(void *subscriber, uint32_t kind, void *configuration);
int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid, void **record);

/* What each of them gets of libcupti. */
struct functions {
    int (*register_callbacks)(request_fn, complete_fn);
    int (*enable)(uint32_t);
    int (*disable)(uint32_t);
    int (*flush_all)(uint32_t);
    int (*next_record)(uint8_t *, size_t, void **);
};

static const uint32_t kinds[] = {1, 2, 5, 10};

struct client {
    struct functions cupti;
    void *subscriber;
    uint64_t started_ns;
    unsigned kernels, without_times, too_early, foreign_buffers, buffers;
    uint8_t *given[256]; /* buffers of its own that CUPTI has */
    pthread_mutex_t lock;
};
static struct client kineto = {.lock = PTHREAD_MUTEX_INITIALIZER}, paddle = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t realtime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void give(struct client *client, uint8_t **buffer, size_t *size, size_t *most)
{
    *size = BUFFER_BYTES;
    *most = 0;
    *buffer = aligned_alloc(8, BUFFER_BYTES);
    pthread_mutex_lock(&client->lock);
    client->given[client->buffers++ % 256] = *buffer;
    pthread_mutex_unlock(&client->lock);
}

static void take(struct client *client, uint8_t *buffer, size_t valid)
{
    void *record = NULL;
    bool is_own = false;
    pthread_mutex_lock(&client->lock);
    for (unsigned i = 0; i < 256; i++)
        if (client->given[i] == buffer) {
            client->given[i] = NULL;
            is_own = true;
        }
    while (client->cupti.next_record(buffer, valid, &record) == 0) {
        uint32_t kind;
        uint64_t start;
        memcpy(&kind, record, sizeof kind);
        if (kind != 10)
            continue;
        memcpy(&start, (uint8_t *)record + 16, sizeof start);
        if (start == 0)
            client->without_times++;
        else if (start < client->started_ns)
            client->too_early++; /* what Paddle discards, and what Kineto draws in the wrong place */
        else
            client->kernels++;
    }
    client->foreign_buffers += !is_own;
    pthread_mutex_unlock(&client->lock);
    if (is_own)
        free(buffer);
}

static void give_kineto(uint8_t **buffer, size_t *size, size_t *most) { give(&kineto, buffer, size, most); }
static void give_paddle(uint8_t **buffer, size_t *size, size_t *most) { give(&paddle, buffer, size, most); }
static void take_kineto(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    take(&kineto, buffer, valid);
}
static void take_paddle(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    take(&paddle, buffer, valid);
}

static void ignore(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

static int start(struct client *client, request_fn request, complete_fn complete)
{
    int result = client->cupti.register_callbacks(request, complete);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && result == 0; i++)
        result = client->cupti.enable(kinds[i]);
    client->started_ns = realtime();
    return result;
}

static void stop(struct client *client)
{
    client->cupti.flush_all(1);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        client->cupti.disable(kinds[i]);
    client->cupti.flush_all(1);
}

/* Returns CUPTI's result: 39 where somebody else is subscribed. Kineto then goes on without GPU records. */
EXPORT int kinetoStart(bool is_subscribing)
{
    kineto.cupti = (struct functions){
        cuptiActivityRegisterCallbacks, cuptiActivityEnable,        cuptiActivityDisable,
        cuptiActivityFlushAll,          cuptiActivityGetNextRecord,
    };
    int result = is_subscribing ? cuptiSubscribe(&kineto.subscriber, ignore, NULL) : 0;
    return result ? result : start(&kineto, give_kineto, take_kineto);
}

static void give_kineto_v2(uint8_t **buffer, size_t *size, size_t *most, void *info)
{
    (void)info;
    give(&kineto, buffer, size, most);
}
static void take_kineto_v2(uint8_t *buffer, size_t size, size_t valid, void *info)
{
    (void)size, (void)info;
    take(&kineto, buffer, valid);
}
static int register_v2(request_fn request, complete_fn complete)
{
    (void)request, (void)complete;
    return cuptiActivityRegisterCallbacks_v2(kineto.subscriber, give_kineto_v2, take_kineto_v2);
}
static int enable_v2(uint32_t kind) { return cuptiActivityEnable_v2(kineto.subscriber, kind, NULL); }
static int disable_v2(uint32_t kind) { return cuptiActivityDisable_v2(kineto.subscriber, kind, NULL); }
static int next_record_v2(uint8_t *buffer, size_t valid, void **record)
{
    return cuptiActivityGetNextRecord_v2(kineto.subscriber, buffer, valid, record);
}

/* A profiler that uses what its CUPTI has of the second family: nothing but the subscription before 13.2. */
EXPORT int kinetoStartSecond(bool allows_several)
{
    struct {
        size_t size;
        const char *name;
        char *old_name;
        size_t old_size;
        uint8_t allows_several;
    } parameters = {33, "Kineto", NULL, 0, allows_several};
    uint32_t version = 0;
    cuptiGetVersion(&version);
    kineto.cupti = (struct functions){
        version >= 130200 ? register_v2 : cuptiActivityRegisterCallbacks,
        version >= 130200 ? enable_v2 : cuptiActivityEnable,
        version >= 130200 ? disable_v2 : cuptiActivityDisable,
        cuptiActivityFlushAll,
        version >= 130300 ? next_record_v2 : cuptiActivityGetNextRecord,
    };
    int result = cuptiSubscribe_v2(&kineto.subscriber, ignore, NULL, &parameters);
    return result ? result : start(&kineto, give_kineto, take_kineto);
}

EXPORT void kinetoStop(void)
{
    stop(&kineto);
    if (kineto.subscriber)
        cuptiUnsubscribe(kineto.subscriber);
    kineto.subscriber = NULL;
}

/* How far CUPTI's clock is from CLOCK_REALTIME, which Kineto takes it for. */
EXPORT int64_t kinetoClockError(void)
{
    uint64_t time = 0;
    cuptiGetTimestamp(&time);
    return (int64_t)(time - realtime());
}

EXPORT int paddleStart(void)
{
    void *library = dlopen("libcupti.so.12", RTLD_NOW);
    const char *const names[] = {
        "cuptiActivityRegisterCallbacks", "cuptiActivityEnable",        "cuptiActivityDisable",
        "cuptiActivityFlushAll",          "cuptiActivityGetNextRecord",
    };
    void *found[5];
    for (int i = 0; i < 5; i++)
        if ((found[i] = library ? dlsym(library, names[i]) : NULL) == NULL)
            return -1;
    memcpy(&paddle.cupti, found, sizeof found);
    return start(&paddle, give_paddle, take_paddle);
}

EXPORT void paddleStop(void) { stop(&paddle); }

/* What a client has seen: 0 kernels, 1 kernels without times, 2 kernels before its start, 3 buffers of somebody else. */
EXPORT unsigned clientCount(bool is_paddle, int what)
{
    struct client *client = is_paddle ? &paddle : &kineto;
    pthread_mutex_lock(&client->lock);
    unsigned count = what == 0   ? client->kernels
                     : what == 1 ? client->without_times
                     : what == 2 ? client->too_early
                                 : client->foreign_buffers;
    pthread_mutex_unlock(&client->lock);
    return count;
}
