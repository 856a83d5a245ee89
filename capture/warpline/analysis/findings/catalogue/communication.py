"""Rules: exposed communication, either because of its length or because ranks arrive late."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.draft import action_text, cost, make_finding, pieces_of, shortened
from warpline.analysis.findings.finding import Finding, Where
from warpline.analysis.findings.kernels.link_rates import measured_links
from warpline.analysis.findings.rule import Rule
from warpline.analysis.findings.segments import Segments
from warpline.analysis.structure.kernels import communication_ids
from warpline.i18n import english, english_n, joined
from warpline.model.times import format_duration

Int64Array = npt.NDArray[np.int64]
_MOSTLY = 0.5
_OFTEN = 0.6
"""Share of the steps in which a rank must be last to count as the late one."""
_MANY_TIMES, _ENOUGH, _FEW, _ROWS = 20, 5, 0.1, 20
"""From this multiple of its kind's median on, a call is an outlier, if there are enough calls and few outliers."""
_SHORT_NS = 100_000
"""Collectives shorter than this cost mostly their latency."""
_NUMBER = re.compile(r"\d+")
_LATER = 0.2
"""A rank arrived last in a step if it communicated this much less than the mean."""


@dataclass(frozen=True)
class _Lateness:
    """``lost_ns``: how much longer communication takes than on the last rank; ``rank``: the one most often last, in
    ``often`` of ``steps`` steps that have a last rank (a range without steps counts as one step).
    """

    lost_ns: int
    rank: int
    often: int
    steps: int


def find_communication(case: Case) -> Iterator[Finding]:
    """Find communication that no computation overlaps."""
    pieces = pieces_of(case, "communication")
    if case.gpu is None or not len(pieces):
        return
    length = case.pieces.length[pieces]
    time = int(length.sum())
    rows = case.segments.row[case.pieces.leaf[pieces]]
    kernel = case.view.capture.strings[int(case.view.names(rows[[int(np.argmax(length))]])[0])]
    late = _lateness(case)
    fields = {**cost(case, time), "kernel": shortened(kernel)}
    peer = _late_peer(case, pieces) if late is None else []
    if late is not None and late.lost_ns > _MOSTLY * time:
        yield from _late_ranks(case, pieces, late, kernel, fields)
    elif peer:
        yield from peer
    else:
        text = english(
            "Communication takes {time} of {whole} ({percent:.0f} %) while nothing computes: {kernel}.",
            **fields,
        )
        measured, is_limit = measured_links(case, pieces)
        title = english("Exposed communication")
        remedy = _for_exposed(case)
        if is_limit:
            title = english("The {device} is limited by its links", device=case.device)
            remedy = english(
                "Send fewer bytes: gradients in bfloat16, or accumulated over several batches. Overlap the rest with "
                "computation."
            )
        yield from make_finding(
            case, name="gpu_communication", title=title, text=joined(" ", filter(None, (text, measured))),
            pieces=pieces, gain_ns=case.gain_of_pieces(pieces), where=Where(kernel=kernel), remedy=remedy,
        )  # fmt: skip


def _for_exposed(case: Case) -> str:
    """The remedy for exposed communication, by its calls: many short ones, few after all computation, or a mixture."""
    assert case.gpu is not None
    kernels = case.view.events("kernel", case.gpu.gpu.tracks)
    own = kernels.take(communication_ids(case.view)[kernels.name])
    steps = max(len(case.scope.steps), 1)
    if len(own) >= _ENOUGH * steps and float(np.median(own.duration)) < _SHORT_NS:
        return english(
            "Most calls are short: send fewer, larger buckets (bucket_cap_mb in DistributedDataParallel), or "
            "accumulate gradients over several batches."
        )
    if len(own) <= 2 * steps:
        return english(
            "It is {count} call per step: divide it into buckets that are sent during the backward pass, or accumulate "
            "gradients over several batches.",
            count=max(round(len(own) / steps), 1),
        )
    return english(
        "Overlap it with computation: send each bucket as soon as it is ready, on a stream of its own."
    )


