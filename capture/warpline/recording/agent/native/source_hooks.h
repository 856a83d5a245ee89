/* The table in which sources register: the agent calls them through it and includes none of their headers.
 *
 * The linker collects the entries in a section of its own. So the table is complete and constant before the first
 * constructor runs, needs no lock, and is the same in forked children. No hook relies on the order of the entries. */
#ifndef WARPLINE_SOURCE_HOOKS_H
#define WARPLINE_SOURCE_HOOKS_H

#include <stddef.h>
#include <stdint.h>

struct python_builtin;

enum gpu_object { GPU_DEVICE, GPU_CONTEXT, GPU_STREAM };

/* A source leaves NULL what it does not need. */
struct source_hooks {
    /* Before the program's first line, when the agent was preloaded and a session found: read options. No thread yet. */
    void (*start)(void);
    /* After `start` of every source, and again in a forked child, where threads are gone: start them. */
    void (*start_threads)(void);
    /* The process ran already and has joined a session. */
    void (*joined)(void);
    /* The process is about to end without atexit, perhaps in a signal handler: hand over the last records. Takes no lock
     * and at most half a second. */
    void (*ending)(void);
    /* The process is about to enter a sandbox: map what the source needs there. */
    void (*confining)(void);
    /* A spool file was opened: write what every file needs. Called with the spool's lock held. */
    void (*file_opened_locked)(void);
    /* In Python's main thread, with the GIL, as soon as Python code may run. */
    void (*python_started)(void);
    /* The same, once the layout of this Python's objects is known (python/python_layout.h). */
    void (*python_readable)(void);
    /* The id of the Python stack of the calling thread, 0 for none; the name of its asyncio task, unless NULL is passed. */
    uint32_t (*python_stack)(uint32_t *task);
    /* The program named a GPU object: a device's number, or a handle of CUDA. `name` is an interned string. */
    void (*name_gpu_object)(enum gpu_object kind, uintptr_t object, uint32_t name);
    /* Functions for the hooks that Python code of ours puts into frameworks. */
    struct python_builtin *builtins;
    size_t builtin_count;
};

/* Registers a source: REGISTER_SOURCE(.start = …, .joined = …); at most one in a file. */
#define REGISTER_SOURCE(...)                                       \
    static const struct source_hooks source_hooks = {__VA_ARGS__}; \
    static const struct source_hooks *const source_entry __attribute__((used, section("source_table"))) = &source_hooks

/* The first entry of the table, and what lies behind the last: the linker's names for a section of this name. */
extern const struct source_hooks *const __start_source_table[] __attribute__((visibility("hidden")));
extern const struct source_hooks *const __stop_source_table[] __attribute__((visibility("hidden")));

#define FOR_EACH_SOURCE(source) \
    for (const struct source_hooks *const *source = __start_source_table; source < __stop_source_table; source++)

/* Calls one hook of every source that has it. */
#define CALL_SOURCES(hook, ...)               \
    do {                                      \
        FOR_EACH_SOURCE(source) {             \
            if ((*source)->hook != NULL)      \
                (*source)->hook(__VA_ARGS__); \
        }                                     \
    } while (0)

/* `python_stack` of the source that has it; 0 where there is none. */
static inline uint32_t wl_python_stack(uint32_t *task)
{
    FOR_EACH_SOURCE(source)
        if ((*source)->python_stack != NULL)
            return (*source)->python_stack(task);
    return 0;
}

#endif
