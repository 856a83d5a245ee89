"""Layouts of records of Paddle's events (docs/spool.md). The agent's ``records.h`` is generated from them."""

from __future__ import annotations

import numpy as np

FRAMEWORK_EVENT = 704

framework_event = np.dtype([("start_ns", "<u8"), ("end_ns", "<u8"), ("name", "<u4"), ("type", "<u4")])
