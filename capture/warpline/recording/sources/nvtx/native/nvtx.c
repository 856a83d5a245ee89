/* NVTX: what a program says about itself, through NVTX_INJECTION64_PATH. Needs no GPU.
 *
 * InitializeInjectionNvtx2 is called once for each shared object that contains NVTX, so everything here is shared
 * and idempotent. warpline.annotate uses the same records through the warpline_* functions at the end. */
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cupti_internal.h"
#include "nvtx_abi.h"
#include "spool_internal.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_DOMAINS 65535u

struct domain {
    uint32_t id, name;
};

/* The default domain has id 0. Handles point into chunks that never move. */
static struct domain default_domain;
static struct domain *domains[MAX_DOMAINS / 256 + 1];
static uint32_t domain_count = 1;
static _Atomic uint64_t last_range;

static struct {
    bool is_set;
    uint32_t name;
    /* Where the range that opened the capture is: its pop ends the capture. */
    _Atomic uint64_t owner; /* writer serial << 32 | domain << 16 | level, or the id of a started range; 0: none */
    _Atomic bool is_started_range;
} capture;

static void read_capture_range(void)
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
    struct open_ranges *domains_of_thread = realloc(writer->domains, larger * sizeof *domains_of_thread);
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

static uint32_t domain_id(const void *handle)
{
    return handle == NULL ? 0 : ((const struct domain *)handle)->id;
}

