"""Layouts of the records of perf in spool files; docs/spool.md lists them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

SWITCH = 100
LOST = 101

switch = RecordLayout(
    [
        ("type", "<u4"),
        ("misc", "<u2"),
        ("size", "<u2"),
        ("pid", "<u4"),
        ("tid", "<u4"),
        ("time_ns", "<u8"),
        ("cpu", "<u4"),
        ("reserved", "<u4"),
    ]
)
"""PERF_RECORD_SWITCH with its sample id, as the kernel writes it (linux/perf_event.h)."""
lost = RecordLayout([("time_ns", "<u8"), ("count", "<u8"), ("cpu", "<u4"), ("reserved", "<u4")])
