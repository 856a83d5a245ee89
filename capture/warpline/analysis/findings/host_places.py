"""Finds the operator and Python line a thread was in, where a profiler recorded them as events."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.finding import Where
from warpline.analysis.findings.wait_kinds import is_library
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.attribution import enclosing_of_calls
from warpline.analysis.structure.gpu_gaps import DATA_LOADING

Int64Array = npt.NDArray[np.int64]
MOMENTS = 1024
"""How many moments are looked up to find the usual place of a thread."""
_KINETO = re.compile(r"^(?P<file>.+\.py)\((?P<line>\d+)\): (?P<function>.+)$")
_KINDS = ("operator", "range", "phase", "python", "cuda_api", "other")
_CALLERS = 24
"""How many callers are searched for a line of the user's code."""


class Usual(NamedTuple):
    """The most frequent place of a thread at some moments, and the event that shows it (−1: none).

    ``known`` is the share of the moments with any known place, ``share`` that of this place.
    """

    where: Where
    row: int
    known: float
    share: float


def moments_in(start: Int64Array, stop: Int64Array) -> Int64Array:
    """At most `MOMENTS` moments, spread evenly over sorted disjoint stretches."""
    ends = stop - start
    total = int(ends.sum())
    if not total:
        return start[:0]
    np.cumsum(ends, out=ends)
    count = min(MOMENTS, total)
    at = (np.arange(count, dtype=np.int64) * total) // count + total // (2 * count)
    place = np.searchsorted(ends, at, "right")
    moments: Int64Array = stop[place] + at - ends[place]
    return moments


def usual_call(view: View, thread: int, times: Int64Array) -> tuple[str, float]:
    """The most frequent CUDA call of a thread at some moments, and its share of them; empty for none."""
    rows = enclosing_of_calls(view, np.full(len(times), thread, np.int64), times, ("cuda_api",))
    names, counts = np.unique(view.names(rows[rows >= 0]), return_counts=True)
    if not len(names):
        return "", 0.0
    best = int(np.argmax(counts))
    return view.capture.strings[int(names[best])], float(counts[best] / len(times))


def usual_place(view: View, thread: int, times: Int64Array) -> Usual:
    """The most frequent place of a thread: an operator or range, and the innermost user line around it."""
    if not len(times):
        return Usual(Where(), -1, 0.0, 0.0)
    threads = np.full(len(times), thread, np.int64)
    python = enclosing_of_calls(view, threads, times, ("python",))
    named = enclosing_of_calls(view, threads, times, ("operator", "range", "phase", "other"))
    rows = np.where(python >= 0, python, named)
    known = rows >= 0
    if not known.any():
        return Usual(Where(), -1, 0.0, 0.0)
    wheres: dict[int, Where] = {}
    counts: dict[Where, int] = {}
    shown: dict[Where, int] = {}
    for row, operator, count in _counted(rows[known], named[known]):
        key = row
        if key not in wheres:
            wheres[key] = _python_place(view, row) if _is_python(view, row) else Where()
        place = wheres[key]
        name = view.capture.strings[int(view.names(np.array([operator]))[0])] if operator >= 0 else ""
        if name.startswith("ProfilerStep") or (DATA_LOADING.search(name) and place.function):
            name = ""
        place = Where(file=place.file, line=place.line, function=place.function, operator=name)
        counts[place] = counts.get(place, 0) + count
        shown.setdefault(place, row)
    best = max(counts, key=lambda place: counts[place])
    return Usual(best, shown[best], float(known.mean()), counts[best] / len(times))


def _counted(rows: Int64Array, named: Int64Array) -> list[tuple[int, int, int]]:
    pairs, counts = np.unique(np.stack([rows, named], 1), axis=0, return_counts=True)
    return [(row, name, count) for (row, name), count in zip(pairs.tolist(), counts.tolist(), strict=True)]


def _is_python(view: View, row: int) -> bool:
    table = view.capture.kinds.get("python")
    return table is not None and int(view.capture.events.kind[row]) == table.code


def _python_place(view: View, row: int) -> Where:
    """The innermost user line among an event and its callers, else the innermost line of any code."""
    first: Where | None = None
    at: int | None = row
    for _ in range(_CALLERS):
        if at is None or at < 0:
            break
        match = _KINETO.match(view.capture.strings[int(view.names(np.array([at]))[0])])
        if match is not None:
            where = Where(file=match["file"], line=int(match["line"]), function=match["function"])
            if not is_library(match["file"]) and not match["file"].startswith(("torch/", "<")):
                return where
            first = first or where
        at = view.capture.parent_of_row(at)
    return first or Where()
