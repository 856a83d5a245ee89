"""Layouts of records of Paddle's events (docs/spool.md). The agent's ``records.h`` is generated from them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

FRAMEWORK_EVENT = 704

framework_event = RecordLayout([("start_ns", "<u8"), ("end_ns", "<u8"), ("name", "<u4"), ("type", "<u4")])
