"""Labels of blocked thread states: what the thread waits for, and on which line."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from warpline.i18n import translated
from warpline.model.frames import parse_frame, telling_frame
from warpline.model.waits import WAIT_KINDS

if TYPE_CHECKING:
    from warpline.storage import Capture

LONGEST_CAUSE = 40
_REMEMBERED = 8_192


def is_cause(reason: str) -> bool:
    """Whether a reason distinguishes this state: a word or two, not a sentence about all states."""
    return bool(reason) and ";" not in reason and len(reason) <= LONGEST_CAUSE


class StateCauses:
    """Labels of thread states that have a cause. Equal waits share a label."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        table = capture.kinds.get("thread_state")
        names = ("wait", "place", "stack", "reason")
        self._columns = {
            name: table.column(name) for name in names if table is not None and name in table.attributes
        }
        self._table = table
        self.code = table.code if table is not None and self._columns else -1
        """The kind whose events have causes; −1 for none."""
        self._cached_label = lru_cache(_REMEMBERED)(partial(_label, capture))

    def text(self, row: int) -> str:
        """``lock · worker.py:42``, or the state with a short reason; empty when neither is known."""
        index = -1 if self._table is None else self._table.place_of(row)
        if index < 0:
            return ""
        wait, place, stack, reason = (
            self._value(name, index) for name in ("wait", "place", "stack", "reason")
        )
        return self._cached_label(int(self._capture.events.name[row]), wait, place, stack, reason)

    def _value(self, name: str, index: int) -> int | None:
        values, valid = self._columns.get(name, (None, None))
        return int(values[index]) if values is not None and valid is not None and valid[index] else None


def _label(
    capture: Capture, name: int, wait: int | None, place: int | None, stack: int | None, reason: int | None
) -> str:
    reason_text = capture.strings[reason] if reason is not None else ""
    if not wait:
        return (
            f"{translated(capture.strings[name])} · {translated(reason_text)}"
            if is_cause(reason_text)
            else ""
        )
    frame = telling_frame(capture.stack_frames(stack)) if stack is not None else None
    if frame is None and place is not None:
        frame = parse_frame(capture.strings[place])
    kind = translated(WAIT_KINDS.get(wait, str(wait)))
    if frame is not None:
        return f"{kind} · {frame.place}"
    return translated(reason_text) if is_cause(reason_text) else kind
