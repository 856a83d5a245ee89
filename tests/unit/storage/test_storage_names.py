"""Rows by name against brute force, in memory and from the user's cache."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.model import Cancelled, Flag, Packing
from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline.storage.columns.events import Events
from warpline.storage.index import name_index_cache, name_pieces
from warpline.storage.index.name_index import NameIndex
from warpline.storage.index.name_index_cache import build_name_index


def write(path: Path, seed: int, n: int) -> Capture:
    rng = np.random.default_rng(seed)
    with CaptureBuilder(path) as builder:
        names = builder.strings(f"n{i}" for i in range(7))
        for index in range(2):
            track = builder.track(
                f"t/{index}", clock=builder.add_clock("c", 100 * index), packing=Packing.PACK
            )
            builder.add_events(
                track,
                "kernel",
                rng.integers(0, 5 * n, n),
                rng.integers(0, 12, n),
                rng.choice(names, n),
                flags=np.where(rng.random(n) < 0.2, int(Flag.WAITING), 0),
            )
        builder.finish()
    return open_capture(path)


def check(capture: Capture, index: NameIndex, seed: int) -> None:
    rng = np.random.default_rng(seed)
    every = np.arange(len(capture.events))
    name = capture.events.name
    start, stop = capture.event_times(every)
    lane_of = capture.lanes_of_rows(every)
    low, high = capture.span
    for _ in range(6):
        first, last = np.sort(rng.integers(low - 5, high + 5, 2)).tolist()
        whole = rng.random() < 0.3
        lanes = np.flatnonzero(rng.random(len(capture.lanes)) < 0.6) if rng.random() < 0.7 else None
        chosen = np.ones(len(every), bool) if lanes is None else np.isin(lane_of, lanes)
        if not whole:
            chosen &= (start < last) & ((stop > first) | (start >= first))
        wanted = rng.integers(0, 9, 3)
        limits = () if whole else (first, last)
        assert index.rows(wanted, lanes, *limits).tolist() == every[chosen & np.isin(name, wanted)].tolist()
        totals = index.totals(lanes, *limits)
        inside = np.minimum(stop, high if whole else last) - np.maximum(start, low if whole else first)
        busy = np.where(capture.events.flags == 0, np.maximum(inside, 0), 0)
        expected = [
            (int(one), int((chosen & (name == one)).sum()), int(busy[chosen & (name == one)].sum()))
            for one in np.unique(name[chosen])
        ]
        found = zip(totals.name.tolist(), totals.count.tolist(), totals.busy_ns.tolist(), strict=True)
        assert list(found) == expected


@pytest.mark.fuzz
@given(st.integers(0, 2**32), st.sampled_from([1, 5, 300]), st.sampled_from([7, 100, 1 << 21]))
@settings(max_examples=rounds(9), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_and_totals_agree_with_brute_force(tmp_path: Path, seed: int, n: int, piece: int) -> None:
    with write(tmp_path / "x.h5", seed, n) as capture, pytest.MonkeyPatch.context() as patch:
        patch.setattr(name_pieces, "PIECE", piece)
        check(capture, build_name_index(capture.lane_columns, capture.uuid), seed)
        check(capture, build_name_index(capture.lane_columns, capture.uuid, folder=tmp_path / "names"), seed)
        check(capture, capture.index_lanes(range(len(capture.lanes))), seed)


def test_an_index_of_some_lanes_knows_these_and_no_others(tmp_path: Path) -> None:
    with write(tmp_path / "x.h5", 5, 300) as capture:
        whole, lanes = build_name_index(capture.lane_columns, capture.uuid), [1, len(capture.lanes) - 1]
        part = capture.index_lanes(lanes)
        every = np.arange(len(capture.strings))
        assert part.rows(every).tolist() == whole.rows(every, lanes).tolist()
        found, expected = part.totals(), whole.totals(lanes)
        assert found.name.tolist() == expected.name.tolist()
        assert found.busy_ns.tolist() == expected.busy_ns.tolist()
        with pytest.raises(Cancelled):
            capture.index_lanes(lanes, lambda: True)


def test_large_captures_keep_their_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_index_cache, "ON_DISK_EVENTS", 100)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    with write(tmp_path / "x.h5", 3, 300) as capture:
        steps: list[float] = []

        def note(fraction: float, _: str) -> None:
            steps.append(fraction)

        build_name_index(capture.lane_columns, capture.uuid, note)
        assert steps
        assert steps == sorted(steps)
        steps.clear()
        check(capture, build_name_index(capture.lane_columns, capture.uuid, note), 3)
        assert steps == []
        place = next((tmp_path / "user" / "warpline" / "names").iterdir())
        assert place.name.startswith(capture.uuid)
        # Damaged or half an index is not trusted.
        for name in ("row", "first", "piece_first"):
            data = (place / name).read_bytes()
            (place / name).write_bytes(data[: len(data) // 2])
            check(capture, build_name_index(capture.lane_columns, capture.uuid), 3)
        (place / "first").write_bytes(os.urandom((place / "first").stat().st_size))
        check(capture, build_name_index(capture.lane_columns, capture.uuid), 3)


def test_only_the_latest_indexes_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_index_cache, "MAX_STORED", 2)
    for number in range(4):
        with write(tmp_path / f"{number}.h5", number, 30) as capture:
            build_name_index(capture.lane_columns, capture.uuid, folder=tmp_path / "names")
            os.utime(tmp_path / "names" / f"{capture.uuid}-60", (number, number))
    assert len(list((tmp_path / "names").iterdir())) == 2


def test_cancelling_leaves_nothing_and_no_disk_is_needed(tmp_path: Path) -> None:
    with write(tmp_path / "x.h5", 3, 300) as capture:
        with pytest.raises(Cancelled):
            build_name_index(
                capture.lane_columns, capture.uuid, cancelled=lambda: True, folder=tmp_path / "names"
            )
        assert list((tmp_path / "names").iterdir()) == []
        (tmp_path / "file").write_text("")
        check(capture, build_name_index(capture.lane_columns, capture.uuid, folder=tmp_path / "file"), 3)


def test_a_capture_without_events(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        index = build_name_index(capture.lane_columns, capture.uuid)
        assert len(index.totals().name) == 0
        assert len(index.rows([0])) == 0


@pytest.mark.fuzz
@given(st.integers(0, 2**32), st.integers(1, 400), st.sampled_from([1, 6, 3000, 2**32 - 1]), st.booleans())
@settings(max_examples=rounds(40))
def test_the_compiled_sort_agrees_with_numpy(seed: int, n: int, highest: int, is_damaged: bool) -> None:
    if name_pieces.library() is None:
        pytest.skip("the sort is not compiled here")
    rng = np.random.default_rng(seed)
    longest = np.iinfo(np.int64).max if is_damaged else 1000
    events = Events(
        np.arange(n),
        rng.integers(-longest if is_damaged else 0, longest, n),
        rng.integers(0, highest, n, endpoint=True).astype(np.uint32),
        np.zeros(n, np.uint8),
        rng.choice([0, int(Flag.WAITING), int(Flag.CUT_START)], n).astype(np.uint8),
    )
    part = slice(int(rng.integers(0, n)), n)
    found = []
    for compiled in (True, False):
        row, busy = np.empty(n - part.start, np.uint32), np.empty(n - part.start, np.int64)
        names, counts = name_pieces.sort_names(events, part, row, busy, compiled)
        found.append([column.tolist() for column in (names, counts, row, busy)])
    assert found[0] == found[1]


class _Rewriting:
    """The compiled sort, in front of which somebody writes into the file: ``names`` become ``others``."""

    def __init__(self, names: np.ndarray, others: np.ndarray) -> None:
        self._names, self._others = names, others
        found = name_pieces.library()
        assert found is not None
        self._sort = found.warpline_sort_names
        self.given: list[int] = []

    def warpline_sort_names(self, *arguments: int) -> int:
        self._names[:] = self._others
        self.given.append(self._sort(*arguments))
        return self.given[-1]


@pytest.mark.parametrize("other", [0, 5, 9, 10, 2**32 - 1])
def test_names_that_change_while_they_are_sorted_lead_nowhere(
    monkeypatch: pytest.MonkeyPatch, other: int
) -> None:
    """Rows are those of the column whatever becomes of it, and none is left as it was."""
    if name_pieces.library() is None:
        pytest.skip("the sort is not compiled here")
    n = 40
    names = np.arange(n, dtype=np.uint32) % 10
    events = Events(np.arange(n), np.ones(n, np.int64), names, np.zeros(n, np.uint8), np.zeros(n, np.uint8))
    others = names.copy()
    others[::3] = other
    rewriting = _Rewriting(names, others)
    monkeypatch.setattr(name_pieces, "library", lambda: rewriting)
    row, busy = np.full(n, 2**31, np.uint32), np.zeros(n, np.int64)
    distinct, counts = name_pieces.sort_names(events, slice(0, n), row, busy)
    assert (rewriting.given[0] < 0) == (other > 9)
    assert sorted(row.tolist()) == list(range(n))
    assert names[row].tolist() == np.repeat(distinct, counts).tolist() == sorted(others.tolist())


def test_names_that_somebody_writes_all_the_while_are_sorted_into_their_room() -> None:
    """Between the two readings as well: every place is filled once, and nothing beside them."""
    n, rounds_, around = 100_000, 12, 64
    first = np.arange(n, dtype=np.uint32) % 50
    names = first.copy()
    events = Events(np.arange(n), np.ones(n, np.int64), names, np.zeros(n, np.uint8), np.zeros(n, np.uint8))
    is_over = threading.Event()

    def write() -> None:
        rng = np.random.default_rng(4)
        while not is_over.is_set():
            names[: n // 2] = rng.integers(0, 50, n // 2, np.uint32)
            names[:] = first

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(rounds_):
            room = np.full(n + 2 * around, 2**31, np.uint32)
            busy = np.zeros(n, np.int64)
            _distinct, counts = name_pieces.sort_names(events, slice(0, n), room[around:-around], busy)
            assert counts.sum() == n
            assert (np.sort(room[around:-around]) == np.arange(n)).all()
            assert (room[:around] == 2**31).all()
            assert (room[-around:] == 2**31).all()
    finally:
        is_over.set()
        writer.join()
