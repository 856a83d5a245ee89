"""A row of the tree. No window, no pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from warpline_app.timeline.model.name_rows import NameGroup

if TYPE_CHECKING:
    from warpline.storage.columns.counters import Counter


class Content(StrEnum):
    """What a row draws."""

    LANES = "lanes"
    """the events of ``TimelineRow.lanes``, one line per lane"""
    CURVE = "curve"
    """the utilization of ``TimelineRow.lanes``"""
    COUNTER = "counter"
    """a value over time"""
    SUBSET = "subset"
    """some events of a track: of one kernel name, or the copies in one direction"""
    MORE = "more"
    """nothing: a click expands the rows left out"""


@dataclass(eq=False, kw_only=True)
class TimelineRow:
    """A row of the tree. ``key`` is its track's URI, or the URI, ``#`` and the part shown.

    ``title`` is in the user's language. ``is_utilization`` marks a counter of utilization. ``cores`` is the number of
    cores in a row of cores, idle ones included. ``streams`` are the tracks a row is made from.
    ``more_groups`` are further lines of a row of ``group``; ``series`` are values that are no counter of the capture.
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
    more_groups: tuple[NameGroup, ...] = ()
    series: Counter | None = None

    @property
    def has_children(self) -> bool:
        """Whether it can be expanded (or its lanes collapsed to the first)."""
        return bool(self.children) or self.make_children is not None

    @property
    def is_foldable(self) -> bool:
        """Whether expanding or collapsing changes anything."""
        return self.has_children or (self.content is Content.LANES and len(self.lanes) > 1)

    def ancestors(self) -> Iterator[TimelineRow]:
        """Its ancestors, nearest first, without the root."""
        row = self.parent
        while row is not None and row.key:
            yield row
            row = row.parent

    def walk(self) -> Iterator[TimelineRow]:
        """This row and all descendants made so far."""
        yield self
        for child in self.children:
            yield from child.walk()
