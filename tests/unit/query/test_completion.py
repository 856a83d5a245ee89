"""What the editor of queries proposes at a place."""

from __future__ import annotations

import pytest

from warpline.query.session import ColumnInfo, TableInfo
from warpline_app.panels.query.completion import Completion, complete


def table(name: str, *columns: str) -> TableInfo:
    return TableInfo(name, "", None, tuple(ColumnInfo(column, "BIGINT", "") for column in columns))


TABLES = (
    table("kernel", "id", "ts", "dur", "grid_x"),
    table("tracks", "id", "uri", "title"),
    table("perfetto.slice", "id", "ts"),
    table("slice_at(t)"),
)
NAMES = ("gemm", "it's a gemm", "copy")


def proposed(sql: str, *, is_asked: bool = False) -> Completion:
    """What is proposed at the ``|`` of a query."""
    before, _, after = sql.partition("|")

    def names(text: str, most: int) -> list[str]:
        return [name for name in NAMES if text in name][:most]

    return complete(before, after, TABLES, names, is_asked=is_asked)


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT * FROM ker|", "kernel"),
        ("SELECT * FROM kernel k JOIN tr|", "tracks"),
        ("SELECT * FROM kernel, tra|", "tracks"),
        ("SELECT gri| FROM kernel", "grid_x"),
        ("SELECT k.| FROM kernel AS k", "id"),
        ("SELECT k.gr| FROM tracks t JOIN kernel k ON true", "grid_x"),
        ("SELECT t.ur| FROM kernel k JOIN tracks t ON t.id = k.track_id", "uri"),
        ("SELECT * FROM perfetto.sl|", "slice"),
        ("SELECT * FROM sli|", "slice_at("),
        ("SELECT * FROM kernel wh|", "WHERE"),
        ("SELECT * FROM kernel WHERE name = 'ge|", "gemm"),
        ("SELECT ri| FROM kernel -- tracks", "grid_x"),
    ],
)
def test_the_first_proposal_is_what_is_meant(sql: str, first: str) -> None:
    assert proposed(sql).texts[0] == first


def test_a_word_is_replaced_from_its_beginning_and_a_text_from_its_quote() -> None:
    assert proposed("SELECT * FROM ker|").start == len("SELECT * FROM ")
    assert proposed("SELECT k.gr| FROM kernel k").start == len("SELECT k.")
    found = proposed("SELECT 'a''b', 'it''s| FROM kernel")
    assert found == Completion(len("SELECT 'a''b', '"), ("it''s a gemm",))


@pytest.mark.parametrize(
    "sql", ["", "SELECT |", "SELECT 1 -- k|", "/* k|", "SELECT * FROM kernel|", "SELECT x.k| "]
)
def test_nothing_is_proposed_where_nothing_is_begun(sql: str) -> None:
    assert proposed(sql).texts == ()


def test_columns_of_the_named_tables_come_first_when_asked() -> None:
    assert proposed("SELECT | FROM kernel", is_asked=True).texts[:4] == ("id", "ts", "dur", "grid_x")
