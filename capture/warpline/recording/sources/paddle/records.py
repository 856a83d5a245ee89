"""Layouts of records of Paddle's events (docs/spool.md). The agent's ``records.h`` is generated from them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

FRAMEWORK_EVENT = 704
FRAMEWORK_INPUT = 705
"""Shapes of an event's inputs; the event is that of the same thread and start."""
FRAMEWORK_MEMORY = 706
"""An allocation or release: Paddle's numbers of the operation and of the type of place."""

framework_event = RecordLayout([("start_ns", "<u8"), ("end_ns", "<u8"), ("name", "<u4"), ("type", "<u4")])
framework_input = RecordLayout([("start_ns", "<u8"), ("shapes", "<u4"), ("reserved", "<u4")])
framework_memory = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("address", "<u8"),
        ("bytes", "<u8"),
        ("operation", "u1"),
        ("place_type", "u1"),
        ("device", "u1"),
        ("reserved", "u1"),
        ("reserved_too", "<u4"),
    ]
)
