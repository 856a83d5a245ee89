"""Turns pieces of time into a finding: cost, gain, place, chain and evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.categories import CATEGORIES, NUMBER
from warpline.analysis.findings.causes import TITLES, Cause
from warpline.analysis.findings.finding import Doing, Evidence, Finding, Hop, Severity, Where
from warpline.analysis.findings.knowledge import for_lines
from warpline.analysis.findings.segments import IntArray, distinct
from warpline.analysis.framework.allocation import release_freed
from warpline.analysis.framework.fitting import fit_names
from warpline.i18n import english, joined
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
CRITICAL, WARNING, NOTE = 0.3, 0.1, 0.05
"""Severity limits: the share of the range that fixing the finding could save."""
_ROWS = 20
_AT_ONCE = 1 << 20
"""How many pieces are looked at together."""
_SAME_MOMENT_NS = 2_000
"""A thread may appear blocked this long before its call appears to begin."""
_LONG = 80
_VISIBLE = 1.05
"""Below this speedup two decimals are printed, since one would round it to 1.0 or 1.1."""
_NOTHING = 0.005
"""A gain below this share of the range counts as none."""
_NOTHING_LEFT, _ENDLESS = 1000, "∞"
"""From this speedup on, the finding covers the whole range and the factor is meaningless."""


@dataclass(frozen=True, eq=False)
class PieceGroup:
    """Pieces of one finding, as indices into the case's pieces, and their total time."""

    pieces: Int64Array
    time_ns: int


def pieces_of(case: Case, *keys: str) -> Int64Array:
    """Indices of the pieces in some categories of the budget that no rule has claimed, ascending."""
    own = [case.pieces_of_category(NUMBER[key]) for key in keys]
    pieces = own[0] if len(own) == 1 else np.sort(np.concatenate(own))
    return pieces[~case.claimed[pieces]]


def unclaimed(case: Case, chosen: BoolArray) -> Int64Array:
    """Indices of the marked pieces that no rule has claimed, ascending."""
    return np.flatnonzero(chosen & ~case.claimed)


