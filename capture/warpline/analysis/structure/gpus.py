"""The GPUs of a capture and their activities as intervals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.lane_sweep import times_together
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selected.spans import Span
from warpline.analysis.framework.selection import GPU_KINDS, View, is_exported_range
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.overlap import Intervals, combination_times
from warpline.model import Track

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
COMPUTATION, COMMUNICATION, MEMORY = 1, 2, 4
"""Bits of a GPU's activities in combinations of `warpline.analysis.structure.overlap`."""
WINDOW_EVENTS = 1 << 19
_MOVES = ("memcpy", "memset")
_NPU = re.compile(r"(Rank \d+ · )?NPU\b")


@dataclass(frozen=True)
class Gpu:
    """A GPU: number, rank (None without ranks), title and track indices."""

    device: int
    rank: int | None
    title: str
    tracks: frozenset[int]

    @property
    def word(self) -> str:
        """The word for this kind of device."""
        return "NPU" if _NPU.match(self.title) else "GPU"


def gpus(view: View) -> list[Gpu]:
    """The GPUs with selected tracks, by rank and number."""
    tracks_of: dict[tuple[int, int], list[int]] = {}
    for track in view.capture.tracks:
        if track.device is not None and track.index in view.tracks:
            key = (-1 if track.rank is None else track.rank, track.device)
            tracks_of.setdefault(key, []).append(track.index)
    names = {(d.rank, d.index): d.name for d in view.capture.devices}
    result = []
    for (number, device), tracks in sorted(tracks_of.items()):
        rank = None if number < 0 else number
        name = names.get((rank, device), names.get((None, device), ""))
        title = f"{'NPU' if _NPU.match(name) or name.startswith('Ascend') else 'GPU'} {device}"
        if name and name not in (title, "NPU"):
            title += f" · {name}"
        result.append(
            Gpu(device, rank, f"Rank {rank} · {title}" if rank is not None else title, frozenset(tracks))
        )
    return [gpu for gpu in result if _has_worked(view, gpu)]


def _has_worked(view: View, gpu: Gpu) -> bool:
    """Whether work of the GPU was recorded, in the selected range or not."""
    if is_exported_range(view.capture) and view.were_recorded(*GPU_KINDS):
        # A part keeps the tracks of the whole: streams without work in the range are idle, not unrecorded.
        return any(view.capture.tracks[track].role == "stream" for track in gpu.tracks)
    return any(view.everything().count(kind, gpu.tracks) for kind in GPU_KINDS)


def stream_titles(view: View, streams: Sequence[int]) -> list[str]:
    """Titles of stream tracks, with process and context if titles would be equal."""
    tracks = [view.capture.tracks[index] for index in streams]
    titles = [track.title or f"Stream {track.stream}" for track in tracks]
    shared = {title for title, count in Counter(titles).items() if count > 1}
    return [
        f"{title} · {_owner(view, track)}" if title in shared else title
        for title, track in zip(titles, tracks, strict=True)
    ]


def _owner(view: View, track: Track) -> str:
    processes = view.capture.processes
    known = track.process is not None and 0 <= track.process < len(processes)
    pid = str(processes[track.process].pid) if known and track.process is not None else "?"
    return f"process {pid}, context {track.context}"


def gpu_work(view: View, gpu: Gpu) -> SelectedEvents:
    """Everything that occupies the GPU in the selected range, ordered by row."""
    parts = [view.events(kind, gpu.tracks) for kind in GPU_KINDS if kind in view.capture.kinds]
    return join_events([part for part in parts if len(part)])


def activities(
    view: View, gpu: Gpu, communication: npt.NDArray[np.bool_]
) -> tuple[Intervals, Intervals, Intervals]:
    """Intervals of computation, communication and memory operations, in the order of their bits.

    ``communication`` flags the string ids that name communication.
    """
    kernels = join_events(
        [
            view.events(kind, gpu.tracks)
            for kind in ("kernel", "graph", "gpu_event")
            if kind in view.capture.kinds
        ]
    )
    memory = join_events([view.events(kind, gpu.tracks) for kind in _MOVES if kind in view.capture.kinds])
    is_comm = communication[kernels.name]
    start, stop = kernels.start, kernels.stop
    return (
        (start[~is_comm], stop[~is_comm]),
        (start[is_comm], stop[is_comm]),
        (memory.start, memory.stop),
    )


def activity_combinations(view: View, gpu: Gpu) -> Int64Array:
    """Exact `combination_times` of the activities of a GPU over the selected range, in bounded memory."""
    communication = communication_ids(view)
    times = _from_bins(view, gpu, communication)
    if times is not None:
        return times
    total = np.zeros(8, np.int64)
    for window in windows_of(view, gpu.tracks):
        total += combination_times(activities(window, gpu, communication), window.start_ns, window.stop_ns)
    return total


@dataclass(frozen=True, eq=False)
class _Bins:
    """Cumulative times of the sets of activities [bins + 1, 8] from the first of the ``edges`` (capture ns) to each."""

    edges: Int64Array
    until: Int64Array


