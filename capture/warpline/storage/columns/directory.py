"""The directories of a capture as `new_file` has HDF5 write them: where its columns lie, without loading HDF5.

Loading it and asking it takes a tenth of the time in which a window appears. This knows superblocks of version 2 and 3,
object headers of version 2, links in them or in a small heap beside them, attributes in them, and columns in one
piece. Whatever else a file has, and all that does not add up, is `UnfamiliarError`: HDF5 itself is asked then. What
bytes mean is in the HDF5 File Format Specification, whose sections are named.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

from warpline.compiled import load
from warpline.frozen import frozen
from warpline.page_guard import LIBRARY
from warpline.storage.columns.why_unreadable import SIGNATURE

Value = TypeVar("Value")

_NOWHERE = (1 << 64) - 1
_MAX_BYTES = 1 << 20
"""Of one object's header; HDF5 keeps 64 KiB in one message."""
_MAX_MESSAGES = 4096
_FIRST_READ = 512
"""Most headers are shorter."""

_NUMBERS = {
    "|u1": (0x10, 0x00, 1), "<u2": (0x10, 0x00, 2), "<u4": (0x10, 0x00, 4), "<u8": (0x10, 0x00, 8),
    "|i1": (0x10, 0x08, 1), "<i2": (0x10, 0x08, 2), "<i4": (0x10, 0x08, 4), "<i8": (0x10, 0x08, 8),
}  # fmt: skip
_TYPES = {
    struct.pack("<BBHIHH", kind, signed, 0, size, 0, 8 * size): name
    for name, (kind, signed, size) in _NUMBERS.items()
} | {
    struct.pack("<BBHIHHBBBBI", 0x11, 0x20, 31, 4, 0, 32, 23, 8, 0, 23, 127): "<f4",
    struct.pack("<BBHIHHBBBBI", 0x11, 0x20, 63, 8, 0, 64, 52, 11, 0, 52, 1023): "<f8",
}
"""Types of columns by how they are written (IV.A.2.d)."""
_INTEGER = next(raw for raw, name in _TYPES.items() if name == "<i8")
_TEXT = b"\x13\x11\x00\x00"
"""UTF-8 filled up with zeros; the length follows."""
_SCALAR = b"\x02\x00\x00\x00"
_FILLS = (b"\x03\x0a", b"\x03\x0b", b"\x03\x09")
"""Fill values that nobody set, by when room is made."""


class UnfamiliarError(Exception):
    """Something that is not known here, or that is damaged; HDF5 says which."""


@frozen
class DirectoryEntry:
    """A group or a column, with its attributes."""

    links: dict[str, int] | None
    """what lies in a group: names, and where their headers are; None of a column"""
    attributes: dict[str, str | int]
    dtype: str = ""
    length: int = 0
    offset: int = 0
    """where the values begin in the file"""


