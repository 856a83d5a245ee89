"""Reads trace.dat of trace-cmd, versions 5 to 7: formats of events, names, and the kernel's ring buffers.

https://man7.org/linux/man-pages/man5/trace-cmd.dat.v6.5.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from warpline.interchange.framework.event_formats import FormatReader
from warpline.interchange.ftrace.sections import FORMATS, NAMES, OWN_FORMATS, PRINTS, CoreBuffer, Sections

_START_BYTES = 4096
_HEAD_BYTES = 256 << 20
"""Upper bound of what precedes the ring buffers, mostly kernel symbols."""
_MOST_CORES = 1 << 16
_DELTA_BITS = 27
_DELTA = (1 << _DELTA_BITS) - 1
_PADDING, _EXTEND, _STAMP = 29, 30, 31


class RawEvent(NamedTuple):
    """An event of a ring buffer; its bytes begin with the number of its format."""

    time: int
    cpu: int
    raw: bytes


class TraceDat:
    """An open file. Raises ValueError when it is damaged, or of another version."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.reader = FormatReader(file.read(_START_BYTES))
        self.version = self.reader.read_start()
        self.cores: list[CoreBuffer] = []
        self.names: dict[int, str] = {}
        self.formats_of_prints: dict[int, str] = {}
        self._sections: Sections | None = None
        if self.version in ("5", "6"):
            self._read_in_order()
        elif self.version == "7":
            self._read_sections()

    def _read_in_order(self) -> None:
        self._file.seek(0)
        self.reader = reader = FormatReader(self._file.read(_HEAD_BYTES))
        reader.read_start()
        reader.read_header_pages()
        reader.read_formats()
        reader.take(reader.number(4))  # symbols of the kernel
        self._read_prints(reader.take(reader.number(4)).decode("utf-8", "replace"))
        self._read_names(reader.take(reader.number(8)).decode("utf-8", "replace"))
        count = reader.number(4)
        kind = reader.take(10)
        if kind.startswith(b"options"):
            while reader.number(2):
                reader.take(reader.number(4))
            kind = reader.take(10)
        if not kind.startswith(b"flyrecord") or count > _MOST_CORES:
            raise ValueError("it holds no ring buffers")
        self.cores = [CoreBuffer(cpu, reader.number(8), reader.number(8)) for cpu in range(count)]

    def _read_sections(self) -> None:
        self._sections = sections = Sections(self._file, self.reader)
        for number, read in (
            (OWN_FORMATS, FormatReader.read_own_formats),
            (FORMATS, FormatReader.read_system_formats),
        ):
            if (part := sections.open_section(number)) is not None:
                read(part)
                self.reader.formats.update(part.formats)
        if (part := sections.open_section(PRINTS)) is not None:
            self._read_prints(part.take(part.number(4)).decode("utf-8", "replace"))
        if (part := sections.open_section(NAMES)) is not None:
            self._read_names(part.take(part.number(8)).decode("utf-8", "replace"))
        self.cores = sections.cores
        if not self.cores:
            raise ValueError("it holds no ring buffers")

    def _read_prints(self, text: str) -> None:
        for line in text.splitlines():
            address, _, form = line.partition(" : ")
            try:
                self.formats_of_prints[int(address, 16)] = form.strip().strip('"').replace("\\n", " ").strip()
            except ValueError:
                continue

    def _read_names(self, text: str) -> None:
        for line in text.splitlines():
            number, _, name = line.strip().partition(" ")
            if number.isdecimal() and len(number) < 11:
                self.names[int(number)] = name

    def events(self, core: CoreBuffer) -> Iterator[RawEvent]:
        """The events of a core, by time. Raises ValueError where a page is damaged."""
        page_bytes = self.reader.page_bytes
        if not 64 <= page_bytes <= 1 << 20:
            raise ValueError("its pages have an impossible size")
        if core.is_packed and self._sections is not None:
            for chunk in self._sections.chunks(core):
                for begin in range(0, len(chunk) - 15, page_bytes):
                    yield from self._page(core.cpu, chunk[begin : begin + page_bytes])
            return
        self._file.seek(core.offset)
        left = core.size
        while left >= 16 and len(page := self._file.read(min(page_bytes, left))) >= 16:
            left -= len(page)
            yield from self._page(core.cpu, page)

    def _page(self, cpu: int, page: bytes) -> Iterator[RawEvent]:
        endian = "<" if self.reader.order == "little" else ">"
        is_little, word = endian == "<", struct.Struct(endian + "I")
        (time,) = struct.unpack_from(endian + "Q", page)
        header = 8 + self.reader.long_bytes
        commit = int.from_bytes(page[8:header], self.reader.order) & 0xFFFFF
        at, stop = header, min(header + commit, len(page))
        while at + 4 <= stop:
            (first,) = word.unpack_from(page, at)
            kind, delta = (first & 31, first >> 5) if is_little else (first >> _DELTA_BITS, first & _DELTA)
            at += 4
            if 0 < kind < _PADDING:
                size, begin = kind * 4, at
            else:
                if at + 4 > stop:
                    return
                (more,) = word.unpack_from(page, at)
                if kind == _PADDING:
                    if not delta:
                        return
                    at += more
                    continue
                if kind == _EXTEND:
                    time += (more << _DELTA_BITS) + delta
                    at += 4
                    continue
                if kind == _STAMP:
                    time = (more << _DELTA_BITS) + delta
                    at += 4
                    continue
                if more < 4:
                    raise ValueError("an event has no size")
                size, begin = more - 4, at + 4
            time += delta
            yield RawEvent(time, cpu, page[begin : min(begin + size, stop)])
            at = begin + (size + 3 & ~3)
