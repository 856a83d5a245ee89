"""Layouts of NVML's records in spool files; docs/spool.md lists them."""

from __future__ import annotations

from warpline.recording.spool.record_layout import RecordLayout

NVML_DEVICE = 600
NVML_SAMPLE = 601

nvml_device = RecordLayout(
    [
        ("time_ns", "<u8"),
        ("index", "<u4"),
        ("name", "<u4"),
        ("memory_bytes", "<u8"),
        ("uuid", "<u4"),
        ("reserved", "<u4"),
    ]
)
nvml_sample = RecordLayout([("time_ns", "<u8"), ("index", "<u4"), ("metric", "<u4"), ("value", "<f8")])
