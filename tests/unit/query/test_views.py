"""Views hold what `capture.events()` returns; what a plan leaves out is never read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.query.view_checks import binder_of, differences

import warpline
from warpline.query.binding import Binder
from warpline.query.nesting import parents_of_events, self_times
from warpline.storage import Capture, open_capture

pytest.importorskip("duckdb")


@pytest.fixture
def capture(sql_path: Path) -> Iterator[Capture]:
    with open_capture(sql_path) as capture:
        yield capture


def rows_of(binder: Binder, sql: str) -> list[tuple[object, ...]]:
    columns, _ = binder.run(sql)
    return list(zip(*(column.python_values() for column in columns), strict=True))


def test_views_equal_python(sql_path: Path) -> None:
    with warpline.open(sql_path) as reader:
        assert differences(reader) == []


def test_python_asks_in_sql(sql_path: Path) -> None:
    with warpline.open(sql_path) as reader:
        frame = reader.sql(
            "SELECT name, name, count(*) AS n FROM events WHERE dur > $least GROUP BY name", {"least": -1}
        )
        assert frame.columns == ("name", "name_2", "n")
        assert int(frame["n"].sum()) == len(reader.events())
        assert frame.types["n"] == "BIGINT"
        other = reader.sql(
            "SELECT (SELECT count(*) FROM a.events) - (SELECT count(*) FROM b.events)", others=[reader]
        )
        assert list(other.rows()) == [{other.columns[0]: 0}]


def test_nesting_is_that_of_the_capture(capture: Capture) -> None:
    parents = parents_of_events(capture)
    streams = {track.index for track in capture.tracks if track.role == "stream"}
    for row in range(len(capture.events)):
        expected = None if capture.track_of_row(row) in streams else capture.parent_of_row(row)
        assert parents[row] == (-1 if expected is None else expected)
    own = self_times(capture)
    assert int(own.sum()) <= int(capture.events.duration.sum())
    binder = binder_of(capture)
    for row in range(len(capture.events)):
        if capture.track_of_row(row) in streams:
            continue
        assert {id_ for (id_,) in rows_of(binder, f"SELECT id FROM descendants({row})")} == set(
            capture.nested_rows(row).tolist()
        )
        chain, above = [], capture.parent_of_row(row)
        while above is not None:
            chain.append((above,))
            above = capture.parent_of_row(above)
        assert rows_of(binder, f"SELECT id FROM ancestors({row})") == chain[::-1]


JOINS = (
    " JOIN tracks t ON t.id = v.track_id",
    " LEFT JOIN links l ON l.from_id = v.id",
    " JOIN events w ON w.id = v.id",
)
CONDITIONS = ("", "WHERE v.dur > 10", "WHERE v.name LIKE '%a%'", "WHERE v.ts % 2 = 0 AND v.name <> ''")


def random_query(random_: random.Random, capture: Capture) -> str:
    """A query over a few views, joined, filtered, grouped or ordered by chance."""
    view = random_.choice(["events", *capture.kinds])
    table = f'"{view}" v'
    columns = ["v.id", "v.ts", "v.dur", "v.name", "v.track_id", "v.depth", "v.flags", "v.name_id"]
    if random_.random() < 0.4:
        table += random_.choice(JOINS)
    condition = random_.choice(CONDITIONS)
    shown = random_.sample(columns, random_.randint(1, 4))
    if random_.random() < 0.4:
        values = random_.choice(["count(*)", "sum(v.dur)", "count(DISTINCT v.name)", "max(v.name)"])
        keys = ", ".join(shown)
        return f"SELECT {keys}, {values} AS value FROM {table} {condition} GROUP BY {keys} ORDER BY ALL"
    if random_.random() < 0.3:
        return f"SELECT count(*), count(v.name) FROM (SELECT * FROM {table} {condition}) v"
    return f"SELECT {', '.join(shown)} FROM {table} {condition} ORDER BY ALL"


def test_what_is_not_read_is_not_made(capture: Capture) -> None:
    """Placeholders are never read as data: the answers of one that made every column before are the same."""
    eager = binder_of(capture)
    for table in eager.catalogs[0].views().values():
        for each in table.tables:
            each.arrays(each.columns)
    random_ = random.Random(32)
    lazy = binder_of(capture)
    for number in range(60):
        sql = random_query(random_, capture)
        if number % 15 == 0:
            lazy = binder_of(capture)
        assert rows_of(lazy, sql) == rows_of(eager, sql), sql
    made = {name for view in binder_of(capture).catalogs[0].views().values() for name in view.source.made}
    assert made == set()
