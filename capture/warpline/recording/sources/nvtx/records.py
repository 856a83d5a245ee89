"""Layouts of records of NVTX (docs/spool.md). The agent's ``records.h`` is generated from them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

NVTX_DOMAIN = 200
NVTX_CATEGORY = 201
NVTX_RANGE = 202
NVTX_RANGE_ATTRIBUTES = 203
NVTX_START = 204
NVTX_END = 205
NVTX_MARK = 206
NVTX_THREAD_NAME = 207
POP = 0xFFFFFFFF
POPPED_UNSEEN = 0xFFFFFFFE
"""Special names: the record ends a range, or ranges from its level on ended during a pause."""
LEVEL_UNBALANCED = 0xFFFF
"""Level of a pop without a push."""
HAS_COLOR, HAS_CATEGORY = 1, 2
ATTRIBUTES = [
    ("category", "<u4"),
    ("color_argb", "<u4"),
    ("payload", "<u8"),
    ("payload_type", "<u4"),
    ("flags", "<u4"),
]
"""What a push, a start or a mark may say of itself besides its name."""

nvtx_domain = RecordLayout([("domain", "<u4"), ("name", "<u4")])
nvtx_category = RecordLayout([("domain", "<u4"), ("category", "<u4"), ("name", "<u4"), ("reserved", "<u4")])
nvtx_range = RecordLayout([("time_ns", "<u8"), ("name", "<u4"), ("domain", "<u2"), ("level", "<u2")])
nvtx_range_attributes = RecordLayout([*nvtx_range.fields, *ATTRIBUTES])
nvtx_start = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("range", "<u8"),
        ("name", "<u4"),
        ("domain", "<u2"),
        ("reserved", "<u2"),
        *ATTRIBUTES,
    ]
)
nvtx_end = RecordLayout([("time_ns", "<u8"), ("range", "<u8")])
nvtx_thread_name = RecordLayout([("tid", "<u4"), ("name", "<u4")])
