/* Writes NVTX's ranges, marks, domains and names to the spool, for every variant in nvtx.c. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "nvtx_ranges.h"
#include "sandbox.h"
#include "spool_internal.h"

#define MAX_DOMAINS 65535u

/* The default domain has id 0. Handles point into chunks that never move. */
static struct nvtx_domain default_domain;
static struct nvtx_domain *domains[MAX_DOMAINS / 256 + 1];
static uint32_t domain_count = 1;
static _Atomic uint64_t last_range;

static struct {
    bool is_set;
    uint32_t name;
    /* The range that opened the capture; its pop ends it. */
    _Atomic uint64_t owner; /* writer serial << 32 | domain << 16 | level, or the id of a started range; 0: none */
    _Atomic bool is_started_range;
} capture;

void nvtx_read_capture_range(void)
{
    const char *value = getenv("WARPLINE_CAPTURE_RANGE");
    if (value != NULL && strncmp(value, "nvtx:", 5) == 0 && value[5] != 0) {
        capture.name = wl_intern(value + 5, strlen(value + 5));
        capture.is_set = capture.name != 0;
    }
}

static struct open_ranges *add_domains(struct writer *writer, uint32_t domain)
{
    uint32_t larger = domain + 8;
    struct open_ranges *domains_of_thread = wl_reallocate(
        writer->domains, writer->domain_count * sizeof *domains_of_thread, larger * sizeof *domains_of_thread);
    if (domains_of_thread == NULL)
        return NULL;
    for (uint32_t i = writer->domain_count; i < larger; i++)
        domains_of_thread[i] = (struct open_ranges){0, NVTX_LEVEL_UNBALANCED, 0};
    writer->domains = domains_of_thread;
    writer->domain_count = larger;
    return &domains_of_thread[domain];
}

static inline struct open_ranges *open_ranges(struct writer *writer, uint32_t domain)
{
    if (UNLIKELY(writer == NULL))
        return NULL;
    return LIKELY(domain < writer->domain_count) ? &writer->domains[domain] : add_domains(writer, domain);
}

static void write_popped_unseen(struct writer *writer, struct open_ranges *open, uint32_t domain)
{
    struct record_nvtx_range *record = WL_RESERVE(writer, SLOT_NVTX_RANGE, record_nvtx_range);
    if (record != NULL) {
        *record = (struct record_nvtx_range){open->lost_ns, NVTX_POPPED_UNSEEN, (uint16_t)domain,
                                             (uint16_t)open->lost_level};
        WL_COMMIT(writer, SLOT_NVTX_RANGE, record_nvtx_range);
    }
    open->lost_level = NVTX_LEVEL_UNBALANCED;
}

static uint32_t message_of(const struct nvtx_event_attributes *event)
{
    if (event == NULL || event->message.ascii == NULL)
        return 0;
    switch (event->message_type) {
    case NVTX_MESSAGE_ASCII: return wl_intern_text(event->message.ascii);
    case NVTX_MESSAGE_UNICODE: return wl_intern_wide(event->message.unicode);
    case NVTX_MESSAGE_REGISTERED: return (uint32_t)((uintptr_t)event->message.registered >> 1);
    default: return 0;
    }
}

static struct nvtx_attributes attributes_of(const struct nvtx_event_attributes *event)
{
    struct nvtx_attributes to = {0};
    if (event == NULL)
        return to;
    to.category = event->category;
    if (event->color_type == NVTX_COLOR_ARGB)
        to.color_argb = event->color;
    to.payload = event->payload_type ? event->payload : 0;
    to.payload_type = (uint32_t)event->payload_type;
    to.flags = (event->color_type == NVTX_COLOR_ARGB ? NVTX_HAS_COLOR : 0u) |
               (event->category ? NVTX_HAS_CATEGORY : 0u);
    return to;
}

static inline bool has_attributes(const struct nvtx_event_attributes *event)
{
    return event->category || event->color_type || event->payload_type;
}

/* Capture ranges: a range with this name starts the recording, its end stops it. */
static void capture_begins(uint32_t name, uint64_t owner, bool is_started_range)
{
    uint64_t none = 0;
    if (name == capture.name && atomic_compare_exchange_strong(&capture.owner, &none, owner)) {
        atomic_store(&capture.is_started_range, is_started_range);
        wl_capture_range(true);
    }
}

