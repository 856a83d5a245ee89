"""Clock shifts of ranks: applied to a capture, undone and redone, and saved in the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from warpline.i18n import translated

if TYPE_CHECKING:
    from warpline.model import Clock
    from warpline.storage import Capture
    from warpline_app.remembered.settings import Settings

_RECORD = "alignments"
FURTHEST_NS = 1 << 60
"""Limit of a shift; keeps times far from the ends of 64 bits."""


@dataclass(frozen=True)
class MovableClock:
    """A clock used by tracks: its index, its title, and its values in the file."""

    index: int
    title: str
    recorded: Clock


@dataclass
class ClockShifts:
    """How far each clock of a capture is shifted, in ns later than in the file, by the clock's index."""

    shifts: dict[int, int] = field(default_factory=dict)
    done: list[dict[int, int]] = field(default_factory=list)
    undone: list[dict[int, int]] = field(default_factory=list)

    def changed(self, shifts: Mapping[int, int]) -> ClockShifts:
        """The state after a change, which can be undone."""
        return ClockShifts(_nonzero(shifts), [*self.done, self.shifts], [])

    def before(self) -> ClockShifts:
        """The state after undo. Raises IndexError when there is nothing to undo."""
        return ClockShifts(self.done[-1], self.done[:-1], [*self.undone, self.shifts])

    def after(self) -> ClockShifts:
        """The state after redo. Raises IndexError when there is nothing to redo."""
        return ClockShifts(self.undone[-1], [*self.done, self.shifts], self.undone[:-1])


def _nonzero(shifts: Mapping[int, int]) -> dict[int, int]:
    return {clock: shift for clock, shift in shifts.items() if shift}


def movable_clocks(capture: Capture) -> list[MovableClock]:
    """Clocks that can be shifted against each other; none when all tracks share one clock."""
    titles = {track.clock: translated(track.title) for track in capture.tracks if track.role == "rank"}
    used = sorted({track.clock for track in capture.tracks})
    if len(used) < 2:
        return []
    return [
        MovableClock(clock, titles.get(clock) or capture.clocks[clock].name, capture.recorded_clocks[clock])
        for clock in used
    ]


def with_shifts(capture: Capture, shifts: Mapping[int, int]) -> Capture:
    """The capture with these clocks shifted and all others as in its file."""
    return capture.with_clock_offsets(
        {clock: capture.recorded_clocks[clock].offset_ns - shift for clock, shift in _nonzero(shifts).items()}
    )


def load_shifts(capture: Capture, settings: Settings) -> ClockShifts:
    """The saved shifts of this capture; values in the settings that do not fit are ignored."""
    clocks = {clock.recorded.name: clock.index for clock in movable_clocks(capture)}
    saved = settings.record_of(f"{_RECORD}/{capture.uuid}")
    return ClockShifts(
        {
            clocks[name]: shift
            for name, shift in saved.items()
            if name in clocks and isinstance(shift, int) and 0 < abs(shift) <= FURTHEST_NS
        }
    )


def save_shifts(capture: Capture, shifts: Mapping[int, int], settings: Settings) -> None:
    """Save the shifts for the next time this capture is opened."""
    settings.set_record(
        f"{_RECORD}/{capture.uuid}", {capture.clocks[clock].name: shift for clock, shift in shifts.items()}
    )
