"""A capture that grows part by part, at a cost that does not depend on how long the recording is."""

from __future__ import annotations

from dataclasses import replace

from warpline.storage.live.joined import JoinedCapture
from warpline.storage.live.pieces import LivePart, PartEvents
from warpline.storage.live.tables import SharedTables
from warpline.storage.read.capture import Capture

MOST_EVENTS = 1_500_000
"""Of how many events the latest parts are kept, about: joining them anew takes some 50 ms."""
_MOST_OF_A_PART = MOST_EVENTS // 8
_UNSETTLED = 2
"""The latest parts stay as they are: the next one decides where the last ends."""


class GrowingCapture:
    """Takes the parts of a running recording in turn, each with what arrived since the one before.

    Older parts are merged for good, to keep their number small; the oldest are dropped when there are too many events.
    """

    def __init__(self, most_events: int = MOST_EVENTS) -> None:
        self._tables = SharedTables()
        self._parts: list[LivePart] = []
        self._most_events = most_events

    def add(self, capture: Capture, base_ns: int, head_ns: int) -> JoinedCapture:
        """The capture of all parts with one more, which covers ``base_ns`` to ``head_ns`` since the recording's start.

        This part replaces what earlier parts have from ``base_ns`` on. Nobody may close the part:
        captures that were returned still read from it. It goes with the last of them.
        """
        while self._parts and self._parts[-1].base_ns >= base_ns:
            self._parts.pop()
        if self._parts:
            self._parts[-1] = replace(self._parts[-1], stop_ns=base_ns)
        self._parts.append(self._part(capture, base_ns, head_ns, _NEVER, base_ns))
        self._join_older()
        self._forget()
        return JoinedCapture(self._parts, self._tables)

    def _part(self, capture: Capture, base_ns: int, head_ns: int, stop_ns: int, zero_ns: int) -> LivePart:
        places = self._tables.add(capture, zero_ns)
        return LivePart(places, PartEvents.of(places, zero_ns), base_ns, head_ns, stop_ns, zero_ns)

    def _join_older(self) -> None:
        parts = self._parts
        place = len(parts) - _UNSETTLED - 2
        while place >= 0:
            first, second = parts[place], parts[place + 1]
            together = first.count + second.count
            if together > max(_MOST_OF_A_PART, 1) or first.count > 2 * second.count:
                place -= 1
                continue
            joined = JoinedCapture((first, second), self._tables, is_drawn=False)
            joined.make_all()
            parts[place : place + 2] = [self._part(joined, first.base_ns, second.head_ns, second.stop_ns, 0)]
            place -= 1

    def _forget(self) -> None:
        while (
            len(self._parts) > _UNSETTLED + 1
            and sum(part.count for part in self._parts[1:]) >= self._most_events
        ):
            self._parts.pop(0)


_NEVER = 1 << 62
