"""Pairs the starts and ends of NVTX ranges that the agent recorded. Pure functions over columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import Flag
from warpline.recording.session import LATEST_NS
from warpline.recording.sources.nvtx import records
from warpline.recording.spool.reader import SpoolFile
from warpline.storage.write.packing import next_of_same

Int64Array = npt.NDArray[np.int64]
Integers = npt.NDArray[np.integer[Any]]
Structured = npt.NDArray[np.void]


@dataclass(frozen=True, kw_only=True)
class PushPopRecords:
    """Pushes and pops of one process, as columns [n] in any order.

    ``serial`` identifies threads even if they reuse a ``tid``. ``time_ns`` is
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
        """Some of the records, in the order of ``rows``."""
        return PushPopRecords(
            serial=_take(self.serial, rows),
            tid=_take(self.tid, rows),
            time_ns=self.time_ns[rows],
            name=self.name[rows],
            domain=self.domain[rows],
            level=self.level[rows],
            attributes=_take(self.attributes, rows),
        )


@dataclass(frozen=True, kw_only=True)
class Ranges:
    """Ranges as columns [n], CLOCK_MONOTONIC ns. ``name`` and ``attributes`` as in `PushPopRecords`; a range whose push
    was not recorded has the name 0. ``unbalanced`` counts pops without any push.
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


def push_pop_serials(spool: SpoolFile) -> list[int]:
    """Serial numbers of the threads with pushes and pops in a process's spool file."""
    kinds = (records.NVTX_RANGE, records.NVTX_RANGE_ATTRIBUTES)
    return sorted({chunk.free for kind in kinds for chunk in spool.of_type(kind)})


def push_pop_records(spool: SpoolFile, serial: int | None = None) -> PushPopRecords:
    """The pushes and pops of one process's spool file, or of one of its threads.

    Records with invalid times are left out. ``attributes`` are row numbers among the file's records with attributes
    (with ``serial``: among those of this thread).
    """
    names = ("time_ns", "name", "domain", "level")
    plain = spool.columns(records.NVTX_RANGE, records.nvtx_range, names, free=serial)
    rich = spool.columns(records.NVTX_RANGE_ATTRIBUTES, records.nvtx_range_attributes, names, free=serial)
    few, many = len(rich[0]), len(plain[0])
    attributes: Int64Array = np.broadcast_to(np.int64(-1), many)
    if few:
        attributes = np.concatenate([attributes, np.arange(few)])
    time, name, domain, level = (
        np.concatenate(pair) if few else pair[0] for pair in zip(plain, rich, strict=True)
    )
    writers = [
        spool.writers(records.NVTX_RANGE, records.nvtx_range, free=serial),
        spool.writers(records.NVTX_RANGE_ATTRIBUTES, records.nvtx_range_attributes, free=serial),
    ]
    serials, tids = (_spread(column) for column in zip(*writers, strict=True))
    result = PushPopRecords(
        serial=serials.view(np.int64),
        tid=tids,
        time_ns=time.view(np.int64),
        name=name,
        domain=domain,
        level=level,
        attributes=attributes,
    )
    good = (result.time_ns > 0) & (result.time_ns < LATEST_NS)
    return result if good.all() else result.take(np.flatnonzero(good))


