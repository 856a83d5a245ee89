/* Slots in buffers. A launch reserves the slot of its record, and the record gets its times when the work has ended.
 * A buffer leaves when all its records are complete; a forced flush hands it out with zeros in the times of the others,
 * whose later ends are lost. */
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>

#include "simulation.h"

#define WORKER_NS 2000000

struct slot {
    size_t offset;
    uint32_t start_at;
    uint64_t start_ns, end_ns;
};
struct buffer {
    struct buffer *next;
    uint8_t *data;
    size_t size, used, most_records, records, pending_count;
    struct slot *pending;
    bool is_full;
};

static pthread_mutex_t records_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t worker_once = PTHREAD_ONCE_INIT;

static void *work_forever(void *unused)
{
    (void)unused;
    for (;;) {
        struct timespec pause = {0, WORKER_NS};
        nanosleep(&pause, NULL);
        for (size_t i = 0; i < COLLECTORS; i++)
            deliver(&collectors[i], false, true);
    }
    return NULL;
}

static void start_worker(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work_forever, NULL);
    pthread_setname_np(thread, "simulated-cupti");
    pthread_detach(thread);
}

static struct buffer *request_buffer(struct collector *collector)
{
    struct buffer *buffer = calloc(1, sizeof *buffer);
    enum inside before = inside;
    inside = INSIDE_BUFFER_CALLBACK;
    request_fn request = collector->request;
    request_v2_fn request_v2 = collector->request_v2;
    if (request_v2 != NULL) {
        size_t info = sizeof info;
        request_v2(&buffer->data, &buffer->size, &buffer->most_records, &info);
    } else if (request != NULL) {
        request(&buffer->data, &buffer->size, &buffer->most_records);
    }
    inside = before;
    if (buffer->data == NULL) {
        free(buffer);
        if (api_version() < 27 && (collector->request != NULL || collector->request_v2 != NULL)) {
            fputs("simulated CUPTI: a refused buffer crashes this version\n", stderr);
            abort();
        }
        return NULL;
    }
    return buffer;
}

/* Where the next record goes. Where SIMULATED_CUPTI_SHUFFLE is set, two buffers are open at once: the call and the
 * kernel of one launch then lie in different ones. */
static struct buffer *open_buffer(struct collector *collector, size_t size)
{
    static unsigned turn;
    unsigned wanted = getenv("SIMULATED_CUPTI_SHUFFLE") ? turn++ % 2 : 0, seen = 0;
    struct buffer **place = &collector->buffers;
    for (; *place != NULL; place = &(*place)->next) {
        struct buffer *buffer = *place;
        if (buffer->is_full)
            continue;
        if (buffer->used + size > buffer->size || (buffer->most_records && buffer->records == buffer->most_records)) {
            buffer->is_full = true;
            pthread_once(&worker_once, start_worker);
        } else if (seen++ == wanted) {
            return buffer;
        }
    }
    return *place = request_buffer(collector);
}

/* A collector's clock minus CLOCK_MONOTONIC, from two readings that nothing came between. */
static uint64_t clock_offset(const struct collector *collector, bool is_of_gpu)
{
    for (;;) {
        uint64_t before = clock_ns(CLOCK_MONOTONIC);
        bool is_real = is_of_gpu && setting_is("SIMULATED_CUPTI_CLOCK", "device");
        uint64_t time = is_real ? clock_ns(CLOCK_REALTIME) : host_now(collector);
        if (clock_ns(CLOCK_MONOTONIC) - before < 2000)
            return time - before;
    }
}

void submit_to(struct collector *collector, struct work work)
{
    uint32_t kind;
    memcpy(&kind, work.record, sizeof kind);
    size_t size = size_of(kind);
    pthread_mutex_lock(&records_lock);
    struct buffer *buffer = open_buffer(collector, size);
    if (buffer == NULL) {
        collector->dropped++;
    } else {
        uint8_t *record = buffer->data + buffer->used;
        memcpy(record, work.record, size);
        if (work.thread_at != 0)
            PUT(record, work.thread_at, uint32_t, thread_id(collector));
        if (work.is_of_host) {
            uint64_t offset = clock_offset(collector, false);
            PUT(record, work.start_at, uint64_t, work.start_ns + offset);
            if (work.end_ns != 0)
                PUT(record, work.start_at + 8, uint64_t, work.end_ns + offset);
        } else if (work.start_at != 0) {
            memset(record + work.start_at, 0, 16);
            buffer->pending = realloc(buffer->pending, (buffer->pending_count + 1) * sizeof *buffer->pending);
            buffer->pending[buffer->pending_count++] = (struct slot){
                buffer->used,
                work.start_at,
                work.start_ns,
                work.end_ns,
            };
        }
        buffer->used += size;
        buffer->records++;
    }
    pthread_mutex_unlock(&records_lock);
}

