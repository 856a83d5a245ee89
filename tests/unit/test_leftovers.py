"""What a failed test leaves behind is ended and named, also when it is nobody's child any more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.leftovers import end_all, now_s, started_here
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")

FAILING = """
import subprocess

def test_fails_and_leaves_programs(capfd):
    script = "setsid sleep 1000 > /dev/null 2>&1 & echo $!"
    lost = subprocess.run(["sh", "-c", script], capture_output=True, check=True, text=True).stdout
    child = subprocess.Popen(["sleep", "1001"])
    child.send_signal(19)
    with capfd.disabled():
        print("\\nleft", lost.strip(), child.pid)
    assert False
"""
IGNORING = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1): signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]])
"""


def wait_until_gone(pid: int) -> None:
    """Gone, or nothing but a status for its parent."""

    def is_gone() -> bool:
        try:
            return not Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return True

    wait_until(is_gone, f"process {pid} still runs")


def test_those_without_parents_are_found_too() -> None:
    begun_s = now_s()
    script = "setsid sleep 1000 > /dev/null 2>&1 & echo $!"
    done = subprocess.run(["sh", "-c", script], capture_output=True, check=True, text=True)
    lost = int(done.stdout)
    assert lost not in started_here(now_s() + 1)
    (told,) = (line for line in end_all(begun_s) if line.startswith(f"{lost}: "))
    assert told.partition(": ")[2].split()[0] in {"sh", "setsid", "sleep"}
    wait_until_gone(lost)


def test_leftovers_of_a_failed_test_are_named_whatever_was_inherited(
    tmp_path: Path, repository: Path
) -> None:
    (tmp_path / "test_failing.py").write_text(FAILING)
    (tmp_path / "conftest.py").write_text((repository / "tests" / "conftest.py").read_text())
    done = subprocess.run(
        [sys.executable, "-c", IGNORING, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("left "))
    left = [int(pid) for pid in line.split()[1:]]
    named = [line for line in done.stdout.splitlines() if line.startswith("still there when ")]
    assert sorted(int(line.split("ended: ")[1].split(":")[0]) for line in named) == sorted(left)
    for pid in left:
        wait_until_gone(pid)
