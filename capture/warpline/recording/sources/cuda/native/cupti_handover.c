/* Records are written into buffers of Warpline. Those that the program's profiler has asked for are copied into buffers
 * of its own, with times of its clock. */
#define _GNU_SOURCE
#include "cupti_handover.h"

#include <stdlib.h>
#include <string.h>

#include "cupti_clocks.h"
#include "cupti_family.h"
#include "cupti_internal.h"
#include "cupti_watch.h"

#define BUFFERS_OF_PROGRAM 256

static uint8_t *_Atomic buffers_of_program[BUFFERS_OF_PROGRAM]; /* those that CUPTI has */
static _Atomic int buffers_out;
static _Atomic uint64_t refused;
static _Atomic(const struct buffer_callbacks *) last_of_warpline;

uint64_t sharing_refused(void) { return atomic_load(&refused); }

int handover_buffers_out(void) { return atomic_load(&buffers_out); }

/* Learns which launches came after a stop, before any record is judged: a launch's work may lie before its call. */
static void note_launches(uint8_t *buffer, size_t valid_size, const struct clocks *clocks)
{
    void *record = NULL;
    while (family_next_record(buffer, valid_size, &record) == CUPTI_OK) {
        const struct activity_api *call = record;
        if (call->kind != ACTIVITY_DRIVER && call->kind != ACTIVITY_RUNTIME)
            continue;
        uint64_t start = clocks_start(clocks, record);
        for (struct user *user = users; user < users + USERS; user++)
            if (start >= atomic_load_explicit(&user->stopped_ns, memory_order_relaxed) &&
                call->correlation < atomic_load_explicit(&user->launched_later, memory_order_relaxed))
                atomic_store_explicit(&user->launched_later, call->correlation, memory_order_relaxed);
    }
}

static bool note_buffer_of_program(uint8_t *buffer, bool is_taken)
{
    for (int i = 0; i < BUFFERS_OF_PROGRAM; i++) {
        uint8_t *expected = is_taken ? NULL : buffer;
        if (atomic_compare_exchange_strong(&buffers_of_program[i], &expected, is_taken ? buffer : NULL))
            return true;
    }
    return false;
}

void handover_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    const struct buffer_callbacks *ours = atomic_load(&users[WARPLINE].buffers);
    const struct buffer_callbacks *theirs = atomic_load(&users[PROGRAM].buffers);
    *buffer = NULL;
    *size = *max_records = 0;
    if (ours == NULL && theirs == NULL) /* a profiler whose calls are unseen goes on after Warpline has left */
        ours = atomic_load(&last_of_warpline);
    if (ours != NULL)
        ours->request(buffer, size, max_records);
    else if (theirs != NULL) {
        theirs->request(buffer, size, max_records);
        if (*buffer != NULL && !note_buffer_of_program(*buffer, true)) {
            theirs->complete(NULL, 0, *buffer, *size, 0);
            *buffer = NULL;
        }
    }
    if (*buffer != NULL)
        atomic_fetch_add(&buffers_out, 1);
}

/* A buffer of the program that is being filled with copies. */
struct handover {
    const struct buffer_callbacks *to;
    uint8_t *buffer;
    size_t size, used, most_records, records;
};

static void end_buffer(struct handover *handover)
{
    if (handover->buffer != NULL)
        handover->to->complete(NULL, 0, handover->buffer, handover->size, handover->used);
    handover->buffer = NULL;
}

static void hand_over_record(struct handover *handover, const struct clocks *clocks, const void *record, size_t bytes)
{
    if (handover->buffer != NULL && (handover->used + bytes > handover->size ||
                                     (handover->most_records && handover->records == handover->most_records)))
        end_buffer(handover);
    if (handover->buffer == NULL) {
        handover->size = handover->used = handover->most_records = handover->records = 0;
        handover->to->request(&handover->buffer, &handover->size, &handover->most_records);
        if (handover->buffer == NULL || bytes > handover->size) {
            atomic_fetch_add(&refused, 1);
            end_buffer(handover);
            return;
        }
    }
    void *copy = memcpy(handover->buffer + handover->used, record, bytes);
    clocks_convert(clocks, copy, PROGRAM);
    handover->used += bytes;
    handover->records++;
}

/* Copies what the program has asked for. */
static void hand_over(uint8_t *buffer, size_t valid_size)
{
    struct handover handover = {.to = atomic_load(&users[PROGRAM].buffers)};
    struct clocks clocks = clocks_read();
    void *record = NULL, *next = NULL;
    if (!sharing_has_program())
        return;
    note_launches(buffer, valid_size, &clocks);
    if (handover.to == NULL)
        return;
    int result = family_next_record(buffer, valid_size, &next);
    while (result == CUPTI_OK) {
        record = next;
        result = family_next_record(buffer, valid_size, &next);
        uint8_t *end = result == CUPTI_OK ? next : buffer + valid_size;
        if (sharing_is_for(PROGRAM, &clocks, record) && !watch_is_own(record))
            hand_over_record(&handover, &clocks, record, (size_t)(end - (uint8_t *)record));
    }
    end_buffer(&handover);
}

/* A buffer that the program gave before Warpline began: it gets the buffer itself. */
static void return_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size)
{
    const struct buffer_callbacks *theirs = atomic_load(&users[PROGRAM].buffers);
    struct clocks clocks = clocks_read();
    void *record = NULL;
    if (atomic_load(&users[WARPLINE].buffers) != NULL) {
        uint8_t *copy = valid_size > 0 ? malloc(valid_size) : NULL;
        if (copy != NULL) {
            memcpy(copy, buffer, valid_size);
            while (family_next_record(copy, valid_size, &record) == CUPTI_OK)
                clocks_convert(&clocks, record, WARPLINE);
            cupti_write_records(copy, valid_size);
            free(copy);
        }
        record = NULL;
        while (family_next_record(buffer, valid_size, &record) == CUPTI_OK)
            clocks_convert(&clocks, record, PROGRAM);
    }
    if (theirs != NULL)
        theirs->complete(context, stream, buffer, size, valid_size);
}

void handover_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size)
{
    const struct buffer_callbacks *ours = atomic_load(&users[WARPLINE].buffers);
    if (ours == NULL) /* requested before Warpline left, or when nobody else was there */
        ours = atomic_load(&last_of_warpline);
    if (buffer != NULL)
        atomic_fetch_sub(&buffers_out, 1);
    if (buffer != NULL && note_buffer_of_program(buffer, false)) {
        return_buffer(context, stream, buffer, size, valid_size);
    } else {
        if (valid_size > 0)
            hand_over(buffer, valid_size);
        if (ours != NULL)
            ours->complete(context, stream, buffer, size, valid_size);
    }
}

int sharing_register_callbacks(enum cupti_user user, cupti_request request, cupti_complete complete)
{
    if (request == NULL || complete == NULL)
        return family_register_callbacks(request, complete);
    /* Never freed: another thread may be in the midst of using the previous ones. */
    struct buffer_callbacks *callbacks = malloc(sizeof *callbacks);
    if (callbacks == NULL)
        return CUPTI_OUT_OF_MEMORY;
    *callbacks = (struct buffer_callbacks){request, complete};
    int result = family_register_callbacks(handover_request, handover_complete);
    if (result == CUPTI_OK)
        atomic_store(&users[user].buffers, callbacks);
    if (result == CUPTI_OK && user == WARPLINE)
        atomic_store(&last_of_warpline, callbacks);
    return result;
}
