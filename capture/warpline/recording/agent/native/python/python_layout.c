/* Offsets of 3.11 and 3.12 come from a table; later versions publish them in `_Py_DebugOffsets`, at the beginning of
 * `_PyRuntime` (pycore_debug_offsets.h). */
#define _GNU_SOURCE
#include "python_layout.h"
#include "python_code.h"
#include "python_memory.h"
#include "python_offsets.h"
#include "spool.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct python_layout python_layout;
struct python_functions python;
static _Atomic int state = PYTHON_UNKNOWN;
static char refusal[160];

enum python_state python_state(void) { return (enum python_state)atomic_load_explicit(&state, memory_order_acquire); }

const char *python_refusal(void) { return refusal; }

static void *symbol(const char *name) { return dlsym(RTLD_DEFAULT, name); }

static int not_finalizing(void) { return 0; }

bool python_find(void)
{
    if (python.runtime != NULL)
        return true;
    char *runtime = symbol("_PyRuntime");
    if (runtime == NULL)
        return false; /* most programs; each missing name costs the loader microseconds */
    python.version = symbol("Py_GetVersion");
    python.is_initialized = symbol("Py_IsInitialized");
    python.is_finalizing = symbol("Py_IsFinalizing");
    if (python.is_finalizing == NULL)
        python.is_finalizing = symbol("_Py_IsFinalizing");
    if (python.is_finalizing == NULL)
        python.is_finalizing = not_finalizing;
    python.this_thread_state = symbol("PyGILState_GetThisThreadState");
    python.ensure_gil = symbol("PyGILState_Ensure");
    python.release_gil = symbol("PyGILState_Release");
    python.add_pending_call = symbol("Py_AddPendingCall");
    python.current_frame = symbol("PyEval_GetFrame");
    python.frame_code = symbol("PyFrame_GetCode");
    python.frame_line = symbol("PyFrame_GetLineNumber");
    python.attribute = symbol("PyObject_GetAttrString");
    python.text_utf8 = symbol("PyUnicode_AsUTF8");
    python.release = symbol("Py_DecRef");
    python.clear_error = symbol("PyErr_Clear");
    if (python.version == NULL || python.is_initialized == NULL || python.this_thread_state == NULL ||
        python.add_pending_call == NULL || python.ensure_gil == NULL || python.release_gil == NULL ||
        python.current_frame == NULL || python.frame_code == NULL || python.frame_line == NULL ||
        python.attribute == NULL || python.text_utf8 == NULL || python.release == NULL || python.clear_error == NULL)
        return false;
    Dl_info info;
    const ElfW(Sym) *found = NULL;
    if (dladdr1(runtime, &info, (void **)&found, RTLD_DL_SYMENT) && found != NULL && info.dli_saddr == runtime)
        python.runtime_size = found->st_size;
    python.runtime = runtime;
    return true;
}

static struct python_layout from_published(const struct published *groups, const uint64_t *fields)
{
    struct python_layout layout = {.minor = groups->minor};
#define SET(name, group, place, added) layout.name = fields[groups->group + place] + added;
    PUBLISHED_FIELDS(SET)
#undef SET
    return layout;
}

static uintptr_t read_pointer(uintptr_t from)
{
    uintptr_t value = 0;
    return python_read(&value, from, sizeof value) ? value : 0;
}

/* This thread's innermost Python frame according to `layout`; 0 if it finds none. */
static uintptr_t innermost_frame(const struct python_layout *layout)
{
    uintptr_t thread = (uintptr_t)python.this_thread_state();
    if (thread == 0)
        return 0;
    uintptr_t frame;
    if (layout->thread_frame != 0)
        frame = read_pointer(thread + layout->thread_frame);
    else
        frame = read_pointer(read_pointer(thread + layout->thread_cframe) + layout->cframe_frame);
    for (int depth = 0; frame != 0 && depth < 8; depth++) {
        uint8_t owner = 0;
        if (!python_read(&owner, frame + layout->frame_owner, 1))
            return 0;
        if (owner < 3)
            return frame;
        frame = read_pointer(frame + layout->frame_previous);
    }
    return 0;
}

static bool reads_name(const struct python_layout *layout, uintptr_t code, const char *name)
{
    uintptr_t text = read_pointer(code + layout->code_qualname);
    size_t length = strlen(name);
    char found[256];
    if (text == 0 || length >= sizeof found || read_pointer(text + layout->text_length) != length)
        return false;
    return python_read(found, text + layout->text_ascii, length) && memcmp(found, name, length) == 0;
}

/* Whether `layout` finds the same frame, name and line as the interpreter's own functions do. */
static bool agrees(const struct python_layout *layout, void *code, const char *name, int line)
{
    uintptr_t frame = innermost_frame(layout);
    return frame != 0 && (read_pointer(frame + layout->frame_code) & ~(uintptr_t)7) == (uintptr_t)code &&
           reads_name(layout, (uintptr_t)code, name) &&
           python_code_line(layout, (uintptr_t)code, read_pointer(frame + layout->frame_instruction)) == line;
}

static bool choose(void *code, const char *name, int line, int minor)
{
    for (size_t i = 0; i < sizeof offset_tables / sizeof offset_tables[0]; i++)
        if (offset_tables[i].minor == minor && agrees(&offset_tables[i], code, name, line)) {
            python_layout = offset_tables[i];
            return true;
        }
    uint64_t fields[96];
    if (!python_read(fields, (uintptr_t)python.runtime, sizeof fields) || memcmp(fields, "xdebugpy", 8) != 0)
        return false;
    if (fields[2] != 0) {
        snprintf(refusal, sizeof refusal, "free-threaded Python 3.%d", minor);
        return false;
    }
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        if (published[i].minor != minor)
            continue;
        struct python_layout layout = from_published(&published[i], fields);
        if (agrees(&layout, code, name, line)) {
            python_layout = layout;
            return true;
        }
    }
    return false;
}

static void refuse(const char *what)
{
    if (refusal[0] == 0)
        snprintf(refusal, sizeof refusal, "%s", what);
    atomic_store_explicit(&state, PYTHON_UNSUPPORTED, memory_order_release);
}

void python_layout_verify(void)
{
    if (python_state() != PYTHON_UNKNOWN)
        return;
    int major = 0, minor = 0;
    sscanf(python.version(), "%d.%d", &major, &minor);
    if (sizeof(void *) != 8 || major != 3 || minor < 11 || minor > 15) {
        char text[80];
        snprintf(text, sizeof text, "Python %d.%d: stacks are known of 3.11 to 3.15", major, minor);
        refuse(text);
        return;
    }
    void *frame = python.current_frame(); /* borrowed */
    if (frame == NULL)
        return; /* no Python function runs yet: try again later */
    void *code = python.frame_code(frame);
    void *qualname = code ? python.attribute(code, "co_qualname") : NULL;
    const char *name = qualname ? python.text_utf8(qualname) : NULL;
    bool is_known = name != NULL && choose(code, name, python.frame_line(frame), minor);
    if (qualname != NULL)
        python.release(qualname);
    if (code != NULL)
        python.release(code);
    python.clear_error();
    if (!is_known) {
        char text[80];
        snprintf(text, sizeof text, "Python 3.%d: this build lays out its frames in another way", minor);
        refuse(text);
        return;
    }
    atomic_store_explicit(&state, PYTHON_READY, memory_order_release);
}
