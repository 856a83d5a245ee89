"""Memory allocations and releases as columns."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import View

Int64Array = npt.NDArray[np.int64]
ALLOCATION, RELEASE = 0, 1
_RESERVED = re.compile("reserved", re.IGNORECASE)


@dataclass(frozen=True, eq=False, kw_only=True)
class MemoryEvents:
    """Allocations and releases in the selected range by time; arrays of equal length.

    ``row``, ``time`` (capture ns), ``device`` string id (0: unknown), ``is_release``, ``bytes``, ``reserved`` (memory
    reserved by the allocator, not used by a tensor), and the totals afterwards, ``allocated`` and ``total_reserved``
    (masked: unknown).
    """

    row: Int64Array
    index: Int64Array
    time: Int64Array
    device: Int64Array
    is_release: npt.NDArray[np.bool_]
    bytes: Int64Array
    reserved: npt.NDArray[np.bool_]
    allocated: npt.NDArray[np.int64]
    total_reserved: npt.NDArray[np.int64]


def memory_events(view: View) -> MemoryEvents:
    """The memory events of the selected range."""
    events = view.events("memory")
    events = events.take(np.argsort(events.start, kind="stable"))

    def column(name: str) -> npt.NDArray[np.int64]:
        return view.column("memory", name, events.index).astype(np.int64)

    size = np.ma.filled(column("bytes"), 0)
    operation = column("operation")
    is_release = np.where(np.ma.getmaskarray(operation), size < 0, np.ma.getdata(operation) == RELEASE)
    reserving = matching_names(view.capture, _RESERVED)
    return MemoryEvents(
        row=events.row,
        index=events.index,
        time=events.start,
        device=np.ma.filled(column("device"), 0),
        is_release=is_release.astype(bool),
        bytes=np.abs(size),
        reserved=reserving[events.name],
        allocated=column("total_allocated_bytes"),
        total_reserved=column("total_reserved_bytes"),
    )
