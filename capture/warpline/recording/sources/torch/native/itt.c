/* The part of Intel's ITT that PyTorch calls (`torch.autograd.profiler.emit_itt`): begin and end of each operator.
 * The program's ITT loads the library named by INTEL_LIBITTNOTIFY64, which fills in its functions. Layouts are those
 * of ittnotify_config.h, which keeps them stable. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "autograd.h"
#include "interpose.h"
#include "operators.h"
#include "recent_names.h"
#include "spool_internal.h"

#define CHUNK 256u
#define MAX_HANDLES (1u << 20)

struct itt_domain {
    volatile int flags; /* 0: the caller skips it */
    const char *name;
    void *wide_name;
    int extra1;
    void *extra2;
    struct itt_domain *next;
};

struct itt_handle {
    const char *text;
    void *wide_text;
    int extra1; /* the id of the text */
    void *extra2;
    struct itt_handle *next;
};

struct itt_id {
    unsigned long long d1, d2, d3;
};

struct itt_function {
    const char *name;
    void **place;
    void *init, *null;
    int group;
};

struct itt_global {
    unsigned char magic[8];
    unsigned long version_major, version_minor, version_build;
    volatile long is_initialized, is_mutex_initialized, atomic_counter;
    pthread_mutex_t mutex;
    void *library, *error_handler;
    const char **library_path;
    struct itt_function *functions;
};

static struct itt_domain torch_domain = {.flags = 1, .name = "PyTorch"}, other_domain = {.flags = 0, .name = "other"};
static const struct itt_domain *_Atomic known_domain;   /* PyTorch's, which may be older than the agent */
static struct itt_handle *handles[MAX_HANDLES / CHUNK]; /* by the id of the text; chunks never move */

static struct itt_domain *create_domain(const char *name)
{
    return name != NULL && strcmp(name, torch_domain.name) == 0 ? &torch_domain : &other_domain;
}

static inline bool is_torch(const struct itt_domain *domain)
{
    if (LIKELY(domain == atomic_load_explicit(&known_domain, memory_order_relaxed)))
        return domain != NULL;
    if (domain == NULL || domain->name == NULL || strcmp(domain->name, torch_domain.name) != 0)
        return false;
    atomic_store_explicit(&known_domain, domain, memory_order_relaxed);
    return true;
}

/* PyTorch makes a handle for every call: equal texts share one. */
static struct itt_handle *create_handle(const char *text)
{
    struct writer *writer = text ? wl_writer() : NULL;
    uint32_t id = writer ? wl_intern_recent(writer, text) : 0;
    if (UNLIKELY(id >= MAX_HANDLES))
        id = 0;
    struct itt_handle *chunk = __atomic_load_n(&handles[id / CHUNK], __ATOMIC_ACQUIRE);
    if (UNLIKELY(chunk == NULL)) {
        spool_lock();
        chunk = handles[id / CHUNK];
        if (chunk == NULL && (chunk = calloc(CHUNK, sizeof *chunk)) != NULL) {
            for (uint32_t i = 0; i < CHUNK; i++)
                chunk[i] = (struct itt_handle){.text = "", .extra1 = (int)(id / CHUNK * CHUNK + i)};
            __atomic_store_n(&handles[id / CHUNK], chunk, __ATOMIC_RELEASE);
        }
        spool_unlock();
    }
    return chunk != NULL ? &chunk[id % CHUNK] : NULL;
}

static void begin_task(const struct itt_domain *domain, struct itt_id task, struct itt_id parent,
                       const struct itt_handle *handle)
{
    (void)task, (void)parent;
    struct writer *writer = is_torch(domain) ? wl_writer() : NULL;
    if (writer == NULL)
        return;
    uint32_t name = handle ? (uint32_t)handle->extra1 : 0, thread;
    if (UNLIKELY(name == 0 && handle != NULL && handle->text != NULL)) /* older than the agent */
        name = wl_intern(handle->text, strlen(handle->text));
    int64_t node = autograd_take_node(&thread);
    if (node != AUTOGRAD_NONE)
        operator_begins(writer, name, -2 - node, thread);
    else
        operator_begins(writer, name, autograd_next(), autograd_thread(writer));
}

static void end_task(const struct itt_domain *domain)
{
    struct writer *writer = is_torch(domain) ? wl_writer() : NULL;
    if (writer != NULL)
        operator_ends(writer);
}

EXPORT void __itt_api_init(struct itt_global *global, int groups)
{
    static const struct {
        const char *name;
        void *function;
    } known[] = {
        {"__itt_domain_create", (void *)create_domain},
        {"__itt_string_handle_create", (void *)create_handle},
        {"__itt_task_begin", (void *)begin_task},
        {"__itt_task_end", (void *)end_task},
    };
    (void)groups;
    if (!wl_start() || global == NULL)
        return;
    for (struct itt_function *function = global->functions; function != NULL && function->name != NULL; function++)
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strcmp(function->name, known[i].name) == 0 && function->place != NULL)
                *function->place = known[i].function;
}
