"""Layouts of NVML's records in spool files; docs/spool.md lists them."""

from __future__ import annotations

import numpy as np

NVML_DEVICE = 600
NVML_SAMPLE = 601

nvml_device = np.dtype(
    [
        ("time_ns", "<u8"),
        ("index", "<u4"),
        ("name", "<u4"),
        ("memory_bytes", "<u8"),
        ("uuid", "<u4"),
        ("reserved", "<u4"),
    ]
)
nvml_sample = np.dtype([("time_ns", "<u8"), ("index", "<u4"), ("metric", "<u4"), ("value", "<f8")])
