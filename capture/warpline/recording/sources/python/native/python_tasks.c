#define _GNU_SOURCE
#include "python_tasks.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "interpose.h"
#include "gil_work.h"
#include "python_code.h"
#include "python_layout.h"
#include "spool.h"

#define TASK_BYTES 256
#define PAUSE_NS 100000000u
#define LOOK_PAUSE_NS 1000000000u
#define MOST_TRIES 100u
/* A coroutine's frame lies within this many bytes of the coroutine. */
#define COROUTINE_BYTES 160u

/* A dictionary of CPython 3.11 to 3.13: cpython/dictobject.h, pycore_dict.h. */
enum { DICT_KEYS = 32, KEYS_INDEX_BITS = 9, KEYS_KIND = 10, KEYS_ENTRIES = 24, KEYS_INDICES = 32, ENTRY_VALUE = 16 };
enum { ENTRY_BYTES = 24, MOST_ENTRIES = 16 };

/* Address of the current tasks, and offsets of coroutine and name in a task; found once, then only read. */
static struct {
    uintptr_t tasks, text_type;
    size_t coroutine, name;
} layout;
static _Atomic bool is_known, is_wanted;

static uintptr_t word_in(const char *from)
{
    uintptr_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* Reads the values of the dictionary of current tasks; returns their number. */
static int current_tasks(uintptr_t *tasks)
{
    char head[KEYS_INDICES], entries[MOST_ENTRIES * ENTRY_BYTES];
    uintptr_t keys = 0;
    if (!python_read(&keys, layout.tasks + DICT_KEYS, sizeof keys) || keys == 0 ||
        !python_read(head, keys, sizeof head) || head[KEYS_KIND] != 0)
        return 0;
    unsigned index_bits = (uint8_t)head[KEYS_INDEX_BITS];
    uint64_t used = word_in(head + KEYS_ENTRIES);
    if (index_bits > 16 || used == 0)
        return 0;
    used = used < MOST_ENTRIES ? used : MOST_ENTRIES;
    if (!python_read(entries, keys + KEYS_INDICES + ((size_t)1 << index_bits), used * ENTRY_BYTES))
        return 0;
    int count = 0;
    for (uint64_t i = 0; i < used; i++)
        if ((tasks[count] = word_in(entries + i * ENTRY_BYTES + ENTRY_VALUE)) != 0)
            count++;
    return count;
}

/* Since 3.13 a default name is a number until it is asked for. */
static uint32_t name_of(uintptr_t name)
{
    char text[256];
    uintptr_t type = 0;
    uint32_t number = 0;
    if (name == 0 || !python_read(&type, name + 8, sizeof type))
        return 0;
    if (type == layout.text_type)
        return wl_intern(text, python_text(&python_layout, name, text, sizeof text));
    if (!python_read(&number, name + 24, sizeof number))
        return 0;
    return wl_intern(text, (size_t)snprintf(text, sizeof text, "Task-%u", number));
}

/* The task found for a frame. Memory of tasks, coroutines and names is used again, so a name is compared by content:
 * from its type on, behind its reference count. */
enum { NAME_TYPE = 8 };
struct known_task {
    uintptr_t frame, task, name;
    size_t size;
    char said[TASK_NAME_BYTES];
    uint32_t text;
};
/* A thread's next wait is mostly of the same task. */
static __thread struct known_task last __attribute__((tls_model("initial-exec")));
#define SAMPLED_TASKS 64u
static struct known_task sampled[SAMPLED_TASKS]; /* of the sampling thread */

/* Bytes of a name behind its reference count; 0 if too many to store. */
static size_t name_bytes(const char *said)
{
    if (word_in(said) != layout.text_type)
        return 28 - NAME_TYPE; /* up to the first digits of a number */
    uint64_t length = word_in(said + python_layout.text_length - NAME_TYPE);
    uint8_t state = (uint8_t)said[python_layout.text_state - NAME_TYPE];
    unsigned kind = state >> 2 & 7;
    size_t head = (state >> 6 & 1 ? python_layout.text_ascii : python_layout.text_compact) - NAME_TYPE;
    return length <= (TASK_NAME_BYTES - head) / (kind ? kind : 4) ? head + (size_t)length * kind : 0;
}

/* Called before the name is read for output: if it changes in between, the next comparison fails. */
static void keep(struct known_task *known, uintptr_t frame, uintptr_t task, uintptr_t name)
{
    known->frame = 0;
    known->task = task;
    known->name = name;
    if (python_read(known->said, name + NAME_TYPE, sizeof known->said) && (known->size = name_bytes(known->said)) != 0)
        known->frame = frame;
}

static int places_of(const struct known_task *known, uintptr_t frame, struct python_place *places)
{
    if (frame == 0 || frame != known->frame)
        return 0;
    places[0] = (struct python_place){known->task + layout.coroutine, 8};
    places[1] = (struct python_place){known->task + layout.name, 8};
    places[2] = (struct python_place){known->name + NAME_TYPE, known->size};
    return TASK_PLACES;
}

/* Whether the frame's task and its name are unchanged; `size` bytes were read to compare. */
static bool is_same(const struct known_task *known, uintptr_t frame, const struct task_identity *said, size_t size)
{
    return frame == known->frame && size == offsetof(struct task_identity, said) + known->size &&
           said->coroutine != 0 && frame - said->coroutine < COROUTINE_BYTES && said->name == known->name &&
           memcmp(said->said, known->said, known->size) == 0;
}

static uint32_t find_task(struct known_task *known, uintptr_t frame)
{
    uintptr_t tasks[MOST_ENTRIES];
    char task[TASK_BYTES];
    for (int count = current_tasks(tasks), i = 0; i < count; i++) {
        if (!python_read(task, tasks[i], sizeof task))
            continue;
        uintptr_t coroutine = word_in(task + layout.coroutine);
        if (coroutine != 0 && frame - coroutine < COROUTINE_BYTES) {
            uintptr_t name = word_in(task + layout.name);
            keep(known, frame, tasks[i], name);
            return known->text = name_of(name);
        }
    }
    return 0;
}

/* False until the layout of tasks is known; notes that it is wanted. */
static bool can_find(uintptr_t frame)
{
    if (frame != 0 && !atomic_load_explicit(&is_known, memory_order_acquire)) {
        atomic_store_explicit(&is_wanted, true, memory_order_relaxed);
        return false;
    }
    return frame != 0;
}

uint32_t task_of_frame(uintptr_t frame)
{
    struct python_place places[TASK_PLACES];
    struct task_identity said;
    if (!can_find(frame))
        return 0;
    int count = places_of(&last, frame, places); /* one system call; finding it takes six */
    size_t size = count != 0 ? python_read_most(&said, places, count) : 0;
    return is_same(&last, frame, &said, size) ? last.text : find_task(&last, frame);
}

static struct known_task *place_in_sampled(uintptr_t frame)
{
    return &sampled[(uint32_t)(frame >> 4) * 0x9e3779b1u >> 26];
}
_Static_assert(SAMPLED_TASKS == 1u << (32 - 26), "what is left of the product");

int task_places(uintptr_t frame, struct python_place *places)
{
    return places_of(place_in_sampled(frame), frame, places);
}

uint32_t task_of_sampled(uintptr_t frame, const struct task_identity *said, size_t size)
{
    if (!can_find(frame))
        return 0;
    struct known_task *known = place_in_sampled(frame);
    return is_same(known, frame, said, size) ? known->text : find_task(known, frame);
}

/* --- finding the layout, with the GIL held */

static struct {
    void *(*modules)(void);
    void *(*item)(void *, const char *);
    int (*next)(void *, ssize_t *, void **, void **);
    void *(*call)(void *, const char *, const char *, ...);
} py;

static bool find_functions(void)
{
    py.modules = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyImport_GetModuleDict");
    py.item = (void *(*)(void *, const char *))dlsym(RTLD_DEFAULT, "PyDict_GetItemString");
    py.next = (int (*)(void *, ssize_t *, void **, void **))dlsym(RTLD_DEFAULT, "PyDict_Next");
    py.call = (void *(*)(void *, const char *, const char *, ...))dlsym(RTLD_DEFAULT, "PyObject_CallMethod");
    return py.modules != NULL && py.item != NULL && py.next != NULL && py.call != NULL;
}

static size_t offset_of(const char *task, const void *what)
{
    for (size_t at = 16; what != NULL && at + 8 <= TASK_BYTES; at += 8)
        if (word_in(task + at) == (uintptr_t)what)
            return at;
    return 0;
}

/* Only for tasks of the built-in class: another may run the program's code. */
static void learn_from(void *tasks, void *class)
{
    void *key, *task = NULL;
    ssize_t at = 0;
    uintptr_t type = 0;
    char bytes[TASK_BYTES];
    if (!py.next(tasks, &at, &key, &task) || !python_read(&type, (uintptr_t)task + 8, sizeof type) ||
        type != (uintptr_t)class)
        return;
    void *coroutine = py.call(task, "get_coro", NULL), *name = py.call(task, "get_name", NULL);
    if (python_read(bytes, (uintptr_t)task, sizeof bytes) && name != NULL) {
        layout.coroutine = offset_of(bytes, coroutine);
        layout.name = offset_of(bytes, name);
        layout.tasks = (uintptr_t)tasks;
        python_read(&layout.text_type, (uintptr_t)name + 8, sizeof layout.text_type);
        uintptr_t found[MOST_ENTRIES];
        bool is_seen = false;
        for (int count = current_tasks(found), i = 0; i < count; i++)
            is_seen |= found[i] == (uintptr_t)task;
        if (layout.coroutine != 0 && layout.name != 0 && is_seen)
            atomic_store_explicit(&is_known, true, memory_order_release);
    }
    if (coroutine != NULL)
        python.release(coroutine);
    if (name != NULL)
        python.release(name);
}

static void learn(void)
{
    if (atomic_load(&is_known))
        return;
    void *module = py.item(py.modules(), "_asyncio"); /* borrowed */
    void *tasks = module ? python.attribute(module, "_current_tasks") : NULL;
    void *class = module ? python.attribute(module, "Task") : NULL;
    if (tasks != NULL && class != NULL)
        learn_from(tasks, class);
    python.clear_error();
    if (class != NULL)
        python.release(class);
    if (tasks != NULL)
        python.release(tasks); /* still referenced by the module */
}

/* --- only when the module `_asyncio` is loaded */

static _Atomic int looking_in; /* the process that does it: a fork leaves it behind */
static _Atomic bool is_loaded;

/* Runs in Python's main thread: a built-in module has no file. */
static int look(void *unused)
{
    (void)unused;
    wl_quiet++;
    if (py.item(py.modules(), "_asyncio") != NULL)
        atomic_store(&is_loaded, true);
    atomic_store(&looking_in, 0);
    wl_quiet--;
    return 0;
}

static int is_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    return name != NULL && strncmp(name, "/_asyncio.", strlen("/_asyncio.")) == 0;
}

