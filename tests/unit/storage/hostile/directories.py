"""Directories of captures, changed with their checksums mended, so that HDF5 believes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from warpline.storage.columns.hdf5_file import Hdf5File

_HEADER = b"OHDR\x02"
_HAS_TIMES, _HAS_PHASES, _SIZE_WIDTH = 0x20, 0x10, 0x03
_MASK = (1 << 32) - 1


class Block(NamedTuple):
    """An object's header: where it begins in the file, and its length with the checksum at its end."""

    offset: int
    size: int


def blocks_of(content: bytes) -> list[Block]:
    """The headers of all groups and datasets (HDF5 File Format Specification, IV.A.1.b)."""
    return list(_headers(content))


def _headers(content: bytes) -> Iterator[Block]:
    offset = content.find(_HEADER)
    while offset >= 0:
        flags = content[offset + 5]
        start = 6 + 16 * bool(flags & _HAS_TIMES) + 4 * bool(flags & _HAS_PHASES)
        width = 1 << (flags & _SIZE_WIDTH)
        size = int.from_bytes(content[offset + start : offset + start + width], "little")
        block = Block(offset, start + width + size + 4)
        if _checksum(content, block) == _stored(content, block):
            yield block
        offset = content.find(_HEADER, offset + 1)


def mended(content: bytes | bytearray, blocks: list[Block]) -> bytes:
    """The content with the checksums that its headers should have now."""
    changed = bytearray(content)
    for block in blocks:
        stop = block.offset + block.size
        changed[stop - 4 : stop] = _checksum(changed, block).to_bytes(4, "little")
    return bytes(changed)


def read_directories(path: Path) -> None:
    """Reads every name, attribute and column of a file. Raises CaptureFormatError where it is damaged."""
    file = Hdf5File(path, path.stat().st_size)
    try:
        for group in ["", *file.groups()]:
            for node in [group, *(f"{group}/{name}" if group else name for name in file.names(group))]:
                for name in file.attribute_names(node):
                    file.attribute(node, name)
        for column in file.stored_sizes():
            file.read(column)
    finally:
        file.close()


def _stored(content: bytes | bytearray, block: Block) -> int:
    stop = block.offset + block.size
    return int.from_bytes(content[stop - 4 : stop], "little")


def _checksum(content: bytes | bytearray, block: Block) -> int:
    """lookup3 by Bob Jenkins (public domain), `hashlittle` with the start value 0, as the specification names it."""
    size = block.size - 4
    data = bytes(content[block.offset : block.offset + size])
    a = b = c = (0xDEADBEEF + size) & _MASK
    whole = max(0, (size - 1) // 12 * 12)
    for at in range(0, whole, 12):
        x, y, z = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (0, 4, 8))
        a, b, c = (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK
        a = (a - c) & _MASK ^ _rotate(c, 4)
        c = (c + b) & _MASK  # in the lines of the original
        b = (b - a) & _MASK ^ _rotate(a, 6)
        a = (a + c) & _MASK
        c = (c - b) & _MASK ^ _rotate(b, 8)
        b = (b + a) & _MASK
        a = (a - c) & _MASK ^ _rotate(c, 16)
        c = (c + b) & _MASK
        b = (b - a) & _MASK ^ _rotate(a, 19)
        a = (a + c) & _MASK
        c = (c - b) & _MASK ^ _rotate(b, 4)
        b = (b + a) & _MASK
    if size == 0:
        return c
    tail = data[whole:].ljust(12, b"\0")
    x, y, z = (int.from_bytes(tail[i : i + 4], "little") for i in (0, 4, 8))
    a, b, c = (a + x) & _MASK, (b + y) & _MASK, (c + z) & _MASK
    c = ((c ^ b) - _rotate(b, 14)) & _MASK
    a = ((a ^ c) - _rotate(c, 11)) & _MASK
    b = ((b ^ a) - _rotate(a, 25)) & _MASK
    c = ((c ^ b) - _rotate(b, 16)) & _MASK
    a = ((a ^ c) - _rotate(c, 4)) & _MASK
    b = ((b ^ a) - _rotate(a, 14)) & _MASK
    return ((c ^ b) - _rotate(b, 24)) & _MASK


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK
