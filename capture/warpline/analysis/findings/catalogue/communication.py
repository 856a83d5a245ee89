"""Communication that nothing hides: its own length, or waiting until every rank is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import cost, make_finding, pieces_of, shortened, what_is_done
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import Segments
from warpline.i18n import english
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_MOSTLY = 0.5
_OFTEN = 0.6
"""Of the steps: one rank that is last so often is the one that comes late."""
_LATER = 0.2
"""Of the communication of a step: who spends so much less in it than the mean has come last."""


@dataclass(frozen=True)
class _Lateness:
    """What communication takes longer than that of who comes last, ns; the rank that is last most often, in how many of
    the steps in which one is (a range without steps counts as one).
    """

    lost_ns: int
    rank: int
    often: int
    steps: int


def of_communication(case: Case) -> Iterator[Finding]:
    """Communication that no computation hides."""
    pieces = pieces_of(case, "communication")
    if case.gpu is None or not len(pieces):
        return
    length = case.pieces.length[pieces]
    time = int(length.sum())
    rows = case.segments.row[case.pieces.leaf[pieces]]
    kernel = case.view.capture.strings[int(case.view.names(rows[[int(np.argmax(length))]])[0])]
    late = _lateness(case)
    fields = {**cost(case, time), "kernel": shortened(kernel)}
    if late is not None and late.lost_ns > _MOSTLY * time:
        found = _late(case, pieces, late, kernel, fields)
    else:
        text = english(
            "Communication takes {time} of {whole} ({percent:.0f} %) in which nothing else runs: {kernel}.",
            **fields,
        )
        found = make_finding(
            case, "gpu_communication", english("Communication that nothing hides"), text, pieces,
            case.gain_of_pieces(pieces), Where(kernel=kernel),
            english("Let it run beside computation: smaller buckets, sent as soon as they are ready."),
        )  # fmt: skip
    if found is not None:
        yield found


def _late(
    case: Case, pieces: Int64Array, late: _Lateness, kernel: str, fields: dict[str, str | float]
) -> Finding | None:
    fields = {**fields, "who": case.target.title, "lost": format_duration(late.lost_ns), "steps": late.steps}
    if late.often < _OFTEN * late.steps:
        text = english(
            "{who} spends {time} of {whole} ({percent:.0f} %) in communication that nothing hides, {lost} of it until "
            "the last rank is there; in {steps} steps different ranks come last.",
            **fields,
        )
        remedy = english(
            "Give every rank the same work in each step: inputs of one length, balanced batches."
        )
        return make_finding(
            case, "late_ranks", english("Ranks that come late in turn"), text, pieces, late.lost_ns,
            Where(kernel=kernel), remedy,
        )  # fmt: skip
    text = english(
        "{who} spends {time} of {whole} ({percent:.0f} %) in communication that nothing hides, {lost} of it until "
        "rank {number} is there, which comes last in {often} of {steps} steps.",
        number=late.rank, often=late.often, **fields,
    )  # fmt: skip
    doing = _meanwhile(case, pieces, late.rank)
    remedy = english("See what the late rank does meanwhile; give every rank the same work.")
    return make_finding(
        case, "late_rank", english("A rank that comes late"), f"{text} {doing}".strip(), pieces, late.lost_ns,
        Where(kernel=kernel, rank=late.rank), remedy,
    )  # fmt: skip


def _lateness(case: Case) -> _Lateness | None:
    """Step by step who comes last, of the ranks there are; None where there is but one."""
    # What lies between two steps, as where ranks meet at last, belongs to the one before.
    starts = np.append(case.view.start_ns, case.scope.steps.start[1:])
    stops = np.append(starts[1:], case.view.stop_ns)
    spent: dict[int, Int64Array] = {}
    for time in case.gpus:
        if time.gpu.rank is not None:
            own = spent.setdefault(time.gpu.rank, np.zeros(len(starts), np.int64))
            own += _communication(time.segments, starts, stops)
    if len(spent) < 2 or case.gpu is None or case.gpu.gpu.rank not in spent:
        return None
    ranks = sorted(spent)
    table = np.array([spent[rank] for rank in ranks])
    least, mean = table.min(0), table.mean(0)
    is_late = least < (1 - _LATER) * mean
    lost = int((spent[case.gpu.gpu.rank] - least).sum())
    if not is_late.any():
        return None
    counts = np.bincount(table.argmin(0)[is_late], minlength=len(ranks))
    best = int(np.argmax(counts))
    if ranks[best] == case.gpu.gpu.rank and counts[best] >= _OFTEN * is_late.sum():
        return None
    return _Lateness(lost, ranks[best], int(counts[best]), int(is_late.sum()))


def _communication(segments: Segments, starts: Int64Array, stops: Int64Array) -> Int64Array:
    """Time of communication inside each of some disjoint stretches, ns."""
    own = segments.take(np.flatnonzero(segments.cause == Cause.COMMUNICATION))
    if not len(own):
        return np.zeros(len(starts), np.int64)
    ends = np.concatenate([[0], np.cumsum(own.length)])

    def until(moment: Int64Array) -> Int64Array:
        at = np.searchsorted(own.start, moment, "right")
        # All that began before, less what of the last one lies behind.
        over = np.maximum(own.stop[np.maximum(at - 1, 0)] - moment, 0)
        found: Int64Array = ends[at] - np.where(at > 0, over, 0)
        return found

    return until(stops) - until(starts)


def _meanwhile(case: Case, pieces: Int64Array, rank: int) -> str:
    """What the late rank did while it was waited for."""
    time = next(time for time in case.gpus if time.gpu.rank == rank)
    start, stop = case.pieces.start[pieces], case.pieces.stop[pieces]
    window, segment = case.graph.index.overlapping(np.full(len(start), time.actor), start, stop)
    other = case.segments.cause[segment] != Cause.COMMUNICATION
    window, segment = window[other], segment[other]
    if not len(segment):
        return ""
    length = np.minimum(stop[window], case.segments.stop[segment]) - np.maximum(
        start[window], case.segments.start[segment]
    )
    cause = int(np.argmax(np.bincount(case.segments.cause[segment], length)))
    own = segment[case.segments.cause[segment] == cause]
    where = case.where(int(own[int(np.argmax(case.segments.length[own]))]))
    return english("Meanwhile it {doing}.", doing=what_is_done(cause, where, case.device))


rules = (Rule("gpu_communication", "ranks", of_communication),)
