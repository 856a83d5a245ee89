"""Exports of Nsight Systems: tables of any cells as events, and rows of SQLite by both readers."""

from __future__ import annotations

import json
import random
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

from tests.fuzz.campaign import small_seeds
from tests.fuzz.guided.target import Differs, Target, json_cells, memory_builder, scratch, settle

from warpline.interchange.framework.importer import ImportOptions
from warpline.interchange.nsys.convert import _SUPPORTING, convert_tables
from warpline.interchange.nsys.tables.access import CHUNK_ROWS, Batch
from warpline.interchange.nsys.tables.cells import int_column, real_column, text_column
from warpline.interchange.nsys.tables.sqlite_rows import SqliteRows
from warpline.interchange.nsys.tables.sqlite_tables import SqliteTables
from warpline.model import ImportFormatError

Table = dict[str, list[Any]]
_ROWS = 2
_VALUES: tuple[Any, ...] = (
    None, -1, 0, 1, 2, 255, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63), 1e308, -0.5, "", "x", "9" * 30, "\ud800",
)  # fmt: skip


class MemoryTables:
    """A `TableFile` of cells in memory."""

    path = Path("x.sqlite")

    def __init__(self, tables: dict[str, Table]) -> None:
        self._tables = tables

    def columns(self, table: str) -> frozenset[str]:
        """See `TableFile`."""
        return frozenset(self._tables.get(table, ()))

    def names(self) -> tuple[str, ...]:
        """See `TableFile`."""
        return tuple(self._tables)

    def count(self, table: str) -> int:
        """See `TableFile`."""
        return max(map(len, self._tables.get(table, {}).values()), default=0)

    def read(
        self,
        table: str,
        ints: Sequence[str] = (),
        reals: Sequence[str] = (),
        texts: Sequence[str] = (),
        only: tuple[str, Sequence[int]] | None = None,
        chunk_rows: int = CHUNK_ROWS,
    ) -> Iterator[Batch]:
        """See `TableFile`."""
        have = self._tables.get(table, {})
        if not have or (only is not None and only[0] not in have):
            return
        rows: Sequence[int] = range(self.count(table))
        if only is not None:
            rows = [row for row in rows if self._cell(have[only[0]], row) in only[1]]
        for first in range(0, len(rows), chunk_rows):
            chosen = rows[first : first + chunk_rows]
            cells = {name: tuple(self._cell(column, row) for row in chosen) for name, column in have.items()}
            count = len(chosen)
            yield Batch(
                count,
                {name: int_column(cells.get(name), count) for name in ints},
                {name: real_column(cells.get(name), count) for name in reals},
                {name: text_column(cells.get(name), count) for name in texts},
            )

    @staticmethod
    def _cell(column: list[Any], row: int) -> Any:
        return column[row] if row < len(column) else None

    def close(self) -> None:
        """See `TableFile`."""


