"""Where things lie inside CPython, for the agent and for reading from outside.

`scripts/write_native_headers.py` writes the agent's ``python_offsets.h`` from these tables. The offsets are those of
CPython's internal headers (pycore_frame.h, cpython/code.h …) on 64-bit systems. From 3.13 on the interpreter publishes
them: `_Py_DebugOffsets` at the beginning of `_PyRuntime` (pycore_debug_offsets.h).
"""

from __future__ import annotations

from collections.abc import Mapping

_SHARED = {"bytes_size": 16, "bytes_data": 32, "text_length": 16, "text_state": 32}
OFFSETS: Mapping[int, Mapping[str, int]] = {
    11: {
        "interpreters_head": 40, "interpreter_next": 0, "threads_head": 16, "thread_next": 8, "thread_native_id": 160,
        "thread_chunk": 296, "thread_frame": 0, "thread_cframe": 56, "cframe_frame": 8, "frame_code": 32,
        "frame_instruction": 56, "frame_previous": 48, "frame_owner": 69, "code_filename": 112, "code_qualname": 128,
        "code_linetable": 136, "code_first_line": 72, "code_instructions": 184, "text_ascii": 48, "text_compact": 72,
        **_SHARED,
    },
    12: {
        "interpreters_head": 40, "interpreter_next": 0, "threads_head": 72, "thread_next": 8, "thread_native_id": 144,
        "thread_chunk": 232, "thread_frame": 0, "thread_cframe": 56, "cframe_frame": 0, "frame_code": 0,
        "frame_instruction": 56, "frame_previous": 8, "frame_owner": 70, "code_filename": 112, "code_qualname": 128,
        "code_linetable": 136, "code_first_line": 68, "code_instructions": 192, "text_ascii": 40, "text_compact": 56,
        **_SHARED,
    },
}  # fmt: skip
"""Bytes, by minor version. `thread_frame` is 0 where a thread's frame is found through its C frame."""

GROUPS = ("runtime", "interpreter", "thread", "ids", "frame", "code", "bytes", "text")
PUBLISHED: tuple[tuple[int, tuple[int, ...]], ...] = (
    (13, (0, 6, 19, 24, 28, 34, 64, 67)),
    (14, (0, 6, 22, 27, 31, 39, 74, 77)),  # 3.14.0: fields for thread-local bytecode in three groups
    (14, (0, 6, 20, 25, 29, 36, 70, 73)),  # its betas
    (15, (0, 6, 22, 30, 39, 47, 86, 89)),  # 3.15.2: three more fields before a thread's ids
)
"""Minor version, and where each of `GROUPS` begins in `_Py_DebugOffsets`, in fields of 8 bytes."""
FIELDS: Mapping[str, tuple[str, int, int]] = {
    "interpreters_head": ("runtime", 5, 0),
    "interpreter_next": ("interpreter", 2, 0),
    "threads_head": ("interpreter", 3, 0),
    "thread_next": ("thread", 2, 0),
    "thread_native_id": ("ids", 1, 0),
    "thread_chunk": ("ids", 2, 0),
    "thread_frame": ("thread", 4, 0),
    "frame_code": ("frame", 2, 0),
    "frame_instruction": ("frame", 3, 0),
    "frame_previous": ("frame", 1, 0),
    "frame_owner": ("frame", 5, 0),
    "code_filename": ("code", 1, 0),
    "code_qualname": ("code", 3, 0),
    "code_linetable": ("code", 4, 0),
    "code_first_line": ("code", 5, 0),
    "code_instructions": ("code", 9, 0),
    "bytes_size": ("bytes", 1, 0),
    "bytes_data": ("bytes", 2, 0),
    "text_length": ("text", 2, 0),
    "text_state": ("text", 1, 0),
    "text_ascii": ("text", 3, 0),
    "text_compact": ("text", 3, 16),
}
"""Group, place in it, and bytes to add, of each published offset."""