def claim(case: Case, pieces: Int64Array, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Pass findings on; if there is any, later rules leave its pieces alone."""
    for finding in findings:
        case.claimed[pieces] = True
        yield finding


def count_calls(case: Case, segments: IntArray) -> int:
    """How many calls some waits belong to: a signal or a busy core may cut one call into several waits."""
    calls, chosen = case.threads.calls, np.unique(segments)
    if not len(calls.thread) or not len(chosen):
        return len(chosen)
    keys = (calls.thread << 48) + (calls.start - case.view.start_ns + (1 << 40))
    actor, start = case.segments.actor[chosen].astype(np.int64), case.segments.start[chosen]
    at = np.searchsorted(keys, (actor << 48) + (start - case.view.start_ns + (1 << 40)) + _SAME_MOMENT_NS) - 1
    inside = (at >= 0) & (calls.thread[np.maximum(at, 0)] == actor) & (calls.stop[np.maximum(at, 0)] > start)
    return len(np.unique(at[inside])) + int((~inside).sum())


def stacks_like(case: Case, matches: Callable[[list[str]], bool]) -> BoolArray:
    """Which segments have a stack (frames, leaf first) that matches."""
    place = case.segments.place
    stacks = np.unique(place)
    known = {code for code in stacks.tolist() if code >= 0 and matches(case.view.capture.stack_frames(code))}
    table = np.zeros(int(stacks.max(initial=0)) + 2, bool)
    table[list(known)] = True
    marked: BoolArray = table[place] & (place >= 0)
    return marked


def first_in_chain(case: Case, marked: BoolArray) -> Int64Array:
    """For each piece, the first marked segment of its chain; −1 for none."""
    path = case.pieces.path
    first = np.full(len(path), -1, np.int64)
    for column in range(path.shape[1] - 1, -1, -1):
        at = path[:, column]
        here = (at >= 0) & marked[at]
        first[here] = at[here]
    return first


def all_but_longest(case: Case, pieces: Int64Array, task: IntArray) -> Int64Array:
    """The pieces without those of the task (a number for each piece) that takes the most time."""
    _, inverse = np.unique(task, return_inverse=True)
    time = np.bincount(inverse.reshape(-1), case.pieces.length[pieces])
    rest: Int64Array = pieces[inverse.reshape(-1) != int(np.argmax(time))]
    return rest


def groups(case: Case, pieces: Int64Array, key: Int64Array) -> Iterator[PieceGroup]:
    """Groups of pieces with equal ``key``, longest first; groups too short for a note are left out."""
    if not len(pieces):
        return
    values, inverse = distinct(key)
    length = case.pieces.length[pieces]
    total = np.bincount(inverse, length, len(values))
    for number in np.argsort(-total, kind="stable").tolist():
        if total[number] < NOTE * case.fair_ns:
            return
        yield PieceGroup(pieces[inverse == number], int(total[number]))


def severity(share: float, worst: Severity = Severity.CRITICAL) -> Severity:
    """The severity of losing ``share`` of the range, no worse than ``worst``."""
    level = (
        Severity.CRITICAL if share >= CRITICAL else Severity.WARNING if share >= WARNING else Severity.NOTE
    )
    order = list(Severity)
    return order[max(order.index(level), order.index(worst))]


def place_of(where: Where) -> str:
    """``load (dataset.py:41)``, else the operator or kernel, else empty."""
    if where.function and where.file:
        return f"{where.function} ({where.file}:{where.line})"
    return where.function or where.operator or where.module or shortened(where.kernel)


def place_known(where: Where) -> str:
    """`place_of`, or a text for an unknown place."""
    return place_of(where) or english("an unrecorded place")


def line_needed(case: Case, where: Where) -> str:
    """What to record to see the line of a place; empty when it is known."""
    return "" if where.file else for_lines(case.view.capture)


def shortened(name: str) -> str:
    """A kernel's name, short enough for a sentence."""
    return fit_names([name], _LONG)[0]


def cost(case: Case, time_ns: int) -> dict[str, str | float]:
    """Fields common to all texts about a cost."""
    return {
        "time": format_duration(time_ns),
        "whole": format_duration(case.whole_ns),
        "percent": 100 * time_ns / case.whole_ns,
        "device": case.device,
    }


def within_budget(case: Case, key: str, time_ns: int) -> str:
    """A sentence with the total of the category when a finding is only part of it, else empty."""
    number = NUMBER[key]
    total = int(case.pieces.length[case.pieces_of_category(number)].sum())
    if time_ns >= total:
        return ""
    return english(
        "In total “{cause}” takes {total}.", total=format_duration(total), cause=CATEGORIES[number].title
    )


def at_most(case: Case, gain_ns: int) -> str:
    """Speedup factor as text (``2.0``) if the range, without what other programs took, were ``gain_ns`` shorter."""
    alone_ns = max(case.whole_ns - case.outside_ns, gain_ns)
    factor = alone_ns / max(alone_ns - gain_ns, 1)
    if factor >= _NOTHING_LEFT:
        return _ENDLESS
    return f"{factor:.1f}" if factor >= _VISIBLE else f"{factor:.2f}"


def usual_path(case: Case, pieces: Int64Array) -> list[int]:
    """The segments of the chain that explains the most time of some pieces."""
    path, segments = case.pieces.path, case.segments
    # Merge the columns one by one: few chains differ, and sorting whole rows is slow.
    inverse = np.zeros(len(pieces), np.int64)
    for column in range(path.shape[1]):
        at = path[:, column][pieces]
        signature = segments.actor[at].astype(np.int32)
        signature *= 64
        signature += segments.cause[at]
        signature += 1
        signature[at < 0] = 0
        _, part = distinct(signature)
        inverse *= int(part.max(initial=0)) + 1
        inverse += part
        _, inverse = distinct(inverse)
    total = np.bincount(inverse, case.pieces.length[pieces])
    best = int(np.argmax(total))
    own = np.flatnonzero(inverse == best)
    longest = own[int(np.argmax(case.pieces.length[pieces[own]]))]
    return [segment for segment in path[pieces[longest]].tolist() if segment >= 0]


def chain_of(case: Case, path: list[int]) -> tuple[Hop, ...]:
    """A chain of segments as hops."""
    segments = case.segments
    hops = []
    for segment in path:
        where = case.where(segment)
        hops.append(
            Hop(
                action_text(int(segments.cause[segment]), Where(), case.device),
                where,
                case.row_of(segment),
                int(segments.start[segment]),
                int(segments.stop[segment]),
            )
        )
    return tuple(hops)


def rate_text(per_second: float) -> str:
    """``1,200``, ``4.3`` or ``0.04``: a rate with two digits or more, since 0 would say that nothing happens."""
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.2g}"


