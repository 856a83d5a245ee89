/* The first family of CUPTI's functions, which have one state for the whole process, and what both families share. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record_sizes.h"
#include "simulation.h"

struct collector collectors[COLLECTORS];
static struct collector *const process = &collectors[0];
_Thread_local enum inside inside;

static pthread_mutex_t cupti_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local unsigned lock_depth;
static _Thread_local bool is_early; /* the call came while CUDA was being initialised, and waited */

void lock_cupti(const char *call, enum inside most)
{
    if (inside > most) {
        fprintf(stderr, "simulated CUPTI: %s is forbidden inside a %s callback\n", call,
                inside == INSIDE_RESOURCE_CALLBACK ? "resource" : "buffer");
        abort();
    }
    if (lock_depth == 0)
        is_early = machine()->is_initialising;
    while (machine()->is_initialising)
        usleep(100);
    if (lock_depth++ == 0)
        pthread_mutex_lock(&cupti_lock);
}

void unlock_cupti(void)
{
    if (--lock_depth == 0)
        pthread_mutex_unlock(&cupti_lock);
}

long setting(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text ? atol(text) : otherwise;
}

bool setting_is(const char *name, const char *text)
{
    const char *value = getenv(name);
    return value != NULL && strcmp(value, text) == 0;
}

static const struct version *version(void)
{
    const char *name = getenv("SIMULATED_CUPTI_VERSION");
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (strcmp(versions[i].name, name ? name : "12.9") == 0)
            return &versions[i];
    fprintf(stderr, "simulated CUPTI: no version %s\n", name);
    abort();
}

uint32_t api_version(void) { return version()->api; }
uint16_t size_of(uint32_t kind) { return kind < 52 ? version()->sizes[kind] : 0; }

int refused(const char *call)
{
    const char *text = getenv("SIMULATED_CUPTI_REFUSE");
    size_t n = strlen(call);
    while (text && *text) {
        if (strncmp(text, call, n) == 0 && text[n] == '=')
            return atoi(text + n + 1);
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
    return 0;
}

struct machine *machine(void)
{
    static struct machine *known;
    static struct machine none = {.lock = PTHREAD_MUTEX_INITIALIZER};
    if (known == NULL) {
        void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        known = driver ? dlsym(driver, "simulated_machine") : NULL;
    }
    return known ? known : &none;
}

uint64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t host_now(const struct collector *collector)
{
    timestamp_fn timestamp = collector->timestamp;
    return timestamp ? timestamp() : clock_ns(CLOCK_REALTIME);
}

uint32_t thread_id(const struct collector *collector)
{
    if (!collector->has_system_tids || setting_is("SIMULATED_CUPTI_THREAD", "pthread"))
        return (uint32_t)(uintptr_t)pthread_self();
    return (uint32_t)syscall(SYS_gettid);
}

void log_flush(uint32_t flag, size_t records)
{
    const char *log = getenv("SIMULATED_CUPTI_FLUSHES");
    FILE *file = log ? fopen(log, "a") : NULL;
    if (file) {
        fprintf(file, "%u %zu%s\n", flag, records, is_early ? " early" : "");
        fclose(file);
    }
}

void call_back(uint32_t domain, uint32_t id, uint32_t site)
{
    enum inside before = inside;
    bool is_resource = domain == 3;
    uint8_t data[72] = {0};
    PUT(data, 0, uint32_t, site);
    if (is_resource)
        lock_cupti("a resource callback", INSIDE_BUFFER_CALLBACK);
    inside = is_resource ? INSIDE_RESOURCE_CALLBACK : INSIDE_API_CALLBACK;
    for (size_t i = 0; i < COLLECTORS; i++) {
        callback_fn callback = collectors[i].callback;
        if (callback && domain < 4 && id < CALLBACKS && collectors[i].is_callback[domain][id])
            callback(collectors[i].user, domain, id, data);
    }
    inside = before;
    if (is_resource)
        unlock_cupti();
}

/* Once a function of one family was used, those of the other answer 14, until nobody is subscribed. */
static bool is_second_family(void)
{
    for (size_t i = 1; i < COLLECTORS; i++)
        if (collectors[i].is_subscribed)
            return true;
    return false;
}

#define GLOBAL_CALL(name, most) \
    lock_cupti(name, most);     \
    if (is_second_family()) {   \
        unlock_cupti();         \
        return NOT_COMPATIBLE;  \
    }
#define RETURN(result)        \
    do {                      \
        int result_ = result; \
        unlock_cupti();       \
        return result_;       \
    } while (0)

EXPORT int cuptiGetVersion(uint32_t *v)
{
    *v = version()->api;
    return refused("version");
}
EXPORT int cuptiGetTimestamp(uint64_t *t)
{
    *t = host_now(process);
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
    GLOBAL_CALL("cuptiSubscribe", INSIDE_API_CALLBACK)
    if (process->is_subscribed)
        RETURN(MULTIPLE_SUBSCRIBERS);
    process->is_subscribed = true;
    process->callback = callback;
    process->user = user;
    *subscriber = process;
    RETURN(OK);
}
EXPORT int cuptiUnsubscribe(void *subscriber)
{
    struct collector *collector = subscriber;
    lock_cupti("cuptiUnsubscribe", INSIDE_API_CALLBACK);
    collector->is_subscribed = false;
    collector->callback = NULL;
    for (uint32_t i = 0; i < 4 * CALLBACKS; i++)
        collector->is_callback[i / CALLBACKS][i % CALLBACKS] = false;
    for (uint32_t kind = 0; kind < KINDS && collector != process; kind++)
        collector->is_enabled[kind] = false;
    RETURN(OK);
}
EXPORT int cuptiEnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
    struct collector *collector = subscriber;
    if (domain > 3 || id >= CALLBACKS)
        return INVALID_PARAMETER;
    collector->is_callback[domain][id] = on != 0;
    return OK;
}
EXPORT int cuptiActivityRegisterCallbacks(request_fn request, complete_fn complete)
{
    if (refused("register"))
        return refused("register");
    GLOBAL_CALL("cuptiActivityRegisterCallbacks", INSIDE_API_CALLBACK)
    process->request = request;
    process->complete = complete;
    RETURN(OK);
}
EXPORT int cuptiActivityRegisterTimestampCallback(timestamp_fn callback)
{
    if (callback == NULL)
        return INVALID_PARAMETER;
    if (setting_is("SIMULATED_CUPTI_CLOCK", "realtime"))
        return NOT_SUPPORTED;
    process->timestamp = callback;
    return OK;
}
EXPORT int cuptiSetThreadIdType(uint32_t type)
{
    process->has_system_tids = type == 1;
    return OK;
}
EXPORT int cuptiGetThreadIdType(uint32_t *type)
{
    *type = process->has_system_tids;
    return OK;
}
/* Handles are their ids. */
EXPORT int cuptiGetContextId(void *context, uint32_t *id)
{
    *id = (uint32_t)(uintptr_t)context;
    return context ? OK : INVALID_PARAMETER;
}
EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t is_per_thread, uint32_t *id)
{
    (void)context, (void)is_per_thread;
    *id = stream ? (uint32_t)(uintptr_t)stream : NULL_STREAM;
    return OK;
}
EXPORT int cuptiActivityFlushPeriod(uint32_t ms)
{
    (void)ms;
    return OK;
}

