"""The lines that threads ran, by samples of their stacks while they were on a core."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from warpline.storage import Capture

RUNNING = "running"
CPU_OF_PROCESS = "CPU"
"""The counter of the cores that a process takes."""
_HALF_A_CORE = 0.5


def running_lines(capture: Capture, start_ns: int, stop_ns: int) -> dict[int, Counter[str]]:
    """For each thread (index), how often each line (the sample's name) was sampled in [start_ns, stop_ns).

    If states were recorded, samples taken while a thread was not on a core are left out. A thread without a state in
    the range did not change it: it ran if its process took more CPU time than its other threads.
    """
    samples = capture.kinds.get("sample")
    lines: dict[int, Counter[str]] = {}
    if samples is None:
        return lines
    running = capture.strings.id(RUNNING)
    states = _state_lanes(capture)
    for track in capture.tracks:
        if track.thread is None:
            continue
        rows = capture.rows_in(list(capture.track_lanes(track.index)), start_ns, stop_ns)
        rows = rows[capture.events.kind[rows] == samples.code]
        if not len(rows):
            continue
        lane = states.get(track.thread)
        if lane is None and states and not _is_busy(capture, track.process, states, (start_ns, stop_ns)):
            continue
        if lane is not None and running is not None:
            rows = rows[_are_running(capture, lane, capture.event_times(rows)[0], running)]
        names, counts = np.unique(capture.events.name[rows], return_counts=True)
        texts = capture.strings.get(names.tolist())
        lines.setdefault(track.thread, Counter()).update(dict(zip(texts, counts.tolist(), strict=True)))
    return lines


def _state_lanes(capture: Capture) -> dict[int, int]:
    """The lane of each thread's states, by thread."""
    table = capture.kinds.get("thread_state")
    lanes: dict[int, int] = {}
    if table is not None:
        for track in capture.tracks:
            for lane in capture.track_lanes(track.index)[:1]:
                row = int(capture.lanes.first[lane])
                if track.thread is not None and int(capture.events.kind[row]) == table.code:
                    lanes[track.thread] = lane
    return lanes


def _is_busy(
    capture: Capture, process: int | None, states: dict[int, int], range_ns: tuple[int, int]
) -> bool:
    """Whether a process took half a core more in a range than the states of its threads say."""
    taken = [
        counter.values[(counter.times >= range_ns[0]) & (counter.times < range_ns[1])]
        for counter in capture.counters
        if counter.name == CPU_OF_PROCESS and capture.tracks[counter.track].process == process
    ]
    known = [values[np.isfinite(values)] for values in taken]
    cores = sum(float(values.mean()) for values in known if len(values))
    threads = {track.thread for track in capture.tracks if track.process == process}
    busy_ns = sum(capture.busy_ns(lane, *range_ns) for thread, lane in states.items() if thread in threads)
    return cores - busy_ns / max(1, range_ns[1] - range_ns[0]) > _HALF_A_CORE


def _are_running(
    capture: Capture, lane: int, times: np.ndarray[tuple[int], np.dtype[np.int64]], running: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether the state at each time is the running one; outside the recorded states, True."""
    if not len(times):
        return np.empty(0, bool)
    rows = capture.lane_slice(lane, int(times.min()), int(times.max()) + 1)
    if rows.stop <= rows.start:
        return np.ones(len(times), bool)
    starts = capture.event_times(np.arange(rows.start, rows.stop))[0]
    at = np.searchsorted(starts, times, "right") - 1
    names = capture.events.name[rows.start : rows.stop]
    return np.where(at >= 0, names[np.maximum(at, 0)] == running, True)
