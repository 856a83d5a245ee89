"""Tooltip lines about a wait: reason, source line, holder, who ended it, how often it occurred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr, tr_n, translated
from warpline.model import format_duration
from warpline.model.waits import WAIT_KINDS

if TYPE_CHECKING:
    from warpline.analysis.structure.wait_story import Occurrences, Someone, WaitStory
    from warpline.storage import Capture

RANGES = frozenset(("range", "phase", "operator"))
"""Kinds of events whose tooltip shows the states of their thread."""
STATES_TOLD = 4
COUNTED_AT_ONCE = 4_000_000
"""Number of events searched for equal waits while the pointer rests on one."""


def wait_lines(capture: Capture, row: int) -> list[str]:
    """Lines about a wait; for a blocked state without a reason, why there is none; else empty."""
    # The analysis is imported on first use.
    from warpline.analysis.structure.wait_story import is_blocked, wait_story, why_unknown

    story = wait_story(capture, row, counted_up_to=COUNTED_AT_ONCE)
    if story is None:
        if not is_blocked(capture, row):
            return []
        why = why_unknown(capture)
        return [
            tr("reason unknown: {reason}", "timeline", reason=translated(why.reason)),
            translated(why.remedy),
        ]
    lines = [reason_text(story)]
    if story.holder is not None:
        lines.append(tr("held by {thread}", "timeline", thread=thread_text(story.holder)))
    if story.ended_by is not None:
        lines.append(tr("ended by {thread}", "timeline", thread=thread_text(story.ended_by)))
    here = repeat_text(story.on_thread)
    if story.in_capture is None:
        lines.append(tr("this wait: {here} on this thread", "timeline", here=here))
    else:
        everywhere = repeat_text(story.in_capture)
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
    """The thread states during a range, phase or operator, in one line; empty for other events."""
    from warpline.analysis.structure.thread_states import states_of_event

    kind = capture.kind_of_code.get(int(capture.events.kind[row]), "")
    parts = states_of_event(capture, row) if kind in RANGES else None
    texts = [f"{translated(title)} {format_duration(time, 3)}" for title, time in (parts or ())[:STATES_TOLD]]
    return [" · ".join(texts)] if texts else []


def reason_text(story: WaitStory) -> str:
    """``lock · demo.py:56 in fight``."""
    kind = translated(WAIT_KINDS.get(story.kind, str(story.kind)))
    object_text = translated(story.what)
    # The holder of a lock has its own line.
    parts = [object_text if object_text and story.holder is None else kind]
    if story.place is not None:
        parts.append(
            tr("{line} in {function}", "timeline", line=story.place.place, function=story.place.function)
        )
    return " · ".join(parts)


def thread_text(someone: Someone) -> str:
    """``fighter-3 (25068) · demo.py:82``."""
    name = f"{someone.name} ({someone.tid})" if someone.name else str(someone.tid)
    return name if someone.place is None else f"{name} · {someone.place.place}"


def repeat_text(repeats: Occurrences) -> str:
    """``12 times, 141.9 ms``."""
    count = tr_n("{count:,} time", "{count:,} times", repeats.count, "timeline")
    return f"{count}, {format_duration(repeats.total_ns)}"
