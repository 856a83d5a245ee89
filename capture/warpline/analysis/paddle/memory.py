"""Paddle's memory summary: allocations and releases by event, and the peak of each device."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys, scope_text
from warpline.analysis.structure.attribution import enclosing_of_calls
from warpline.analysis.structure.event_types import HOST_KINDS
from warpline.analysis.structure.launches import threads_of_tracks
from warpline.analysis.structure.memory_events import MemoryEvents, memory_events
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]


def memory(view: View, _options: Options) -> Table | NotRecorded:
    """Allocations and releases by device and enclosing event, with the peaks."""
    if not view.has("memory"):
        return missing("memory")
    events = memory_events(view)
    thread = threads_of_tracks(view)[view.track_of(events.row)] if len(events.row) else np.empty(0, np.int64)
    owner = enclosing_of_calls(view, thread, events.time, [k for k in HOST_KINDS if k != "cuda_api"])
    name = np.where(owner >= 0, view.names(np.maximum(owner, 0)).astype(np.int64), -1)
    key, first = combine_keys(events.device, events.reserved, name)
    n = len(first)

    def counted(chosen: npt.NDArray[np.bool_], weights: Int64Array | None = None) -> Int64Array:
        return np.bincount(
            key[chosen], weights=None if weights is None else weights[chosen], minlength=n
        ).astype(np.int64)

    allocated, freed = ~events.is_release, events.is_release
    columns = {
        "allocation_count": counted(allocated),
        "free_count": counted(freed),
        "allocation_bytes": counted(allocated, events.bytes),
        "free_bytes": counted(freed, events.bytes),
    }
    columns["increased_bytes"] = columns["allocation_bytes"] - columns["free_bytes"]
    order = np.lexsort((-columns["increased_bytes"], events.reserved[first], events.device[first]))
    strings = view.capture.strings
    rows = first[order]
    data: dict[str, Values] = {
        "name": [strings[i] if i >= 0 else "(outside any event)" for i in name[rows].tolist()],
        "device": [strings[i] or None for i in events.device[rows].tolist()],
        "type": ["Reserved" if value else "Allocated" for value in events.reserved[rows].tolist()],
        **{key_name: values[order] for key_name, values in columns.items()},
    }
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True),
            Column("device", "Device", Role.TEXT, key=True),
            Column("type", "Type", Role.TEXT, key=True),
            Column("allocation_count", "Allocations", Role.COUNT),
            Column("free_count", "Releases", Role.COUNT),
            Column("allocation_bytes", "Allocated", Role.SIZE),
            Column("free_bytes", "Released", Role.SIZE),
            Column("increased_bytes", "Increase", Role.SIZE),
        ),
        data,
        scope=scope_text(view, english("Memory events")),
        notes=tuple(_peaks(view, events)),
    )


def _peaks(view: View, events: MemoryEvents) -> list[str]:
    """A sentence with the peak of each device."""
    notes = []
    for device in np.unique(events.device).tolist():
        here = events.device == device
        peaks = [np.ma.max(values[here]) for values in (events.allocated, events.total_reserved)]
        where = view.capture.strings[device] or english("the recorded device")
        allocated, reserved = (None if peak is np.ma.masked else f"{int(peak):,}" for peak in peaks)
        if allocated and reserved:
            text = english(
                "Peak on {where}: allocated {allocated} bytes, reserved {reserved} bytes.",
                where=where,
                allocated=allocated,
                reserved=reserved,
            )
        elif allocated:
            text = english("Peak on {where}: allocated {size} bytes.", where=where, size=allocated)
        elif reserved:
            text = english("Peak on {where}: reserved {size} bytes.", where=where, size=reserved)
        else:
            tensors = here & ~events.reserved
            change = np.where(events.is_release[tensors], -events.bytes[tensors], events.bytes[tensors])
            text = english(
                "Peak on {where}: {size} bytes more than at the start; totals were not recorded.",
                where=where,
                size=f"{int(np.cumsum(change).max(initial=0)):,}",
            )
        notes.append(text)
    return notes


report = ReportSpec("memory", "Memory allocations", "framework", memory, needs=("memory",), place=210)