def _spread(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The concatenated columns; broadcast without a copy if all values are equal."""
    parts = [column for column in columns if len(column)]
    if not parts:
        return columns[0]
    value = parts[0][0]
    if all(part.strides == (0,) and part[0] == value for part in parts):
        return np.broadcast_to(value, sum(map(len, parts)))
    return np.concatenate(parts)


def _take(column: npt.NDArray[Any], rows: Int64Array) -> npt.NDArray[Any]:
    """``column[rows]``; broadcast without a copy if the column is."""
    if column.strides == (0,) and len(column):
        return np.broadcast_to(column[0], len(rows))
    return column[rows]


def match_push_pop(
    pushes_and_pops: PushPopRecords, start_ns: int, stop_ns: int, resumes: npt.ArrayLike = ()
) -> Ranges:
    """The ranges of pushes and pops recorded between ``start_ns`` and ``stop_ns``.

    Within a thread and a domain a range lasts from the push at a level to the next pop of that level; the agent counts
    levels even while nothing is recorded. A range that began before the file or in a pause starts at ``start_ns`` or at
    the last of ``resumes`` (ns) before its pop. One that never ended lasts until ``stop_ns``. One that ended in a pause
    ends at the agent's time. All of these are flagged. The ranges of a thread are in the order of their pushes, then
    those without one.
    """
    unbalanced = pushes_and_pops.level == records.LEVEL_UNBALANCED
    if unbalanced.any():
        unbalanced &= pushes_and_pops.name == records.POP
    table = _with_unseen_spread(pushes_and_pops, unbalanced)
    if len(table.time_ns) and np.any(table.time_ns[1:] < table.time_ns[:-1]):
        table = table.take(np.argsort(table.time_ns, kind="stable"))
    time, name, code = table.time_ns, table.name, _lane_codes(table)
    following = next_of_same(code)
    is_push, is_pop = name < records.POPPED_UNSEEN, name == records.POP
    begins = np.flatnonzero(is_push)
    after = following[begins]
    has_end, start = after >= 0, time[begins]
    stops = np.where(has_end, time[after], np.maximum(start, stop_ns))
    flags = np.where(is_pop[after], 0, Flag.TRUNCATED).astype(np.uint8)
    flags[~has_end] = Flag.CUT_END
    is_pop[after[has_end]] = False
    ends, floor = _without_push(code, following, time, np.flatnonzero(is_pop), start_ns)
    resumed = np.sort(np.asarray(resumes, np.int64))
    if len(resumed) and len(ends):
        last = np.searchsorted(resumed, time[ends], "right") - 1
        floor = np.maximum(floor, np.where(last >= 0, resumed[np.maximum(last, 0)], start_ns))
    floor = np.minimum(floor, time[ends])
    chosen = _with(begins, ends)
    return Ranges(
        serial=_take(table.serial, chosen),
        tid=_take(table.tid, chosen),
        domain=_take(table.domain, chosen),
        level=_take(table.level, chosen),
        start_ns=_with(start, floor),
        stop_ns=_with(stops, time[ends]),
        name=_with(name[begins].astype(np.int64), np.zeros(len(ends), np.int64)),
        attributes=_with(_take(table.attributes, begins), np.full(len(ends), -1, np.int64)),
        flags=_with(flags, np.full(len(ends), Flag.CUT_START, np.uint8)),
        unbalanced=int(unbalanced.sum()),
    )


def _with(column: npt.NDArray[Any], more: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Both, one after the other; usually there is no more."""
    return np.concatenate([column, more]) if len(more) else column


def _without_push(
    code: Integers, following: Int64Array, time: Int64Array, pops: Int64Array, start_ns: int
) -> tuple[Int64Array, Int64Array]:
    """Pops without a push, lane by lane, and the earliest times at which their ranges may have begun."""
    if not len(pops):
        return pops, pops
    pops = pops[np.argsort(code[pops], kind="stable")]
    former = np.full(len(time), -1)
    has_next = np.flatnonzero(following >= 0)
    former[following[has_next]] = has_next
    return pops, np.maximum(np.where(former[pops] >= 0, time[former[pops]], start_ns), start_ns)


def _lane_codes(table: PushPopRecords) -> Integers:
    """A number for each (thread, domain, level): uint16 if they fit, which `next_of_same` takes fastest."""
    if not len(table.serial):
        return np.empty(0, np.uint16)
    domains, levels = int(table.domain.max()) + 1, int(table.level.max()) + 1
    if table.serial.strides == (0,) and domains * levels < 1 << 16:
        if domains == 1:
            return table.level.astype(np.uint16)
        return table.domain.astype(np.uint16) * np.uint16(levels) + table.level.astype(np.uint16)
    serial = table.serial - table.serial.min()
    # Domain and level have 16 bits, and no process has 2^31 threads.
    code: Int64Array = (serial * domains + table.domain) * levels + table.level
    return code.astype(np.uint16) if int(code.max()) < 1 << 16 else code


def _with_unseen_spread(table: PushPopRecords, without: npt.NDArray[np.bool_]) -> PushPopRecords:
    """Repeat each "popped unseen" record for all deeper levels, which it ends as well.

    They are rare. Records marked in ``without`` are dropped.
    """
    unseen = np.flatnonzero(table.name == records.POPPED_UNSEEN)
    if not len(unseen) and not without.any():
        return table
    unseen = unseen[~without[unseen]]
    keep = ~without
    extra_rows: list[int] = []
    extra_levels: list[int] = []
    for row in unseen.tolist():
        same = (table.serial == table.serial[row]) & (table.domain == table.domain[row]) & keep
        deepest = int(table.level[same].max())
        for level in range(int(table.level[row]) + 1, deepest + 1):
            extra_rows.append(row)
            extra_levels.append(level)
    spread = table.take(np.concatenate([np.flatnonzero(keep), np.array(extra_rows, np.int64)]))
    if extra_levels:
        spread.level[-len(extra_levels) :] = extra_levels
    return spread


@dataclass(frozen=True, kw_only=True)
class StartedRanges:
    """Start/end ranges as columns [n], CLOCK_MONOTONIC ns; ``row`` is the row of the start record.

    ``end_tid`` is −1 if the end was not recorded. ``unmatched_ends`` counts ends without a start.
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
    """Start/end ranges, matched by their id, which is unique in a process; ``end_tids`` [len(ends)] ended them."""
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
