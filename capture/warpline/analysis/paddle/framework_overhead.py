"""The header of Paddle's older report: computation, framework overhead and copies of the host."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.lane_sweep import NONE, times_together
from warpline.analysis.framework.loops.lane_times import name_counts
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selected.selected_events import join_events
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import masked_below_zero, ratio, scope_text
from warpline.analysis.paddle.phases import tracks_by_rank, tracks_of_host
from warpline.analysis.structure.event_types import MEMORY_OPERATION
from warpline.analysis.structure.gpus import windows_of
from warpline.analysis.structure.host_events import TREE_KINDS
from warpline.analysis.structure.overlap import combination_times, time_of
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_COMPUTE = re.compile(r"(::|/| )compute$| kernel launch$", re.IGNORECASE)
_EVENT, _COMPUTING, _ASYNC, _SYNC = 1, 2, 4, 8
"""Bits of the host's activities in combinations of `warpline.analysis.structure.overlap`."""
_BITS = tuple(_EVENT | computing | copying for copying in (0, _ASYNC, _SYNC) for computing in (0, _COMPUTING))
"""Classes of events: neither, computation, a copy of either sort, or both."""
_ASYNCHRONOUS = re.compile("async", re.IGNORECASE)


def framework_overhead(view: View, _options: Options) -> Table | NotRecorded:
    """Computation, framework overhead and copies, as unions over all threads.

    Computation is the compute (or kernel launch) part of operators, or whole operators if parts were not recorded.
    Copies are ranges named so, else CUDA calls that copy or set memory. Overhead is the time outside both.
    """
    if not view.has(*TREE_KINDS):
        return missing("operator")
    hosts = [_HostTimes(view, tracks) for tracks in tracks_by_rank(view, tracks_of_host(view))]
    if not (any(host.has_parts for host in hosts) or view.has("operator")):
        return missing("operator")
    times = sum((host.times for host in hosts), np.zeros(16, np.int64))
    copies = [sum(host.copies[which] for host in hosts) for which in (0, 1)]
    copying = _ASYNC | _SYNC
    names = [
        english("Total"),
        english("Computation"),
        english("Framework overhead"),
        english("Copies and sets"),
        english("Asynchronous"),
        english("Synchronous"),
    ]
    total = np.array(
        [
            time_of(times, _EVENT),
            time_of(times, _COMPUTING, copying),
            time_of(times, _EVENT, _COMPUTING | copying),
            *(time_of(times, bits) for bits in (copying, _ASYNC, _SYNC)),
        ],
        np.int64,
    )
    count = np.array([-1, -1, -1, sum(copies), *copies], np.int64)
    has_copies = any(copies)
    absent = np.array([False] * 3 + [not has_copies] * 3)
    notes = [
        english(
            "Unions over all threads; synchronous and asynchronous copies of different threads may overlap."
        )
    ]
    if not has_copies:
        notes.append(english("Copies: not recorded; no range or CUDA call copies or sets memory."))
    return Table(
        (
            Column("name", "Name", Role.NAME, key=True, ours=True),
            Column("count", "Calls", Role.COUNT),
            Column("total_ns", "Total Time", Role.DURATION),
            Column(
                "ratio", "Ratio", Role.SHARE, of=english("the union of all host events"), heat=True, lead=1
            ),
        ),
        {
            "name": names,
            "count": masked_below_zero(np.where(absent, -1, count)),
            "total_ns": np.ma.MaskedArray(total, absent),
            "ratio": np.ma.MaskedArray(ratio(total, int(total[0])), absent | (total[0] == 0)),
        },
        depth=np.array([0, 1, 1, 1, 2, 2], np.int16),
        scope=scope_text(view, english("Host events")),
        notes=tuple(notes),
    )


class _HostTimes:
    """Activities of the host on some tracks: ``times`` by combination of bits, numbers of ``copies``.

    ``copies`` is (asynchronous, synchronous). Copies are ranges, or CUDA calls if no range is named as a copy.
    """

    def __init__(self, view: View, tracks: frozenset[int]) -> None:
        self._tracks = tracks
        self._kinds = tuple(kind for kind in TREE_KINDS if kind in view.capture.kinds)
        self._compute = matching_names(view.capture, _COMPUTE)
        self._copy = matching_names(view.capture, MEMORY_OPERATION)
        self._asynchronous = matching_names(view.capture, _ASYNCHRONOUS)
        counts = {kind: name_counts(view, kind, tracks) for kind in self._kinds}
        self.has_parts = any(_sum_of(count, self._compute) for count in counts.values())
        self._copying = self._kinds
        if not any(_sum_of(count, self._copy) for count in counts.values()):
            self._copying = tuple(kind for kind in ("cuda_api",) if kind in view.capture.kinds)
            counts = {kind: name_counts(view, kind, tracks) for kind in self._copying}
        copies = sum(_sum_of(count, self._copy) for count in counts.values())
        asynchronous = sum(_sum_of(count, self._copy & self._asynchronous) for count in counts.values())
        self.copies = (asynchronous, copies - asynchronous)
        self.times = self._swept(view)

    def _swept(self, view: View) -> Int64Array:
        """Time by combination of bits, from one sweep where that is compiled."""
        doing = {kind: self._classes(kind) for kind in {*self._kinds, *self._copying}}
        together = times_together(view, self._tracks, doing, len(_BITS))
        times = np.zeros(16, np.int64)
        if together is None:
            for window in windows_of(view, self._tracks, kinds=(*self._kinds, *self._copying)):
                times += self._in_window(window)
            return times
        for chosen, time in enumerate(together.sets.tolist()):
            bits = 0
            for number, meaning in enumerate(_BITS):
                bits |= meaning if chosen >> number & 1 else 0
            times[bits] += time
        return times

    def _classes(self, kind: str) -> npt.NDArray[np.uint8]:
        """For each name of a kind, the index in `_BITS` of its class."""
        zeros = np.zeros(len(self._copy), np.uint8)
        is_nested = kind in self._kinds
        computes = self._compute if self.has_parts else np.full(len(zeros), kind == "operator")
        copying = (
            np.where(self._copy, np.where(self._asynchronous, 2, 4), 0) if kind in self._copying else zeros
        )
        classes = copying + (computes if is_nested else zeros)
        if not is_nested:
            classes = np.where(self._copy, classes, NONE)
        return classes.astype(np.uint8)

    def _in_window(self, window: View) -> Int64Array:
        kinds = {kind: window.events(kind, self._tracks) for kind in {*self._kinds, *self._copying}}
        nested = join_events([kinds[kind] for kind in self._kinds])
        copying = join_events([kinds[kind] for kind in self._copying])
        copies = copying.take(self._copy[copying.name])
        whole = kinds.get("operator", join_events([]))
        computing = nested.take(self._compute[nested.name]) if self.has_parts else whole
        is_async = self._asynchronous[copies.name]
        sets = (join_events([nested, copies]), computing, copies.take(is_async), copies.take(~is_async))
        return combination_times([(part.start, part.stop) for part in sets], window.start_ns, window.stop_ns)


def _sum_of(count: Int64Array, names: npt.NDArray[np.bool_]) -> int:
    return int(count[: len(names)][names[: len(count)]].sum())


report = ReportSpec(
    "framework_overhead",
    "Computation, framework overhead and copies",
    "framework",
    framework_overhead,
    needs=TREE_KINDS,
    place=213,
)
