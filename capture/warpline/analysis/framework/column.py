"""Describes a column of a report: role, unit, what a ratio is a share of, how tables show it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum


class Role(StrEnum):
    """What the values of a column are; determines their unit, format and position in tables."""

    NAME = "name"
    """Text: the name of the row."""
    TEXT = "text"
    """Any other text: a style, a thread, a call."""
    CODE = "code"
    """Text that identifies the row for programs; tables hide it."""
    REASON = "reason"
    """Text: why another value of the row is missing."""
    ORDINAL = "ordinal"
    """A number that people use as a name, such as a step's."""
    ID = "id"
    """A number that identifies something: a process, a stream, a correlation."""
    FLAG = "flag"
    """True or false."""
    COUNT = "count"
    """A count."""
    NUMBER = "number"
    """Another number without a unit: an average of counts, a level, registers."""
    TIME = "time"
    """Integer nanoseconds since the capture began."""
    DURATION = "duration"
    """Nanoseconds: integers, except averages, medians and deviations."""
    SIZE = "size"
    """Bytes: integers, except averages, medians and deviations."""
    SHARE = "share"
    """0–1: the row's part of a whole; rows of the top level add up to at most 1."""
    RATIO = "ratio"
    """Any other quotient, 0–1 or more."""
    RATE = "rate"
    """Per second."""
    THROUGHPUT = "throughput"
    """Bytes per second."""


_UNITS = {
    Role.TIME: "ns",
    Role.DURATION: "ns",
    Role.SIZE: "bytes",
    Role.SHARE: "ratio",
    Role.RATIO: "ratio",
    Role.RATE: "per_second",
    Role.THROUGHPUT: "bytes_per_second",
}


@dataclass(frozen=True)
class Column:
    """One column of a table.

    ``name`` is the key in JSON and CSV, never translated; ``title`` is shown to people. ``of`` is the whole that a
    share or ratio refers to. ``heat``: cells have a bar. ``key``: the column identifies a row, together with the other
    key columns and, in a tree, those of the rows above. ``lead``: tables show the column right after the name, in
    ascending order; 0 keeps its position. ``ours``: texts are Warpline's (titles of tracks, causes), so tables
    translate them. ``is_place``: texts are stack frames; a click opens the source line.
    """

    name: str
    title: str
    role: Role
    _: KW_ONLY
    of: str = ""
    heat: bool = False
    key: bool = False
    lead: int = 0
    ours: bool = False
    is_place: bool = False

    @property
    def unit(self) -> str:
        """``ns``, ``bytes``, ``ratio``, ``per_second``, ``bytes_per_second`` or empty."""
        return _UNITS.get(self.role, "")
