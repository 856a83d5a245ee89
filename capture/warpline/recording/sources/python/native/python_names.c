#define _GNU_SOURCE
#include "python_names.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "gil_work.h"
#include "python_layout.h"

#define SEEN 8192u
#define PAUSE_NS 100000000u

/* Part of the stable ABI; called with the GIL held. */
static struct {
    void *(*modules)(void);
    void *(*item)(void *, const char *);
    void *(*attribute)(void *, const char *);
    int (*next)(void *, ssize_t *, void **, void **);
    unsigned long long (*number)(void *);
} py;

static uint32_t seen[SEEN]; /* open addressing; 0 is free. Used by our own thread alone */
static uint32_t seen_count;
static bool has_new;
static uint64_t not_before_ns;

/* Names found under the GIL; our own thread writes them. */
static struct {
    uint32_t tid, name;
} found[SEEN / 2];
static uint32_t found_count;
static _Atomic bool is_found;

static bool find_functions(void)
{
    if (py.number != NULL)
        return true;
    py.modules = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyImport_GetModuleDict");
    py.item = (void *(*)(void *, const char *))dlsym(RTLD_DEFAULT, "PyDict_GetItemString");
    py.attribute = (void *(*)(void *, const char *))dlsym(RTLD_DEFAULT, "PyObject_GetAttrString");
    py.next = (int (*)(void *, ssize_t *, void **, void **))dlsym(RTLD_DEFAULT, "PyDict_Next");
    if (py.modules == NULL || py.item == NULL || py.attribute == NULL || py.next == NULL)
        return false;
    py.number = (unsigned long long (*)(void *))dlsym(RTLD_DEFAULT, "PyLong_AsUnsignedLongLong");
    return py.number != NULL;
}

void names_wait_until(uint64_t time_ns)
{
    not_before_ns = time_ns;
    atomic_store(&is_found, false);
}

void names_note_thread(uint32_t tid)
{
    uint32_t i = tid * 0x9e3779b1u % SEEN;
    while (seen[i] != 0 && seen[i] != tid)
        i = (i + 1) % SEEN;
    if (seen[i] == tid)
        return;
    if (seen_count == SEEN / 2) { /* thousands of threads have ended: start again */
        memset(seen, 0, sizeof seen);
        seen_count = 0;
        i = tid * 0x9e3779b1u % SEEN;
    }
    seen[i] = tid;
    seen_count++;
    has_new = true;
}

static void write_name(struct writer *writer, uint64_t now, uint32_t tid, uint32_t name)
{
    struct record_python_thread_name *to = WL_RESERVE(writer, SLOT_PYTHON_THREAD_NAME, record_python_thread_name);
    if (to == NULL)
        return;
    *to = (struct record_python_thread_name){now, tid, name};
    WL_COMMIT(writer, SLOT_PYTHON_THREAD_NAME, record_python_thread_name);
}

/* threading._active maps threads to their objects. We never import threading ourselves. */
static void find_all(void)
{
    if (atomic_load(&is_found))
        return;
    found_count = 0;
    void *module = py.item(py.modules(), "threading"); /* borrowed */
    void *active = module ? py.attribute(module, "_active") : NULL;
    void *key, *thread;
    for (ssize_t at = 0; active != NULL && py.next(active, &at, &key, &thread);) {
        void *id = py.attribute(thread, "_native_id"), *name = py.attribute(thread, "_name");
        const char *text = name ? python.text_utf8(name) : NULL;
        unsigned long long tid = id ? py.number(id) : 0;
        if (text != NULL && tid != 0 && tid <= UINT32_MAX && found_count < SEEN / 2) {
            found[found_count].tid = (uint32_t)tid;
            found[found_count++].name = wl_intern(text, strlen(text));
        }
        python.clear_error();
        if (id != NULL)
            python.release(id);
        if (name != NULL)
            python.release(name);
    }
    if (active != NULL)
        python.release(active);
    python.clear_error();
    atomic_store(&is_found, true);
}

static struct gil_work finding = {.run = find_all};

void names_write_new(struct writer *writer, uint64_t now)
{
    if (atomic_load(&is_found)) {
        for (uint32_t i = 0; i < found_count; i++)
            write_name(writer, now, found[i].tid, found[i].name);
        atomic_store(&is_found, false);
    }
    if (!has_new || now < not_before_ns || atomic_load(&finding.is_asked_in) == (int)getpid() ||
        !python_is_readable() || !find_functions())
        return;
    has_new = false;
    not_before_ns = now + PAUSE_NS;
    gil_work_request(&finding);
}
