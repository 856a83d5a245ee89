"""The case of a diagnosis: segments of all actors, and the target's pieces with their categories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar, cast

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
    range_intervals,
)
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.core_demand import crowded_ns, ran_meanwhile, with_core_waits
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.gpu_segments import (
    BUSY,
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
    one_of,
    split_at,
)
from warpline.analysis.findings.serial import categorize_serial
from warpline.analysis.findings.thread_time import Threads
from warpline.analysis.findings.wait_graph import WaitGraph
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.structure.gpus import gpus
from warpline.i18n import tr
from warpline.model.progress import Progress, unwatched

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Result = TypeVar("Result")
_AT_ONCE = 1 << 20
"""How many pieces or segments are processed together."""
_EXACT = 0.02
"""Share of the range by which a replay may miss the recording."""
_CROWDED = 0.02
"""Share of the range that other programs must take for it to be replayed without them."""
_ON_PATH = 0.01
"""Share of the range that an actor must have on the critical path for all its waits to count as delays."""
_DELAYS = 0.02
"""Share of the target's time from which a cause at a place counts as delaying it."""


@dataclass
class RuleProgress:
    """Receives the progress of the rule that is running."""

    progress: Progress = unwatched


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """What rules work on.

    ``category`` is the index into `CATEGORIES` of each piece; ``actor`` the target: a thread's index, or for GPUs
    ``len(threads)`` and more; ``group_of_segment`` a number for the place of each segment (0: unknown); ``loaders`` the
    threads that load data; ``claimed`` the pieces that a shape already explains, which later rules leave alone.
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
    claimed: BoolArray
    watched: RuleProgress = field(default_factory=RuleProgress)
    _crowded: dict[int, int] = field(default_factory=dict)
    results: dict[Callable[[Case], object], object] = field(default_factory=dict)

    def once(self, compute: Callable[[Case], Result]) -> Result:
        """What a function returns for this case, computed on first use: several rules need it."""
        if compute not in self.results:
            self.results[compute] = compute(self)
        return cast("Result", self.results[compute])

    @property
    def view(self) -> View:
        """The range."""
        return self.scope.view

    @property
    def segments(self) -> Segments:
        """The segments of all actors."""
        return self.graph.segments

    @cached_property
    def doing(self) -> IntArray:
        """A number for the cause and place of each segment."""
        return doing_of(self.segments, self.group_of_segment)

    @property
    def whole_ns(self) -> int:
        """Length of the range."""
        return max(self.view.duration_ns, 1)

    @cached_property
    def _counts(self) -> list[int]:
        """The number of pieces in each category."""
        counts: list[int] = np.bincount(self.category, minlength=len(CATEGORIES)).tolist()
        return counts

    def pieces_of_category(self, number: int) -> Int64Array:
        """Indices of the pieces in a category, ascending."""
        return np.flatnonzero(self.category == number) if self._counts[number] else np.empty(0, np.int64)

    @cached_property
    def fair_ns(self) -> int:
        """The range without waits for cores that other programs took: they must not make a problem look smaller.

        At least half of the range: on a machine that is busier than that, small problems would look large.
        """
        return max(self.whole_ns - self.outside_ns, self.whole_ns // 2, 1)

    @cached_property
    def ran_while_waiting(self) -> dict[int, int]:
        """How long each other thread of the program ran while the target waited for a core, ns by actor."""
        pieces = self.pieces_of_category(NUMBER["runnable"])
        threads = len(self.view.capture.threads)
        return ran_meanwhile(
            self.graph, self.actor, threads, self.pieces.start[pieces], self.pieces.stop[pieces]
        )

    @cached_property
    def core_waits_ns(self) -> int:
        """How long the target waits for a core, itself or through others, ns."""
        return int(self.pieces.length[self.pieces_of_category(NUMBER["runnable"])].sum())

    @property
    def working_ns(self) -> int:
        """The range without all waits for a core, ns."""
        return self.whole_ns - self.core_waits_ns

    @cached_property
    def outside_ns(self) -> int:
        """The part of the waits for a core in which other programs used the cores, ns."""
        waited = self.core_waits_ns
        if waited * 50 < self.whole_ns:
            return waited
        return max(waited - sum(self.ran_while_waiting.values()) // self.cores, 0)

    @cached_property
    def cores(self) -> int:
        """How many cores the machine has."""
        return max(sum(track.role == "core" for track in self.view.capture.tracks), 1)

    def crowded_ns(self, cores: int) -> int:
        """How much longer the program takes because it has more to run than ``cores`` cores, ns."""
        if cores not in self._crowded:
            self._crowded[cores] = crowded_ns(self.graph, cores)
        return self._crowded[cores]

    @cached_property
    def is_reproduced(self) -> bool:
        """Whether a replay without any change ends where the recording does; else no gain can be computed."""
        return self.graph.baseline_error_ns(self.actor) <= _EXACT * self.whole_ns

    @cached_property
    def device(self) -> str:
        """What the accelerator is called: GPU or NPU."""
        own = self.gpu or next(iter(self.gpus), None)
        return "GPU" if own is None else own.gpu.word

    @cached_property
    def gpu(self) -> GpuTime | None:
        """The target GPU; None when the target is a thread."""
        return next((time for time in self.gpus if time.actor == self.actor), None)

    def where(self, segment: int) -> Where:
        """The place of a segment."""
        actor = int(self.segments.actor[segment])
        if actor >= len(self.view.capture.threads):
            row = int(self.segments.row[segment])
            busy = row >= 0 and int(self.segments.cause[segment]) in BUSY
            return (
                Where(kernel=self.view.capture.strings[int(self.view.names(np.array([row]))[0])])
                if busy
                else Where()
            )
        return self.threads.where(int(self.segments.place[segment]), actor)

    def segment_place(self, segment: int) -> Where:
        """`where` without the thread, which tables show in another column."""
        where = self.where(segment)
        return Where(file=where.file, line=where.line, function=where.function, kernel=where.kernel)

    def row_of(self, segment: int) -> int:
        """The event of a segment, or one that shows what it did; −1 for none."""
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
        """The title of an actor."""
        threads = self.view.capture.threads
        if actor < len(threads):
            return self.threads.name(actor)
        return next(time.gpu.title for time in self.gpus if time.actor == actor)

    def gain_ns(self, without: BoolArray) -> int:
        """How much shorter the range could be if the marked segments took no time, ns; an upper bound."""
        return self.gain_of_shares(np.where(without, np.float32(0), np.float32(1)))

    def gain_of_shares(self, keep: npt.NDArray[np.float32]) -> int:
        """How much shorter the range could be if only the share ``keep`` (0–1) of each segment remained, ns.

        Code that runs for less time also waits for a core for less time. Waits for cores that other programs used
        count neither before nor after.
        """
        return self._gain_ns(with_core_waits(self.segments, keep))

    def gain_as_recorded_ns(self, without: BoolArray) -> int:
        """`gain_ns` on the range with all waits for cores, for findings about such waits."""
        return self.graph.gain_ns(self.actor, np.where(without, np.float32(0), np.float32(1)))

    def _gain_ns(self, keep: npt.NDArray[np.float32]) -> int:
        alone = self._alone
        if alone is None:
            return self.graph.gain_ns(self.actor, keep)
        return max(self.graph.gain_ns(self.actor, keep * alone) - self._saved_alone_ns, 0)

    @cached_property
    def _alone(self) -> npt.NDArray[np.float32] | None:
        """The share of each segment that remains without waits for cores that other programs used; None if all does."""
        if self.outside_ns < _CROWDED * self.whole_ns:
            return None
        own = np.float32(1 - self.outside_ns / self.core_waits_ns)
        return np.where(self.segments.cause == Cause.RUNNABLE, own, np.float32(1))

    @cached_property
    def _saved_alone_ns(self) -> int:
        """How much shorter the range would be without other programs, ns."""
        return 0 if self._alone is None else self.graph.gain_ns(self.actor, self._alone)

    def gain_of_pieces(self, pieces: Int64Array) -> int:
        """How much shorter the range could be without the time that explains some pieces, ns.

        At most their length, and the waits for a core of the code that runs in them.
        """
        removed = np.zeros(len(self.segments), np.float64)
        whole = 0
        for first in range(0, len(pieces), _AT_ONCE):
            part = pieces[first : first + _AT_ONCE]
            length = self.pieces.length[part]
            whole += int(length.sum())
            np.add.at(removed, self.pieces.leaf[part], length)
        keep = np.ones(len(removed), np.float32)
        for first in range(0, len(removed), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            length = self.segments.stop[some] - self.segments.start[some]
            keep[some] = np.clip(1 - removed[some] / np.maximum(length, 1), 0.0, 1.0)
        del removed
        keep = with_core_waits(self.segments, keep)
        waits = self.pieces_of_category(NUMBER["runnable"])
        whole += int((self.pieces.length[waits] * (1 - keep[self.pieces.leaf[waits]])).sum())
        return min(self._gain_ns(keep), whole)

    def bounded_by_cores(self, gain_ns: int) -> int:
        """A gain limited so that all running code still fits on the available cores."""
        return max(min(gain_ns, self.whole_ns - self._core_time_ns), 0)

    @cached_property
    def _core_time_ns(self) -> int:
        threads = self.segments.actor < len(self.view.capture.threads)
        runs = threads & ((self.segments.cause == Cause.RUNNING) | (self.segments.cause == Cause.IMPORTING))
        return int(self.segments.length[runs].sum()) // self.cores


def make_case(scope: Scope, target: WaitedFor, progress: Progress = unwatched) -> Case:
    """Build the case of a target in its scope."""
    view = scope.view
    threads = Threads(view)
    actor = len(view.capture.threads) if target.gpu is not None else target.thread or 0
    segments, gpu_times = _all_segments(scope, target, threads, actor, progress)
    _next_part(view, progress, 0.4)
    graph = WaitGraph(segments, view.start_ns, view.stop_ns)
    del segments
    _next_part(view, progress, 0.45)
    pieces = blame(graph.segments, graph.index, actor, view.start_ns, view.stop_ns)
    _next_part(view, progress, 0.5)
    groups = _groups(threads, graph.segments)
    _hold_delays(graph, groups, pieces, actor)
    category = categories(view, graph.segments, pieces, target)
    _next_part(view, progress, 0.55)
    category = categorize_serial(graph, pieces, category, actor, groups)
    loaders = frozenset(np.unique(loading_events(view, target)[0]).tolist())
    return Case(
        scope=scope,
        target=target,
        threads=threads,
        gpus=tuple(gpu_times),
        graph=graph,
        actor=actor,
        pieces=pieces,
        category=category,
        group_of_segment=groups,
        loaders=loaders,
        claimed=np.zeros(len(pieces), bool),
    )


def _all_segments(
    scope: Scope, target: WaitedFor, threads: Threads, actor: int, progress: Progress
) -> tuple[Segments, list[GpuTime]]:
    """The segments of all threads and GPUs, cut at the ends of steps and data loading. A target GPU comes first."""
    view = scope.view
    n_threads = len(view.capture.threads)
    host = with_calls(view, host_segments(threads))
    tracked = np.zeros(n_threads + 1, bool)
    tracked[host.actor[host.cause != Cause.NOT_RECORDED]] = True
    _next_part(view, progress, 0.2)
    gpu_times: list[GpuTime] = []
    if view.were_recorded(*GPU_KINDS):
        wanted = {gpu.tracks: gpu for gpu in gpus(view)}
        if target.gpu is not None:
            overlapping = [tracks for tracks in wanted if tracks & target.gpu.tracks]
            for tracks in overlapping:
                del wanted[tracks]
            wanted = {target.gpu.tracks: target.gpu, **wanted}
        for number, gpu in enumerate(wanted.values()):
            gpu_times.append(gpu_time(view, gpu, n_threads + number, tracked))
            _next_part(view, progress, 0.2 + 0.1 * (number + 1) / len(wanted))
        host = with_synchronization(view, host, gpu_times)
    _next_part(view, progress, 0.35)
    parts = [_host_cut(scope, target, host, actor, gpu_times)]
    del host
    numbers = [time.actor for time in gpu_times]
    for time in gpu_times:
        is_own = time.actor == actor
        parts.append(_cut(view, time.segments, actor, _borders(scope, target)) if is_own else time.segments)
    gpu_times = [replace(time, segments=parts[0].take(slice(0, 0))) for time in gpu_times]
    segments = chain_segments(parts)
    # The segments of GPUs become slices of all segments, instead of copies.
    first = [*np.searchsorted(segments.actor, numbers).tolist(), len(segments)]
    return segments, [
        replace(time, segments=segments.take(slice(first[place], first[place + 1])))
        for place, time in enumerate(gpu_times)
    ]


def _next_part(view: View, progress: Progress, fraction: float) -> None:
    """Report progress between two parts of the work; raises Cancelled."""
    view.check_cancelled()
    progress(fraction, tr("Reading what was recorded"))


def _groups(threads: Threads, segments: Segments) -> IntArray:
    """A number for the place in the user's code of each segment; 0 when unknown."""
    used = np.zeros(int(segments.place.max(initial=-1)) + 2, bool)
    used[segments.place] = True
    numbers: dict[Where, int] = {Where(): 0}
    # The last entry is for −1, no stack.
    group_of_stack = np.zeros(len(used), np.int32)
    if not used[:-1].any():
        return np.broadcast_to(group_of_stack[0], len(segments))
    for stack in np.flatnonzero(used[:-1]).tolist():
        group_of_stack[stack] = numbers.setdefault(threads.place(stack), len(numbers))
    groups: IntArray = group_of_stack[segments.place]
    return groups


