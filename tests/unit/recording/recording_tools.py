"""Running ``warpline record`` in tests, as anybody and as nobody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from tests.waiting import wait_until

from warpline.recording.control import send_command
from warpline.recording.doctor import check_source
from warpline.recording.launch import Target
from warpline.recording.session import RecordingOptions, Session
from warpline.recording.sources.perf.source import source as perf_source
from warpline.storage import open_capture

WARPLINE = [sys.executable, "-m", "warpline"]
UNTIL_HOOKED = """
import os, sys, time
deadline = time.monotonic() + 60
while not any(type(finder).__module__ == "_warpline_boot" for finder in sys.meta_path):
    assert time.monotonic() < deadline, "no hooks"
    time.sleep(0.001)
"""
"""Begins a program whose first moments count: hooks come in when Python first runs pending calls, which on a busy
machine may be after a short program has ended."""
UNTIL_SAMPLED = f"""{UNTIL_HOOKED}
def is_sampled():
    folder = os.environ["WARPLINE_SPOOL"]
    files = [os.path.join(folder, name) for name in os.listdir(folder)]
    return any(b"<string>" in open(file, "rb").read() for file in files if os.path.isfile(file))
while not is_sampled():
    assert time.monotonic() < deadline, "no sample"
    time.sleep(0.001)
"""
"""The same for ``python -c``, until a spool file has the stack of a sample."""
UNTIL_TOLD = """
def until_told(*texts):
    folder, deadline = os.environ["WARPLINE_SPOOL"], time.monotonic() + 60
    def told():
        files = [os.path.join(folder, name) for name in os.listdir(folder)]
        return b"".join(open(file, "rb").read() for file in files if os.path.isfile(file))
    while not all(text in told() for text in texts):
        assert time.monotonic() < deadline, texts
        time.sleep(0.001)
"""
"""A function for programs that must not go on before the recording has a text, say the name of something short-lived.
Needs `os` and `time`."""

NOBODY = 65534


def perf_refusal() -> str:
    """Why perf does not work here, empty when it does."""
    check = check_source(perf_source)
    return "" if check.available else check.reason


needs_perf = pytest.mark.skipif(bool(perf_refusal()), reason=f"perf is refused here: {perf_refusal()}")


def without_privileges() -> list[str]:
    """A prefix that runs a command as nobody without any capability; empty when we are nobody special already."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    return ["setpriv", *ids, "--bounding-set=-all", "--inh-caps=-all"]


