"""One diagnosis while it is made: everybody's segments, the pieces of what is waited for, and what they count as."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.blame import Pieces, blame
from warpline.analysis.findings.categories import (
    NUMBER,
    categories,
    garbage_intervals,
    loading_events,
    operator_intervals,
)
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.gpu_segments import GpuTime, gpu_time, with_calls, with_synchronization
from warpline.analysis.findings.host_places import moments_in, usual_place
from warpline.analysis.findings.host_segments import host_segments
from warpline.analysis.findings.scope import Scope, WaitedFor
from warpline.analysis.findings.segments import (
    Index,
    IntArray,
    Segments,
    distinct,
    doing_of,
    join_segments,
    split_at,
)
from warpline.analysis.findings.serial import tell_serial
from warpline.analysis.findings.thread_time import Threads
from warpline.analysis.findings.wait_graph import WaitGraph
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.structure.gpus import gpus
from warpline.i18n import tr
from warpline.model.progress import Progress, unwatched

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_HELD_UP = 0.02
"""Of the range: what explains less may have nothing to do with what is waited for."""


@dataclass(frozen=True, eq=False)
class Case:
    """What rules find findings in. ``category`` is the index into `CATEGORIES` of each of ``pieces``; ``actor`` is
    what is waited for: a thread's index, or ``len(threads)`` and more for GPUs; ``group_of_segment`` is a number
    for the place of each segment (0: not known); ``loaders`` are threads that load data.
    """

    scope: Scope
    target: WaitedFor
    threads: Threads
    gpus: tuple[GpuTime, ...]
    graph: WaitGraph
    actor: int
    pieces: Pieces
    category: Int64Array
    group_of_segment: IntArray
    loaders: frozenset[int]

    @property
    def view(self) -> View:
        """The range."""
        return self.scope.view

    @property
    def segments(self) -> Segments:
        """Everybody's time."""
        return self.graph.segments

    @cached_property
    def doing(self) -> IntArray:
        """A number for what is done at which place in each segment."""
        return doing_of(self.segments, self.group_of_segment)

    @property
    def whole_ns(self) -> int:
        """Length of the range."""
        return max(self.view.duration_ns, 1)

    @cached_property
    def _by_category(self) -> tuple[Int64Array, Int64Array]:
        """The pieces by category, ascending in each, and where those of each begin."""
        codes = self.category.astype(np.uint8)
        return np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes, minlength=256))

    def pieces_of_category(self, number: int) -> Int64Array:
        """Places of the pieces that count as one category, ascending."""
        order, ends = self._by_category
        return order[int(ends[number - 1]) if number else 0 : int(ends[number])]

    @cached_property
    def fair_ns(self) -> int:
        """The range less what it waited for cores: a neighbour's load makes no disease of the program smaller."""
        waited = int(self.pieces.length[self.category == NUMBER["runnable"]].sum())
        return max(self.whole_ns - waited, 1)

    @cached_property
    def device(self) -> str:
        """What accelerators are called here: GPU, or NPU."""
        own = self.gpu or next(iter(self.gpus), None)
        return "GPU" if own is None else own.gpu.word

    @cached_property
    def gpu(self) -> GpuTime | None:
        """The GPU that is waited for."""
        return next((time for time in self.gpus if time.actor == self.actor), None)

    def where(self, segment: int) -> Where:
        """The place of a segment, as far as it is known."""
        actor = int(self.segments.actor[segment])
        if actor >= len(self.view.capture.threads):
            row = int(self.segments.row[segment])
            busy = row >= 0 and Cause.COMPUTATION <= int(self.segments.cause[segment]) <= Cause.COPY
            return (
                Where(kernel=self.view.capture.strings[int(self.view.names(np.array([row]))[0])])
                if busy
                else Where()
            )
        return self.threads.where(int(self.segments.place[segment]), actor)

    def segment_place(self, segment: int) -> Where:
        """`where`, without what tells the thread: what a table says beside it."""
        where = self.where(segment)
        return Where(where.file, where.line, where.function, kernel=where.kernel)

    def row_of(self, segment: int) -> int:
        """The event a segment is, or that says what was done in it; −1 for none."""
        row, actor = int(self.segments.row[segment]), int(self.segments.actor[segment])
        if row >= 0:
            return row
        start, stop = int(self.segments.start[segment]), int(self.segments.stop[segment])
        if actor < len(self.view.capture.threads):
            times = moments_in(np.array([start]), np.array([stop]))
            return usual_place(self.view, actor, times)[1]
        following = segment + 1 < len(self.segments) and int(self.segments.actor[segment + 1]) == actor
        return int(self.segments.row[segment + 1]) if following else row

    def actor_name(self, actor: int) -> str:
        """What a person calls an actor."""
        threads = self.view.capture.threads
        if actor < len(threads):
            return self.threads.name(actor)
        return next(time.gpu.title for time in self.gpus if time.actor == actor)

    def gain_ns(self, without: BoolArray) -> int:
        """What the range would lose at most if the marked segments took no time; what else limits takes over."""
        return self.graph.gain_ns(self.actor, np.where(without, np.float32(0), np.float32(1)))

    def gain_of_pieces(self, pieces: Int64Array) -> int:
        """Likewise if what explains some pieces took that much less."""
        leaf = self.pieces.leaf[pieces]
        touched, place = distinct(leaf)
        less = np.bincount(place, self.pieces.length[pieces], len(touched))
        length = self.segments.stop[touched] - self.segments.start[touched]
        keep = np.ones(len(self.segments), np.float32)
        keep[touched] = np.clip(1 - less / np.maximum(length, 1), 0.0, 1.0)
        return self.graph.gain_ns(self.actor, keep)

    def bounded_by_cores(self, gain_ns: int) -> int:
        """A gain that leaves the time which all that runs needs on the cores there are."""
        return max(min(gain_ns, self.whole_ns - self._needed_ns), 0)

    @cached_property
    def _needed_ns(self) -> int:
        cores = max(sum(track.role == "core" for track in self.view.capture.tracks), 1)
        threads = self.segments.actor < len(self.view.capture.threads)
        runs = threads & ((self.segments.cause == Cause.RUNNING) | (self.segments.cause == Cause.IMPORTING))
        return int(self.segments.length[runs].sum()) // cores


