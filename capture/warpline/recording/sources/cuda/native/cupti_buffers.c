/* The buffers that CUPTI writes its records into. Those that were read are reused. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cupti_internal.h"
#include "cupti_sharing.h"
#include "spool.h"

/* A flush hands out no buffer that holds a record of unfinished work, so an abrupt end loses whole buffers. */
#ifndef BUFFER_BYTES
#define BUFFER_BYTES (128u << 10)
#endif
#define KEPT_BUFFERS 128
#define MOST_GIVEN 4096
#define RAW_BYTES (4 << 20)

static _Atomic pid_t owner;
static _Atomic uint64_t dropped_total, unread_total;

static uint8_t *kept[KEPT_BUFFERS];
static uint32_t kept_count;
/* What CUPTI has: it may return buffers that another profiler gave it. */
static uint8_t *given[MOST_GIVEN];
static uint32_t given_count, unlisted_count;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER; /* of the above */
static _Atomic bool has_foreign_buffers;

/* Given to CUPTI when memory runs out, because some versions crash on a refusal. It may be given twice at once, so its
 * records are discarded. */
static uint8_t *emergency_buffer;

static uint8_t *map_buffer(void)
{
    void *memory = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED ? memory : NULL;
}

static void request_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    *buffer = NULL;
    *size = BUFFER_BYTES;
    *max_records = 0;
    pthread_mutex_lock(&kept_lock);
    *buffer = kept_count > 0 ? kept[--kept_count] : map_buffer();
    if (*buffer != NULL && given_count < MOST_GIVEN)
        given[given_count++] = *buffer;
    else if (*buffer != NULL)
        unlisted_count++;
    pthread_mutex_unlock(&kept_lock);
    if (*buffer == NULL)
        *buffer = emergency_buffer;
    if (*buffer == NULL)
        *size = 0;
}

/* Whether the buffer is one of ours, which CUPTI no longer has now. */
static bool take_back(const uint8_t *buffer)
{
    bool is_ours = false;
    pthread_mutex_lock(&kept_lock);
    for (uint32_t i = 0; i < given_count && !is_ours; i++)
        if (given[i] == buffer) {
            given[i] = given[--given_count];
            is_ours = true;
        }
    if (!is_ours && unlisted_count > 0) {
        unlisted_count--;
        is_ours = true;
    }
    pthread_mutex_unlock(&kept_lock);
    return is_ours;
}

static void keep_buffer(uint8_t *buffer)
{
    pthread_mutex_lock(&kept_lock);
    bool is_kept = kept_count < KEPT_BUFFERS;
    if (is_kept)
        kept[kept_count++] = buffer;
    pthread_mutex_unlock(&kept_lock);
    if (!is_kept)
        munmap(buffer, BUFFER_BYTES);
}

/* WARPLINE_CUPTI_RAW names a file that gets the first buffers as CUPTI gave them, each after its size (u64): what a
 * real GPU wrote, for tests on machines without one. */
static char raw_path[512];
static _Atomic int raw_left;

static void keep_raw(void)
{
    const char *raw = getenv("WARPLINE_CUPTI_RAW");
    if (raw != NULL && raw[0] != 0 && strlen(raw) < sizeof raw_path) {
        strcpy(raw_path, raw);
        atomic_store(&raw_left, RAW_BYTES);
    }
}

static void save_raw(const uint8_t *buffer, size_t size)
{
    uint64_t length = size;
    if (atomic_fetch_sub(&raw_left, (int)size) < (int)size)
        return;
    int file = open(raw_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    if (write(file, &length, sizeof length) != (ssize_t)sizeof length || write(file, buffer, size) != (ssize_t)size)
        atomic_store(&raw_left, 0);
    close(file);
}

void cupti_count_lost(uint64_t count, uint32_t kind, uint32_t cause)
{
    struct writer *writer = wl_writer();
    struct record_cupti_dropped *record = writer ? WL_RESERVE(writer, SLOT_CUPTI_DROPPED, record_cupti_dropped) : NULL;
    if (record != NULL) {
        *record = (struct record_cupti_dropped){wl_now(writer), count, kind, cause};
        WL_COMMIT(writer, SLOT_CUPTI_DROPPED, record_cupti_dropped);
    }
    atomic_fetch_add_explicit(&dropped_total, count, memory_order_relaxed);
    if (cause != CUPTI_LOST_UNFINISHED)
        atomic_fetch_add_explicit(&unread_total, count, memory_order_relaxed);
}

static void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size)
{
    bool is_emergency = buffer == emergency_buffer;
    bool is_ours = buffer != NULL && !is_emergency && take_back(buffer);
    (void)size;
    if (buffer != NULL && !is_emergency && !is_ours) {
        atomic_store(&has_foreign_buffers, true);
        sharing_note_stranger();
    }
    if (getpid() == owner) {
        size_t dropped = 0;
        if (valid_size > 0 && UNLIKELY(atomic_load_explicit(&raw_left, memory_order_relaxed) > 0))
            save_raw(buffer, valid_size);
        if (valid_size > 0 && !is_emergency)
            cupti_write_records(buffer, valid_size);
        else if (valid_size > 0)
            cupti_count_lost(cupti_count_records(buffer, valid_size), 0, CUPTI_LOST_NO_MEMORY);
        if (cupti.dropped_records(context, stream, &dropped) == CUPTI_OK && dropped > 0)
            cupti_count_lost(dropped, 0, CUPTI_LOST_NO_ROOM);
    }
    if (is_ours)
        keep_buffer(buffer);
}

int cupti_register_buffers(void)
{
    owner = getpid();
    keep_raw();
    if (emergency_buffer == NULL)
        emergency_buffer = map_buffer();
    return cupti.register_callbacks(request_buffer, complete_buffer);
}

bool cupti_has_foreign_buffers(void) { return atomic_load(&has_foreign_buffers); }
uint64_t cupti_dropped(void) { return atomic_load(&dropped_total); }
uint64_t cupti_unread(void) { return atomic_load(&unread_total); }
