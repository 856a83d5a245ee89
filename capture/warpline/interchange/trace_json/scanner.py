"""Calls the compiled scanner (``native/trace_scan.c``), which finds the members of trace events in JSON text."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from warpline.compiled import Signatures, load
from warpline.interchange.framework.interning import SHARED_SOURCES, at, pieces, slot_count
from warpline.platform.systems import library_file

Int64Array = npt.NDArray[np.int64]

LIBRARY = Path(__file__).parent / library_file("trace_json")
SIGNATURES: Signatures = dict.fromkeys(
    ("warpline_scan_events", "warpline_scan_members", "warpline_intern"), (ctypes.c_int64, None)
)


class ScanColumn(IntEnum):
    """Columns of a `Scan`. The first eight hold codes into its tables; a missing member is `NO_INTEGER`."""

    PHASE = 0
    CATEGORY = 1
    NAME = 2
    PID = 3
    TID = 4
    ID = 5
    BIND = 6
    SCOPE = 7
    START = 8
    DURATION = 9
    ARGS_BEGIN = 10
    ARGS_LENGTH = 11
    ARGS_TOKEN = 12
    BEGIN = 13
    LENGTH = 14
    ODD = 15


_TABLES = 8

UNUSUAL, OTHER_CLOCK, FURTHER = 1, 2, 4
"""Bits of `ScanColumn.ODD`: a member of unusual type; a ``tdur``; an ``sf``, ``scope`` or ``id2``."""

_MOST_EVENTS = 1 << 16
"""The most events in one scan."""


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled scanner, None if there is none."""
    return load(LIBRARY, SIGNATURES, SHARED_SOURCES)


class TokenTables:
    """The distinct tokens of each column, made on first use."""

    def __init__(self, text: bytes | memoryview, spans: list[Int64Array]) -> None:
        self._text = text
        self._spans = spans
        self._made: dict[int, list[bytes]] = {}

    def __getitem__(self, column: int) -> list[bytes]:
        if column not in self._made:
            self._made[column] = pieces(self._text, self._spans[column])
        return self._made[column]

    def size(self, column: int) -> int:
        """The number of distinct tokens of a column."""
        return len(self._spans[column])


@dataclass(frozen=True, kw_only=True)
class Scan:
    """Events in a piece of text. The text may be the scanner's memory, which two more scans overwrite.

    ``columns`` is int64, one row per `ScanColumn`. ``tables`` holds the distinct tokens (JSON) of the first columns,
    ``tokens`` the positions of all tokens. ``stop`` is where to continue, ``ended`` whether the array ends there.
    """

    lib: ctypes.CDLL
    text: bytes | memoryview
    columns: Int64Array
    tables: TokenTables
    tokens: npt.NDArray[np.uint32]
    stop: int
    ended: bool

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    @property
    def address(self) -> ctypes.c_void_p:
        """The address of the text; valid while the scan lives."""
        return _address(self.text)


class _Room:
    """The arrays that a scan fills."""

    def __init__(self, size: int) -> None:
        # The shortest event: {"ph":"e","ts":0}
        self.capacity = min(_MOST_EVENTS, size // 16 + 1)
        self.text = np.empty(size, np.uint8)
        self.tokens = np.empty(size, np.uint32)
        self.columns = np.empty((len(ScanColumn), self.capacity), np.int64)
        self.spans = np.empty((_TABLES, self.capacity, 2), np.int64)
        self.slots = np.empty((_TABLES, slot_count(self.capacity)), np.int32)


class Scanner:
    """Scans pieces of text into two alternating sets of arrays: one is in use while the other fills."""

    def __init__(self, lib: ctypes.CDLL) -> None:
        self._lib = lib
        self._rooms = [_Room(0), _Room(0)]

    def scan(self, text: bytes, begin: int = 0) -> Scan | None:
        """The events of an unfinished array from ``begin``, where an event begins; None when there is none.

        Stops before the first event that is truncated or malformed.
        """
        self._next_room(len(text) - begin)
        return self._scanned(text, begin)

    def memory(self, size: int) -> memoryview:
        """Memory for a text of ``size`` bytes, for `scan_memory`. It does not move."""
        room = self._next_room(size + 1)
        return room.text.data[:size]

    def scan_memory(self, size: int) -> Scan | None:
        """Like `scan`, for the first ``size`` bytes of the last `memory`."""
        room = self._rooms[0]
        room.text[size] = 0  # terminates a truncated number
        return self._scanned(room.text.data[:size], 0)

    def _next_room(self, size: int) -> _Room:
        self._rooms.reverse()
        if len(self._rooms[0].tokens) < size:
            # The next piece may be a little longer.
            self._rooms[0] = _Room(size * 5 // 4)
        return self._rooms[0]

    def _scanned(self, text: bytes | memoryview, begin: int) -> Scan | None:
        size = len(text)
        if size >= 1 << 31:
            return None
        room = self._rooms[0]
        counts, progress = np.zeros(_TABLES, np.int64), np.zeros(3, np.int64)
        count = self._lib.warpline_scan_events(
            _address(text), ctypes.c_int64(begin), ctypes.c_int64(size), at(room.tokens),
            ctypes.c_int64(room.capacity), at(room.columns), at(room.spans), at(room.slots),
            ctypes.c_int64(room.slots.shape[1]), at(counts), at(progress),
        )  # fmt: skip
        stop, ended, token_count = progress.tolist()
        if not count and not ended:
            return None
        tables = TokenTables(text, [room.spans[number, :used] for number, used in enumerate(counts.tolist())])
        return Scan(
            lib=self._lib,
            text=text,
            columns=room.columns[:, :count],
            tables=tables,
            tokens=room.tokens[:token_count],
            stop=stop,
            ended=bool(ended),
        )


def _address(text: bytes | memoryview) -> ctypes.c_void_p:
    if isinstance(text, bytes):
        return ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)
    return at(np.frombuffer(text, np.uint8))


def distinct(scan: Scan, begins: Int64Array, lengths: Int64Array) -> tuple[Int64Array, list[bytes]] | None:
    """Numbers pieces of a scan's text: (code of each, distinct pieces); None when a piece lies outside."""
    lib, text = scan.lib, scan.text
    count = len(begins)
    slots = slot_count(count)
    codes = np.empty(count, np.int64)
    spans = np.empty((count, 2), np.int64)
    table = np.empty(slots, np.int32)
    begins, lengths = np.ascontiguousarray(begins), np.ascontiguousarray(lengths)
    count_distinct = lib.warpline_intern(
        scan.address, ctypes.c_int64(len(text)), ctypes.c_int64(count), at(begins), at(lengths), at(codes),
        at(spans), at(table), ctypes.c_int64(slots),
    )  # fmt: skip
    return None if count_distinct < 0 else (codes, pieces(text, spans[:count_distinct]))
