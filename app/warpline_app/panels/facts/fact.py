"""One fact about an event, with an optional link."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from warpline.model.frames import StackFrame, parse_frame


@dataclass(frozen=True)
class Fact:
    """A titled value. It links to the event ``row``, the source location ``frame`` or the timeline row ``track``;
    ``note`` follows the value.
    """

    title: str
    value: str
    _: KW_ONLY
    row: int | None = None
    note: str = ""
    frame: StackFrame | None = None
    track: int | None = None

    @property
    def is_link(self) -> bool:
        """Whether the line is a link."""
        return any(target is not None for target in (self.row, self.frame, self.track))


def frame_fact(title: str, text: str) -> Fact:
    """A stack frame, linked to its source line if known."""
    frame = parse_frame(text)
    return Fact(title, text, frame=frame if frame.file else None)
