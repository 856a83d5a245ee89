/* Puts hooks for frameworks into this process's Python, and gives them builtin functions: a call through ctypes costs
 * ten times as much, and importing it costs milliseconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interpose.h"
#include "python_api.h"
#include "source_hooks.h"
#include "spool.h"
#include "steps_calls.h"
#include "steps_records.h"

#define LARGEST_SOURCE (256 << 10)
#define FILE_INPUT 257 /* Py_file_input */

static void *now(void *self, void *unused)
{
    (void)self, (void)unused;
    return py.from_long((long long)steps_now());
}

/* enter(): the start of a module's call, negative for an outermost one */
static void *enter(void *self, void *unused)
{
    int is_outermost;
    (void)self, (void)unused;
    long long start = (long long)steps_enter(&is_outermost);
    return py.from_long(is_outermost ? -start : start);
}

/* leave(start, path << 32 | class) */
static void *leave(void *self, void *const *values, ssize_t count)
{
    (void)self;
    uint64_t name = count == 2 ? py_number(values[1]) : 0;
    steps_leave(count == 2 ? py_number(values[0]) : 0, (uint32_t)(name >> 32), (uint32_t)name);
    return py_none();
}

/* record(start, kind, name, detail, value) */
static void *record(void *self, void *const *values, ssize_t count)
{
    (void)self;
    if (count != 5)
        return py_none();
    long long value = py.to_long(values[4]);
    if (value == -1)
        py.clear_error();
    steps_range(py_number(values[0]), (uint32_t)py_number(values[1]), (uint32_t)py_number(values[2]),
                (uint32_t)py_number(values[3]), value);
    return py_none();
}

static const char *text_of(void *object, size_t *length)
{
    ssize_t size = 0;
    const char *text = py.text(object, &size);
    if (text == NULL)
        py.clear_error();
    *length = text ? (size_t)size : 0;
    return text ? text : "";
}

/* text(str): the id of the string */
static void *intern(void *self, void *object)
{
    (void)self;
    size_t length;
    const char *text = text_of(object, &length);
    return py.from_long((long long)wl_intern(text, length));
}

/* mallinfo2(3), of glibc since 2.33. */
struct heap_state {
    size_t arena, free_chunks, fast_chunks, mappings, mapped, highest, fast, used, free, releasable;
};

/* mallinfo2 walks the free chunks of all arenas: below a microsecond in a fresh process, tens of milliseconds in one
 * with hundreds of thousands of chunks. Time above HEAP_NS per call adds to a debt, time below it pays back; beyond
 * HEAP_DEBT_NS the heap is never asked again. Only CPU time of the thread counts. */
#define HEAP_NS 20000
#define HEAP_DEBT_NS 10000000

static bool is_slow(uint64_t cost_ns)
{
    static uint64_t debt_ns; /* under the GIL */
    debt_ns += cost_ns;
    debt_ns -= debt_ns < HEAP_NS ? debt_ns : HEAP_NS;
    return debt_ns > HEAP_DEBT_NS;
}

/* heap(): bytes the C library has allocated for all threads; 0 if that is unknown or no longer asked. The first such
 * answer is negative: -1 unknown, -2 too slow. */
static void *heap(void *self, void *unused)
{
    (void)self, (void)unused;
    static struct heap_state (*ask)(void);
    static bool is_looked_up; /* under the GIL */
    if (!is_looked_up) {
        *(void **)&ask = dlsym(RTLD_DEFAULT, "mallinfo2");
        is_looked_up = true;
        if (ask == NULL)
            return py.from_long(-1);
    }
    if (ask == NULL)
        return py.from_long(0);
    uint64_t start = wl_clock(CLOCK_THREAD_CPUTIME_ID);
    struct heap_state state = ask();
    if (is_slow(wl_clock(CLOCK_THREAD_CPUTIME_ID) - start)) {
        ask = NULL;
        return py.from_long(-2);
    }
    return py.from_long((long long)(state.used + state.mapped));
}

/* operator(start, end, sequence, flops, name, thread, tid, shapes, types): an ended operator of any thread */
static void *operator(void *self, void *const *values, ssize_t count)
{
    (void)self;
    struct writer *writer = wl_writer();
    if (count != 9 || writer == NULL)
        return py_none();
    long long sequence = py.to_long(values[2]);
    struct record_framework_shaped *to = WL_RESERVE(writer, SLOT_FRAMEWORK_SHAPED, record_framework_shaped);
    if (to == NULL)
        return py_none();
    *to = (struct record_framework_shaped){.start_ns = py_number(values[0]),
                                           .end_ns = py_number(values[1]),
                                           .sequence = sequence,
                                           .flops = (int64_t)py_number(values[3]),
                                           .name = (uint32_t)py_number(values[4]),
                                           .thread = (uint32_t)py_number(values[5]),
                                           .tid = (uint32_t)py_number(values[6]),
                                           .shapes = (uint32_t)py_number(values[7]),
                                           .types = (uint32_t)py_number(values[8])};
    WL_COMMIT(writer, SLOT_FRAMEWORK_SHAPED, record_framework_shaped);
    py.clear_error(); /* -1 also stands for an object that is no number */
    return py_none();
}

