"""Reads protocol buffers without a schema compiler: whole messages in memory, or a long file field by field.

The encoding is described at https://protobuf.dev/programming-guides/encoding/. Damaged and hostile input raises
`ProtobufError`: numbers are at most ten bytes long, lengths end inside the message around them, and no more than
``most_bytes`` are held at a time. Groups (wire types 3 and 4) are not supported.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple

from warpline.interchange.framework.unpacking import Readable

Value = int | bytes
"""An unsigned integer, or the bytes of a string, a message, a packed list or a fixed-size number."""
Message = dict[int, Value]
"""The last value of each field, by field number."""
Path = tuple[int, ...]
"""Field numbers from the outermost message to a field."""

MOST_FIELD_BYTES = 256 << 20
"""The longest field that `FieldStream` holds in memory unless told otherwise."""
_CHUNK_BYTES = 1 << 20
_VARINT_BYTES = 10
_UINT64 = (1 << 64) - 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}


class ProtobufError(ValueError):
    """The bytes are not a valid message."""


class Field(NamedTuple):
    """A field of a `FieldStream`; a ``value`` of None marks the beginning of an entered message."""

    path: Path
    value: Value | None


def read_varint(message: bytes, position: int) -> tuple[int, int]:
    """The number at a position, and the position behind it. Raises ProtobufError when it does not end."""
    result = 0
    for shift in range(0, 7 * _VARINT_BYTES, 7):
        if position >= len(message):
            break
        byte = message[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & _UINT64, position
    raise ProtobufError("a number does not end")


def read_fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Number and value of each field, in order.

    Raises ProtobufError at the first invalid byte, after yielding the fields before it.
    """
    position, size = 0, len(message)
    while position < size:
        number, wire_type, position = _read_tag(message, position)
        if wire_type == _VARINT:
            value, position = read_varint(message, position)
            yield number, value
            continue
        length, position = _read_length(message, position, wire_type)
        if position + length > size:
            raise ProtobufError("the message ends early")
        yield number, message[position : position + length]
        position += length


def wire_fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """As `read_fields`, with fixed-size numbers as integers (the bits of a float)."""
    position, size = 0, len(message)
    while position < size:
        number, wire_type, position = _read_tag(message, position)
        if wire_type == _VARINT:
            value, position = read_varint(message, position)
            yield number, value
            continue
        length, after = _read_length(message, position, wire_type)
        position = after + length
        if position > size:
            raise ProtobufError("the message ends early")
        content = message[after:position]
        yield number, content if wire_type == _BYTES else int.from_bytes(content, "little")


def _read_tag(message: bytes, position: int) -> tuple[int, int, int]:
    tag, position = read_varint(message, position)
    if tag >> 3 == 0:
        raise ProtobufError("field number 0")
    return tag >> 3, tag & 7, position


def _read_length(message: bytes, position: int, wire_type: int) -> tuple[int, int]:
    if wire_type == _BYTES:
        return read_varint(message, position)
    if wire_type not in _FIXED_SIZES:
        raise ProtobufError(f"wire type {wire_type}")
    return _FIXED_SIZES[wire_type], position


class FieldStream:
    """The fields of one message that may be larger than memory. Iterate once.

    ``source`` is anything with ``read``: an open file, an `unpacked` archive, ``io.BytesIO``. Messages whose path is in
    ``enter`` are not held: a `Field` without a value announces each of them, and their own fields follow. Iterating
    raises ProtobufError at the first invalid byte, or at a field of more than ``most_bytes``; what the source raises
    passes through.
    """

    def __init__(
        self, source: Readable, *, enter: Collection[Path] = (), most_bytes: int = MOST_FIELD_BYTES
    ) -> None:
        self._source = source
        self._enter = frozenset(enter)
        self._most_bytes = most_bytes
        self._buffer = b""
        self._place = 0
        self._before = 0
        self._at_end = False

    @property
    def position(self) -> int:
        """How many bytes of the content have been used."""
        return self._before + self._place

    def __iter__(self) -> Iterator[Field]:
        path: Path = ()
        stops: list[int] = []
        while True:
            while stops and self.position >= stops[-1]:
                if self.position > stops.pop():
                    raise ProtobufError("a field is longer than its message")
                path = path[:-1]
            if not self._fill(1):
                if stops:
                    raise ProtobufError("the message ends early")
                return
            self._fill(2 * _VARINT_BYTES)
            number, wire_type, self._place = _read_tag(self._buffer, self._place)
            own_path = (*path, number)
            if wire_type == _VARINT:
                value, self._place = read_varint(self._buffer, self._place)
                yield Field(own_path, value)
                continue
            length, self._place = _read_length(self._buffer, self._place, wire_type)
            if stops and self.position + length > stops[-1]:
                raise ProtobufError("a field is longer than its message")
            if wire_type == _BYTES and own_path in self._enter:
                path = own_path
                stops.append(self.position + length)
                yield Field(own_path, None)
            else:
                yield Field(own_path, self._take(length))

    def _take(self, length: int) -> bytes:
        if length > self._most_bytes:
            raise ProtobufError(f"a field of {length:,} bytes")
        if not self._fill(length):
            raise ProtobufError("the message ends early")
        value = self._buffer[self._place : self._place + length]
        self._place += length
        return value

    def _fill(self, count: int) -> bool:
        """Have at least so many bytes ready; False when the source ends before."""
        missing = count - (len(self._buffer) - self._place)
        if missing <= 0:
            return True
        parts = [self._buffer[self._place :]]
        self._before += self._place
        self._place = 0
        while missing > 0 and not self._at_end:
            part = self._source.read(max(missing, _CHUNK_BYTES))
            self._at_end = not part
            parts.append(part)
            missing -= len(part)
        self._buffer = b"".join(parts)
        return missing <= 0


def signed(value: int) -> int:
    """A varint of an int32 or int64 field as a signed number."""
    return value - (1 << 64) if value >= 1 << 63 else value


def float_of(value: Value) -> float:
    """The number in a float or double field, NaN when the field has another type."""
    if isinstance(value, bytes) and len(value) in (4, 8):
        return float(struct.unpack("<f" if len(value) == 4 else "<d", value)[0])
    return float("nan")


def integer_of(value: Value) -> int:
    """The number in an integer field, 0 when the field has another type."""
    return value if isinstance(value, int) else 0


def integers_of(value: Value) -> list[int]:
    """The unsigned numbers in one field of a repeated integer, packed or not. Raises ProtobufError."""
    if isinstance(value, int):
        return [value]
    numbers: list[int] = []
    position = 0
    while position < len(value):
        number, position = read_varint(value, position)
        numbers.append(number)
    return numbers


def text_of(value: Value) -> str:
    """The text in a string field, "" when the field has another type."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def message_of(value: Value) -> Message:
    """The last value of each field of an embedded message. Raises ProtobufError when it is not a message."""
    if not isinstance(value, bytes):
        raise ProtobufError("a number in place of a message")
    return dict(read_fields(value))
