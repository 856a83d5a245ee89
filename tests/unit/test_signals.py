"""Tests, and programs that are recorded, meet the signals they should, whoever started them and how."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ENDING = (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM)
IGNORED = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('SigIgn')))"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def ignore() -> None:
    """In a child, as nohup and a background job of a script do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def ignored(text: str) -> set[signal.Signals]:
    """Those of `ENDING` in a mask of /proc."""
    mask = int(text, 16)
    return {number for number in ENDING if mask >> (number - 1) & 1}


def test_programs_of_tests_meet_no_ignored_signals() -> None:
    done = subprocess.run([sys.executable, "-c", IGNORED], capture_output=True, text=True, check=True)
    assert ignored(done.stdout) == set()


def test_that_is_so_when_whoever_started_the_tests_ignores_some(repository: Path) -> None:
    test = (
        f"{Path(__file__).relative_to(repository)}::{test_programs_of_tests_meet_no_ignored_signals.__name__}"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(
        command, cwd=repository, preexec_fn=ignore, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_a_recorded_program_ignores_what_its_user_had_ignored(tmp_path: Path) -> None:
    output = tmp_path / "run.h5"
    record = [sys.executable, "-m", "warpline", "record", "-q", "-o", str(output), "--"]
    for prefix in ([], record):
        done = subprocess.run(
            [*prefix, sys.executable, "-c", IGNORED],
            preexec_fn=ignore,
            capture_output=True,
            text=True,
            check=True,
        )
        assert ignored(done.stdout) == {signal.SIGINT, signal.SIGHUP}
    assert output.exists()
