"""Idle gaps of a GPU; every idle nanosecond has exactly one cause."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.loops.lane_gaps import lane_gaps
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selected.selected_events import join_events
from warpline.analysis.framework.selection import GPU_KINDS, Selection, View
from warpline.analysis.structure.gpus import Gpu, gpu_work
from warpline.analysis.structure.launches import calls_of_rows
from warpline.analysis.structure.overlap import Intervals, covered_ns
from warpline.model.intervals import intersect_intervals, merge_intervals, subtract_intervals

Int64Array = npt.NDArray[np.int64]
CAUSES = ("data_loading", "synchronization", "host", "launch_latency", "other", "end")
LATENCY_NS = 10_000
"""A gap of at most this length before work launched in time is the GPU's own overhead between operations."""
DATA_LOADING = re.compile(r"data_?load|_DataLoaderIter|fetch_batch|next_batch", re.IGNORECASE)
SYNCHRONIZATION = re.compile(
    r"Synchronize|^cu(da)?Memcpy(?!.*Async)|^hipMemcpy(?!.*Async)|EventQuery|StreamQuery"
)


@dataclass(frozen=True, eq=False)
class Gaps:
    """Idle gaps of a GPU: ``start``/``stop`` capture ns, and ns by cause: int64 of shape (gaps, `CAUSES`)."""

    start: Int64Array
    stop: Int64Array
    causes: Int64Array


@dataclass(frozen=True, eq=False)
class GapParts:
    """Idle time as disjoint parts sorted by start, each with one cause; all int64 of equal length.

    ``start``/``stop`` capture ns, ``cause`` index into `CAUSES`, ``name`` string id of the operation that ended the
    gap, ``thread`` that launched it (−1: unknown).
    """

    start: Int64Array
    stop: Int64Array
    cause: Int64Array
    name: Int64Array
    thread: Int64Array


@dataclass(frozen=True, eq=False, kw_only=True)
class _Located:
    """Gaps, and the parts from `split_gap` of those that an operation ends (``before``: their indices)."""

    start: Int64Array
    stop: Int64Array
    before: Int64Array
    name: Int64Array
    thread: Int64Array
    waiting: Int64Array
    latency: Int64Array
    other: Int64Array


