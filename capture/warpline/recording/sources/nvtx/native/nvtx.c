/* NVTX, through NVTX_INJECTION64_PATH. Needs no GPU.
 *
 * InitializeInjectionNvtx2 is called once for each shared object with NVTX, so everything here is shared and
 * idempotent. warpline.annotate uses the same records through the warpline_* functions at the end. */
#include <string.h>
#include <wchar.h>

#include "interpose.h"
#include "nvtx_ranges.h"
#include "source_hooks.h"
#include "spool.h"

static uint32_t domain_id(const void *handle) { return handle == NULL ? 0 : ((const struct nvtx_domain *)handle)->id; }

static uint32_t intern(const char *text) { return text ? wl_intern(text, strlen(text)) : 0; }

/* The callbacks, in NVTX's signatures. */
static void mark_ex(const struct nvtx_event_attributes *event) { nvtx_mark(0, NULL, NULL, event); }
static void mark_a(const char *text) { nvtx_mark(0, text, NULL, NULL); }
static void mark_w(const wchar_t *text) { nvtx_mark(0, NULL, text, NULL); }
static uint64_t start_ex(const struct nvtx_event_attributes *event) { return nvtx_start(0, NULL, NULL, event); }
static uint64_t start_a(const char *text) { return nvtx_start(0, text, NULL, NULL); }
static uint64_t start_w(const wchar_t *text) { return nvtx_start(0, NULL, text, NULL); }
static void range_end(uint64_t range) { nvtx_end(range); }
static int push_ex(const struct nvtx_event_attributes *event) { return nvtx_push(0, NULL, NULL, event); }
static int push_a(const char *text) { return nvtx_push(0, text, NULL, NULL); }
static int push_w(const wchar_t *text) { return nvtx_push(0, NULL, text, NULL); }
static int range_pop(void) { return nvtx_pop(0); }
static void category_a(uint32_t category, const char *text) { nvtx_name_category(0, category, intern(text)); }
static void category_w(uint32_t category, const wchar_t *text)
{
    nvtx_name_category(0, category, wl_intern_wide(text));
}
static void thread_a(uint32_t tid, const char *text) { nvtx_name_thread(tid, intern(text)); }
static void thread_w(uint32_t tid, const wchar_t *text) { nvtx_name_thread(tid, wl_intern_wide(text)); }

static void name_gpu_object(enum gpu_object kind, uintptr_t object, uint32_t name)
{
    CALL_SOURCES(name_gpu_object, kind, object, name);
}

static void device_a(int device, const char *text) { name_gpu_object(GPU_DEVICE, (uintptr_t)device, intern(text)); }
static void device_w(int device, const wchar_t *text)
{
    name_gpu_object(GPU_DEVICE, (uintptr_t)device, wl_intern_wide(text));
}
static void context_a(void *context, const char *text)
{
    name_gpu_object(GPU_CONTEXT, (uintptr_t)context, intern(text));
}
static void context_w(void *context, const wchar_t *text)
{
    name_gpu_object(GPU_CONTEXT, (uintptr_t)context, wl_intern_wide(text));
}
static void stream_a(void *stream, const char *text) { name_gpu_object(GPU_STREAM, (uintptr_t)stream, intern(text)); }
static void stream_w(void *stream, const wchar_t *text)
{
    name_gpu_object(GPU_STREAM, (uintptr_t)stream, wl_intern_wide(text));
}

