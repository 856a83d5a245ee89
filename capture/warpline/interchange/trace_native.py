"""The common events of a trace as columns, found by a compiled scanner: several times faster than making objects.

The scanner (``native/trace_scan.c``) finds members in the text; what is unusual in any way it leaves to the decoder
in Python, whose results are the same. Without the library everything goes the slower way.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.interchange.columns import (
    NO_INTEGER,
    MaskedColumn,
    TextColumn,
    clean_text,
    missing_numbers,
    raw_text,
    repeated_text,
)
from warpline.interchange.torch_args import Int64
from warpline.interchange.torch_columns import FILLERS, LAUNCH_FLOWS, MEMORY, MEMORY_NAME, torch_route
from warpline.interchange.trace_groups import INSTANTS, SLICES, Group, Piece, ThreadKey, generic_route

Int64Array = npt.NDArray[np.int64]
_Pointer = ctypes.c_void_p

LIBRARY = Path(__file__).parent / "libwarpline_scan.so"

# Columns and tables of warpline_scan_events.
_PHASE, _CATEGORY, _NAME, _START, _DURATION, _PID, _TID, _ARGS, _ARGS_LENGTH, _BEGIN, _LENGTH, _ODD = range(
    12
)
_COLUMNS = 12
_PHASES, _CATEGORIES, _NAMES, _PIDS, _TIDS = range(5)
_TABLES = 5
_INTEGER, _REAL, _TOKEN, _TRIPLE = range(4)


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The scanner, None where it is not compiled."""
    try:
        found = ctypes.CDLL(str(LIBRARY))
        for name in ("warpline_scan_events", "warpline_scan_members", "warpline_intern"):
            getattr(found, name).restype = ctypes.c_int64
    except (OSError, AttributeError):
        return None
    return found


def _at(array: npt.NDArray[Any]) -> _Pointer:
    return _Pointer(array.ctypes.data)


def _slot_count(count: int) -> int:
    return max(16, 1 << (2 * count).bit_length())


class _Scan:
    """The events of a piece of text as the scanner found them."""

    def __init__(self, text: bytes, count: int, columns: Int64Array, tables: list[list[bytes]]) -> None:
        self.text = text
        self.count = count
        self.columns = columns
        self.tables = tables


def _scan(lib: ctypes.CDLL, text: bytes) -> _Scan | None:
    capacity = text.count(b'"ph"') + 16
    slots = _slot_count(capacity)
    columns = np.empty((_COLUMNS, capacity), np.int64)
    spans = np.empty((_TABLES, capacity, 2), np.int64)
    table = np.empty((_TABLES, slots), np.int32)
    counts = np.zeros(_TABLES, np.int64)
    count = lib.warpline_scan_events(
        ctypes.c_char_p(text), ctypes.c_int64(len(text)), ctypes.c_int64(capacity), _at(columns), _at(spans),
        _at(table), ctypes.c_int64(slots), _at(counts),
    )  # fmt: skip
    if count < 0:
        return None
    tokens = [
        [text[begin : begin + length] for begin, length in spans[number, : counts[number]].tolist()]
        for number in range(_TABLES)
    ]
    return _Scan(text, count, columns[:, :count], tokens)


def _text_of(token: bytes) -> str | None:
    """The text of a JSON string; None when the token is none."""
    try:
        value = msgspec.json.decode(token)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return clean_text(value) if isinstance(value, str) else None


def native_piece(text: bytes, format_name: str, decode_rest: Callable[[bytes], Piece]) -> Piece | None:
    """The columns of one piece of text, None when the scanner cannot take it.

    ``decode_rest`` gets the events that are not of the common form, as the text of an array.
    """
    lib = library()
    if lib is None or format_name not in _ROUTES:
        return None
    scan = _scan(lib, text)
    if scan is None:
        return None
    group_of, names, routes = _routed(scan, _ROUTES[format_name])
    piece = Piece(events=scan.count)
    rest = np.zeros(scan.count, np.bool_)
    for number, route in enumerate(routes):
        index = np.flatnonzero(group_of == number)
        if route == LAUNCH_FLOWS or not len(index):
            continue
        group = _group(lib, scan, index, route, names) if route else None
        if group is None:
            rest[index] = True
        else:
            piece.groups[route] = group
    if rest.any():
        begins, lengths = scan.columns[_BEGIN, rest].tolist(), scan.columns[_LENGTH, rest].tolist()
        parts = [text[begin : begin + length] for begin, length in zip(begins, lengths, strict=True)]
        piece.also = decode_rest(b"[" + b",".join(parts) + b"]")
        piece.events -= len(parts)
    return piece