static void capture_ends(uint64_t owner, bool is_started_range)
{
    if (atomic_load(&capture.is_started_range) == is_started_range &&
        atomic_compare_exchange_strong(&capture.owner, &owner, 0))
        wl_capture_range(false);
}

static inline uint64_t owner_of(const struct writer *writer, uint32_t domain, uint32_t level)
{
    return (uint64_t)writer->serial << 32 | (uint64_t)(domain & 0xffff) << 16 | (level & 0xffff);
}

int nvtx_push(uint32_t domain, const char *ascii, const wchar_t *wide, const struct nvtx_event_attributes *event)
{
    struct writer *writer = wl_writer();
    struct open_ranges *open = open_ranges(writer, domain);
    if (open == NULL)
        return NVTX_NO_PUSH_POP_TRACKING;
    uint32_t level = open->depth++;
    bool is_recording = wl_is_recording(SOURCE_NVTX);
    if (!is_recording && !capture.is_set)
        return (int)level;
    uint32_t name = ascii ? wl_intern_text(ascii) : wide ? wl_intern_wide(wide) : message_of(event);
    if (UNLIKELY(capture.is_set)) {
        capture_begins(name, owner_of(writer, domain, level), false);
        is_recording = wl_is_recording(SOURCE_NVTX);
    }
    if (!is_recording)
        return (int)level;
    if (UNLIKELY(open->lost_level != NVTX_LEVEL_UNBALANCED))
        write_popped_unseen(writer, open, domain);
    if (UNLIKELY(level >= NVTX_LEVEL_UNBALANCED)) {
        wl_count_lost(1);
    } else if (event == NULL || !has_attributes(event)) {
        struct record_nvtx_range *record = WL_RESERVE(writer, SLOT_NVTX_RANGE, record_nvtx_range);
        if (LIKELY(record != NULL)) {
            record->name = name;
            record->domain = (uint16_t)domain;
            record->level = (uint16_t)level;
            record->time_ns = wl_now(writer); /* read last: our own work is not part of the range */
            WL_COMMIT(writer, SLOT_NVTX_RANGE, record_nvtx_range);
        }
    } else {
        struct record_nvtx_range_attributes *record = WL_RESERVE(writer, SLOT_NVTX_RANGE_ATTRIBUTES,
                                                                 record_nvtx_range_attributes);
        if (LIKELY(record != NULL)) {
            record->name = name;
            record->domain = (uint16_t)domain;
            record->level = (uint16_t)level;
            record->attributes = attributes_of(event);
            record->time_ns = wl_now(writer);
            WL_COMMIT(writer, SLOT_NVTX_RANGE_ATTRIBUTES, record_nvtx_range_attributes);
        }
    }
    return (int)level;
}

int nvtx_pop(uint32_t domain)
{
    struct writer *writer = wl_writer();
    struct open_ranges *open = open_ranges(writer, domain);
    if (open == NULL)
        return NVTX_NO_PUSH_POP_TRACKING;
    bool is_unbalanced = open->depth == 0;
    uint32_t level = is_unbalanced ? NVTX_LEVEL_UNBALANCED : --open->depth;
    if (LIKELY(wl_is_recording(SOURCE_NVTX))) {
        uint64_t now = wl_now(writer);
        if (UNLIKELY(open->lost_level != NVTX_LEVEL_UNBALANCED))
            write_popped_unseen(writer, open, domain);
        struct record_nvtx_range *record = NULL;
        if (UNLIKELY(level >= NVTX_LEVEL_UNBALANCED && !is_unbalanced))
            wl_count_lost(1);
        else
            record = WL_RESERVE(writer, SLOT_NVTX_RANGE, record_nvtx_range);
        if (LIKELY(record != NULL)) {
            record->time_ns = now;
            record->name = NVTX_POP;
            record->domain = (uint16_t)domain;
            record->level = (uint16_t)level;
            WL_COMMIT(writer, SLOT_NVTX_RANGE, record_nvtx_range);
        }
    } else if (level < open->lost_level) {
        open->lost_level = level;
        open->lost_ns = wl_now(writer);
    }
    if (UNLIKELY(capture.is_set) && !is_unbalanced)
        capture_ends(owner_of(writer, domain, level), false);
    return is_unbalanced ? -1 : (int)level;
}

