"""Why nothing happened in an idle stretch: what it waited for, by the analysis that finds findings."""

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
"""Of larger captures only the stretch itself is analysed: nobody waits seconds for how often something happens."""


def gap_facts(capture: Capture, gap: Gap, origin_ns: int, why: tuple[Fact, ...] | None) -> EventFacts:
    """What there is to say about an idle stretch; ``why`` is None while it is being found out."""
    track = capture.tracks[gap.track]
    borders = [
        Fact(tr("From"), format_time(gap.start_ns - origin_ns)),
        Fact(tr("To"), format_time(gap.stop_ns - origin_ns)),
    ]
    for title, row in ((tr("After"), gap.before), (tr("Before"), gap.after)):
        if row >= 0:
            borders.append(Fact(title, capture.strings[int(capture.events.name[row])], row))
    told = (Fact("", tr("Following the waits…")),) if why is None else why
    return EventFacts(
        -1,
        tr("Nothing for {time}", time=format_duration(gap.stop_ns - gap.start_ns)),
        "",
        translated(track.title) or track.uri,
        (Section("", tuple(borders)), Section(tr("Why"), told)),
    )


def gap_reasons(capture: Capture, gap: Gap, is_cancelled: IsCancelled) -> tuple[Fact, ...]:
    """What the time of the stretch went to, who was waited for hop by hop, and what to do; from a thread."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.selection import Selection, View

    track = capture.tracks[gap.track]
    is_core = track.thread is None and track.device is None
    view = View(capture, Selection(*gap.with_end), is_cancelled)
    found = diagnose(view, of=None if is_core else track.uri)
    if found.budget is None:
        texts = (translated(text) for text in (found.reason, found.remedy) if text)
        return (Fact(tr("Not known"), " · ".join(texts)),)
    facts = []
    if is_core:
        facts.append(Fact("", tr("No thread of this capture ran on this core.")))
        facts.append(Fact(tr("Meanwhile"), translated(found.budget.waited_for)))
    whole = max(gap.stop_ns - gap.start_ns, 1)
    # The first moment of what ended the stretch is no part of it.
    parts = sorted((part for part in found.budget.parts if part.time_ns > 1), key=lambda one: -one.time_ns)
    for part in parts[:_PARTS_SHOWN]:
        share = "< 1 %" if part.time_ns * 200 < whole else f"{100 * part.time_ns / whole:.0f} %"
        facts.append(Fact(translated(part.title), format_duration(part.time_ns), note=share))
    first = max(found.findings, key=lambda one: one.time_ns, default=None)
    if first is not None:
        for number, hop in enumerate(first.chain, 1):
            where = str(hop.where)
            text = translated(hop.action) + (f" · {where}" if where else "")
            facts.append(Fact(str(number), text, hop.row if hop.row >= 0 else None))
        often = None if is_core else _how_often(capture, track.uri, first, is_cancelled)
        if often is not None:
            facts.append(often)
        facts.append(Fact(tr("What helps"), translated(first.remedy)))
        if first.needs:
            facts.append(Fact(tr("What would tell more"), translated(first.needs)))
    return tuple(facts)


def _how_often(capture: Capture, of: str, found: Finding, is_cancelled: IsCancelled) -> Fact | None:
    """How often what explains a stretch happens in the capture; None where it does not stand out there."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.selection import View

    if len(capture.events) > _MOST_EVENTS:
        return None
    everything = diagnose(View(capture, cancelled=is_cancelled), of=of).findings
    same = [one for one in everything if one.id == found.id and len(one.evidence.ranges)]
    placed = [one for one in same if (one.where.file, one.where.line) == (found.where.file, found.where.line)]
    best = max(placed or same, key=lambda one: one.time_ns, default=None)
    if best is None:
        return None
    count = len(best.evidence.ranges)
    note = tr(
        "{time} together, {percent:.0f} %", time=format_duration(best.time_ns), percent=100 * best.share
    )
    return Fact(tr("How often"), tr_n("{count:,} time", "{count:,} times", count), note=note)
