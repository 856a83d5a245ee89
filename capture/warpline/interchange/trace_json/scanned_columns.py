"""Turns the common events of a trace into columns with the compiled scanner, several times faster than decoding.

The scanner finds the members of events in the text. Unusual events go to the decoder in Python, which gives the same
results; without the compiled library all events do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import NO_INTEGER, TextColumn, clean_text, raw_text, repeated_text
from warpline.interchange.trace_json.arguments import process_numbers
from warpline.interchange.trace_json.piece_columns import (
    ASYNC,
    BORDERS,
    COUNTERS,
    FLOWS,
    INSTANTS,
    METADATA,
    SLICES,
    Group,
    Metadata,
    Piece,
    ThreadKey,
    add_metadata,
)
from warpline.interchange.trace_json.scanned_arguments import ScannedArguments, are_json, text_of
from warpline.interchange.trace_json.scanner import Scan, ScanColumn, distinct
from warpline.interchange.trace_json.trace_format import TraceFormat

Int64Array = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int64]
_Threads = tuple[list[ThreadKey], npt.NDArray[np.uint32]]

_GENERIC = frozenset({SLICES, INSTANTS, COUNTERS, BORDERS, ASYNC, FLOWS})
_MOST_THREADS = 1 << 22


@dataclass(frozen=True)
class _Tables:
    """The texts in a scan's tables; None is not text. The last entry stands for a missing member."""

    phases: list[str | None]
    categories: list[str | None]
    names: list[str | None]


def scanned_piece(scan: Scan, form: TraceFormat, decode_rest: Callable[[bytes], Piece]) -> Piece:
    """The columns of the events of a scan. ``decode_rest`` gets unusual events, as the text of an array."""
    tables = _Tables(
        [*map(text_of, scan.tables[ScanColumn.PHASE]), None],
        [*map(text_of, scan.tables[ScanColumn.CATEGORY]), ""],
        [*map(text_of, scan.tables[ScanColumn.NAME]), ""],
    )
    group_of, routes = _routed(scan, tables, form)
    piece = Piece(events=len(scan))
    rest = np.zeros(len(scan), np.bool_)
    for number, route in enumerate(routes):
        index = np.flatnonzero(group_of == number)
        if route in form.claimed or not len(index):
            continue
        if route == METADATA:
            entries = _metadata(scan, index, tables)
            add_metadata(piece.metadata, entries or ())
            rest[index] = entries is None
            continue
        group = _group(scan, index, route, tables, form) if route else None
        if group is None:
            rest[index] = True
        else:
            piece.groups[route] = group
    if rest.any():
        columns = scan.columns
        begins, lengths = columns[ScanColumn.BEGIN, rest].tolist(), columns[ScanColumn.LENGTH, rest].tolist()
        parts = [
            bytes(scan.text[begin : begin + length]) for begin, length in zip(begins, lengths, strict=True)
        ]
        piece.also = decode_rest(b"[" + b",".join(parts) + b"]")
        piece.events -= len(parts)
    return piece


def _codes(scan: Scan, column: ScanColumn, index: Int64Array | None = None) -> Codes:
    """Codes into the table of a column; a missing member has the code after the last."""
    codes = scan.columns[column] if index is None else scan.columns[column, index]
    return np.where(codes == NO_INTEGER, scan.tables.size(column), codes)


