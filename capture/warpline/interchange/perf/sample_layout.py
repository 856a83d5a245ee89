"""The fields of samples and of other records of perf.data, which differ between events."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from warpline.interchange.perf.data_file import (
    ADDRESS,
    CALLCHAIN,
    CPU,
    ID,
    IDENTIFIER,
    IP,
    PERIOD,
    RAW,
    READ,
    STREAM,
    TID,
    TIME,
    PerfEvent,
)

_MOST_FRAMES = 1024
_WITH_ID, _GROUP, _WITH_LOST = 4, 8, 16
"""Bits of ``read_format``."""
_MARKER = (1 << 64) - 4096
"""Values from here on are markers: they give the mode of the addresses that follow."""


class SampleFields(NamedTuple):
    """What is used of a sample; -1 where it was not recorded.

    ``counts`` are the ids and counts of the events of its group, empty for a sample of one event.
    """

    process: int
    thread: int
    time: int
    cpu: int
    period: int
    addresses: tuple[int, ...]
    raw: bytes
    counts: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class SampleLayout:
    """The layout of the samples of an event."""

    endian: str
    event: PerfEvent

    def sample(self, body: bytes) -> SampleFields:
        """The fields of a sample. Raises struct.error when it ends early."""
        kinds, at = self.event.sample_type, 0
        ip, process, thread, time, cpu, period = 0, -1, -1, -1, -1, 1

        def take(form: str) -> tuple[int, ...]:
            nonlocal at
            values = struct.unpack_from(self.endian + form, body, at)
            at += struct.calcsize(self.endian + form)
            return values

        if kinds & IDENTIFIER:
            at += 8
        if kinds & IP:
            (ip,) = take("Q")
        if kinds & TID:
            process, thread = take("2i")
        if kinds & TIME:
            (time,) = take("Q")
        at += 8 * ((kinds & ADDRESS != 0) + (kinds & ID != 0) + (kinds & STREAM != 0))
        if kinds & CPU:
            cpu, _reserved = take("2I")
        if kinds & PERIOD:
            (period,) = take("Q")
        counts: tuple[tuple[int, int], ...] = ()
        if kinds & READ:
            size = self._read_bytes(body, at)
            counts = self._counts(body, at, at + size)
            at += size
        addresses: tuple[int, ...] = (ip,) if ip else ()
        if kinds & CALLCHAIN:
            (count,) = take("Q")
            if count * 8 > len(body):
                raise struct.error("a chain of callers is longer than its record")
            chain = take(f"{count}Q")
            addresses = tuple(address for address in chain[:_MOST_FRAMES] if address < _MARKER) or addresses
        raw = b""
        if kinds & RAW:
            (size,) = take("I")
            raw = body[at : at + size]
        return SampleFields(process, thread, time, cpu, period, addresses, raw, counts)

    def _counts(self, body: bytes, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        form = self.event.read_format
        if not (form & _GROUP and form & _WITH_ID):
            return ()
        words = struct.unpack_from(f"{self.endian}{(stop - start) // 8}Q", body, start)
        first = 1 + (form & 1 != 0) + (form & 2 != 0)
        step = 2 + (form & _WITH_LOST != 0)
        return tuple(zip(words[first + 1 :: step], words[first::step], strict=False))

    def _read_bytes(self, body: bytes, at: int) -> int:
        form = self.event.read_format
        times = (form & 1 != 0) + (form & 2 != 0)
        per_value = 1 + (form & _WITH_ID != 0) + (form & _WITH_LOST != 0)
        if not form & _GROUP:
            return 8 * (times + per_value)
        count = int(struct.unpack_from(self.endian + "Q", body, at)[0])
        return 8 * (1 + times + min(count, 65536) * per_value)

    def trailer(self, body: bytes) -> SampleFields:
        """Thread, time and core at the end of another record."""
        kinds = self.event.sample_type
        sizes = [kinds & bit != 0 for bit in (TID, TIME, ID, STREAM, CPU, IDENTIFIER)]
        at = len(body) - 8 * sum(sizes)
        if not self.event.has_ids or at < 0:
            return SampleFields(-1, -1, -1, -1, 1, (), b"")
        process, thread, time, cpu = -1, -1, -1, -1
        if sizes[0]:
            process, thread = struct.unpack_from(self.endian + "2i", body, at)
            at += 8
        if sizes[1]:
            (time,) = struct.unpack_from(self.endian + "Q", body, at)
            at += 8
        at += 8 * (sizes[2] + sizes[3])
        if sizes[4]:
            (cpu,) = struct.unpack_from(self.endian + "I", body, at)
        return SampleFields(process, thread, time, cpu, 1, (), b"")


class Layouts:
    """Finds the event of a sample by the id in it."""

    def __init__(self, endian: str, events: list[PerfEvent]) -> None:
        self._endian = endian
        self._events = events
        self._known = -1
        self._by_id: dict[int, SampleLayout] = {}
        self._first: SampleLayout | None = None
        self._id_at: int | None = None

    def _update(self) -> None:
        # A piped file describes events between its records.
        if self._known == len(self._events):
            return
        self._known = len(self._events)
        layouts = [SampleLayout(self._endian, event) for event in self._events]
        self._first = layouts[0] if layouts else None
        self._by_id = {number: layout for layout in layouts for number in layout.event.ids}
        kinds = self._events[0].sample_type if self._events else 0
        if kinds & IDENTIFIER:
            self._id_at = 0
        elif kinds & ID:
            self._id_at = 8 * sum(kinds & bit != 0 for bit in (IP, TID, TIME, ADDRESS))
        else:
            self._id_at = None

    def of(self, body: bytes) -> SampleLayout | None:
        """The layout of a sample; None in a file without events."""
        self._update()
        if self._id_at is None or len(self._events) < 2 or len(body) < self._id_at + 8:
            return self._first
        (number,) = struct.unpack_from(self._endian + "Q", body, self._id_at)
        return self._by_id.get(number, self._first)

    def event_of(self, number: int) -> PerfEvent | None:
        """The event with an id."""
        layout = self._by_id.get(number)
        return None if layout is None else layout.event

    @property
    def first(self) -> SampleLayout | None:
        """The layout of the first event, for records that are no samples."""
        self._update()
        return self._first