static int enable(uint32_t kind, bool is_dumping)
{
    char call[16];
    snprintf(call, sizeof call, "enable%u", kind);
    if (refused("enable") || refused(call))
        return refused("enable") ? refused("enable") : refused(call);
    if (kind >= KINDS)
        return INVALID_KIND;
    GLOBAL_CALL("cuptiActivityEnable", INSIDE_API_CALLBACK)
    process->is_enabled[kind] = true;
    if (is_dumping)
        dump_existing(process, kind);
    RETURN(OK);
}
EXPORT int cuptiActivityEnable(uint32_t kind) { return enable(kind, false); }
EXPORT int cuptiActivityEnableAndDump(uint32_t kind) { return enable(kind, true); }
EXPORT int cuptiActivityDisable(uint32_t kind)
{
    long ms = setting("SIMULATED_CUPTI_DISABLE_MS", 0);
    GLOBAL_CALL("cuptiActivityDisable", INSIDE_API_CALLBACK)
    if (kind < KINDS)
        process->is_enabled[kind] = false;
    unlock_cupti();
    if (ms)
        usleep(1000u * (unsigned)ms);
    return OK;
}
EXPORT int cuptiActivityFlushAll(uint32_t flag)
{
    lock_cupti("cuptiActivityFlushAll", INSIDE_API_CALLBACK);
    for (size_t i = 0; i < COLLECTORS; i++)
        if (i == 0 || collectors[i].is_subscribed)
            deliver(&collectors[i], flag == 1, false);
    RETURN(OK);
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
        return MAX_LIMIT_REACHED;
    memcpy(&kind, next, 4);
    if (size_of(kind) == 0)
        return INVALID_KIND;
    *record = next;
    return OK;
}
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
    (void)context, (void)stream;
    *dropped = (size_t)setting("SIMULATED_CUPTI_DROP", 0) + atomic_exchange(&process->dropped, 0);
    return OK;
}
EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    static const struct {
        uint32_t domain, id;
        const char *name;
    } names[] = {
        {2, 211, "cudaLaunchKernel_v7000"}, {2, 41, "cudaMemcpyAsync_v3020"},
        {2, 51, "cudaMemsetAsync_v3020"},   {2, 131, "cudaStreamSynchronize_v3020"},
        {2, 311, "cudaGraphLaunch_v10000"}, {2, 17, "cudaGetDevice_v3020"},
        {2, 16, "cudaSetDevice_v3020"},     {2, 20, "cudaMalloc_v3020"},
        {1, 307, "cuLaunchKernel"},         {1, 322, "cuCtxDestroy_v2"},
    };
    *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].domain == domain && names[i].id == id)
            *name = names[i].name;
    return *name ? OK : INVALID_PARAMETER;
}

EXPORT int simulated_is_enabled(uint32_t kind)
{
    for (size_t i = 0; i < COLLECTORS; i++)
        if (kind < KINDS && collectors[i].is_enabled[kind])
            return 1;
    return 0;
}
EXPORT int simulated_is_subscribed(void) { return process->is_subscribed; }
