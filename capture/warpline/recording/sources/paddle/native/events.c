/* Paddle marks its work with objects `phi::RecordEvent` (only paddle/phi/core/platform/profiler/event_tracing.h is
 * relied on): the constructor gets a name, a type and a level, and `End` ends the event. Paddle's libraries call both
 * through their procedure tables (ELF's DT_JMPREL). We put our functions there, which call Paddle's, so its own
 * profiler is not affected. Argument types are part of these names, so a Paddle with other arguments has no such
 * functions. */
#define _GNU_SOURCE
#include "events.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "details.h"
#include "recent_names.h"

#define FROM_TEXT "_ZN3phi11RecordEventC1EPKcNS_15TracerEventTypeEjNS_9EventRoleE"
#define FROM_STRING                                                                                          \
    "_ZN3phi11RecordEventC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS_15TracerEventTypeEjNS_" \
    "9EventRoleE"
#define END "_ZN3phi11RecordEvent3EndEv"
#define MOST_OPEN 256u /* open events of a thread; beyond it, events end in other threads */
#define MOST_LEVEL 1u  /* the default of Paddle's profiler */
#define MOST_LIBRARIES 64

#ifdef __x86_64__
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#endif

/* TracerEventType. Events that Python marks (phases, layers, its own) are hooked in Python. */
enum { OPERATOR = 0, OF_USER = 7, INNER = 8, COMMUNICATION = 12, DYGRAPH_LAUNCH = 15, STATIC_LAUNCH = 16 };
#define WANTED \
    (1u << OPERATOR | 1u << OF_USER | 1u << INNER | 1u << COMMUNICATION | 1u << DYGRAPH_LAUNCH | 1u << STATIC_LAUNCH)

/* std::string of libstdc++, and of libc++ under this name: begins with the address of the text. */
struct string {
    const char *text;
};

static void (*from_text)(void *, const char *, int, unsigned, int);
static void (*from_string)(void *, const struct string *, int, unsigned, int);
static void (*end_event)(void *);
static _Atomic bool records_events;
/* Only the trying thread looks for its own event: other threads have events too. */
static __thread bool is_in_trial __attribute__((tls_model("initial-exec")));
static const void *trial_event;
static bool has_ended_trial;
static char trial_name[32];
static unsigned trial_type;

static bool more(struct writer *writer)
{
    if (writer->event_room >= MOST_OPEN) {
        wl_count_lost(writer->event_depth);
        writer->event_depth = 0;
        return true;
    }
    void *moved = wl_grow(writer->events, &writer->event_room, sizeof *writer->events);
    if (moved == NULL)
        return false;
    writer->events = moved;
    return true;
}

static void begin_trial(const void *event, const char *name, unsigned type)
{
    if (type < 32 && strlen(name) < sizeof trial_name) {
        strcpy(trial_name, name);
        trial_type = type;
        trial_event = event;
    }
}

static void begins(const void *event, const char *name, unsigned type, unsigned level)
{
    if (UNLIKELY(is_in_trial) && name != NULL)
        begin_trial(event, name, type);
    if (!atomic_load_explicit(&records_events, memory_order_relaxed) || level > MOST_LEVEL || type > STATIC_LAUNCH ||
        !(WANTED >> type & 1u) || name == NULL || !wl_is_recording(SOURCE_PADDLE))
        return;
    struct writer *writer = wl_writer();
    if (writer == NULL || (UNLIKELY(writer->event_depth >= writer->event_room) && !more(writer)))
        return;
    struct open_event *open = &writer->events[writer->event_depth++];
    open->event = event;
    open->name = wl_intern_recent(writer, name);
    open->type = type;
    open->start_ns = wl_now(writer);
}

