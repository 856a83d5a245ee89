"""Why a thread was blocked, with links to the lock holder, to what ended the wait, and to the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.analysis.structure.thread_states import states_of_event
from warpline.analysis.structure.wait_story import Someone, is_blocked, wait_story, why_unknown
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline.model.waits import WAIT_KINDS
from warpline_app.panels.facts.fact import Fact
from warpline_app.timeline.model.wait_text import RANGES, repeat_text

if TYPE_CHECKING:
    from warpline.storage import Capture


def wait_facts(capture: Capture, row: int) -> tuple[Fact, ...]:
    """Facts about the wait in a row, or which source would explain it; empty for other events."""
    story = wait_story(capture, row)
    if story is None:
        if not is_blocked(capture, row):
            return ()
        why = why_unknown(capture)
        return (
            Fact(tr("Unknown"), translated(why.reason)),
            Fact(tr("To find out"), translated(why.remedy)),
        )
    kind = translated(WAIT_KINDS.get(story.kind, str(story.kind)))
    facts = [Fact(tr("Waited for"), translated(story.what) or kind)]
    if story.place is not None:
        where = tr("{line} in {function}", "timeline", line=story.place.place, function=story.place.function)
        facts.append(Fact(tr("At line"), where, frame=story.place if story.place.file else None))
    for title, other in ((tr("Held by"), story.holder), (tr("Ended by"), story.ended_by)):
        if other is not None:
            facts.append(_thread_fact(capture, title, other))
            if other.place is not None and other.place.file:
                facts.append(Fact(tr("at line"), other.place.place, frame=other.place))
            elif other.place is not None:
                facts.append(Fact(tr("in function"), other.place.place))
            elif other is story.holder and _is_native(story.ended_by):
                facts.append(
                    Fact(
                        tr("in function"),
                        tr("unknown: for native code, only the place of the release is recorded"),
                    )
                )
    if story.call is not None and story.call != row:
        name = capture.strings[int(capture.events.name[story.call])]
        length = format_duration(int(capture.events.duration[story.call]))
        facts.append(Fact(tr("During the call"), f"{name}   {length}", row=story.call))
    facts.append(Fact(tr("On this thread"), repeat_text(story.on_thread)))
    if story.in_capture is not None:
        facts.append(Fact(tr("In the capture"), repeat_text(story.in_capture)))
    return tuple(facts)


def _is_native(other: Someone | None) -> bool:
    """Whether a native function is known but no source line."""
    return other is not None and other.place is not None and not other.place.file


def _thread_fact(capture: Capture, title: str, other: Someone) -> Fact:
    name = f"{other.name} ({other.tid})" if other.name else str(other.tid)
    if other.row is None:
        return Fact(title, name)
    kind = capture.kind_of_code.get(int(capture.events.kind[other.row]), "")
    doing = capture.strings[int(capture.events.name[other.row])]
    note = tr("in {range}", range=doing) if kind not in {"release", "thread_state"} else ""
    return Fact(title, name, row=other.row, note=note)


def state_facts(capture: Capture, row: int) -> tuple[Fact, ...]:
    """Thread states during a range, a phase or an operator; empty for other events."""
    kind = capture.kind_of_code.get(int(capture.events.kind[row]), "")
    parts = states_of_event(capture, row) if kind in RANGES else None
    if parts is None:
        return ()
    whole = max(int(capture.events.duration[row]), 1)
    return tuple(
        Fact(translated(title), format_duration(time), note=f"{time / whole:.1%}") for title, time in parts
    )
