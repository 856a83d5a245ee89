"""Layouts of the records of native stacks in spool files; docs/spool.md lists them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

NATIVE_SAMPLE = 130
NATIVE_STACK = 131
NATIVE_MODULE = 132
NATIVE_IMAGE = 133
NATIVE_MEMORY = 134

native_sample = RecordLayout(
    [("time_ns", "<u8"), ("pid", "<u4"), ("tid", "<u4"), ("stack", "<u4"), ("cpu", "<u4")]
)
"""A sample whose chain the kernel unwound by frame pointers."""
native_memory = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("stack", "<u4"),
        ("cpu", "<u4"),
        ("frame_pointer", "<u8"),
        ("stack_pointer", "<u8"),
        ("address", "<u8"),
        ("size", "<u8"),
    ]
)
"""A sample with registers; ``size`` bytes of the stack follow, padded to 8. ``stack`` is the kernel's part of the chain
(0: none)."""
native_stack = RecordLayout([("stack", "<u4"), ("parent", "<u4"), ("address", "<u8")])
"""One address, called from the stack ``parent`` (0: none)."""
native_module = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("start", "<u8"),
        ("size", "<u8"),
        ("offset", "<u8"),
        ("pid", "<u4"),
        ("path", "<u4"),
    ]
)
"""An executable mapping of a process: its address, and the mapped part of a file."""
native_image = RecordLayout([("time_ns", "<u8"), ("pid", "<u4"), ("parent", "<u4")])
"""A new address space of a process: a copy of ``parent``'s after a fork, or empty after an exec (``parent`` is 0)."""
