"""Groups sampled running time by kind of work and own function."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.finding import Severity
from warpline.analysis.findings.wait_kinds import FRAME, is_library
from warpline.analysis.findings.work.calls import (
    CallCount,
    LibraryCalls,
    call_place,
    counted_calls,
    named,
    read_calls,
    stacks_of_calls,
)
from warpline.analysis.findings.work.hot_lines import HotLine, hot_line
from warpline.analysis.findings.work.kind import (
    DROPPED_RESULTS,
    EXCEPTIONS,
    FILE_AGAIN,
    MAYBE_DROPPED,
    SMALL_CALLS,
    WorkKind,
)
from warpline.analysis.findings.work.outer_lines import name_arrays, name_outer_lines
from warpline.analysis.findings.work.shapes import handlers, is_in_handler, opening_line
from warpline.analysis.findings.work.source_lines import SourceFiles, dotted

Int64Array = npt.NDArray[np.int64]
_HANDLED = 0.1
"""Share of the time of a ``try`` statement in its ``except`` clauses from which exceptions count as frequent."""
_MANY_CALLS, _FEW_BYTES = 1000, 512
"""From so many calls of one line on, they are mentioned; below so many bytes each, they are the problem."""
_LONGEST_CALL_NS = 200_000
"""No call with few bytes runs longer than this, with the code around it."""
_MESSAGES = ("send", "recv")
"""Calls whose size is set by the protocol."""
_OPENED_AGAIN = 10
"""How often one path must be opened at one line to count as opened again."""
_COMES_AGAIN = 3
"""How often the files that the misses of a cache open must be opened on average, if keys come again."""
_CALLS_PER_OPENING = 100
"""With more calls of few bytes each for one opening, the calls are the problem, not the opening."""
_READS, _WRITES = ("read", "readv", "pread"), ("write", "writev", "pwrite")
_DEVICES = ("/dev/", "/proc/", "/sys/")
_QUARTERS, _RUNS = 4, 3
"""Growth is looked for in so many parts of a line's runs, with so many runs each."""
_GROWN, _STILL_GROWN = 2, 1.5
"""Least ratio of the runs in the last part to those in the first, and to those in the second."""
_CALLEE = 0.25
"""Least share of a line's time in the library function that is named beside it."""
_LASTING = 0.5
"""Share of its time in the first third that a cache's misses take in the last third, if it never fills."""
_FEWEST = 30
"""With fewer samples, growth cannot be shown."""


@dataclass(frozen=True, eq=False, kw_only=True)
class WorkGroup:
    """Running time of one kind and function, or of one line when ``kind`` is None.

    ``hot`` is its longest line; ``pieces`` index the case's pieces; ``stacks`` are the ids of its stacks; ``samples``
    is how many samples it rests on; ``opened`` the path opened again and how often; ``calls`` the most frequent calls
    of the C library on its longest line, when there are many.
    """

    kind: WorkKind | None
    hot: HotLine
    pieces: Int64Array
    stacks: Int64Array
    time_ns: int
    samples: int
    opened: tuple[str, int] = ("", 0)
    calls: CallCount | None = None


@dataclass(frozen=True, eq=False)
class RunningWork:
    """The groups of known kinds and the single lines of the rest, longest first each, and the running time in ns."""

    known: tuple[WorkGroup, ...]
    lines: tuple[WorkGroup, ...]
    time_ns: int


