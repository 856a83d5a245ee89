"""Why a thread was blocked, as lines that lead on: to whoever held a lock, to whoever ended the wait, to the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.analysis.structure.thread_states import states_of_event
from warpline.analysis.structure.wait_story import Someone, is_blocked, wait_story, why_unknown
from warpline.i18n import tr, translated
from warpline.model.times import format_duration
from warpline.model.waits import WAIT_KINDS
from warpline_app.panels.facts.fact import Fact
from warpline_app.timeline.model.wait_text import RANGES, again_text

if TYPE_CHECKING:
    from warpline.storage import Capture


def wait_facts(capture: Capture, row: int) -> tuple[Fact, ...]:
    """What is known of the wait in a row, or why nothing is and which source would tell; nothing for other events."""
    story = wait_story(capture, row)
    if story is None:
        if not is_blocked(capture, row):
            return ()
        why = why_unknown(capture)
        return (
            Fact(tr("Not known"), translated(why.reason)),
            Fact(tr("What would tell"), translated(why.remedy)),
        )
    kind = translated(WAIT_KINDS.get(story.kind, str(story.kind)))
    facts = [Fact(tr("Waited for"), translated(story.what) or kind)]
    if story.place is not None:
        where = tr("{line} in {function}", "timeline", line=story.place.place, function=story.place.function)
        facts.append(Fact(tr("On line"), where, frame=story.place if story.place.file else None))
    for title, someone in ((tr("Held by"), story.holder), (tr("Ended by"), story.ended_by)):
        if someone is not None:
            facts.append(_someone(capture, title, someone))
            if someone.place is not None and someone.place.file:
                facts.append(Fact(tr("on line"), someone.place.place, frame=someone.place))
            elif someone.place is not None:
                facts.append(Fact(tr("in function"), someone.place.place))
            elif someone is story.holder and _is_native(story.ended_by):
                facts.append(
                    Fact(
                        tr("in function"),
                        tr("not known: native code tells where it gives back, not where it holds"),
                    )
                )
    if story.call is not None and story.call != row:
        name = capture.strings[int(capture.events.name[story.call])]
        length = format_duration(int(capture.events.duration[story.call]))
        facts.append(Fact(tr("In the call"), f"{name}   {length}", story.call))
    facts.append(Fact(tr("On this thread"), again_text(story.on_thread)))
    if story.in_capture is not None:
        facts.append(Fact(tr("In the capture"), again_text(story.in_capture)))
    return tuple(facts)


def _is_native(someone: Someone | None) -> bool:
    """Whether somebody is known by a function of a library or of the program, and not by a line."""
    return someone is not None and someone.place is not None and not someone.place.file


def _someone(capture: Capture, title: str, someone: Someone) -> Fact:
    name = f"{someone.name} ({someone.tid})" if someone.name else str(someone.tid)
    if someone.row is None:
        return Fact(title, name)
    kind = capture.kind_of_code.get(int(capture.events.kind[someone.row]), "")
    doing = capture.strings[int(capture.events.name[someone.row])]
    note = tr("in {range}", range=doing) if kind not in {"release", "thread_state"} else ""
    return Fact(title, name, someone.row, note)


def state_facts(capture: Capture, row: int) -> tuple[Fact, ...]:
    """What the thread of a range, a phase or an operator did meanwhile; nothing for other events."""
    kind = capture.kind_of_code.get(int(capture.events.kind[row]), "")
    parts = states_of_event(capture, row) if kind in RANGES else None
    if parts is None:
        return ()
    whole = max(int(capture.events.duration[row]), 1)
    return tuple(
        Fact(translated(title), format_duration(time), note=f"{time / whole:.1%}") for title, time in parts
    )