def action_text(cause: int, where: Where, device: str) -> str:
    """``waits for a lock at want (x.py:7)``."""
    place = place_of(where)
    if cause == Cause.SLEEP:
        return english("sleeps at {place}", place=place) if place else english("sleeps")
    if cause in (
        Cause.RUNNING,
        Cause.IMPORTING,
        Cause.COMPUTATION,
        Cause.COMMUNICATION,
        Cause.COPY,
        Cause.MIGRATION,
    ):
        return english("runs {place}", place=place) if place else english("runs")
    if cause == Cause.RUNNABLE:
        return english("is ready to run but has no core")
    if cause == Cause.NOT_RECORDED:
        return english("was not recorded")
    if cause in (Cause.LAUNCH_LATENCY, Cause.STREAM, Cause.GPU_END, Cause.NO_LAUNCH):
        return english("has nothing to start")
    kind = TITLES.get(cause, TITLES[Cause.BLOCKED]).format(device=device)
    if place:
        return english("waits for {kind} at {place}", kind=kind, place=place)
    return english("waits for {kind}", kind=kind)


def doings(case: Case, path: list[int]) -> tuple[Doing, ...]:
    """What each actor after the first link of a chain did meanwhile."""
    return tuple(
        Doing(
            case.actor_name(int(case.segments.actor[segment])),
            action_text(int(case.segments.cause[segment]), case.where(segment), case.device),
        )
        for segment in path[1:]
    )


def where_of(case: Case, pieces: Int64Array, deepest: bool = True) -> Where:
    """The place with the most time of some pieces, by the last link (or the first) whose place is known."""
    path = case.pieces.path
    columns = range(path.shape[1] - 1, -1, -1) if deepest else range(path.shape[1])
    chosen, is_placed = path[:, 0][pieces], np.zeros(len(pieces), bool)
    for column in columns:
        at = path[:, column][pieces]
        here = ~is_placed & (at >= 0) & (case.group_of_segment[at] > 0)
        chosen[here] = at[here]
        is_placed |= here
    if not is_placed.any():
        return case.where(int(chosen[int(np.argmax(case.pieces.length[pieces]))]))
    places = case.group_of_segment[chosen]
    total = np.bincount(places, np.where(is_placed, case.pieces.length[pieces], 0))
    best = int(np.argmax(total))
    return case.where(int(chosen[np.flatnonzero(is_placed & (places == best))[0]]))


def evidence_of(case: Case, pieces: Int64Array) -> Evidence:
    """Evidence for some pieces: their stretches, the longest events, and the tracks of all actors in their chains."""
    all_pieces = case.pieces
    new = np.ones(len(pieces), bool)
    new[1:] = all_pieces.start[pieces[1:]] != all_pieces.stop[pieces[:-1]]
    first = np.flatnonzero(new)
    ranges = np.empty((len(first), 2), np.int64)
    ranges[:, 0] = all_pieces.start[pieces[first]]
    ranges[:, 1] = all_pieces.stop[pieces[np.append(first[1:], len(pieces)) - 1]]
    del new, first
    rows = case.segments.row[all_pieces.leaf[_longest(case, pieces)]]
    shown = dict.fromkeys(row for row in rows.tolist() if row >= 0)
    seen = np.zeros(int(case.segments.actor.max(initial=0)) + 1, bool)
    for column in range(all_pieces.path.shape[1]):
        for begin in range(0, len(pieces), _AT_ONCE):
            at = all_pieces.path[:, column][pieces[begin : begin + _AT_ONCE]]
            seen[case.segments.actor[at[at >= 0]]] = True
    actors = np.flatnonzero(seen).tolist()
    track_of_thread = {t.thread: t.index for t in case.view.capture.tracks if t.role == "state"}
    tracks = [track_of_thread[actor] for actor in actors if actor in track_of_thread]
    return Evidence(
        ranges,
        tuple(list(shown)[:_ROWS]),
        tuple(tracks) or case.target.tracks[:1],
    )


