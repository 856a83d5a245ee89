"""Explains an idle time on a track: what it waited for, according to the findings' analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr, tr_n, translated
from warpline.model.times import format_duration, format_time
from warpline_app.panels.facts.event_facts import EventFacts, Section
from warpline_app.panels.facts.fact import Fact
from warpline_app.state.evidence_state import Gap

if TYPE_CHECKING:
    from warpline.analysis.findings.finding import Finding
    from warpline.model.progress import IsCancelled
    from warpline.storage import Capture

_PARTS_SHOWN = 5
_MOST_EVENTS = 2_000_000
"""Larger captures are not searched for similar gaps, which would take seconds."""


def gap_facts(capture: Capture, gap: Gap, origin_ns: int, why: tuple[Fact, ...] | None) -> EventFacts:
    """Facts about an idle time; ``why`` is None while it is being computed."""
    track = capture.tracks[gap.track]
    borders = [
        Fact(tr("From"), format_time(gap.start_ns - origin_ns)),
        Fact(tr("To"), format_time(gap.stop_ns - origin_ns)),
    ]
    for title, row in ((tr("After"), gap.before), (tr("Before"), gap.after)):
        if row >= 0:
            borders.append(Fact(title, capture.strings[int(capture.events.name[row])], row=row))
    reasons = (Fact("", tr("Analyzing waits…")),) if why is None else why
    return EventFacts(
        -1,
        tr("Idle for {time}", time=format_duration(gap.stop_ns - gap.start_ns)),
        "",
        translated(track.title) or track.uri,
        (Section("", tuple(borders)), Section(tr("Reason"), reasons)),
    )


def gap_reasons(capture: Capture, gap: Gap, is_cancelled: IsCancelled) -> tuple[Fact, ...]:
    """Causes of an idle time: its budget, the chain of waits, and a remedy. Runs in a thread."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.selection import Selection, View

    track = capture.tracks[gap.track]
    is_core = track.thread is None and track.device is None
    view = View(capture, Selection(*gap.with_end), is_cancelled)
    diagnosis = diagnose(view, of=None if is_core else track.uri)
    if diagnosis.budget is None:
        texts = (translated(text) for text in (diagnosis.reason, diagnosis.remedy) if text)
        return (Fact(tr("Unknown"), " · ".join(texts)),)
    facts = []
    if is_core:
        facts.append(Fact("", tr("No thread of this capture ran on this core.")))
        facts.append(Fact(tr("Meanwhile"), translated(diagnosis.budget.waited_for)))
    whole = max(gap.stop_ns - gap.start_ns, 1)
    # Ignore the first nanosecond of the event that ended the idle time.
    parts = sorted(
        (part for part in diagnosis.budget.parts if part.time_ns > 1), key=lambda part: -part.time_ns
    )
    for part in parts[:_PARTS_SHOWN]:
        share = "< 1 %" if part.time_ns * 200 < whole else f"{100 * part.time_ns / whole:.0f} %"
        facts.append(Fact(translated(part.title), format_duration(part.time_ns), note=share))
    first = max(diagnosis.findings, key=lambda finding: finding.time_ns, default=None)
    if first is not None:
        for number, hop in enumerate(first.chain, 1):
            where = str(hop.where)
            text = translated(hop.action) + (f" · {where}" if where else "")
            facts.append(Fact(str(number), text, row=hop.row if hop.row >= 0 else None))
        often = None if is_core else _how_often(capture, track.uri, first, is_cancelled)
        if often is not None:
            facts.append(often)
        facts.append(Fact(tr("Remedy"), translated(first.remedy)))
        if first.needs:
            facts.append(Fact(tr("To learn more"), translated(first.needs)))
    return tuple(facts)


def _how_often(capture: Capture, of: str, found: Finding, is_cancelled: IsCancelled) -> Fact | None:
    """How often this cause occurs in the capture; None if it is not a finding there."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.selection import View

    if len(capture.events) > _MOST_EVENTS:
        return None
    everything = diagnose(View(capture, cancelled=is_cancelled), of=of).findings
    same = [finding for finding in everything if finding.id == found.id and len(finding.evidence.ranges)]
    placed = [
        finding
        for finding in same
        if (finding.where.file, finding.where.line) == (found.where.file, found.where.line)
    ]
    best = max(placed or same, key=lambda finding: finding.time_ns, default=None)
    if best is None:
        return None
    count = len(best.evidence.ranges)
    note = tr(
        "{time} in total, {percent:.0f} %", time=format_duration(best.time_ns), percent=100 * best.share
    )
    return Fact(tr("Occurrences"), tr_n("{count:,} time", "{count:,} times", count), note=note)
