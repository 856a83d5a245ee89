"""Lanes never overlap, nested events get their depth, nothing is lost: against brute force."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.model import Packing
from warpline.storage.write import packing as packing_module
from warpline.storage.write.packing import Packer

events_strategy = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25)), min_size=1, max_size=60)


def sorted_events(events: list[tuple[int, int]], origin: int = 0) -> tuple[np.ndarray, np.ndarray]:
    ordered = sorted((start + origin, -(start + origin + length)) for start, length in events)
    return np.array([start for start, _ in ordered]), np.array([-stop for _, stop in ordered])


def brute_first_fit(starts: np.ndarray, stops: np.ndarray) -> list[int]:
    ends: list[int] = []
    lanes = []
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        lane = next((number for number, end in enumerate(ends) if end <= start), len(ends))
        if lane == len(ends):
            ends.append(stop)
        ends[lane] = stop
        lanes.append(lane)
    return lanes


def assert_no_overlap(starts: np.ndarray, stops: np.ndarray, lanes: np.ndarray) -> None:
    for lane in set(lanes.tolist()):
        chosen = lanes == lane
        assert np.all(starts[chosen][1:] >= stops[chosen][:-1])


@pytest.mark.fuzz
@given(events_strategy)
@settings(max_examples=rounds(100, 5_000))
def test_packed_events_take_the_lowest_free_lane(events: list[tuple[int, int]]) -> None:
    starts, stops = sorted_events(events)
    lanes = Packer(Packing.PACK).assign(starts, stops)
    assert lanes.tolist() == brute_first_fit(starts, stops)


@pytest.mark.fuzz
@given(events_strategy, st.lists(st.integers(1, 59), max_size=3))
@settings(max_examples=rounds(100, 5_000))
def test_a_track_may_come_in_parts(events: list[tuple[int, int]], cuts: list[int]) -> None:
    starts, stops = sorted_events(events, 2**60)
    for mode in Packing:
        packer = Packer(mode)
        borders = [
            0,
            *np.searchsorted(starts, 2**60 + np.sort(np.array(cuts, np.int64))).tolist(),
            len(starts),
        ]
        parts = [packer.assign(starts[a:b], stops[a:b]) for a, b in itertools.pairwise(borders)]
        assert_no_overlap(starts, stops, np.concatenate(parts))
        if mode is Packing.PACK:
            assert np.array_equal(np.concatenate(parts), Packer(mode).assign(starts, stops))


@pytest.mark.skipif(packing_module.library() is None, reason="the loop is not compiled here")
@pytest.mark.fuzz
@given(events_strategy, st.lists(st.integers(1, 59), max_size=3))
@settings(max_examples=rounds(100, 5_000))
def test_compiled_and_numpy_give_the_same_lanes(events: list[tuple[int, int]], cuts: list[int]) -> None:
    starts, stops = sorted_events(events)
    borders = [0, *np.searchsorted(starts, np.sort(np.array(cuts, np.int64))).tolist(), len(starts)]
    found = []
    for compiled in (packing_module.library(), None):
        with mock.patch.object(packing_module, "library", lambda compiled=compiled: compiled):
            packer = Packer(Packing.NEST)
            found.append(
                [packer.assign(starts[a:b], stops[a:b]).tolist() for a, b in itertools.pairwise(borders)]
            )
    assert found[0] == found[1]


@given(st.lists(st.integers(0, 5), max_size=40))
def test_the_next_of_the_same_code_is_found_with_and_without_the_loop(codes: list[int]) -> None:
    expected = [
        next((n for n in range(at + 1, len(codes)) if codes[n] == codes[at]), -1) for at in range(len(codes))
    ]
    for dtype in (np.uint16, np.int64):
        assert packing_module.next_of_same(np.array(codes, dtype)).tolist() == expected


@st.composite
def nested_events(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Properly nested (start, stop, depth), depths told by their making."""
    result = []

    def fill(low: int, high: int, depth: int) -> None:
        position = low
        while position < high and depth < 4 and draw(st.booleans()):
            start = draw(st.integers(position, high - 1))
            stop = draw(st.integers(start + 1, high))
            result.append((start, stop, depth))
            fill(start, stop, depth + 1)
            position = stop

    fill(0, 64, 0)
    return result


@pytest.mark.fuzz
@given(nested_events())
@settings(max_examples=rounds(70, 5_000))
def test_nested_events_get_their_depth(events: list[tuple[int, int, int]]) -> None:
    ordered = sorted(events, key=lambda event: (event[0], -event[1], event[2]))
    if not ordered:
        return
    starts, stops, depths = (np.array(column) for column in zip(*ordered, strict=True))
    assert Packer(Packing.NEST).assign(starts, stops).tolist() == depths.tolist()


def test_instants_of_one_moment_share_a_lane_below_what_covers_them() -> None:
    starts, stops = sorted_events([(0, 10), (5, 0), (5, 0), (5, 3), (10, 0)])
    lanes = Packer(Packing.NEST).assign(starts, stops)
    # (0,10) covers (5,8), which covers both instants; at 10 everything is over.
    assert lanes.tolist() == [0, 1, 2, 2, 0]


def test_hundreds_of_overlapping_ranges_use_the_heap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing_module, "_MAX_PEELED_LANES", 3)
    rng = np.random.default_rng(4)
    starts = np.sort(rng.integers(0, 1000, 400))
    stops = starts + rng.integers(0, 200, 400)
    order = np.lexsort((-stops, starts))
    starts, stops = starts[order], stops[order]
    lanes = Packer(Packing.PACK).assign(starts, stops)
    assert lanes.tolist() == brute_first_fit(starts, stops)
