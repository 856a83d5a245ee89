"""What a row of the tree is. No window, no pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from warpline_app.timeline.model.name_rows import NameGroup


class Content(StrEnum):
    """What is drawn in a row."""

    LANES = "lanes"
    """the events of ``TimelineRow.lanes``, one line per lane"""
    CURVE = "curve"
    """how busy ``TimelineRow.lanes`` are"""
    COUNTER = "counter"
    """a value over time"""
    SUBSET = "subset"
    """some events of a track: those of one kernel name, the copies of one direction"""
    MORE = "more"
    """nothing: a click unfolds what was left out"""


@dataclass(eq=False)
class TimelineRow:
    """One row of the tree. ``key`` is the URI of its track, or that with ``#`` and what was singled out of it.

    ``title`` is in the user's language. ``is_utilization``: a counter of how busy something is. ``cores``: how many a
    row of cores stands for, those where nothing of the program ran among them. ``streams``: tracks it is made from.
    """

    key: str
    title: str
    content: Content
    role: str = "other"
    family: str = "neutral"
    track: int = -1
    lanes: tuple[int, ...] = ()
    counter: int = -1
    group: NameGroup | None = None
    is_group: bool = False
    is_open: bool = True
    parent: TimelineRow | None = None
    children: list[TimelineRow] = field(default_factory=list)
    make_children: Callable[[], list[TimelineRow]] | None = None
    count: int = 0
    is_utilization: bool = False
    cores: int = 0
    streams: tuple[int, ...] = ()

    @property
    def has_children(self) -> bool:
        """Whether it can be opened (or its lanes folded to the first)."""
        return bool(self.children) or self.make_children is not None

    @property
    def is_foldable(self) -> bool:
        """Whether opening and closing changes anything."""
        return self.has_children or (self.content is Content.LANES and len(self.lanes) > 1)

    def ancestors(self) -> Iterator[TimelineRow]:
        """What is above, nearest first, without the root."""
        row = self.parent
        while row is not None and row.key:
            yield row
            row = row.parent

    def walk(self) -> Iterator[TimelineRow]:
        """This row and everything below that has been made so far."""
        yield self
        for child in self.children:
            yield from child.walk()
