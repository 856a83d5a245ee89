"""A program that knows what it waits for: reason, line, length and who ended it are what Warpline says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest
from tests.unit.recording.recording_tools import UNTIL_SAMPLED, WARPLINE, on_time_once
from tests.waiting import wait_until

import warpline
from warpline.model import Flag
from warpline.recording.agent.records import (
    PYTHON_SAMPLE,
    PYTHON_THREAD_NAME,
    python_sample,
    python_thread_name,
)
from warpline.recording.spool.reader import read_spools

PROGRAM = Path(__file__).parent / "programs" / "waits.py"
LONG_NS = 5_000_000
MILLISECOND_NS = 1_000_000


class Told(NamedTuple):
    """A wait as the program saw it, by CLOCK_MONOTONIC; ``used_ns`` of it the thread had a core."""

    thread: int
    name: str
    kind: str
    line: int
    start_ns: int
    stop_ns: int
    used_ns: int
    ended_by: int


class Recorded(NamedTuple):
    capture: warpline.CaptureReader
    calls: Any
    for_core: Any
    told: list[Told]

    def inside(self, told: Told) -> Any:
        """The calls of the thread during a wait."""
        calls = self.calls[self.calls.thread_id == told.thread]
        return calls[(calls.start_ns >= told.start_ns) & (calls.start_ns + calls.duration_ns <= told.stop_ns)]

    def without_core(self, thread: int, start_ns: int, stop_ns: int) -> int:
        """Nanoseconds of a time that a thread waited for a core, as far as the kernel told."""
        waits = self.for_core[self.for_core.thread_id == thread]
        ends = (waits.start_ns + waits.duration_ns).clip(upper=stop_ns)
        return int((ends - waits.start_ns.clip(lower=start_ns)).clip(lower=0).sum())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    output = tmp_path_factory.mktemp("waits") / "run.h5"
    program = [sys.executable, str(PROGRAM)]
    command = [*WARPLINE, "record", "-q", "-o", str(output), "--", *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    told = [
        Told(int(tid), name, kind, int(line), int(start), int(stop), int(used), int(ended_by))
        for tid, name, kind, line, start, stop, used, ended_by in rows
    ]
    with warpline.open(output) as capture:
        calls = capture.events("osrt").to_pandas()
        calls["start_ns"] += capture.metadata["start_monotonic_ns"]
        states = capture.events("thread_state").to_pandas()
        states["start_ns"] += capture.metadata["start_monotonic_ns"]
        yield Recorded(capture, calls, states[states.name == "runnable"], told)


NAMES = {
    "sleep", "lock", "condition", "queue", "join", "pipe", "select", "socket", "socket pair", "fsync", "file",
    "subprocess", "GIL", "process queue", "asyncio",
}  # fmt: skip


def test_every_wait_has_its_kind_its_line_and_who_ended_it(recorded: Recorded) -> None:
    assert {told.name for told in recorded.told} == NAMES
    seen: list[str] = []
    own = {thread.tid for thread in recorded.capture.threads if thread.name == "warpline-agent"}
    for told in recorded.told:
        inside = recorded.inside(told)
        # The sleep before a wait for the GIL is none of its business, and having the GIL back after another wait may
        # take longer than that wait.
        inside = inside[(inside.wait == "GIL") == (told.name == "GIL")]
        inside = inside[inside.duration_ns >= MILLISECOND_NS]
        if not len(inside):
            continue  # it was a short one: the GIL was free, a disk quick, or this thread late
        seen.append(told.name)
        longest = inside.loc[inside.duration_ns.idxmax()]
        assert longest.wait == told.kind, told
        if told.line:
            assert f"{PROGRAM}:{told.line}" in str(longest.stack), told
        if told.ended_by:
            # A new thread's name is asked for by a thread of the agent, which has the GIL for that long.
            assert {told.ended_by, *own} & {*longest[["ended_by", "holder"]].dropna()}, told
    often = {name for name in NAMES if seen.count(name) > 3}
    assert often >= NAMES - {"GIL", "fsync", "file"}
    assert "GIL" in seen


def test_waits_last_as_long_as_the_programs_own_clock_says(recorded: Recorded) -> None:
    """Within 50 us, in the median of the waits of a name; in the best of those that are work of the kernel.

    The program reads its clock before and after, and how long it had a core in between, for Python's own work around
    the wait and the kernel's in it: the wait lasted as long as the clock says or up to that much less. On a busy
    machine the thread may also wait for a core between a clock and the wait. Reading what is in memory is all work, so
    that Python's own cannot be told from it: behind 16 MB that went through the caches it takes 35 to 75 us.
    """
    off: dict[str, list[float]] = {}
    for told in recorded.told:
        inside = recorded.inside(told)
        whole = told.stop_ns - told.start_ns
        if whole < MILLISECOND_NS or not len(inside):
            continue
        least = whole if told.name in ("file", "fsync") else whole - told.used_ns
        first, last = int(inside.start_ns.min()), int((inside.start_ns + inside.duration_ns).max())
        least -= recorded.without_core(told.thread, told.start_ns, first)
        least -= recorded.without_core(told.thread, last, told.stop_ns)
        waited = int(inside.duration_ns.sum())
        off.setdefault(told.name, []).append(max(least - waited, waited - whole, 0))
    assert off.keys() >= NAMES - {"GIL", "fsync", "file"}
    usual = {
        name: min(values) if name in ("file", "fsync") else median(values) for name, values in off.items()
    }
    assert {name: value for name, value in usual.items() if value > 50_000} == {}


def test_who_gave_a_lock_back_is_told_with_the_line(recorded: Recorded) -> None:
    main = recorded.told[0].thread
    calls = recorded.calls
    long = calls[(calls.thread_id == main) & (calls.duration_ns > LONG_NS)]
    ended = long[long.wait.isin(["lock", "condition"]) & long.ended_by.notna()]
    assert len(ended) >= 4
    locks = ended[ended.wait == "lock"]
    assert (locks.holder == locks.ended_by).all()
    assert main not in set(ended.ended_by)
    assert str(PROGRAM) in str(locks.iloc[0].holder_place)
    kinds = set(recorded.capture.links["kind"].tolist())
    assert {"release", "data", "exit"} <= kinds
    assert (ended.ended_how.str.endswith("certain") | ended.ended_how.str.endswith("likely")).all()


def test_the_table_of_locks_names_the_programs_own_lines(recorded: Recorded) -> None:
    """Queues and events wait, and are ended, inside Python's library."""
    table = recorded.capture.report("lock_contention").to_pandas()
    puts = table[table.holder_place.astype(str).str.startswith("locks.<locals>.<lambda> (")]
    assert {*puts.wait} == {"condition"}
    assert {place.partition(" ")[0] for place in puts.name} == {"told"}


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
    command = [*WARPLINE, "record", "-q", "-o", str(output), "--"]
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
    program = tmp_path / "barrier"
    source = Path(__file__).parent / "programs" / "gomp_barrier.c"
    made = subprocess.run(["cc", "-fopenmp", "-o", program, source], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this compiler has no OpenMP")

    def check(folder: Path) -> None:
        output = folder / "run.h5"
        command = [*WARPLINE, "record", "-q", "-o", str(output), "--", str(program), "700"]
        # Waiting threads must not spin first.
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=100, check=True
        )
        tid, start, stop = map(int, done.stdout.split())
        with warpline.open(output) as capture:
            states = capture.events("thread_state").to_pandas()
        blocked = states[(states.thread_id == tid) & (states.name == "blocked")]
        if not len(blocked):
            pytest.skip("thread states were not recorded exactly here")
        longest = blocked.loc[blocked.duration_ns.idxmax()]
        assert (longest.wait, longest.reason) == ("futex", "futex, sampled")
        assert longest.duration_ns <= stop - start

    on_time_once(tmp_path, check)


