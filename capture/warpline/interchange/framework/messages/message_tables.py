"""Reads the records of a protocol buffer as tables of numpy columns, with a compiled loop."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpline.compiled import Signatures, address, load
from warpline.interchange.framework.interning import SHARED_SOURCES, at, pieces, slot_count
from warpline.interchange.framework.messages.schema import Action, Schema, TableLayout, layouts
from warpline.interchange.framework.protobuf import (
    Message,
    ProtobufError,
    integers_of,
    read_varint,
    signed,
    wire_fields,
)
from warpline.interchange.framework.unpacking import UNPACKING_ERRORS, Readable
from warpline.platform.systems import library_file

LIBRARY = Path(__file__).parent / library_file("framework")
SIGNATURES: Signatures = {"warpline_message_tables": (ctypes.c_int64, None)}
MISSING = int(np.iinfo(np.int64).min)
"""The value of a field that a message does not have."""
PIECE_BYTES = 1 << 20
MOST_RECORD_BYTES = 64 << 20
_ROOM = 1 << 16
"""Initial number of rows of each table."""
_MOST_OTHERS = 64
_UINT64 = (1 << 64) - 1
_FULL, _NO_RECORD = 1, 2

Int64Array = npt.NDArray[np.int64]


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loop, None if there is none."""
    return load(LIBRARY, SIGNATURES, SHARED_SOURCES)


class Tables:
    """The tables of some records. ``texts`` are the distinct texts (bytes) that the codes in text columns stand for."""

    def __init__(
        self, known: list[TableLayout], rows: list[Int64Array], texts: list[bytes], positions: Int64Array
    ) -> None:
        self._places = {layout.name: index for index, layout in enumerate(known)}
        self._known = known
        self._rows = rows
        self.texts = texts
        self.positions = positions
        """Where the content of each record begins in the file."""

    def __getitem__(self, column: str) -> Int64Array:
        """A column, by table and name: ``packet.event.type``; `MISSING` where the message lacks the field."""
        table, _, name = column.rpartition(".")
        place = self._places[table]
        values: Int64Array = self._rows[place][1 + self._known[place].columns.index(name)]
        return values

    def parent(self, table: str) -> Int64Array:
        """For each row, the row of the message around it."""
        parents: Int64Array = self._rows[self._places[table]][0]
        return parents

    def count(self, table: str) -> int:
        """The number of rows."""
        return int(self._rows[self._places[table]].shape[1])

    def text(self, code: int) -> str:
        """The text with a code; "" for `MISSING`."""
        return "" if code < 0 else self.texts[code].decode("utf-8", "replace")


class MessageReader:
    """Reads a file record by record: every field of a number, in pieces that fit the memory.

    After iterating, ``damaged`` counts records that are no valid messages, ``problem`` says why reading ended early (in
    the reader's words, "" if it did not), ``header`` holds the first fields beside the records (the last value of each
    number), and `others` says how often fields occurred that the schema leaves out.
    """

    def __init__(
        self, source: Readable, schema: Schema, *, record: int = 1, piece_bytes: int = PIECE_BYTES
    ) -> None:
        self._source = source
        self._record = record
        self.header: Message = {}
        self._piece_bytes = piece_bytes
        self._layouts = layouts(schema, "record")
        self._unknown = [
            np.zeros(1 + max(layout.fields, default=0) + 2048, np.int64) if layout.count_others else None
            for layout in self._layouts
        ]
        self.damaged = 0
        self.problem = ""

    def others(self, table: str) -> Counter[int]:
        """How often ignored fields occurred in the messages of a table, by field number; 0 for very large numbers."""
        place = next(place for place, layout in enumerate(self._layouts) if layout.name == table)
        counts = self._unknown[place]
        if counts is None:
            return Counter()
        return Counter({number: int(counts[number]) for number in np.flatnonzero(counts).tolist()})

    def __iter__(self) -> Iterator[Tables]:
        lib = library()
        kind = _Compiled if lib else _Plain
        decode = kind(self._layouts, self._unknown, self._record, self.header)
        rest = b""
        position = 0
        while True:
            part = self._read(max(self._piece_bytes, len(rest)))
            data = rest + part
            begin = 0
            reason = _FULL
            while reason == _FULL:
                tables, begin, damaged, reason = decode(data, begin, position)
                self.damaged += damaged
                if tables is not None:
                    yield tables
            rest = data[begin:]
            position += begin
            if reason == _NO_RECORD:
                self.problem = "invalid data"
                return
            if not part:
                if rest and not self.problem:
                    self.problem = "the file ends early"
                return
            if len(rest) > MOST_RECORD_BYTES:
                self.problem = f"a record of more than {MOST_RECORD_BYTES >> 20} MB"
                return

    def _read(self, size: int) -> bytes:
        try:
            return self._source.read(size)
        except UNPACKING_ERRORS as error:
            self.problem = str(error) or type(error).__name__
            return b""


