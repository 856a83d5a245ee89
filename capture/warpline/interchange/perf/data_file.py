"""Reads perf.data: its events, and records one by one.

The layout is that of ``tools/perf/Documentation/perf.data-file-format.txt`` and ``include/uapi/linux/perf_event.h``.
Files may be piped (``perf record -o -``), and of either byte order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from warpline.interchange.framework.event_formats import FormatReader

MAGIC, SWAPPED = b"PERFILE2", b"2ELIFREP"
_PIPE_HEADER = 16
_FILE_HEADER = struct.calcsize("8Q4Q")
_MOST_EVENTS = 4096
_MOST_FEATURE_BYTES = 64 << 20

IP, TID, TIME, ADDRESS, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM = 1, 2, 4, 8, 16, 32, 64, 128, 256, 512
RAW, IDENTIFIER = 1024, 1 << 16
MMAP, LOST, COMM, EXIT, FORK, SAMPLE, MMAP2, SWITCH, SWITCH_WIDE = 1, 2, 3, 4, 7, 9, 10, 14, 15
ATTRIBUTE, TRACING_DATA, AUXTRACE, FEATURE, COMPRESSED, COMPRESSED2 = 64, 66, 71, 80, 81, 83
_FIRST_OF_TOOL = 64
_TRACING_FEATURE, _EVENT_FEATURE = 1, 12
_HARDWARE = ("cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
             "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles")  # fmt: skip
_SOFTWARE = ("cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults",
             "major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output")  # fmt: skip


class PerfRecord(NamedTuple):
    """A record without its first eight bytes."""

    kind: int
    misc: int
    body: bytes


@dataclass
class PerfEvent:
    """What was sampled, and the layout of its samples."""

    kind: int
    config: int
    sample_type: int
    read_format: int
    has_ids: bool
    """Whether records other than samples end with an id and a time."""
    inherits: bool = False
    """Whether threads started by a sampled thread are sampled too, each with counts of its own."""
    name: str = ""
    ids: list[int] = field(default_factory=list)


class PerfDataFile:
    """An open file. Raises ValueError, struct.error or OSError when it is damaged."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        magic = file.read(8)
        self.endian = "<" if magic == MAGIC else ">"
        self.events: list[PerfEvent] = []
        self.tracing: FormatReader | None = None
        self._data: tuple[int, int | None] = (_PIPE_HEADER, None)
        (size,) = self._unpack("Q", file.read(8))
        if size != _PIPE_HEADER:
            self._read_header(size)

    def _unpack(self, form: str, content: bytes, offset: int = 0) -> tuple[int, ...]:
        return struct.unpack_from(self.endian + form, content, offset)

    def _section(self, offset: int, size: int) -> bytes:
        if size > _MOST_FEATURE_BYTES:
            raise ValueError("a section is too large")
        self._file.seek(offset)
        return self._file.read(size)

    def _read_header(self, size: int) -> None:
        rest = self._file.read(_FILE_HEADER - 8)
        attr_size, attrs_at, attrs_bytes, data_at, data_bytes, _types, _types_bytes = self._unpack("7Q", rest)
        features = self._unpack("4Q", rest, 56)
        self._data = (data_at, data_bytes)
        attrs = self._section(attrs_at, attrs_bytes)
        for offset in range(0, len(attrs), attr_size or 1):
            if not attr_size or len(self.events) == _MOST_EVENTS:
                break
            self._add_event(attrs[offset : offset + attr_size - 16])
            ids_at, ids_bytes = self._unpack("2Q", attrs, offset + attr_size - 16)
            ids = self._section(ids_at, ids_bytes)
            self.events[-1].ids = list(self._unpack(f"{len(ids) // 8}Q", ids))
        del size
        bits = [bit for bit in range(256) if features[bit // 64] >> (bit % 64) & 1]
        table = self._section(data_at + data_bytes, 16 * len(bits))
        for index, bit in enumerate(bits):
            if bit in (_TRACING_FEATURE, _EVENT_FEATURE) and len(table) >= 16 * index + 16:
                at, count = self._unpack("2Q", table, 16 * index)
                self._read_feature(bit, self._section(at, count))

    def _read_feature(self, bit: int, content: bytes) -> None:
        try:
            if bit == _EVENT_FEATURE:
                self._read_names(content)
            else:
                self._read_tracing(content)
        except (ValueError, struct.error, IndexError, OverflowError):
            pass  # names only explain what the records say

    def _read_tracing(self, content: bytes) -> None:
        reader = FormatReader(content)
        reader.read_start()
        reader.read_header_pages()
        reader.read_formats()
        self.tracing = reader

    def _read_names(self, content: bytes) -> None:
        count, attr_size = self._unpack("2I", content)
        position = 8
        for number in range(min(count, _MOST_EVENTS)):
            position += attr_size
            ids, length = self._unpack("2I", content, position)
            name = (
                content[position + 8 : position + 8 + length].split(b"\x00", 1)[0].decode("utf-8", "replace")
            )
            position += 8 + length + 8 * ids
            if number < len(self.events) and name:
                self.events[number].name = name

    def _add_event(self, attr: bytes) -> PerfEvent:
        kind, _size, config, _period, sample_type, read_format, flags = self._unpack("2I5Q", attr)
        inherits, has_ids = (flags >> (bit if self.endian == "<" else 63 - bit) & 1 for bit in (1, 18))
        event = PerfEvent(kind, config, sample_type, read_format, bool(has_ids), bool(inherits))
        event.name = _name_of(kind, config)
        self.events.append(event)
        return event

    def records(self) -> Iterator[PerfRecord]:
        """All records; those of the tool itself that describe events are read, and left out."""
        at, size = self._data
        self._file.seek(at)
        left = 1 << 62 if size is None else size
        while left >= 8 and len(head := self._file.read(8)) == 8:
            kind, misc, count = self._unpack("IHH", head)
            if count < 8:
                raise ValueError("a record has no size")
            body = self._file.read(count - 8)
            if len(body) < count - 8:
                raise ValueError("the file ends inside of a record")
            left -= count
            if kind < _FIRST_OF_TOOL:
                yield PerfRecord(kind, misc, body)
            else:
                left -= self._read_tool_record(kind, body)
                if kind in (COMPRESSED, COMPRESSED2):
                    yield PerfRecord(kind, misc, b"")

    def _read_tool_record(self, kind: int, body: bytes) -> int:
        """Read a record of the tool; returns the number of bytes that follow it and were read or skipped as well."""
        if kind == ATTRIBUTE and len(self.events) < _MOST_EVENTS:
            (size,) = self._unpack("I", body, 4)
            event = self._add_event(body[:size])
            ids = body[size : len(body) // 8 * 8]
            event.ids = list(self._unpack(f"{len(ids) // 8}Q", ids))
        elif kind == TRACING_DATA:
            (size,) = self._unpack("I", body)
            content = self._file.read(min(size, _MOST_FEATURE_BYTES))
            self._read_feature(_TRACING_FEATURE, content)
            return len(content)
        elif kind == AUXTRACE:
            # A processor's own trace (Intel PT, Arm SPE) follows the record that describes it.
            (size,) = self._unpack("Q", body)
            self._file.seek(size, 1)
            return size
        elif kind == FEATURE and len(body) > 8 and self._unpack("Q", body)[0] == _EVENT_FEATURE:
            self._read_feature(_EVENT_FEATURE, body[8:])
        return 0


def _name_of(kind: int, config: int) -> str:
    names = {0: _HARDWARE, 1: _SOFTWARE}.get(kind, ())
    if config < len(names):
        return names[config]
    return f"tracepoint {config}" if kind == 2 else f"event {kind}:{config:x}"
