"""Facts shown without a selection: the time budget of the view, the busiest rows, and hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr, tr_n, translated
from warpline.model.errors import UsageError
from warpline.model.times import format_duration, format_time
from warpline.model.waits import OWN_THREAD
from warpline_app.panels.facts.event_facts import EventFacts, Section
from warpline_app.panels.facts.fact import Fact

if TYPE_CHECKING:
    from warpline.analysis.findings.case import Case
    from warpline.analysis.findings.finding import Diagnosis
    from warpline.analysis.framework.selection import View
    from warpline.model import Track
    from warpline.model.progress import IsCancelled
    from warpline.storage import Capture

AT_MOST_EVENTS = 500_000
"""Views with more events are analysed only on request."""
_PARTS_SHOWN = 6
_ROWS_SHOWN = 6


def view_facts(
    span: tuple[int, int],
    is_range: bool,
    origin_ns: int,
    sections_found: tuple[Section, ...] | None,
    of_row: str = "",
    *,
    with_hints: bool = True,
) -> EventFacts:
    """Facts about the visible or selected range.

    ``told`` is the result of `view_sections`, None while it is being computed. ``of_row`` names the selected row (see
    `scope_suffix`). ``with_hints`` adds how to explore a capture.
    """
    start, stop = span
    borders = (
        Fact(tr("From"), format_time(start - origin_ns)),
        Fact(tr("To"), format_time(stop - origin_ns)),
    )
    length = format_duration(stop - start)
    waiting = (Section(tr("Time budget"), (Fact("", tr("Analyzing waits…")),)),)
    return EventFacts(
        -1,
        tr("Selected range: {time}", time=length) if is_range else tr("Visible range: {time}", time=length),
        "",
        tr("no event selected") + of_row,
        (
            Section("", borders),
            *(waiting if sections_found is None else sections_found),
            *([Section(tr("How to explore"), _questions())] if with_hints else []),
        ),
    )


def _questions() -> tuple[Fact, ...]:
    return (
        Fact(tr("Click an event"), tr("shows what it is, why it waited and its links")),
        Fact(tr("Click a gap"), tr("shows why nothing ran")),
        Fact(tr("Drag"), tr("selects a range for every panel")),
        Fact(tr("Click a row title"), tr("limits the panels to that row")),
        Fact(tr("Ctrl+F"), tr("finds names or /regex/")),
    )


def view_sections(
    capture: Capture, span: tuple[int, int], tracks: frozenset[int] | None, is_cancelled: IsCancelled
) -> tuple[Section, ...]:
    """Time budget and busiest rows of a range. Runs in a thread.

    ``tracks``: only these and those below; None for all.
    """
    from warpline.analysis.findings.budget import budget_of
    from warpline.analysis.findings.finding import Diagnosis
    from warpline.analysis.framework.selection import Selection, View

    below = View(capture, Selection(tracks=tracks)).tracks
    lanes = [lane for track in sorted(below) for lane in capture.track_lanes(track)]
    # Include an instant at the very end of the capture.
    count = capture.count_in(lanes, span[0], span[1] + (span[1] == capture.span[1]))
    counted = Section("", (Fact(tr("Events"), f"{count:,}"),))
    if count > AT_MOST_EVENTS:
        hint = tr("Too many events to analyze here: zoom in, or open Findings.")
        return (counted, Section(tr("Time budget"), (Fact("", hint),)))
    # For the whole capture, use the steady steps as Findings does, so that both show the same budget.
    is_whole = span[0] <= capture.span[0] and span[1] >= capture.span[1]
    view = View(capture, Selection() if is_whole else Selection(*span), is_cancelled)
    case = _case_of(view, tracks)
    parts: list[Fact]
    if case is None:
        parts = []
    elif isinstance(case, Diagnosis):
        texts = (translated(text) for text in (case.reason, case.remedy) if text)
        parts = [Fact(tr("Unknown"), " · ".join(texts))]
    else:
        budget = budget_of(case)
        length = max(1, sum(part.time_ns for part in budget.parts))
        shown = sorted((part for part in budget.parts if part.time_ns), key=lambda entry: -entry.time_ns)
        parts = [
            Fact("", tr("of {what}; waits count where they were caused", what=translated(budget.waited_for)))
        ]
        parts += [
            Fact(translated(part.title), format_duration(part.time_ns), note=_share(part.time_ns / length))
            for part in shown[:_PARTS_SHOWN]
        ]
        parts += [Fact("", translated(text)) for text in case.scope.notices]
    sections = (
        counted,
        Section(tr("Time budget"), tuple(parts)),
        Section(tr("Busiest"), _busiest(view, below)),
    )
    return tuple(section for section in sections if section.facts)


def _case_of(view: View, tracks: frozenset[int] | None) -> Case | Diagnosis | None:
    """The case for the analysis, on the selected row if any; None if no row has a time budget (counters, cores)."""
    from warpline.analysis.findings.diagnose import open_case

    uris = [view.capture.tracks[index].uri for index in sorted(tracks or ())]
    if uris and not any(_has_budget(view, uri) for uri in uris):
        return None
    return open_case(view, of=uris[0] if len(uris) == 1 else None)


def _has_budget(view: View, uri: str) -> bool:
    """Whether a track or one below it has the time of a thread or GPU."""
    from warpline.analysis.findings.scope import find_target

    try:
        return find_target(view, uri) is not None
    except UsageError:
        return False


def _busiest(view: View, tracks: frozenset[int]) -> tuple[Fact, ...]:
    """The busiest streams and threads among some tracks, excluding the recorder's threads."""
    from warpline.analysis.cpu.thread_state import thread_state
    from warpline.analysis.framework.options import Options
    from warpline.analysis.framework.report import NotRecorded

    capture, start, stop = view.capture, view.start_ns, view.stop_ns
    length = max(1, stop - start)
    busy: list[tuple[float, int, str]] = []
    for track in capture.tracks:
        if track.role == "stream" and track.index in tracks:
            lanes = tuple(capture.track_lanes(track.index))
            share = capture.union_busy_ns(lanes, start, stop) / length if lanes else 0.0
            busy.append((share, track.index, _row_title(capture, track.index)))
    states = thread_state(view, Options())
    ours = {index for index, thread in enumerate(capture.threads) if thread.name == OWN_THREAD}
    if not isinstance(states, NotRecorded) and states.targets.tracks is not None:
        for place, index in enumerate(states.targets.tracks.tolist()):
            if index in tracks and capture.tracks[index].thread not in ours:
                busy.append((states.value(place, "running_ns") / length, index, _row_title(capture, index)))
    busy = sorted((entry for entry in busy if entry[0] > 0), key=lambda entry: -entry[0])
    facts = [Fact(title, _share(share), track=index) for share, index, title in busy[:_ROWS_SHOWN]]
    if len(busy) > _ROWS_SHOWN:
        more = len(busy) - _ROWS_SHOWN
        facts.append(Fact("", tr_n("and {count:,} more", "and {count:,} more", more)))
    return tuple(facts)


def _row_title(capture: Capture, index: int) -> str:
    """A row's title with its GPU or process, and its rank if there are several."""
    track = capture.tracks[index]
    ancestors: list[Track] = []
    parent = track.parent
    while parent >= 0:
        ancestors.append(capture.tracks[parent])
        parent = ancestors[-1].parent
    if track.role == "state" and ancestors:
        titles = [ancestors[0].title]
    else:
        owners = [entry for entry in ancestors if entry.role in {"gpu", "process"}][:1]
        # GPUs are identified by number; the product name is the same for all.
        names = [entry.title.partition(" · ")[0] if entry.role == "gpu" else entry.title for entry in owners]
        titles = [track.title, *names]
    titles += [entry.title for entry in ancestors if entry.role == "rank"]
    return " · ".join(translated(title) for title in titles)


def _share(ratio: float) -> str:
    percent = 100 * ratio
    return "< 1 %" if 0 < percent < 0.5 else f"{percent:.0f} %"