def make_case(scope: Scope, target: WaitedFor, progress: Progress = unwatched) -> Case:
    """Everybody's segments in the range, and the pieces of what is waited for."""
    view = scope.view
    threads = Threads(view)
    segments, found = _everybody(scope, target, threads, progress)
    _next_part(view, progress, 0.35)
    actor = len(view.capture.threads) if target.gpu is not None else target.thread or 0
    segments = _cut_at(scope, target, segments, actor)
    _next_part(view, progress, 0.4)
    graph = WaitGraph(segments, view.start_ns, view.stop_ns)
    _next_part(view, progress, 0.45)
    pieces = blame(graph.segments, graph.index, actor, view.start_ns, view.stop_ns)
    _next_part(view, progress, 0.5)
    groups = _groups(threads, graph.segments)
    graph.hold(_same_doing(graph.segments, groups, pieces))
    category = categories(view, graph.segments, pieces, target)
    _next_part(view, progress, 0.55)
    category = tell_serial(graph, pieces, category, actor, groups)
    loaders = frozenset(np.unique(loading_events(view, target)[0]).tolist())
    return Case(scope, target, threads, tuple(found), graph, actor, pieces, category, groups, loaders)


def _everybody(
    scope: Scope, target: WaitedFor, threads: Threads, progress: Progress
) -> tuple[Segments, list[GpuTime]]:
    """The segments of all threads and GPUs; what is waited for is the first GPU, if it is one."""
    view = scope.view
    n_threads = len(view.capture.threads)
    host = with_calls(view, host_segments(threads))
    tracked = np.zeros(n_threads + 1, bool)
    tracked[host.actor[host.cause != Cause.NOT_RECORDED]] = True
    _next_part(view, progress, 0.2)
    found: list[GpuTime] = []
    if view.has(*GPU_KINDS):
        wanted = {gpu.tracks: gpu for gpu in gpus(view)}
        if target.gpu is not None:
            overlapping = [tracks for tracks in wanted if tracks & target.gpu.tracks]
            for tracks in overlapping:
                del wanted[tracks]
            wanted = {target.gpu.tracks: target.gpu, **wanted}
        for number, gpu in enumerate(wanted.values()):
            found.append(gpu_time(view, gpu, n_threads + number, tracked))
            _next_part(view, progress, 0.2 + 0.1 * (number + 1) / len(wanted))
        host = with_synchronization(view, host, found)
    return join_segments([host, *(time.segments for time in found)]), found


def _next_part(view: View, progress: Progress, fraction: float) -> None:
    """Between two parts of the work: says how far it is, and ends it when nobody wants it any more."""
    view.check_cancelled()
    progress(fraction, tr("Reading what was recorded"))


def _groups(threads: Threads, segments: Segments) -> IntArray:
    """A number for each place of the user's code: segments at one place share theirs; 0 where none is known."""
    used = np.zeros(int(segments.place.max(initial=-1)) + 2, bool)
    used[segments.place] = True
    numbers: dict[Where, int] = {Where(): 0}
    # -1, no stack, is the last entry.
    of_stack = np.zeros(len(used), np.int32)
    for stack in np.flatnonzero(used[:-1]).tolist():
        of_stack[stack] = numbers.setdefault(threads.place(stack), len(numbers))
    found: IntArray = of_stack[segments.place]
    return found


def _same_doing(segments: Segments, groups: IntArray, pieces: Pieces) -> BoolArray:
    """Segments of anybody of the cause and at the place of those that explain some of the time."""
    key = doing_of(segments, groups)
    explained = np.bincount(key[pieces.leaf], pieces.length, int(key.max(initial=0)) + 1)
    found: BoolArray = (explained > _HELD_UP * pieces.length.sum())[key]
    return found


def _cut_at(scope: Scope, target: WaitedFor, segments: Segments, actor: int) -> Segments:
    """Cuts the time that is waited for where steps and data loading begin and end, and that of those who do."""
    view = scope.view
    thread, start, stop = loading_events(view, target)
    operators = operator_intervals(view, target)
    garbage = garbage_intervals(view, target)
    own = np.unique(np.concatenate([scope.steps.start, scope.steps.stop, start, stop, *operators, *garbage]))
    # What the host did while a GPU waited for it is told apart from what it did besides.
    gaps = segments.take((segments.cause == Cause.LAUNCH) & (segments.by >= 0))
    actors = np.concatenate([np.full(len(own), actor), thread, thread, gaps.by, gaps.by])
    borders = np.concatenate([own, start, stop, gaps.start, gaps.stop])
    inside = (borders > view.start_ns) & (borders < view.stop_ns)
    index = Index(segments, view.start_ns, view.stop_ns)
    return split_at(segments, index, actors[inside], borders[inside])
