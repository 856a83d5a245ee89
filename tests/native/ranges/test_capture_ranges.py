"""Capture ranges that come faster than anybody follows them: what lies inside is recorded, and nothing else is."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from tests.native.conftest import PAUSED, RECORDING, Session, names
from tests.native.cupti_tools import KERNEL, PRELUDE, run
from tests.unit.recording.recording_tools import Scripted, session_in

from warpline.recording.collectors import Collectors
from warpline.recording.recorder import Recorder
from warpline.recording.signals import SignalQueue
from warpline.recording.spool import records
from warpline.recording.spool.reader import read_spools
from warpline.recording.spool.schedule import read_schedule

CHANGE = (records.RECORDING_STATE, records.recording_state)


class Program:
    """Runs lines of Python on the simulated GPU, from the first one on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._process: subprocess.Popen[str] | None = None

    def say(self, line: str) -> None:
        """Returns when the line has been run."""
        if self._process is None:
            self._process = self._session.start(
                sys.executable, "-c", PRELUDE + "converse()", WARPLINE_CAPTURE_RANGE="cuda-profiler"
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "ok\n"

    def close(self) -> None:
        """Lets it end."""
        if self._process is not None:
            self._process.communicate(timeout=60)


def test_ranges_begin_and_end_while_the_recorder_follows_others(
    gpu_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    (gpu_session.folder / "control").unlink()  # the recorder makes it
    session = session_in(gpu_session.folder, capture_range="cuda-profiler")
    program = Program(gpu_session)
    begin, end = "cuda.simulatedProfiler(1)", "cuda.simulatedProfiler(0)"
    followed: list[str] = []
    seen: list[tuple[int, int]] = []

    def resume(_self: Collectors) -> None:
        followed.append("resume")
        if len(followed) == 1:
            program.say(f"{end}; {begin}")

    def pause(_self: Collectors) -> None:
        followed.append("pause")
        program.say(begin)

    def steps() -> Iterator[bool]:
        program.say(begin)
        while followed != ["resume"]:
            yield False
        program.say(end)
        while followed[-1] != "pause":
            yield False
        seen.append(gpu_session.page())
        while followed != ["resume", "pause", "resume"]:
            yield False
        seen.append(gpu_session.page())
        program.say(end)

    monkeypatch.setattr(Collectors, "resume", resume)
    monkeypatch.setattr(Collectors, "pause", pause)
    with contextlib.closing(SignalQueue()) as signals, contextlib.closing(program):
        recorder = Recorder(
            session=session, target=Scripted(steps()), signals=signals, report=lambda _status: None
        )
        recorder.begin(1)
        recorder.watch()
    # The third range was on from its begin to its end, and nobody but the program had changed that.
    assert seen == [(RECORDING, 5), (RECORDING, 5)]
    spools, problems = read_spools(gpu_session.folder)
    assert not problems
    (told,) = (spool for spool in spools if spool.header.producer != "recorder")
    first, stop, second, again, third, last = told.records(*CHANGE).values["time_ns"].tolist()
    pauses = read_schedule(session, spools, {}).pauses.tolist()
    assert pauses == [[1, first], [stop, second], [again, third], [last, 1 << 62]]


def test_ranges_count_once_a_delay_is_over(gpu_session: Session) -> None:
    (gpu_session.folder / "control").unlink()
    delay_ns = 3600 * 10**9
    session = session_in(gpu_session.folder, capture_range="cuda-profiler", delay_ns=delay_ns)
    program = Program(gpu_session)
    inside = "cuda.simulatedProfiler(1); launch({!r}); cuda.simulatedSynchronize(7); cuda.simulatedProfiler(0)".format

    def steps() -> Iterator[bool]:
        program.say(inside("early"))
        yield False
        recorder._tick(recorder._started_ns + delay_ns)
        program.say(inside("in time"))
        yield False

    with contextlib.closing(SignalQueue()) as signals, contextlib.closing(program):
        recorder = Recorder(
            session=session, target=Scripted(steps()), signals=signals, report=lambda _status: None
        )
        recorder.begin(time.monotonic_ns())
        recorder.watch()
    (told,) = (spool for spool in gpu_session.spools() if spool.header.producer != "recorder")
    assert names(told, *KERNEL) == ["in time"]


def test_a_range_begins_while_the_agent_turns_cupti_off(gpu_session: Session) -> None:
    gpu_session.set_page(state=PAUSED)
    program = (
        PRELUDE
        + """
cupti = ctypes.CDLL("libcupti.so.12")
cuda.simulatedProfiler(1); launch("first"); cuda.simulatedSynchronize(7); cuda.simulatedProfiler(0)
while cupti.simulated_is_enabled(10): time.sleep(0.001)
cuda.simulatedProfiler(1); launch("second"); cuda.simulatedSynchronize(7); cuda.simulatedProfiler(0)
"""
    )
    run(gpu_session, program, WARPLINE_CAPTURE_RANGE="cuda-profiler", SIMULATED_CUPTI_DISABLE_MS="20")
    assert names(gpu_session.spool(), *KERNEL) == ["first", "second"]
