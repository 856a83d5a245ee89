"""One wait told whole, and what lines of source cost: from a capture in which everything is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.gui.wait_sample import FIGHTERS, MS, SHORT, SOURCE, US, write_wait_sample
from tests.unit.analysis.analysis_tools import training_capture

from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.line_times import source_times
from warpline.analysis.structure.stack_weights import sampled_stacks, waited_stacks
from warpline.analysis.structure.wait_story import Occurrences, is_blocked, wait_story, why_unknown
from warpline.model import Flag
from warpline.model.waits import OWN_THREAD, WaitKind
from warpline.storage import Capture, CaptureBuilder, open_capture


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "fight.py"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def fight(tmp_path: Path, source: Path) -> Iterator[Capture]:
    with open_capture(write_wait_sample(tmp_path / "fight.h5", source)) as capture:
        yield capture


def row_at(capture: Capture, tid: int, role: str, ms: int) -> int:
    track = capture.track(f"{FIGHTERS.format(tid)}/{role}")
    row = capture.event_at(capture.track_lanes(track.index)[0], ms * MS)
    assert row is not None
    return row


def test_a_wait_for_a_lock_says_who_held_it_and_who_ended_it(fight: Capture) -> None:
    row = row_at(fight, 72, "state", 20)
    story = wait_story(fight, row)
    assert story is not None
    assert story.kind == WaitKind.LOCK
    assert story.what == "lock, held by fighter-2 (73)"
    # The line of the program, not that of the library in which it waits.
    assert story.place is not None
    assert (story.place.place, story.place.function) == ("fight.py:3", "fight")
    assert story.call == row_at(fight, 72, "osrt", 20)
    assert story.holder is not None
    assert (story.holder.name, story.holder.tid) == ("fighter-2", 73)
    assert story.holder.row == row_at(fight, 73, "ranges", 20)
    assert story.ended_by is not None
    assert story.ended_by.tid == 73
    assert story.ended_by.place is not None
    assert story.ended_by.place.place == "fight.py:4"
    assert story.ended_by.row is not None
    assert fight.event_span(story.ended_by.row) == (30 * MS, 30 * MS)
    assert story.on_thread == Occurrences(1, 20 * MS)
    assert story.in_capture == Occurrences(3, 44 * MS)


def test_the_call_around_a_wait_has_the_same_story(fight: Capture) -> None:
    state, call = (wait_story(fight, row_at(fight, 73, role, 40)) for role in ("state", "osrt"))
    assert state is not None
    assert call is not None
    assert (call.holder, call.ended_by, call.place) == (state.holder, state.ended_by, state.place)
    assert state.holder is not None
    # No range of the holder is recorded: what it did is its state.
    assert state.holder.row == row_at(fight, 72, "state", 40)
    assert state.holder.place is not None
    assert state.holder.place.place == "fight.py:8"


def test_an_unknown_reason_says_how_to_record_it(fight: Capture, tmp_path: Path) -> None:
    row = row_at(fight, 72, "state", 72)
    assert is_blocked(fight, row)
    assert wait_story(fight, row) is None
    why = why_unknown(fight)
    assert "outside the traced calls" in why.reason
    assert "--osrt-threshold" in why.remedy
    assert wait_story(fight, row_at(fight, 72, "state", 5)) is None
    assert not is_blocked(fight, row_at(fight, 72, "state", 5))
    with training_capture(tmp_path / "training.h5") as other:
        assert "--trace cpu,osrt" in why_unknown(other).remedy
    with CaptureBuilder(tmp_path / "refused.h5") as builder:
        builder.add_source("osrt", False, "the program was statically linked", remedy="link it dynamically")
        builder.finish()
    with open_capture(tmp_path / "refused.h5") as refused:
        assert why_unknown(refused).reason == "the program was statically linked"
        assert why_unknown(refused).remedy == "link it dynamically"


def test_wait_story_accepts_every_row(fight: Capture, tmp_path: Path) -> None:
    told = [row for row in range(len(fight.events)) if wait_story(fight, row) is not None]
    assert len(told) == SHORT + 4 + 4
    with training_capture(tmp_path / "training.h5") as other:
        assert all(wait_story(other, row) is None for row in range(len(other.events)))


def test_lines_cost_the_time_they_are_on_a_stack(fight: Capture, source: Path) -> None:
    times = source_times(View(fight), str(source))
    assert sorted(times.lines) == [3, 5, 8]
    lock, nap, busy = times.lines[3], times.lines[5], times.lines[8]
    assert (lock.waiting_ns, lock.waits, lock.wait) == (44 * MS, 3, WaitKind.LOCK)
    # spin() was called from line 3; the sample at 20 ms was taken while the thread waited.
    assert (lock.running, busy.running, nap.running) == (5, 5, 0)
    assert (nap.waiting_ns, nap.waits, nap.wait) == (20 * MS + SHORT * 5 * US, 1 + SHORT, WaitKind.SLEEP)
    assert (busy.waiting_ns, busy.wait) == (0, 0)
    assert times.samples == 5
    own = times.files[0]
    assert (own.file, own.is_own, own.running) == (str(source), True, 5)
    assert own.waiting_ns == 44 * MS + 20 * MS + SHORT * 5 * US
    assert [found.is_own for found in times.files] == [True, False]


def test_lines_cost_only_what_lies_in_the_range(fight: Capture, source: Path) -> None:
    view = View(fight, Selection(5 * MS, 15 * MS))
    times = source_times(view, str(source))
    assert times.lines[3].waiting_ns == 5 * MS
    assert times.lines[8].running == 2
    assert 5 not in times.lines


def test_waits_add_up_to_the_blocked_time_with_a_stack(fight: Capture) -> None:
    waits = waited_stacks(View(fight))
    assert len(waits.row) == SHORT + 4
    by_kind = {int(kind): int(waits.time_ns[waits.wait == kind].sum()) for kind in np.unique(waits.wait)}
    assert by_kind == {
        WaitKind.LOCK: 44 * MS,
        WaitKind.SLEEP: 20 * MS,
        WaitKind.GIL: SHORT * 5 * US,
    }


def test_a_thread_preempted_by_the_sampler_counts_as_running(tmp_path: Path) -> None:
    """Sampled at 50: the thread ran until 48, then the sampler had its core. Sampled at 90 it had waited long."""
    path = tmp_path / "sampler.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        process = builder.add_process(1, name="python")
        builder.track("process/1.1", role="process", process=process)
        tracks = {}
        for tid, name in ((1, "main"), (2, OWN_THREAD)):
            thread = builder.add_thread(process, tid, name=name)
            for role in ("state", "samples"):
                tracks[tid, role] = builder.track(
                    f"process/1.1/thread/{tid}.1/{role}", role=role, process=process, thread=thread
                )

        def states(tid: int, *parts: tuple[int, int, str, int]) -> None:
            for start, stop, name, flag in parts:
                builder.add_events(
                    tracks[tid, "state"],
                    "thread_state",
                    [start],
                    [stop - start],
                    builder.string(name),
                    flags=flag,
                )

        waiting, idle = int(Flag.WAITING), int(Flag.IDLE)
        states(
            1,
            (0, 48 * MS, "running", 0),
            (48 * MS, 51 * MS, "runnable", waiting),
            (51 * MS, 70 * MS, "running", 0),
            (70 * MS, 100 * MS, "runnable", waiting),
        )
        states(
            2,
            (0, 48 * MS + 4_000, "blocked", idle),
            (48 * MS + 4_000, 51 * MS, "running", 0),
            (51 * MS, 89 * MS, "blocked", idle),
            (89 * MS, 91 * MS, "running", 0),
            (91 * MS, 100 * MS, "blocked", idle),
        )
        stack = builder.stack(builder.string("main (/a.py:1)"))
        builder.add_events(
            tracks[1, "samples"],
            "sample",
            np.array([50, 90]) * MS,
            np.zeros(2, np.int64),
            builder.string("main (/a.py:1)"),
            flags=int(Flag.INSTANT),
            attributes={"stack": [stack, stack]},
        )
        builder.finish()
    with open_capture(path) as capture:
        found = sampled_stacks(View(capture))
        assert found.has_states
        assert found.is_running.tolist() == [True, False]