_Decoded = tuple[Tables | None, int, int, int]
"""Tables (None without a record), the position behind them, damaged records, why decoding ended."""


class _CTable(ctypes.Structure):
    _fields_ = (
        ("actions", ctypes.c_void_p),
        ("field_count", ctypes.c_int64),
        ("rows", ctypes.c_void_p),
        ("columns", ctypes.c_int64),
        ("count", ctypes.c_int64),
        ("unknown", ctypes.c_void_p),
        ("record", ctypes.c_int64),
        ("before", ctypes.c_int64),
    )


class _Compiled:
    """The loop in C. Columns stay valid until the next call, so each call copies the rows out of its buffers."""

    def __init__(
        self, known: list[TableLayout], unknown: list[Int64Array | None], record: int, header: Message
    ) -> None:
        lib = library()
        assert lib is not None
        self._function = lib.warpline_message_tables
        self._record = record
        self._header = header
        self._others = np.zeros((_MOST_OTHERS, 3), np.int64)
        self._layouts = known
        self._unknown = unknown
        self._actions = [_actions(layout, counts) for layout, counts in zip(known, unknown, strict=True)]
        self._room = 0
        self._tables = (_CTable * len(known))()
        self._result = np.zeros(5, np.int64)
        self._make_room(_ROOM)

    def _make_room(self, room: int) -> None:
        self._room = room
        self._rows = [np.empty((room, 1 + len(layout.columns)), np.int64) for layout in self._layouts]
        self._spans = np.empty((room, 2), np.int64)
        self._slots = np.empty(slot_count(room), np.int32)
        for table, rows, actions, counts in zip(
            self._tables, self._rows, self._actions, self._unknown, strict=True
        ):
            table.actions = address(actions)
            table.field_count = len(actions)
            table.rows = address(rows)
            table.columns = rows.shape[1]
            table.unknown = address(counts) if counts is not None else None

    def __call__(self, data: bytes, begin: int, position: int) -> _Decoded:
        for table in self._tables:
            table.count = 0
        stop = self._function(
            data, ctypes.c_int64(begin), ctypes.c_int64(len(data)), self._tables,
            ctypes.c_int64(len(self._tables)), ctypes.c_int64(self._room), at(self._spans), at(self._slots),
            ctypes.c_int64(len(self._slots)),
            ctypes.c_int64(self._record), at(self._others), ctypes.c_int64(len(self._others)), at(self._result),
        )  # fmt: skip
        damaged, texts, reason, needed, others = self._result.tolist()
        for tag, place, length in self._others[:others].tolist():
            is_number = tag & 7 == 0
            self._header[tag >> 3] = place & _UINT64 if is_number else data[place : place + length]
        if reason == _FULL and stop == begin:
            # A row takes at least a byte, so this leaves room for the next record.
            self._make_room(needed)
            return None, begin, damaged, _FULL
        if not self._tables[0].count:
            return None, int(stop), damaged, reason
        rows = [
            np.array(own[: table.count].T, order="C")
            for own, table in zip(self._rows, self._tables, strict=True)
        ]
        positions = rows[0][0] + position
        known = pieces(data, self._spans[:texts])
        return Tables(self._layouts, rows, known, positions), int(stop), damaged, reason