def test_threads_have_the_names_that_the_program_gave_them(tmp_path: Path) -> None:
    program = """
import os, threading, time
def work():
    while not os.path.exists("end"): time.sleep(0.001)
worker = threading.Thread(target=work, name="a worker with a long name")
worker.start()
worker.join()
"""
    output, spool = tmp_path / "run.h5", tmp_path / "run.h5.spool"

    def is_named() -> bool:
        for file in read_spools(spool)[0]:
            names = file.records(PYTHON_THREAD_NAME, python_thread_name).values["name"].tolist()
            if "a worker with a long name" in map(file.text, names):
                return True
        return False

    command = [*WARPLINE, "record", "-q", "-o", str(output), "--", sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=tmp_path) as recorder:
        try:
            wait_until(is_named, "the name is not recorded")
        finally:
            (tmp_path / "end").touch()
    assert recorder.returncode == 0
    with warpline.open(output) as capture:
        names = [thread.name for thread in capture.threads]
        own = {thread.tid for thread in capture.threads if thread.name == "warpline-agent"}
        states = capture.events("thread_state").to_pandas()
    assert names.count("a worker with a long name") == 1
    assert set(names) <= {
        "a worker with a long name",
        "warpline-agent",
        Path(sys.executable).resolve().name,
        "python",
    }
    if "reason" in states:  # exact states: Warpline's own thread explains itself
        resting = states[states.thread_id.isin(own) & (states.name == "blocked")]
        assert set(resting.reason) == {"Warpline's agent sleeps until its next check"}