def _late_peer(case: Case, pieces: Int64Array) -> list[Finding]:
    """Few collectives that take many times the median of their kind, for most of the exposed time: a peer came late."""
    assert case.gpu is not None
    kernels = case.view.events("kernel", case.gpu.gpu.tracks)
    own = kernels.take(communication_ids(case.view)[kernels.name])
    names, kind = np.unique(own.name, return_inverse=True)
    # Some profilers number the calls in their names.
    texts = [_NUMBER.sub("#", text) for text in case.view.capture.strings.get(names.tolist())]
    kind = np.unique(texts, return_inverse=True)[1].reshape(-1)[kind.reshape(-1)] if len(own) else kind
    medians = np.array([np.median(own.duration[kind == n]) for n in range(int(kind.max(initial=-1)) + 1)])
    counts = np.bincount(kind, minlength=len(medians))
    slow = np.flatnonzero((own.duration > _MANY_TIMES * medians[kind]) & (counts[kind] >= _ENOUGH))
    excess = int(np.maximum(own.inside[slow] - medians[kind[slow]], 0).sum()) if len(slow) else 0
    time = int(case.pieces.length[pieces].sum())
    if not len(slow) or len(slow) > _FEW * len(own) or excess < _MOSTLY * time:
        return []
    worst = slow[int(np.argmax(own.duration[slow]))]
    name = case.view.capture.strings[int(own.name[worst])]
    median = float(medians[kind[worst]])
    text = english_n(
        "{time} of {whole} ({percent:.0f} %) is exposed communication, most of it one call: {kernel} takes {longest} "
        "at {start}, {factor:,.0f}× its median of {median}. Most likely a peer arrived late there.",
        "{time} of {whole} ({percent:.0f} %) is exposed communication, most of it {count} calls. The longest, "
        "{kernel}, takes {longest} at {start}, {factor:,.0f}× its median of {median}. Most likely peers arrived late "
        "there.",
        len(slow), kernel=shortened(name), longest=format_duration(int(own.duration[worst])),
        start=format_duration(int(own.start[worst]) - case.view.capture.span[0]),
        factor=own.duration[worst] / max(median, 1.0), median=format_duration(round(median)), **cost(case, time),
    )  # fmt: skip
    rows = tuple(own.row[slow[np.argsort(-own.duration[slow], kind="stable")[:_ROWS]]].tolist())
    return [
        replace(finding, evidence=replace(finding.evidence, rows=rows))
        for finding in make_finding(
            case, name="late_peer", title=english("A peer is late for a collective"), text=text, pieces=pieces,
            gain_ns=min(case.gain_of_pieces(pieces), excess), where=Where(kernel=name),
            remedy=english("The peers' traces tell what they did then: import those of all ranks together."),
        )
    ]  # fmt: skip


def _late_ranks(
    case: Case, pieces: Int64Array, late: _Lateness, kernel: str, fields: dict[str, str | float]
) -> Iterator[Finding]:
    fields = {
        **fields,
        "subject": case.target.title,
        "lost": format_duration(late.lost_ns),
        "steps": late.steps,
    }
    if late.often < _OFTEN * late.steps:
        text = english(
            "{subject} spends {time} of {whole} ({percent:.0f} %) in exposed communication, {lost} of it waiting for "
            "the last rank. Which rank is last varies over {steps} steps.",
            **fields,
        )
        remedy = english(
            "Give every rank the same work in each step: inputs of equal length, balanced batches."
        )
        yield from make_finding(
            case, name="late_ranks", title=english("Ranks take turns being late"), text=text, pieces=pieces,
            gain_ns=late.lost_ns, where=Where(kernel=kernel), remedy=remedy,
        )  # fmt: skip
    text = english(
        "{subject} spends {time} of {whole} ({percent:.0f} %) in exposed communication, {lost} of it waiting for rank "
        "{number}, which is last in {often} of {steps} steps.",
        number=late.rank, often=late.often, **fields,
    )  # fmt: skip
    doing = _meanwhile(case, pieces, late.rank)
    remedy = english("Look at what the late rank does meanwhile; give every rank the same work.")
    yield from make_finding(
        case, name="late_rank", title=english("One rank is late"), text=f"{text} {doing}".strip(), pieces=pieces,
        gain_ns=late.lost_ns, where=Where(kernel=kernel, rank=late.rank), remedy=remedy,
    )  # fmt: skip


def _lateness(case: Case) -> _Lateness | None:
    """Which rank arrives last in each step; None with a single rank.

    Time between two steps, such as the final synchronization, belongs to the earlier step.
    """
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
    """Communication time inside each of some disjoint stretches, ns."""
    own = segments.take(np.flatnonzero(segments.cause == Cause.COMMUNICATION))
    if not len(own):
        return np.zeros(len(starts), np.int64)
    ends = np.concatenate([[0], np.cumsum(own.length)])

    def until(moment: Int64Array) -> Int64Array:
        at = np.searchsorted(own.start, moment, "right")
        # The sum of all that began before, less what the last one does after that moment.
        excess = np.maximum(own.stop[np.maximum(at - 1, 0)] - moment, 0)
        total: Int64Array = ends[at] - np.where(at > 0, excess, 0)
        return total

    return until(stops) - until(starts)


def _meanwhile(case: Case, pieces: Int64Array, rank: int) -> str:
    """A sentence about what the late rank did while others waited for it."""
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
    return english("Meanwhile that rank {doing}.", doing=action_text(cause, where, case.device))


rules = (Rule("gpu_communication", "ranks", find_communication),)
