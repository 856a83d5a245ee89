"""Begins and ends of NVTX ranges, as the agent wrote them -> ranges. Pure functions over columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import Flag

from .agent import records
from .gpu_clock import LATEST_NS
from .spool import SpoolFile

Int64Array = npt.NDArray[np.int64]
Integers = npt.NDArray[np.integer[Any]]
Structured = npt.NDArray[np.void]


@dataclass(frozen=True)
class PushPopRecords:
    """Pushes and pops of one process, as columns [n] in any order.

    ``serial`` tells threads apart, also those that had the same ``tid`` one after the other. ``time_ns`` is
    CLOCK_MONOTONIC, strictly increasing within a thread. ``name`` is a string id of the file, or `records.POP` or
    `records.POPPED_UNSEEN`. ``attributes`` is a row of the file's records with attributes, −1 for none.
    """

    serial: Int64Array
    tid: Integers
    time_ns: Int64Array
    name: npt.NDArray[np.uint32]
    domain: Integers
    level: Integers
    attributes: Int64Array

    def take(self, rows: Int64Array) -> PushPopRecords:
        """Some of the records."""
        return PushPopRecords(
            self.serial[rows],
            self.tid[rows],
            self.time_ns[rows],
            self.name[rows],
            self.domain[rows],
            self.level[rows],
            self.attributes[rows],
        )


@dataclass(frozen=True)
class Ranges:
    """Ranges as columns [n], CLOCK_MONOTONIC ns. ``name`` and ``attributes`` as in `PushPopRecords`; a range whose push
    was not recorded has the name 0. ``unbalanced`` counts pops that had no push at all.
    """

    serial: Int64Array
    tid: Integers
    domain: Integers
    level: Integers
    start_ns: Int64Array
    stop_ns: Int64Array
    name: Int64Array
    attributes: Int64Array
    flags: npt.NDArray[np.uint8]
    unbalanced: int


def push_pop_records(spool: SpoolFile) -> PushPopRecords:
    """The pushes and pops of one process's spool file; without those of a damaged file whose time cannot be."""
    plain = spool.records(records.NVTX_RANGE, records.nvtx_range)
    rich = spool.records(records.NVTX_RANGE_ATTRIBUTES, records.nvtx_range_attributes)

    def both(field: str) -> npt.NDArray[Any]:
        return np.concatenate([plain.values[field], rich.values[field]])

    attributes = np.full(len(plain.values) + len(rich.values), -1, np.int64)
    attributes[len(plain.values) :] = np.arange(len(rich.values))
    found = PushPopRecords(
        serial=np.concatenate([plain.free, rich.free]).view(np.int64),
        tid=np.concatenate([plain.tid, rich.tid]),
        time_ns=both("time_ns").view(np.int64),
        name=both("name"),
        domain=both("domain"),
        level=both("level"),
        attributes=attributes,
    )
    good = (found.time_ns > 0) & (found.time_ns < LATEST_NS)
    return found if good.all() else found.take(np.flatnonzero(good))


def match_push_pop(found: PushPopRecords, start_ns: int, stop_ns: int, resumes: npt.ArrayLike = ()) -> Ranges:
    """The ranges of pushes and pops; ``start_ns`` and ``stop_ns`` bound what was recorded.

    Within a thread and a domain a range is the push at a level up to the next pop of that level: levels are counted by
    the agent, also while nothing is recorded. What began before the file, or while the recording was paused, starts
    at ``start_ns`` or at the last of ``resumes`` (ns) before its pop and is flagged; what never ended runs to
    ``stop_ns`` and is flagged; what ended during a pause ends where the agent says, flagged.
    """
    unbalanced = (found.name == records.POP) & (found.level == records.LEVEL_UNBALANCED)
    table = _with_unseen_spread(found, unbalanced)
    code = _lane_codes(table)
    # Two stable sorts of what is nearly sorted, and of few distinct small numbers, take a fifth of one lexsort.
    order = np.argsort(table.time_ns, kind="stable")
    order = order[np.argsort(code[order], kind="stable")]
    code = code[order]
    time, name = table.time_ns[order], table.name[order]
    n = len(order)
    is_push = name < records.POPPED_UNSEEN
    same = np.zeros(n + 1, bool)  # whether record i continues the group of i − 1
    if n:
        same[1:n] = code[1:] == code[:-1]

    begins = np.flatnonzero(is_push)
    has_next = same[begins + 1]
    next_index = np.minimum(begins + 1, max(n - 1, 0))
    next_name = name[next_index] if n else name
    stops = np.where(has_next, time[next_index] if n else 0, max(stop_ns, 0))
    stops = np.maximum(stops, time[begins])
    push_flags = np.zeros(len(begins), np.uint8)
    push_flags[has_next & (next_name != records.POP)] |= np.uint8(Flag.TRUNCATED)
    push_flags[~has_next] |= np.uint8(Flag.CUT_END)

    follows_push = np.zeros(n, bool)
    if n:
        follows_push[1:] = same[1:n] & is_push[:-1]
    orphans = np.flatnonzero((name == records.POP) & ~follows_push)
    floor = np.full(len(orphans), start_ns, np.int64)
    has_previous = same[orphans]
    floor[has_previous] = np.maximum(floor[has_previous], time[orphans[has_previous] - 1])
    resumed = np.sort(np.asarray(resumes, np.int64))
    if len(resumed) and len(orphans):
        last = np.searchsorted(resumed, time[orphans], "right") - 1
        floor = np.maximum(floor, np.where(last >= 0, resumed[np.maximum(last, 0)], start_ns))
    floor = np.minimum(floor, time[orphans])

    rows = order[np.concatenate([begins, orphans])]
    return Ranges(
        serial=table.serial[rows],
        tid=table.tid[rows],
        domain=table.domain[rows],
        level=table.level[rows],
        start_ns=np.concatenate([time[begins], floor]),
        stop_ns=np.concatenate([stops, time[orphans]]),
        name=np.concatenate([name[begins].astype(np.int64), np.zeros(len(orphans), np.int64)]),
        attributes=np.concatenate([table.attributes[order[begins]], np.full(len(orphans), -1, np.int64)]),
        flags=np.concatenate([push_flags, np.full(len(orphans), Flag.CUT_START, np.uint8)]),
        unbalanced=int(unbalanced.sum()),
    )


