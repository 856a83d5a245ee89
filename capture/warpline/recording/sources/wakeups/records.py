"""Layouts of the records of wake-ups in spool files; docs/spool.md lists them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

WAKING = 107

waking = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("waker_pid", "<u4"),
        ("waker_tid", "<u4"),
        ("tid", "<u4"),
        ("cpu", "<u4"),
    ]
)
