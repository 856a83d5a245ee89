"""When a GPU had nothing to run, gap by gap: every idle nanosecond gets exactly one cause."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.selection import Selection, View, join_events
from warpline.analysis.structure.gpus import Gpu, gpu_work
from warpline.analysis.structure.launches import launch_of_each
from warpline.analysis.structure.overlap import covered_ns, gaps
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]
CAUSES = ("data_loading", "synchronization", "host", "launch_latency", "other", "end")
LATENCY_NS = 10_000
"""A gap up to this long, before work that was launched in time, is the GPU's own way from one operation to the next."""
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


def split_gap(
    start: Int64Array, stop: Int64Array, call_start: Int64Array, has_call: npt.NDArray[np.bool_]
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Cut gaps before an operation into (not launched yet, launch latency, other), ns each, adding up to the gap.

    Until the launching call began, the host had not asked for anything. After that, the rest of the gap is
    launch latency when
    the call began inside the gap, or when the gap is no longer than `LATENCY_NS`; else the operation
    waited for something that
    a launch does not tell (an event, another stream, a free resource): other. Without a known call all is other.
    """
    length = stop - start
    waiting = np.where(has_call, np.clip(call_start - start, 0, length), 0)
    rest = length - waiting
    is_latency = has_call & ((waiting > 0) | (length <= LATENCY_NS))
    return waiting, np.where(is_latency, rest, 0), np.where(is_latency, 0, rest)


def gpu_gaps(view: View, gpu: Gpu) -> Gaps:
    """Every idle gap of a GPU in the selected range, with its causes."""
    events = gpu_work(view, gpu)
    starts, stops = merge_intervals(events.start, events.stop)
    gap_start, gap_stop = gaps(starts, stops, view.start_ns, view.stop_ns)
    gap_start, gap_stop = _split_at(gap_start, gap_stop, events.start[events.duration == 0])
    causes = np.zeros((len(gap_start), len(CAUSES)), np.int64)
    result = Gaps(gap_start, gap_stop, causes)
    order = np.argsort(events.start, kind="stable")
    events = events.take(order)
    place = np.searchsorted(events.start, gap_stop, "left")
    ends = place >= len(events)
    # Nothing in the range comes after the last gap: what ends it lies outside, if anything does.
    causes[ends, CAUSES.index("end")] = (gap_stop - gap_start)[ends]
    before = np.flatnonzero(~ends)
    if not len(before):
        return result
    following = events.take(place[before])
    by_row = np.argsort(following.row, kind="stable")
    launches, of_event = launch_of_each(view, following.take(by_row))
    launch = np.empty(len(before), np.int64)
    launch[by_row] = of_event
    has_call = launch >= 0
    safe = np.maximum(launch, 0)
    call_start = launches.call_start[safe] if len(launches) else np.zeros(len(before), np.int64)
    thread = (
        np.where(has_call, launches.thread[safe], -1) if len(launches) else np.full(len(before), -1, np.int64)
    )
    start, stop = gap_start[before], gap_stop[before]
    waiting, latency, other = split_gap(start, stop, call_start, has_call)
    causes[before, CAUSES.index("launch_latency")] = latency
    causes[before, CAUSES.index("other")] = other
    loading, syncing = _host_causes(view, thread, start, start + waiting)
    causes[before, CAUSES.index("data_loading")] = loading
    causes[before, CAUSES.index("synchronization")] = syncing
    causes[before, CAUSES.index("host")] = waiting - loading - syncing
    return result


def _split_at(start: Int64Array, stop: Int64Array, moments: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Sorted disjoint intervals, cut where a moment lies inside one.

    Work too short for the profiler's clock is recorded with duration 0: it fills nothing, yet it ends a gap.
    """
    place = np.searchsorted(start, moments, "left") - 1
    inside = (
        (place >= 0) & (moments < stop[np.maximum(place, 0)]) if len(start) else np.zeros(len(place), bool)
    )
    cuts = np.unique(moments[inside])
    return np.sort(np.concatenate([start, cuts])), np.sort(np.concatenate([stop, cuts]))


def _host_causes(
    view: View, thread: Int64Array, start: Int64Array, stop: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """How much of each interval the launching thread's process loaded data, and else the thread waited for
    the GPU (ns).
    """
    loading = np.zeros(len(start), np.int64)
    syncing = np.zeros(len(start), np.int64)
    capture = view.capture
    process_of = {i: t.process for i, t in enumerate(capture.threads)}
    for number in np.unique(thread[thread >= 0]).tolist():
        here = np.flatnonzero(thread == number)
        process = process_of[number]
        tracks = frozenset(t.index for t in capture.tracks if t.process == process and t.device is None)
        own = frozenset(t.index for t in capture.tracks if t.thread == number)
        load = _named_intervals(view, ("phase", "range", "operator", "python", "other"), DATA_LOADING, tracks)
        sync = _named_intervals(view, ("cuda_api",), SYNCHRONIZATION, own)
        both = merge_intervals(np.concatenate([load[0], sync[0]]), np.concatenate([load[1], sync[1]]))
        loading[here] = covered_ns(load, start[here], stop[here])
        syncing[here] = covered_ns(both, start[here], stop[here]) - loading[here]
    return loading, syncing


def _named_intervals(
    view: View, kinds: tuple[str, ...], pattern: re.Pattern[str], tracks: frozenset[int]
) -> tuple[Int64Array, Int64Array]:
    """The union of the events of some kinds whose name matches."""
    wanted = matching_names(view.capture, pattern)
    host = view.other(Selection(view.selection.start_ns, view.selection.stop_ns))
    present = [kind for kind in kinds if kind in view.capture.kinds] if wanted.any() else []
    found = [host.events(kind, tracks) for kind in present]
    events = join_events(found)
    events = events.take(wanted[events.name])
    return merge_intervals(events.start, events.stop)