def _lane_codes(table: PushPopRecords) -> Integers:
    """A number for each (thread, domain, level): uint16 where it fits, for that is sorted by counting."""
    if not len(table.serial):
        return np.empty(0, np.uint16)
    domains, levels = int(table.domain.max()) + 1, int(table.level.max()) + 1
    serial = table.serial - table.serial.min()
    # Domain and level have 16 bits; serial numbers of threads beyond 2^31 in one process do not occur.
    code: Int64Array = (serial * domains + table.domain) * levels + table.level
    return code.astype(np.uint16) if int(code.max()) < 1 << 16 else code


def _with_unseen_spread(found: PushPopRecords, without: npt.NDArray[np.bool_]) -> PushPopRecords:
    """Each "popped unseen" speaks for its level and all deeper ones: one record per level that occurs.

    They are rare. Records marked in ``without`` are left out.
    """
    unseen = np.flatnonzero((found.name == records.POPPED_UNSEEN) & ~without)
    if not len(unseen) and not without.any():
        return found
    keep = ~without
    extra_rows: list[int] = []
    extra_levels: list[int] = []
    for row in unseen.tolist():
        same = (found.serial == found.serial[row]) & (found.domain == found.domain[row]) & keep
        deepest = int(found.level[same].max())
        for level in range(int(found.level[row]) + 1, deepest + 1):
            extra_rows.append(row)
            extra_levels.append(level)
    spread = found.take(np.concatenate([np.flatnonzero(keep), np.array(extra_rows, np.int64)]))
    if extra_levels:
        spread.level[-len(extra_levels) :] = extra_levels
    return spread


@dataclass(frozen=True)
class StartedRanges:
    """Start/end ranges as columns [n], CLOCK_MONOTONIC ns; ``row`` is the start record's row.

    ``end_tid`` is −1 when the end was not recorded. ``unmatched_ends`` counts ends without a start.
    """

    row: Int64Array
    start_ns: Int64Array
    stop_ns: Int64Array
    end_tid: Int64Array
    flags: npt.NDArray[np.uint8]
    unmatched_ends: int


def match_start_end(
    starts: Structured, ends: Structured, end_tids: npt.NDArray[np.uint32], stop_ns: int
) -> StartedRanges:
    """Start/end ranges by their id, which is unique in a process; ``end_tids`` [len(ends)] are who ended them."""
    order = np.argsort(ends["range"], kind="stable")
    ids = ends["range"][order]
    where = np.searchsorted(ids, starts["range"])
    clipped = np.minimum(where, max(len(ids) - 1, 0))
    has_end = (
        (where < len(ids)) & (ids[clipped] == starts["range"]) if len(ids) else np.zeros(len(starts), bool)
    )
    begin = starts["time_ns"].astype(np.int64)
    stop = np.full(len(starts), stop_ns, np.int64)
    end_tid = np.full(len(starts), -1, np.int64)
    hit = order[clipped[has_end]] if len(ids) else np.empty(0, np.int64)
    stop[has_end] = ends["time_ns"][hit]
    end_tid[has_end] = end_tids[hit]
    return StartedRanges(
        row=np.arange(len(starts), dtype=np.int64),
        start_ns=begin,
        stop_ns=np.maximum(stop, begin),
        end_tid=end_tid,
        flags=np.where(has_end, 0, Flag.CUT_END).astype(np.uint8),
        unmatched_ends=len(ends) - len(np.unique(hit)),
    )
