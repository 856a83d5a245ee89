"""Formats of the kernel's tracepoints: which bytes of a raw event hold which field.

The texts are those of ``/sys/kernel/tracing/events/*/*/format``; perf.data and trace.dat hold copies of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_NAME = re.compile(r"^name:\s*(\S+)", re.MULTILINE)
_ID = re.compile(r"^ID:\s*(\d{1,9})", re.MULTILINE)
_FIELD = re.compile(r"field:([^;]*);\s*offset:(\d{1,6});\s*size:(\d{1,6});(?:\s*signed:(\d);)?")
_STATE = re.compile(r'\{\s*(?:64|0x0*40),\s*"(\w)"\s*\}')

Order = Literal["little", "big"]


@dataclass(frozen=True)
class EventField:
    """A field; ``is_text``: an array of char; ``is_placed``: the field holds the position of the text."""

    name: str
    offset: int
    size: int
    is_signed: bool
    is_text: bool
    is_placed: bool


@dataclass(frozen=True)
class EventFormat:
    """A tracepoint."""

    number: int
    name: str
    fields: Mapping[str, EventField]
    has_old_states: bool | None = None
    """Of ``sched_switch``: whether its states are those of Linux before 4.14; None if the text does not print them."""

    def values(self, raw: bytes, order: Order) -> dict[str, int | str]:
        """The fields of a raw event except the common ones; a field beyond the event's end is left out."""
        found: dict[str, int | str] = {}
        for field in self.fields.values():
            if not field.name.startswith("common_") and field.offset + field.size <= len(raw):
                found[field.name] = _value(field, raw, order)
        return found

    def number_of(self, raw: bytes, name: str, order: Order) -> int:
        """A number of a raw event; 0 where the field is missing."""
        field = self.fields.get(name)
        if field is None or field.offset + field.size > len(raw):
            return 0
        return int.from_bytes(raw[field.offset : field.offset + field.size], order, signed=field.is_signed)


def _value(field: EventField, raw: bytes, order: Order) -> int | str:
    part = raw[field.offset : field.offset + field.size]
    if field.is_placed:
        place = int.from_bytes(part, order)
        part = raw[place & 0xFFFF : (place & 0xFFFF) + (place >> 16 & 0xFFFF)]
    if field.is_text or field.is_placed:
        return part.split(b"\x00", 1)[0].decode("utf-8", "replace")
    return int.from_bytes(part, order, signed=field.is_signed) if field.size <= 8 else part.hex()


def parse_format(text: str) -> EventFormat | None:
    """The format that a text describes; None for another text."""
    name, number = _NAME.search(text), _ID.search(text)
    if name is None or number is None:
        return None
    fields = {}
    for declaration, offset, size, signed in _FIELD.findall(text[:65536]):
        words = declaration.strip()
        is_array = words.endswith("]")
        label = words.partition("[")[0].split() if is_array else words.split()
        if not label:
            continue
        is_placed = "__data_loc" in words
        own_name = (words.rsplit(None, 1)[-1] if is_placed else label[-1]).partition("[")[0]
        is_text = is_array and re.search(r"\bchar\b", words) is not None
        fields[own_name] = EventField(own_name, int(offset), int(size), signed == "1", is_text, is_placed)
    # Bit 64 is a parked thread since 4.14, and was a dead one before.
    state = _STATE.search(text) if name[1] == "sched_switch" else None
    return EventFormat(int(number[1]), name[1], fields, None if state is None else state[1] != "P")


def printed(values: Mapping[str, int | str]) -> str:
    """The fields as text, ``pid=71 comm=app``."""
    return " ".join(f"{name}={value}" for name, value in values.items())


class FormatReader:
    """Reads the part of perf.data and trace.dat that holds the formats (``tracing`` files of versions 0.5 to 7).

    https://man7.org/linux/man-pages/man5/trace-cmd.dat.v6.5.html
    """

    MAGIC = b"\x17\x08\x44tracing"

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.position = 0
        self.order: Order = "little"
        self.long_bytes = 8
        self.page_bytes = 4096
        self.formats: dict[int, EventFormat] = {}
        self.names: dict[int, str] = {}

    def take(self, count: int) -> bytes:
        """The next bytes. Raises ValueError beyond the end."""
        part = self._content[self.position : self.position + count]
        if count < 0 or len(part) < count:
            raise ValueError("the file ends early")
        self.position += count
        return part

    def number(self, count: int) -> int:
        """A number of ``count`` bytes."""
        return int.from_bytes(self.take(count), self.order)

    def text(self) -> str:
        """A text up to its terminating zero."""
        stop = self._content.find(b"\x00", self.position)
        if stop < 0:
            raise ValueError("the file ends early")
        return self.take(stop + 1 - self.position)[:-1].decode("utf-8", "replace")

    def read_start(self) -> str:
        """Read the first part and return the version."""
        if self.take(len(self.MAGIC)) != self.MAGIC:
            raise ValueError("no tracing data")
        version = self.text()
        self.order = "big" if self.number(1) else "little"
        self.long_bytes = self.number(1)
        self.page_bytes = self.number(4)
        return version

    def read_header_pages(self) -> None:
        """Skip the layout of pages and of an event's first word, which have never changed."""
        for name in ("header_page", "header_event"):
            if self.text() != name:
                raise ValueError(f"{name} is missing")
            self.take(self.number(8))

    def read_formats(self) -> None:
        """Read the formats of the tracer's own events and of all systems."""
        self.read_own_formats()
        self.read_system_formats()

    def read_own_formats(self) -> None:
        """Read the formats of the tracer's own events."""
        for _ in range(self.number(4)):
            self._add(self.take(self.number(8)))

    def read_system_formats(self) -> None:
        """Read the formats of all systems."""
        for _ in range(self.number(4)):
            self.text()
            for _event in range(self.number(4)):
                self._add(self.take(self.number(8)))

    def _add(self, text: bytes) -> None:
        entry = parse_format(text.decode("utf-8", "replace"))
        if entry is not None:
            self.formats[entry.number] = entry