void submit(struct work work)
{
    uint32_t kind;
    memcpy(&kind, work.record, sizeof kind);
    for (size_t i = 0; i < COLLECTORS; i++)
        if (collectors[i].is_enabled[kind])
            submit_to(&collectors[i], work);
}

/* The GPU's times are converted when the record is completed, by the clock that is registered then. */
static void complete_records(const struct collector *collector, struct buffer *buffer)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC), kept = 0;
    uint64_t offset = buffer->pending_count ? clock_offset(collector, true) : 0;
    long error = setting("SIMULATED_CUPTI_CLOCK_ERROR_NS", 0), drift = setting("SIMULATED_CUPTI_DRIFT_PPM", 0);
    static uint64_t epoch;
    epoch = epoch ? epoch : now;
    for (size_t i = 0; i < buffer->pending_count; i++) {
        struct slot slot = buffer->pending[i];
        if (slot.end_ns > now) {
            buffer->pending[kept++] = slot;
            continue;
        }
        int64_t wrong = error + (int64_t)(slot.start_ns - epoch) * drift / 1000000;
        uint64_t start = offset + slot.start_ns + (uint64_t)wrong;
        PUT(buffer->data, slot.offset + slot.start_at, uint64_t, start);
        PUT(buffer->data, slot.offset + slot.start_at + 8, uint64_t, start + (slot.end_ns - slot.start_ns));
    }
    buffer->pending_count = kept;
}

static void reverse_records(uint8_t *data, size_t used)
{
    uint8_t *copy = malloc(used + 1);
    size_t offset = used;
    memcpy(copy, data, used);
    for (uint8_t *from = copy; from < copy + used;) {
        uint32_t kind;
        memcpy(&kind, from, sizeof kind);
        offset -= size_of(kind);
        memcpy(data + offset, from, size_of(kind));
        from += size_of(kind);
    }
    free(copy);
}

static void hand_out(struct collector *collector, struct buffer *buffer)
{
    enum inside before = inside;
    if (getenv("SIMULATED_CUPTI_SHUFFLE"))
        reverse_records(buffer->data, buffer->used);
    inside = INSIDE_BUFFER_CALLBACK;
    complete_fn complete = collector->complete;
    complete_v2_fn complete_v2 = collector->complete_v2;
    if (complete_v2 != NULL) {
        struct {
            size_t size;
            uint64_t thread;
            void *layouts;
            size_t layout_count;
        } info = {sizeof info, 0, NULL, 0};
        complete_v2(buffer->data, buffer->size, buffer->used, &info);
    } else if (complete != NULL) {
        complete(NULL, 0, buffer->data, buffer->size, buffer->used);
    }
    inside = before;
    free(buffer->pending);
    free(buffer);
}

void deliver(struct collector *collector, bool is_forced, bool is_full_only)
{
    struct buffer *ready = NULL, **last = &ready, **place = &collector->buffers;
    size_t records = 0;
    pthread_mutex_lock(&records_lock);
    while (*place != NULL) {
        struct buffer *buffer = *place;
        complete_records(collector, buffer);
        if ((is_full_only && !buffer->is_full) || (buffer->pending_count > 0 && !is_forced)) {
            place = &buffer->next;
            continue;
        }
        *place = buffer->next;
        buffer->next = NULL;
        if (getenv("SIMULATED_CUPTI_SHUFFLE")) { /* the newest first */
            buffer->next = ready;
            ready = buffer;
        } else {
            *last = buffer;
            last = &buffer->next;
        }
        records += buffer->records;
    }
    pthread_mutex_unlock(&records_lock);
    if (ready != NULL || !is_full_only)
        log_flush(is_full_only ? 9 : is_forced, records);
    while (ready != NULL) {
        struct buffer *buffer = ready;
        ready = buffer->next;
        hand_out(collector, buffer);
    }
}