static void domain_mark_ex(const void *domain, const struct nvtx_event_attributes *event)
{
    nvtx_mark(domain_id(domain), NULL, NULL, event);
}
static uint64_t domain_start_ex(const void *domain, const struct nvtx_event_attributes *event)
{
    return nvtx_start(domain_id(domain), NULL, NULL, event);
}
static void domain_end(const void *domain, uint64_t range)
{
    (void)domain;
    nvtx_end(range);
}
static int domain_push_ex(const void *domain, const struct nvtx_event_attributes *event)
{
    return nvtx_push(domain_id(domain), NULL, NULL, event);
}
static int domain_pop(const void *domain) { return nvtx_pop(domain_id(domain)); }
static void domain_category_a(const void *domain, uint32_t category, const char *text)
{
    nvtx_name_category(domain_id(domain), category, intern(text));
}
static void domain_category_w(const void *domain, uint32_t category, const wchar_t *text)
{
    nvtx_name_category(domain_id(domain), category, wl_intern_wide(text));
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
static const void *domain_create_a(const char *text) { return nvtx_create_domain(intern(text)); }
static const void *domain_create_w(const wchar_t *text) { return nvtx_create_domain(wl_intern_wide(text)); }

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
        ENTRY(NVTX_CORE2_MARK_EX, domain_mark_ex),
        ENTRY(NVTX_CORE2_START_EX, domain_start_ex),
        ENTRY(NVTX_CORE2_END, domain_end),
        ENTRY(NVTX_CORE2_PUSH_EX, domain_push_ex),
        ENTRY(NVTX_CORE2_POP, domain_pop),
        ENTRY(NVTX_CORE2_CATEGORY_A, domain_category_a),
        ENTRY(NVTX_CORE2_CATEGORY_W, domain_category_w),
        ENTRY(NVTX_CORE2_STRING_A, domain_string_a),
        ENTRY(NVTX_CORE2_STRING_W, domain_string_w),
        ENTRY(NVTX_CORE2_DOMAIN_A, domain_create_a),
        ENTRY(NVTX_CORE2_DOMAIN_W, domain_create_w),
    };
    static const struct entry cuda[] = {
        ENTRY(NVTX_CUDA_DEVICE_A, device_a),   ENTRY(NVTX_CUDA_DEVICE_W, device_w),
        ENTRY(NVTX_CUDA_CONTEXT_A, context_a), ENTRY(NVTX_CUDA_CONTEXT_W, context_w),
        ENTRY(NVTX_CUDA_STREAM_A, stream_a),   ENTRY(NVTX_CUDA_STREAM_W, stream_w),
    };
    static const struct entry cudart[] = {
        ENTRY(NVTX_CUDART_DEVICE_A, device_a),
        ENTRY(NVTX_CUDART_DEVICE_W, device_w),
        ENTRY(NVTX_CUDART_STREAM_A, stream_a),
        ENTRY(NVTX_CUDART_STREAM_W, stream_w),
    };
    static _Atomic bool is_announced;
    if (!wl_start() || get_export_table == NULL)
        return 0;
    const struct nvtx_export_callbacks *callbacks = get_export_table(NVTX_EXPORT_CALLBACKS);
    if (callbacks == NULL || callbacks->struct_size < sizeof *callbacks || callbacks->get_table == NULL)
        return 0;
    if (!atomic_exchange(&is_announced, true)) {
        nvtx_read_capture_range();
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
        nvtx_read_capture_range();
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
    nvtx_push(0, NULL, NULL, &event);
}

EXPORT void warpline_pop(void) { nvtx_pop(0); }

EXPORT void warpline_mark(const char *name, uint32_t color_argb)
{
    struct nvtx_event_attributes event = annotation(name, color_argb);
    nvtx_mark(0, NULL, NULL, &event);
}

EXPORT uint64_t warpline_start(const char *name, uint32_t color_argb)
{
    struct nvtx_event_attributes event = annotation(name, color_argb);
    return nvtx_start(0, NULL, NULL, &event);
}

EXPORT void warpline_end(uint64_t range) { nvtx_end(range); }

/* For warpline.RecordEvent: the same with a category, which says what the range stands for. */
EXPORT void warpline_name_category(uint32_t category, const char *name)
{
    nvtx_name_category(0, category, intern(name));
}

EXPORT void warpline_push_of(const char *name, uint32_t category)
{
    struct nvtx_event_attributes event = annotation(name, 0);
    event.category = category;
    nvtx_push(0, NULL, NULL, &event);
}

EXPORT uint64_t warpline_start_of(const char *name, uint32_t category)
{
    struct nvtx_event_attributes event = annotation(name, 0);
    event.category = category;
    return nvtx_start(0, NULL, NULL, &event);
}

static void joined(void) { wl_write_source_state("nvtx", true, "", "", 0); }

REGISTER_SOURCE(.joined = joined);
