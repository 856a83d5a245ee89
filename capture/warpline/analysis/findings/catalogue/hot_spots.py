"""Rules about running code: known kinds of work by their line, and the hottest line of the rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import NUMBER
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import NOTE, cost, line_needed, make_finding, place_of
from warpline.analysis.findings.finding import Finding, Severity, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.work.hot_lines import HotLine
from warpline.analysis.findings.work.kind import COMPILED_ONCE, FILE_AGAIN
from warpline.analysis.findings.work.native_kinds import NATIVE_FILE
from warpline.analysis.findings.work.running_work import WorkGroup, growth, running_work
from warpline.analysis.findings.work.shapes import opening_line
from warpline.i18n import english, joined
from warpline.model.times import format_duration

_REMEDY = english(
    "To make the program faster, do less there: cache results that repeat, use a faster algorithm or data structure, "
    "or vectorize loops."
)
_NATIVE_REMEDY = english(
    "To make the program faster, do less there, use a faster algorithm, or go through memory in order (cache misses); "
    "compile with optimization."
)
_OPERATORS_REMEDY = english(
    "To see which operators take the time, record with --trace cpu,python,steps,{source} and look at the "
    "operator report. Lower precision, larger batches, a compiled model or a GPU make them faster."
)
_WITH_OPERATORS = frozenset(("torch", "paddle"))
"""Packages whose operators a source of the same name records."""
RUNNING = english("Running")
_NEARLY_ALL = 0.8
_EVEN = 0.5
"""Least share of the busiest thread's work that another one does, if the work is spread."""
_DENSE, _AFTER = 0.5, 0.1
"""Least share of a stretch that is the work itself, and of the range that follows it."""
_AT_MOST = 4
"""How many kinds of work are reported."""
_FEWEST_SAMPLES = 5
"""A finding that rests on fewer samples is a note."""


def find_hot_spots(case: Case) -> Iterator[Finding]:
    """Find kinds of work that a rule knows, then the hottest line of all other running code."""
    work = case.once(running_work)
    shown = [group for group in work.known[:_AT_MOST] if group.time_ns >= NOTE * case.fair_ns]
    for group in shown:
        yield from _kind_finding(case, group)
    # Findings are known by identifier and place, so a line is not reported twice.
    places = {group.hot.place for group in shown}
    if work.lines and work.lines[0].hot.place not in places:
        yield from _line_finding(case, work.lines[0])


def _kind_finding(case: Case, group: WorkGroup) -> Iterator[Finding]:
    kind = group.kind
    assert kind is not None
    if kind.key == "regex_compiled" and _is_one_stretch(case, group):
        kind = COMPILED_ONCE
    where = _where(case, group)
    fields = {**cost(case, group.time_ns), "doing": kind.doing, "place": _place(group.hot)}
    path, count = group.opened
    if path and kind is FILE_AGAIN:
        text = english(
            "{time} of {whole} ({percent:.0f} %) goes to {doing} at {place}: {path} is opened {count:,} times.",
            path=path, count=count, **fields,
        )  # fmt: skip
    elif group.hot.callee and not group.hot.callee.rpartition(".")[2].startswith("_"):
        text = english(
            "{time} of {whole} ({percent:.0f} %) goes to {doing}: {callee}, called from {place}.",
            callee=group.hot.callee, **fields,
        )  # fmt: skip
    else:
        text = english("{time} of {whole} ({percent:.0f} %) goes to {doing}, at {place}.", **fields)
    if kind.origin and group.hot.origin is not None:
        text = joined(" ", [text, kind.origin.format(place=place_of(where))])
    worst = kind.worst if group.samples >= _FEWEST_SAMPLES else Severity.NOTE
    removable = (case.segments.cause == Cause.RUNNING) & np.isin(case.segments.place, group.stacks)
    gain = 0
    remedy = kind.when_spread if kind.when_spread and is_spread(case, np.flatnonzero(removable)) else ""
    if group.samples >= _FEWEST_SAMPLES and kind.has_gain and not remedy:
        gain = case.gain_of_shares(np.where(removable, np.float32(kind.stays), np.float32(1)))
    yield from make_finding(
        case, name="hot_spot", title=english("Hot spot: {doing}", doing=kind.doing),
        text=_with_counts(case, group, text),
        pieces=group.pieces, gain_ns=gain, where=where, worst=worst, remedy=remedy or kind.remedy,
        refutation=kind.refutation, rated_ns=0 if kind.has_gain else group.time_ns,
    )  # fmt: skip


def is_spread(case: Case, work: npt.NDArray[np.integer]) -> bool:
    """Whether at least as many threads as there are cores share some segments of running work about evenly."""
    spent = np.bincount(case.segments.actor[work], case.segments.length[work])
    return case.cores > 1 and int((spent >= _EVEN * spent.max(initial=1)).sum()) >= case.cores


