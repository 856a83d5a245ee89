"""Turns Perfetto's debug annotations into JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from warpline.interchange.framework.columns import Int64Array, clean_text
from warpline.interchange.framework.messages.message_tables import Tables
from warpline.interchange.framework.protobuf import (
    ProtobufError,
    float_of,
    integer_of,
    read_fields,
    signed,
    text_of,
)
from warpline.interchange.perfetto.sequences import Packets, Sequences

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

Lookup = Callable[[str, int], str]
"""The text of an interned entry, by table and id."""
_DEEPEST = 16


_ANNOTATION = "record.event.annotation"


class Annotations:
    """Turns the debug annotations of events into the text of JSON objects."""

    def __init__(self, builder: CaptureBuilder, sequences: Sequences) -> None:
        self._builder = builder
        self._sequences = sequences
        self._literals: dict[int, str] = {}

    def payloads(self, piece: Packets, state: Int64Array, count: int) -> Int64Array:
        """The string id of the object of each event of a piece, int64 [count]; 0 without annotations."""
        tables = piece.tables
        result = np.zeros(count, np.int64)
        parents = tables.parent(_ANNOTATION)
        if not len(parents):
            return result
        states = state[parents]
        names = self._names(piece, states)
        values = self._values(piece, states)
        names, parents, values = _last_of_each(names, parents, values)
        members = [
            f"{name}:{value}" for name, value in zip(map(self._literal, names.tolist()), values, strict=True)
        ]
        heads = np.flatnonzero(np.r_[True, parents[1:] != parents[:-1]])
        borders = [*heads.tolist(), len(members)]
        objects = [f"{{{','.join(members[begin:stop])}}}" for begin, stop in pairwise(borders)]
        result[parents[heads]] = self._builder.strings(objects)
        return result

    def _literal(self, name: int) -> str:
        literal = self._literals.get(name)
        if literal is None:
            literal = self._literals[name] = _quoted(self._builder.text(name))
        return literal

    def _names(self, piece: Packets, states: Int64Array) -> Int64Array:
        tables = piece.tables
        names = self._sequences.lookup("annotation", states, tables[f"{_ANNOTATION}.name_iid"])
        direct = tables[f"{_ANNOTATION}.name"]
        for row in np.flatnonzero(direct >= 0).tolist():
            names[row] = self._builder.string(clean_text(tables.text(int(direct[row]))))
        return names

    def _values(self, piece: Packets, states: Int64Array) -> list[str]:
        """The value of each annotation as JSON."""
        tables = piece.tables
        values = ["null"] * len(states)
        for column, literals in _PLAIN.items():
            rows, own = _column(tables, column)
            for row, text in zip(rows.tolist(), literals(own), strict=True):
                values[row] = text
        for column in ("text", "json"):
            rows, own = _column(tables, column)
            distinct, codes = np.unique(own, return_inverse=True)
            texts = [_quoted(tables.text(code)) for code in distinct.tolist()]
            for row, code in zip(rows.tolist(), codes.reshape(-1).tolist(), strict=True):
                values[row] = texts[code]
        rows, interned = _column(tables, "string_iid")
        texts_of = self._sequences.lookup("string", states[rows], interned)
        for row, text in zip(rows.tolist(), texts_of.tolist(), strict=True):
            values[row] = self._literal(text)
        for row, value in self._nested(piece, states).items():
            values[row] = msgspec.json.encode(value).decode()
        return values

    def _nested(self, piece: Packets, states: Int64Array) -> dict[int, Any]:
        """The values of annotations that hold others, by row."""
        tables = piece.tables
        found: dict[int, Any] = {}
        for row, code in zip(*(column.tolist() for column in _column(tables, "nested")), strict=True):
            with suppress(ProtobufError):
                found[row] = _nested(tables.texts[code], 0)
        entries: defaultdict[int, dict[str, Any]] = defaultdict(dict)
        items: defaultdict[int, list[Any]] = defaultdict(list)
        for table in ("entry", "item"):
            for row, code in zip(*(column.tolist() for column in _column(tables, table)), strict=True):
                try:
                    name, value = _named(tables.texts[code], partial(self._interned, int(states[row])), 1)
                except ProtobufError:
                    continue
                if table == "entry":
                    entries[row][name] = value
                else:
                    items[row].append(value)
        return {**found, **items, **entries}

    def _interned(self, state: int, kind: str, iid: int) -> str:
        return self._builder.text(self._sequences.named(kind, state, iid, 0))


def _column(tables: Tables, name: str) -> tuple[Int64Array, Int64Array]:
    """The annotations that have a field, and its values."""
    return tables.parent(f"{_ANNOTATION}.{name}"), tables[f"{_ANNOTATION}.{name}.value"]


def _last_of_each(
    names: Int64Array, parents: Int64Array, values: list[str]
) -> tuple[Int64Array, Int64Array, list[str]]:
    """Keep the last of several annotations with one name in an event."""
    keys = parents * (int(names.max()) + 1) + names
    _, last = np.unique(keys[::-1], return_index=True)
    if len(last) == len(keys):
        return names, parents, values
    kept = np.sort(len(keys) - 1 - last)
    return names[kept], parents[kept], [values[row] for row in kept.tolist()]


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _real(value: float) -> str:
    shown = _finite(value)
    return _quoted(shown) if isinstance(shown, str) else repr(shown)


_PLAIN: dict[str, Callable[[Int64Array], Iterable[str]]] = {
    "boolean": lambda values: ("true" if value else "false" for value in values.tolist()),
    "unsigned": lambda values: map(str, values.view(np.uint64).tolist()),
    "signed": lambda values: map(str, values.tolist()),
    "real": lambda values: map(_real, values.view(np.float64).tolist()),
    "pointer": lambda values: (f'"{value:#x}"' for value in values.view(np.uint64).tolist()),
}
"""JSON of numbers, by column."""


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
