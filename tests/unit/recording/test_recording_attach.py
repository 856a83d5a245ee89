"""``warpline attach``: a program that runs already, recorded from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.recording.recording_tools import (
    WARPLINE,
    needs_perf,
    on_time_once,
    status_lines,
    wait_for_samples,
)

import warpline
from warpline.recording.control import send_command
from warpline.recording.running import RunningProgram

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

# Works and sleeps in two threads and a child with another; says when all of them are there, and ends on a line.
PROGRAM = """
import os, sys, threading, time

def work():
    while True:
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass
        time.sleep(0.004)

threading.Thread(target=work, daemon=True).start()
child = os.fork()
if child == 0:
    work()
print(child, flush=True)
sys.stdin.readline()
os.kill(child, 9)
os.waitpid(child, 0)
sys.exit(7)
"""


class Running:
    """A program under test."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.child = int(self.process.stdout.readline())

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self) -> int:
        """Its exit status."""
        self.process.communicate("\n", timeout=60)
        return self.process.returncode


@pytest.fixture
def running() -> Iterator[Running]:
    program = Running()
    yield program
    if program.process.poll() is None:
        program.end()


def switches(pid: int) -> int:
    """How often the kernel says that the threads of a process left a core."""
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        lines = dict(line.split(":\t") for line in status.read_text().splitlines() if ":\t" in line)
        total += int(lines["voluntary_ctxt_switches"]) + int(lines["nonvoluntary_ctxt_switches"])
    return total


@needs_perf
def test_existing_threads_and_children_are_recorded(running: Running, tmp_path: Path) -> None:
    def count() -> int:
        return switches(running.pid) + switches(running.child)

    output, before = tmp_path / "run.h5", count()
    command = [*WARPLINE, "attach", str(running.pid), "-o", str(output)]
    with status_lines() as (statuses, number):
        recorder = subprocess.Popen(
            [*command, "--status-fd", str(number)], stderr=subprocess.PIPE, text=True, pass_fds=(number,)
        )
        spool = Path(json.loads(statuses.readline())["spool"])
        first = count()
        while (last := count()) < first + 100:
            pass
        send_command(spool, "stop", timeout_s=60)
        _, said_at_the_end = recorder.communicate(timeout=60)
    after = count()
    assert recorder.returncode == 0, said_at_the_end
    assert running.end() == 7
    with warpline.open(output) as capture:
        assert {process.pid for process in capture.processes} == {running.pid, running.child}
        assert len(capture.threads) == 3
        states = capture.events("thread_state")
        ran = states["name"] == "running"
        # All that the kernel counted while it was recorded, and fewer than around it; each twice would be more.
        # What perf says that it lost may have been among them.
        said = {source.name: source for source in capture.sources}
        assert last - first <= int(ran.sum()) + said["perf"].lost
        assert int(ran.sum()) <= after - before
        # The main thread of each process only sleeps: nothing happened to it, and still it is known what it did.
        for track in capture.tracks:
            if track.uri.endswith("/state"):
                duration = capture.events("thread_state", track=track.uri).duration_ns.sum()
                assert duration == pytest.approx(capture.duration_ns, rel=0.02)
        assert said["perf"].enabled
        assert said["procfs"].enabled
        for name in ("nvtx", "osrt", "steps"):
            assert not said[name].enabled
            assert said[name].reason
        assert capture.metadata["command_line"][:2] == [sys.executable, "-c"]
    assert "osrt: not recorded: calls can only be recorded from the start of a program" in said_at_the_end
    assert not list(tmp_path.glob("*.spool"))


def readable_python() -> bool:
    """Whether this Python is one whose stacks are known."""
    return sys.implementation.name == "cpython" and (3, 11) <= sys.version_info < (3, 16)


