"""Lines of the report of Paddle's older profiler: events by path of names, with one time each.

Formulas and rules are those of ``profiler_helper.h`` of PaddlePaddle; tests hold them to its own printer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.selection import View
from warpline.analysis.paddle.operator_places import occurrence
from warpline.analysis.structure.host_events import ThreadEvents, threads_with_events
from warpline.analysis.structure.nested.path_tree import Lines, PathTree, joined_tree, thread_tree
from warpline.analysis.structure.steps import find_steps

Int64Array = npt.NDArray[np.int64]
_KINDS = ("operator", "range")
"""What Paddle's events are: its operators with their parts, and ranges. Steps, phases and modules are Warpline's."""
_COPY = {name: re.compile(name) for name in ("GpuMemcpyAsync", "GpuMemcpySync")}
_COMPUTES = re.compile(r"compute| kernel launch$")
_PART = re.compile(r"(?:^|::|/| )(?:infer_shape|prepare_data|compute)$")


class TimedPlace(Enum):
    """What a line's time is: that on the CPU, the GPU time launched inside it, or their sum."""

    CPU = "CPU"
    CUDA = "CUDA"
    All = "All"


class TracerOption(Enum):
    """Whether parts of operators are lines, and whether calls of an operator at different places are."""

    Default = 0
    OpDetail = 1
    AllOpDetail = 2


@dataclass(kw_only=True)
class EventLine:
    """Events with one path of names. Times are ns; ``total``, ``least`` and ``most`` are those of the place."""

    name: str
    calls: int
    total: int
    cpu: int
    gpu: int
    least: int
    most: int
    first_end: int
    """Time of the first end of such an event, which is the order of lines that are not sorted."""
    whole: int = 0
    """The time of all outermost lines, of which ratios are."""
    is_part: bool = False
    """Whether it is a part of an operator that only the levels with details show."""
    children: list[EventLine] = field(default_factory=list)

    @property
    def average(self) -> float:
        """Average time in ns."""
        return self.total / self.calls

    @property
    def ratio(self) -> float:
        """Share of the time of all outermost lines."""
        return self.total / self.whole if self.whole else 0.0

    def all_below(self) -> Iterator[EventLine]:
        """The lines below this one, at any depth."""
        for child in self.children:
            yield child
            yield from child.all_below()


@dataclass(frozen=True, kw_only=True)
class OlderProfile:
    """Outermost lines with those below them: of all threads merged, or of each thread in order of their first event."""

    merged: list[EventLine]
    threads: list[list[EventLine]]

    @property
    def total_ns(self) -> int:
        """The time of all outermost lines."""
        return sum(line.total for line in self.merged)

    @property
    def computing_ns(self) -> int | None:
        """The time of parts of operators that compute; None if no part says so."""
        times = [time for line in self.merged if (time := computing_ns(line)) is not None]
        return sum(times) if times else None

    def copies(self, name: str) -> tuple[int, int]:
        """Calls and time in ns of copies: ``GpuMemcpyAsync`` or ``GpuMemcpySync``."""
        lines = [below for line in self.merged for below in (line, *line.all_below())]
        chosen = [line for line in lines if _COPY[name].match(line.name)]
        return sum(line.calls for line in chosen), sum(line.total for line in chosen)


def computing_ns(line: EventLine) -> int | None:
    """Time of the outermost lines below one whose names say that they compute; None if there are none."""
    found = (child.total if _COMPUTES.search(child.name) else computing_ns(child) for child in line.children)
    times = [time for time in found if time is not None]
    return sum(times) if times else None