def _routed(scan: _Scan, route: Callable[[str, str], str]) -> tuple[Int64Array, list[str | None], list[str]]:
    """For each event the number of its group, the names in the table, and the groups; "" is for the rest."""
    columns = scan.columns
    names = [_text_of(token) for token in scan.tables[_NAMES]]
    phases = [*(_text_of(token) for token in scan.tables[_PHASES]), None]
    categories = [*(_text_of(token) for token in scan.tables[_CATEGORIES]), ""]
    # A missing member counts from behind: the entry put at the end.
    phase = np.where(columns[_PHASE] == NO_INTEGER, len(phases) - 1, columns[_PHASE])
    category = np.where(columns[_CATEGORY] == NO_INTEGER, len(categories) - 1, columns[_CATEGORY])
    combined = phase * len(categories) + category
    present = np.flatnonzero(np.bincount(combined, minlength=len(phases) * len(categories)))
    routes: list[str] = [""]
    number_of = np.zeros(len(phases) * len(categories), np.int64)
    for code in present.tolist():
        phase_text, category_text = phases[code // len(categories)], categories[code % len(categories)]
        found = (
            ""
            if phase_text is None or category_text is None
            else _taken(phase_text, route(phase_text, category_text))
        )
        if found not in routes:
            routes.append(found)
        number_of[code] = routes.index(found)
    group_of = number_of[combined]
    known_name = np.array([name is not None for name in names] + [False])
    usable = (columns[_ODD] == 0) & (columns[_START] != NO_INTEGER) & known_name[columns[_NAME]]
    spans = usable & (columns[_DURATION] != NO_INTEGER) & (columns[_DURATION] >= 0)
    is_memory = np.array([name == MEMORY_NAME for name in names] + [False])[columns[_NAME]]
    for number, name in enumerate(routes):
        if name == LAUNCH_FLOWS:
            continue
        fine = usable & is_memory if name == MEMORY else spans
        group_of[(group_of == number) & ~fine] = 0
    return group_of, names, routes


def _taken(phase: str, route: str) -> str:
    """The group as this module makes it, "" when it leaves it to the decoder."""
    if route == INSTANTS:
        return MEMORY if phase == "i" else ""
    return route if route in FILLERS or route in (SLICES, LAUNCH_FLOWS) else ""


def _chrome_route(phase: str, category: str) -> str:
    route = generic_route(phase, category)
    return route if route == SLICES else ""


_ROUTES: Mapping[str, Callable[[str, str], str]] = {"torch": torch_route, "chrome": _chrome_route}


def _group(
    lib: ctypes.CDLL, scan: _Scan, index: Int64Array, route: str, names: list[str | None]
) -> Group | None:
    columns = scan.columns
    threads = _threads(scan, index)
    if threads is None:
        return None
    duration = columns[_DURATION, index] if route != MEMORY else np.zeros(len(index), np.int64)
    categories = [_text_of(token) or "" for token in scan.tables[_CATEGORIES]]
    group = Group(
        threads[0],
        threads[1],
        columns[_START, index],
        duration,
        _used(columns[_NAME, index], [name or "" for name in names]),
        _used(
            np.where(columns[_CATEGORY, index] < 0, len(categories), columns[_CATEGORY, index]),
            [*categories, ""],
        ),
    )
    if route != MEMORY:
        group.numbers["no_duration"] = np.zeros(len(index), np.bool_)
    begins, lengths = (
        np.ascontiguousarray(columns[_ARGS, index]),
        np.ascontiguousarray(columns[_ARGS_LENGTH, index]),
    )
    if route == SLICES:
        payload = _payloads(lib, scan.text, begins, lengths)
        if payload is None:
            return None
        group.texts["payload"] = payload
        return group
    args_type, fill = FILLERS[route]
    if args_type is None or fill is None:
        return group
    args = NativeArguments.of(lib, scan.text, begins, lengths, args_type)
    return group if args is not None and fill(group, args) else None


def _used(codes: Int64Array, table: list[str]) -> TextColumn:
    """A text column with only those entries of a table that occur."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(table)))
    place = np.zeros(len(table), np.uint32)
    place[used] = np.arange(len(used), dtype=np.uint32)
    return TextColumn(place[codes], [table[code] for code in used.tolist()])


def _threads(scan: _Scan, index: Int64Array) -> tuple[list[ThreadKey], npt.NDArray[np.uint32]] | None:
    if len(scan.tables[_PIDS]) * len(scan.tables[_TIDS]) > 1 << 22:
        return None
    pids = [_scalar(token) for token in scan.tables[_PIDS]] + [None]
    tids = [_scalar(token) for token in scan.tables[_TIDS]] + [None]
    # Codes of -2**63 are missing; in the tables they stand last.
    pid = np.where(scan.columns[_PID, index] < 0, len(pids) - 1, scan.columns[_PID, index])
    tid = np.where(scan.columns[_TID, index] < 0, len(tids) - 1, scan.columns[_TID, index])
    combined = pid * len(tids) + tid
    used = np.flatnonzero(np.bincount(combined, minlength=len(pids) * len(tids)))
    place = np.zeros(len(pids) * len(tids), np.uint32)
    place[used] = np.arange(len(used), dtype=np.uint32)
    keys: list[ThreadKey] = []
    for code in used.tolist():
        pid_value, tid_value = pids[code // len(tids)], tids[code % len(tids)]
        if isinstance(pid_value, bytes) or isinstance(tid_value, bytes):
            return None
        keys.append((pid_value, tid_value))
    return keys, place[combined]


def _scalar(token: bytes) -> int | float | str | bytes | None:
    """The number or text of a token; the token itself when it is neither."""
    try:
        value = msgspec.json.decode(token)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return token
    return value if isinstance(value, (int, float, str)) else token


def _payloads(lib: ctypes.CDLL, text: bytes, begins: Int64Array, lengths: Int64Array) -> TextColumn | None:
    count = len(begins)
    slots = _slot_count(count)
    codes = np.empty(count, np.int64)
    spans = np.empty((count, 2), np.int64)
    table = np.empty(slots, np.int32)
    distinct = lib.warpline_intern(
        ctypes.c_char_p(text), ctypes.c_int64(len(text)), ctypes.c_int64(count), _at(begins), _at(lengths), _at(codes),
        _at(spans), _at(table), ctypes.c_int64(slots),
    )  # fmt: skip
    if distinct < 0:
        return None
    tokens = [text[begin : begin + length] for begin, length in spans[:distinct].tolist()]
    if any(token and not _is_json(token) for token in tokens):
        return None
    texts = [clean_text(raw_text(token).strip()) for token in tokens]
    return TextColumn(codes.astype(np.uint32), ["" if token == "{}" else token for token in texts])


_RAW = msgspec.json.Decoder(msgspec.Raw)


def _is_json(token: bytes) -> bool:
    try:
        _RAW.decode(token)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


class NativeArguments:
    """Arguments as the scanner found them; see `torch_columns.Arguments`."""

    def __init__(
        self, count: int, columns: Int64Array, reals: npt.NDArray[np.float64], places: dict[str, int]
    ) -> None:
        self._count = count
        self._columns = columns
        self._reals = reals
        self._places = places
        self._tokens: dict[str, list[bytes]] = {}

    @classmethod
    def of(
        cls, lib: ctypes.CDLL, text: bytes, begins: Int64Array, lengths: Int64Array, args_type: type[Any]
    ) -> NativeArguments | None:
        """The fields of a struct type in the arguments at these places; None when some do not fit it."""
        count = len(begins)
        fields = _fields(args_type)
        types = np.array([field.code for field in fields], np.int32)
        widths = np.where(types == _TRIPLE, 3, 1)
        columns = np.ascontiguousarray(np.cumsum(widths) - widths, np.int64)
        key_ends = np.cumsum(np.array([len(field.key) for field in fields], np.int64))
        out = np.full((int(widths.sum()), count), NO_INTEGER, np.int64)
        reals = np.full((int(widths.sum()) if (types == _REAL).any() else 0, count), np.nan)
        slots = _slot_count(count)
        tokens = len(fields) if (types == _TOKEN).any() else 0
        spans = np.empty((tokens, count, 2), np.int64)
        table = np.empty((tokens, slots), np.int32)
        counts = np.zeros(len(fields), np.int64)
        hits = np.zeros(len(fields), np.int64)
        odd = lib.warpline_scan_members(
            ctypes.c_char_p(text), ctypes.c_int64(len(text)), ctypes.c_int64(count), _at(begins), _at(lengths),
            ctypes.c_int64(len(fields)), ctypes.c_char_p(b"".join(field.key for field in fields)), _at(key_ends),
            _at(types), _at(columns), _at(out), _at(reals), _at(spans), _at(table), ctypes.c_int64(slots), _at(counts),
            _at(hits),
        )  # fmt: skip
        if odd != 0:
            return None
        found = cls(count, out, reals, {})
        for place, field in enumerate(fields):
            if not hits[place]:
                continue
            found._places[field.name] = int(columns[place])
            if field.code == _TOKEN:
                tokens_here = [
                    text[begin : begin + length] for begin, length in spans[place, : counts[place]].tolist()
                ]
                if any(not _is_json(token) or (field.is_text and token[:1] != b'"') for token in tokens_here):
                    return None
                found._tokens[field.name] = tokens_here
        return found

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
        return self._text_column(name, lambda token: _text_of(token) or "")

    def json_texts(self, name: str) -> TextColumn:
        """See `Arguments.json_texts`."""
        return self._text_column(name, raw_text)

    def _text_column(self, name: str, convert: Callable[[bytes], str]) -> TextColumn:
        if not self.has(name):
            return repeated_text("", self._count)
        tokens = self._tokens[name]
        codes = self._columns[self._places[name]]
        table = [*(clean_text(convert(token)) for token in tokens), ""]
        return TextColumn(np.where(codes == NO_INTEGER, len(tokens), codes).astype(np.uint32), table)


@dataclass(frozen=True)
class _Field:
    """A member wanted of arguments: its name in the struct, its key in the text, what its value must be."""

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