_LARGEST_KEY = 1 << 32


def _delaying(segments: Segments, groups: IntArray, pieces: Pieces) -> BoolArray:
    """Which segments, of any actor, have a cause and place that explains enough of the target's time."""
    key = doing_of(segments, groups)
    # Codes of a damaged capture may be anything.
    if key.min(initial=0) < 0 or key.max(initial=0) > _LARGEST_KEY:
        key = np.unique(key, return_inverse=True)[1]
    explained = np.bincount(key[pieces.leaf], pieces.length, int(key.max(initial=0)) + 1)
    delays: BoolArray = (explained > _DELAYS * pieces.length.sum())[key]
    return delays


def _hold_delays(graph: WaitGraph, groups: IntArray, pieces: Pieces, actor: int) -> None:
    """Mark what is known to delay the target, so that a replay without any change reproduces the recording."""
    graph.hold(_delaying(graph.segments, groups, pieces))
    allowed_ns = _EXACT * (graph.stop_ns - graph.start_ns)
    # An idle helper's wait lies on the critical path when its end is unknown, so as little as possible is held.
    if graph.baseline_error_ns(actor) <= allowed_ns:
        return
    path, start, stop = graph.walk(actor)
    on_path = np.zeros(len(graph.segments), bool)
    on_path[path] = True
    graph.hold(on_path)
    if not len(path) or graph.baseline_error_ns(actor) <= allowed_ns:
        return
    # A wait for a lock or the GIL lasts as long as it did, so it also matters when its own thread came to it.
    spent = np.bincount(graph.segments.actor[path], stop - start)
    least_ns = _ON_PATH * (graph.stop_ns - graph.start_ns)
    graph.hold(one_of(graph.segments.actor, np.flatnonzero(spent > least_ns)))


