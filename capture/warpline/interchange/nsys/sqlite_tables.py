"""The SQLite export of Nsight Systems as tables."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from warpline.i18n import tr
from warpline.interchange.nsys.tables import CHUNK_ROWS, NULL, Batch
from warpline.model import ImportFormatError

SQLITE_MAGIC = b"SQLite format 3\x00"

# Messages of SQLite about a damaged schema may themselves not be UTF-8; a rebuilt value may not fit.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError, OverflowError)


class SqliteTables:
    """Opens the file for reading only; nothing is written beside it.

    Raises ImportFormatError when the file is not a sound SQLite database.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # `immutable` keeps SQLite from creating journal files and from needing a writable directory.
            uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        except _UNREADABLE as error:
            raise self._damaged(error) from error
        try:
            # A damaged file may hold text that is not UTF-8; decoding is left to whoever wants text.
            self._connection.text_factory = bytes
            # A hostile schema may define views and triggers; with this pragma their functions do nothing unsafe.
            self._connection.execute("PRAGMA trusted_schema=OFF")
            self._columns = self._read_columns()
        except _UNREADABLE as error:
            self._connection.close()
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> ImportFormatError:
        return ImportFormatError(
            tr(
                "{path}: the SQLite file cannot be read ({error}); export the report again with: {command}",
                path=self.path,
                error=error,
                command="nsys export --type sqlite --force-overwrite true REPORT.nsys-rep",
            )
        )

    def _read_columns(self) -> dict[str, frozenset[str]]:
        names = self._connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        found: dict[str, frozenset[str]] = {}
        for (raw,) in names:
            name = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
            rows = self._connection.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
            found[name] = frozenset(bytes(row[1]).decode("utf-8", "replace") for row in rows)
        return found

    def columns(self, table: str) -> frozenset[str]:
        return self._columns.get(table, frozenset())

    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def count(self, table: str) -> int:
        if table not in self._columns:
            return 0
        try:
            return int(self._connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0])
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def read(
        self,
        table: str,
        ints: Sequence[str] = (),
        reals: Sequence[str] = (),
        texts: Sequence[str] = (),
        chunk_rows: int = CHUNK_ROWS,
    ) -> Iterator[Batch]:
        have = self.columns(table)
        if not have:
            return
        int_columns = [name for name in ints if name in have]
        real_columns = [name for name in reals if name in have]
        text_columns = [name for name in texts if name in have]
        # Any column of any row may hold any type in SQLite: the casts make the file's mistakes harmless.
        wanted = [f"CAST(ifnull({_quoted(name)},{NULL}) AS INTEGER)" for name in int_columns]
        wanted += [f"CAST({_quoted(name)} AS REAL)" for name in real_columns]
        wanted += [f"CAST({_quoted(name)} AS TEXT)" for name in text_columns]
        try:
            cursor = self._connection.execute(f"SELECT {','.join(wanted) or '1'} FROM {_quoted(table)}")
            while rows := cursor.fetchmany(chunk_rows):
                count = len(rows)
                columns: list[Sequence[object]]
                if int_columns and not real_columns and not text_columns:
                    flat = np.fromiter(
                        itertools.chain.from_iterable(rows), np.int64, count * len(int_columns)
                    )
                    ints_read = dict(zip(int_columns, flat.reshape(count, -1).T.copy(), strict=True))
                    columns = []
                else:
                    columns = list(zip(*rows, strict=True))
                    ints_read = {
                        name: np.fromiter(column, np.int64, count)
                        for name, column in zip(int_columns, columns, strict=False)
                    }
                del rows
                yield _batch(count, (ints, reals, texts), ints_read, (real_columns, text_columns), columns)
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def close(self) -> None:
        self._connection.close()


def _batch(
    count: int,
    wanted: tuple[Sequence[str], Sequence[str], Sequence[str]],
    ints_read: dict[str, np.ndarray],
    others: tuple[list[str], list[str]],
    columns: list[Sequence[object]],
) -> Batch:
    """A batch of the columns that were read and of empty ones for those the table does not have."""
    ints, reals, texts = wanted
    real_columns, text_columns = others
    first_real = len(columns) - len(real_columns) - len(text_columns)
    real_at = {name: columns[first_real + i] for i, name in enumerate(real_columns)}
    text_at = {name: columns[len(columns) - len(text_columns) + i] for i, name in enumerate(text_columns)}
    missing_text: Sequence[bytes | None] = [None] * count if len(text_columns) < len(texts) else ()
    return Batch(
        count,
        {name: ints_read[name] if name in ints_read else np.full(count, NULL) for name in ints},
        {
            name: np.array(real_at[name], np.float64) if name in real_at else np.full(count, np.nan)
            for name in reals
        },
        {name: text_at.get(name, missing_text) for name in texts},  # type: ignore[misc]  # texts, by the cast
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