def _is_one_stretch(case: Case, group: WorkGroup) -> bool:
    """Whether a line calls ``re.compile`` again and again with little between, and other work follows."""
    pieces, is_known = case.pieces, group.hot.line is not None
    if group.hot.callee != "re.compile" or not (is_known or group.samples >= 2 * _FEWEST_SAMPLES):
        return False
    # Running code is that of the nearest sample, which at the edges may be another line's: only samples tell the ends.
    _thread, times, stacks = case.threads.samples
    sampled = times[np.isin(stacks, group.stacks)]
    if len(sampled) < _FEWEST_SAMPLES:
        return False
    first, last = int(sampled.min()), int(sampled.max())
    inside = (pieces.stop > first) & (pieces.start < last)
    inside[case.pieces_of_category(NUMBER["runnable"])] = False
    own = inside[group.pieces]
    is_dense = pieces.length[group.pieces[own]].sum() >= _DENSE * pieces.length[inside].sum()
    # Only a sample of another line shows other work: on a busy machine, samples are far apart.
    later = {case.threads.place(stack) for stack in stacks[times > last].tolist()}
    is_followed = bool(later - {case.threads.place(int(group.stacks[0]))})
    return bool(is_dense and is_followed and last <= case.view.stop_ns - _AFTER * case.whole_ns)


def _line_finding(case: Case, group: WorkGroup) -> Iterator[Finding]:
    """A note on the hottest line, which covers the running time of no known kind."""
    rest = case.once(running_work).lines
    pieces = np.sort(np.concatenate([line.pieces for line in rest]))
    total = sum(line.time_ns for line in rest)
    place = _place(group.hot)
    if not place:
        return
    fields = {
        **cost(case, total), "place": place, "part": 100 * group.time_ns / max(total, 1), "callee": group.hot.callee
    }  # fmt: skip
    if group.hot.callee:
        text = english(
            "Running code takes {time} of {whole} ({percent:.0f} %). The hottest line is {place}, which calls "
            "{callee}: {part:.0f} % of that time.",
            **fields,
        )
    elif not group.hot.file:
        text = english(
            "Running code takes {time} of {whole} ({percent:.0f} %). The hottest function is {place}: {part:.0f} % of "
            "that time.",
            **fields,
        )
    else:
        text = english(
            "Running code takes {time} of {whole} ({percent:.0f} %). The hottest line is {place}: {part:.0f} % of that "
            "time.",
            **fields,
        )
    where = _where(case, group)
    yield from make_finding(
        case, name="hot_spot", title=RUNNING, text=_with_counts(case, group, text), pieces=pieces,
        gain_ns=_gain_of_function(case, group, total),
        where=where, worst=Severity.NOTE, needs=line_needed(case, where),
        refutation=english("Refuted if most samples of a longer recording lie on another line."),
        remedy=_remedy_of_line(group.hot, where),
    )  # fmt: skip


def _remedy_of_line(hot: HotLine, where: Where) -> str:
    package = hot.callee.partition(".")[0]
    if package in _WITH_OPERATORS:
        return _OPERATORS_REMEDY.format(source=package)
    return _NATIVE_REMEDY if NATIVE_FILE.search(where.file) else _REMEDY


def _gain_of_function(case: Case, group: WorkGroup, total_ns: int) -> int:
    """The upper bound of the gain if one function takes nearly all running time; else 0, as no single place matters."""
    rest = case.once(running_work).lines
    own = [
        line for line in rest if (line.hot.file, line.hot.function) == (group.hot.file, group.hot.function)
    ]
    enough = sum(line.samples for line in own) >= _FEWEST_SAMPLES
    if not enough or sum(line.time_ns for line in own) < _NEARLY_ALL * total_ns:
        return 0
    stacks = np.concatenate([line.stacks for line in own])
    return case.gain_ns((case.segments.cause == Cause.RUNNING) & np.isin(case.segments.place, stacks))


def _with_counts(case: Case, group: WorkGroup, text: str) -> str:
    """The sentence, with how often the line calls the C library and whether it takes longer each time, where known."""
    if group.calls is not None and not group.calls.bytes:
        text = english(
            "{sentence} The line makes {count:,} {call} calls.",
            sentence=text, count=group.calls.count, call=group.calls.name,
        )  # fmt: skip
    elif group.calls is not None:
        text = english(
            "{sentence} The line makes {count:,} {call} calls of {size:,.0f} bytes on average.",
            sentence=text, count=group.calls.count, call=group.calls.name, size=group.calls.mean_bytes,
        )  # fmt: skip
    lengths = growth(case, group)
    if lengths is None:
        return text
    early, late = map(format_duration, lengths)
    return english(
        "{sentence} One run of it takes {early} at first and {late} at the end: the cost rises with the input.",
        sentence=text, early=early, late=late,
    )  # fmt: skip


def _where(case: Case, group: WorkGroup) -> Where:
    lengths = case.pieces.length[group.pieces]
    leaf = int(case.pieces.leaf[group.pieces[int(np.argmax(lengths))]])
    own, hot = case.where(leaf), group.hot
    if hot.origin is not None and hot.line is not None:
        made = hot.line.source.line(hot.origin)
        owner = (made or hot.line).function
        return Where(
            file=hot.file, line=hot.origin, function=hot.function if owner is None else owner.name,
            process=own.process, thread=own.thread,
        )  # fmt: skip
    line = group.hot.number
    if group.kind is FILE_AGAIN and hot.line is not None:
        line = opening_line(hot.line) or line
    return Where(file=hot.file, line=line, function=hot.function, process=own.process, thread=own.thread)


def _place(hot: HotLine) -> str:
    return place_of(Where(file=hot.file, line=hot.number, function=hot.function))


rules = (Rule("hot_spots", "host", find_hot_spots),)
