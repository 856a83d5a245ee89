"""Building levels of detail: the same compiled and with numpy, whatever columns hold, and as many as are worth it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.storage.storage_tools import random_lane, write_lanes

from warpline.model import StorageError
from warpline.storage import verify
from warpline.storage.columns.schema import MAX_LEVEL
from warpline.storage.index import build_levels as building
from warpline.storage.index import levels_native
from warpline.storage.index.build_levels import FIRST_SHRINK, SHORT, build_levels, levels_at
from warpline.storage.index.level_of_detail import LodLevel
from warpline.storage.write import assemble, level_writer

needs_loops = pytest.mark.skipif(levels_native.library() is None, reason="the loops are not compiled here")
Columns = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.uint8], npt.NDArray[np.uint8]]

TIMES = st.integers(-(2**62), 2**62) | st.integers(0, 300)
EVENTS = st.lists(
    st.tuples(TIMES, st.integers(0, 2**62) | st.integers(0, 9), st.integers(0, 255), st.integers(0, 255)),
    min_size=1,
    max_size=200,
)


def lane_of(events: list[tuple[int, int, int, int]]) -> Columns:
    """Columns of a lane; only its starts are as they should be."""
    start, duration, flags, kind = zip(*sorted(events), strict=True)
    return (
        np.array(start, np.int64),
        np.array(duration, np.int64),
        np.array(flags, np.uint8),
        np.array(kind, np.uint8),
    )


def assert_same(found: list[LodLevel], expected: list[LodLevel]) -> None:
    assert [level.level for level in found] == [level.level for level in expected]
    for ours, theirs in zip(found, expected, strict=True):
        for name in ("start", "longest", "rest", "row"):
            a, b = getattr(ours, name), getattr(theirs, name)
            assert a.dtype == b.dtype
            assert np.array_equal(a, b), (ours.level, name)


def both_ways(columns: Columns, levels: list[int] | None) -> tuple[list[LodLevel], list[LodLevel]]:
    """Compiled and with numpy: all levels worth keeping, or these."""

    def make() -> list[LodLevel]:
        return list(build_levels(*columns) if levels is None else levels_at(*columns, levels))

    compiled = make()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels_native, "library", lambda: None)
        return compiled, make()


@needs_loops
@given(EVENTS, st.lists(st.integers(0, MAX_LEVEL), min_size=1, max_size=4, unique=True))
@settings(max_examples=rounds(60), deadline=None)
def test_compiled_levels_are_those_of_numpy(
    events: list[tuple[int, int, int, int]], levels: list[int]
) -> None:
    assert_same(*both_ways(lane_of(events), sorted(levels)))


@needs_loops
@pytest.mark.parametrize("shape", ["uniform", "bursty", "adjacent", "instants"])
def test_the_same_levels_are_chosen(shape: str) -> None:
    lane = random_lane(np.random.default_rng(3), 70_001, shape, 10**12)
    columns = lane.start, lane.duration, lane.flags, np.ones(len(lane.start), np.uint8)
    compiled, slow = both_ways(columns, None)
    assert_same(compiled, slow)
    assert len(compiled[0].start) * FIRST_SHRINK <= len(lane.start)


def test_the_last_of_equally_long_events_stands_for_them() -> None:
    n = 3 * SHORT
    columns = lane_of([(10 * i, 5 + 2**50 * (i % 2), 0, i % 3) for i in range(n)])
    for levels in both_ways(columns, [8, 12, 20]):
        for level in levels:
            bins = columns[0] >> level.level
            last = np.flatnonzero(np.diff(bins, append=-1))
            assert np.array_equal(level.row, last - (1 - last % 2))


def test_any_choice_of_sound_levels_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of other writers, and of times when another choice was made, are as good."""
    lanes = [random_lane(np.random.default_rng(4), 9_000, "bursty", 0)]
    for shrink, step in ((2, 1), (40, 5)):
        monkeypatch.setattr(building, "FIRST_SHRINK", shrink)
        monkeypatch.setattr(building, "_STEP", step)
        with write_lanes(tmp_path / f"{shrink}.h5", lanes, 0) as capture:
            counts = capture.pyramid.count
            assert counts
            assert list(verify(capture)) == []


@needs_loops
def test_times_that_change_after_they_were_counted_stay_in_their_room() -> None:
    """A file that somebody rewrites has more bins than there is room for, or fewer."""
    n = 300
    start = np.zeros(n, np.int64)
    columns = start, np.ones(n, np.int64), np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    lib = levels_native.library()
    assert lib is not None
    near, far = np.zeros(n, np.int64), np.arange(n) * 100
    for counted, then in ((near, far), (far, near)):
        start[:] = counted
        entries = levels_native.bin_count(lib, start, 3)
        start[:] = then
        level = levels_native.level_from_events(lib, *columns, 3, entries)
        assert len(level.start) == len(level.row) == 1
        assert level.row.max() < n


def test_a_second_thread_writes_the_same_detail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    lanes = [random_lane(rng, n, "bursty") for n in (3000, 10, 900)]
    write_lanes(tmp_path / "one.h5", lanes).close()
    monkeypatch.setattr(assemble, "_MANY", 1)
    write_lanes(tmp_path / "two.h5", lanes).close()
    with h5py.File(tmp_path / "one.h5") as one, h5py.File(tmp_path / "two.h5") as two:
        found: list[str] = []
        one.visit(found.append)
        datasets = [name for name in found if isinstance(one[name], h5py.Dataset)]
        assert {"lod/longest", "lod/levels/first", "utilization/value", "events/start"} <= set(datasets)
        for name in datasets:
            assert name == "meta/meta" or np.array_equal(one[name], two[name]), name


@pytest.mark.parametrize("many", [1, 1 << 60])
def test_a_capture_whose_detail_cannot_be_made_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    def fail(*_columns: object) -> Iterator[LodLevel]:
        raise StorageError("no room")

    monkeypatch.setattr(assemble, "_MANY", many)
    monkeypatch.setattr(level_writer, "build_levels", fail)
    with pytest.raises(StorageError, match="no room"):
        write_lanes(tmp_path / "x.h5", [random_lane(np.random.default_rng(1), 500, "bursty")])
    assert not list(tmp_path.iterdir())