def split_gap(
    start: Int64Array, stop: Int64Array, call_start: Int64Array, has_call: npt.NDArray[np.bool_]
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Split gaps before an operation into (not yet launched, launch latency, other), ns each.

    A gap is *not yet launched* until the launching call begins. The rest is launch latency if the call began inside the
    gap or the gap is no longer than `LATENCY_NS`; else *other*: the operation waited for an event, another stream or a
    resource. Without a known call, all is other.
    """
    length = stop - start
    waiting = np.where(has_call, np.clip(call_start - start, 0, length), 0)
    rest = length - waiting
    is_latency = has_call & ((waiting > 0) | (length <= LATENCY_NS))
    return waiting, np.where(is_latency, rest, 0), np.where(is_latency, 0, rest)


def gpu_gaps(view: View, gpu: Gpu) -> Gaps:
    """All idle gaps of a GPU in the selected range, with their causes."""
    located = _locate(view, gpu)
    causes = np.zeros((len(located.start), len(CAUSES)), np.int64)
    # No operation in the range ends the last gap.
    causes[:, CAUSES.index("end")] = located.stop - located.start
    before = located.before
    causes[before, CAUSES.index("end")] = 0
    causes[before, CAUSES.index("launch_latency")] = located.latency
    causes[before, CAUSES.index("other")] = located.other
    start = located.start[before]
    loading, syncing = _host_causes(view, located.thread, start, start + located.waiting)
    causes[before, CAUSES.index("data_loading")] = loading
    causes[before, CAUSES.index("synchronization")] = syncing
    causes[before, CAUSES.index("host")] = located.waiting - loading - syncing
    return Gaps(located.start, located.stop, causes)


def gap_parts(view: View, gpu: Gpu) -> GapParts:
    """The idle time of a GPU in the selected range as parts with the causes of `gpu_gaps`."""
    located = _locate(view, gpu)
    ends = np.ones(len(located.start), bool)
    ends[located.before] = False
    starts, stops = located.start[located.before], located.stop[located.before]
    launched = starts + located.waiting
    nobody = np.full(int(ends.sum()), -1, np.int64)
    pieces = [(located.start[ends], located.stop[ends], "end", nobody, nobody)]
    for cause, mask in (("launch_latency", located.latency > 0), ("other", located.other > 0)):
        pieces.append((launched[mask], stops[mask], cause, located.name[mask], located.thread[mask]))
    for number in np.unique(located.thread[located.waiting > 0]).tolist():
        here = (located.thread == number) & (located.waiting > 0)
        waits = starts[here], launched[here]
        load, sync = _host_intervals(view, number)
        rest = subtract_intervals(*subtract_intervals(*waits, *load), *sync)
        syncs = subtract_intervals(*intersect_intervals(*waits, *sync), *load)
        for cause, part in (
            ("data_loading", intersect_intervals(*waits, *load)),
            ("synchronization", syncs),
            ("host", rest),
        ):
            gap = np.searchsorted(waits[0], part[0], "right") - 1
            names = located.name[here][gap]
            pieces.append((*part, cause, names, np.full(len(names), number, np.int64)))
    start = np.concatenate([piece[0] for piece in pieces])
    order = np.argsort(start, kind="stable")
    return GapParts(
        start[order],
        np.concatenate([piece[1] for piece in pieces])[order],
        np.concatenate([np.full(len(piece[0]), CAUSES.index(piece[2]), np.int64) for piece in pieces])[order],
        np.concatenate([piece[3] for piece in pieces])[order],
        np.concatenate([piece[4] for piece in pieces])[order],
    )


def _locate(view: View, gpu: Gpu) -> _Located:
    gap_start, gap_stop, ended_by = lane_gaps(view, gpu.tracks, GPU_KINDS) or _sorted_gaps(view, gpu)
    # The last gap may end with the range.
    before = np.flatnonzero(ended_by >= 0)
    by_row, row = times_in_order(ended_by[before])
    work, launch_thread, launch_start, _ = calls_of_rows(view, row)
    launched = by_row[np.searchsorted(row, work)]
    has_call, call_start = np.zeros(len(before), bool), np.zeros(len(before), np.int64)
    thread = np.full(len(before), -1, np.int64)
    has_call[launched], call_start[launched], thread[launched] = True, launch_start, launch_thread
    waiting, latency, other = split_gap(gap_start[before], gap_stop[before], call_start, has_call)
    name = view.names(ended_by[before]).astype(np.int64)
    return _Located(
        start=gap_start,
        stop=gap_stop,
        before=before,
        name=name,
        thread=thread,
        waiting=waiting,
        latency=latency,
        other=other,
    )


def _sorted_gaps(view: View, gpu: Gpu) -> tuple[Int64Array, Int64Array, Int64Array]:
    """`lane_gaps` by sorting."""
    events = gpu_work(view, gpu)
    events = events.take(np.argsort(events.row, kind="stable"))
    order, start = times_in_order(events.start)
    # Work too short for the profiler's clock has duration 0: it takes no time, but ends a gap.
    stop = start + events.duration[order]
    reach = np.maximum.accumulate(np.append(np.int64(view.start_ns), stop))
    gap_stop = np.minimum(np.append(start, view.stop_ns), view.stop_ns)
    is_gap = gap_stop > reach
    return reach[is_gap], gap_stop[is_gap], np.append(events.row[order], -1)[is_gap]


def times_in_order(times: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The stable order of times, and the sorted times."""
    low, high = (int(times.min()), int(times.max())) if len(times) else (0, 0)
    bits = len(times).bit_length()
    if (high - low).bit_length() + bits >= 63:
        order = np.argsort(times, kind="stable")
        return order, times[order]
    # With indices in the low bits, a plain sort is several times faster than argsort.
    packed = ((times - low) << bits) + np.arange(len(times))
    packed.sort()
    return packed & ((1 << bits) - 1), (packed >> bits) + low


def _host_causes(
    view: View, thread: Int64Array, start: Int64Array, stop: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """In each interval, the time the thread's process loaded data, and the other time the thread waited for the GPU."""
    loading = np.zeros(len(start), np.int64)
    syncing = np.zeros(len(start), np.int64)
    for number in np.unique(thread[thread >= 0]).tolist():
        here = np.flatnonzero(thread == number)
        load, sync = _host_intervals(view, number)
        both = merge_intervals(np.concatenate([load[0], sync[0]]), np.concatenate([load[1], sync[1]]))
        loading[here] = covered_ns(load, start[here], stop[here])
        syncing[here] = covered_ns(both, start[here], stop[here]) - loading[here]
    return loading, syncing


def _host_intervals(view: View, thread: int) -> tuple[Intervals, Intervals]:
    """When a thread's process loaded data, and when the thread waited for the GPU; empty without a thread."""
    tracks = view.capture.tracks
    if thread < 0:
        nothing = np.empty(0, np.int64), np.empty(0, np.int64)
        return nothing, nothing
    process = view.capture.threads[thread].process
    process_tracks = frozenset(t.index for t in tracks if t.process == process and t.device is None)
    own = frozenset(t.index for t in view.tracks_of_thread(thread))
    return (
        _named_intervals(
            view, ("phase", "range", "operator", "python", "other"), DATA_LOADING, process_tracks
        ),
        _named_intervals(view, ("cuda_api",), SYNCHRONIZATION, own),
    )


def _named_intervals(
    view: View, kinds: tuple[str, ...], pattern: re.Pattern[str], tracks: frozenset[int]
) -> tuple[Int64Array, Int64Array]:
    """The union of the events of some kinds whose names match."""
    wanted = matching_names(view.capture, pattern)
    host = view.other(Selection(view.selection.start_ns, view.selection.stop_ns))
    present = [kind for kind in kinds if kind in view.capture.kinds] if wanted.any() else []
    events = join_events([host.events(kind, tracks, wanted) for kind in present])
    return merge_intervals(events.start, events.stop)