def older_profile(
    view: View, place: TimedPlace = TimedPlace.All, detail: TracerOption = TracerOption.Default
) -> OlderProfile:
    """The lines of the older report for a selection; both lists are empty when nothing was recorded."""
    numbered = _numbering(view) if detail is TracerOption.AllOpDetail else None
    trees: list[tuple[int, PathTree, PathTree]] = []
    for events in threads_with_events(view, _KINDS):
        first = int(events.events.stop.min())
        merged, own = (_lines(events, root, place, numbered) for root in (0, events.thread))
        trees.append((first, thread_tree(merged), thread_tree(own)))
    trees.sort(key=lambda tree: tree[0])
    text = _names(view)
    threads = [_forest(own, text) for _, _, own in trees]
    return OlderProfile(merged=_forest(joined_tree([tree for _, tree, _ in trees]), text), threads=threads)


def shown(line: EventLine, detail: TracerOption) -> list[EventLine]:
    """The lines printed below one. Without details parts are left out, but for copies in them."""
    if detail is not TracerOption.Default:
        return line.children
    result = []
    for child in line.children:
        if child.is_part:
            result += [below for below in child.all_below() if "GpuMemcpy" in below.name]
        else:
            result.append(child)
    return result


def _lines(
    events: ThreadEvents, root: int, place: TimedPlace, numbered: Callable[[ThreadEvents], Int64Array] | None
) -> Lines:
    host = events.events
    cpu, gpu = np.maximum(host.cpu_ns, 0), host.gpu_ns
    time = {TimedPlace.CPU: cpu, TimedPlace.CUDA: gpu, TimedPlace.All: cpu + gpu}[place]
    return Lines(
        root=np.full(len(host), root, np.int64),
        name=numbered(events) if numbered else host.name.astype(np.int64),
        parent=host.parent,
        sums=(time, np.ones(len(host), np.int64), cpu, gpu),
        lows=(time, host.stop),
        highs=(time,),
    )


def _numbering(view: View) -> Callable[[ThreadEvents], Int64Array]:
    """Codes of names that number the outermost operators by their place in the step, or else in the range."""
    steps = find_steps(view, Options())
    strings = max(len(view.capture.strings), 1)
    operator = view.capture.kinds["operator"].code if "operator" in view.capture.kinds else -1

    def numbered(thread_events: ThreadEvents) -> Int64Array:
        host = thread_events.events
        outer = np.flatnonzero((host.kind == operator) & (host.parent < 0))
        code = host.name.astype(np.int64)
        if len(outer):
            track = view.capture.tracks[int(view.track_of(host.row[outer[:1]])[0])]
            own = np.flatnonzero(steps.around(track.process, track.rank))
            own = own[np.argsort(steps.start[own], kind="stable")]
            at = occurrence(
                host.name[outer], host.start[outer], host.stop[outer], steps.start[own], steps.stop[own]
            )
            code[outer] += (at + 1) * strings
        return code

    return numbered


def _names(view: View) -> Callable[[int], str]:
    strings = view.capture.strings
    count = max(len(strings), 1)

    def text(code: int) -> str:
        at, name = divmod(code, count)
        return f"{strings[name]}{at - 1}" if at else strings[name]

    return text


def _forest(tree: PathTree, text: Callable[[int], str]) -> list[EventLine]:
    """The outermost lines of a tree, in order of their first end."""
    lines: list[EventLine] = []
    roots: list[EventLine] = []
    if not len(tree.level):
        return []
    (total, calls, cpu, gpu), (least, first_end), (most,) = tree.lines.sums, tree.lines.lows, tree.lines.highs
    for i, parent in enumerate(tree.lines.parent.tolist()):
        name = text(int(tree.lines.name[i]))
        above = lines[parent] if parent >= 0 else None
        line = EventLine(
            name=name,
            calls=int(calls[i]),
            total=int(total[i]),
            cpu=int(cpu[i]),
            gpu=int(gpu[i]),
            least=int(least[i]),
            most=int(most[i]),
            first_end=int(first_end[i]),
            whole=tree.whole[0],
            is_part=above is not None and _PART.search(name) is not None,
        )
        lines.append(line)
        (roots if above is None else above.children).append(line)
    for line in lines:
        line.children.sort(key=lambda child: child.first_end)
    return sorted(roots, key=lambda line: line.first_end)
