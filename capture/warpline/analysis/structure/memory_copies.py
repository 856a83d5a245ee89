"""Which memory copies are page migrations of unified memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import View

UNIFIED_COPIES = (11, 12, 13)
"""``copy_kind`` of migrations to the device, to the host, and between devices, as CUPTI numbers them."""


def page_migrations(view: View, copies: SelectedEvents) -> npt.NDArray[np.bool_]:
    """Which copies [n] are page migrations: the driver began them, not a call, so nothing launched them."""
    attributes = view.capture.kinds["memcpy"].attributes
    marked = np.zeros(len(copies), bool)
    if "copy_kind" in attributes:
        kinds = view.column("memcpy", "copy_kind", copies.index)
        marked |= np.isin(np.ma.filled(kinds.astype(np.int64), -1), UNIFIED_COPIES)
    if "migration_cause" in attributes:
        cause = view.column("memcpy", "migration_cause", copies.index)
        unlaunched = np.ones(len(copies), bool)
        if "correlation" in attributes:
            correlation = view.column("memcpy", "correlation", copies.index)
            unlaunched = np.ma.filled(correlation.astype(np.int64), 0) <= 0
        marked |= ~np.ma.getmaskarray(cause) & unlaunched
    return marked
