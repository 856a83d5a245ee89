"""Arguments of events as columns, found by the compiled scanner instead of decoding each event."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import (
    NO_INTEGER,
    MaskedColumn,
    TextColumn,
    clean_text,
    missing_numbers,
    raw_text,
    repeated_text,
)
from warpline.interchange.framework.interning import at, pieces, slot_count
from warpline.interchange.trace_json.arguments import Int64
from warpline.interchange.trace_json.scanner import Scan

Int64Array = npt.NDArray[np.int64]

_INTEGER, _REAL, _TOKEN, _TRIPLE = range(4)


class ScannedArguments:
    """`arguments.Arguments` from scanned text."""

    def __init__(
        self, count: int, columns: Int64Array, reals: npt.NDArray[np.float64], places: dict[str, int]
    ) -> None:
        self._count = count
        self._columns = columns
        self._reals = reals
        self._places = places
        self._tokens: dict[str, list[bytes]] = {}
        self._rest = repeated_text("", count)

    @classmethod
    def of(cls, scan: Scan, objects: Int64Array, args_type: type[Any]) -> ScannedArguments | None:
        """The fields of a struct type in the objects that begin at these tokens (`NO_INTEGER` for no object).

        None when an object does not fit the type.
        """
        count = len(objects)
        fields = _fields(args_type)
        types = np.array([field.code for field in fields], np.int32)
        widths = np.where(types == _TRIPLE, 3, 1)
        columns = np.ascontiguousarray(np.cumsum(widths) - widths, np.int64)
        key_ends = np.cumsum(np.array([len(field.key) for field in fields], np.int64))
        # Untouched pages take no memory.
        out = np.empty((int(widths.sum()), count), np.int64)
        reals = np.empty((int(widths.sum()) if (types == _REAL).any() else 0, count))
        slots = slot_count(count)
        texts = len(fields) if (types == _TOKEN).any() else 0
        spans = np.empty((texts, count, 2), np.int64)
        table = np.empty((texts, slots), np.int32)
        counts = np.zeros(len(fields), np.int64)
        hits = np.zeros(len(fields), np.int64)
        rest = _Rest.room_for(count, slots, len(scan.text))
        odd = scan.lib.warpline_scan_members(
            scan.address, at(scan.tokens), ctypes.c_int64(len(scan.tokens)), ctypes.c_int64(count),
            at(objects), ctypes.c_int64(len(fields)), ctypes.c_char_p(b"".join(field.key for field in fields)),
            at(key_ends), at(types), at(columns), at(out), at(reals), at(spans), at(table), ctypes.c_int64(slots),
            at(counts), at(hits), at(rest.text), ctypes.c_int64(len(rest.text)), at(rest.codes), at(rest.spans),
            at(rest.slots), at(rest.counts),
        )  # fmt: skip
        others = rest.column() if odd == 0 else None
        if others is None:
            return None
        result = cls(count, out, reals, {})
        result._rest = others
        for index, field in enumerate(fields):
            if not hits[index]:
                continue
            result._places[field.name] = int(columns[index])
            if field.code == _TOKEN:
                tokens = pieces(scan.text, spans[index, : counts[index]])
                if not are_json(tokens) or (field.is_text and any(token[:1] != b'"' for token in tokens)):
                    return None
                result._tokens[field.name] = tokens
        return result

    def __len__(self) -> int:
        return self._count

    def has(self, name: str) -> bool:
        """See `Arguments.has`."""
        return name in self._places

    def integers(self, name: str) -> MaskedColumn:
        """See `Arguments.integers`."""
        if not self.has(name):
            return missing_numbers(self._count)
        column = self._columns[self._places[name]]
        return np.ma.MaskedArray(column, column == NO_INTEGER)

    def floats(self, name: str) -> MaskedColumn:
        """See `Arguments.floats`."""
        if not self.has(name):
            return missing_numbers(self._count)
        column = self._reals[self._places[name]]
        return np.ma.MaskedArray(column, np.isnan(column))

    def triples(self, name: str) -> Int64Array:
        """See `Arguments.triples`."""
        place = self._places[name]
        return self._columns[place : place + 3].T

    def texts(self, name: str) -> TextColumn:
        """See `Arguments.texts`."""
        return self._text_column(name, lambda token: text_of(token) or "")

    def json_texts(self, name: str) -> TextColumn:
        """See `Arguments.json_texts`."""
        return self._text_column(name, raw_text)

    def rest(self) -> TextColumn:
        """See `Arguments.rest`."""
        return self._rest

    def _text_column(self, name: str, convert: Callable[[bytes], str]) -> TextColumn:
        if not self.has(name):
            return repeated_text("", self._count)
        tokens = self._tokens[name]
        codes = self._columns[self._places[name]]
        table = [*(clean_text(convert(token)) for token in tokens), ""]
        return TextColumn(np.where(codes == NO_INTEGER, len(tokens), codes).astype(np.uint32), table)


@dataclass(frozen=True)
class _Rest:
    """Members without a field: the distinct texts (uint8), their spans, and the code of each object."""

    text: npt.NDArray[np.uint8]
    codes: Int64Array
    spans: Int64Array
    slots: npt.NDArray[np.int32]
    counts: Int64Array

    @classmethod
    def room_for(cls, count: int, slots: int, size: int) -> _Rest:
        """Memory for ``count`` objects in a text of ``size`` bytes."""
        # The shortest member, `"":1,`, grows by two blanks.
        return cls(
            np.empty(3 * size // 2 + 64, np.uint8),
            np.empty(count, np.int64),
            np.empty((count, 2), np.int64),
            np.empty(slots, np.int32),
            np.zeros(2, np.int64),
        )

    def column(self) -> TextColumn | None:
        """The members of each object as a JSON object, "" for none; None when one is damaged."""
        distinct, size = self.counts.tolist()
        if not distinct:
            return repeated_text("", len(self.codes))
        self.text[size - 1] = ord("]")
        whole = self.text[:size].tobytes()
        if not is_json(whole):
            return None
        spans = self.spans[:distinct]
        if whole.isascii():
            # Needs no cleaning: JSON text has no NUL.
            text = whole.decode("ascii")
            table = [text[begin : begin + length] for begin, length in spans.tolist()]
        else:
            table = [clean_text(raw_text(piece)) for piece in pieces(whole, spans)]
        table.append("")
        return TextColumn(np.where(self.codes == NO_INTEGER, distinct, self.codes).astype(np.uint32), table)


@dataclass(frozen=True)
class _Field:
    """A field: its name in the struct, its key in the text, its type."""

    name: str
    key: bytes
    code: int
    is_text: bool


_FIELDS: dict[str, tuple[_Field, ...]] = {}


def _fields(args_type: type[Any]) -> tuple[_Field, ...]:
    key = f"{args_type.__module__}.{args_type.__qualname__}"
    if key not in _FIELDS:
        _FIELDS[key] = tuple(
            _Field(field.name, field.encode_name.encode(), _type_code(field.type), field.type is str)
            for field in msgspec.structs.fields(args_type)
        )
    return _FIELDS[key]


def _type_code(wanted: Any) -> int:
    if wanted in (Int64, Int64 | None):
        return _INTEGER
    if wanted is float:
        return _REAL
    return _TOKEN if wanted in (str, msgspec.Raw) else _TRIPLE


_RAW = msgspec.json.Decoder(msgspec.Raw)


def is_json(token: bytes) -> bool:
    """Whether the text is one JSON value."""
    try:
        _RAW.decode(token)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return True


def are_json(tokens: Sequence[bytes]) -> bool:
    """Whether each non-empty token of the scanner is a JSON value.

    The scanner pairs brackets and quotation marks, so checking the joined tokens is enough.
    """
    return is_json(b"[" + b",".join(filter(None, tokens)) + b"]")


def text_of(token: bytes) -> str | None:
    """The text of a JSON string; None when the token is not a string."""
    try:
        value = msgspec.json.decode(token)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return clean_text(value) if isinstance(value, str) else None
