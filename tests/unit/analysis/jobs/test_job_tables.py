"""Tables of many ranks as one, and how they travel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.report import NotRecorded, Report, Table, Values
from warpline.analysis.jobs.distribution import over_ranks, spreads
from warpline.analysis.jobs.packed_reports import pack, unpack


def table(**values: float) -> Table:
    """A table with the texts ``name`` and a time of each."""
    return Table(
        (Column("name", "Name", Role.NAME, key=True), Column("time_ns", "Time", Role.DURATION)),
        {"name": list(values), "time_ns": np.array(list(values.values()), np.float64)},
    )


def test_rows_that_some_ranks_lack_say_how_many_have_them() -> None:
    found = over_ranks({0: table(a=1, b=5), 3: table(a=3), 7: table(c=2, a=10)})
    assert isinstance(found, Table)
    assert list(found.rows()) == [
        {"name": "a", "ranks": 3, "time_ns": 3, "time_ns_spread": 4.5, "time_ns_worst": 10, "time_ns_worst_rank": 7},
        {"name": "b", "ranks": 1, "time_ns": 5, "time_ns_spread": 0, "time_ns_worst": 5, "time_ns_worst_rank": 0},
        {"name": "c", "ranks": 1, "time_ns": 2, "time_ns_spread": 0, "time_ns_worst": 2, "time_ns_worst_rank": 7},
    ]  # fmt: skip


def test_rows_of_trees_stay_below_their_parents() -> None:
    def tree(*rows: tuple[int, str]) -> Table:
        columns = (Column("name", "Name", Role.NAME, key=True), Column("time_ns", "Time", Role.DURATION))
        data: dict[str, Values] = {"name": [name for _, name in rows], "time_ns": np.ones(len(rows))}
        return Table(columns, data, depth=np.array([depth for depth, _ in rows], np.int16))

    found = over_ranks(
        {0: tree((0, "a"), (1, "x"), (0, "b"), (1, "x")), 1: tree((0, "a"), (1, "y"), (0, "b"), (1, "x"))}
    )
    assert isinstance(found, Table)
    assert [(row["depth"], row["name"], row["ranks"]) for row in found.rows()] == [
        (0, "a", 2), (1, "x", 1), (1, "y", 1), (0, "b", 2), (1, "x", 2)
    ]  # fmt: skip


def test_lists_of_events_cannot_be_spread() -> None:
    events = Table((Column("time_ns", "Time", Role.DURATION),), {"time_ns": np.ones(2)})
    assert isinstance(over_ranks({0: events}), NotRecorded)


@given(st.lists(st.none() | st.integers(-(2**40), 2**40), min_size=1, max_size=12))
def test_the_worst_is_as_far_from_the_median_as_any(values: list[int | None]) -> None:
    known = [value for value in values if value is not None]
    row = np.array([np.nan if value is None else value for value in values])
    found = spreads(np.stack([row, row[::-1]]))
    if not known:
        assert np.isnan([found.median, found.spread, found.worst]).all()
        assert found.place.tolist() == [-1, -1]
        return
    assert found.median.tolist() == [np.median(known)] * 2
    assert found.spread == pytest.approx(np.subtract(*np.quantile(known, (0.75, 0.25))))
    worst, place = found.worst[0], int(found.place[0])
    assert all(abs(value - found.median[0]) <= abs(worst - found.median[0]) for value in known)
    if place < 0:
        assert len(set(known)) == 1
        assert len(known) > 1
    else:
        assert values[place] == worst


def test_reports_travel_whole() -> None:
    columns = (
        Column("name", "Name", Role.NAME, key=True, ours=True),
        Column("count", "Count", Role.COUNT),
        Column("ratio", "Ratio", Role.RATIO, of="the whole", heat=True),
        Column("is_far", "Far", Role.FLAG),
    )
    data: dict[str, Values] = {
        "name": ["a", None],
        "count": np.ma.MaskedArray([2**60 + 1, 0], [False, True]),
        "ratio": np.array([0.1, np.nan]),
        "is_far": np.array([True, False]),
    }
    report = Report(
        "r", "R", (3, 9), Table(columns, data, depth=np.array([0, 1], np.int16), scope="s", notes=("n",))
    )
    there = unpack(pack(report))
    assert (there.name, there.title, there.range_ns) == ("r", "R", (3, 9))
    assert there.table is not None
    assert report.table is not None
    assert there.table.columns == columns
    assert list(there.table.rows()) == list(report.table.rows())
    assert (there.table.scope, there.table.notes) == ("s", ("n",))
    missing = Report("r", "R", (0, 1), NotRecorded("why", "how"))
    assert unpack(pack(missing)) == missing
    for damaged in (b"", b"{}", b"[]", b'{"name": 1'):
        with pytest.raises(ValueError, match=r".*"):
            unpack(damaged)
