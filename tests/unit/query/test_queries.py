"""Queries in SQL: what they answer, and what they say when they cannot."""

from __future__ import annotations

import pytest

from warpline.query.session import QueryError, QueryNotRecordedError, QuerySession


@pytest.mark.parametrize(
    ("sql", "said", "place"),
    [
        ("SELECT durr FROM events", 'no column "durr"; did you mean "dur"?', (1, 8)),
        ("SELECT 'ü'\n  , durr FROM events", 'no column "durr"; did you mean "dur"?', (2, 5)),
        ("SELECT * FROM evnts", 'no table "evnts"; did you mean "events"?', (1, 15)),
        ("SELECT rank FROM events", "rank is a column of tracks", (1, 8)),
        ("SELECT foor(1)", 'no function foor(); did you mean "floor"?', (1, 8)),
        ("SELEC 1", "syntax error", (1, 1)),
        ("SELECT 1; SELECT 2", "one statement at a time", None),
        ("", "the query is empty", None),
        ("PIVOT events ON name", "PIVOT is not supported", None),
        ("CREATE TABLE x (y INT)", "only SELECT is supported", None),
        ("SHOW TABLES", "warpline query --schema", None),
        ("SELECT * FROM read_csv('x.csv')", "read_csv() is not available", None),
    ],
)
def test_errors_say_where_and_what(
    session: QuerySession, sql: str, said: str, place: tuple[int, int] | None
) -> None:
    with pytest.raises(QueryError) as caught:
        session.run(sql)
    assert said in str(caught.value)
    assert (caught.value.line, caught.value.column) == (place or (None, None))


def test_a_kind_that_is_missing_is_not_recorded(session: QuerySession) -> None:
    with pytest.raises(
        QueryNotRecordedError, match="OS runtime calls were not recorded; record with --trace osrt"
    ):
        session.run("SELECT * FROM osrt")


def test_a_limit_counts_rows_of_the_result(session: QuerySession) -> None:
    result = session.run("SELECT 'limit 1' AS x FROM range(7)", limit=5)
    assert (len(result), result.has_more) == (5, True)
    result = session.run("SELECT i FROM range(5) t(i) ORDER BY i DESC", limit=5)
    assert (result.columns[0].python_values(), result.has_more) == ([4, 3, 2, 1, 0], False)


def test_parameters(session: QuerySession) -> None:
    assert session.run("SELECT $a || 'x', $b + 1", {"a": "it's", "b": 41}).columns[1].python_values() == [42]
    assert session.run("SELECT ?::VARCHAR", ["y"]).columns[0].python_values() == ["y"]


def test_results_are_plain_values(session: QuerySession) -> None:
    result = session.run("SELECT sum(i), 1.5, [1, 2], NULL, true, DATE '2026-01-02' FROM range(3) t(i)")
    assert [column.python_values()[0] for column in result.columns] == [
        3,
        1.5,
        "[1, 2]",
        None,
        True,
        "2026-01-02",
    ]