@pytest.mark.skipif(not readable_python(), reason="stacks are known of CPython 3.11 to 3.15")
def test_python_stacks_are_read_from_outside(running: Running, tmp_path: Path) -> None:
    output = tmp_path / "run.h5"
    command = [
        *WARPLINE,
        "attach",
        str(running.pid),
        "-o",
        str(output),
        "--trace",
        "python",
        "-q",
    ]
    with status_lines() as (statuses, number):
        recorder = subprocess.Popen(
            [*command, "--status-fd", str(number)], stderr=subprocess.PIPE, text=True, pass_fds=(number,)
        )
        spool = Path(json.loads(statuses.readline())["spool"])
        wait_for_samples(spool, 150)
        send_command(spool, "stop", timeout_s=60)
        _, errors = recorder.communicate(timeout=60)
    assert (recorder.returncode, errors) == (0, "")
    assert running.end() == 7
    lines = PROGRAM.splitlines()
    sleeping, waiting = (
        1 + lines.index(line) for line in ("        time.sleep(0.004)", "sys.stdin.readline()")
    )
    with warpline.open(output) as capture:
        (source,) = [source for source in capture.sources if source.name == "python"]
        assert source.enabled
        samples = capture.events("sample").to_pandas()
        most = 10 + 110 * capture.duration_ns / 1e9
    of_parent = samples[samples.process_id == running.pid]
    main = of_parent[of_parent.thread_id == running.pid]
    # It waits at one line all the time, so that no stack of it moves; it is looked at 100 times a second.
    assert set(main.name) == {f"<module> (<string>:{waiting})"}
    assert 20 <= len(main) <= most
    worker = of_parent[of_parent.thread_id != running.pid]
    assert f"work (<string>:{sleeping})" in set(worker.name)
    assert all(name.startswith(("work (<string>:", "Thread.", "<module>")) for name in worker.name)
    innermost = [stack.splitlines() if isinstance(stack, str) else [] for stack in worker["stack"]]
    assert any("run" in "".join(stack) for stack in innermost)  # threading.Thread.run called it
    assert set(samples.process_id) == {running.pid, running.child}


def attached(pid: int, output: Path) -> subprocess.Popen[bytes]:
    """A recorder that has attached."""
    read, write = os.pipe()
    command = [
        *WARPLINE,
        "attach",
        str(pid),
        "-o",
        str(output),
        "--trace",
        "cpu",
        "-q",
        "--status-fd",
        str(write),
    ]
    recorder = subprocess.Popen(command, pass_fds=(write,))
    os.close(write)
    with open(read) as reports:
        for line in reports:
            if json.loads(line)["state"] == "started":
                break
    return recorder


def test_ctrl_c_ends_the_recording_and_not_the_program(running: Running, tmp_path: Path) -> None:
    recorder = attached(running.pid, tmp_path / "run.h5")
    recorder.send_signal(signal.SIGINT)
    assert recorder.wait(60) == 0
    with warpline.open(tmp_path / "run.h5") as capture:
        assert running.pid in {process.pid for process in capture.processes}
    assert running.end() == 7


@pytest.mark.parametrize("options", [[], ["--no-check"]])
def test_the_main_finding_is_printed_at_the_end(tmp_path: Path, options: list[str]) -> None:
    def check(folder: Path) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)"], stdout=subprocess.PIPE
        ) as program:
            assert program.stdout is not None
            program.stdout.readline()
            words = [*WARPLINE, "attach", str(program.pid), "-o", str(folder / "run.h5")]
            try:
                done = subprocess.run(
                    [*words, "--duration", "300ms", *options], capture_output=True, text=True, check=True
                )
            finally:
                program.kill()
        *_sources, last = done.stderr.splitlines()
        assert ("(warpline check " in last) == (not options)

    on_time_once(tmp_path, check)


def test_the_end_of_the_program_ends_the_recording(running: Running, tmp_path: Path) -> None:
    recorder = attached(running.pid, tmp_path / "run.h5")
    assert running.end() == 7
    assert recorder.wait(60) == 0
    with warpline.open(tmp_path / "run.h5") as capture:
        assert capture.duration_ns > 0


def test_a_missing_process_is_reported(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    command = [*WARPLINE, "attach", str(gone.pid), "-o", str(tmp_path / "run.h5")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"warpline: error: no process {gone.pid} is running\n"
    assert not list(tmp_path.iterdir())


def test_a_zombie_is_not_running() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        with pytest.raises(warpline.RecordingError, match="is running"):
            RunningProgram(child)
    finally:
        os.waitpid(child, 0)


@pytest.mark.parametrize("pid", ["0", "-5", "python"])
def test_an_invalid_process_id_is_reported(pid: str) -> None:
    done = subprocess.run([*WARPLINE, "attach", "--", pid], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is not a process id" in done.stderr
