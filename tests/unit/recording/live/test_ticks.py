"""Ticks of a running recording, joined: the same as what a snapshot of all of it shows, as far as that is settled."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recording.live.growing import MS, START, Growing, Ticks

from warpline.model.errors import RecordingError
from warpline.recording.finalise import finalise
from warpline.recording.live import process
from warpline.recording.live.captures import LiveCaptures
from warpline.recording.live.client import SnapshotProcess
from warpline.recording.live.reading import GrowingSpools
from warpline.recording.live.snapshots import since_start
from warpline.recording.sources.nvtx import records as nvtx
from warpline.recording.sources.registry import lasting_types, passing_places, passing_types
from warpline.storage import Capture, open_capture, open_part
from warpline.storage.columns.kind_table import KindTable
from warpline.storage.live.growing import GrowingCapture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

Event = tuple[str, int, str, int, int, int]


class Program:
    """Two threads that push and pop ranges at random."""

    def __init__(self, recording: Growing, seed: int) -> None:
        self._recording, self._random = recording, random.Random(seed)
        self._depth = [0, 0]
        self.time_ns = MS

    def run(self) -> None:
        """Some ranges, a mark that is noticed late, and now and then many ranges."""
        for _ in range(self._random.randrange(1, 40)):
            thread = self._random.randrange(2)
            self.time_ns += self._random.randrange(1, 12 * MS)
            depth = self._depth[thread]
            if depth and (depth == 3 or self._random.random() < 0.5):
                self._depth[thread] -= 1
                self._recording.pop(self.time_ns, thread=thread + 1, level=depth - 1)
            else:
                name = self._random.choice("abc")
                self._recording.push(name, self.time_ns, thread=thread + 1, level=depth)
                self._depth[thread] += 1
        self._recording.mark("late", max(0, self.time_ns - self._random.randrange(150 * MS)))
        if self._random.random() < 0.2:
            self._many()

    def _many(self) -> None:
        """More than a chunk of records."""
        for _ in range(2_500):
            self._recording.push("x", self.time_ns + 1_000, thread=3, level=0)
            self._recording.pop(self.time_ns + 2_000, thread=3, level=0)
            self.time_ns += 2_000


def events(capture: Capture, start_ns: int, stop_ns: int) -> list[Event]:
    """The events that ended before a time and began after another one, by track and depth."""
    found: list[Event] = []
    names, columns = capture.strings.all(), capture.events
    for lane in range(len(capture.lanes)):
        track, depth = capture.tracks[int(capture.lanes.track[lane])].uri, int(capture.lanes.depth[lane])
        rows = capture.lanes.rows(lane)
        starts, stops = capture.event_times(np.arange(rows.start, rows.stop))
        found += [
            (track, depth, names[name], start, stop, flags)
            for name, start, stop, flags in zip(
                columns.name[rows].tolist(),
                starts.tolist(),
                stops.tolist(),
                columns.flags[rows].tolist(),
                strict=True,
            )
            if start > start_ns and stop < stop_ns
        ]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_joined_ticks_show_what_a_snapshot_shows(tmp_path: Path, seed: int) -> None:
    recording = Growing(tmp_path)
    program, ticks, growing = Program(recording, seed), Ticks(recording, tmp_path), GrowingCapture()
    for _ in range(16):
        program.run()
        tick = ticks.tick(anew=False)
        joined = growing.add(open_part(tick.path), tick.kept_ns, tick.head_ns)
        assert joined.span[1] == recording.head_ns - START
    assert tick.settled_ns > tick.kept_ns
    whole = tmp_path / "whole.h5"
    finalise(recording.folder, whole, until_ns=recording.head_ns)
    with open_capture(whole) as capture:
        shown = events(joined, -1, tick.settled_ns)
        assert shown == events(capture, -1, tick.settled_ns)
        assert len(shown) > 100
        for name, table in capture.kinds.items():
            mine = joined.kinds[name]
            assert mine.attributes == table.attributes
            settled = joined.events.start[mine.index_rows] < tick.settled_ns
            for attribute in table.attributes:
                values, valid = mine.column(attribute)
                assert len(values) == len(valid) == len(mine)
            assert int(settled.sum()) > 0
    np.testing.assert_array_equal(np.sort(joined.lanes.first), joined.lanes.first)
    ticks.close()


def test_threads_that_ask_at_once_get_whole_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Growing(tmp_path)
    ticks, growing = Ticks(recording, tmp_path), GrowingCapture()
    for number in range(3):
        recording.push("x", (1 + number * 500) * MS, thread=1, level=0)
        recording.pop((1 + number * 500 + 100) * MS, thread=1, level=0)
        tick = ticks.tick(anew=False)
        joined = growing.add(open_part(tick.path), tick.kept_ns, tick.head_ns)
    meanwhile: list[int] = []
    places_of = KindTable.places_of

    def slow(table: KindTable, runs: Sequence[tuple[int, int]]) -> np.ndarray:
        if not meanwhile:  # another thread, while the first one is at it
            meanwhile.append(0)
            meanwhile[0] = len(joined._columns.column("kinds/range/row", ""))
        return places_of(table, runs)

    monkeypatch.setattr(KindTable, "places_of", slow)
    assert len(joined.kinds["range"].index_rows) == 3
    assert meanwhile == [3]
    ticks.close()


def test_a_range_that_is_open_for_many_ticks_is_one_event(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    ticks, growing = Ticks(recording, tmp_path), GrowingCapture()
    recording.push("outer", MS, thread=1, level=0)
    for number in range(1, 9):
        recording.push("inner", number * 500 * MS, thread=1, level=1)
        recording.pop((number * 500 + 100) * MS, thread=1, level=1)
        tick = ticks.tick(anew=False)
        joined = growing.add(open_part(tick.path), tick.kept_ns, tick.head_ns)
    outer = [event for event in events(joined, 0, 1 << 60) if event[2] == "outer"]
    assert [(start, stop) for _track, _depth, _name, start, stop, _flags in outer] == [(MS, 4_100 * MS)]
    # The part of the last tick is small: the rest was not translated again.
    assert tick.events < 8
    ticks.close()


def test_what_is_recorded_at_its_end_begins_where_it_began(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    ticks, growing = Ticks(recording, tmp_path), GrowingCapture()
    for number in range(1, 7):
        recording.add("x", number * 500, number * 500 + 400)
        if number == 5:
            recording.forward(900 * MS, 2_800 * MS)
        tick = ticks.tick(anew=False)
        joined = growing.add(open_part(tick.path), tick.kept_ns, tick.head_ns)
    phases = [event for event in events(joined, 0, 1 << 60) if event[0].endswith("phases")]
    assert [(start, stop) for _track, _depth, _name, start, stop, _flags in phases] == [
        (900 * MS, 2_800 * MS)
    ]
    ticks.close()


def test_looking_back_for_a_beginning_makes_nothing_late(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    ticks = Ticks(recording, tmp_path)
    for number in range(100):
        recording.push("x", number * 60 * MS, thread=1, level=0)
        recording.pop((number * 60 + 25) * MS, thread=1, level=0)
        if number == 79:
            recording.forward(100 * MS, 4_760 * MS)
        if number % 10 == 9:
            tick = ticks.tick(anew=False)
            if number == 79:
                assert tick.kept_ns == 100 * MS, "it shows where the forward pass began"
            assert tick.head_ns - tick.settled_ns <= 200 * MS
    assert tick.head_ns - tick.kept_ns <= 800 * MS
    ticks.close()


def test_what_comes_seconds_late_is_spliced_in(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    ticks, growing = Ticks(recording, tmp_path), GrowingCapture()
    for number in (1, *range(24, 31)):
        recording.push("x", number * 1_000 * MS, thread=1, level=0)
        recording.pop((number * 1_000 + 500) * MS, thread=1, level=0)
        if number == 29:
            for late in range(60):
                recording.mark("late", (26_000 + late * 50) * MS)
        tick = ticks.tick(anew=False)
        joined = growing.add(open_part(tick.path), tick.kept_ns, tick.head_ns)
    names = [name for _track, _depth, name, *_times in events(joined, 0, 1 << 60)]
    assert names.count("late") == 60
    assert names.count("x") == 8
    ticks.close()


def test_who_comes_late_reads_the_end_alone(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    recording.push("open all the time", MS, thread=1, level=0)
    for number in range(12_000):
        recording.push("x", number * 10 * MS + 2 * MS, thread=1, level=1)
        recording.pop(number * 10 * MS + 7 * MS, thread=1, level=1)
    ticks = Ticks(recording, tmp_path)
    tick = ticks.tick(anew=True)
    some, every = (
        sum(
            len(chunk.payload)
            for spool in GrowingSpools(
                recording.folder, passing_types(), lasting_types(), passing_places()
            ).read(since)[0]
            for chunk in spool.chunks
        )
        for since in (recording.head_ns - 5_000 * MS, 0)
    )
    assert some < every * 0.8
    start_ns, whole = tick.kept_ns, tmp_path / "whole.h5"
    finalise(recording.folder, whole, until_ns=recording.head_ns)
    with open_capture(whole) as capture:
        shown = events(since_start(open_part(tick.path), tick.kept_ns), start_ns, tick.settled_ns)
        assert shown == events(capture, start_ns, tick.settled_ns)
        assert len(shown) > 500
    part = since_start(open_part(tick.path), tick.kept_ns)
    assert "open all the time" in {part.strings[int(name)] for name in part.events.name}
    ticks.close()


def test_only_what_is_new_is_read_however_fast_it_comes(tmp_path: Path) -> None:
    """Whole chunks of ranges come between two looks; a state that lasts is carried from what is skipped."""
    recording = Growing(tmp_path)
    spools = GrowingSpools(recording.folder, passing_types(), lasting_types(), passing_places())
    recording.push("outer", MS, thread=1, level=0)
    for look in range(3):
        since = recording.head_ns - 45 * MS
        for number in range(5_000):
            start_ns = look * 500 * MS + number * 90_000 + 2 * MS
            recording.push("x", start_ns, thread=1, level=1)
            recording.pop(start_ns + 40_000, thread=1, level=1)
        read = [spool.records(nvtx.NVTX_RANGE, nvtx.nvtx_range).values for spool in spools.read(since)[0]]
        spools.note(recording.head_ns)
        times = np.concatenate(read)["time_ns"].astype(np.int64)
        assert np.all(np.diff(times) > 0)
        if look:
            # Of what came before, one record of each level.
            assert int((times < since).sum()) == 2
            assert len(times) == 2 + 1_001 + 10_000
            assert times[0] == START + MS


def test_who_comes_late_and_looks_back_still_sees_what_lasts(tmp_path: Path) -> None:
    """What the first look read whole, because nothing was known of it, is skipped when its time is asked for again."""
    recording = Growing(tmp_path)
    recording.push("outer", MS, thread=1, level=0)
    for number in range(60):
        recording.push("x", number * 100 * MS + 2 * MS, thread=1, level=1)
        recording.pop(number * 100 * MS + 50 * MS, thread=1, level=1)
    spools = GrowingSpools(recording.folder, passing_types(), lasting_types(), passing_places())
    for since_ms in (3_000, 5_000, 4_000, 5_500):
        read = [
            spool.records(nvtx.NVTX_RANGE, nvtx.nvtx_range).values
            for spool in spools.read(START + since_ms * MS)[0]
        ]
        spools.note(recording.head_ns)
        assert START + MS in np.concatenate(read)["time_ns"].tolist(), since_ms


def test_the_oldest_events_go_when_there_are_too_many(tmp_path: Path) -> None:
    recording = Growing(tmp_path)
    ticks, growing = Ticks(recording, tmp_path), GrowingCapture(most_events=20)
    for number in range(30):
        recording.add("x", 1 + number * 1_000, 500 + number * 1_000)
        recording.add("y", 501 + number * 1_000, 1_000 + number * 1_000)
        tick = ticks.tick(anew=False)
        joined = growing.add(open_part(tick.path), tick.kept_ns, tick.head_ns)
    assert len(joined.events) < 60
    assert joined.span[0] > 0
    ticks.close()


def test_a_process_makes_ticks_and_a_snapshot_where_somebody_looks_further_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "NICE", 0)
    recording, asked = Growing(tmp_path), SnapshotProcess(tmp_path / "x.h5.spool")
    recording.add("first", 10, 20)
    captures = LiveCaptures(asked)
    made, snapshot = captures.next()
    assert isinstance(made.path, Path)
    assert not made.path.exists(), "a tick's file goes when it was opened"
    assert captures.wait_s(snapshot, 1000.0) == 0.0
    head = snapshot.head_ns
    captures._ticked_s = time.monotonic() - 60
    paused, snapshot = captures.next(head, head - 1, follows=False)
    assert paused.path.exists(), "a snapshot: a tick would not have what is in view"
    head = snapshot.head_ns
    older, snapshot = captures.next(head, snapshot.kept_ns - 1, follows=False)
    assert older.path.exists()
    assert snapshot.head_ns >= head
    asked.end()
    with pytest.raises(RecordingError, match="has ended"):
        captures.next()


def test_a_recording_with_a_ring_has_no_ticks(tmp_path: Path) -> None:
    recording = Growing(tmp_path, ring_ns=1_000 * MS)
    recording.add("first", 10, 20)
    ticks = Ticks(recording, tmp_path)
    with pytest.raises(RecordingError, match="keeps a ring"):
        ticks.tick(anew=True)