def running_work(case: Case) -> RunningWork:
    """Group the running time of the target, and of threads it waits for, by kind of work."""
    pieces = _running_pieces(case)
    stack = case.segments.place[case.pieces.leaf[pieces]].astype(np.int64)
    length = case.pieces.length[pieces]
    stacks, inverse = np.unique(stack, return_inverse=True)
    inverse = inverse.reshape(-1)
    times = np.asarray(np.bincount(inverse, length, len(stacks)), np.float64)
    sources = case.once(source_files)
    frames = case.view.capture.stack_frames
    hots: dict[int, HotLine] = {}
    for number, code in enumerate(stacks.tolist()):
        hot = hot_line(frames(code), sources) if code >= 0 else None
        if hot is not None:
            hots[number] = hot
    stack_frames = {number: frames(code) for number, code in enumerate(stacks.tolist())}
    opened = _name_reads(case, hots, stack_frames)
    cached = name_outer_lines(hots, stack_frames, stacks_of_calls(case), sources)
    _keep_lasting_caches(case, hots, pieces, inverse)
    _prove_caches(case, hots, cached)
    name_arrays(hots)
    _name_exceptions(hots, times)
    counted = {
        place: calls for place, calls in case.once(counted_calls).items() if calls.count >= _MANY_CALLS
    }
    _name_small_calls(hots, counted, opened, times)
    keys: dict[tuple[object, ...], list[int]] = {}
    for number, hot in hots.items():
        # Lines with one origin have one cure.
        owner = _owner(hot) if hot.origin is None else hot.origin
        key = (hot.kind.key, hot.file, owner) if hot.kind is not None else hot.place
        keys.setdefault(key, []).append(number)
    taken = Counter(case.threads.samples[2].tolist())
    group_of_stack = np.full(len(stacks), -1, np.int64)
    for group, members in enumerate(keys.values()):
        group_of_stack[members] = group
    of_piece = group_of_stack[inverse] if len(stacks) else inverse
    groups = []
    for group, members in enumerate(keys.values()):
        longest = _longest_line([(hots[member], float(times[member])) for member in members])
        groups.append(
            WorkGroup(
                kind=hots[members[0]].kind,
                hot=longest,
                pieces=pieces[of_piece == group],
                stacks=stacks[members],
                time_ns=int(times[members].sum()),
                samples=sum(taken[code] for code in stacks[members].tolist()),
                opened=opened.get(f"{longest.file}:{longest.function}", ("", 0)),
                calls=counted.get(longest.place),
            )
        )
    groups.sort(key=lambda group: -group.time_ns)
    return RunningWork(
        tuple(group for group in groups if group.kind is not None),
        tuple(group for group in groups if group.kind is None),
        int(length.sum()),
    )


def growth(case: Case, group: WorkGroup) -> tuple[int, int] | None:
    """Mean time of a run of the group's lines in the first and last quarter of its runs, ns, when runs clearly grow.

    A run ends when another line of the function has its turn. Runs must grow from each quarter to the next, and not
    only after the first, which may warm up, nor because the turns of the other lines end.
    """
    if group.samples < _FEWEST:
        return None
    work = case.once(running_work)
    other = [
        sibling.pieces
        for sibling in (*work.known, *work.lines)
        if sibling is not group
        and (sibling.hot.file, sibling.hot.function) == (group.hot.file, group.hot.function)
    ]
    if not other:
        return None
    pieces = np.sort(np.concatenate([group.pieces, *other]))
    is_own = np.isin(pieces, group.pieces)
    first = np.append(0, np.flatnonzero(np.diff(is_own)) + 1)
    length = np.add.reduceat(case.pieces.length[pieces], first)
    runs, turns = length[is_own[first]], length[~is_own[first]]
    if min(len(runs), len(turns)) < _QUARTERS * _RUNS:
        return None
    mean = [part.mean() for part in np.array_split(runs, _QUARTERS)]
    between = [part.mean() for part in np.array_split(turns, _QUARTERS)]
    grows = all(early < late for early, late in itertools.pairwise(mean))
    grows &= mean[-1] >= _GROWN * mean[0] and mean[-1] >= _STILL_GROWN * mean[1]
    return (int(mean[0]), int(mean[-1])) if grows and _GROWN * between[-1] >= between[0] else None


def _time_in(case: Case, pieces: Int64Array, start_ns: int, stop_ns: int) -> int:
    start, stop = case.pieces.start[pieces], case.pieces.stop[pieces]
    return int(np.maximum(np.minimum(stop, stop_ns) - np.maximum(start, start_ns), 0).sum())


def _running_pieces(case: Case) -> Int64Array:
    keys = ["running", "other_threads"]
    if not case.view.were_recorded("operator"):
        keys += ["active", "sampled", "ranges", "between_ranges"]
    own = np.isin(case.category, [NUMBER[key] for key in keys])
    own &= (case.segments.cause[case.pieces.leaf] == Cause.RUNNING) & ~case.claimed
    return np.flatnonzero(own)


def source_files(case: Case) -> SourceFiles:
    """The program's source files, as far as they are unchanged since the recording; none of another machine's."""
    meta = case.view.capture.meta
    value, host = meta.get("start_utc_ns"), meta.get("host")
    is_elsewhere = isinstance(host, dict) and "reached_as" in host
    return SourceFiles(value if isinstance(value, int) and not is_elsewhere else None)


def own_files(case: Case, stacks: Iterable[int]) -> list[str]:
    """The program's files on some stacks, by their ids (−1: none), in the order of the stacks, leaf first."""
    frames = case.view.capture.stack_frames
    found = (FRAME.match(frame) for stack in stacks if stack >= 0 for frame in frames(stack))
    return list(dict.fromkeys(match["file"] for match in found if match and not is_library(match["file"])))


