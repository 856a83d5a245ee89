"""Notes that people write on a capture: a text at a moment, a range, an event or a row."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from uuid import uuid4

NOTE_COLORS = ("", "red", "yellow", "green", "blue", "violet")
"""Colours of a note; empty for the text colour."""


@dataclass(frozen=True, kw_only=True)
class Note:
    """A note; a mark is a note without text.

    Times are capture time in ns. ``start_ns`` alone is a moment; with ``stop_ns``, a range; without times, the note is
    on a whole row. ``row`` is the key of its row, empty for the whole timeline. ``event`` is the name of its event,
    which starts at ``start_ns`` in ``row``. ``changed_ns`` is the UTC time of the last change.
    """

    id: str = field(default_factory=lambda: uuid4().hex[:12])
    start_ns: int | None = None
    stop_ns: int | None = None
    row: str = ""
    event: str = ""
    text: str = ""
    color: str = ""
    changed_ns: int = field(default_factory=time.time_ns)

    @property
    def is_mark(self) -> bool:
        """Whether it is a moment on the ruler, on no row and no event."""
        return self.start_ns is not None and self.stop_ns is None and not self.row

    def overlaps(self, start_ns: int, stop_ns: int) -> bool:
        """Whether the note belongs to a range of the capture; notes on whole rows always do."""
        if self.start_ns is None:
            return True
        end = self.start_ns if self.stop_ns is None else self.stop_ns
        return self.start_ns < stop_ns and end >= start_ns
