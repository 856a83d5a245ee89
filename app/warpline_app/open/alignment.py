"""Ranks moved against each other: by how much, the way back, and the same capture shown with other clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpline.frozen import frozen
from warpline.i18n import translated

if TYPE_CHECKING:
    from warpline.model import Clock
    from warpline.storage import Capture
    from warpline_app.remembered.settings import Settings

_RECORD = "alignments"
FURTHEST_NS = 1 << 60
"""Farther than this nobody moves a rank; times stay far from the ends of 64 bits."""


@frozen
class MovableClock:
    """A clock that has tracks: its index, what a person calls it, and how the file puts it."""

    index: int
    title: str
    recorded: Clock


@dataclass
class ClockShifts:
    """How far each clock of a capture is moved, in ns later than in the file, by the clock's index."""

    shifts: dict[int, int] = field(default_factory=dict)
    done: list[dict[int, int]] = field(default_factory=list)
    undone: list[dict[int, int]] = field(default_factory=list)

    def changed(self, shifts: Mapping[int, int]) -> ClockShifts:
        """After moving clocks; what holds now can be had back."""
        return ClockShifts(_moved(shifts), [*self.done, self.shifts], [])

    def before(self) -> ClockShifts:
        """After taking back the last change. Raises IndexError when there is none."""
        return ClockShifts(self.done[-1], self.done[:-1], [*self.undone, self.shifts])

    def after(self) -> ClockShifts:
        """After doing again what was taken back. Raises IndexError when there is none."""
        return ClockShifts(self.undone[-1], [*self.done, self.shifts], self.undone[:-1])


def _moved(shifts: Mapping[int, int]) -> dict[int, int]:
    return {clock: shift for clock, shift in shifts.items() if shift}


def movable_clocks(capture: Capture) -> list[MovableClock]:
    """Clocks that can be moved against each other; none when all tracks have the same one."""
    titles = {track.clock: translated(track.title) for track in capture.tracks if track.role == "rank"}
    used = sorted({track.clock for track in capture.tracks})
    if len(used) < 2:
        return []
    return [
        MovableClock(clock, titles.get(clock) or capture.clocks[clock].name, capture.recorded_clocks[clock])
        for clock in used
    ]


def moved(capture: Capture, shifts: Mapping[int, int]) -> Capture:
    """The capture with these clocks moved and all others as in its file."""
    return capture.with_clock_offsets(
        {clock: capture.recorded_clocks[clock].offset_ns - shift for clock, shift in _moved(shifts).items()}
    )


def remembered(capture: Capture, settings: Settings) -> ClockShifts:
    """How this capture was moved when it was last open; what does not fit in the user's settings is left out."""
    clocks = {clock.recorded.name: clock.index for clock in movable_clocks(capture)}
    found = settings.record_of(f"{_RECORD}/{capture.uuid}")
    return ClockShifts(
        {
            clocks[name]: shift
            for name, shift in found.items()
            if name in clocks and isinstance(shift, int) and 0 < abs(shift) <= FURTHEST_NS
        }
    )


def remember(capture: Capture, shifts: Mapping[int, int], settings: Settings) -> None:
    """Have the capture moved like this when it is opened again."""
    settings.set_record(
        f"{_RECORD}/{capture.uuid}", {capture.clocks[clock].name: shift for clock, shift in shifts.items()}
    )
