"""The compiled SQLite loop reads every cell, and leaves unexpected types to Python."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.interchange.nsys.tables.access import NULL
from warpline.interchange.nsys.tables.sqlite_rows import INTEGER, REAL, TEXT, SqliteRows
from warpline.interchange.nsys.tables.sqlite_tables import SqliteTables
from warpline.model import ImportFormatError

WHOLE = st.none() | st.integers(-(1 << 63) + 1, (1 << 63) - 1)
NUMBER = st.none() | st.integers(-9, 9) | st.floats(allow_nan=False)
WORDS = st.none() | st.sampled_from([b"", b"a", b"\xff\x00b"]) | st.text(max_size=3)
LOST = Path(__file__).resolve().parents[3] / "data" / "corpus" / "text_that_is_lost.sqlite"
ODD = st.sampled_from([1.5, "x", b"y", 7, None])


def table(folder: str, rows: list[tuple[Any, ...]]) -> Path:
    path = Path(folder) / "t.sqlite"
    with sqlite3.connect(path) as out:
        out.execute("CREATE TABLE T (a, b, c)")
        out.executemany("INSERT INTO T VALUES (?, ?, ?)", rows)
    out.close()
    return path


def encoded(cell: Any) -> bytes | None:
    return cell.encode() if isinstance(cell, str) else cell


@settings(max_examples=rounds(30))
@given(
    rows=st.lists(st.tuples(WHOLE, NUMBER, WORDS), max_size=40),
    odd=st.none() | st.tuples(st.integers(0, 39), st.integers(0, 2), ODD),
    chunk_rows=st.integers(1, 9),
)
def test_every_cell_is_read(
    rows: list[tuple[Any, ...]], odd: tuple[int, int, Any] | None, chunk_rows: int
) -> None:
    if odd is not None and odd[0] < len(rows):
        cells = list(rows[odd[0]])
        cells[odd[1]] = odd[2]
        rows[odd[0]] = tuple(cells)
    found = {}
    for compiled in (True, False):
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            if not compiled:
                patch.setattr(SqliteRows, "open", classmethod(lambda _cls, _path: None))
            tables = SqliteTables(table(folder, rows))
            batches = list(tables.read("T", ("a", "gone"), ("b",), ("c", "lost"), chunk_rows=chunk_rows))
            tables.close()
        found[compiled] = (
            [cell for batch in batches for cell in batch["a"].tolist()],
            [repr(cell) for batch in batches for cell in batch.reals["b"].tolist()],
            [cell for batch in batches for cell in batch.texts["c"]],
            [cell for batch in batches for cell in batch["gone"].tolist()],
            [cell for batch in batches for cell in batch.texts["lost"]],
        )
    assert found[True] == found[False]
    if odd is None:
        assert found[True][0] == [NULL if cell is None else cell for cell, _, _ in rows]
        assert found[True][1] == [repr(float("nan") if cell is None else float(cell)) for _, cell, _ in rows]
        assert found[True][2] == [encoded(cell) for _, _, cell in rows]


@pytest.fixture
def connection(tmp_path: Path) -> Any:
    path = table(str(tmp_path), [(1, 0.5, "one"), (2, 1, b"one"), (3, None, None)])
    found = SqliteRows.open(path)
    if found is None:
        pytest.skip("no SQLite library, or the loop is not compiled here")
    yield found
    found.close()


def test_whole_batches_and_the_last(connection: SqliteRows) -> None:
    types = {"a": INTEGER, "b": REAL, "c": TEXT}
    batches = list(connection.read("SELECT a, b, c FROM T ORDER BY rowid", types, 2))
    assert [batch.rows for batch in batches if batch is not None] == [2, 1]
    assert None not in batches
    assert np.isnan(batches[1].reals["b"][0])  # type: ignore[union-attr]  # none is None
    assert list(batches[0].texts["c"]) == [b"one", b"one"]  # type: ignore[union-attr]  # likewise


@pytest.mark.parametrize(
    ("query", "types"),
    [("SELECT a FROM Nothing", {"a": INTEGER}), ("SELECT c FROM T", {"c": INTEGER}), ("SELECT 1", {})],
)
def test_unsupported_zip_members_are_errors(
    connection: SqliteRows, query: str, types: dict[str, int]
) -> None:
    assert list(connection.read(query, types, 10)) == [None]


def test_a_text_of_too_many_digits_is_not_a_number() -> None:
    with tempfile.TemporaryDirectory() as folder:
        tables = SqliteTables(table(folder, [(1, None, None), (b"9" * 30, None, None), (b"7", None, None)]))
        (batch,) = tables.read("T", ("a",))
        tables.close()
    assert batch["a"].tolist() == [1, NULL, 7]


@pytest.mark.parametrize("compiled", [True, False])
def test_an_unreadable_text_is_reported_as_damage_not_as_lack_of_memory(
    monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    if not compiled:
        monkeypatch.setattr(SqliteRows, "open", classmethod(lambda _cls, _path: None))
    with contextlib.closing(SqliteTables(LOST)) as tables:
        (name,) = tables.names()
        with pytest.raises(ImportFormatError, match="a damaged text"):
            list(tables.read(name, texts=sorted(tables.columns(name))))
