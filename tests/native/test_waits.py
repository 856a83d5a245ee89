"""A program that knows what it waits for: reason, line, length and who ended it are what Warpline says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import warpline
from warpline.model import Flag

PROGRAM = Path(__file__).parent / "programs" / "waits.py"
LONG_NS = 10_000_000


class Told(NamedTuple):
    """A wait as the program saw it, by CLOCK_MONOTONIC."""

    thread: int
    kind: str
    line: int
    start_ns: int
    stop_ns: int


class Recorded(NamedTuple):
    capture: warpline.CaptureReader
    calls: Any
    told: list[Told]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    output = tmp_path_factory.mktemp("waits") / "run.h5"
    program = [sys.executable, str(PROGRAM)]
    command = [sys.executable, "-m", "warpline", "record", "-q", "-o", str(output), "--", *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    told = [Told(int(tid), kind, int(line), int(start), int(stop)) for tid, kind, line, start, stop in rows]
    with warpline.open(output) as capture:
        calls = capture.events("osrt").to_pandas()
        calls["start_ns"] += capture.metadata["start_monotonic_ns"]
        yield Recorded(capture, calls, told)


def test_every_wait_has_its_kind_its_line_and_its_length(recorded: Recorded) -> None:
    assert len(recorded.told) == 10
    calls = recorded.calls
    for told in recorded.told:
        inside = calls[
            (calls.thread_id == told.thread)
            & (calls.start_ns >= told.start_ns)
            & (calls.start_ns + calls.duration_ns <= told.stop_ns)
        ]
        longest = inside.loc[inside.duration_ns.idxmax()]
        assert longest.wait == told.kind, told
        # Between the two readings of the program's clock nothing but the wait takes long.
        assert longest.duration_ns >= 0.5 * (told.stop_ns - told.start_ns), told
        assert f"{PROGRAM}:{told.line}" in str(longest.stack), told


def test_who_gave_a_lock_back_is_told_with_the_line(recorded: Recorded) -> None:
    main = recorded.told[0].thread
    calls = recorded.calls
    long = calls[(calls.thread_id == main) & (calls.duration_ns > LONG_NS)]
    ended = long[long.wait.isin(["lock", "condition"]) & long.ended_by.notna()]
    assert len(ended) >= 4
    locks = ended[ended.wait == "lock"]
    assert (locks.holder == locks.ended_by).all()
    assert main not in set(ended.ended_by)
    assert str(PROGRAM) in str(ended.iloc[0].holder_place)
    kinds = set(recorded.capture.links["kind"].tolist())
    assert {"release", "data"} <= kinds


def test_a_blocked_stretch_tells_the_reason_of_its_call(recorded: Recorded) -> None:
    states = recorded.capture.events("thread_state").to_pandas()
    main = recorded.told[0].thread
    long = states[(states.name == "blocked") & (states.duration_ns > LONG_NS) & (states.thread_id == main)]
    if not len(long):
        pytest.skip("thread states were not recorded exactly here")
    kinds = {"sleep", "lock", "pipe", "descriptors", "network", "child process"}
    assert kinds <= set(long.wait.dropna())
    assert long[long.wait == "sleep"].iloc[0].reason == "sleep"
    assert long[long.wait == "child process"].iloc[0].reason.startswith("child process ")
    assert long.place.notna().sum() >= len(kinds)


@pytest.mark.parametrize("end", ["killed", "exited"])
def test_waits_that_never_end_are_told(tmp_path: Path, end: str) -> None:
    output = tmp_path / "run.h5"
    program = Path(__file__).parent / "programs" / "last_waits.py"
    command = [sys.executable, "-m", "warpline", "record", "-q", "-o", str(output), "--"]
    done = subprocess.run(
        [*command, sys.executable, str(program), end],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == (137 if end == "killed" else 0), done.stderr
    with warpline.open(output) as capture:
        calls = capture.events("osrt").to_pandas()
    last = calls[(calls["flags"] & int(Flag.CUT_END)) != 0].set_index("thread_id")
    told = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(told) == 7
    for tid, kind, line in told:
        wait = last.loc[int(tid)]
        assert wait.wait == kind
        assert f"{program}:{line}" in str(wait.stack), (kind, wait.stack)
    # Two hold what the other wants, one asks for what it has itself.
    locks = [int(tid) for tid, kind, _line in told if kind == "lock"]
    assert {last.holder[tid] for tid in locks} == set(locks)
    itself = [tid for tid in locks if last.holder[tid] == tid]
    assert len(itself) == 1
    assert all(str(program) in last.holder_place[tid] for tid in locks)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_barrier_that_no_library_call_stands_for_is_told_by_sampling(tmp_path: Path) -> None:
    program, output = tmp_path / "barrier", tmp_path / "run.h5"
    source = Path(__file__).parent / "programs" / "gomp_barrier.c"
    made = subprocess.run(["cc", "-fopenmp", "-o", program, source], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this compiler has no OpenMP")
    command = [sys.executable, "-m", "warpline", "record", "-q", "-o", str(output), "--", str(program), "700"]
    # Waiting threads must not spin first.
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=True)
    tid, start, stop = map(int, done.stdout.split())
    with warpline.open(output) as capture:
        states = capture.events("thread_state").to_pandas()
    blocked = states[(states.thread_id == tid) & (states.name == "blocked")]
    if not len(blocked):
        pytest.skip("thread states were not recorded exactly here")
    longest = blocked.loc[blocked.duration_ns.idxmax()]
    assert (longest.wait, longest.reason) == ("futex", "futex, sampled")
    assert longest.duration_ns <= stop - start


def test_stacks_of_a_forked_child_are_sampled(tmp_path: Path) -> None:
    program = """
import os, sys, time
child = os.fork()
if child == 0:
    time.sleep(0.01)
    stop = time.monotonic() + 0.4
    while time.monotonic() < stop:
        sum(range(100))
    os._exit(0)
os.waitpid(child, 0)
print(child)
"""
    output = tmp_path / "run.h5"
    command = [sys.executable, "-m", "warpline", "record", "-q", "-o", str(output), "--"]
    done = subprocess.run(
        [*command, sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    )
    with warpline.open(output) as capture:
        samples = capture.events("sample").to_pandas()
    assert (samples.process_id == int(done.stdout)).sum() >= 5