def test_stacks_of_a_forked_child_are_sampled(tmp_path: Path) -> None:
    program = """
import os, sys, time
child = os.fork()
if child == 0:
    time.sleep(0.01)  # sampling begins in a forked child with its first call that waits
    while not os.path.exists("end"):
        sum(range(10_000))
    os._exit(0)
print(child, flush=True)
os.waitpid(child, 0)
"""
    command = [*WARPLINE, "record", "-q", "-o", "run.h5", "--", sys.executable, "-c", program]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as recorder:
        assert recorder.stdout is not None
        child = int(recorder.stdout.readline())
        try:
            wait_until(lambda: len(sample_times(tmp_path / "run.h5.spool", child)) >= 5, "no samples come")
        finally:
            (tmp_path / "end").touch()
    assert recorder.returncode == 0
    with warpline.open(tmp_path / "run.h5") as capture:
        samples = capture.events("sample").to_pandas()
    assert (samples.process_id == child).sum() >= 5


def sample_times(spool: Path, pid: int | None = None) -> list[int]:
    """When threads of a process, or of all, were sampled so far: CLOCK_MONOTONIC, ns."""
    files = [file for file in read_spools(spool)[0] if pid in (None, file.header.pid)]
    return [
        int(time) for file in files for time in file.records(PYTHON_SAMPLE, python_sample).values["time_ns"]
    ]


KEEPS_THE_GIL = """
import ctypes, time
code_in_c, room = ctypes.PyDLL(None), ctypes.create_string_buffer(1)
def keeps():
    for _ in range(2):
        print(time.monotonic_ns(), flush=True)
        code_in_c.read(0, room, 1)
        yield time.monotonic_ns()
for stop in keeps():
    print(stop, flush=True)
"""


