"""The wire format of protocol buffers, read without a schema compiler."""

from __future__ import annotations

import struct
from collections.abc import Iterator

Field = tuple[int, int | bytes]
"""Number and value: an unsigned integer, or the bytes of a string, a message or a fixed number."""


class WireError(ValueError):
    """The bytes are no message."""


def read_fields(message: bytes) -> Iterator[Field]:
    """The fields of a message in their order.

    Raises WireError at the place where the bytes stop making sense; what came before has been yielded.
    """
    position, size = 0, len(message)
    while position < size:
        tag, position = _varint(message, position)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise WireError("field number 0")
        if wire == 0:
            value, position = _varint(message, position)
            yield number, value
            continue
        if wire == 2:
            length, position = _varint(message, position)
        elif wire == 1:
            length = 8
        elif wire == 5:
            length = 4
        else:
            raise WireError(f"wire type {wire}")
        if position + length > size:
            raise WireError("the message ends early")
        yield number, message[position : position + length]
        position += length


def _varint(message: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        if position >= len(message) or shift > 63:
            raise WireError("a number without an end")
        byte = message[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, position
        shift += 7


def signed(value: int) -> int:
    """A varint of an int64 field as a signed number."""
    return value - (1 << 64) if value >= 1 << 63 else value


def float32(value: int | bytes) -> float:
    """The number in a field of type float; NaN when it is none."""
    return struct.unpack("<f", value)[0] if isinstance(value, bytes) and len(value) == 4 else float("nan")


def integer_of(value: int | bytes) -> int:
    """The number in an integer field, 0 when the field is of another type."""
    return value if isinstance(value, int) else 0


def text_of(value: int | bytes) -> str:
    """The text in a string field, "" when the field is of another type."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def message_of(value: int | bytes) -> dict[int, int | bytes]:
    """The last value of each field of an embedded message.

    Raises WireError when it is none.
    """
    if not isinstance(value, bytes):
        raise WireError("no message where one belongs")
    return dict(read_fields(value))
