"""The case of a diagnosis: segments of all actors, and the target's pieces with their categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.blame import Pieces
from warpline.analysis.findings.categories import (
    CATEGORIES,
    NUMBER,
)
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.core_demand import crowded_ns, ran_meanwhile, with_core_waits
from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.gpu_segments import (
    BUSY,
    GpuTime,
)
from warpline.analysis.findings.host_places import moments_in, usual_place
from warpline.analysis.findings.scope import Scope, WaitedFor
from warpline.analysis.findings.segments import (
    IntArray,
    Segments,
    doing_of,
)
from warpline.analysis.findings.thread_time import Threads
from warpline.analysis.findings.wait_graph import WaitGraph
from warpline.analysis.framework.selection import View
from warpline.model.progress import Progress, unwatched

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Result = TypeVar("Result")
_AT_ONCE = 1 << 20
"""How many pieces or segments are processed together."""
EXACT = 0.02
"""Largest error of a replay, as a share of the range."""
_CROWDED = 0.02
"""If other programs take more than this share of the range, it is replayed without them."""


@dataclass
class RuleProgress:
    """Receives the progress of the rule that is running."""

    progress: Progress = unwatched


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """The input of a rule.

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

    @property
    def doing(self) -> IntArray:
        """A number for the cause and place of each segment; computed anew, as it would take much memory."""
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
        pieces = self._core_waits
        threads = len(self.view.capture.threads)
        return ran_meanwhile(
            self.graph, self.actor, threads, self.pieces.start[pieces], self.pieces.stop[pieces]
        )

    @cached_property
    def core_waits_ns(self) -> int:
        """How long the target waits for a core, directly or through other actors, ns."""
        return int(self.pieces.length[self._core_waits].sum())

    @cached_property
    def _core_waits(self) -> Int64Array:
        """The pieces that are explained by a wait for a core, those of loader workers among them, ascending."""
        loading = self.pieces_of_category(NUMBER["data_loading"])
        workers = loading[self.segments.cause[self.pieces.leaf[loading]] == Cause.RUNNABLE]
        return np.union1d(self.pieces_of_category(NUMBER["runnable"]), workers)

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
        return self.graph.baseline_error_ns(self.actor) <= EXACT * self.whole_ns

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
        parts = [pieces[first : first + _AT_ONCE] for first in range(0, len(pieces), _AT_ONCE)]
        # Only the segments between the first and the last leaf can change.
        low = min((int(self.pieces.leaf[part].min()) for part in parts), default=0)
        high = max((int(self.pieces.leaf[part].max()) for part in parts), default=-1) + 1
        removed = np.zeros(high - low, np.float64)
        whole = 0
        for part in parts:
            length = self.pieces.length[part]
            whole += int(length.sum())
            np.add.at(removed, self.pieces.leaf[part] - low, length)
        keep = np.ones(len(self.segments), np.float32)
        for first in range(low, high, _AT_ONCE):
            some = slice(first, min(first + _AT_ONCE, high))
            length = self.segments.stop[some] - self.segments.start[some]
            share = removed[some.start - low : some.stop - low] / np.maximum(length, 1)
            keep[some] = np.clip(1 - share, 0.0, 1.0)
        del removed
        keep = with_core_waits(self.segments, keep)
        waits = self.pieces_of_category(NUMBER["runnable"])
        whole += int((self.pieces.length[waits] * (1 - keep[self.pieces.leaf[waits]])).sum())
        return min(self._gain_ns(keep), whole)

    def bounded_by_cores(self, gain_ns: int) -> int:
        """A gain limited so that all running code still fits on the available cores."""
        return max(min(gain_ns, self.whole_ns - self.core_time_ns), 0)

    @cached_property
    def core_time_ns(self) -> int:
        """How long all running code takes on all cores, ns."""
        threads = self.segments.actor < len(self.view.capture.threads)
        runs = threads & ((self.segments.cause == Cause.RUNNING) | (self.segments.cause == Cause.IMPORTING))
        return int(self.segments.length[runs].sum()) // self.cores
