"""Protocol buffers: the same fields from memory and from a stream, and an error for every invalid byte."""

from __future__ import annotations

import io
import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.interchange.framework.protobuf import (
    Field,
    FieldStream,
    ProtobufError,
    float_of,
    integers_of,
    message_of,
    read_fields,
    signed,
)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*fields: tuple[int, int | bytes]) -> bytes:
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


class Trickle(io.BytesIO):
    """A source that returns a few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(3, size or 0))


FIELDS = st.lists(
    st.tuples(st.integers(1, (1 << 29) - 1), st.integers(0, (1 << 64) - 1) | st.binary(max_size=300))
)


@given(FIELDS)
def test_memory_and_stream_give_the_same_fields(fields: list[tuple[int, int | bytes]]) -> None:
    content = message(*fields)
    assert list(read_fields(content)) == fields
    for source in (io.BytesIO(content), Trickle(content)):
        assert [(field.path[0], field.value) for field in FieldStream(source)] == fields


@given(FIELDS, FIELDS)
def test_an_entered_message_is_announced_and_its_fields_follow(
    outer: list[tuple[int, int | bytes]], inner: list[tuple[int, int | bytes]]
) -> None:
    outer = [(number + 1, value) for number, value in outer]
    content = message(*outer, (1, message(*inner)), (1, b""), *outer)
    stream = FieldStream(Trickle(content), enter={(1,)})
    around = [Field((number,), value) for number, value in outer]
    inside = [Field((1, number), value) for number, value in inner]
    assert list(stream) == [*around, Field((1,), None), *inside, Field((1,), None), *around]
    assert stream.position == len(content)


@pytest.mark.parametrize(
    "content",
    [
        b"\x08",  # a tag without a value
        b"\x12\x05hi",  # shorter than its length
        b"\x00\x01",  # field number 0
        b"\x0b",  # a group
        b"\x08" + b"\xff" * 11,  # a number that does not end
        b"\x12" + b"\xff" * 9 + b"\x01" + b"x",  # a length of 2**64 - 1
        b"\x0d\x01\x02",  # a fixed number cut short
    ],
)
def test_invalid_bytes_are_an_error(content: bytes) -> None:
    with pytest.raises(ProtobufError):
        list(read_fields(content))
    with pytest.raises(ProtobufError):
        list(FieldStream(io.BytesIO(content)))


def test_a_field_may_not_leave_its_message() -> None:
    with pytest.raises(ProtobufError, match="longer than its message"):
        list(FieldStream(io.BytesIO(b"\x0a\x03\x12\x04abcd"), enter={(1,)}))
    # The number ends two bytes behind the message.
    with pytest.raises(ProtobufError, match="longer than its message"):
        list(FieldStream(io.BytesIO(b"\x0a\x02\x08\xff\xff\x01"), enter={(1,)}))
    with pytest.raises(ProtobufError, match="ends early"):
        list(FieldStream(io.BytesIO(b"\x0a\x7f\x08\x01"), enter={(1,)}))


def test_a_field_longer_than_allowed_is_refused_before_it_is_read() -> None:
    content = message((1, 7), (2, b"x" * 1000))
    fields = iter(FieldStream(io.BytesIO(content), most_bytes=999))
    assert next(fields) == Field((1,), 7)
    with pytest.raises(ProtobufError, match="1,000 bytes"):
        next(fields)


def test_damage_is_an_error_or_another_message_and_never_anything_else() -> None:
    generator = random.Random(1)
    content = message((1, 300), (2, b"text"), (3, message((1, 5), (2, b"inner"))))
    for _ in range(3000):
        damaged = bytearray(content)
        for _ in range(generator.randrange(1, 4)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        for fields in (read_fields(bytes(damaged)), FieldStream(io.BytesIO(damaged), enter={(3,), (3, 2)})):
            try:
                list(fields)
            except ProtobufError:
                continue


def test_values_are_read_by_type() -> None:
    assert signed((1 << 64) - 2) == -2
    assert float_of(struct.pack("<f", 1.5)) == float_of(struct.pack("<d", 1.5)) == 1.5
    assert float_of(3) != float_of(3)
    assert integers_of(5) == [5]
    assert integers_of(varint(1) + varint(300)) == [1, 300]
    with pytest.raises(ProtobufError):
        integers_of(b"\xff")
    with pytest.raises(ProtobufError):
        message_of(5)