static void ends(const void *event)
{
    struct writer *writer = wl_self;
    if (UNLIKELY(is_in_trial))
        has_ended_trial |= event == trial_event;
    if (writer == NULL)
        return;
    uint32_t at = writer->event_depth;
    while (at > 0 && writer->events[at - 1].event != event)
        at--;
    if (at == 0) /* ended before, or begun while nothing was recorded */
        return;
    struct open_event ended = writer->events[--at];
    memmove(&writer->events[at], &writer->events[at + 1], (--writer->event_depth - at) * sizeof ended);
    if (!wl_is_recording(SOURCE_PADDLE))
        return;
    struct record_framework_event *to = WL_RESERVE(writer, SLOT_FRAMEWORK_EVENT, record_framework_event);
    if (to == NULL)
        return;
    *to = (struct record_framework_event){ended.start_ns, wl_now(writer), ended.name, ended.type};
    WL_COMMIT(writer, SLOT_FRAMEWORK_EVENT, record_framework_event);
}

static void our_from_text(void *event, const char *name, int type, unsigned level, int role)
{
    begins(event, name, (unsigned)type, level);
    from_text(event, name, type, level, role);
}

static void our_from_string(void *event, const struct string *name, int type, unsigned level, int role)
{
    begins(event, name->text, (unsigned)type, level);
    from_string(event, name, type, level, role);
}

static void our_end(void *event)
{
    end_event(event);
    ends(event);
}

static const struct {
    const char *name;
    void **theirs;
    void *ours;
    bool is_beginning; /* of the name; the rest are types of arguments that we do not read */
} functions[] = {
    {FROM_TEXT, (void **)&from_text, (void *)our_from_text, false},
    {FROM_STRING, (void **)&from_string, (void *)our_from_string, false},
    {END, (void **)&end_event, (void *)our_end, false},
    {PARTS_WANTED, (void **)&paddle_parts_wanted, (void *)our_parts_wanted, false},
    {SHAPES_WANTED, (void **)&paddle_shapes_wanted, (void *)our_shapes_wanted, false},
    {SHAPES, (void **)&paddle_shapes, (void *)our_shapes, true},
    {MEMORY, (void **)&paddle_memory, (void *)our_memory, false},
};
#define FUNCTIONS (sizeof functions / sizeof *functions)
#define NEEDED 3 /* of them; the others are details */

#ifdef JUMP_SLOT
/* A library's tables, as the loader has mapped them. */
struct library {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * calls;
    size_t count;
    uintptr_t base, fixed, fixed_end; /* read-only after relocation */
    char *path;
};

struct libraries {
    struct library found[MOST_LIBRARIES];
    size_t count;
};

static uintptr_t placed(uintptr_t base, uintptr_t address) { return address < base ? base + address : address; }

static void put(const struct library *library, void **slot, void *function)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)slot & ~(page - 1);
    bool is_fixed = (uintptr_t)slot >= library->fixed && (uintptr_t)slot < library->fixed_end;
    if (is_fixed && mprotect((void *)from, page, PROT_READ | PROT_WRITE) != 0)
        return;
    __atomic_store_n(slot, function, __ATOMIC_RELEASE);
    if (is_fixed)
        mprotect((void *)from, page, PROT_READ);
}

/* The whole names of functions, from a library that calls them. */
static const char *called[FUNCTIONS];

static bool is_named(size_t function, const char *name)
{
    const char *own = functions[function].name;
    return functions[function].is_beginning ? strncmp(name, own, strlen(own)) == 0 : strcmp(name, own) == 0;
}

/* Bits of the functions that this library's table calls; replaces those that were found by ours if `is_change`. */
static unsigned calls_of(const struct library *library, bool is_change)
{
    unsigned found = 0;
    for (size_t i = 0; i < library->count; i++) {
        const ElfW(Rela) *call = &library->calls[i];
        if (ELF64_R_TYPE(call->r_info) != JUMP_SLOT)
            continue;
        const char *name = library->names + library->symbols[ELF64_R_SYM(call->r_info)].st_name;
        if (strstr(name, "Record") == NULL)
            continue;
        for (size_t of = 0; of < FUNCTIONS; of++)
            if (is_named(of, name)) {
                found |= 1u << of;
                called[of] = name;
                if (is_change && *functions[of].theirs != NULL)
                    put(library, (void **)(library->base + call->r_offset), functions[of].ours);
            }
    }
    return found;
}

