"""Decodes binary NVTX payloads into JSON, with the schemas listed in the export.

Layout of NVTX_EVENTS.binaryData, as github.com/GindaChen/nsys-ai verified it on exports of 2026: each payload follows a
header of four unsigned 64-bit numbers (domain, schema, size of the payload, size with header). Types and flags of
entries are those of NVTX's ``nvToolsExtPayload.h``, sizes those of 64-bit Linux.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from warpline.interchange.nsys.tables.access import NULL, TableFile, decode, read_all

_HEADER = struct.Struct("<QQQQ")
_LOW = 0xFFFF_FFFF
_DEEPEST = 4
_MOST_ELEMENTS = 64
"""Longer arrays are truncated: a payload is shown in a panel."""

_SCALARS: Mapping[int, str] = {
    1: "c", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "q", 8: "Q", 9: "q", 10: "Q",
    11: "b", 12: "B", 13: "h", 14: "H", 15: "i", 16: "I", 17: "q", 18: "Q",
    19: "f", 20: "d", 22: "Q", 23: "Q", 25: "c", 32: "B",
    42: "e", 43: "f", 44: "d", 68: "I", 69: "I", 70: "Q", 71: "I", 72: "Q", 73: "I", 74: "Q",
}  # fmt: skip
"""Type of an entry → `struct` format."""
_ADDRESS = 23
_STRINGS: Mapping[int, str] = {75: "utf-8", 76: "utf-8", 77: "utf-16-le", 78: "utf-32-le"}
# Flags of values that are stored elsewhere: pointers, offsets, arrays with their length in another value.
_ELSEWHERE = 0b1110
_ARRAY, _FIXED_LENGTH, _ZERO_TERMINATED = 0b11_0000, 1 << 4, 2 << 4


@dataclass(frozen=True)
class _Entry:
    name: str
    type: int
    flags: int
    detail: int
    offset: int | None


@dataclass(frozen=True)
class Payloads:
    """Decodes payloads that have a schema in the file and fit it."""

    schemas: Mapping[tuple[int, int], tuple[_Entry, ...]] = field(default_factory=dict)
    enums: Mapping[tuple[int, int], Mapping[int, str]] = field(default_factory=dict)
    sizes: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def text(self, data: bytes) -> str | None:
        """The payloads of an event as JSON, None when one cannot be decoded."""
        payloads: list[dict[str, Any]] = []
        at = 0
        while at < len(data):
            if at + _HEADER.size > len(data):
                return None
            domain, schema, size, whole = _HEADER.unpack_from(data, at)
            key = (domain & _LOW, schema)
            if key not in self.schemas or whole != size + _HEADER.size or at + whole > len(data):
                return None
            values = self._values(key, data[at + _HEADER.size : at + whole], 0)
            if values is None:
                return None
            payloads.append(values)
            at += whole
        if not payloads:
            return None
        return orjson.dumps(payloads[0] if len(payloads) == 1 else payloads, default=str).decode()

    def _values(self, key: tuple[int, int], data: bytes, depth: int) -> dict[str, Any] | None:
        members: dict[str, Any] = {}
        end = 0
        for number, entry in enumerate(self.schemas[key]):
            size = self._size(key[0], entry)
            if size is None:
                continue
            # Without a stored offset, an entry follows the one before, aligned.
            align = min(8, size) if entry.type in _SCALARS else 8
            start = entry.offset if entry.offset is not None else -(-end // align) * align if number else 0
            count = (
                entry.detail if entry.flags & _ARRAY == _FIXED_LENGTH and entry.type not in _STRINGS else 1
            )
            end = start + size * count
            if end > len(data):
                return None
            values = [
                self._value(key[0], entry, data[start + n * size : start + (n + 1) * size], depth)
                for n in range(min(count, _MOST_ELEMENTS))
            ]
            is_array = bool(entry.flags & _ARRAY) and entry.type not in _STRINGS
            members[entry.name or f"value {number}"] = values if is_array else values[0]
        return members

    def _size(self, domain: int, entry: _Entry) -> int | None:
        """Bytes of one element, None for a value stored elsewhere."""
        if entry.flags & _ELSEWHERE or entry.flags & _ARRAY not in (0, _FIXED_LENGTH):
            return None
        if entry.type in _SCALARS:
            return struct.calcsize("<" + _SCALARS[entry.type])
        if entry.type in _STRINGS:
            return entry.detail or None
        return self.sizes.get((domain, entry.type)) or None

    def _value(self, domain: int, entry: _Entry, data: bytes, depth: int) -> Any:
        key = (domain, entry.type)
        if entry.type in _SCALARS:
            (value,) = struct.unpack("<" + _SCALARS[entry.type], data)
            if isinstance(value, bytes):
                return value.decode("latin-1")
            if isinstance(value, float) and not math.isfinite(value):
                return str(value)
            return f"0x{value:x}" if entry.type == _ADDRESS else value
        if entry.type in _STRINGS:
            return data.decode(_STRINGS[entry.type], "replace").partition("\0")[0]
        if key in self.enums:
            number = int.from_bytes(data, "little", signed=True)
            return self.enums[key].get(number, number)
        return self._values(key, data, depth + 1) if depth < _DEEPEST and key in self.schemas else None


def read_payloads(tables: TableFile) -> Payloads:
    """The schemas and enumerations in an export; processes repeat them."""
    entries: dict[tuple[int, int], dict[int, _Entry]] = {}
    columns = ("domainId", "schemaId", "idx", "flags", "type", "arrayOrUnionDetail", "offset")
    rows = read_all(tables, "NVTX_PAYLOAD_SCHEMA_ENTRIES", ints=columns, texts=("name",))
    for domain, schema, number, flags, kind, detail, offset, name in zip(
        *(rows[column].tolist() for column in columns), rows.texts["name"], strict=True
    ):
        entries.setdefault((domain, schema), {})[number] = _Entry(
            decode(name), kind, max(flags, 0), max(detail, 0), offset if offset >= 0 else None
        )
    sizes: dict[tuple[int, int], int] = {}
    for table, size_column in (("NVTX_PAYLOAD_SCHEMAS", "payloadSize"), ("NVTX_PAYLOAD_ENUMS", "size")):
        rows = read_all(tables, table, ints=("domainId", "schemaId", size_column))
        triples = (rows[column].tolist() for column in ("domainId", "schemaId", size_column))
        sizes.update({(domain, schema): max(size, 0) for domain, schema, size in zip(*triples, strict=True)})
    enums: dict[tuple[int, int], dict[int, str]] = {}
    rows = read_all(
        tables, "NVTX_PAYLOAD_ENUM_ENTRIES", ints=("domainId", "schemaId", "value"), texts=("name",)
    )
    for domain, schema, value, name in zip(
        *(rows[column].tolist() for column in ("domainId", "schemaId", "value")),
        rows.texts["name"],
        strict=True,
    ):
        enums.setdefault((domain, schema), {})[0 if value == NULL else value] = decode(name)
    for key in enums:
        sizes.setdefault(key, 4)
    schemas = {
        key: tuple(numbered[number] for number in sorted(numbered)) for key, numbered in entries.items()
    }
    return Payloads(schemas, enums, sizes)


def as_bytes(cell: bytes) -> bytes:
    """The bytes of a cell, which may be written in hexadecimal digits."""
    if len(cell) >= 2 * _HEADER.size and cell[:1].isalnum():
        try:
            return bytes.fromhex(cell.decode("ascii").removeprefix("0x"))
        except (UnicodeDecodeError, ValueError):
            pass  # not hexadecimal, so these are the bytes
    return cell