def python_for_anybody() -> str:
    """A Python that the user of `without_privileges` may run: the tests' own may lie in somebody's home."""
    for candidate in (sys.executable, "/usr/bin/python3"):
        probe = [*without_privileges(), "sh", "-c", f"exec {candidate} -c pass"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return candidate
    pytest.skip("no Python that an unprivileged user may run")


def shared_folder() -> Iterator[Path]:
    """A folder that nobody may use too; pytest's own are private to the user of the tests."""
    folder = Path(tempfile.mkdtemp(prefix="warpline-test-"))
    folder.chmod(0o777)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def record(
    folder: Path, *command: str, options: Sequence[str] = (), prefix: Sequence[str] = (), **kwargs: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run ``warpline record -o run.h5`` in a folder; returns it with its output as bytes."""
    words = [*prefix, *WARPLINE, "record", "-o", "run.h5", *options, "--", *command]
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    kwargs.setdefault("stdout", subprocess.PIPE)
    kwargs.setdefault("stderr", subprocess.PIPE)
    return subprocess.run(words, cwd=folder, timeout=100, check=False, **kwargs)


def wait_for_samples(spool: Path, count: int = 100) -> None:
    """Until a recorder has taken so many records more, of threads it knows and of such as it finds meanwhile."""
    enough = send_command(spool, "status", timeout_s=60)["events"] + count
    wait_until(
        lambda: send_command(spool, "status", timeout_s=60)["events"] >= enough, f"less than {enough} events"
    )


def on_time_once(folder: Path, check: Callable[[Path], None]) -> None:
    """A check of when things happened, in a folder of its own, that has to be met one time of five.

    A machine that holds the recorder up makes it late once; what is wrong is wrong each time.
    """
    for attempt in range(5):
        own = folder / str(attempt)
        own.mkdir()
        try:
            check(own)
        except (AssertionError, LookupError, StopIteration):
            if attempt == 4:
                raise
        else:
            break


@contextmanager
def status_lines() -> Iterator[tuple[IO[str], int]]:
    """What a recording that is given the number as ``--status-fd`` says of itself, line by line."""
    read, write = os.pipe()
    with open(read) as lines:
        try:
            yield lines, write
        finally:
            os.close(write)


def wait_for_a_look(spool: Path, statuses: IO[str]) -> None:
    """Until a recorder has looked at all threads from now on: it does so between any two of its status lines."""
    now_ns = send_command(spool, "status", timeout_s=60)["elapsed_ns"]
    for _ in range(2):
        while json.loads(statuses.readline()).get("elapsed_ns", 0) <= now_ns:
            pass


def stolen_ns() -> int:
    """Time for which the host of a virtual machine kept its cores: to perf, threads run then; to the scheduler not."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()
    return int(fields[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def python(program: str, interpreter: str = sys.executable) -> list[str]:
    """A command that runs a Python program given as text."""
    return [interpreter, "-c", textwrap.dedent(program)]


class Scripted(Target):
    """A program that the recorder asks at every turn whether it has ended: its next step is done then."""

    def __init__(self, steps: Iterator[bool]) -> None:
        self.pid = os.getpid()
        self._steps, self._release, self._failure = steps, -1, -1

    def watch(self) -> None:
        return None

    def has_ended(self) -> bool:
        return next(self._steps, True)


def session_in(folder: Path, **options: Any) -> Session:
    """Of a recording of CUDA whose spool is a folder."""
    made = RecordingOptions(trace=("cuda",), **options)
    return Session(
        directory=folder,
        output=folder / "x.h5",
        command=("x",),
        working_directory="/",
        start_monotonic_ns=1,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=1,
        options=made,
        stop_monotonic_ns=1 << 62,
    )


class States:
    """The thread states of a capture, by thread, for tests."""

    def __init__(self, path: Path) -> None:
        with open_capture(path) as capture:
            self.span = capture.span
            self.threads = capture.threads
            self.processes = capture.processes
            self.sources = {source.name: source for source in capture.sources}
            self.warnings = capture.warnings
            self.pauses = np.array(capture.pauses)
            self.meta = dict(capture.meta)
            self.tracks = {track.uri: track for track in capture.tracks}
            self.counters = {
                capture.tracks[c.track].uri: (c.name, c.unit, c.values[:]) for c in capture.counters
            }
            self.counter_times = {
                capture.tracks[c.track].uri: c.times[:].astype(np.int64) for c in capture.counters
            }
            kinds = capture.kinds
            rows = kinds["thread_state"].rows if "thread_state" in kinds else np.empty(0, np.int64)
            events = capture.events
            self.start = np.array(events.start[rows])
            self.duration = np.array(events.duration[rows])
            self.flags = np.array(events.flags[rows])
            self.name = np.array([capture.strings[i] for i in events.name[rows].tolist()], object)
            lane = np.searchsorted(capture.lanes.first[:], rows, "right") - 1
            track = capture.lanes.track[:][lane]
            owner = np.array([-1 if t.thread is None else t.thread for t in capture.tracks])
            self.thread = owner[track]
            self.slices = len(kinds["cpu_slice"].rows) if "cpu_slice" in kinds else 0

    def of(self, *tids: int) -> np.ndarray:
        """Which states are of threads with these ids: bool [n]."""
        wanted = [i for i, thread in enumerate(self.threads) if thread.tid in tids]
        return np.isin(self.thread, wanted)

    def of_process(self, pid: int) -> np.ndarray:
        """Which states are of threads of a process: bool [n]."""
        wanted = [i for i, t in enumerate(self.threads) if self.processes[t.process].pid == pid]
        return np.isin(self.thread, wanted)

    def total(self, name: str, mask: np.ndarray | None = None) -> int:
        """Time in a state, ns."""
        chosen = self.name == name
        return int(self.duration[chosen if mask is None else chosen & mask].sum())
