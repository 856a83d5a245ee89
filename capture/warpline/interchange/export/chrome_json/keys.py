"""Correlation and external ids, which connect the events of a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.interchange.export.selection import CHUNK_EVENTS
from warpline.model.links import ANNOTATION, LAUNCH

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]


def correlation_offsets(capture: Capture) -> dict[int, int] | None:
    """What to add to the correlation ids of each process (by index) to make them unique across processes.

    None when only one process has any, or the result does not fit int64.
    """
    highest: dict[int, int] = {}
    for table in capture.kinds.values():
        if "correlation" not in table.attributes:
            continue
        values, valid = table.column("correlation")
        process = np.array(
            [-1 if track.process is None else track.process for track in capture.tracks], np.int64
        )
        for first in range(0, len(table), CHUNK_EVENTS):
            part = slice(first, first + CHUNK_EVENTS)
            rows = table.rows_at(part)
            owner = process[capture.tracks_of_rows(rows)][valid[part]]
            for index in np.unique(owner).tolist():
                top = int(values[part][valid[part]][owner == index].max())
                highest[index] = max(top, highest.get(index, 0))
    if len(highest) < 2:
        return None
    offsets: dict[int, int] = {}
    total = 0
    for index in sorted(highest):
        offsets[index] = total
        total += highest[index] + 1
    return offsets if total < 1 << 63 else None


def external_ids(capture: Capture) -> tuple[Int64Array, Int64Array] | None:
    """Rows at the ends of annotation links, ascending, and a number that both ends share; None without such links."""
    links = capture.links
    if ANNOTATION not in links.kinds:
        return None
    index = np.flatnonzero(links.kind == links.kinds.index(ANNOTATION))
    index = index[(links.from_row[index] >= 0) & (links.to_row[index] >= 0)]
    if not len(index):
        return None
    rows = np.concatenate((links.from_row[index], links.to_row[index]))
    numbers = np.concatenate((links.from_row[index], links.from_row[index])) + 1
    unique, first = np.unique(rows, return_index=True)
    return unique, numbers[first]


def launches_have_ids(capture: Capture, offsets: Mapping[int, int] | None) -> bool:
    """Whether equal correlation ids join exactly as many events as launch links do, and those.

    ``offsets`` is from `correlation_offsets`.
    """
    links = capture.links
    if LAUNCH not in links.kinds:
        return True
    chosen = np.flatnonzero(links.kind == links.kinds.index(LAUNCH))
    ends = (links.from_row[chosen], links.to_row[chosen])
    inside = (ends[0] >= 0) & (ends[1] >= 0)
    shift = np.array(
        [(offsets or {}).get(-1 if track.process is None else track.process, 0) for track in capture.tracks],
        np.int64,
    )
    numbers = [np.zeros(int(inside.sum()), np.int64) for _end in ends]
    calls, work = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for name, table in capture.kinds.items():
        is_work = table.spec.category == "gpu"
        if "correlation" not in table.attributes or not len(table) or not (is_work or name == "cuda_api"):
            continue
        values, valid = table.column("correlation")
        known = valid[:] & (values[:] != 0)
        ids = np.where(
            known, values[:] + shift[capture.tracks_of_rows(table.rows_at(slice(0, len(table))))], 0
        )
        (work if is_work else calls).append(ids[known])
        for end, rows in enumerate(ends):
            at = table.indices_of(rows[inside])
            numbers[end][at >= 0] = ids[at[at >= 0]]
    joined = int(np.isin(np.concatenate(work), np.concatenate(calls)).sum())
    return joined == len(numbers[0]) and bool(((numbers[0] == numbers[1]) & (numbers[0] != 0)).all())