def _longest_line(lines: list[tuple[HotLine, float]]) -> HotLine:
    totals: dict[tuple[str, int | None, str], float] = {}
    for hot, time in lines:
        totals[hot.place] = totals.get(hot.place, 0.0) + time
    best = max(totals, key=lambda place: totals[place])
    own = [(hot, time) for hot, time in lines if hot.place == best]
    callees: dict[str, float] = {}
    for hot, time in own:
        callees[hot.callee] = callees.get(hot.callee, 0.0) + time
    callee = max(callees, key=lambda name: callees[name] * bool(name))
    if callees[callee] < _CALLEE * totals[best]:
        return replace(max(own, key=lambda pair: pair[1])[0], callee="")
    return max((pair for pair in own if pair[0].callee == callee), key=lambda pair: pair[1])[0]


def _owner(hot: HotLine) -> str:
    """The function that a line belongs to: that of a comprehension is the one around it."""
    function = hot.line.function if hot.line is not None else None
    return function.name if function is not None else hot.function


def _name_reads(
    case: Case, hots: dict[int, HotLine], frames: Mapping[int, list[str]]
) -> dict[str, tuple[str, int]]:
    """Mark the lines that read a file that was opened again and again, and what they call; returns path and count by
    source file and function. ``frames`` are the stacks of the lines, leaf first.
    """
    calls = case.once(read_calls)
    opens = calls.take(named(case, calls, ("open",)))
    ids, counts = np.unique(opens.object[opens.object >= 0], return_counts=True)
    reads, writes = (Counter(calls.object[named(case, calls, names)].tolist()) for names in (_READS, _WRITES))
    often = {
        code: count
        for code, count in zip(ids.tolist(), counts.tolist(), strict=True)
        if count >= _OPENED_AGAIN and writes[code] <= reads[code]
    }
    if not often:
        return {}
    strings = case.view.capture.strings
    again: dict[str, tuple[str, int]] = {}
    readers = _library_readers(case, calls, often)
    used = calls.take(np.isin(calls.object, list(often)) & (calls.stack >= 0))
    places = {stack: call_place(case, stack, 0) for stack in np.unique(used.stack).tolist()}
    for code, stack in set(zip(used.object.tolist(), used.stack.tolist(), strict=True)):
        place = places[stack]
        key = f"{place.file}:{place.function}"
        if place.file and again.get(key, ("", 0))[1] < often[code]:
            again[key] = (strings[code], often[code])
    sources = case.once(source_files)
    for number, hot in hots.items():
        if (*hot.place, hot.callee) in readers:
            hots[number] = replace(hot, kind=FILE_AGAIN)
            continue
        for match in filter(None, map(FRAME.match, frames[number])):
            function = match["function"].rpartition(".")[2]
            if f"{match['file']}:{function}" not in again:
                continue
            line = sources.line(match["file"], int(match["line"]), match["function"])
            if line is not None and opening_line(line) is not None:
                hots[number] = replace(
                    hot, file=match["file"], number=line.number, function=function, kind=FILE_AGAIN, line=line
                )
                break
    return again


def _library_readers(
    case: Case, calls: LibraryCalls, often: Mapping[int, int]
) -> set[tuple[str, int | None, str, str]]:
    """The lines (file, line, function) that open and read one file again and again through a library function, with
    its name, such as ``numpy.load``. ``often`` counts the openings of files, by string id.
    """
    sources, strings = case.once(source_files), case.view.capture.strings
    reads = calls.take(named(case, calls, _READS) & (calls.result > 0))
    writes = calls.take(named(case, calls, _WRITES))
    opens = calls.take(named(case, calls, ("open",)) & (calls.stack >= 0))
    readers: set[tuple[str, int | None, str, str]] = set()
    for code, count in often.items():
        is_read = 2 * int((reads.object == code).sum()) >= count > 2 * int((writes.object == code).sum())
        if not is_read or strings[code].startswith(_DEVICES):
            continue
        stacks, times = np.unique(opens.stack[opens.object == code], return_counts=True)
        totals: Counter[tuple[str, int | None, str, str]] = Counter()
        for stack, number in zip(stacks.tolist(), times.tolist(), strict=True):
            hot = hot_line(case.view.capture.stack_frames(stack), sources)
            if hot is not None and hot.callee and not is_library(hot.file):
                totals[(*hot.place, hot.callee)] += number
        readers |= {place for place, number in totals.items() if number >= _OPENED_AGAIN}
    return readers