def run_nsys(data: bytes) -> None:
    """Tables as events."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ImportFormatError("no input of this kind") from error
    if not isinstance(document, dict):
        return
    tables = {
        name: {key: list(map(json_cells, cells)) for key, cells in table.items() if isinstance(cells, list)}
        for name, table in document.items()
        if isinstance(table, dict)
    }
    with memory_builder() as builder:
        convert_tables(MemoryTables(tables), builder, ImportOptions(), lambda *_progress: None, lambda: False)
        settle(builder)


def _nsys_seeds(data: Path | None) -> list[bytes]:
    """Of each table that some export has, a few rows, with those that describe them."""
    found: dict[str, bytes] = {}
    if data is None:
        return [json.dumps({"StringIds": {"id": [1], "value": ["a"]}, **_OWN}).encode()]
    with tempfile.TemporaryDirectory() as folder:
        for path in small_seeds.small_databases(data, Path(folder)):
            with closing(sqlite3.connect(path)) as db:
                db.text_factory = lambda raw: raw.decode("utf-8", "replace")
                names = [
                    name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                ]
                tables = {name: _columns(db, name) for name in names}
            around = {name: table for name, table in tables.items() if name.startswith(_SUPPORTING)}
            for name, table in tables.items():
                if name not in found and name not in around and any(map(len, table.values())):
                    found[name] = json.dumps({**around, name: table}).encode()
    return [json.dumps({"StringIds": {"id": [1], "value": ["a"]}, **_OWN}).encode(), *found.values()]


_OWN: dict[str, Table] = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": {
        "start": [10, 30], "end": [20, 40], "globalTid": [1 << 24 | 7, 1 << 24 | 7], "correlationId": [1, 2],
        "nameId": [1, 1], "returnValue": [0, 0],
    },
    "CUPTI_ACTIVITY_KIND_KERNEL": {
        "start": [15], "end": [25], "deviceId": [0], "contextId": [1], "streamId": [7], "correlationId": [1],
        "globalPid": [1 << 24], "shortName": [1], "demangledName": [1], "gridX": [8], "blockX": [32],
    },
    "NVTX_EVENTS": {
        "start": [5, 12], "end": [50, None], "eventType": [59, 34], "text": ["a", None], "textId": [None, 1],
        "globalTid": [1 << 24 | 7, 1 << 24 | 7], "domainId": [0, 0],
    },
}  # fmt: skip


def _columns(db: sqlite3.Connection, name: str) -> Table:
    most = 6 if name == "StringIds" else _ROWS
    cursor = db.execute(f'SELECT * FROM "{name}" LIMIT {most}')
    rows = cursor.fetchall()
    return {
        column[0]: [None if isinstance(row[place], bytes) else row[place] for row in rows]
        for place, column in enumerate(cursor.description)
    }


def _mutate_tables(data: bytes, rng: random.Random) -> bytes:
    document = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 6))):
        names = list(document)
        name = names[-1] if rng.random() < 0.5 else rng.choice(names)
        table = document[name]
        column = rng.choice(list(table))
        action = rng.randrange(8)
        if action == 0:
            del table[column]
        elif action == 1:
            other = rng.choice(list(document[rng.choice(names)]) or [column])
            table[other] = table[column]
        elif action == 2:
            table[column] = [*table[column], *table[column]][:40]
        elif action == 3:
            table[column] = rng.choice(list(table.values()))
        elif table[column]:
            table[column][rng.randrange(len(table[column]))] = rng.choice(_VALUES)
    return json.dumps(document).encode()


_PAGE = 512


def _own_database() -> bytes:
    """Cells of every type in pages as small as can be."""
    path = scratch() / "seed.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA page_size = {_PAGE}")
        db.execute("CREATE TABLE T (a INTEGER, b REAL, c TEXT)")
        rows = [(1, 0.5, "one"), (2**40, 1, b"one"), (3, None, None), (None, -1e300, "x" * 60), (-5, 2.5, "")]
        db.executemany("INSERT INTO T VALUES (?, ?, ?)", rows * 2)
        db.commit()
    return path.read_bytes()


def _mutate_database(data: bytes, rng: random.Random) -> bytes:
    """Cells of other types and lengths: bytes behind the first page, without which there is no table."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(_PAGE, max(_PAGE + 1, len(out)))
        piece = bytes(
            rng.choice((*range(16), 127, 128, 129, 255, rng.randrange(256)))
            for _ in range(rng.choice((1, 1, 2, 8)))
        )
        out[at : at + len(piece)] = piece
    return bytes(out)


def _all_rows(path: Path) -> list[Any]:
    tables = SqliteTables(path)
    found: list[Any] = []
    try:
        for table in tables.names()[:4]:
            have = sorted(tables.columns(table))[:6]
            parts = (have[:2], have[2:4], have[4:]) if len(have) > 3 else (have[:1], have[1:2], have[2:])
            found.append((table, tables.count(table)))
            for batch in tables.read(table, *parts, chunk_rows=7):
                found += [(name, *column.tolist()) for name, column in batch.ints.items()]
                found += [(name, *map(repr, column.tolist())) for name, column in batch.reals.items()]
                found += [(name, *column) for name, column in batch.texts.items()]
    finally:
        tables.close()
    return found


def run_sqlite(data: bytes) -> None:
    """A database's rows, by the compiled loop and without it."""
    path = scratch() / "x.sqlite"
    path.write_bytes(data)
    compiled = _all_rows(path)
    with mock.patch.object(SqliteRows, "open", classmethod(lambda _cls, _path: None)):
        plain = _all_rows(path)
    if _joined(compiled) != _joined(plain):
        raise Differs("rows of SQLite")


def _joined(rows: list[Any]) -> dict[Any, list[Any]]:
    """Cells by column: where batches end is nobody's business."""
    found: dict[Any, list[Any]] = {}
    for name, *cells in rows:
        found.setdefault(name, []).extend(cells)
    return found


TARGETS = (
    Target("nsys-tables", run_nsys, _nsys_seeds, _mutate_tables, most_bytes=16384),
    Target("sqlite-rows", run_sqlite, lambda _data: [_own_database()], _mutate_database),
)
