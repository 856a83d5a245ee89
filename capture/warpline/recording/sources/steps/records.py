"""Layouts of the records of frameworks (docs/spool.md). The agent's ``records.h`` is written from them."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

FRAMEWORK_RANGE = 700
FRAMEWORK_MODULE = 701

framework_range = np.dtype(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("value", "<i8"),
        ("kind", "<u4"),
        ("name", "<u4"),
        ("detail", "<u4"),
        ("reserved", "<u4"),
    ]
)
framework_module = np.dtype([("start_ns", "<u8"), ("end_ns", "<u8"), ("path", "<u4"), ("class_name", "<u4")])


class RangeKind(IntEnum):
    """What a range is, as the hooks say (``inside/``)."""

    LOADER = 1
    """A wait for a batch; its value tells iterators apart, its detail is 1 when there was no further batch."""
    FORWARD = 2
    EVALUATION = 3
    BACKWARD = 4
    OPTIMIZER = 5
    """Its value tells optimisers apart."""
    COMMUNICATION = 6
    CHECKPOINT = 7
    PART = 8
    """Part of something else, as of making a batch; its detail is a text that tells where. Its value is 1 where the
    script named it."""
    MEMORY = 9
    """No range but bytes at its end: its value, of the device that is its detail; its name says which."""
    KEPT = 10
    """What the call of a module (its name) around it keeps of the memory of a device (its detail): bytes."""
    STEP = 11
    """A whole step in one call, as a static graph has it; its value tells graphs apart."""


HOST = 0xFFFFFFFF
"""The device whose memory is the C library's."""
