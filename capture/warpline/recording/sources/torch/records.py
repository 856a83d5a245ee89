"""Layouts of records of operators (docs/spool.md). The agent's ``records.h`` is generated from them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

FRAMEWORK_OPERATOR = 702
FRAMEWORK_SHAPED = 703

framework_operator = RecordLayout(
    [("start_ns", "<u8"), ("end_ns", "<u8"), ("sequence", "<i8"), ("name", "<u4"), ("thread", "<u4")]
)
framework_shaped = RecordLayout(
    [
        ("start_ns", "<u8"),
        ("end_ns", "<u8"),
        ("sequence", "<i8"),
        ("flops", "<i8"),
        ("name", "<u4"),
        ("thread", "<u4"),
        ("tid", "<u4"),
        ("shapes", "<u4"),
        ("types", "<u4"),
        ("reserved", "<u4"),
    ]
)
