"""The sections of trace.dat of version 7, which may be packed.

https://man7.org/linux/man-pages/man5/trace-cmd.dat.v7.5.html
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from warpline.i18n import tr
from warpline.interchange.framework.event_formats import FormatReader

OPTIONS, BUFFER, HEADER, OWN_FORMATS, FORMATS, PRINTS, NAMES = 0, 3, 16, 17, 18, 20, 21
"""Numbers of sections, and of the options that say where they are."""
_DONE = 0
_MOST_BYTES = 256 << 20
_MOST_OPTIONS = 1 << 16
_PACKED = 1

Unpack = Callable[[bytes, int], bytes]
"""Unpacks data; gets the size of the result."""


class CoreBuffer(NamedTuple):
    """Where the ring buffer of a core is."""

    cpu: int
    offset: int
    size: int
    is_packed: bool = False


class Sections:
    """The sections of an open file. Raises ValueError when they are damaged, or packed in an unknown way."""

    def __init__(self, file: BinaryIO, reader: FormatReader) -> None:
        """``reader`` is positioned after the page size."""
        self._file = file
        self._order = reader.order
        self._unpack = _unpacker(reader.text())
        reader.text()  # version of the packing library
        self.places: dict[int, int] = {}
        """Offsets of sections, by number."""
        self.cores: list[CoreBuffer] = []
        self._read_options(reader.number(8))

    def open_section(self, section: int) -> FormatReader | None:
        """The content of a section; None if the file has none with the number."""
        place = self.places.get(section)
        return None if place is None else self._reader(self._content(place))

    def chunks(self, core: CoreBuffer) -> Iterator[bytes]:
        """The unpacked pieces of a packed ring buffer."""
        self._file.seek(core.offset)
        for _ in range(self._reader(self._file.read(4)).number(4)):
            head = self._reader(self._file.read(8))
            packed, size = head.number(4), head.number(4)
            place = self._file.tell() + packed
            yield self._unpacked(self._file.read(min(packed, _MOST_BYTES)), size)
            self._file.seek(place)

    def _reader(self, content: bytes) -> FormatReader:
        reader = FormatReader(content)
        reader.order = self._order
        return reader

    def _unpacked(self, packed: bytes, size: int) -> bytes:
        if size > _MOST_BYTES:
            raise ValueError("a section is too large")
        return self._unpack(packed, size)

    def _content(self, place: int) -> bytes:
        _, flags, size = self._head(place)
        content = self._file.read(min(size, _MOST_BYTES))
        if not flags & _PACKED:
            return content
        head = self._reader(content[:8])
        packed, size = head.number(4), head.number(4)
        return self._unpacked(content[8 : 8 + packed], size)

    def _head(self, place: int) -> tuple[int, int, int]:
        """Number, flags and size of a section."""
        self._file.seek(place)
        head = self._reader(self._file.read(16))
        number, flags, _title, size = head.number(2), head.number(2), head.number(4), head.number(8)
        return number, flags, size

    def _read_options(self, place: int) -> None:
        seen: set[int] = set()
        count = 0
        while place and place not in seen:
            seen.add(place)
            options = self._reader(self._content(place))
            place = 0
            while (count := count + 1) < _MOST_OPTIONS:
                number = options.number(2)
                option = self._reader(options.take(options.number(4)))
                if number == _DONE:
                    place = option.number(8)
                    break
                if number == BUFFER:
                    self._add_buffer(option)
                elif number in (HEADER, OWN_FORMATS, FORMATS, PRINTS, NAMES):
                    self.places[number] = option.number(8)

    def _add_buffer(self, option: FormatReader) -> None:
        place = option.number(8)
        option.text()  # name of the instance
        option.text()  # clock
        option.number(4)  # size of a page
        count = option.number(4)
        _, flags, _ = self._head(place)
        for _ in range(count):
            cpu, offset, size = option.number(4), option.number(8), option.number(8)
            self.cores.append(CoreBuffer(cpu, offset, size, bool(flags & _PACKED)))


def _unpacker(name: str) -> Unpack:
    if name in ("", "none"):
        return lambda packed, _size: packed
    if name == "zlib":
        return _checked(lambda packed, size: zlib.decompressobj().decompress(packed, max(size, 1)))
    if name == "zstd" and (unpack := _zstd()) is not None:
        return _checked(unpack)
    if name == "zstd":
        raise ValueError(
            tr("it is packed with zstd, which no installed library unpacks: pip install zstandard")
        )
    raise ValueError(tr("it is packed with {name}, which Warpline does not know", name=name[:20]))


_ZSTD: tuple[tuple[str, Callable[[Any], Unpack]], ...] = (
    (
        "compression.zstd",
        lambda library: lambda packed, size: library.ZstdDecompressor().decompress(packed, size),
    ),
    (
        "zstandard",
        lambda library: (
            lambda packed, size: library.ZstdDecompressor().decompress(packed, max_output_size=size)
        ),
    ),
    (
        "pyarrow",
        lambda library: (
            lambda packed, size: library.decompress(
                packed, decompressed_size=size, codec="zstd", asbytes=True
            )
        ),
    ),
)
"""Libraries that unpack zstd, Python 3.14's own first."""


def _zstd() -> Unpack | None:
    """A function that unpacks zstd; None if no library is installed."""
    for name, unpacking in _ZSTD:
        try:
            return unpacking(importlib.import_module(name))
        except ImportError:
            continue
    return None


def _checked(unpack: Unpack) -> Unpack:
    """The same function, raising ValueError in place of the libraries' own errors."""

    def unpacked(packed: bytes, size: int) -> bytes:
        try:
            return unpack(packed, size)
        except Exception as error:  # each library raises its own errors
            raise ValueError(str(error)) from error

    return unpacked
