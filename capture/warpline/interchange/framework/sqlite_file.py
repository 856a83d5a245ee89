"""Reads SQLite databases of profilers, plain or packed, as columns."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from warpline.i18n import english, tr
from warpline.interchange.framework.unpacking import GZIP_MAGIC, UNPACKING_ERRORS, ZIP_MAGIC, unpacked
from warpline.model import ImportFormatError
from warpline.model.progress import IsCancelled, check_cancelled
from warpline.platform.held_folders import TemporaryFolder

MAGIC = b"SQLite format 3\x00"
_ROWS = 50_000
_PART_BYTES = 1 << 20
# Damage may show as a message that is not UTF-8, a value that does not fit, or a text too long for memory.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError)


def names_table(head: bytes, table: str) -> bool:
    """Whether the beginning of a database has the statement that made a table or view of this name."""
    statement = rf"CREATE (TABLE|VIEW) (IF NOT EXISTS\s+)?[\"`\[]?{table}\b".encode()
    return head.startswith(MAGIC) and re.search(statement, head, re.IGNORECASE) is not None


class SqliteFile:
    """A database that does not change, as a context.

    Opening and reading raise ImportFormatError when the file is damaged.
    """

    def __init__(self, path: Path, cancelled: IsCancelled) -> None:
        self._path = path
        self._cancelled = cancelled
        with ExitStack() as stack:
            place = self._plain(path, stack)
            try:
                # `immutable`: SQLite creates no journal files and needs no writable directory.
                uri = f"{place.resolve().as_uri()}?mode=ro&immutable=1"
                self._connection = sqlite3.connect(uri, uri=True, isolation_level=None)
                stack.callback(self._connection.close)
                self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
                # Disables unsafe functions in the views and triggers of a hostile schema.
                self._connection.execute("PRAGMA trusted_schema=OFF")
                self.tables = frozenset(
                    str(name)
                    for (name,) in self._connection.execute(
                        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
                    )
                )
            except _UNREADABLE as error:
                raise self._damaged(error) from error
            self._stack = stack.pop_all()

    def _plain(self, path: Path, stack: ExitStack) -> Path:
        """The database, unpacked into a temporary folder if need be."""
        with path.open("rb") as raw:
            magic = raw.read(4)
            if magic[:2] != GZIP_MAGIC and magic != ZIP_MAGIC:
                return path
            folder = TemporaryFolder(Path(tempfile.gettempdir()))
            stack.callback(folder.close)
            place = folder.path / "database"
            raw.seek(0)
            try:
                source = unpacked(raw, path)
                with place.open("wb") as out:
                    while part := source.read(_PART_BYTES):
                        check_cancelled(self._cancelled)
                        out.write(part)
            except UNPACKING_ERRORS as error:
                raise ImportFormatError(
                    tr("{path}: cannot be read: {reason}", path=path, reason=error)
                ) from error
        return place

    def _damaged(self, error: Exception) -> ImportFormatError:
        return ImportFormatError(
            tr(
                "{path}: the SQLite file is damaged ({error})",
                path=self._path,
                error=str(error) or english("it contains a damaged text"),
            )
        )

    def columns(self, table: str) -> frozenset[str]:
        """Names of a table's or view's columns; empty when there is none."""
        if table not in self.tables:
            return frozenset()
        quoted = table.replace('"', '""')
        try:
            return frozenset(
                str(row[1]) for row in self._connection.execute(f'PRAGMA table_info("{quoted}")')
            )
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def count(self, table: str) -> int:
        """The number of rows, 0 when there is no such table."""
        if table not in self.tables:
            return 0
        quoted = table.replace('"', '""')
        return int(next(self.rows(f'SELECT count(*) FROM "{quoted}"'))[0])

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, for small tables."""
        for columns in self.batches(query):
            yield from zip(*columns, strict=True)

    def batches(self, query: str) -> Iterator[list[tuple[Any, ...]]]:
        """The columns of some rows of a query at a time."""
        try:
            cursor = self._connection.execute(query)
            while rows := cursor.fetchmany(_ROWS):
                check_cancelled(self._cancelled)
                yield list(zip(*rows, strict=True))
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
