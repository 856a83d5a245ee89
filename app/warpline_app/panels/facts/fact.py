"""One line of what is known of an event, and where it leads."""

from __future__ import annotations

from dataclasses import dataclass

from warpline.model.frames import StackFrame, parse_frame


@dataclass(frozen=True)
class Fact:
    """A line: what, and its value. ``row`` is the event the line leads to, ``frame`` the place in a file, ``track`` the
    row of the timeline; ``note`` is said after the value.
    """

    title: str
    value: str
    row: int | None = None
    note: str = ""
    frame: StackFrame | None = None
    track: int | None = None

    @property
    def leads(self) -> bool:
        """Whether a click on the line goes somewhere."""
        return any(target is not None for target in (self.row, self.frame, self.track))


def frame_fact(title: str, text: str) -> Fact:
    """The frame of a stack; it leads to its line where it names one."""
    frame = parse_frame(text)
    return Fact(title, text, frame=frame if frame.file else None)