_BINS = 4096
"""Parts of a capture's time for which activity times are cached, once a large range was requested."""
_KNOWN: WeakKeyDictionary[Capture, dict[frozenset[int], _Bins | None]] = WeakKeyDictionary()


def _from_bins(view: View, gpu: Gpu, communication: npt.NDArray[np.bool_]) -> Int64Array | None:
    """The combinations from cached bins and sweeps over the remainders; None where no sweep is compiled."""
    classes = _classes(communication)

    def swept(part: View) -> Int64Array | None:
        times = times_together(part, gpu.tracks, classes, 3)
        return None if times is None else times.sets

    tracks = gpu.tracks & view.tracks
    known = _KNOWN.setdefault(view.capture, {})
    if view.selection.names is not None or (tracks not in known and not _is_large(view, tracks)):
        return swept(view)
    if tracks not in known:
        known[tracks] = _binned(view, tracks, classes)
    bins = known[tracks]
    if bins is None:
        return None
    first = int(np.searchsorted(bins.edges, view.start_ns, "left"))
    last = int(np.searchsorted(bins.edges, view.stop_ns, "right")) - 1
    if first >= last:
        return swept(view)
    total: Int64Array = bins.until[last] - bins.until[first]
    remainders = ((view.start_ns, int(bins.edges[first])), (int(bins.edges[last]), view.stop_ns))
    for start, stop in remainders:
        part = swept(view.restrict(start, stop)) if start < stop else np.zeros(8, np.int64)
        if part is None:
            return None
        total = total + part
    return total


def _is_large(view: View, tracks: frozenset[int]) -> bool:
    """Whether the selection is large enough to sweep the whole capture."""
    here = sum(view.count(kind, tracks) for kind in GPU_KINDS)
    if here < WINDOW_EVENTS:
        return False
    return here * 4 >= sum(view.everything().count(kind, tracks) for kind in GPU_KINDS)


def _binned(view: View, tracks: frozenset[int], classes: dict[str, npt.NDArray[np.uint8]]) -> _Bins | None:
    low, high = view.capture.span
    edges = np.unique(np.linspace(low, high, _BINS + 1).astype(np.int64))
    whole = view.everything().restrict(int(edges[0]), int(edges[-1]))
    times = times_together(whole, tracks, classes, 3, cuts=edges[1:-1])
    if times is None:
        return None
    return _Bins(edges, np.concatenate([np.zeros((1, 8), np.int64), np.cumsum(times.sets, axis=0)]))


def _classes(communication: npt.NDArray[np.bool_]) -> dict[str, npt.NDArray[np.uint8]]:
    """For each kind, the bit number of each name's activity."""
    work = communication.astype(np.uint8)
    moves = np.full(len(work), 2, np.uint8)
    return {kind: moves if kind in _MOVES else work for kind in GPU_KINDS}


def windows_of(
    view: View, tracks: frozenset[int], limit: int = WINDOW_EVENTS, kinds: tuple[str, ...] = GPU_KINDS
) -> Iterator[View]:
    """Split the range into parts of at most ``limit`` events of these kinds, to bound the memory of unions."""
    pending = [(view.start_ns, view.stop_ns)]
    whole = view
    while pending:
        start, stop = pending.pop()
        part = view.restrict(start, stop) if (start, stop) != (view.start_ns, view.stop_ns) else whole
        if stop - start > 1 and sum(part.count(kind, tracks) for kind in kinds) > limit:
            middle = (start + stop) // 2
            pending += [(middle, stop), (start, middle)]
            continue
        yield part


def active_span(view: View, gpu: Gpu) -> tuple[int, int]:
    """The first start and the last end of the GPU's work, cut to the selected range; (0, 0) without work."""
    first, last = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    for span in view.lane_spans(gpu.tracks & view.tracks):
        # Events of a lane do not overlap: the last one also ends last.
        head, tail = _ends_of_work(view, span)
        if head is not None and tail is not None:
            start, stop = view.times_of(np.array([head, tail], np.int64))
            first, last = min(first, int(start[0])), max(last, int(stop[1]))
    if last < first:
        return 0, 0
    return max(first, view.start_ns), min(last, view.stop_ns)


def _ends_of_work(view: View, span: Span) -> tuple[int | None, int | None]:
    """The first and the last row of a lane that are GPU work and pass the name filter."""
    codes = [view.capture.kinds[kind].code for kind in GPU_KINDS if kind in view.capture.kinds]
    names = None if view.selection.names is None else list(view.selection.names)

    def find(part: slice) -> Int64Array:
        counts = np.isin(view.capture.events.kind[part], codes)
        if names is not None:
            counts &= np.isin(view.capture.events.name[part], names)
        rows: Int64Array = np.flatnonzero(counts) + part.start
        return rows

    cuts = range(span.first, span.stop, _SEARCH_ROWS)
    parts = [slice(cut, min(cut + _SEARCH_ROWS, span.stop)) for cut in cuts]
    head = next((int(rows[0]) for rows in map(find, parts) if len(rows)), None)
    tail = next((int(rows[-1]) for rows in map(find, reversed(parts)) if len(rows)), None)
    return head, tail


_SEARCH_ROWS = 1 << 12