def _borders(scope: Scope, target: WaitedFor) -> Int64Array:
    """Where the target's steps, data loading, operators and garbage collection begin and end."""
    view = scope.view
    _, start, stop = loading_events(view, target)
    named = (
        *operator_intervals(view, target),
        *range_intervals(view, target),
        *garbage_intervals(view, target),
    )
    return np.unique(np.concatenate([scope.steps.start, scope.steps.stop, start, stop, *named]))


def _host_cut(
    scope: Scope, target: WaitedFor, host: Segments, actor: int, gpu_times: Sequence[GpuTime]
) -> Segments:
    """Threads cut at the target's borders, at those of data loading, and where a GPU starts or stops waiting for them,
    so that work during such a time is separate from other work.
    """
    view = scope.view
    if target.gpu is None:
        host = _cut(view, host, actor, _borders(scope, target))
    thread, start, stop = loading_events(view, target)
    calls = waiting_calls(host)  # the CPU could have worked ahead for as long as a wait lasted
    actors = [thread, thread, calls.thread]
    borders = [start, stop, calls.stop + calls.waited_ns]
    for time in gpu_times:
        gaps = np.flatnonzero((time.segments.cause == Cause.LAUNCH) & (time.segments.by >= 0))
        # Gaps are sorted and disjoint, so their interleaved ends are sorted too.
        ends = np.column_stack((time.segments.start[gaps], time.segments.stop[gaps])).reshape(-1)
        actors.append(np.repeat(time.segments.by[gaps], 2))
        borders.append(ends)
    # All at once: each cut copies all segments.
    return _cut(view, host, np.concatenate(actors), np.concatenate(borders))


def _cut(view: View, segments: Segments, actor: IntArray | int, borders: Int64Array) -> Segments:
    """Segments cut at moments inside the range, of one actor or one actor per moment."""
    if not len(borders):
        return segments
    actors = np.full(len(borders), actor, np.int32) if isinstance(actor, int) else actor
    inside = (borders > view.start_ns) & (borders < view.stop_ns)
    if not inside.all():
        actors, borders = actors[inside], borders[inside]
    return split_at(segments, Index(segments, view.start_ns, view.stop_ns), actors, borders)
