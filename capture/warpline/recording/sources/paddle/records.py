"""Layout of the records of Paddle's events: ``agent/native/records.h`` in numpy's words; docs/spool.md lists them."""

from __future__ import annotations

import numpy as np

FRAMEWORK_EVENT = 704

framework_event = np.dtype([("start_ns", "<u8"), ("end_ns", "<u8"), ("name", "<u4"), ("type", "<u4")])
