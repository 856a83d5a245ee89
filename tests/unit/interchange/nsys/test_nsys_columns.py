"""Columns of Nsight tables are read, grouped and joined."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.interchange.nsys.nsys_tools import make_export

from warpline.interchange.nsys.counters import split_unit
from warpline.interchange.nsys.sched import slices_of
from warpline.interchange.nsys.stacks import build_stacks
from warpline.interchange.nsys.tables import sqlite_tables
from warpline.interchange.nsys.tables.access import NULL, groups
from warpline.interchange.nsys.tables.sqlite_tables import SqliteTables
from warpline.model import Flag


@settings(max_examples=rounds(50, 5_000))
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=60))
def test_groups_partition_the_rows(pairs: list[tuple[int, int]]) -> None:
    first, second = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    found = {key: index.tolist() for key, index in groups(first, second)}
    expected: dict[tuple[int, int], list[int]] = {}
    for row, pair in enumerate(pairs):
        expected.setdefault(pair, []).append(row)
    assert found == expected


@settings(max_examples=rounds(40, 5_000))
@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=6), min_size=1, max_size=20), st.randoms())
def test_stacks_equal_the_call_chains(chains: list[list[int]], chance: random.Random) -> None:
    rows = [
        (number, depth, frame) for number, chain in enumerate(chains) for depth, frame in enumerate(chain)
    ]
    chance.shuffle(rows)
    made: dict[tuple[int, int], int] = {}

    class Builder:
        def stack(self, frame: int, parent: int = -1) -> int:
            return made.setdefault((frame, parent), len(made))

    ids, stacks, leaves = build_stacks(
        Builder(),  # type: ignore[arg-type]  # all it needs of a builder
        np.array([row[0] for row in rows]),
        np.array([row[2] for row in rows], np.uint32),
        np.array([row[1] for row in rows], np.int32),
    )
    back = {index: key for key, index in made.items()}
    for number, stack, leaf in zip(ids.tolist(), stacks.tolist(), leaves.tolist(), strict=True):
        frames = []
        while stack != -1:
            frame, stack = back[stack]
            frames.append(frame)
        assert frames == chains[number]
        assert leaf == chains[number][0]


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3), st.integers(0, 100), st.booleans(), st.sampled_from([NULL, 0, 2, 3, 5, 6])
        ),
        max_size=30,
        unique_by=lambda row: row[:2],
    )
)
def test_scheduler_rows_become_what_a_walk_along_each_thread_finds(
    rows: list[tuple[int, int, bool, int]],
) -> None:
    tid, start, is_in, state = (
        np.array([row[i] for row in rows], bool if i == 2 else np.int64) for i in range(4)
    )
    cpu = np.arange(len(rows), dtype=np.int64)
    slices = slices_of(tid, start, cpu, is_in, state, np.full(len(rows), NULL), (0, 200))
    expected = []
    for thread in {row[0] for row in rows}:
        own = sorted(row for row in rows if row[0] == thread)
        for number, (_, begin, entered, why) in enumerate(own):
            is_last = number == len(own) - 1
            end = 200 if is_last else own[number + 1][1]
            if number == 0 and not entered and begin > 0:
                expected.append((thread, 0, begin, True, int(Flag.CUT_START)))
            if entered:
                expected.append((thread, begin, end, True, int(Flag.CUT_END) if is_last else 0))
            elif why != 5 and not (is_last and why in (NULL, 0)):
                expected.append((thread, begin, end, False, int(Flag.CUT_END) if is_last else 0))
    found = zip(slices.tid, slices.start, slices.stop, slices.is_running, slices.flags, strict=True)
    assert [tuple(map(int, row)) for row in found] == [tuple(map(int, row)) for row in sorted(expected)]


def test_units_in_metric_names() -> None:
    assert split_unit("SM Active [Throughput %]") == ("SM Active", "%")
    assert split_unit("GPC Clock Frequency [MHz]") == ("GPC Clock Frequency", "MHz")
    assert split_unit("Plain name") == ("Plain name", "")


def test_columns_that_do_not_exist_are_missing(tmp_path: Path) -> None:
    source = make_export(tmp_path / "x.sqlite", {"T": ("a, b", [(1, None), (None, "2")])})
    tables = SqliteTables(source)
    (batch,) = tables.read("T", ints=("a", "nope"), reals=("gone",), texts=("b", "also"))
    assert batch["a"].tolist() == [1, NULL]
    assert batch["nope"].tolist() == [NULL, NULL]
    assert np.isnan(batch.reals["gone"]).all()
    assert list(batch.texts["b"]) == [None, b"2"]
    assert list(batch.texts["also"]) == [None, None]
    assert list(tables.read("missing", ints=("a",))) == []
    tables.close()


cells = st.one_of(
    st.none(), st.integers(-3, 3), st.floats(-2, 2), st.sampled_from(["", "1", "text"]), st.just(b"\xff")
)


@settings(max_examples=rounds(20))
@given(
    runs=st.lists(st.tuples(cells, cells, st.integers(1, 9)), max_size=12),
    chunk_rows=st.integers(1, 7),
    first_rows=st.integers(1, 7),
)
def test_every_cell_is_read_wherever_columns_change(
    runs: list[tuple[Any, Any, int]], chunk_rows: int, first_rows: int
) -> None:
    rows = [(first, second) for first, second, count in runs for _ in range(count)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_tables, "_FIRST_ROWS", first_rows)
        tables = SqliteTables(make_export(Path(folder) / "x.sqlite", {"T": ("a, b", rows)}))
        found = list(tables.read("T", ints=("a",), reals=("a",), texts=("b",), chunk_rows=chunk_rows))
        tables.close()
    numbers = [cell for batch in found for cell in batch["a"].tolist()]
    reals = [cell for batch in found for cell in batch.reals["a"].tolist()]
    texts = [cell for batch in found for cell in batch.texts["b"]]
    assert numbers == [
        int(cell) if isinstance(cell, (int, float)) or cell == "1" else NULL for cell, _ in rows
    ]
    expected = [float(cell) if isinstance(cell, (int, float)) else None for cell, _ in rows]
    assert [None if np.isnan(cell) else cell for cell in reals] == expected
    assert texts == [
        cell if cell is None or isinstance(cell, bytes) else str(cell).encode() for _, cell in rows
    ]
