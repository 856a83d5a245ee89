"""What a view shows first: where something happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from warpline.model import Flag
from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline.storage.index import activity as activity_module
from warpline.storage.index.activity import _Finder
from warpline.storage.read.view_times import far_events

DAY = 24 * 3_600 * 10**9
Rows = Mapping[str, Sequence[tuple[int, int]]]


def capture_of(tmp_path: Path, rows: Rows, *, flags: int = 0) -> Capture:
    """Events (start, duration) by the role of their row; all rows belong to one thread."""
    tmp_path.mkdir(exist_ok=True)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        process = builder.add_process(1)
        thread = builder.add_thread(process, 1)
        for role, events in rows.items():
            track = builder.track(f"process/1/thread/1/{role}", role=role, process=process, thread=thread)
            start, duration = (np.array(column, np.int64) for column in zip(*events, strict=True))
            builder.add_events(
                track, "range", start, duration, np.full(len(start), builder.string(role)),
                flags=np.full(len(start), flags, np.uint8),
            )  # fmt: skip
        builder.finish()
    return open_capture(tmp_path / "x.h5")


def burst(start: int, count: int, step: int = 1_000) -> list[tuple[int, int]]:
    return [(start + number * step, step // 2) for number in range(count)]


@pytest.mark.parametrize("other", [26 * DAY, -26 * DAY])
@pytest.mark.parametrize("count", [300, 30_458])
def test_a_few_events_of_another_clock_are_left_out_and_told(tmp_path: Path, other: int, count: int) -> None:
    few = count // 87
    rows = {"ranges": [*burst(0, count), *burst(other, few)]}
    with capture_of(tmp_path, rows) as capture:
        found = capture.activity
        assert found.start_ns <= 0
        assert found.stop_ns >= (count - 1) * 1_000 + 500
        assert found.stop_ns - found.start_ns < count * 1_100
        assert (found.earlier, found.later) == ((0, few) if other > 0 else (few, 0))
        assert far_events(capture) == [
            f"{few:,} events lie 26 days {'later' if other > 0 else 'earlier'} than the others"
        ]


def test_a_frame_around_the_work_of_the_profiler_is_no_activity(tmp_path: Path) -> None:
    frames = [*burst(0, 300), (400_000, 5_000_000)]
    with capture_of(tmp_path, {"python": frames, "overhead": [(400_010, 4_000_000)]}) as capture:
        assert capture.activity.stop_ns < 450_000
    with capture_of(tmp_path / "alone", {"python": frames}) as capture:
        assert capture.activity.range_ns == capture.span


def test_two_halves_far_apart_are_both_shown(tmp_path: Path) -> None:
    with capture_of(tmp_path, {"ranges": [*burst(0, 300), *burst(26 * DAY, 300)]}) as capture:
        assert capture.activity.range_ns == capture.span
        assert far_events(capture) == []


def test_a_frame_that_outlives_its_work_ends_the_view_with_the_work(tmp_path: Path) -> None:
    rows: Rows = {"python": [(0, 1_250_000)], "operators": burst(0, 1_000)}
    with capture_of(tmp_path, rows) as capture:
        start, stop = capture.activity.range_ns
        assert capture.span == (0, 1_250_000)
        assert start == 0
        assert 999_500 <= stop < 1_040_000
        assert far_events(capture) == []


@pytest.mark.parametrize(
    "rows",
    [
        {"python": [(0, 1_000_000), (1_000_000, 250_000)], "operators": burst(0, 1_000)},
        {"operators": burst(0, 1_000), "state": [(0, 1_000_000), (1_000_000, 250_000)]},
        {"operators": burst(0, 1_000), "api": [(0, 1_250_000)]},
        {"state": [(0, 1_000), (1_000, 10**9), (10**9 + 1_000, 1_000)]},
        {"python": [(0, 1_050_000)], "operators": burst(0, 1_000)},
        {"ranges": [(0, 0), (10, 0)]},
    ],
    ids=["work of its own", "a thread that sleeps", "a call", "a long sleep", "a little", "instants"],
)
def test_everything_else_is_shown_whole(tmp_path: Path, rows: Rows) -> None:
    with capture_of(tmp_path, rows) as capture:
        assert capture.activity.range_ns == capture.span


def test_an_end_that_nobody_recorded_does_not_count(tmp_path: Path) -> None:
    rows: Rows = {"other": [(0, 26 * DAY), *burst(1_000, 300)], "ranges": burst(0, 300)}
    with capture_of(tmp_path, rows, flags=Flag.CUT_END) as capture:
        assert capture.activity.stop_ns < 400_000


def test_marks_of_the_recorder_alone_do_not_count(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        process = builder.add_process(1)
        work = builder.track("process/1", process=process)
        marks = builder.track("instants", role="ranges")
        name = builder.strings(["x"])
        builder.add_events(work, "range", np.arange(100) * 10, np.full(100, 5), np.repeat(name, 100))
        builder.add_events(marks, "range", np.array([1_300]), np.array([0]), name)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.span == (0, 1_300)
        assert 995 <= capture.activity.stop_ns < 1_030


def test_moved_clocks_move_the_activity(tmp_path: Path) -> None:
    with capture_of(tmp_path, {"ranges": [*burst(0, 300), *burst(DAY, 3)]}) as capture:
        before = capture.activity
        after = capture.with_clock_offsets({0: -500}).activity
        assert after.range_ns == (before.start_ns + 500, before.stop_ns + 500)


def test_a_capture_without_events_is_its_span(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.set_span(5, 100)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.activity.range_ns == (5, 100)


def test_frames_of_a_lane_are_told_from_events_that_contain_nothing(tmp_path: Path) -> None:
    # With an event inside; with the one it lies in; with one that begins together; with nothing; after all others.
    frames = [(0, 100), (200, 50), (300, 100), (500, 100), (900, 100)]
    rows: Rows = {"python": frames, "operators": [(10, 20), (200, 60), (300, 100), (310, 20), (650, 10)]}
    with capture_of(tmp_path, rows) as capture:
        finder = _Finder(capture.lane_columns, capture.tracks)
        starts = np.array([start for start, _ in frames])
        (lane,) = (
            lane for lane in finder._lanes.tolist() if finder._starts(lane)[0].tolist() == starts.tolist()
        )
        stops = starts + [duration for _, duration in frames]
        assert finder._are_frames(lane, starts, stops).tolist() == [True, False, True, False, False]


@pytest.mark.parametrize("most", [1 << 30, 3])
def test_many_small_lanes_read_together_equal_lanes_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(activity_module, "_MANY", most)
    # A frame of everything, then 200 events inside each other, always two of them equally long.
    inner = [(500_000 + number, 20_000 - 2 * number) for number in range(100) for _ in range(2)]
    with capture_of(tmp_path, {"operators": [(0, 1_000_000), *inner]}) as capture:
        assert len(capture.lanes) == 201
        assert capture.activity.range_ns == (499_667, 520_333)


@pytest.mark.parametrize("early", [1, 2])
def test_one_or_two_marks_long_before_the_rest_are_left_out_and_told(tmp_path: Path, early: int) -> None:
    rows = {"ranges": [*burst(0, early, 10), *burst(10_000_000, 3_000, 300)]}
    with capture_of(tmp_path, rows) as capture:
        assert capture.activity.start_ns > 9_000_000
        assert capture.activity.earlier == early


def test_more_marks_before_the_rest_stay_in_the_picture(tmp_path: Path) -> None:
    with capture_of(tmp_path, {"ranges": [*burst(0, 20, 10), *burst(10_000_000, 3_000, 300)]}) as capture:
        assert capture.activity.range_ns == capture.span
