"""Level of detail against brute force: at every zoom nothing of a pixel is missing and nothing is without a mark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.storage.storage_tools import Lane, random_lane, write_lanes

from warpline.model import Flag
from warpline.storage import Capture
from warpline.storage.index.strip_numpy import draw_with_numpy

SHAPES = ("uniform", "bursty", "adjacent", "instants")


def check_strip(capture: Capture, lanes: list[Lane], start: int, stop: int, width: int, offset: int) -> None:
    strip = capture.query(np.arange(len(lanes)), start, stop, width)
    pixel = (stop - start) / width
    for number, lane in enumerate(lanes):
        begin = lane.start - offset
        end = begin + lane.duration
        visible = (begin < stop) & ((end > start) | (begin >= start))
        long = visible & (lane.duration >= pixel)
        chosen = strip.rect_lane == number
        expected = {(b, e) for b, e in zip(begin[long].tolist(), end[long].tolist(), strict=True)}
        assert {
            (b, e)
            for b, e in zip(strip.rect_start[chosen].tolist(), strip.rect_stop[chosen].tolist(), strict=True)
        } == expected
        rows = strip.rect_row[chosen]
        assert np.array_equal(capture.event_times(rows)[0], strip.rect_start[chosen])
        assert np.array_equal(capture.events.flags[rows], strip.rect_flags[chosen])
        # Every shorter event has a mark or a rectangle within two pixels of where it begins.
        covered = strip.mark_row[number] >= 0
        for b, e in zip(strip.rect_start[chosen], strip.rect_stop[chosen], strict=True):
            first, last = (b - start) / pixel, (e - start) / pixel
            covered[max(0, int(first)) : max(0, int(last) + 1)] = True
        near = covered.copy()
        for shift in (1, 2):
            near[shift:] |= covered[:-shift]
            near[:-shift] |= covered[shift:]
        short = np.flatnonzero(visible & ~long)
        columns = np.clip((begin[short] - start) / pixel, 0, width - 1).astype(int)
        assert near[columns].all()
        # And every mark stands near an event.
        marks = np.flatnonzero(strip.mark_row[number] >= 0)
        if len(marks):
            low, high = start + (marks - 3) * pixel, start + (marks + 4) * pixel
            first = np.searchsorted(begin, low, "left")
            after = np.searchsorted(begin, high, "right")
            reaching = np.r_[-np.inf, np.maximum.accumulate(end)][first] >= low
            assert np.all((after > first) | reaching)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("origin", [0, 2**61, -(2**61)])
def test_every_zoom_agrees_with_brute_force(tmp_path: Path, shape: str, origin: int) -> None:
    rng = np.random.default_rng(SHAPES.index(shape))
    lanes = [random_lane(rng, n, shape, origin) for n in (9_000, 3_000, 70, 1)]
    offset = origin // 2 + 17
    capture = write_lanes(tmp_path / "x.h5", lanes, offset)
    first, last = capture.span
    for zoom in range(0, 40, 3):
        length = max(1, (last - first) >> zoom)
        for _ in range(3):
            start = int(rng.integers(first - length // 3, max(first + 1, last - length // 2)))
            check_strip(capture, lanes, start, start + length, int(rng.integers(1, 700)), offset)


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 40)), min_size=1, max_size=200),
    st.integers(-20, 500),
    st.integers(1, 4000),
    st.integers(1, 60),
)
@settings(max_examples=rounds(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_small_lanes_in_odd_windows(
    tmp_path: Path, events: list[tuple[int, int]], start: int, length: int, width: int
) -> None:
    gaps, durations = (np.array(column, np.int64) for column in zip(*events, strict=True))
    # Repeated so that the lane is long enough to have levels.
    gaps, durations = np.tile(gaps, 8), np.tile(durations, 8)
    stops = np.cumsum(gaps + durations)
    lanes = [Lane(stops - durations, durations, np.zeros(len(stops), np.uint8))]
    with write_lanes(tmp_path / "x.h5", lanes) as capture:
        check_strip(capture, lanes, start, start + length, width, 0)


def test_busy_sums_are_exact_integers(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    lanes = [random_lane(rng, 30_000, shape) for shape in SHAPES]
    capture = write_lanes(tmp_path / "x.h5", lanes, 5)
    first, last = capture.span
    for _ in range(200):
        start, stop = np.sort(rng.integers(first - 100, last + 100, 2)).tolist()
        if rng.random() < 0.5:
            stop = min(stop, start + int(rng.integers(0, 3000)))
        for number, lane in enumerate(lanes):
            begin = np.maximum(lane.start - 5, start)
            end = np.minimum(lane.start - 5 + lane.duration, stop)
            counted = (lane.flags & int(Flag.IDLE | Flag.WAITING)) == 0
            expected = int(np.maximum(end - begin, 0)[counted].sum())
            assert capture.busy_ns(number, start, stop) == expected
    with pytest.raises(ValueError, match="ends before"):
        capture.busy_ns(0, 5, 4)


def test_what_lies_before_a_view_makes_no_part_of_it_busy(tmp_path: Path) -> None:
    # Many short events and, in the same bin, one that reaches far into the view.
    start = np.r_[np.arange(4090) * 10, 40_900]
    duration = np.r_[np.full(4090, 10), 2_000_000]
    lane = Lane(start, duration, np.zeros(4091, np.uint8))
    with write_lanes(tmp_path / "x.h5", [lane]) as capture:
        view = (1_000_000, 1_000_000 + 100 * 70_000, 100)
        whole = capture.query([0], 0, 100 * 70_000, 100)
        assert whole.touched < 100
        assert whole.busy[0, 0] == pytest.approx(40_900 / 70_000)
        for strip in (
            capture.query([0], *view),
            draw_with_numpy(capture.lane_columns, np.array([0]), *view),
        ):
            assert (strip.rect_start.tolist(), strip.rect_stop.tolist()) == ([40_900], [2_040_900])
            assert not strip.busy.any()


def test_density_adds_up(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lane = random_lane(rng, 50_000, "uniform")
    capture = write_lanes(tmp_path / "x.h5", [lane])
    first, last = capture.span
    strip = capture.query([0], first, last, 500)
    assert not len(strip.rect_row)
    busy = strip.busy.sum() * (last - first) / 500
    expected = lane.duration[(lane.flags & int(Flag.IDLE)) == 0].sum()
    assert abs(busy - expected) / expected < 0.01


def test_finding_single_events(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    lanes = [random_lane(rng, 4_000, shape) for shape in ("uniform", "bursty")]
    capture = write_lanes(tmp_path / "x.h5", lanes, -3)
    for number, lane in enumerate(lanes):
        begin, end = lane.start + 3, lane.start + 3 + lane.duration
        first_row = int(capture.lanes.first[number])
        for time in rng.integers(begin[0] - 10, end[-1] + 10, 300).tolist():
            covering = np.flatnonzero((begin <= time) & (np.maximum(end, begin + 1) > time))
            found = capture.event_at(number, time)
            if len(covering):
                assert found == first_row + covering[-1]
            else:
                assert found is None
                distance = np.minimum(np.abs(begin - time), np.abs(end - 1 - time)).min()
                assert capture.event_at(number, time, int(distance) - 1) is None
                nearest = capture.event_at(number, time, int(distance))
                assert nearest is not None
                start, stop = capture.event_span(nearest)
                assert min(abs(start - time), abs(stop - 1 - time)) == distance
            low, high = time, time + int(rng.integers(1, 5000))
            part = capture.lane_slice(number, low, high)
            overlapping = np.flatnonzero((begin < high) & ((end > low) | (begin >= low)))
            assert list(range(part.start, part.stop)) == (first_row + overlapping).tolist()
    assert capture.previous_event(int(capture.lanes.first[1])) is None
    assert capture.next_event(int(capture.lanes.first[1]) - 1) is None
    assert capture.next_event(0) == 1


def test_many_lanes_are_searched_at_once_like_one_by_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    shapes = ["uniform", "bursty", "adjacent", "instants"] * 25
    capture = write_lanes(
        tmp_path / "x.h5", [random_lane(rng, int(rng.integers(1, 60)), shape) for shape in shapes], -3
    )
    lanes = rng.permutation(len(shapes))
    for low in (-10, 0, *rng.integers(0, 6_000, 20).tolist()):
        for high in (low, low + 1, low + int(rng.integers(1, 5_000))):
            first, stop = capture.lane_borders(lanes, low, high)
            parts = [capture.lane_slice(lane, low, high) for lane in lanes.tolist()]
            assert list(zip(first.tolist(), stop.tolist(), strict=True)) == [(p.start, p.stop) for p in parts]


def test_an_empty_view_is_refused(tmp_path: Path) -> None:
    capture = write_lanes(tmp_path / "x.h5", [random_lane(np.random.default_rng(0), 5, "uniform")])
    with pytest.raises(ValueError, match="nothing to draw"):
        capture.query([0], 5, 5, 100)