/* The loader calls this with a lock held. Nothing may be opened or looked up here: that takes another of its locks,
 * and a thread that holds that one may wait for this one. */
static int add_library(struct dl_phdr_info *info, size_t size, void *to)
{
    (void)size;
    struct libraries *libraries = to;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (libraries->count == MOST_LIBRARIES)
        return 0;
    struct library *library = &libraries->found[libraries->count];
    *library = (struct library){.base = info->dlpi_addr};
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_DYNAMIC)
            entry = (const ElfW(Dyn) *)(info->dlpi_addr + part->p_vaddr);
        if (part->p_type == PT_GNU_RELRO) {
            /* Rounded like the loader does: the last page stays writable unless all of it is to be read-only. */
            library->fixed = (info->dlpi_addr + part->p_vaddr) & ~(page - 1);
            library->fixed_end = (info->dlpi_addr + part->p_vaddr + part->p_memsz) & ~(page - 1);
        }
    }
    bool has_addends = false;
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        uintptr_t at = placed(info->dlpi_addr, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: library->symbols = (const ElfW(Sym) *)at; break;
        case DT_STRTAB: library->names = (const char *)at; break;
        case DT_JMPREL: library->calls = (const ElfW(Rela) *)at; break;
        case DT_PLTRELSZ: library->count = entry->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_PLTREL: has_addends = entry->d_un.d_val == DT_RELA; break;
        }
    }
    if (library->symbols == NULL || library->names == NULL || library->calls == NULL || !has_addends ||
        calls_of(library, false) == 0)
        return 0;
    library->path = strdup(info->dlpi_name);
    libraries->count += library->path != NULL;
    return 0;
}

/* Looks up Paddle's functions in these libraries. */
static bool find_functions(const struct libraries *libraries)
{
    bool has_all = false;
    for (size_t i = 0; i < libraries->count && !has_all; i++) {
        void *library = dlopen(libraries->found[i].path, RTLD_LAZY | RTLD_NOLOAD);
        if (library == NULL)
            continue;
        has_all = true;
        for (size_t of = 0; of < FUNCTIONS; of++) {
            if (*functions[of].theirs == NULL && called[of] != NULL)
                *functions[of].theirs = dlsym(library, called[of]);
            has_all &= *functions[of].theirs != NULL || of >= NEEDED;
        }
        dlclose(library);
    }
    return has_all;
}

static void forget(struct libraries *libraries)
{
    while (libraries->count > 0)
        free(libraries->found[--libraries->count].path);
}

bool paddle_follow(void)
{
    static struct libraries libraries; /* under the GIL */
    if (libraries.count > 0)
        return true;
    dl_iterate_phdr(add_library, &libraries);
    unsigned found = 0;
    for (size_t i = 0; i < libraries.count; i++)
        found |= calls_of(&libraries.found[i], false);
    if ((found & ((1u << NEEDED) - 1)) != (1u << NEEDED) - 1 || !find_functions(&libraries)) {
        forget(&libraries);
        return false;
    }
    is_in_trial = true;
    for (size_t i = 0; i < libraries.count; i++)
        calls_of(&libraries.found[i], true);
    return true;
}
#else
bool paddle_follow(void) { return false; }
#endif

bool paddle_has_seen(const char *name, unsigned type)
{
    is_in_trial = false;
    return has_ended_trial && trial_type == type && strcmp(trial_name, name) == 0;
}

void paddle_record(bool is_on) { atomic_store(&records_events, is_on); }

bool paddle_records(void) { return atomic_load(&records_events); }
