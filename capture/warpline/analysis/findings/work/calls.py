"""Recorded calls of the C library by the line that makes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.finding import Where

if TYPE_CHECKING:
    from warpline.analysis.findings.case import Case

Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class CallsAtLine:
    """Calls of one function at one line: ``start``/``stop`` capture ns [n], ``result`` [n] (masked while open),
    ``row`` [n], ``objects`` string ids [n] (−1: none); ``thread`` index of the first one.
    """

    name: str
    where: Where
    thread: int
    start: Int64Array
    stop: Int64Array
    result: np.ma.MaskedArray[tuple[int], np.dtype[np.int64]]
    row: Int64Array
    objects: Int64Array
    texts: dict[int, str]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def usual_object(self) -> tuple[str, int]:
        """The most frequent object (a path, a peer) and its count; empty and 0 for none."""
        counts = Counter(self.objects[self.objects >= 0].tolist())
        if not counts:
            return "", 0
        best, count = counts.most_common(1)[0]
        return self.texts.get(best, ""), count


def calls_at_lines(case: Case, names: tuple[str, ...]) -> list[CallsAtLine]:
    """The recorded calls of some functions by name and line, most calls first. Calls of the import system and without
    a line are left out.
    """
    view, capture = case.view, case.view.capture
    table = capture.kinds.get("osrt")
    if table is None or "stack" not in table.attributes:
        return []
    wanted = np.zeros(len(capture.strings), bool)
    events = view.events("osrt")
    numbers = np.unique(events.name)
    for number in numbers.tolist():
        wanted[number] = capture.strings[int(number)] in names
    keep = np.flatnonzero(wanted[events.name]) if len(events) else np.empty(0, np.int64)
    if not len(keep):
        return []
    index, row = events.index[keep], events.row[keep]
    stack = np.ma.filled(view.column("osrt", "stack", index).astype(np.int64), -1)
    stack = np.where((stack >= 0) & (stack < len(capture.stacks[0])), stack, -1)
    result = np.ma.masked_array(view.column("osrt", "return_value", index)).astype(np.int64)
    objects = np.ma.filled(view.column("osrt", "object", index).astype(np.int64), -1)
    thread_of_track = np.array([-1 if t.thread is None else t.thread for t in capture.tracks] or [-1], np.int64)
    thread = thread_of_track[view.track_of(row)]
    key_of_stack: dict[int, tuple[str, int | None, str] | None] = {}
    for code in np.unique(stack).tolist():
        key_of_stack[code] = _place(case, code)
    name = events.name[keep]
    groups: dict[tuple[int, int, tuple[str, int | None, str]], list[int]] = {}
    columns = zip(name.tolist(), stack.tolist(), thread.tolist(), strict=True)
    for position, (code, stack_id, thread_id) in enumerate(columns):
        place = key_of_stack[stack_id]
        if place is not None:
            groups.setdefault((code, thread_id, place), []).append(position)
    found = []
    for (code, thread_id, place), members in groups.items():
        own = np.array(members, np.int64)
        own = own[np.argsort(events.start[keep[own]], kind="stable")]
        ids_here = np.unique(objects[own])
        texts = {one: capture.strings[one] for one in ids_here.tolist() if one >= 0}
        process = capture.threads[thread_id].process if thread_id >= 0 else -1
        pid = capture.processes[process].pid if 0 <= process < len(capture.processes) else None
        found.append(
            CallsAtLine(
                name=capture.strings[int(code)],
                where=Where(
                    file=place[0], line=place[1], function=place[2], process=pid,
                    thread=case.threads.name(thread_id) if thread_id >= 0 else "",
                ),
                thread=thread_id,
                start=events.start[keep[own]],
                stop=events.stop[keep[own]],
                result=result[own],
                row=row[own],
                objects=objects[own],
                texts=texts,
            )
        )  # fmt: skip
    return sorted(found, key=lambda calls: -len(calls))


def _place(case: Case, stack: int) -> tuple[str, int | None, str] | None:
    if stack < 0:
        return None
    where = case.threads.place(stack)
    if not where.file or where.file.startswith("<frozen importlib"):
        return None
    return where.file, where.line, where.function
