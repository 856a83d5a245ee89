"""One diagnosis while it is made: everybody's segments, the pieces of what is waited for, and what they count as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.blame import Pieces, blame
from warpline.analysis.findings.categories import (
    CATEGORIES,
    NUMBER,
    categories,
    garbage_intervals,
    loading_events,
    operator_intervals,
)
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.gpu_segments import (
    GpuTime,
    gpu_time,
    waiting_calls,
    with_calls,
    with_synchronization,
)
from warpline.analysis.findings.host_places import moments_in, usual_place
from warpline.analysis.findings.host_segments import host_segments
from warpline.analysis.findings.scope import Scope, WaitedFor
from warpline.analysis.findings.segments import (
    Index,
    IntArray,
    Segments,
    chain_segments,
    doing_of,
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
_AT_ONCE = 1 << 20
"""Pieces, or segments, that are reckoned with together."""
_HELD_UP = 0.02
"""Of the range: what explains less may have nothing to do with what is waited for."""


@dataclass
class RuleProgress:
    """Who is told how far a case's rules are: fractions of the rule that is looked for."""

    progress: Progress = unwatched


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
    category: npt.NDArray[np.int8]
    group_of_segment: IntArray
    loaders: frozenset[int]
    watched: RuleProgress = field(default_factory=RuleProgress)

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
    def _counts(self) -> list[int]:
        """How many pieces count as each category."""
        counts: list[int] = np.bincount(self.category, minlength=len(CATEGORIES)).tolist()
        return counts

    def pieces_of_category(self, number: int) -> Int64Array:
        """Places of the pieces that count as one category, ascending."""
        return np.flatnonzero(self.category == number) if self._counts[number] else np.empty(0, np.int64)

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
            return usual_place(self.view, actor, times).row
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
        """Likewise if what explains some pieces took that much less; no more than they are long."""
        less = np.zeros(len(self.segments), np.float64)
        whole = 0
        for first in range(0, len(pieces), _AT_ONCE):
            part = pieces[first : first + _AT_ONCE]
            length = self.pieces.length[part]
            whole += int(length.sum())
            np.add.at(less, self.pieces.leaf[part], length)
        keep = np.ones(len(less), np.float32)
        for first in range(0, len(less), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            length = self.segments.stop[some] - self.segments.start[some]
            keep[some] = np.clip(1 - less[some] / np.maximum(length, 1), 0.0, 1.0)
        del less
        return min(self.graph.gain_ns(self.actor, keep), whole)

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
    actor = len(view.capture.threads) if target.gpu is not None else target.thread or 0
    segments, found = _everybody(scope, target, threads, actor, progress)
    _next_part(view, progress, 0.4)
    graph = WaitGraph(segments, view.start_ns, view.stop_ns)
    del segments
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
    scope: Scope, target: WaitedFor, threads: Threads, actor: int, progress: Progress
) -> tuple[Segments, list[GpuTime]]:
    """The segments of all threads and GPUs; what is waited for is the first GPU, if it is one. They are cut where steps
    and data loading begin and end.
    """
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
    _next_part(view, progress, 0.35)
    parts = [_host_cut(scope, target, host, actor, found)]
    del host
    numbers = [time.actor for time in found]
    for time in found:
        is_own = time.actor == actor
        parts.append(_cut(view, time.segments, actor, _borders(scope, target)) if is_own else time.segments)
    found = [replace(time, segments=parts[0].take(slice(0, 0))) for time in found]
    segments = chain_segments(parts)
    # What GPUs do is a part of it all, and not kept beside it.
    first = [*np.searchsorted(segments.actor, numbers).tolist(), len(segments)]
    return segments, [
        replace(time, segments=segments.take(slice(first[place], first[place + 1])))
        for place, time in enumerate(found)
    ]


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
    if not used[:-1].any():
        return np.broadcast_to(of_stack[0], len(segments))
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


def _borders(scope: Scope, target: WaitedFor) -> Int64Array:
    """Where steps, data loading, operators and collecting garbage begin and end, for what is waited for."""
    view = scope.view
    _, start, stop = loading_events(view, target)
    operators, garbage = operator_intervals(view, target), garbage_intervals(view, target)
    return np.unique(np.concatenate([scope.steps.start, scope.steps.stop, start, stop, *operators, *garbage]))


def _host_cut(
    scope: Scope, target: WaitedFor, host: Segments, actor: int, found: Sequence[GpuTime]
) -> Segments:
    """Threads cut at the borders of what is waited for, at those of loading, and where a GPU waits for them: what was
    done meanwhile is told apart from what was done besides.
    """
    view = scope.view
    if target.gpu is None:
        host = _cut(view, host, actor, _borders(scope, target))
    thread, start, stop = loading_events(view, target)
    calls = waiting_calls(host)  # for as long as one lasted the host could have worked ahead
    actors = [thread, thread, calls.thread]
    borders = [start, stop, calls.stop + calls.waited_ns]
    for time in found:
        gaps = np.flatnonzero((time.segments.cause == Cause.LAUNCH) & (time.segments.by >= 0))
        # Gaps lie one after the other, and so do their ends in turn.
        ends = np.column_stack((time.segments.start[gaps], time.segments.stop[gaps])).reshape(-1)
        actors.append(np.repeat(time.segments.by[gaps], 2))
        borders.append(ends)
    # All at once: each cut writes everybody's time anew.
    return _cut(view, host, np.concatenate(actors), np.concatenate(borders))


def _cut(view: View, segments: Segments, actor: IntArray | int, borders: Int64Array) -> Segments:
    """Segments cut at moments of actors, or of one, inside the range."""
    if not len(borders):
        return segments
    actors = np.full(len(borders), actor, np.int32) if isinstance(actor, int) else actor
    inside = (borders > view.start_ns) & (borders < view.stop_ns)
    if not inside.all():
        actors, borders = actors[inside], borders[inside]
    return split_at(segments, Index(segments, view.start_ns, view.stop_ns), actors, borders)
