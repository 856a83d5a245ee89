"""Turns Perfetto's debug annotations into JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from warpline.interchange.framework.protobuf import (
    ProtobufError,
    float_of,
    integer_of,
    read_fields,
    signed,
    text_of,
)

Lookup = Callable[[str, int], str]
"""The text of an interned entry, by table and id."""
_DEEPEST = 16


def as_json(annotations: list[bytes], lookup: Lookup) -> str:
    """The annotations of an event as a JSON object; "" when none can be read."""
    values: dict[str, Any] = {}
    for annotation in annotations:
        try:
            name, value = _named(annotation, lookup, 0)
        except ProtobufError:
            continue
        values[name] = value
    return msgspec.json.encode(values).decode() if values else ""


def _named(annotation: bytes, lookup: Lookup, depth: int) -> tuple[str, Any]:
    name, value = "", None
    entries: dict[str, Any] = {}
    items: list[Any] = []
    for number, field in read_fields(annotation):
        if number == 1:
            name = lookup("annotation", integer_of(field))
        elif number == 10:
            name = text_of(field)
        elif number == 11 and isinstance(field, bytes) and depth < _DEEPEST:
            key, entry = _named(field, lookup, depth + 1)
            entries[key] = entry
        elif number == 12 and isinstance(field, bytes) and depth < _DEEPEST:
            items.append(_named(field, lookup, depth + 1)[1])
        elif number == 17:
            value = lookup("string", integer_of(field))
        elif number == 7:
            value = hex(integer_of(field))
        elif number == 8 and isinstance(field, bytes):
            value = _nested(field, depth)
        elif number in _SCALARS:
            value = _SCALARS[number](field)
    return name, entries or items or value


_SCALARS: dict[int, Callable[[Any], Any]] = {
    2: lambda value: bool(integer_of(value)),
    3: integer_of,
    4: lambda value: signed(integer_of(value)),
    5: lambda value: _finite(float_of(value)),
    6: text_of,
    9: text_of,
}
_NESTED: dict[int, Callable[[Any], Any]] = {5: _SCALARS[4], 6: _SCALARS[5], 7: _SCALARS[2], 8: text_of}


def _finite(value: float) -> float | str:
    """The number; a text for what JSON has no number for."""
    return value if abs(value) < float("inf") else str(value)


def _nested(message: bytes, depth: int) -> Any:
    keys: list[str] = []
    entries: list[Any] = []
    items: list[Any] = []
    value: Any = None
    for number, field in read_fields(message):
        if number == 2:
            keys.append(text_of(field))
        elif number in (3, 4) and isinstance(field, bytes) and depth < _DEEPEST:
            (entries if number == 3 else items).append(_nested(field, depth + 1))
        elif number in _NESTED:
            value = _NESTED[number](field)
    return dict(zip(keys, entries, strict=False)) or items or value
