"""What there is to say when nothing is selected: what the view's time went to, what was busiest, what can be asked."""

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
"""What happens in a view of more events is computed for a range a person selects, not in passing."""
_PARTS_SHOWN = 6
_ROWS_SHOWN = 6


def view_facts(
    span: tuple[int, int], is_range: bool, origin_ns: int, told: tuple[Section, ...] | None, of_row: str = ""
) -> EventFacts:
    """The stretch of time in view, or the selected range; ``told`` is what `view_sections` found out, None while it is
    at work. ``of_row`` follows the head where a row is selected (see `scope_suffix`).
    """
    start, stop = span
    borders = (
        Fact(tr("From"), format_time(start - origin_ns)),
        Fact(tr("To"), format_time(stop - origin_ns)),
    )
    length = format_duration(stop - start)
    waiting = (Section(tr("Where the time went"), (Fact("", tr("Following the waits…")),)),)
    return EventFacts(
        -1,
        tr("Selected range: {time}", time=length) if is_range else tr("In view: {time}", time=length),
        "",
        tr("no event is selected") + of_row,
        (
            Section("", borders),
            *(waiting if told is None else told),
            Section(tr("What can be asked"), _questions()),
        ),
    )


def _questions() -> tuple[Fact, ...]:
    return (
        Fact(tr("Click an event"), tr("what it is, why it waited, what belongs to it")),
        Fact(tr("Click a gap"), tr("why nothing happened there")),
        Fact(tr("Drag"), tr("the time of a range, in every panel")),
        Fact(tr("Click a row's title"), tr("the same for that row alone")),
        Fact(tr("Ctrl+F"), tr("find names, /regex/")),
    )


def view_sections(
    capture: Capture, span: tuple[int, int], tracks: frozenset[int] | None, is_cancelled: IsCancelled
) -> tuple[Section, ...]:
    """What the time in view went to, and what was busiest; from a thread.

    ``tracks``: only of these and what is below them; None for all.
    """
    from warpline.analysis.findings.budget import budget_of
    from warpline.analysis.findings.finding import Diagnosis
    from warpline.analysis.framework.selection import Selection, View

    below = View(capture, Selection(tracks=tracks)).tracks
    lanes = [lane for track in sorted(below) for lane in capture.track_lanes(track)]
    # An instant at the very end of the capture is in view with it.
    count = capture.count_in(lanes, span[0], span[1] + (span[1] == capture.span[1]))
    counted = Section("", (Fact(tr("Events"), f"{count:,}"),))
    if count > AT_MOST_EVENTS:
        hint = tr("These are many events to follow in passing: zoom in, or see Findings.")
        return (counted, Section(tr("Where the time went"), (Fact("", hint),)))
    # With everything in view the time is that of the steady steps, as in Findings: one capture has one budget.
    is_whole = span[0] <= capture.span[0] and span[1] >= capture.span[1]
    view = View(capture, Selection() if is_whole else Selection(*span), is_cancelled)
    case = _case_of(view, tracks)
    parts: list[Fact]
    if case is None:
        parts = []
    elif isinstance(case, Diagnosis):
        texts = (translated(text) for text in (case.reason, case.remedy) if text)
        parts = [Fact(tr("Not known"), " · ".join(texts))]
    else:
        budget = budget_of(case)
        length = max(1, sum(part.time_ns for part in budget.parts))
        shown = sorted((part for part in budget.parts if part.time_ns), key=lambda one: -one.time_ns)
        parts = [Fact("", tr("of {what}", what=translated(budget.waited_for)))]
        parts += [
            Fact(translated(part.title), format_duration(part.time_ns), note=_share(part.time_ns / length))
            for part in shown[:_PARTS_SHOWN]
        ]
        parts += [Fact("", translated(text)) for text in case.scope.notices]
    sections = (
        counted,
        Section(tr("Where the time went"), tuple(parts)),
        Section(tr("Busiest"), _busiest(view, below)),
    )
    return tuple(section for section in sections if section.facts)


def _case_of(view: View, tracks: frozenset[int] | None) -> Case | Diagnosis | None:
    """What is waited for, on a row where one is chosen; None where the rows are nobody's time: counters, cores."""
    from warpline.analysis.findings.diagnose import open_case

    uris = [view.capture.tracks[index].uri for index in sorted(tracks or ())]
    if uris and not any(_is_somebodys(view, uri) for uri in uris):
        return None
    return open_case(view, of=uris[0] if len(uris) == 1 else None)


def _is_somebodys(view: View, uri: str) -> bool:
    """Whether a thread's or a GPU's time is on a track or below it."""
    from warpline.analysis.findings.scope import find_target

    try:
        return find_target(view, uri) is not None
    except UsageError:
        return False


def _busiest(view: View, tracks: frozenset[int]) -> tuple[Fact, ...]:
    """Of some tracks: streams by what ran on them and threads by what they ran, the busiest first. Threads of
    the recorder are not the program's.
    """
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
            busy.append((share, track.index, _titled(capture, track.index)))
    states = thread_state(view, Options())
    ours = {index for index, thread in enumerate(capture.threads) if thread.name == OWN_THREAD}
    if not isinstance(states, NotRecorded) and states.targets.tracks is not None:
        for place, index in enumerate(states.targets.tracks.tolist()):
            if index in tracks and capture.tracks[index].thread not in ours:
                busy.append((states.value(place, "running_ns") / length, index, _titled(capture, index)))
    busy = sorted((one for one in busy if one[0] > 0), key=lambda one: -one[0])
    facts = [Fact(title, _share(share), track=index) for share, index, title in busy[:_ROWS_SHOWN]]
    if len(busy) > _ROWS_SHOWN:
        more = len(busy) - _ROWS_SHOWN
        facts.append(Fact("", tr_n("and {count:,} more", "and {count:,} more", more)))
    return tuple(facts)


def _titled(capture: Capture, index: int) -> str:
    """A row by its own title, that of the GPU or process it belongs to, and its rank where there are several."""
    track = capture.tracks[index]
    above: list[Track] = []
    parent = track.parent
    while parent >= 0:
        above.append(capture.tracks[parent])
        parent = above[-1].parent
    if track.role == "state" and above:
        titles = [above[0].title]
    else:
        owners = [one for one in above if one.role in {"gpu", "process"}][:1]
        # The number of a GPU tells it; its product's name is the same for all of them.
        names = [one.title.partition(" · ")[0] if one.role == "gpu" else one.title for one in owners]
        titles = [track.title, *names]
    titles += [one.title for one in above if one.role == "rank"]
    return " · ".join(translated(title) for title in titles)


def _share(ratio: float) -> str:
    percent = 100 * ratio
    return "< 1 %" if 0 < percent < 0.5 else f"{percent:.0f} %"
