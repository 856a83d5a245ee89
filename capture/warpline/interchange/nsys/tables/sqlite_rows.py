"""Reads rows of an SQLite table into columns with a compiled loop; Python's module makes an object per cell."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from warpline.compiled import Signatures, load
from warpline.interchange.framework.interning import SHARED_SOURCES, at, pieces, slot_count
from warpline.interchange.nsys.tables.access import Batch
from warpline.platform.systems import library_file

LIBRARY = Path(__file__).parent / library_file("nsys")
SIGNATURES: Signatures = {"warpline_sqlite_rows": (ctypes.c_int64, None)}
INTEGER, REAL, TEXT = range(3)

_FUNCTIONS = ("step", "column_type", "column_int64", "column_double", "column_blob", "column_bytes")
_READ_ONLY, _URI, _NO_MUTEX = 0x1, 0x40, 0x8000
_ARENA_BYTES = 16 << 20
_MAX_COLUMNS = 64


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """The compiled loop (``native/sqlite_rows.c``), None if there is none."""
    return load(LIBRARY, SIGNATURES, SHARED_SOURCES)


@lru_cache(maxsize=1)
def _sqlite() -> ctypes.CDLL | None:
    """The system's SQLite library, None without it or without the compiled loop."""
    if library() is None:
        return None
    try:
        sqlite = ctypes.CDLL("libsqlite3.so.0")
        for name in ("open_v2", "prepare_v2", "exec", "finalize", "close", *_FUNCTIONS):
            getattr(sqlite, f"sqlite3_{name}")
    except (OSError, AttributeError):
        return None
    return sqlite


class SqliteRows:
    """A connection to a file that does not change."""

    def __init__(self, sqlite: ctypes.CDLL, connection: ctypes.c_void_p) -> None:
        self._sqlite = sqlite
        self._connection = connection
        addresses = [ctypes.cast(getattr(sqlite, f"sqlite3_{name}"), ctypes.c_void_p) for name in _FUNCTIONS]
        self._functions = (ctypes.c_void_p * len(_FUNCTIONS))(*(address.value for address in addresses))

    @classmethod
    def open(cls, path: Path) -> SqliteRows | None:
        """Opens the file; None when it cannot be read this way."""
        sqlite = _sqlite()
        if sqlite is None:
            return None
        connection = ctypes.c_void_p()
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1".encode()
        flags = _READ_ONLY | _URI | _NO_MUTEX
        rows = cls(sqlite, connection)
        if sqlite.sqlite3_open_v2(uri, ctypes.byref(connection), flags, None):
            rows.close()
            return None
        sqlite.sqlite3_exec(connection, b"PRAGMA trusted_schema=OFF", None, None, None)
        return rows

    def read(self, query: str, types: Mapping[str, int], chunk_rows: int) -> Iterator[Batch | None]:
        """The rows of a query that selects the columns in ``types``, in batches.

        Ends with None at a cell of another type or an error; the caller reads the rest another way.
        """
        statement = ctypes.c_void_p()
        sqlite = self._sqlite
        if not 0 < len(types) <= _MAX_COLUMNS or sqlite.sqlite3_prepare_v2(
            self._connection, query.encode(), -1, ctypes.byref(statement), None
        ):
            yield None
            return
        try:
            is_done = False
            while not is_done:
                batch, is_done = self._batch(statement, types, chunk_rows)
                if batch is None or batch.rows:
                    yield batch
                if batch is None:
                    return
        finally:
            sqlite.sqlite3_finalize(statement)

    def _batch(
        self, statement: ctypes.c_void_p, types: Mapping[str, int], rows: int
    ) -> tuple[Batch | None, bool]:
        lib = library()
        assert lib is not None, "open() needs the library"
        kinds = np.array(list(types.values()), np.int32)
        width, texts = len(types), len(types) if TEXT in types.values() else 0
        slots = slot_count(rows)
        out, reals = (
            np.empty((width, rows), np.int64),
            np.empty((width if REAL in types.values() else 0, rows)),
        )
        arena = np.empty(_ARENA_BYTES if texts else 0, np.uint8)
        spans, table = np.empty((texts, rows, 2), np.int64), np.empty((texts, slots), np.int32)
        counts, is_done = np.zeros(width, np.int64), np.zeros(1, np.int64)
        count: int = lib.warpline_sqlite_rows(
            ctypes.byref(self._functions), statement, ctypes.c_int64(width), at(kinds), ctypes.c_int64(rows), at(out),
            at(reals), at(arena), ctypes.c_int64(len(arena)), at(spans), at(table), ctypes.c_int64(slots), at(counts),
            at(is_done),
        )  # fmt: skip
        if count < 0:
            return None, True
        named: dict[str, Sequence[bytes | None]] = {}
        for index, name in enumerate(types):
            if kinds[index] == TEXT:
                used = spans[index, : counts[index]]
                text = arena[: int(used.sum(axis=1).max(initial=0))].tobytes()
                # The code of a missing text is negative and becomes -1, the last entry.
                distinct = [*pieces(text, used), None]
                named[name] = [distinct[code] for code in np.maximum(out[index, :count], -1).tolist()]
        batch = Batch(
            count,
            {name: out[index, :count] for index, name in enumerate(types) if kinds[index] == INTEGER},
            {name: reals[index, :count] for index, name in enumerate(types) if kinds[index] == REAL},
            named,
        )
        return batch, bool(is_done[0])

    def close(self) -> None:
        """Close the file."""
        self._sqlite.sqlite3_close(self._connection)