/* say(source, is_enabled, reason, remedy): the state of a source in this process */
static void *say(void *self, void *const *values, ssize_t count)
{
    (void)self;
    char name[32];
    size_t length;
    if (count != 4)
        return py_none();
    snprintf(name, sizeof name, "%s", text_of(values[0], &length));
    wl_write_source_state(name, py_number(values[1]) != 0, text_of(values[2], &length), text_of(values[3], &length), 0);
    return py_none();
}

static struct python_builtin builtins[] = {
    {"now", now, METH_NOARGS, NULL},
    {"enter", enter, METH_NOARGS, NULL},
    {"leave", leave, METH_FASTCALL, NULL},
    {"record", record, METH_FASTCALL, NULL},
    {"text", intern, METH_O, NULL},
    {"operator", operator, METH_FASTCALL, NULL},
    {"heap", heap, METH_NOARGS, NULL},
    {"say", say, METH_FASTCALL, NULL},
    {"quick_call", steps_quick_call, METH_FASTCALL, NULL},
    {"drop", steps_drop, METH_O, NULL},
};

static void set_owned(void *globals, const char *name, void *value)
{
    if (value != NULL) {
        py.set_item(globals, name, value);
        py.release(value);
    }
}

/* The whole file with a NUL behind it; NULL if it cannot be read or is too long. */
static char *read_file(const char *path, struct stat *status, size_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return NULL;
    char *content = NULL;
    if (fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_size < LARGEST_SOURCE &&
        (content = malloc((size_t)status->st_size + 1)) != NULL) {
        ssize_t length = read(fd, content, (size_t)status->st_size);
        *size = length > 0 ? (size_t)length : 0;
        content[*size] = 0;
    }
    close(fd);
    return content;
}

/* The code object of boot.py that this Python compiled before, as installing does; NULL if there is none, or of
 * another source. Four numbers precede it (PEP 552): Python's magic number, 0 for "by time", time and size of the
 * source. */
static void *compiled(const char *folder, const struct stat *source)
{
    void *(*load)(const char *, ssize_t) = (void *(*)(const char *, ssize_t))dlsym(RTLD_DEFAULT,
                                                                                   "PyMarshal_ReadObjectFromString");
    long (*magic)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "PyImport_GetMagicNumber");
    const char *(*tag)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "PyImport_GetMagicTag");
    char path[4096];
    struct stat status;
    size_t size = 0;
    if (load == NULL || magic == NULL || tag == NULL ||
        (size_t)snprintf(path, sizeof path, "%s/__pycache__/boot.%s.pyc", folder, tag()) >= sizeof path)
        return NULL;
    char *content = read_file(path, &status, &size);
    const uint32_t expected[4] = {(uint32_t)magic(), 0, (uint32_t)source->st_mtime, (uint32_t)source->st_size};
    void *code = NULL;
    if (content != NULL && size > sizeof expected && memcmp(content, expected, sizeof expected) == 0)
        code = load(content + sizeof expected, (ssize_t)(size - sizeof expected));
    free(content);
    py.clear_error();
    return code;
}

static void run(const char *folder, const char *sources)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/boot.py", folder);
    struct stat status;
    size_t size;
    char *source = length > 0 && (size_t)length < sizeof path ? read_file(path, &status, &size) : NULL;
    if (source == NULL)
        return;
    void *globals = py.new_dict(), *code = compiled(folder, &status);
    if (code == NULL)
        code = py.compile(source, path, FILE_INPUT);
    free(source);
    if (globals != NULL && code != NULL) {
        py.set_item(globals, "__builtins__", py.builtins());
        set_owned(globals, "__name__", py.new_text("_warpline_boot"));
        set_owned(globals, "__file__", py.new_text(path));
        set_owned(globals, "sources", py.new_text(sources));
        FOR_EACH_SOURCE(source)
            for (size_t i = 0; i < (*source)->builtin_count; i++) {
                struct python_builtin *builtin = &(*source)->builtins[i];
                set_owned(globals, builtin->name, py.new_function(builtin, NULL, NULL));
            }
        void *result = py.evaluate(code, globals, globals);
        if (result != NULL)
            py.release(result);
    }
    if (globals != NULL)
        py.release(globals);
    if (code != NULL)
        py.release(code);
    py.clear_error();
}

/* Runs `boot.py` from the folder in WARPLINE_HOOKS, which watches for frameworks on behalf of the sources in
 * WARPLINE_HOOKED. Does nothing without these variables. */
static void boot(void)
{
    static bool is_done; /* under the GIL; a forked child inherits the hooks */
    const char *folder = getenv("WARPLINE_HOOKS"), *sources = getenv("WARPLINE_HOOKED");
    if (is_done || folder == NULL || folder[0] != '/' || sources == NULL)
        return;
    is_done = true;
    int saved_errno = errno;
    wl_quiet++;
    if (py_find())
        run(folder, sources);
    wl_quiet--;
    errno = saved_errno;
}

/* For warpline.Profiler: puts hooks into frameworks imported now or later, once per process. `is_announced`: a later
 * session is told that they are there. Called with the GIL. */
EXPORT void warpline_hook_frameworks(int is_announced)
{
    boot();
    if (is_announced)
        wl_write_source_state("steps", true, "", "", 0);
}

REGISTER_SOURCE(.python_started = boot, .builtins = builtins, .builtin_count = sizeof builtins / sizeof builtins[0]);