def _keep_lasting_caches(
    case: Case, hots: dict[int, HotLine], pieces: Int64Array, stack_of_piece: Int64Array
) -> None:
    """Unmark the caches that are full after a while: the time of their misses ends long before the range does."""
    caches: dict[tuple[str, int | None], list[int]] = {}
    for number, hot in hots.items():
        if hot.kind is DROPPED_RESULTS:
            caches.setdefault((hot.file, hot.origin), []).append(number)
    for members in caches.values():
        own = pieces[np.isin(stack_of_piece, members)]
        start, stop = int(case.pieces.start[own].min()), int(case.pieces.stop[pieces].max())
        third = (stop - start) // 3
        early, late = (_time_in(case, own, first, first + third) for first in (start, stop - third))
        if late < _LASTING * early:
            hots.update((number, replace(hots[number], kind=None, origin=None)) for number in members)


def _prove_caches(case: Case, hots: dict[int, HotLine], cached: Mapping[int, str]) -> None:
    """Mark as uncertain the caches whose misses do not open the same files again: no key may come twice.

    ``cached`` are the functions (``file:function``) of the caches, by the number of the stack.
    """
    calls = case.once(read_calls)
    opens = calls.take(named(case, calls, ("open",)) & (calls.object >= 0))
    opened: dict[str, set[int]] = {}
    placed = opens.take(opens.stack >= 0)
    for stack in np.unique(placed.stack).tolist():
        for match in filter(None, map(FRAME.match, case.view.capture.stack_frames(stack))):
            function = f"{match['file']}:{match['function'].rpartition('.')[2]}"
            opened.setdefault(function, set()).update(placed.object[placed.stack == stack].tolist())
    # Short openings have no stack, but their path is known.
    times = Counter(opens.object.tolist())
    for number, function in cached.items():
        files = opened.get(function, set())
        if hots[number].kind is DROPPED_RESULTS and sum(times[f] for f in files) < _COMES_AGAIN * max(
            len(files), 1
        ):
            hots[number] = replace(hots[number], kind=MAYBE_DROPPED)


def _name_small_calls(
    hots: dict[int, HotLine],
    counted: Mapping[tuple[str, int | None, str], CallCount],
    again: Mapping[str, tuple[str, int]],
    times: npt.NDArray[np.float64],
) -> None:
    """Mark the lines that make many calls with few bytes, unless a kind that is more than a note explains them.

    A file that is opened again (``again``) does not explain very many calls for each opening. A line that runs far
    longer (``times``, ns) than so many calls take does something else.
    """
    spent: Counter[tuple[str, int | None, str]] = Counter()
    for number, hot in hots.items():
        spent[hot.place] += int(times[number])
    for number, hot in hots.items():
        calls = counted.get(hot.place)
        is_open = hot.kind is None or hot.kind.worst is Severity.NOTE
        if calls is None or calls.name in _MESSAGES or spent[hot.place] > _LONGEST_CALL_NS * calls.count:
            continue
        if hot.kind is FILE_AGAIN:
            _path, opened = again.get(f"{hot.file}:{hot.function}", ("", 0))
            is_open = calls.count > _CALLS_PER_OPENING * max(opened, 1)
        if is_open and 0 < calls.mean_bytes < _FEW_BYTES:
            hots[number] = replace(hot, kind=SMALL_CALLS)


def _name_exceptions(hots: dict[int, HotLine], times: npt.NDArray[np.float64]) -> None:
    """Mark the lines of ``try`` statements whose ``except`` clauses take a clear part of their time."""
    inside: dict[ast.Try, list[tuple[int, bool]]] = {}
    for number, hot in hots.items():
        if hot.line is not None and hot.kind is None:
            for statement in handlers(hot.line):
                inside.setdefault(statement, []).append((number, is_in_handler(hot.line, statement)))
    for statement, members in inside.items():
        total = sum(times[number] for number, _ in members)
        handled = sum(times[number] for number, is_handled in members if is_handled)
        if handled >= _HANDLED * total and _is_cheap(statement):
            for number, _ in members:
                hots[number] = replace(hots[number], kind=EXCEPTIONS)


def _is_cheap(statement: ast.Try) -> bool:
    """Whether the handlers do little by themselves: no loops, and no more than a few statements."""
    return all(
        len(handler.body) <= 3
        and not any(isinstance(node, (ast.For, ast.While, ast.With)) for node in ast.walk(handler))
        and not any(
            dotted(node.func).endswith(("retry", "sleep"))
            for node in ast.walk(handler)
            if isinstance(node, ast.Call)
        )
        for handler in statement.handlers
    )
