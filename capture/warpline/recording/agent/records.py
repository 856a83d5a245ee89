"""Layouts of the records of waits and stacks: ``native/records.h`` in numpy's words; docs/spool.md lists them."""

from __future__ import annotations

import numpy as np

OSRT_CALL = 400
OSRT_RELEASE = 401
OSRT_WAITING = 402

PYTHON_CODE = 500
PYTHON_STACK = 501
PYTHON_SAMPLE = 502


osrt_call = np.dtype(
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
        ("reserved", "<u4"),
    ]
)
osrt_release = np.dtype([("time_ns", "<u8"), ("object", "<u8"), ("function", "<u4"), ("stack", "<u4")])
osrt_waiting = np.dtype(
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

python_code = np.dtype([("code", "<u4"), ("name", "<u4"), ("file", "<u4"), ("first_line", "<i4")])
python_stack = np.dtype([("stack", "<u4"), ("parent", "<u4"), ("code", "<u4"), ("line", "<i4")])
python_sample = np.dtype([("time_ns", "<u8"), ("tid", "<u4"), ("stack", "<u4")])
