"""Explains one finding: the numbers it rests on, its chain of waits, its evidence, and what would refute it."""

from __future__ import annotations

import numpy as np

from warpline.analysis.findings.finding import Budget, Finding, Hop
from warpline.analysis.findings.refutations import refutation
from warpline.analysis.findings.wording import finding_lines
from warpline.i18n import tr, tr_n, translated
from warpline.model.times import format_duration
from warpline.storage import Capture

_ROWS = 5
"""How many events are listed."""


def why_lines(finding: Finding, budget: Budget, capture: Capture, bullet: str) -> list[str]:
    """The explanation of a finding as lines of text, translated."""
    origin = capture.span[0]
    lines = [*finding_lines(finding, bullet), "", tr("Numbers:")]
    lines += [f"{bullet}{line}" for line in number_lines(finding, budget, origin)]
    events = longest_events(finding, capture)
    if events:
        lines += ["", tr("Longest events:"), *(f"{bullet}{event_line(capture, row)}" for row in events)]
    if finding.chain:
        lines += ["", tr("Chain:")]
        lines += [f"{bullet}{number}. {_hop(hop, origin)}" for number, hop in enumerate(finding.chain, 1)]
    lines += ["", translated(refutation(finding))]
    return lines


def number_lines(finding: Finding, budget: Budget, origin: int) -> list[str]:
    """The numbers that a finding rests on, as sentences, translated; times count from ``origin`` (capture ns)."""
    whole = max(budget.stop_ns - budget.start_ns, 1)
    lines = [
        tr(
            "The range lasts {whole}, from {start} to {stop}.",
            whole=format_duration(whole),
            start=format_duration(budget.start_ns - origin),
            stop=format_duration(budget.stop_ns - origin),
        )
    ]
    if finding.time_ns:
        lines.append(
            tr(
                "The finding takes {time} of it ({percent:.1f} %).",
                time=format_duration(finding.time_ns),
                percent=100 * finding.share,
            )
        )
    else:
        lines.append(tr("Its time counts under other causes of the budget."))
    if finding.gain_ns:
        lines.append(
            tr(
                "Replayed without that time, the range lasts {rest}: {gain} less. This is an upper bound.",
                rest=format_duration(whole - finding.gain_ns),
                gain=format_duration(finding.gain_ns),
            )
        )
    else:
        lines.append(tr("No gain is predicted."))
    ranges = finding.evidence.ranges
    if len(ranges):
        lengths = ranges[:, 1] - ranges[:, 0]
        longest = int(np.argmax(lengths))
        lines.append(
            tr_n(
                "It rests on one stretch of time, which takes {length} and begins at {start}.",
                "It rests on {count:,} stretches of time; the longest takes {length} and begins at {start}.",
                len(ranges),
                length=format_duration(int(lengths[longest])),
                start=format_duration(int(ranges[longest, 0]) - origin),
            )
        )
    return lines


def longest_events(finding: Finding, capture: Capture) -> list[int]:
    """The rows of the longest events that show a finding."""
    return [row for row in finding.evidence.rows if 0 <= row < len(capture.events.start)][:_ROWS]


def event_line(capture: Capture, row: int) -> str:
    """An event's length, start and name, translated."""
    start, stop = (int(times[0]) for times in capture.event_times(np.array([row], np.int64)))
    return tr(
        "{length} from {start}: {name}",
        length=format_duration(stop - start),
        start=format_duration(start - capture.span[0]),
        name=translated(capture.strings[int(capture.events.name[row])]),
    )


def _hop(hop: Hop, origin: int) -> str:
    text = " · ".join(part for part in (translated(hop.action), str(hop.where)) if part)
    if hop.stop_ns > hop.start_ns:
        start, length = format_duration(hop.start_ns - origin), format_duration(hop.stop_ns - hop.start_ns)
        return tr("{action} (longest: {length} from {start})", action=text, length=length, start=start)
    return text
