"""``warpline top --on HOST``: a recording of another machine in the terminal here."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.recording.remote.conftest import Far, warpline
from tests.waiting import wait_until

from warpline.model.errors import RecordingError
from warpline.recording.control import send_command
from warpline.recording.remote.near.transport import machine_of
from warpline.recording.remote.near.watching import watching

_SPIN = "import sys\nwhile True: sum(range(1000))"


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Path]:
    """The spool of a recording that runs until the test ends."""
    output = tmp_path / "run.h5"
    words = warpline(
        "record", "-o", str(output), "--no-check", "--trace", "cpu", "--", sys.executable, "-c", _SPIN
    )
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as child:
        try:
            spool = tmp_path / "run.h5.spool"
            wait_until(lambda: child.poll() is not None or _has_events(spool), "nothing is recorded")
            yield spool
        finally:
            child.terminate()


def _has_events(spool: Path) -> bool:
    with contextlib.suppress(RecordingError, OSError):
        return bool(send_command(spool, "status", timeout_s=60)["events"])
    return False


def _top(far: Far, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        warpline("top", *far.options, *words), capture_output=True, text=True, check=False, timeout=120
    )


def test_threads_of_a_recording_over_there_are_shown(over_ssh: Far, recording: Path) -> None:
    done = _top(over_ssh, str(recording))
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert "box: run.h5 · " in head
    assert any("running" in line for line in lines)
    assert any("python" in line for line in lines), done.stdout


def test_a_machine_where_nothing_is_recorded_says_so(via_command: Far, tmp_path: Path) -> None:
    done = _top(via_command, str(tmp_path / "none.h5"))
    assert done.returncode != 0
    assert "nothing is recording there" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_end_of_a_recording_over_there_is_seen(far_cache: Path, recording: Path) -> None:
    assert far_cache.name == "warpline-remote"
    with watching(machine_of(None, "env"), str(recording)) as watched:
        watched.check()
        send_command(recording, "stop", timeout_s=60, terminate=True)
        wait_until(lambda: watched.has_ended, "the end does not arrive")
        with pytest.raises(RecordingError, match="the recording has ended"):
            watched.check()
        folder = watched.spool
    assert not folder.exists()
