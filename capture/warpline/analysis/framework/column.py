"""What a column of a report says: its role, its unit, what a ratio is of, whether it is worth a bar, whether rows are
known by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What the values of a column are. It decides their unit, how they read and where tables show them."""

    NAME = "name"
    """Text: what the row is called."""
    TEXT = "text"
    """Any other text: a style, a thread, a call."""
    CODE = "code"
    """Text that says to a program what the name says to a person; tables leave it out."""
    REASON = "reason"
    """Text: why another value of the row is missing."""
    ORDINAL = "ordinal"
    """A number people call the row by: a step's."""
    ID = "id"
    """A number that tells things apart and is no quantity: a process, a stream, a correlation."""
    FLAG = "flag"
    """True or false."""
    COUNT = "count"
    """How many."""
    NUMBER = "number"
    """A quantity without a unit that is no count: an average of counts, a level, registers."""
    TIME = "time"
    """Integer nanoseconds since the capture began."""
    DURATION = "duration"
    """Nanoseconds: integers, except averages, medians and deviations."""
    SIZE = "size"
    """Bytes: integers, except averages, medians and deviations."""
    SHARE = "share"
    """0–1: the part of one whole that is the row's; rows of the top level add up to at most 1."""
    RATIO = "ratio"
    """0–1, or more: any other quotient."""
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

    ``name`` is the key in JSON and CSV and never translated, ``title`` is what a person reads. ``of`` says what a share
    or ratio is of. ``heat``: how large it is in a row is worth a bar. ``key``: a row is known by it, together with the
    other key columns and, in a tree, with those of the rows above. ``lead``: tables show it right after the name, the
    smallest first; 0 leaves it where the report has it. ``ours``: its texts are ours and no names of the program
    (titles of tracks, causes), so they are translated where they are shown. ``is_place``: its texts are frames of
    stacks, which a click shows in their files.
    """

    name: str
    title: str
    role: Role
    of: str = ""
    heat: bool = False
    key: bool = False
    lead: int = 0
    ours: bool = False
    is_place: bool = False

    @property
    def unit(self) -> str:
        """``ns``, ``bytes``, ``ratio``, ``per_second``, ``bytes_per_second`` or empty, by the role."""
        return _UNITS.get(self.role, "")