static bool find_module(uint64_t now, int process)
{
    static uint64_t not_before_ns;
    if (atomic_load(&is_loaded) || now < not_before_ns)
        return atomic_load(&is_loaded);
    not_before_ns = now + LOOK_PAUSE_NS;
    if (dl_iterate_phdr(is_module, NULL) != 0)
        atomic_store(&is_loaded, true);
    else if (atomic_exchange(&looking_in, process) != process && python.add_pending_call(look, NULL) != 0)
        atomic_store(&looking_in, 0);
    return atomic_load(&is_loaded);
}

/* Not a pending call: 3.11 runs those only after the main thread has waited, thus outside of all tasks. And the loop
 * may be in another thread, while the main one waits for it. */
static struct gil_work learning = {.run = learn};

void tasks_find(uint64_t now)
{
    static uint64_t not_before_ns;
    static unsigned tries;
    if (!atomic_load_explicit(&is_wanted, memory_order_relaxed) || atomic_load(&is_known) || now < not_before_ns ||
        tries >= MOST_TRIES || python_layout.minor > 13 || !python_is_readable() || !find_functions())
        return;
    not_before_ns = now + PAUSE_NS;
    if (!find_module(now, (int)getpid()))
        return;
    tries++;
    gil_work_request(&learning);
}
