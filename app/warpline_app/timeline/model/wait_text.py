"""What a card beside the pointer says of a wait: what for, on which line, who held it, who ended it, how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr, tr_n, translated
from warpline.model import format_duration
from warpline.model.waits import WAIT_KINDS

if TYPE_CHECKING:
    from warpline.analysis.structure.wait_story import Again, Someone, WaitStory
    from warpline.storage import Capture

RANGES = frozenset(("range", "phase", "operator"))
"""Kinds of events that tell what threads did meanwhile."""
STATES_TOLD = 4
COUNTED_AT_ONCE = 4_000_000
"""Events among which equal waits are counted while the pointer rests on one."""


def wait_lines(capture: Capture, row: int) -> list[str]:
    """Lines about the wait in a row; for a blocked stretch without a reason why there is none; else nothing."""
    # The analysis is loaded when somebody asks for the first time.
    from warpline.analysis.structure.wait_story import is_blocked, wait_story, why_unknown

    story = wait_story(capture, row, counted_up_to=COUNTED_AT_ONCE)
    if story is None:
        if not is_blocked(capture, row):
            return []
        why = why_unknown(capture)
        return [
            tr("why is not known: {reason}", "timeline", reason=translated(why.reason)),
            translated(why.remedy),
        ]
    lines = [what_text(story)]
    if story.holder is not None:
        lines.append(tr("held by {thread}", "timeline", thread=someone_text(story.holder)))
    if story.ended_by is not None:
        lines.append(tr("ended by {thread}", "timeline", thread=someone_text(story.ended_by)))
    here = again_text(story.on_thread)
    if story.in_capture is None:
        lines.append(tr("this wait: {here} on this thread", "timeline", here=here))
    else:
        everywhere = again_text(story.in_capture)
        lines.append(
            tr(
                "this wait: {here} on this thread; {all} in the capture",
                "timeline",
                here=here,
                all=everywhere,
            )
        )
    return lines


def state_line(capture: Capture, row: int) -> list[str]:
    """What the thread of a range, a phase or an operator did meanwhile, in one line; nothing for other events."""
    from warpline.analysis.structure.thread_states import states_of_event

    kind = capture.kind_of_code.get(int(capture.events.kind[row]), "")
    parts = states_of_event(capture, row) if kind in RANGES else None
    told = [f"{translated(title)} {format_duration(time, 3)}" for title, time in (parts or ())[:STATES_TOLD]]
    return [" · ".join(told)] if told else []


def what_text(story: WaitStory) -> str:
    """``lock · demo.py:56 in fight``."""
    kind = translated(WAIT_KINDS.get(story.kind, str(story.kind)))
    said = translated(story.what)
    # Who held a lock has a line of its own.
    parts = [said if said and story.holder is None else kind]
    if story.place is not None:
        parts.append(
            tr("{line} in {function}", "timeline", line=story.place.place, function=story.place.function)
        )
    return " · ".join(parts)


def someone_text(someone: Someone) -> str:
    """``fighter-3 (25068) · demo.py:82``."""
    name = f"{someone.name} ({someone.tid})" if someone.name else str(someone.tid)
    return name if someone.place is None else f"{name} · {someone.place.place}"


def again_text(again: Again) -> str:
    """``12 times, 141.9 ms``."""
    count = tr_n("{count:,} time", "{count:,} times", again.count, "timeline")
    return f"{count}, {format_duration(again.total_ns)}"