class Directory:
    """What a file says of itself. Raises UnfamiliarError, here and in every call."""

    def __init__(self, descriptor: int, size: int) -> None:
        checksum = _lookup3()
        if checksum is None or not hasattr(os, "pread"):
            raise UnfamiliarError
        self._descriptor, self._lookup3, self._end = descriptor, checksum, size
        # II.A: sizes of offsets and lengths, flags, base, extension, end of the file, header of the root.
        head = self._checked(self._read(0, 48))
        version, flags, base, extension, self._end, root = struct.unpack_from("<8xB2xBQQQQ", head)
        if (
            head[:8] != SIGNATURE
            or version not in (2, 3)
            or head[9:11] != b"\x08\x08"
            or flags
            or base
            or extension != _NOWHERE
        ):
            raise UnfamiliarError
        if self._end > size:
            raise UnfamiliarError
        self._known = {"": self._entry(root)}
        if self._known[""].links is None:
            raise UnfamiliarError

    def find(self, path: str) -> DirectoryEntry | None:
        """What stands under a path (the empty one: the root), None where nothing does."""
        known = self._known.get(path)
        if known is not None:
            return known
        above, _, name = path.rpartition("/")
        if not name.isascii():
            raise UnfamiliarError
        # The paths that are asked for are ours, some names deep.
        group = self.find(above)
        if group is None or group.links is None or name not in group.links:
            return None
        found = self._known[path] = self._entry(group.links[name])
        return found

    def values(self, entry: DirectoryEntry, size: int) -> bytearray:
        """The bytes of a short column."""
        return bytearray(self._read(entry.offset, size))

    # -- pieces of the file ---------------------------------------------------------------------------------

    def _read(self, offset: int, size: int) -> bytes:
        if not 0 < size <= _MAX_BYTES or offset + size > self._end:
            raise UnfamiliarError
        try:
            piece = os.pread(self._descriptor, size, offset)
        except OSError as error:
            raise UnfamiliarError from error
        if len(piece) != size:
            raise UnfamiliarError
        return piece

    def _checked(self, piece: bytes) -> bytes:
        """A piece without its checksum, which stands at its end."""
        body = piece[:-4]
        if len(piece) < 4 or self._lookup3(body, len(body)) != int.from_bytes(piece[-4:], "little"):
            raise UnfamiliarError
        return body

    def _messages(self, address: int) -> Iterator[tuple[int, bytes]]:
        """Type and body of each message of an object's header (IV.A.1.b)."""
        head = self._read(address, min(_FIRST_READ, self._end - address))
        if head[:5] != b"OHDR\x02" or head[5] > 1:
            raise UnfamiliarError
        start = 7 + head[5]
        whole = start + int.from_bytes(head[6:start], "little") + 4
        head = head[:whole] if whole <= len(head) else self._read(address, whole)
        pieces, total, count = [self._checked(head)[start:]], whole, 0
        while pieces:
            piece, at = pieces.pop(), 0
            while at + 4 <= len(piece):
                kind, size, flags = struct.unpack_from("<BHB", piece, at)
                body = piece[at + 4 : at + 4 + size]
                at, count = at + 4 + size, count + 1
                # Constant ones and such that are not shared: all else changes what the body means.
                if len(body) != size or flags & ~5 or count > _MAX_MESSAGES:
                    raise UnfamiliarError
                if kind == 0x10:
                    offset, length = struct.unpack("<QQ", body)
                    total += length
                    more = self._read(offset, length)
                    if more[:4] != b"OCHK" or total > _MAX_BYTES:
                        raise UnfamiliarError
                    pieces.append(self._checked(more)[4:])
                elif kind:
                    yield kind, body
                elif flags or body.strip(b"\0") or (not body and at < len(piece)):
                    raise UnfamiliarError  # HDF5 leaves nothing in what it does not use

    def _entry(self, address: int) -> DirectoryEntry:
        try:
            return self._parsed(address)
        except (IndexError, struct.error) as error:  # something is shorter than what it holds
            raise UnfamiliarError from error

    def _parsed(self, address: int) -> DirectoryEntry:
        links: dict[str, int] = {}
        attributes: dict[str, str | int] = {}
        parts: dict[int, bytes] = {}
        for kind, body in self._messages(address):
            if kind == 0x06:
                _add(links, *_link(body))
            elif kind == 0x0C:
                _add(attributes, *_attribute(body))
            elif kind in parts:
                raise UnfamiliarError
            else:
                parts[kind] = body
        if parts.pop(0x15, _NO_ATTRIBUTES) != _NO_ATTRIBUTES:
            raise UnfamiliarError
        if parts.keys() == {0x02, 0x0A} and parts[0x0A] == b"\0\0":
            head, heap, names = struct.unpack("<HQQ", parts[0x02])
            if head or (heap == _NOWHERE) != (names == _NOWHERE) or (links and heap != _NOWHERE):
                raise UnfamiliarError
            if heap != _NOWHERE:
                for message in self._in_heap(heap, names):
                    _add(links, *_link(message))
            return DirectoryEntry(links, attributes)
        if links or parts.keys() != {0x01, 0x03, 0x05, 0x08} or parts[0x05] not in _FILLS:
            raise UnfamiliarError
        return self._column(parts[0x01], parts[0x03], parts[0x08], attributes)

    def _column(
        self, space: bytes, kind: bytes, layout: bytes, attributes: dict[str, str | int]
    ) -> DirectoryEntry:
        dtype = _TYPES.get(kind)
        if dtype is None or space[:4] not in (b"\x02\x01\x00\x01", b"\x02\x01\x01\x01"):
            raise UnfamiliarError
        length, *most = struct.unpack("<Q" if space[2] == 0 else "<QQ", space[4:])
        version, offset, size = struct.unpack("<HQQ", layout)
        itemsize = int(dtype[2:])
        # Version 3 or 4 of a layout in one piece: the file has the bytes that the column claims.
        if version not in (0x0103, 0x0104) or most not in ([], [length]) or size != length * itemsize:
            raise UnfamiliarError
        if offset + size > self._end if length else offset != _NOWHERE:
            raise UnfamiliarError
        return DirectoryEntry(None, attributes, dtype, length, offset)

    # -- links of groups that have more than a few ----------------------------------------------------------

    def _in_heap(self, heap: int, index: int) -> Iterator[bytes]:
        """The messages that an index of names (III.A.2) of one level leads to in a heap (III.G)."""
        tree = self._checked(self._read(index, 38))
        root, count, total = struct.unpack_from("<QHQ", tree, 16)
        if tree[:16] != _INDEX or not count or count != total:
            raise UnfamiliarError
        leaf = self._checked(self._read(root, 6 + 11 * count + 4))
        if leaf[:6] != b"BTLF\0\x05":
            raise UnfamiliarError
        piece_of, before = self._heap(heap), 0
        for at in range(6, len(leaf), 11):
            # The hash of the name, by which HDF5 looks it up; what kind of object it is; its place and its length.
            checksum, kind, place, size = struct.unpack_from("<IBIH", leaf, at)
            message = piece_of(place, size)
            name = message[3:-8]
            if kind or checksum < before or checksum != self._lookup3(name, len(name)):
                raise UnfamiliarError
            before = checksum
            yield message

    def _heap(self, address: int) -> Callable[[int, int], bytes]:
        head = self._checked(self._read(address, 146))
        sizes, huge, tiny = head[:10], struct.unpack_from("<Q", head, 86), struct.unpack_from("<Q", head, 102)
        width, first, most, bits, _rows, root, rows = struct.unpack_from("<HQQHHQH", head, 110)
        # As HDF5 makes the heap of a group: ids of 7 bytes, no filters, checksums, blocks of 512 bytes and more.
        if (
            sizes != b"FRHP\0\x07\0\0\0\x02"
            or (width, first, most, bits) != (4, 512, 1 << 16, 32)
            or rows > 9
        ):
            raise UnfamiliarError
        if huge != (0,) or tiny != (0,):
            raise UnfamiliarError
        blocks = [root] if not rows else self._children(address, root, rows * width)
        places = [(0, 512)]
        for number in range(1, rows * width):
            places.append((sum(places[-1]), 512 << max(0, number // width - 1)))
        read: dict[int, bytes] = {}

        def piece(place: int, size: int) -> bytes:
            number = next((n for n, (at, length) in enumerate(places) if at <= place < at + length), -1)
            if number < 0 or blocks[number] == _NOWHERE:
                raise UnfamiliarError
            at, length = places[number]
            if number not in read:
                read[number] = self._direct(address, blocks[number], at, length)
            found = read[number][place - at : place - at + size]
            if len(found) != size:
                raise UnfamiliarError
            return found

        return piece

    def _children(self, heap: int, address: int, count: int) -> list[int]:
        block = self._checked(self._read(address, 17 + 8 * count + 4))
        if struct.unpack_from("<5sQI", block) != (b"FHIB\0", heap, 0):
            raise UnfamiliarError
        return list(struct.unpack_from(f"<{count}Q", block, 17))

    def _direct(self, heap: int, address: int, at: int, size: int) -> bytes:
        block = self._read(address, size)
        # The checksum is taken with zeros in its own place.
        self._checked(block[:17] + b"\0\0\0\0" + block[21:] + block[17:21])
        if struct.unpack_from("<5sQI", block) != (b"FHDB\0", heap, at):
            raise UnfamiliarError
        return block


_INDEX = struct.pack("<4sBBIHHBB", b"BTHD", 0, 5, 512, 11, 0, 100, 40)
"""How an index of names begins that has one level."""
_NO_ATTRIBUTES = struct.pack("<HQQ", 0, _NOWHERE, _NOWHERE)
"""There are none beside those in the header."""


def _add(table: dict[str, Value], name: str, value: Value) -> None:
    if name in table:
        raise UnfamiliarError
    table[name] = value


def _name(raw: bytes) -> str:
    if not raw or not raw.isascii() or b"\0" in raw or b"/" in raw or raw == b".":
        raise UnfamiliarError
    return raw.decode()


def _link(body: bytes) -> tuple[str, int]:
    """Name and place of what a hard link leads to (IV.A.2.g)."""
    if body[:2] != b"\x01\x00" or len(body) != 11 + body[2]:
        raise UnfamiliarError
    return _name(body[3:-8]), int.from_bytes(body[-8:], "little")


def _attribute(body: bytes) -> tuple[str, str | int]:
    """Name and value (IV.A.2.m)."""
    if len(body) < 9:
        raise UnfamiliarError
    head, name_size, type_size, space_size, _encoding = struct.unpack_from("<HHHHB", body)
    at = 9 + name_size
    kind, space = body[at : at + type_size], body[at + type_size : at + type_size + space_size]
    value = body[at + type_size + space_size :]
    if head != 3 or space != _SCALAR or not name_size or body[at - 1]:
        raise UnfamiliarError
    name = _name(body[9 : at - 1])
    if kind == _INTEGER and len(value) == 8:
        return name, int.from_bytes(value, "little", signed=True)
    if len(kind) == 8 and kind[:4] == _TEXT and value and int.from_bytes(kind[4:], "little") == len(value):
        return name, value.rstrip(b"\0").decode("utf-8", "replace")
    raise UnfamiliarError


@lru_cache(maxsize=1)
def _lookup3() -> Callable[[bytes, int], int] | None:
    found = load(LIBRARY, {"warpline_lookup3": (ctypes.c_uint32, [ctypes.c_char_p, ctypes.c_size_t])})
    return found.warpline_lookup3 if found is not None else None
