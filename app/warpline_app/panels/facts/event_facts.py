"""Facts about one event as titled lines of text, without widgets or colours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.analysis.structure.modules import IN_TRACES
from warpline.i18n import english, tr, tr_n, translated
from warpline.model import links
from warpline.model.flags import Flag
from warpline.model.times import format_duration, format_time
from warpline.storage import NO_ROW
from warpline_app.panels.facts.attribute_facts import attribute_facts
from warpline_app.panels.facts.event_context import EventContext
from warpline_app.panels.facts.fact import Fact, frame_fact
from warpline_app.panels.facts.request_facts import request_facts
from warpline_app.panels.facts.wait_facts import state_facts, wait_facts
from warpline_app.timeline.model.links import delay_of_launch, launching_call

if TYPE_CHECKING:
    from warpline.storage import Capture

CHILDREN_SHOWN = 30
LINKS_SHOWN = 50
PARENTS_SHOWN = 64
STACK_SHOWN = 100

LINK_TITLES: dict[str, tuple[str, str]] = {
    # kind: (role of the other event if it leads here, role if this event leads there)
    links.LAUNCH: (english("Launched by"), english("Launched")),
    links.WAKEUP: (english("Woken by"), english("Woke")),
    links.RELEASE: (english("Ended by"), english("Ended")),
    links.DATA: (english("Written by"), english("Read by")),
    links.EXIT: (english("Ended by"), english("Ended")),
    links.FLOW: (english("Comes from"), english("Leads to")),
    links.FORWARD_BACKWARD: (english("Forward"), english("Backward")),
    links.ANNOTATION: (english("Annotated by"), english("Annotates")),
}
FLAG_TEXTS: tuple[tuple[Flag, str], ...] = (
    (Flag.CUT_START, english("began before the recording; the start shown is the recording's")),
    (Flag.CUT_END, english("was still running when the recording ended; the end shown is the recording's")),
    (Flag.TRUNCATED, english("its start or end was lost and is inferred")),
    (Flag.ESTIMATED, english("estimated from samples, not measured")),
    (Flag.INSTANT, english("an instant without duration")),
)


@dataclass(frozen=True)
class Section:
    """Lines under a title."""

    title: str
    facts: tuple[Fact, ...]
    is_open: bool = True


@dataclass(frozen=True)
class EventFacts:
    """Everything about an event."""

    row: int
    name: str
    kind: str
    kind_title: str
    sections: tuple[Section, ...] = field(default_factory=tuple)


def event_facts(capture: Capture, row: int, origin_ns: int | None = None) -> EventFacts:
    """Facts about the event in a row; times count from ``origin_ns`` (default: the capture's start).

    Raises IndexError if there is no such row.
    """
    if not 0 <= row < len(capture.events):
        raise IndexError(f"no event {row}")
    origin = capture.span[0] if origin_ns is None else origin_ns
    kind = capture.kind_of_code.get(int(capture.events.kind[row]), "")
    table = capture.kinds.get(kind)
    attributes = table.at(row) if table is not None else {}
    attributes_shown = attribute_facts(capture, kind, row, attributes)
    sections = (
        Section("", _when(capture, row, origin)),
        Section(
            translated(table.spec.title) if table is not None else tr("Attributes"), attributes_shown.what
        ),
        Section(tr("Inputs"), attributes_shown.inputs),
        Section(tr("Reason for the wait"), wait_facts(capture, row)),
        Section(tr("Thread states"), state_facts(capture, row)),
        Section(tr("Where"), _where(capture, row)),
        Section(tr("Links"), (*_links(capture, row), *_context(capture, row))),
        Section(*request_facts(capture, kind, row)),
        *_python(capture, row),
        Section(tr("Nested in"), _parents(capture, row)),
        *_children(capture, row),
        Section(tr("Stack"), _stack(capture, attributes)),
        Section(tr("Identifiers"), (*attributes_shown.identifiers, _track(capture, row)), is_open=False),
        Section(tr("Not recorded"), attributes_shown.missing, is_open=False),
    )
    name = capture.strings[int(capture.events.name[row])]
    return EventFacts(
        row,
        translated(name) if kind == "thread_state" else name,
        kind,
        table.spec.title if table is not None else kind,
        tuple(section for section in sections if section.facts),
    )


def _when(capture: Capture, row: int, origin: int) -> tuple[Fact, ...]:
    start, stop = capture.event_span(row)
    facts = [Fact(tr("Start"), format_time(start - origin))]
    flags = int(capture.events.flags[row])
    if not flags & Flag.INSTANT:
        facts.append(Fact(tr("Duration"), format_duration(stop - start, 6)))
        facts.append(Fact(tr("End"), format_time(stop - origin)))
    facts += _launch_delay(capture, row)
    for flag, text in FLAG_TEXTS:
        if flags & flag:
            facts.append(Fact(tr("Note"), translated(text)))
    return tuple(facts)


def _launch_delay(capture: Capture, row: int) -> list[Fact]:
    """How long GPU work waited after the call that launched it."""
    call = launching_call(capture, row)
    if call is None:
        return []
    delay = delay_of_launch(capture, call, row)
    title = tr("Launch delay")
    if delay is None:
        return [Fact(title, tr("none: it started before the call returned"))]
    return [Fact(title, format_duration(delay), note=tr("after the call returned"))]


def _where(capture: Capture, row: int) -> tuple[Fact, ...]:
    track = capture.tracks[capture.track_of_row(row)]
    facts: list[Fact] = []
    if track.rank is not None:
        facts.append(Fact(tr("Rank"), str(track.rank)))
    if track.device is not None:
        names = [device.name for device in capture.devices if device.index == track.device]
        facts.append(Fact(tr("Device"), f"{track.device}" + (f"  {names[0]}" if names and names[0] else "")))
    if track.context is not None:
        facts.append(Fact(tr("Context"), str(track.context)))
    if track.stream is not None:
        facts.append(Fact(tr("Stream"), str(track.stream)))
    if track.process is not None:
        process = capture.processes[track.process]
        facts.append(
            Fact(
                tr("Process"),
                f"{process.name}  [{process.pid}]".strip() if process.pid >= 0 else process.name,
            )
        )
    if track.thread is not None:
        thread = capture.threads[track.thread]
        facts.append(
            Fact(tr("Thread"), f"{thread.name}  {thread.tid}".strip() if thread.tid >= 0 else thread.name)
        )
    return tuple(facts)


def _event_fact(capture: Capture, title: str, row: int, note: str = "") -> Fact:
    name = capture.strings[int(capture.events.name[row])]
    duration = format_duration(int(capture.events.duration[row]))
    return Fact(title, f"{name}   {duration}", row=row, note=note)


def _track(capture: Capture, row: int) -> Fact:
    track = capture.tracks[capture.track_of_row(row)]
    return Fact(tr("Track"), track.uri, note=translated(track.title))


def _links(capture: Capture, row: int) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    start, stop = capture.event_span(row)
    for is_incoming, (rows, codes) in ((True, capture.links_to(row)), (False, capture.links_from(row))):
        for other, code in list(zip(rows.tolist(), codes.tolist(), strict=True))[:LINKS_SHOWN]:
            link = capture.links.kind_name(code)
            titles = LINK_TITLES.get(link, (f"{link} ←", f"{link} →"))
            title = translated(titles[0 if is_incoming else 1])
            if other == NO_ROW:
                facts.append(Fact(title, tr("outside this capture")))
                continue
            other_start, other_stop = capture.event_span(other)
            before, after = (other_stop, start) if is_incoming else (stop, other_start)
            note = ""
            if after < before:
                note = tr("before the call returned") if link == links.LAUNCH else ""
            elif is_incoming:
                note = tr("{delay} after its end", delay=format_duration(after - before))
            else:
                note = tr("{delay} after the end", delay=format_duration(after - before))
            facts.append(_event_fact(capture, title, other, note))
        if len(rows) > LINKS_SHOWN:
            facts.append(Fact("", tr_n("and {count:,} more", "and {count:,} more", len(rows) - LINKS_SHOWN)))
    return tuple(facts)


def _context(capture: Capture, row: int) -> tuple[Fact, ...]:
    """The operator and phase of an event or its launch."""
    context = EventContext(capture)
    if context.launch(row) is None:
        return ()
    found = ((tr("Operator"), context.operator(row)), (tr("Phase"), context.phase(row)))
    return tuple(_event_fact(capture, title, other) for title, other in found if other is not None)


def _python(capture: Capture, row: int) -> tuple[Section, ...]:
    """The modules and Python calls around an event or its launch."""
    context = EventContext(capture)
    inner = context.python(row)
    calls: list[Fact] = []
    modules: list[Fact] = []
    while inner is not None and len(calls) + len(modules) < PARENTS_SHOWN:
        name = capture.strings[int(capture.events.name[inner])]
        if name.startswith(IN_TRACES):
            length = format_duration(int(capture.events.duration[inner]))
            modules.append(Fact("", f"{name.removeprefix(IN_TRACES)}   {length}", row=inner))
        elif capture.kind_of_code.get(int(capture.events.kind[inner])) == "python":
            calls.append(_event_fact(capture, "", inner))
        inner = capture.parent_of_row(inner)
    return Section(tr("Modules"), tuple(modules)), Section(tr("Python"), tuple(calls))


def _parents(capture: Capture, row: int) -> tuple[Fact, ...]:
    facts: list[Fact] = []
    parent = capture.parent_of_row(row)
    duration = int(capture.events.duration[row])
    while parent is not None and len(facts) < PARENTS_SHOWN:
        whole = int(capture.events.duration[parent])
        share = tr("{share} of it", share=f"{100 * duration / whole:.3g} %") if whole else ""
        facts.append(_event_fact(capture, "", parent, share))
        parent = capture.parent_of_row(parent)
    return tuple(facts)


def _children(capture: Capture, row: int) -> tuple[Section, ...]:
    nested = capture.nested_rows(row)
    if not len(nested):
        return ()
    lane = capture.lane_of_row(row)
    direct = nested[capture.lanes_of_rows(nested) == lane + 1]
    duration = int(capture.events.duration[row])
    inside = int(capture.events.duration[direct].sum())
    facts = [Fact(tr("Own time"), format_duration(duration - inside, 6))] if inside <= duration else []
    by_length = direct[np.argsort(-capture.events.duration[direct], kind="stable")][:CHILDREN_SHOWN]
    for child in by_length.tolist():
        length = int(capture.events.duration[child])
        share = f"{100 * length / duration:.3g} %" if duration else ""
        facts.append(_event_fact(capture, "", child, share))
    if len(direct) > CHILDREN_SHOWN:
        facts.append(Fact("", tr_n("and {count:,} more", "and {count:,} more", len(direct) - CHILDREN_SHOWN)))
    title = tr_n("Contains {count:,} event", "Contains {count:,} events", len(nested))
    return (Section(title, tuple(facts)),)


def _stack(capture: Capture, attributes: dict[str, Any]) -> tuple[Fact, ...]:
    stack = attributes.get("stack")
    if stack is None:
        return ()
    return tuple(frame_fact("", text) for text in capture.stack_frames(int(stack))[:STACK_SHOWN])
