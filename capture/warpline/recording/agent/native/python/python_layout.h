/* Offsets inside CPython: 3.11 and 3.12 by table, 3.13 and later as the interpreter publishes them. Nothing uses them
 * before `python_layout_verify` has read a known frame correctly. */
#ifndef WARPLINE_PYTHON_LAYOUT_H
#define WARPLINE_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_layout {
    int minor;
    size_t interpreters_head, interpreter_next, threads_head;
    size_t thread_next, thread_native_id;
    size_t thread_chunk; /* memory with most of a thread's frames */
    size_t thread_frame; /* 3.13 and later; earlier versions use the C frame: */
    size_t thread_cframe, cframe_frame;
    size_t frame_code, frame_instruction, frame_previous, frame_owner;
    size_t code_filename, code_qualname, code_linetable, code_first_line, code_instructions;
    size_t bytes_size, bytes_data;
    size_t text_length, text_state, text_ascii, text_compact;
};

/* Functions of this process's Python, looked up by name; NULL if absent. */
struct python_functions {
    const char *(*version)(void);
    int (*is_initialized)(void);
    int (*is_finalizing)(void);
    void *(*this_thread_state)(void);
    int (*ensure_gil)(void);
    void (*release_gil)(int);
    int (*add_pending_call)(int (*)(void *), void *);
    void *(*current_frame)(void);
    void *(*frame_code)(void *);
    int (*frame_line)(void *);
    void *(*attribute)(void *, const char *);
    const char *(*text_utf8)(void *);
    void (*release)(void *);
    void (*clear_error)(void);
    char *runtime;
    size_t runtime_size; /* contains the first interpreter and its first thread; never freed */
};

enum python_state {
    PYTHON_UNKNOWN,     /* not looked up yet, or Python has not started */
    PYTHON_ABSENT,      /* no Python in this process */
    PYTHON_UNSUPPORTED, /* unknown version or build; see `python_refusal` */
    PYTHON_READY,
};

extern struct python_layout python_layout;
extern struct python_functions python;

enum python_state python_state(void);
/* Looks up the functions; false if this process has no Python. */
bool python_find(void);
/* Chooses the layout and checks it against a frame that the interpreter describes itself. Call it with the GIL,
 * inside a Python function or at the start of a program. */
void python_layout_verify(void);
const char *python_refusal(void);

/* Whether frames may be walked now: the layout is known, and the interpreter is neither starting nor ending. */
static inline bool python_is_readable(void)
{
    return python_state() == PYTHON_READY && python.is_initialized() && !python.is_finalizing();
}

#endif
