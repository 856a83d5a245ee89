/* Where things lie inside CPython. Written from interpreter_offsets.py by
 * `python scripts/write_native_headers.py`; a test compares it. */
#ifndef WARPLINE_PYTHON_OFFSETS_H
#define WARPLINE_PYTHON_OFFSETS_H

#include "python_layout.h"

/* clang-format off */
static const struct python_layout offset_tables[] = {
    {
        .minor = 11, .interpreters_head = 40, .interpreter_next = 0, .threads_head = 16,
        .thread_next = 8, .thread_native_id = 160, .thread_chunk = 296, .thread_frame = 0,
        .thread_cframe = 56, .cframe_frame = 8, .frame_code = 32, .frame_instruction = 56,
        .frame_previous = 48, .frame_owner = 69, .code_filename = 112, .code_qualname = 128,
        .code_linetable = 136, .code_first_line = 72, .code_instructions = 184, .text_ascii = 48,
        .text_compact = 72, .bytes_size = 16, .bytes_data = 32, .text_length = 16, .text_state = 32
    },
    {
        .minor = 12, .interpreters_head = 40, .interpreter_next = 0, .threads_head = 72,
        .thread_next = 8, .thread_native_id = 144, .thread_chunk = 232, .thread_frame = 0,
        .thread_cframe = 56, .cframe_frame = 0, .frame_code = 0, .frame_instruction = 56,
        .frame_previous = 8, .frame_owner = 70, .code_filename = 112, .code_qualname = 128,
        .code_linetable = 136, .code_first_line = 68, .code_instructions = 192, .text_ascii = 40,
        .text_compact = 56, .bytes_size = 16, .bytes_data = 32, .text_length = 16, .text_state = 32
    },
};

/* Where groups of fields begin in `_Py_DebugOffsets`, in fields of 8 bytes. */
static const struct published {
    int minor;
    uint8_t runtime, interpreter, thread, ids, frame, code, bytes, text;
} published[] = {
    {.minor = 13, .runtime = 0, .interpreter = 6, .thread = 19, .ids = 24, .frame = 28, .code = 34, .bytes = 64, .text = 67},
    {.minor = 14, .runtime = 0, .interpreter = 6, .thread = 22, .ids = 27, .frame = 31, .code = 39, .bytes = 74, .text = 77},
    {.minor = 14, .runtime = 0, .interpreter = 6, .thread = 20, .ids = 25, .frame = 29, .code = 36, .bytes = 70, .text = 73},
    {.minor = 15, .runtime = 0, .interpreter = 6, .thread = 22, .ids = 30, .frame = 39, .code = 47, .bytes = 86, .text = 89},
};

/* FIELD(name, group, place in the group, bytes to add) */
#define PUBLISHED_FIELDS(FIELD) \
    FIELD(interpreters_head, runtime, 5, 0) \
    FIELD(interpreter_next, interpreter, 2, 0) \
    FIELD(threads_head, interpreter, 3, 0) \
    FIELD(thread_next, thread, 2, 0) \
    FIELD(thread_native_id, ids, 1, 0) \
    FIELD(thread_chunk, ids, 2, 0) \
    FIELD(thread_frame, thread, 4, 0) \
    FIELD(frame_code, frame, 2, 0) \
    FIELD(frame_instruction, frame, 3, 0) \
    FIELD(frame_previous, frame, 1, 0) \
    FIELD(frame_owner, frame, 5, 0) \
    FIELD(code_filename, code, 1, 0) \
    FIELD(code_qualname, code, 3, 0) \
    FIELD(code_linetable, code, 4, 0) \
    FIELD(code_first_line, code, 5, 0) \
    FIELD(code_instructions, code, 9, 0) \
    FIELD(bytes_size, bytes, 1, 0) \
    FIELD(bytes_data, bytes, 2, 0) \
    FIELD(text_length, text, 2, 0) \
    FIELD(text_state, text, 1, 0) \
    FIELD(text_ascii, text, 3, 0) \
    FIELD(text_compact, text, 3, 16)
/* clang-format on */

#endif
