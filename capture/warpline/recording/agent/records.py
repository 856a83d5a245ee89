"""Layouts of the records of waits and stacks (docs/spool.md). The agent's ``records.h`` is written from them."""

from __future__ import annotations

from enum import IntEnum

from warpline.recording.spool.record_layout import RecordLayout

OSRT_CALL = 400
OSRT_RELEASE = 401
OSRT_WAITING = 402
OSRT_COUNT = 403
CLOSED_PROGRAM = 124

PYTHON_CODE = 500
PYTHON_STACK = 501
PYTHON_SAMPLE = 502
PYTHON_THREAD_NAME = 503
PYTHON_TASK = 504


osrt_call = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("object", "<u8"),
        ("result", "<i8"),
        ("function", "<u4"),
        ("stack", "<u4"),
        ("text", "<u4"),
        ("holder", "<u4"),
        ("caller", "<u4"),
        ("task", "<u4"),
    ]
)
RELEASED_BY_CALLER = 1 << 31
"""In ``function`` of a release: it has no Python stack, ``stack`` is the text of its native caller."""
osrt_release = RecordLayout([("time_ns", "<u8"), ("object", "<u8"), ("function", "<u4"), ("stack", "<u4")])
osrt_waiting = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("object", "<u8"),
        ("tid", "<u4"),
        ("function", "<u4"),
        ("text", "<u4"),
        ("holder", "<u4"),
        ("caller", "<u4"),
        ("reserved", "<u4", (5,)),
    ]
)
osrt_count = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("bytes", "<u8"),
        ("function", "<u4"),
        ("stack", "<u4"),
        ("caller", "<u4"),
        ("count", "<u4"),
    ]
)

closed_program = RecordLayout([("pid", "<u4"), ("why", "<u4"), ("path", "<u4"), ("reserved", "<u4")])
"""A program that the agent cannot enter; ``why`` is a `Closed`."""


class Closed(IntEnum):
    """Why the agent cannot enter a program."""

    OPEN = 0
    STATIC = 1
    OTHER_MACHINE = 2
    NOT_OURS = 3


python_code = RecordLayout([("code", "<u4"), ("name", "<u4"), ("file", "<u4"), ("first_line", "<i4")])
python_stack = RecordLayout([("stack", "<u4"), ("parent", "<u4"), ("code", "<u4"), ("line", "<i4")])
python_sample = RecordLayout([("time_ns", "<u8"), ("tid", "<u4"), ("stack", "<u4")])
python_thread_name = RecordLayout([("time_ns", "<u8"), ("tid", "<u4"), ("name", "<u4")])
python_task = python_thread_name
