"""Cost of the lines of a source file: samples on a core and waiting time, including callees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selection import View
from warpline.analysis.structure.stack_weights import (
    SampledStacks,
    WaitedStacks,
    running_stacks,
    waited_stacks,
)
from warpline.model.frames import StackFrame, parse_frame

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class LineTime:
    """Cost of one line: ``running`` samples on a core, ``waiting_ns`` in ``waits`` blocked states with the line on the
    stack.

    ``wait`` is the kind of wait (`WaitKind`) with the most time.
    """

    line: int
    function: str
    running: int
    waiting_ns: int
    waits: int
    wait: int


@dataclass(frozen=True)
class FileTime:
    """Cost of one file; a stack counts once, however many of its lines it contains."""

    file: str
    running: int
    waiting_ns: int
    is_own: bool


@dataclass(frozen=True)
class SourceTimes:
    """Lines of one file by number, all files by descending cost, and the number of samples on a core."""

    lines: dict[int, LineTime]
    files: tuple[FileTime, ...]
    samples: int


def source_times(view: View, file: str) -> SourceTimes:
    """Cost of each line of ``file`` (as named in stacks) in a selection, and of all files.

    Costs include callees; recursion counts once.
    """
    samples, waits = running_stacks(view), waited_stacks(view)
    weights = _Weights(view, samples, waits)
    lines: dict[int, list[int]] = {}
    functions: dict[int, str] = {}
    kinds: dict[int, dict[int, int]] = {}
    files: dict[str, list[int]] = {}
    for stack, running, waiting, count, by_kind in weights:
        seen: set[tuple[str, int]] = set()
        for frame in weights.frames(stack):
            if frame.file and (frame.file, frame.line) not in seen:
                seen.add((frame.file, frame.line))
                if frame.file == file:
                    functions.setdefault(frame.line, frame.function)
                    _add(lines.setdefault(frame.line, [0, 0, 0]), (running, waiting, count))
                    for kind, time_ns in by_kind:
                        line_kinds = kinds.setdefault(frame.line, {})
                        line_kinds[kind] = line_kinds.get(kind, 0) + time_ns
        for name in {name for name, _line in seen}:
            _add(files.setdefault(name, [0, 0]), (running, waiting))
    return SourceTimes(
        {
            line: LineTime(
                line=line,
                function=functions[line],
                running=running,
                waiting_ns=waiting,
                waits=count,
                wait=_most(kinds.get(line, {})),
            )
            for line, (running, waiting, count) in sorted(lines.items())
        },
        tuple(
            sorted(
                (
                    FileTime(name, running, waiting, StackFrame("", name, 1).is_own)
                    for name, (running, waiting) in files.items()
                ),
                key=lambda cost: (not cost.is_own, -cost.running, -cost.waiting_ns, cost.file),
            )
        ),
        int(samples.is_running.sum()),
    )


def _most(kinds: dict[int, int]) -> int:
    return max(kinds, key=kinds.__getitem__, default=0)


def _add(sums: list[int], more: tuple[int, ...]) -> None:
    for index, value in enumerate(more):
        sums[index] += value


class _Weights:
    """The distinct stacks of a selection with the weight of each."""

    def __init__(self, view: View, samples: SampledStacks, waits: WaitedStacks) -> None:
        self._capture = view.capture
        size = len(view.capture.stacks[0])
        running = samples.stack[samples.is_running & (samples.stack >= 0) & (samples.stack < size)]
        known = (waits.stack >= 0) & (waits.stack < size)
        key = waits.stack[known] * 256 + waits.wait[known]
        self._running = dict(zip(*_counted(running), strict=True))
        self._waits: dict[int, list[tuple[int, int, int]]] = {}
        distinct, inverse = np.unique(key, return_inverse=True)
        totals = np.zeros(len(distinct), np.int64)
        np.add.at(totals, inverse.reshape(-1), waits.time_ns[known])
        counts = np.bincount(inverse.reshape(-1), minlength=len(distinct))
        for code, total, count in zip(distinct.tolist(), totals.tolist(), counts.tolist(), strict=True):
            self._waits.setdefault(code // 256, []).append((code % 256, total, count))

    def __iter__(self) -> Iterator[tuple[int, int, int, int, list[tuple[int, int]]]]:
        """(stack, samples on a core, waiting ns, waits, ns by kind of wait) of each stack."""
        for stack in sorted(self._running.keys() | self._waits.keys()):
            waits = self._waits.get(stack, [])
            yield (
                stack,
                self._running.get(stack, 0),
                sum(total for _kind, total, _count in waits),
                sum(count for _kind, _total, count in waits),
                [(kind, total) for kind, total, _count in waits],
            )

    def frames(self, stack: int) -> list[StackFrame]:
        """The frames of a stack, innermost first."""
        return [parse_frame(text) for text in self._capture.stack_frames(stack)]


def _counted(stacks: Int64Array) -> tuple[list[int], list[int]]:
    distinct, count = np.unique(stacks, return_counts=True)
    return distinct.tolist(), count.tolist()
