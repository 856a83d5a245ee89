"""Descriptors, memory and folders that run out while a program is recorded: it goes on, and one line tells of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import needs_perf, record

from warpline.model.errors import RecordingError
from warpline.recording.recover import recover
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

LINES = "for i in 1 2 3 4 5; do echo line $i; done"
SAID = b"line 1\nline 2\nline 3\nline 4\nline 5\n"


@needs_perf
@pytest.mark.parametrize("limit", ["-n 40", "-f 2048", "-v 400000"])
def test_limits_of_the_recorder_do_not_apply_to_the_program(tmp_path: Path, limit: str) -> None:
    prefix = ["sh", "-c", f'ulimit {limit}; OPENBLAS_NUM_THREADS=1 exec "$@"', "sh"]
    done = record(tmp_path, "sh", "-c", f"{LINES}; exit 7", prefix=prefix, options=["--no-check"])
    assert done.stdout == SAID, done.stderr
    assert done.stderr.count(b"\n") == 1, done.stderr
    assert b"Traceback" not in done.stderr
    if done.returncode == 7:
        with open_capture(tmp_path / "run.h5") as capture:
            assert capture.meta["exit_status"] == 7
    else:
        assert done.returncode == 125
        assert b"the recording is kept: warpline recover" in done.stderr


def test_a_removed_spool_fails_only_the_recording(tmp_path: Path) -> None:
    done = record(
        tmp_path, "sh", "-c", f"mv run.h5.spool elsewhere; {LINES}", options=["--trace", "cpu,osrt"]
    )
    assert done.stdout == SAID, done.stderr
    assert done.returncode == 125
    assert done.stderr.count(b"\n") == 1
    assert b"was removed during the recording" in done.stderr
    # Where somebody has put it is a spool as any other, which decides of no file that is called otherwise.
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere"]
    with pytest.raises(RecordingError, match=r"run\.h5; name the file to write: warpline recover .* -o FILE"):
        recover(tmp_path / "elsewhere")
    assert recover(tmp_path / "elsewhere", tmp_path / "run.h5") is not None
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
