"""Layouts of records of frameworks (docs/spool.md). The agent's ``records.h`` is generated from them."""

from __future__ import annotations

from enum import IntEnum

from warpline.recording.spool.record_layout import RecordLayout

FRAMEWORK_RANGE = 700
FRAMEWORK_MODULE = 701

framework_range = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("value", "<i8"),
        ("kind", "<u4"),
        ("name", "<u4"),
        ("detail", "<u4"),
        ("step", "<u4"),
    ]
)
framework_module = RecordLayout(
    [("start_ns", "<u8"), ("end_ns", "<u8"), ("path", "<u4"), ("class_name", "<u4")]
)


class RangeKind(IntEnum):
    """The kind of a range, as in the hooks (``hooks/inside/``)."""

    LOADER = 1
    """A wait for a batch; its value identifies the iterator, its detail is 1 if there was no further batch."""
    FORWARD = 2
    EVALUATION = 3
    BACKWARD = 4
    OPTIMIZER = 5
    """Its value identifies the optimiser."""
    COMMUNICATION = 6
    CHECKPOINT = 7
    PART = 8
    """Part of something else, such as making a batch; its detail is a text with the place. Its value is 1 if the script
    named it."""
    MEMORY = 9
    """Not a range but a number of bytes at its end: its value; the device is its detail, the counter its name."""
    KEPT = 10
    """Bytes of a device's memory (its detail) that the enclosing call of a module (its name) keeps."""
    STEP = 11
    """A whole step in one call, as in a static graph; its value identifies the graph."""


HOST = 0xFFFFFFFF
"""The device number of host memory."""