def _routed(scan: Scan, tables: _Tables, form: TraceFormat) -> tuple[Codes, list[str]]:
    """The number of each event's group, and the groups; "" is for unusual events."""
    columns = scan.columns
    width = len(tables.categories)
    combined = _codes(scan, ScanColumn.PHASE) * width + _codes(scan, ScanColumn.CATEGORY)
    taken = _GENERIC | {METADATA} | form.fillers.keys() | form.claimed
    routes: list[str] = [""]
    number_of = np.zeros(len(tables.phases) * width, np.int64)
    for code in np.flatnonzero(np.bincount(combined, minlength=len(number_of))).tolist():
        phase, category = tables.phases[code // width], tables.categories[code % width]
        route = "" if phase is None or category is None else form.route(phase, category)
        if route not in taken:
            route = ""
        if route not in routes:
            routes.append(route)
        number_of[code] = routes.index(route)
    group_of = number_of[combined]
    name = _codes(scan, ScanColumn.NAME)
    usable = (columns[ScanColumn.ODD] == 0) & (columns[ScanColumn.START] != NO_INTEGER)
    usable &= np.array([text is not None for text in tables.names])[name]
    lasting = usable & (columns[ScanColumn.DURATION] >= 0)
    for number, route in enumerate(routes):
        if route and route != METADATA and route not in form.claimed:
            group_of[(group_of == number) & ~(usable if route in form.all_points else lasting)] = 0
    for text, group in form.named_instants.items() if INSTANTS in routes else ():
        routes.append(group)
        is_named = np.array([candidate == text for candidate in tables.names])[name]
        group_of[(group_of == routes.index(INSTANTS)) & is_named] = len(routes) - 1
    return group_of, routes


def _group(scan: Scan, index: Int64Array, route: str, tables: _Tables, form: TraceFormat) -> Group | None:
    columns = scan.columns
    is_point = route in form.all_points
    threads = _no_threads(index) if route in form.of_gpu else _threads(scan, index)
    if threads is None:
        return None
    group = Group(
        threads=threads[0],
        thread=threads[1],
        start=columns[ScanColumn.START, index],
        duration=np.zeros(len(index), np.int64) if is_point else columns[ScanColumn.DURATION, index],
        name=_texts(_codes(scan, ScanColumn.NAME, index), tables.names),
        category=_texts(_codes(scan, ScanColumn.CATEGORY, index), tables.categories),
    )
    if not is_point:
        group.numbers["no_duration"] = np.zeros(len(index), np.bool_)
    if route in _GENERIC:
        payload = _payloads(scan, index)
        if payload is None:
            return None
        group.texts["payload"] = payload
        return _with_marks(scan, index, route, group, tables)
    if route in form.of_gpu:
        for name, column in (("pid", ScanColumn.PID), ("tid", ScanColumn.TID)):
            numbers = process_numbers([*_scalars(scan.tables[column]), None])
            group.numbers[name] = numbers[_codes(scan, column, index)]
    args_type, fill = form.fillers[route]
    if args_type is None or fill is None:
        return group
    args = ScannedArguments.of(scan, np.ascontiguousarray(columns[ScanColumn.ARGS_TOKEN, index]), args_type)
    return group if args is not None and fill(group, args) else None


def _metadata(scan: Scan, index: Int64Array, tables: _Tables) -> list[tuple[Metadata, int]] | None:
    """Distinct metadata events, ordered by their last occurrence, with their counts; None when one is unusual.

    Some traces repeat them for every event, so only distinct ones become objects.
    """
    columns = scan.columns
    threads = _threads(scan, index)
    arguments = distinct(scan, columns[ScanColumn.ARGS_BEGIN, index], columns[ScanColumn.ARGS_LENGTH, index])
    if columns[ScanColumn.ODD, index].any() or threads is None or arguments is None:
        return None
    keys, thread = threads
    args, tokens = arguments
    names = _codes(scan, ScanColumn.NAME, index)
    texts = {code: tables.names[code] for code in np.unique(names).tolist()}
    if any(text is None or "\ufffd" in text for text in texts.values()):
        return None
    if not are_json(tokens):
        return None
    events = (names * len(keys) + thread.astype(np.int64)) * len(tokens) + args
    _, places, counts = np.unique(events[::-1], return_index=True, return_counts=True)
    last = len(index) - 1 - places
    order = np.argsort(last)
    return [
        ((texts[name] or "", *keys[key], tokens[token]), count)
        for name, key, token, count in zip(
            names[last[order]].tolist(),
            thread[last[order]].tolist(),
            args[last[order]].tolist(),
            counts[order].tolist(),
            strict=True,
        )
    ]


def _with_marks(scan: Scan, index: Int64Array, route: str, group: Group, tables: _Tables) -> Group | None:
    """Adds phase, id and binding of events without a duration; None when one is unusual."""
    if route == SLICES:
        return group
    group.phases = _texts(_codes(scan, ScanColumn.PHASE, index), tables.phases)
    if route in (ASYNC, FLOWS) or (route == INSTANTS and "P" in group.phases.table):
        ids = [*_scalars(scan.tables[ScanColumn.ID]), None]
        if any(isinstance(value, bytes) for value in ids):
            return None
        identities = [(value, None) for value in ids]
        group.ids = [identities[code] for code in _codes(scan, ScanColumn.ID, index).tolist()]
    if route in (ASYNC, FLOWS):
        binds = _marks(scan, ScanColumn.BIND, index)
        if binds is None:
            return None
        group.texts["bind"] = binds
    else:
        scopes = _marks(scan, ScanColumn.SCOPE, index)
        if scopes is None:
            return None
        group.texts["scope"] = scopes
        group.texts["frame"] = repeated_text("", len(index))
    return group


def _marks(scan: Scan, column: ScanColumn, index: Int64Array) -> TextColumn | None:
    """The texts of an optional column; None when one is damaged, so that the decoder mends it."""
    table = [*map(text_of, scan.tables[column]), ""]
    return None if None in table else _texts(_codes(scan, column, index), table)


def _texts(codes: Codes, table: Sequence[str | None]) -> TextColumn:
    """A text column with only the entries of a table that occur."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(table)))
    place = np.zeros(len(table), np.uint32)
    place[used] = np.arange(len(used), dtype=np.uint32)
    return TextColumn(place[codes], [table[code] or "" for code in used.tolist()])


def _no_threads(index: Int64Array) -> _Threads:
    """GPU work has no thread."""
    return [(None, None)], np.zeros(len(index), np.uint32)


def _threads(scan: Scan, index: Int64Array) -> _Threads | None:
    width = scan.tables.size(ScanColumn.TID) + 1
    if (scan.tables.size(ScanColumn.PID) + 1) * width > _MOST_THREADS:
        return None
    pids = [*_scalars(scan.tables[ScanColumn.PID]), None]
    tids = [*_scalars(scan.tables[ScanColumn.TID]), None]
    combined = _codes(scan, ScanColumn.PID, index) * width + _codes(scan, ScanColumn.TID, index)
    used = np.flatnonzero(np.bincount(combined, minlength=len(pids) * width))
    place = np.zeros(len(pids) * width, np.uint32)
    place[used] = np.arange(len(used), dtype=np.uint32)
    keys: list[ThreadKey] = []
    for code in used.tolist():
        pid, tid = pids[code // width], tids[code % width]
        if isinstance(pid, bytes) or isinstance(tid, bytes):
            return None
        keys.append((pid, tid))
    return keys, place[combined]


def _scalars(tokens: list[bytes]) -> list[int | float | str | bytes]:
    """`_scalar` of each token, decoded together if all are JSON."""
    try:
        values = msgspec.json.decode(b"[" + b",".join(tokens) + b"]", type=list[Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return [*map(_scalar, tokens)]
    if len(values) != len(tokens):
        return [*map(_scalar, tokens)]
    pairs = zip(values, tokens, strict=True)
    return [value if isinstance(value, (int, float, str)) else token for value, token in pairs]


def _scalar(token: bytes) -> int | float | str | bytes:
    """The number or text of a token; the token itself if it is neither."""
    try:
        value: Any = msgspec.json.decode(token)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return token
    return value if isinstance(value, (int, float, str)) else token


def _payloads(scan: Scan, index: Int64Array) -> TextColumn | None:
    arguments = distinct(
        scan, scan.columns[ScanColumn.ARGS_BEGIN, index], scan.columns[ScanColumn.ARGS_LENGTH, index]
    )
    if arguments is None:
        return None
    codes, tokens = arguments
    if not are_json(tokens):
        return None
    texts = [clean_text(raw_text(token).strip()) for token in tokens]
    return TextColumn(codes.astype(np.uint32), ["" if text == "{}" else text for text in texts])
