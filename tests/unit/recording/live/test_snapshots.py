"""Snapshots of a running recording: what is in them, when they are complete, who makes them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from tests.unit.recording.live.growing import MS, Growing, Maker

from warpline.model.errors import RecordingError
from warpline.recording.live import client, process, snapshots
from warpline.recording.live.client import SnapshotProcess
from warpline.recording.live.pace import LEAST_S, SHARE, SnapshotPace, tick_wait_s
from warpline.recording.live.snapshots import open_snapshot
from warpline.storage import Capture, open_part
from warpline.storage.live.growing import GrowingCapture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")


def ranges(capture: Capture) -> dict[str, tuple[int, int]]:
    """Start and stop of the ranges in ms, by name."""
    rows = range(len(capture.events))
    names = [capture.strings[int(number)] for number in capture.events.name]
    return {
        name: (start // MS, stop // MS)
        for name, (start, stop) in zip(names, map(capture.event_span, rows), strict=True)
    }


def test_a_snapshot_has_what_is_recorded_so_far_and_the_next_one_more(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    maker = Maker(recording, tmp_path)
    recording.add("first", 10, 20)
    with open_snapshot(maker.make()) as capture:
        assert ranges(capture) == {"first": (10, 20)}
    recording.add("second", 30, 300)
    snapshot = maker.make()
    with open_snapshot(snapshot) as capture:
        assert ranges(capture) == {"first": (10, 20), "second": (30, 300)}
    assert (snapshot.kept_ns, snapshot.head_ns) == (0, 300 * MS)
    maker.make()
    assert len(list(tmp_path.glob("*.h5"))) == 2
    maker.close()


def test_what_arrives_late_moves_the_time_before_which_nothing_changes(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    maker = Maker(recording, tmp_path)
    recording.add("first", 10, 1_000)
    maker.make()
    recording.add("second", 1_100, 2_000)
    assert maker.make().settled_ns == 2_000 * MS
    recording.add("late", 1_810, 1_820)
    recording.add("third", 2_100, 3_000)
    # 180 ms before the end of the snapshot before, rounded up to 200.
    assert maker.make().settled_ns == 2_800 * MS
    maker.close()


def test_a_part_counts_its_times_from_the_start_of_the_recording(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    maker = Maker(recording, tmp_path)
    recording.add("gone", 10, 20)
    recording.add("crossing", 30, 400)
    recording.add("inside", 450, 500)
    snapshot = maker.make(100 * MS)
    assert (snapshot.kept_ns, snapshot.head_ns) == (100 * MS, 500 * MS)
    with open_snapshot(snapshot) as capture:
        assert ranges(capture) == {"crossing": (100, 400), "inside": (450, 500)}
        assert capture.span == (100 * MS, 500 * MS)
        assert capture.warnings == ("a part of a recording: its first 100.0 ms are left out",)
        assert not capture.meta["recording"]["ring_ns"]
    maker.close()


def test_a_process_makes_snapshots_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "NICE", 0)
    recording, asked = Growing(tmp_path), SnapshotProcess(tmp_path / "x.h5.spool")
    recording.add("first", 10, 20)
    snapshot = asked.ask()
    assert snapshot.events == 1
    assert snapshot.path.parent.parent == tmp_path, "beside the spool"
    kept = asked.ask(output=tmp_path / "part.h5")
    assert kept.path == tmp_path / "part.h5"
    (tmp_path / "x.h5.spool" / "session.json").unlink()
    with pytest.raises(RecordingError, match="not a spool directory"):
        asked.ask()
    pid = asked.pid
    asked.end()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not snapshot.path.parent.exists()
    assert kept.path.exists()
    with pytest.raises(RecordingError, match="has ended"):
        asked.ask()


def test_a_process_that_is_not_begun_yet_can_be_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = SnapshotProcess(Growing(tmp_path).folder)

    def ends_meanwhile(directory: Path) -> list[str]:
        made.end()
        return process.snapshot_command(directory)

    monkeypatch.setattr(client, "snapshot_command", ends_meanwhile)
    with pytest.raises(RecordingError, match="has ended"):
        made.ask()
    with pytest.raises(ProcessLookupError):
        os.kill(made.pid, 0)


def test_a_process_that_is_killed_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "NICE", 0)
    recording, asked = Growing(tmp_path), SnapshotProcess(tmp_path / "x.h5.spool")
    recording.add("first", 10, 20)
    growing, begins = GrowingCapture(), set()
    for number in range(3):
        tick = asked.tick(anew=number == 0)
        begins.add(growing.add(open_part(tick.path), tick.kept_ns, tick.head_ns).span[0])
        os.kill(asked.pid, signal.SIGKILL)
    assert len(begins) == 1, "the picture stays"
    asked.end()


def test_a_process_that_always_ends_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "snapshot_command", lambda _directory: ["sh", "-c", "kill -9 $$"])
    asked = SnapshotProcess(Growing(tmp_path).folder)
    with pytest.raises(
        RecordingError, match="ended 4 times within a minute, the last time by signal SIGKILL"
    ):
        asked.ask()
    asked.end()


def test_snapshots_take_a_small_share_of_a_core_whatever_they_cost() -> None:
    pace = SnapshotPace()
    assert pace.wait_s(0.05, 0.1) == pytest.approx(LEAST_S - 0.1)
    assert pace.wait_s(2.0, 2.0) + LEAST_S == pytest.approx(2.0 / SHARE)


@pytest.mark.parametrize(
    ("cpu_s", "wall_s", "every_s"),
    [
        (0.01, 0.01, 0.2),
        (0.026, 0.026, 0.2),
        (0.0325, 0.0325, 0.25),
        (0.10, 0.10, 0.3),
        (0.45, 0.45, 1.0),
        (0.01, 0.20, 0.2),
        (0.20, 0.80, 1.0),
    ],
)
def test_ticks_are_rarer_where_they_cost_more_and_where_others_need_the_cores(
    cpu_s: float, wall_s: float, every_s: float
) -> None:
    assert tick_wait_s(cpu_s, wall_s, 0.1) == pytest.approx(every_s - 0.1)
    assert tick_wait_s(cpu_s, wall_s, 2.0) == 0


def test_a_long_recording_is_cut_to_what_is_affordable_and_to_what_is_in_view() -> None:
    pace, second = SnapshotPace(), 1_000_000_000
    pace.took(0.2, 600 * second, is_whole=True)
    assert pace.since_ns(600 * second, 500 * second) == 0
    pace.took(1.0, 600 * second, is_whole=True)
    assert pace.since_ns(600 * second, 500 * second) == 360 * second
    assert pace.since_ns(600 * second, 50 * second) == 50 * second


def test_a_minute_is_kept_whatever_it_costs() -> None:
    pace, second = SnapshotPace(), 1_000_000_000
    for _ in range(9):
        pace.took(3.0, 360 * second, is_whole=False)
    assert pace.since_ns(600 * second, 590 * second) == 540 * second


def test_what_was_left_out_at_first_comes_back_step_by_step() -> None:
    pace, second = SnapshotPace(), 1_000_000_000
    pace.took(0.4, 60 * second, is_whole=False)
    assert pace.since_ns(600 * second, 590 * second) == 540 * second
    pace.took(0.1, 60 * second, is_whole=False)
    assert pace.since_ns(600 * second, 590 * second) == 510 * second


def test_the_first_snapshot_of_a_large_recording_is_of_its_last_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_LARGE_BYTES", 1)
    recording = Growing(tmp_path)
    maker = Maker(recording, tmp_path)
    recording.add("long ago", 10, 20)
    recording.add("now", 99_000, 100_000)
    assert maker.make(output=tmp_path / "part.h5").kept_ns == 0
    assert maker.make().kept_ns == 40_000 * MS
    assert maker.make().kept_ns == 0
    maker.close()
