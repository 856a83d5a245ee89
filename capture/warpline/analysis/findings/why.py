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
    whole = max(budget.stop_ns - budget.start_ns, 1)
    lines = [*finding_lines(finding, bullet), "", tr("Numbers:")]
    lines.append(
        bullet
        + tr(
            "The range lasts {whole}, from {start} to {stop}.",
            whole=format_duration(whole),
            start=format_duration(budget.start_ns - origin),
            stop=format_duration(budget.stop_ns - origin),
        )
    )
    if finding.time_ns:
        lines.append(
            bullet
            + tr(
                "The finding takes {time} of it ({percent:.1f} %).",
                time=format_duration(finding.time_ns),
                percent=100 * finding.share,
            )
        )
    else:
        lines.append(bullet + tr("Its time counts under other causes of the budget."))
    if finding.gain_ns:
        lines.append(
            bullet
            + tr(
                "Replayed without that time, the range lasts {rest}: {gain} less. This is an upper bound.",
                rest=format_duration(whole - finding.gain_ns),
                gain=format_duration(finding.gain_ns),
            )
        )
    else:
        lines.append(bullet + tr("No gain is predicted."))
    lines += _evidence_lines(finding, capture, bullet)
    if finding.chain:
        lines += ["", tr("Chain:")]
        lines += [f"{bullet}{number}. {_hop(hop, origin)}" for number, hop in enumerate(finding.chain, 1)]
    lines += ["", translated(refutation(finding))]
    return lines


def _evidence_lines(finding: Finding, capture: Capture, bullet: str) -> list[str]:
    ranges, lines = finding.evidence.ranges, []
    origin = capture.span[0]
    if len(ranges):
        lengths = ranges[:, 1] - ranges[:, 0]
        longest = int(np.argmax(lengths))
        lines.append(
            bullet
            + tr_n(
                "It rests on one stretch of time, which takes {length} and begins at {start}.",
                "It rests on {count:,} stretches of time; the longest takes {length} and begins at {start}.",
                len(ranges),
                length=format_duration(int(lengths[longest])),
                start=format_duration(int(ranges[longest, 0]) - origin),
            )
        )
    rows = [row for row in finding.evidence.rows if 0 <= row < len(capture.events.start)][:_ROWS]
    if not rows:
        return lines
    lines += ["", tr("Longest events:")]
    for row in rows:
        name = capture.strings[int(capture.events.name[row])]
        start = format_duration(int(capture.events.start[row]) - origin)
        length = format_duration(int(capture.events.duration[row]))
        lines.append(
            bullet + tr("{length} from {start}: {name}", length=length, start=start, name=translated(name))
        )
    return lines


def _hop(hop: Hop, origin: int) -> str:
    text = " · ".join(part for part in (translated(hop.action), str(hop.where)) if part)
    if hop.stop_ns > hop.start_ns:
        start, length = format_duration(hop.start_ns - origin), format_duration(hop.stop_ns - hop.start_ns)
        return tr("{action} (longest: {length} from {start})", action=text, length=length, start=start)
    return text
