"""Capture ranges in the recorder: what it follows, and what of that counts beside what programs wrote down."""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recording.recording_tools import Scripted, session_in

from warpline.recording.collectors import Collectors
from warpline.recording.control_page import CONTROL_FILE, RecordingState
from warpline.recording.recorder import Recorder
from warpline.recording.signals import SignalQueue
from warpline.recording.spool import records
from warpline.recording.spool.reader import read_spools
from warpline.recording.spool.records import FOLLOWED
from warpline.recording.spool.schedule import read_schedule
from warpline.recording.spool.writer import SpoolWriter

MS = 1_000_000
ON, OFF = RecordingState.RECORDING, RecordingState.PAUSED
REASONED_STATES = "capture range"


def pauses(folder: Path, **changes: list[tuple[int, RecordingState, str]]) -> list[list[int]]:
    """Of a recording whose processes wrote these changes."""
    for name, written in changes.items():
        with contextlib.closing(SpoolWriter(folder / f"{name}.spool", name)) as writer:
            for when, state, reason in written:
                row = (when, int(state), writer.string(reason))
                writer.append(records.RECORDING_STATE, np.array([row], records.recording_state))
    spools, problems = read_spools(folder)
    assert not problems
    return [[int(start), int(stop)] for start, stop in read_schedule(session_in(folder), spools, {}).pauses]


def test_a_change_missing_in_the_spool_is_taken_from_the_recorder(tmp_path: Path) -> None:
    """The second process lost what it wrote: its range from 30 to 40, and the end of that from 50 on."""
    found = pauses(
        tmp_path,
        recorder=[
            (1, OFF, "start"), (12 * MS, ON, FOLLOWED), (22 * MS, OFF, FOLLOWED), (32 * MS, ON, FOLLOWED),
            (42 * MS, OFF, FOLLOWED), (52 * MS, ON, FOLLOWED), (62 * MS, OFF, FOLLOWED),
        ],
        told=[(10 * MS, ON, REASONED_STATES), (20 * MS, OFF, REASONED_STATES), (50 * MS, ON, REASONED_STATES)],
    )  # fmt: skip
    kept = [[20 * MS, 32 * MS], [42 * MS, 50 * MS], [62 * MS, 1 << 62]]
    assert found == [[1, 10 * MS], *kept]


def test_a_change_seen_late_by_the_recorder_is_not_a_second_change(tmp_path: Path) -> None:
    """Between its look and its clock a range ended and another began."""
    found = pauses(
        tmp_path,
        recorder=[
            (1, OFF, "start"),
            (12 * MS, ON, FOLLOWED),
            (15 * MS, OFF, FOLLOWED),
            (16 * MS, ON, FOLLOWED),
        ],
        told=[
            (11 * MS, ON, REASONED_STATES),
            (13 * MS, OFF, REASONED_STATES),
            (14 * MS, ON, REASONED_STATES),
        ],
    )
    assert found == [[1, 11 * MS], [13 * MS, 14 * MS]]


def test_delay_and_duration_end_to_the_nanosecond(tmp_path: Path) -> None:
    """By the times that the recorder is told."""
    with contextlib.closing(SignalQueue()) as signals:
        recorder = Recorder(
            session=session_in(tmp_path, delay_ns=200 * MS, duration_ns=300 * MS),
            target=Scripted(iter(())),
            signals=signals,
            report=lambda _status: None,
        )
        begun = time.monotonic_ns() - 3600 * 1000 * MS
        recorder.begin(begun)
        seen: list[object] = []
        for when in (200 * MS - 1, 200 * MS):
            recorder._tick(begun + when)
            seen.append(recorder._state)
        for when in (300 * MS - 1, 300 * MS):
            recorder._tick(recorder._resumed_ns + when)
            seen.append(recorder._stop_asked)
        recorder.abandon()
    assert seen == [OFF, ON, False, True]


def test_a_moment_before_the_recording_begins_cannot_be_marked(tmp_path: Path) -> None:
    """The capture begins later and could not show it."""
    with contextlib.closing(SignalQueue()) as signals:
        recorder = Recorder(
            session=session_in(tmp_path, waits=True),
            target=Scripted(iter(())),
            signals=signals,
            report=lambda _status: None,
        )
        recorder.begin(time.monotonic_ns())
        commands = ("mark", "resume", "mark")
        answers = [recorder._answer({"command": command, "name": command}) for command in commands]
        recorder.abandon()
    assert [answer["ok"] for answer in answers] == [False, True, True]
    assert answers[0]["error"] == "nothing is recorded yet; mark moments once it has begun"


def test_steps_that_were_taken_back_are_no_part_of_what_is_resumed_later(tmp_path: Path) -> None:
    with contextlib.closing(SignalQueue()) as signals:
        recorder = Recorder(
            session=session_in(tmp_path, waits=True),
            target=Scripted(iter(())),
            signals=signals,
            report=lambda _status: None,
        )
        recorder.begin(time.monotonic_ns())
        recorder._answer({"command": "snapshot", "next_steps": 3})
        for state in (ON, OFF):
            recorder._page.set_state(state)
            recorder._answer({"command": "status"})
        taken_back_ns = time.monotonic_ns()
        recorder._answer({"command": "resume"})
        recorder.abandon()
    assert recorder.session.start_monotonic_ns >= taken_back_ns


def test_a_delay_is_over_once_a_range_has_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must not resume what the program has paused again."""
    followed: list[str] = []
    monkeypatch.setattr(Collectors, "resume", lambda _self: followed.append("resume"))
    monkeypatch.setattr(Collectors, "pause", lambda _self: followed.append("pause"))
    delay_ns = 3600 * 1000 * MS
    with contextlib.closing(SignalQueue()) as signals:

        def say(state: RecordingState) -> None:
            with (tmp_path / CONTROL_FILE).open("r+b") as page:
                page.seek(8)
                page.write(struct.pack("<II", 0, int(state)))

        def steps() -> Iterator[bool]:
            for state, expected in ((ON, ["resume"]), (OFF, ["resume", "pause"])):
                say(state)
                while followed != expected:
                    recorder._tick(time.monotonic_ns())
                    yield False
            recorder._tick(recorder._started_ns + 2 * delay_ns)
            yield False

        recorder = Recorder(
            session=session_in(tmp_path, delay_ns=delay_ns),
            target=Scripted(steps()),
            signals=signals,
            report=lambda _status: None,
        )
        recorder.begin(time.monotonic_ns())
        recorder.watch()
    assert followed == ["resume", "pause"]