static uint32_t message_of(const struct nvtx_event_attributes *event)
{
    if (event == NULL || event->message.ascii == NULL)
        return 0;
    switch (event->message_type) {
    case NVTX_MESSAGE_ASCII:
        return wl_intern(event->message.ascii, strlen(event->message.ascii));
    case NVTX_MESSAGE_UNICODE:
        return wl_intern_wide(event->message.unicode);
    case NVTX_MESSAGE_REGISTERED:
        return (uint32_t)((uintptr_t)event->message.registered >> 1);
    default:
        return 0;
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

/* Capture ranges: a range of the asked name starts the recording, its end stops it. */
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

static int push(uint32_t domain, const char *ascii, const wchar_t *wide, const struct nvtx_event_attributes *event)
{
    struct writer *writer = wl_writer();
    struct open_ranges *open = open_ranges(writer, domain);
    if (open == NULL)
        return NVTX_NO_PUSH_POP_TRACKING;
    uint32_t level = open->depth++;
    bool is_recording = wl_is_recording(SOURCE_NVTX);
    if (!is_recording && !capture.is_set)
        return (int)level;
    uint32_t name = ascii ? wl_intern(ascii, strlen(ascii)) : wide ? wl_intern_wide(wide) : message_of(event);
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
            record->time_ns = wl_now(writer); /* last: our own work is not part of the range */
            WL_COMMIT(writer, SLOT_NVTX_RANGE, record_nvtx_range);
        }
    } else {
        struct record_nvtx_range_attributes *record =
            WL_RESERVE(writer, SLOT_NVTX_RANGE_ATTRIBUTES, record_nvtx_range_attributes);
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

static int pop(uint32_t domain)
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

static uint64_t start(uint32_t domain, const char *ascii, const wchar_t *wide,
                      const struct nvtx_event_attributes *event)
{
    struct writer *writer = wl_writer();
    uint64_t range = atomic_fetch_add_explicit(&last_range, 1, memory_order_relaxed) + 1;
    bool is_recording = wl_is_recording(SOURCE_NVTX);
    if (writer == NULL || (!is_recording && !capture.is_set))
        return range;
    uint32_t name = ascii ? wl_intern(ascii, strlen(ascii)) : wide ? wl_intern_wide(wide) : message_of(event);
    if (UNLIKELY(capture.is_set)) {
        capture_begins(name, range, true);
        is_recording = wl_is_recording(SOURCE_NVTX);
    }
    struct record_nvtx_start *record =
        is_recording ? WL_RESERVE(writer, SLOT_NVTX_START, record_nvtx_start) : NULL;
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

static void end(uint64_t range)
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

static void mark(uint32_t domain, const char *ascii, const wchar_t *wide, const struct nvtx_event_attributes *event)
{
    if (!wl_is_recording(SOURCE_NVTX))
        return;
    struct writer *writer = wl_writer();
    if (writer == NULL)
        return;
    uint64_t now = wl_now(writer);
    uint32_t name = ascii ? wl_intern(ascii, strlen(ascii)) : wide ? wl_intern_wide(wide) : message_of(event);
    struct record_nvtx_range_attributes *record =
        WL_RESERVE(writer, SLOT_NVTX_MARK, record_nvtx_range_attributes);
    if (record != NULL) {
        record->time_ns = now;
        record->name = name;
        record->domain = (uint16_t)domain;
        record->level = 0;
        record->attributes = attributes_of(event);
        WL_COMMIT(writer, SLOT_NVTX_MARK, record_nvtx_range_attributes);
    }
}

static void name_category(uint32_t domain, uint32_t category, uint32_t name)
{
    struct record_nvtx_category record = {domain, category, name, 0};
    wl_define(SLOT_NVTX_CATEGORY, &record, sizeof record);
}

static void name_thread(uint32_t tid, uint32_t name)
{
    struct writer *writer = wl_writer();
    struct record_nvtx_thread_name *record =
        writer ? WL_RESERVE(writer, SLOT_NVTX_THREAD_NAME, record_nvtx_thread_name) : NULL;
    if (record != NULL) {
        record->tid = tid;
        record->name = name;
        WL_COMMIT(writer, SLOT_NVTX_THREAD_NAME, record_nvtx_thread_name);
    }
}

/* The same name is the same domain, whichever shared object asks. */
static const struct domain *create_domain(uint32_t name)
{
    const struct domain *found = NULL;
    bool is_new = false;
    spool_lock();
    for (uint32_t i = 1; i < domain_count && found == NULL; i++)
        if (domains[i / 256][i % 256].name == name)
            found = &domains[i / 256][i % 256];
    if (found == NULL && domain_count < MAX_DOMAINS) {
        uint32_t i = domain_count;
        if (domains[i / 256] == NULL)
            domains[i / 256] = calloc(256, sizeof(struct domain));
        if (domains[i / 256] != NULL) {
            domains[i / 256][i % 256] = (struct domain){i, name};
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

static uint32_t intern(const char *text) { return text ? wl_intern(text, strlen(text)) : 0; }

/* The callbacks, in NVTX's signatures. */
static void mark_ex(const struct nvtx_event_attributes *event) { mark(0, NULL, NULL, event); }
static void mark_a(const char *text) { mark(0, text, NULL, NULL); }
static void mark_w(const wchar_t *text) { mark(0, NULL, text, NULL); }
static uint64_t start_ex(const struct nvtx_event_attributes *event) { return start(0, NULL, NULL, event); }
static uint64_t start_a(const char *text) { return start(0, text, NULL, NULL); }
static uint64_t start_w(const wchar_t *text) { return start(0, NULL, text, NULL); }
static void range_end(uint64_t range) { end(range); }
static int push_ex(const struct nvtx_event_attributes *event) { return push(0, NULL, NULL, event); }
static int push_a(const char *text) { return push(0, text, NULL, NULL); }
static int push_w(const wchar_t *text) { return push(0, NULL, text, NULL); }
static int range_pop(void) { return pop(0); }
static void category_a(uint32_t category, const char *text) { name_category(0, category, intern(text)); }
static void category_w(uint32_t category, const wchar_t *text) { name_category(0, category, wl_intern_wide(text)); }
static void thread_a(uint32_t tid, const char *text) { name_thread(tid, intern(text)); }
static void thread_w(uint32_t tid, const wchar_t *text) { name_thread(tid, wl_intern_wide(text)); }

static void device_a(int device, const char *text) { cupti_name_device(device, intern(text)); }
static void device_w(int device, const wchar_t *text) { cupti_name_device(device, wl_intern_wide(text)); }
static void context_a(void *context, const char *text) { cupti_name_context(context, intern(text)); }
static void context_w(void *context, const wchar_t *text) { cupti_name_context(context, wl_intern_wide(text)); }
static void stream_a(void *stream, const char *text) { cupti_name_stream(stream, intern(text)); }
static void stream_w(void *stream, const wchar_t *text) { cupti_name_stream(stream, wl_intern_wide(text)); }

static void domain_mark_ex(const void *domain, const struct nvtx_event_attributes *event)
{
    mark(domain_id(domain), NULL, NULL, event);
}
static uint64_t domain_start_ex(const void *domain, const struct nvtx_event_attributes *event)
{
    return start(domain_id(domain), NULL, NULL, event);
}
static void domain_end(const void *domain, uint64_t range)
{
    (void)domain;
    end(range);
}
static int domain_push_ex(const void *domain, const struct nvtx_event_attributes *event)
{
    return push(domain_id(domain), NULL, NULL, event);
}
static int domain_pop(const void *domain) { return pop(domain_id(domain)); }
static void domain_category_a(const void *domain, uint32_t category, const char *text)
{
    name_category(domain_id(domain), category, intern(text));
}
static void domain_category_w(const void *domain, uint32_t category, const wchar_t *text)
{
    name_category(domain_id(domain), category, wl_intern_wide(text));
}
/* Handles of registered strings are odd numbers, so that none is NULL and none looks like a pointer of ours. */
static const void *domain_string_a(const void *domain, const char *text)
{
    (void)domain;
    return (const void *)(((uintptr_t)intern(text) << 1) | 1);
}
static const void *domain_string_w(const void *domain, const wchar_t *text)
{
    (void)domain;
    return (const void *)(((uintptr_t)wl_intern_wide(text) << 1) | 1);
}
static const void *domain_create_a(const char *text) { return create_domain(intern(text)); }
static const void *domain_create_w(const wchar_t *text) { return create_domain(wl_intern_wide(text)); }

struct entry {
    unsigned int id;
    nvtx_function function;
};

static bool fill(const struct nvtx_export_callbacks *callbacks, int module, const struct entry *entries, size_t count)
{
    nvtx_function **table = NULL;
    unsigned int size = 0;
    if (!callbacks->get_table(module, &table, &size) || table == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (entries[i].id < size && table[entries[i].id] != NULL)
            *table[entries[i].id] = entries[i].function;
    return true;
}

#define ENTRY(id, function) {id, (nvtx_function)(function)}

EXPORT int InitializeInjectionNvtx2(nvtx_get_export_table get_export_table)
{
    static const struct entry core[] = {
        ENTRY(NVTX_CORE_MARK_EX, mark_ex),       ENTRY(NVTX_CORE_MARK_A, mark_a),
        ENTRY(NVTX_CORE_MARK_W, mark_w),         ENTRY(NVTX_CORE_START_EX, start_ex),
        ENTRY(NVTX_CORE_START_A, start_a),       ENTRY(NVTX_CORE_START_W, start_w),
        ENTRY(NVTX_CORE_END, range_end),         ENTRY(NVTX_CORE_PUSH_EX, push_ex),
        ENTRY(NVTX_CORE_PUSH_A, push_a),         ENTRY(NVTX_CORE_PUSH_W, push_w),
        ENTRY(NVTX_CORE_POP, range_pop),         ENTRY(NVTX_CORE_CATEGORY_A, category_a),
        ENTRY(NVTX_CORE_CATEGORY_W, category_w), ENTRY(NVTX_CORE_THREAD_A, thread_a),
        ENTRY(NVTX_CORE_THREAD_W, thread_w),
    };
    static const struct entry core2[] = {
        ENTRY(NVTX_CORE2_MARK_EX, domain_mark_ex),       ENTRY(NVTX_CORE2_START_EX, domain_start_ex),
        ENTRY(NVTX_CORE2_END, domain_end),               ENTRY(NVTX_CORE2_PUSH_EX, domain_push_ex),
        ENTRY(NVTX_CORE2_POP, domain_pop),               ENTRY(NVTX_CORE2_CATEGORY_A, domain_category_a),
        ENTRY(NVTX_CORE2_CATEGORY_W, domain_category_w), ENTRY(NVTX_CORE2_STRING_A, domain_string_a),
        ENTRY(NVTX_CORE2_STRING_W, domain_string_w),     ENTRY(NVTX_CORE2_DOMAIN_A, domain_create_a),
        ENTRY(NVTX_CORE2_DOMAIN_W, domain_create_w),
    };
    static const struct entry cuda[] = {
        ENTRY(NVTX_CUDA_DEVICE_A, device_a),   ENTRY(NVTX_CUDA_DEVICE_W, device_w),
        ENTRY(NVTX_CUDA_CONTEXT_A, context_a), ENTRY(NVTX_CUDA_CONTEXT_W, context_w),
        ENTRY(NVTX_CUDA_STREAM_A, stream_a),   ENTRY(NVTX_CUDA_STREAM_W, stream_w),
    };
    static const struct entry cudart[] = {
        ENTRY(NVTX_CUDART_DEVICE_A, device_a), ENTRY(NVTX_CUDART_DEVICE_W, device_w),
        ENTRY(NVTX_CUDART_STREAM_A, stream_a), ENTRY(NVTX_CUDART_STREAM_W, stream_w),
    };
    static _Atomic bool is_announced;
    if (!wl_start() || get_export_table == NULL)
        return 0;
    const struct nvtx_export_callbacks *callbacks = get_export_table(NVTX_EXPORT_CALLBACKS);
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks || callbacks->get_table == NULL)
        return 0;
    if (!atomic_exchange(&is_announced, true)) {
        read_capture_range();
        wl_write_source_state("nvtx", true, "", "", 0);
    }
    bool has_core = fill(callbacks, NVTX_MODULE_CORE, core, sizeof core / sizeof core[0]);
    fill(callbacks, NVTX_MODULE_CORE2, core2, sizeof core2 / sizeof core2[0]);
    fill(callbacks, NVTX_MODULE_CUDA, cuda, sizeof cuda / sizeof cuda[0]);
    fill(callbacks, NVTX_MODULE_CUDART, cudart, sizeof cudart / sizeof cudart[0]);
    return has_core;
}

/* For warpline.annotate: the same as NVTX's default domain, without NVTX. */
EXPORT int warpline_attach(void)
{
    static _Atomic bool is_announced;
    if (!wl_start())
        return 0;
    if (!atomic_exchange(&is_announced, true)) {
        read_capture_range();
        wl_write_source_state("nvtx", true, "", "", 0);
    }
    return 1;
}

static struct nvtx_event_attributes annotation(const char *name, uint32_t color_argb)
{
    return (struct nvtx_event_attributes){
        .color_type = color_argb ? NVTX_COLOR_ARGB : 0,
        .color = color_argb,
        .message_type = NVTX_MESSAGE_ASCII,
        .message.ascii = name,
    };
}

EXPORT void warpline_push(const char *name, uint32_t color_argb)
{
    struct nvtx_event_attributes event = annotation(name, color_argb);
    push(0, NULL, NULL, &event);
}

EXPORT void warpline_pop(void) { pop(0); }

EXPORT void warpline_mark(const char *name, uint32_t color_argb)
{
    struct nvtx_event_attributes event = annotation(name, color_argb);
    mark(0, NULL, NULL, &event);
}

EXPORT uint64_t warpline_start(const char *name, uint32_t color_argb)
{
    struct nvtx_event_attributes event = annotation(name, color_argb);
    return start(0, NULL, NULL, &event);
}

EXPORT void warpline_end(uint64_t range) { end(range); }
