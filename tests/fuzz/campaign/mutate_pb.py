"""Paddle's protobuf profiles: fields re-tagged, lengths that lie, varints without an end, deep nesting."""

from __future__ import annotations

import random


def varint(value: int) -> bytes:
    out = bytearray()
    value &= (1 << 70) - 1
    while True:
        byte = value & 0x7F
        value >>= 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def fields(data: bytes) -> list[tuple[int, int, bytes | int]] | None:
    """Number, wire type, value of each field; None when the bytes are no message."""
    found: list[tuple[int, int, bytes | int]] = []
    at = 0

    def number() -> int | None:
        nonlocal at
        value = shift = 0
        while at < len(data) and shift < 70:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        return None

    while at < len(data):
        tag = number()
        if tag is None or tag >> 3 == 0:
            return None
        wire = tag & 7
        if wire == 0:
            value = number()
            if value is None:
                return None
            found.append((tag >> 3, 0, value))
        elif wire in (1, 2, 5):
            length = number() if wire == 2 else {1: 8, 5: 4}[wire]
            if length is None or at + length > len(data):
                return None
            found.append((tag >> 3, wire, data[at : at + length]))
            at += length
        else:
            return None
    return found


def pack(found: list[tuple[int, int, bytes | int]], rng: random.Random, lie: float) -> bytes:
    out = bytearray()
    for number, wire, value in found:
        out += varint(number << 3 | wire)
        if wire == 0:
            out += varint(int(value))
        else:
            assert isinstance(value, bytes)
            if wire == 2:
                out += varint(
                    len(value)
                    if rng.random() > lie
                    else rng.choice([0, len(value) + 1, 2**31, 2**63, 2**64 - 1])
                )
            out += value
    return bytes(out)


def pruned(data: bytes, most: int, depth: int = 0) -> bytes:
    """A message with no more than so many of each repeated field, there and in what lies in it."""
    found = fields(data)
    if not found or depth > 12:
        return data
    kept: list[tuple[int, int, bytes | int]] = []
    seen: dict[int, int] = {}
    for number, wire, value in found:
        seen[number] = seen.get(number, 0) + 1
        if seen[number] <= most:
            inner = pruned(value, most, depth + 1) if wire == 2 and isinstance(value, bytes) else value
            kept.append((number, wire, inner))
    return pack(kept, random.Random(0), 0)


NUMBERS = (0, 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def structured(data: bytes, rng: random.Random, depth: int = 0) -> bytes:
    """Change some fields, here or in a message below."""
    found = fields(data)
    if not found or depth > 12:
        return data
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(found))
        number, wire, value = found[place]
        action = rng.randrange(8)
        if wire == 2 and isinstance(value, bytes) and len(value) > 3 and rng.random() < 0.75:
            found[place] = (number, 2, structured(value, rng, depth + 1))
        elif action == 0:
            found[place] = (rng.choice([number, number + 1, 1, 2, 3, 15, 2**29 - 1]), wire, value)
        elif action == 1 and wire == 0:
            found[place] = (number, 0, rng.choice(NUMBERS))
        elif action == 2:
            found.insert(place, found[rng.randrange(len(found))])
        elif action == 3:
            del found[place]
            if not found:
                return b""
        elif action == 4:
            found[place] = (number, 2, rng.randbytes(rng.choice([0, 3, 50, 2000])))
        elif action == 5:
            found[place] = (number, 0, rng.choice(NUMBERS))
        elif action == 6:
            rng.shuffle(found)
        else:
            found.append((number, wire, value))
    return pack(found, rng, 0.01)


def mutate(seed: bytes, rng: random.Random) -> tuple[bytes, str]:
    kind = rng.choice(["fields", "fields", "fields", "bytes", "cut", "varint", "nest"])
    if kind == "fields":
        return structured(seed, rng), kind
    data = bytearray(seed)
    if kind == "bytes":
        for _ in range(rng.choice([1, 5, 50])):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data), kind
    if kind == "cut":
        return bytes(data[: rng.randrange(len(data))]), kind
    at = rng.randrange(len(data))
    if kind == "varint":
        data[at:at] = rng.choice([b"\xff" * rng.choice([9, 10, 11, 5000]), b"\x80" * 2000 + b"\x01"])
        return bytes(data), kind
    body = b"\x0a\x00"
    for _ in range(rng.choice([50, 1000, 5000])):
        body = varint(rng.choice([1, 2, 3, 4, 5]) << 3 | 2) + varint(len(body)) + body
    return bytes(data[:20]) + varint(3 << 3 | 2) + varint(len(body)) + body, kind
