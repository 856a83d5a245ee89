"""Layouts of the records of native stacks in spool files; docs/spool.md lists them."""

from __future__ import annotations

import numpy as np

NATIVE_SAMPLE = 130
NATIVE_STACK = 131
NATIVE_MODULE = 132
NATIVE_IMAGE = 133
NATIVE_MEMORY = 134

native_sample = np.dtype(
    [("time_ns", "<u8"), ("pid", "<u4"), ("tid", "<u4"), ("stack", "<u4"), ("cpu", "<u4")]
)
"""A sample whose chain the kernel found by frame pointers."""
native_memory = np.dtype(
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
"""A sample with registers; ``size`` bytes from the stack pointer on follow, padded to 8. ``stack`` is the part of the
chain that lies in the kernel (0: none)."""
native_stack = np.dtype([("stack", "<u4"), ("parent", "<u4"), ("address", "<u8")])
"""One address on the stack ``parent`` (0: none), which called it."""
native_module = np.dtype(
    [
        ("time_ns", "<u8"),
        ("start", "<u8"),
        ("size", "<u8"),
        ("offset", "<u8"),
        ("pid", "<u4"),
        ("path", "<u4"),
    ]
)
"""Executable memory of a process: where it begins, and which part of which file lies there."""
native_image = np.dtype([("time_ns", "<u8"), ("pid", "<u4"), ("parent", "<u4")])
"""The memory of a process begins anew: as a copy of that of ``parent``, or empty where that is 0 (a program began)."""
