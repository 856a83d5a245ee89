"""Queries in SQL: what they answer, and what they say when they cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from warpline.query.binding import Binder
from warpline.query.catalog import Catalog
from warpline.query.guard import connect
from warpline.query.raw_tables import Keys
from warpline.query.session import QueryError, QueryNotRecordedError, QuerySession
from warpline.storage import CaptureBuilder, open_capture


@pytest.mark.parametrize(
    ("sql", "said", "place"),
    [
        ("SELECT durr FROM events", 'no column "durr"; did you mean "dur"?', (1, 8)),
        ("SELECT 'ü'\n  , durr FROM events", 'no column "durr"; did you mean "dur"?', (2, 5)),
        ("SELECT * FROM evnts", 'no table "evnts"; did you mean "events"?', (1, 15)),
        ("SELECT rank FROM events", "rank is a column of tracks", (1, 8)),
        ("SELECT end, durr FROM NVTX_EVENTS", 'no column "durr"', (1, 13)),
        ("SELECT utid FROM kernel", "it is thread_id of tracks", (1, 8)),
        ("SELECT extract_arg(1, 'x')", "columns of the tables of each kind", (1, 8)),
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


def test_ranks_of_a_job_are_one_table(sql_path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.h5"
    with CaptureBuilder(other) as builder:
        process = builder.add_process(5, name="python", rank=7)
        track = builder.track("rank/7/gpu/0/stream/1", role="stream", process=process, rank=7)
        builder.add_events(track, "kernel", [0], [3], [builder.string("gemm")])
        builder.finish()
    with open_capture(sql_path) as first, open_capture(other) as second:
        keys = Keys()
        named = zip((first, first, second), ("main", "a", "b"), strict=True)
        binder = Binder(connect(2 << 30, 2), [Catalog(capture, name, keys) for capture, name in named])

        def answer(sql: str) -> list[tuple[Any, ...]]:
            columns, _ = binder.run(sql)
            return list(zip(*(column.python_values() for column in columns), strict=True))

        kernels = (
            "SELECT rank, count(*), sum(dur) FROM job.kernel WHERE name = 'gemm' GROUP BY rank ORDER BY rank"
        )
        assert answer(kernels) == [(0, 10, 400_000_000), (1, 1, 3)]
        # The first names no rank: both are told by their places. Kinds that one lacks come from the other.
        assert answer("SELECT DISTINCT rank FROM job.tracks ORDER BY 1") == [(0,), (1,)]
        assert answer("SELECT DISTINCT rank FROM job.memcpy") == [(0,)]
        assert answer("SELECT count(*) FROM job.kernel") == answer(
            "SELECT (SELECT count(*) FROM a.kernel) + (SELECT count(*) FROM b.kernel)"
        )