def _actions(layout: TableLayout, unknown: Int64Array | None) -> npt.NDArray[np.int32]:
    size = 1 + max(layout.fields, default=0) if unknown is None else len(unknown)
    table = np.zeros((size, 2), np.int32)
    for number, (action, target) in layout.fields.items():
        table[number] = action, target
    return table


class _Plain:
    """The twin of the loop in C."""

    def __init__(
        self, known: list[TableLayout], unknown: list[Int64Array | None], record: int, header: Message
    ) -> None:
        self._tag = record << 3 | 2
        self._header = header
        self._layouts = known
        self._unknown = unknown
        self._rows: list[list[list[int]]] = []
        self._codes: dict[bytes, int] = {}

    def __call__(self, data: bytes, begin: int, position: int) -> _Decoded:
        self._rows = [[] for _ in self._layouts]
        self._codes = {}
        damaged = reason = others = 0
        place = begin
        while place < len(data):
            try:
                tag, content = read_varint(data, place)
            except ProtobufError:
                reason = _NO_RECORD if len(data) - place > 10 else 0
                break
            kind = tag & 7
            if tag >> 3 == 0 or kind not in (0, 1, 2, 5):
                reason = _NO_RECORD
                break
            value, length = 0, {1: 8, 5: 4}.get(kind, 0)
            if not length:
                try:
                    length, content = read_varint(data, content)
                except ProtobufError:
                    reason = _NO_RECORD if len(data) - content > 10 else 0
                    break
                value, length = length, 0 if kind == 0 else length
            if length > len(data) - content:
                break
            if tag == self._tag:
                counts = [len(rows) for rows in self._rows]
                try:
                    self._message(0, content, data[content : content + length])
                except ProtobufError:
                    for rows, count in zip(self._rows, counts, strict=True):
                        del rows[count:]
                    damaged += 1
            elif others < _MOST_OTHERS:
                others += 1
                self._header[tag >> 3] = data[content : content + length] if kind else value
            place = content + length
        if not self._rows[0]:
            return None, place, damaged, reason
        columns = [
            np.array(own, np.int64).reshape(-1, 1 + len(layout.columns)).T
            for own, layout in zip(self._rows, self._layouts, strict=True)
        ]
        tables = Tables(self._layouts, columns, list(self._codes), columns[0][0] + position)
        return tables, place, damaged, reason

    def _message(self, number: int, parent: int, message: bytes) -> None:
        layout, unknown = self._layouts[number], self._unknown[number]
        index = len(self._rows[number])
        row = self._add(number, parent)
        for field, value in wire_fields(message):
            action, target = layout.fields.get(field, (Action.IGNORED, 0))
            if action == Action.NUMBER and isinstance(value, int):
                row[target] = signed(value)
            elif action == Action.TEXT and isinstance(value, bytes):
                row[target] = self._code(value)
            elif action == Action.MESSAGE and isinstance(value, bytes):
                self._message(target, index, value)
            elif action == Action.TEXTS and isinstance(value, bytes):
                self._add(target, index)[1] = self._code(value)
            elif action == Action.NUMBERS:
                for part in integers_of(value):
                    self._add(target, index)[1] = signed(part)
            elif unknown is not None:
                unknown[field if field < len(unknown) else 0] += 1

    def _add(self, number: int, parent: int) -> list[int]:
        row = [parent] + [MISSING] * len(self._layouts[number].columns)
        self._rows[number].append(row)
        return row

    def _code(self, value: bytes) -> int:
        return self._codes.setdefault(value, len(self._codes))


def count_or_zero(values: Int64Array) -> Int64Array:
    """The values, 0 where they are missing: what an absent field means in proto3."""
    return np.where(values == MISSING, 0, values)