def _longest(case: Case, pieces: Int64Array) -> Int64Array:
    """The longest pieces, longest first."""
    chosen = pieces[:0]
    for begin in range(0, len(pieces), _AT_ONCE):
        some = np.concatenate([chosen, pieces[begin : begin + _AT_ONCE]])
        length = case.pieces.length[some]
        if len(some) > _ROWS * 4:
            best = np.sort(np.argpartition(-length, _ROWS * 4)[: _ROWS * 4])
            some, length = some[best], length[best]
        chosen = some[np.argsort(-length, kind="stable")]
    return chosen


def leaves_like(case: Case, pieces: Int64Array) -> BoolArray:
    """Which segments, of any actor, have the cause and place of those that explain some pieces."""
    key = case.doing
    leaf = case.pieces.leaf[pieces]
    placed = leaf[case.group_of_segment[leaf] > 0]
    wanted = np.zeros(int(key.max(initial=0)) + 1, bool)
    wanted[key[placed]] = True
    marked: BoolArray = wanted[key]
    marked[leaf] = True
    return marked


def make_finding(
    case: Case,
    *,
    name: str,
    title: str,
    text: str,
    remedy: str,
    pieces: Int64Array,
    gain_ns: int = 0,
    where: Where | None = None,
    worst: Severity = Severity.CRITICAL,
    needs: str = "",
    path: list[int] | None = None,
    time_ns: int | None = None,
    meanwhile: tuple[Doing, ...] = (),
    within: str = "",
    refutation: str = "",
    with_factor: bool = False,
    rated_ns: int = 0,
) -> Iterator[Finding]:
    """Yield the finding of some pieces, or nothing when it is too small for a note.

    ``time_ns`` is what it costs (None: the pieces' total); the gain is limited to that, and to the waits for a core
    when the pieces run. ``path`` is the chain to show (None: the usual one). The severity follows from the gain, or
    from ``rated_ns`` where that is longer.
    """
    if len(pieces) >= _AT_ONCE:
        release_freed()  # the replay for the gain took as much memory as all that follows
    time_ns = int(case.pieces.length[pieces].sum()) if time_ns is None else time_ns
    runs = bool((case.segments.cause[case.pieces.leaf[pieces]] == Cause.RUNNING).any())
    gain_ns = min(max(gain_ns, 0), time_ns + case.core_waits_ns * runs if time_ns else case.whole_ns)
    share = time_ns / case.whole_ns
    if max(time_ns, gain_ns) < NOTE * case.fair_ns:
        return
    # Waits for a core must not raise a finding's severity.
    level = severity(max(min(gain_ns, time_ns or gain_ns), rated_ns) / case.fair_ns, worst)
    if gain_ns and not case.is_reproduced:
        gain_ns = 0
        text = english(
            "{sentence} How much time a fix saves is unknown: replaying the recorded waits differs from "
            "the recording by more than 2 %.",
            sentence=text,
        )  # fmt: skip
    elif gain_ns and with_factor and (factor := at_most(case, gain_ns)) != _ENDLESS:
        text = joined(" ", [text, english("Up to {factor}× faster.", factor=factor)])
    yield Finding(
        id=name,
        severity=level,
        title=title,
        text=text,
        time_ns=time_ns,
        share=share,
        gain_ns=gain_ns,
        where=where or Where(),
        remedy=remedy,
        chain=chain_of(case, usual_path(case, pieces) if path is None else path),
        evidence=evidence_of(case, pieces),
        needs=needs,
        meanwhile=meanwhile,
        within=within,
        refutation=refutation,
    )
