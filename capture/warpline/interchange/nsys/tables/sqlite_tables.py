"""Reads the SQLite export of Nsight Systems."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from warpline.i18n import english, tr
from warpline.interchange.nsys.tables.access import CHUNK_ROWS, Batch
from warpline.interchange.nsys.tables.cells import Cells, Constant, int_column, real_column, text_column
from warpline.interchange.nsys.tables.sqlite_rows import INTEGER, REAL, TEXT, SqliteRows
from warpline.model import ImportFormatError

_FIRST_ROWS = 1024
"""Rows fetched in full to find constant columns."""

# Damage may show as an SQLite message that is not UTF-8, a value that does not fit, or a text too long for memory.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError)


class SqliteTables:
    """`TableFile` for SQLite, read-only. Raises ImportFormatError for an invalid database."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # `immutable`: SQLite creates no journal files and needs no writable directory.
            uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
        except _UNREADABLE as error:
            raise self._damaged(error) from error
        try:
            # Text may be invalid UTF-8 in a damaged file, so callers decode it.
            self._connection.text_factory = bytes
            # Disables unsafe functions in the views and triggers of a hostile schema.
            self._connection.execute("PRAGMA trusted_schema=OFF")
            self._columns = self._read_columns()
            self._rows = SqliteRows.open(path)
        except _UNREADABLE as error:
            self._connection.close()
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> ImportFormatError:
        return ImportFormatError(
            tr(
                "{path}: the SQLite file is damaged ({error}). Export the report again: {command}",
                path=self.path,
                error=str(error) or english("it contains a damaged text"),
                command="nsys export --type sqlite --force-overwrite true REPORT.nsys-rep",
            )
        )

    def _read_columns(self) -> dict[str, frozenset[str]]:
        names = self._connection.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
        tables: dict[str, frozenset[str]] = {}
        for (raw,) in names:
            name = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
            rows = self._connection.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
            tables[name] = frozenset(bytes(row[1]).decode("utf-8", "replace") for row in rows)
        return tables

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
        only: tuple[str, Sequence[int]] | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> Iterator[Batch]:
        have = self.columns(table)
        if not have or (only is not None and only[0] not in have):
            return
        wanted = [name for name in dict.fromkeys((*ints, *reals, *texts)) if name in have]
        condition = ""
        if only is not None:
            condition = f"WHERE {_quoted(only[0])} IN ({','.join(str(int(value)) for value in only[1])})"
        done = yield from self._compiled(table, ints, reals, texts, condition, chunk_rows)
        if done is None:
            return
        try:
            for count, columns in self._chunks(table, wanted, condition, chunk_rows, done):
                yield Batch(
                    count,
                    {name: int_column(columns.get(name), count) for name in ints},
                    {name: real_column(columns.get(name), count) for name in reals},
                    {name: text_column(columns.get(name), count) for name in texts},
                )
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def _compiled(
        self,
        table: str,
        ints: Sequence[str],
        reals: Sequence[str],
        texts: Sequence[str],
        condition: str,
        chunk_rows: int,
    ) -> Generator[Batch, None, int | None]:
        """The rows that the compiled loop can read; returns their number, or None if these were all."""
        have = self.columns(table)
        types = {
            name: kind
            for kind, names in ((INTEGER, ints), (REAL, reals), (TEXT, texts))
            for name in names
            if name in have
        }
        if self._rows is None or len(types) < sum(name in have for name in (*ints, *reals, *texts)):
            return 0  # a column is requested as two types
        columns = ",".join(map(_quoted, types))
        query = f"SELECT {columns} FROM {_quoted(table)} {condition} ORDER BY rowid"
        done = 0
        for batch in self._rows.read(query, types, chunk_rows):
            if batch is None:
                return done
            count = batch.rows
            yield Batch(
                count,
                {name: batch.ints[name] if name in have else int_column(None, count) for name in ints},
                {name: batch.reals[name] if name in have else real_column(None, count) for name in reals},
                {name: batch.texts[name] if name in have else text_column(None, count) for name in texts},
            )
            done += count
        return None

    def _chunks(
        self, table: str, wanted: list[str], condition: str, chunk_rows: int, done: int = 0
    ) -> Iterator[tuple[int, dict[str, Cells]]]:
        """The rows after the first ``done``, in pieces; each column is a `Constant` or a tuple of cells.

        Most columns of an export are constant, mostly NULL, and fetching a cell is the most expensive step. So SQLite
        compares a column that was constant in the first piece instead of fetching it. If a comparison fails, the piece
        is fetched in full and the column is no longer compared.
        """
        varying: set[str] = set()
        constants: dict[str, Constant] = {}
        is_full = True
        while True:
            fetched = wanted if is_full else [name for name in wanted if name not in constants]
            compared = [] if is_full else [name for name in wanted if name in constants]
            checks = " AND ".join(f"{_quoted(name)} IS ?" for name in compared) or "1"
            columns = ",".join([*(_quoted(name) for name in fetched), checks])
            # Both ways of reading must see the same order, whatever indexes the file has.
            cursor = self._connection.execute(
                f"SELECT {columns} FROM {_quoted(table)} {condition} ORDER BY rowid LIMIT -1 OFFSET {done}",
                [constants[name].value for name in compared],
            )
            while rows := cursor.fetchmany(_FIRST_ROWS if is_full else chunk_rows):
                count = len(rows)
                *cells, agrees = zip(*rows, strict=True)
                if agrees.count(1) != count:
                    is_full = True
                    break
                cells_of: dict[str, Cells] = dict(zip(fetched, cells, strict=True))
                del rows, cells
                yield count, {**cells_of, **{name: constants[name] for name in compared}}
                done += count
                if is_full:
                    for name, column in cells_of.items():
                        known = constants.get(name)
                        value = column[0] if isinstance(column, tuple) else None
                        if not _is_constant(column) or (known is not None and known.value != value):
                            varying.add(name)
                            constants.pop(name, None)
                        elif name not in varying:
                            constants[name] = Constant(value)
                    is_full = False
                    break
            else:
                return

    def close(self) -> None:
        self._connection.close()
        if self._rows is not None:
            self._rows.close()


def _is_constant(column: Cells) -> bool:
    """Whether all cells have the same value and type (1, 1.0 and b"1" differ)."""
    return isinstance(column, Constant) or (
        column.count(column[0]) == len(column) and len(set(map(type, column))) == 1
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