@pytest.mark.parametrize("before", ["", "import asyncio"])
def test_a_generator_whose_code_in_c_keeps_the_gil_is_sampled_meanwhile(tmp_path: Path, before: str) -> None:
    output, spool = tmp_path / "keeps.h5", tmp_path / "keeps.h5.spool"
    command = [*WARPLINE, "record", "-q", "-o", str(output), "--"]
    program = [sys.executable, "-c", before + UNTIL_SAMPLED + KEEPS_THE_GIL]
    stretches = []
    with subprocess.Popen(
        [*command, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as recorder:
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        for _ in range(2):
            # Not its beginning: one sample was taken before the sampler came to wait.
            later = int(recorder.stdout.readline()) + 400_000_000
            try:
                wait_until(lambda later=later: max(sample_times(spool), default=0) > later, "no sample comes")  # type: ignore[misc]
            finally:
                print("x", end="", file=recorder.stdin, flush=True)
            stretches.append((later, int(recorder.stdout.readline())))
    assert recorder.returncode == 0
    with warpline.open(output) as capture:
        samples = capture.events("sample").to_pandas().start_ns + capture.metadata["start_monotonic_ns"]
    for later, stop in stretches:
        assert ((samples > later) & (samples < stop)).any()


TASKS = """
import asyncio, time
async def wait(times):
    for _ in range(times):
        time.sleep(0.01)
        await asyncio.sleep(0)
async def main():
    named = asyncio.create_task(wait(100), name="the named one")
    await asyncio.gather(named, other())
async def other():
    for _ in range(100):
        time.sleep(0.012)
        await asyncio.sleep(0)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="3.14 keeps current tasks elsewhere")
def test_a_wait_and_a_sample_say_which_task_of_asyncio_it_was(tmp_path: Path) -> None:
    output = tmp_path / "tasks.h5"
    command = [*WARPLINE, "record", "-q", "-o", str(output), "--"]
    subprocess.run([*command, sys.executable, "-c", TASKS], timeout=100, check=True)
    with warpline.open(output) as capture:
        found = {kind: capture.events(kind).to_pandas() for kind in ("osrt", "sample", "thread_state")}
    calls = found["osrt"]
    sleeps = calls[calls.name.str.contains("sleep") & calls.place.notna()]
    # Not the first ones: how tasks look is found out when one was seen.
    of = {
        function: set(rows.task.dropna())
        for function, rows in sleeps.groupby(sleeps.place.str.split(" ").str[0])
    }
    assert of["wait"] == {"the named one"}
    assert len(of["other"]) == 1
    assert next(iter(of["other"])).startswith("Task-")
    assert {"the named one", *of["other"]} >= set(found["sample"].task.dropna()) - {"Task-1"} != set()
    assert "the named one" in set(found["thread_state"].task.dropna())


UNNAMED = """
import asyncio, os, pathlib, time
def is_known():
    files = [file for file in pathlib.Path(os.environ["WARPLINE_SPOOL"]).iterdir() if file.is_file()]
    return any(b"Task-" in file.read_bytes() for file in files)
async def wait():
    time.sleep(0.0005)
left, end = 600, time.monotonic() + 60
def follow():
    global left
    if left < 600 or is_known():
        left -= 1
    if left < 0 or time.monotonic() > end:
        return loop.stop()
    loop.create_task(wait())
    loop.call_later(0.001, follow)
loop = asyncio.new_event_loop()
loop.call_later(0, follow)
loop.run_forever()
"""


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="3.14 keeps current tasks elsewhere")
def test_tasks_made_where_others_were_freed_have_names_of_their_own(tmp_path: Path) -> None:
    output = tmp_path / "unnamed.h5"
    command = [*WARPLINE, "record", "-q", "--no-check", "-o", str(output), "--"]
    subprocess.run([*command, sys.executable, "-c", UNNAMED], timeout=100, check=True)
    with warpline.open(output) as capture:
        calls = capture.events("osrt").to_pandas()
    waits = calls[calls.wait == "sleep"].sort_values("start_ns")
    tasks = waits.task.tolist()
    # Those before it was found out how tasks look have none.
    told = [(number, task) for number, task in enumerate(tasks, 1) if isinstance(task, str)]
    assert told == [
        (number, f"Task-{number}") for number in range(len(tasks) - len(told) + 1, len(tasks) + 1)
    ]
    assert told
