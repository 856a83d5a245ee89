"""A wall clock that jumps by hours and centuries while something is recorded: times come from clocks that cannot."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from tests.gui.hostile.surroundings import stepping_clock
from tests.unit.recording.recording_tools import python, record

from warpline.recording.session import RecordingOptions, Session, load_session
from warpline.storage import open_capture, verify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

PROGRAM = """
import time, warpline
begun = time.monotonic_ns()
for step in range(3):
    with warpline.annotate(f"step {step}"):
        time.sleep(0.02)
print(time.monotonic_ns() - begun)
"""
FAR_NS = 4_951_161_176_520_588_208
"""The year 2126."""


def test_a_jump_of_the_wall_clock_does_not_change_event_times(tmp_path: Path) -> None:
    library = stepping_clock(tmp_path)
    if library is None:
        pytest.skip("no compiler makes a clock that jumps here")
    begun = time.monotonic_ns()
    done = record(tmp_path, *python(PROGRAM), env={**os.environ, "LD_PRELOAD": str(library)})
    took_ns = time.monotonic_ns() - begun
    assert done.returncode == 0, done.stderr.decode()
    inside_ns = int(done.stdout.split()[0])
    with open_capture(tmp_path / "run.h5") as capture:
        assert not list(verify(capture))
        assert inside_ns <= capture.duration_ns <= took_ns
        rows = capture.kinds["range"].rows
        start, stop = capture.event_times(rows)
        assert len(rows) == 3
        assert (stop - start).min() >= 20_000_000
        assert stop.max() - start.min() <= inside_ns
        assert start.min() >= 0


@pytest.mark.parametrize("realtime_ns", [0, FAR_NS])
def test_a_session_can_start_in_any_year(tmp_path: Path, realtime_ns: int) -> None:
    """Of a machine without a battery for its clock, or one that is set wrong: what was recorded can be read."""
    session = Session(
        directory=tmp_path, output=tmp_path / "run.h5", command=("true",), working_directory=str(tmp_path),
        start_monotonic_ns=5, start_realtime_ns=realtime_ns,
        recorder_pid=1, target_pid=1, options=RecordingOptions(trace=()),
    )  # fmt: skip
    session.save()
    assert load_session(tmp_path).start_realtime_ns == realtime_ns