uint64_t nvtx_start(uint32_t domain, const char *ascii, const wchar_t *wide, const struct nvtx_event_attributes *event)
{
    struct writer *writer = wl_writer();
    uint64_t range = atomic_fetch_add_explicit(&last_range, 1, memory_order_relaxed) + 1;
    bool is_recording = wl_is_recording(SOURCE_NVTX);
    if (writer == NULL || (!is_recording && !capture.is_set))
        return range;
    uint32_t name = ascii ? wl_intern_text(ascii) : wide ? wl_intern_wide(wide) : message_of(event);
    if (UNLIKELY(capture.is_set)) {
        capture_begins(name, range, true);
        is_recording = wl_is_recording(SOURCE_NVTX);
    }
    struct record_nvtx_start *record = is_recording ? WL_RESERVE(writer, SLOT_NVTX_START, record_nvtx_start) : NULL;
    if (record != NULL) {
        record->range = range;
        record->name = name;
        record->domain = (uint16_t)domain;
        record->reserved = 0;
        record->attributes = attributes_of(event);
        record->time_ns = wl_now(writer);
        WL_COMMIT(writer, SLOT_NVTX_START, record_nvtx_start);
    }
    return range;
}

void nvtx_end(uint64_t range)
{
    struct writer *writer = wl_writer();
    if (writer == NULL)
        return;
    if (wl_is_recording(SOURCE_NVTX)) {
        uint64_t now = wl_now(writer);
        struct record_nvtx_end *record = WL_RESERVE(writer, SLOT_NVTX_END, record_nvtx_end);
        if (record != NULL) {
            record->time_ns = now;
            record->range = range;
            WL_COMMIT(writer, SLOT_NVTX_END, record_nvtx_end);
        }
    }
    if (UNLIKELY(capture.is_set))
        capture_ends(range, true);
}

void nvtx_mark(uint32_t domain, const char *ascii, const wchar_t *wide, const struct nvtx_event_attributes *event)
{
    if (!wl_is_recording(SOURCE_NVTX))
        return;
    struct writer *writer = wl_writer();
    if (writer == NULL)
        return;
    uint64_t now = wl_now(writer);
    uint32_t name = ascii ? wl_intern_text(ascii) : wide ? wl_intern_wide(wide) : message_of(event);
    struct record_nvtx_range_attributes *record = WL_RESERVE(writer, SLOT_NVTX_MARK, record_nvtx_range_attributes);
    if (record != NULL) {
        record->time_ns = now;
        record->name = name;
        record->domain = (uint16_t)domain;
        record->level = 0;
        record->attributes = attributes_of(event);
        WL_COMMIT(writer, SLOT_NVTX_MARK, record_nvtx_range_attributes);
    }
}

void nvtx_name_category(uint32_t domain, uint32_t category, uint32_t name)
{
    struct record_nvtx_category record = {domain, category, name, 0};
    wl_define(SLOT_NVTX_CATEGORY, &record, sizeof record);
}

void nvtx_name_thread(uint32_t tid, uint32_t name)
{
    struct writer *writer = wl_writer();
    struct record_nvtx_thread_name *record = writer ? WL_RESERVE(writer, SLOT_NVTX_THREAD_NAME, record_nvtx_thread_name)
                                                    : NULL;
    if (record != NULL) {
        record->tid = tid;
        record->name = name;
        WL_COMMIT(writer, SLOT_NVTX_THREAD_NAME, record_nvtx_thread_name);
    }
}

/* One domain per name, whichever shared object asks. */
const struct nvtx_domain *nvtx_create_domain(uint32_t name)
{
    const struct nvtx_domain *found = NULL;
    bool is_new = false;
    spool_lock();
    for (uint32_t i = 1; i < domain_count && found == NULL; i++)
        if (domains[i / 256][i % 256].name == name)
            found = &domains[i / 256][i % 256];
    if (found == NULL && domain_count < MAX_DOMAINS) {
        uint32_t i = domain_count;
        if (domains[i / 256] == NULL)
            domains[i / 256] = wl_allocate(256 * sizeof(struct nvtx_domain));
        if (domains[i / 256] != NULL) {
            domains[i / 256][i % 256] = (struct nvtx_domain){i, name};
            found = &domains[i / 256][i % 256];
            domain_count++;
            is_new = true;
        }
    }
    spool_unlock();
    if (is_new) {
        struct record_nvtx_domain record = {found->id, name};
        wl_define(SLOT_NVTX_DOMAIN, &record, sizeof record);
    }
    return found != NULL ? found : &default_domain;
}
