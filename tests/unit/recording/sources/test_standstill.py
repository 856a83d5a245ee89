"""What samples of /proc say of blocked stretches: held against brute force, and against processes that stand still."""

from __future__ import annotations

import mmap
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.waiting import wait_until

from warpline.model.waits import WaitKind
from warpline.recording.agent.records import Closed
from warpline.recording.sources.procfs import records
from warpline.recording.sources.procfs.closed_programs import why_closed
from warpline.recording.sources.procfs.process_watch import ProcessWatch
from warpline.recording.sources.procfs.refinements import core_waits, describe_wait, divide_equally
from warpline.recording.sources.procfs.standstill import LONG_NS, StandstillWatch
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.writer import SpoolWriter
from warpline.recording.states.thread_states import NO_CPU, Mark, Marks, thread_states

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), max_size=12),
    st.lists(st.integers(0, 60), min_size=4, max_size=4),
)
def test_shares_are_equal_as_far_as_they_fit(members: list[tuple[int, int]], amounts: list[int]) -> None:
    group, most = np.array(members, np.int64).reshape(-1, 2).T
    shares = divide_equally(group, most, np.array(amounts))
    for number, amount in enumerate(amounts):
        own = shares[group == number]
        limits = most[group == number]
        assert (own <= limits).all()
        assert (own >= 0).all()
        # All of it, up to what a division leaves, unless all are full.
        assert min(amount, limits.sum()) - len(own) < own.sum() <= amount or not len(own)
        below = own[own < limits]
        assert not len(below) or (below == below[0]).all()
        assert not len(below) or below[0] >= own.max() - 1 or below[0] == own.max()


def test_growth_of_the_total_is_assigned_to_the_blocked_states_that_ended() -> None:
    states = thread_states(
        Marks.of(
            [4] * 8,
            [0, 10, 50, 60, 100, 120, 130, 200],
            NO_CPU,
            [Mark.BIRTH, Mark.IN, Mark.OUT, Mark.IN, Mark.PREEMPTED, Mark.IN, Mark.OUT, Mark.IN],
        )
    )
    # Runnable 10 (birth) and 20 (preempted), blocked 10 and 70; the kernel had 10 + 6 by 110, 20 + 33 more by 300.
    thread, time_ns = np.array([4, 4]), np.array([110, 300])
    waited = core_waits(states, thread, time_ns, np.array([16, 69]), np.ones(5, bool))
    assert waited.tolist() == [-1, -1, 6, -1, -1, -1, 33]
    # A thread that was there before has a first sample that says nothing.
    waited = core_waits(states, thread, time_ns, np.array([16, 69]), np.zeros(5, bool))
    assert waited.tolist() == [-1, -1, -1, -1, -1, -1, 33]


@linux
def test_system_calls_have_a_kind_of_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert describe_wait(202, "futex_do_wait", "") == (WaitKind.FUTEX, "futex, sampled")
    assert describe_wait(0, "anon_pipe_read", "pipe:[12]") == (WaitKind.PIPE, "pipe (read), sampled")
    assert describe_wait(0, "", "/data/x")[0] == WaitKind.FILE
    assert describe_wait(9999, "do_wait", "")[0] == WaitKind.CHILD
    assert describe_wait(9999, "strange_function", "") == (
        WaitKind.UNKNOWN,
        "in the kernel function strange_function, sampled",
    )
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert describe_wait(98, "", "")[0] == WaitKind.FUTEX


@linux
def test_a_standing_thread_is_looked_up_once(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        schedstat = Path(f"/proc/{child.pid}/task/{child.pid}/schedstat")
        before = b""

        def stands() -> bool:
            nonlocal before
            latest, before = before, schedstat.read_bytes()
            return latest == before and reads(child.pid)

        wait_until(stands, "the program does not wait for its input")
        writer = SpoolWriter(tmp_path / "procfs.spool", "procfs")
        watch = StandstillWatch(writer)
        for number in range(4):
            watch.add_sample(number * LONG_NS, child.pid, child.pid, before)
        writer.close()
        child.communicate(b"\n")
    spool = SpoolFile(tmp_path / "procfs.spool")
    (row,) = spool.records(records.STANDSTILL, records.standstill).values
    assert (row["since_ns"], row["time_ns"], row["tid"]) == (0, LONG_NS, child.pid)
    kind, _text = describe_wait(int(row["system_call"]), spool.text(row["where"]), spool.text(row["text"]))
    assert kind == WaitKind.PIPE


@linux
def test_page_faults_and_cores_agree_with_the_kernel(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "procfs.spool", "procfs")
    watch = ProcessWatch(writer)
    before = resource.getrusage(resource.RUSAGE_SELF)
    watch.sample(os.getpid())
    fresh = mmap.mmap(-1, 1000 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for page in range(1000):
        fresh[page * mmap.PAGESIZE] = 1
    watch.sample(os.getpid())
    after = resource.getrusage(resource.RUSAGE_SELF)
    # A number that is another process's now is looked at again.
    watch.forget(os.getpid())
    watch.sample(os.getpid())
    watch.sample(1 << 30)
    fresh.close()
    writer.close()
    spool = SpoolFile(tmp_path / "procfs.spool")
    rows = spool.records(records.PAGE_FAULTS, records.page_faults).values
    assert before.ru_minflt <= rows["minor"][0] <= rows["minor"][1] <= after.ru_minflt
    # Pages may come several at a time where the kernel has larger ones.
    assert rows["minor"][1] > rows["minor"][0]
    assert before.ru_majflt <= rows["major"][0] <= after.ru_majflt
    assert set(rows["pid"].tolist()) == {os.getpid()}
    told = spool.records(records.ALLOWED_CORES, records.allowed_cores).values
    texts = [spool.text(int(row["cores"])) for row in told]
    assert texts == [" ".join(map(str, sorted(os.sched_getaffinity(0))))] * 2


def reads(pid: int) -> bool:
    """Whether a process stands in read(0)."""
    words = Path(f"/proc/{pid}/syscall").read_text().split()
    return words[0] in ("0", "63") and words[1] == "0x0"


@linux
def test_refused_lookups_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def refuse(path: str) -> bytes:
        tried.append(path)
        raise PermissionError(13, "no")

    monkeypatch.setattr("warpline.recording.sources.procfs.standstill._content", refuse)
    writer = SpoolWriter(tmp_path / "procfs.spool", "procfs")
    watch = StandstillWatch(writer)
    for content in (b"1", b"2", b"3"):
        for number in range(3):
            watch.add_sample(number * LONG_NS, os.getpid(), os.getpid(), content)
    writer.close()
    assert watch.is_refused
    assert len(tried) == 1


@linux
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_a_static_program_is_reported(tmp_path: Path) -> None:
    source = tmp_path / "static.c"
    source.write_text("#include <unistd.h>\nint main(void) { char c; return (int)read(0, &c, 1); }\n")
    program = tmp_path / "static"
    made = subprocess.run(["cc", "-static", "-o", program, source], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("this machine cannot link statically")
    with subprocess.Popen([program], stdin=subprocess.PIPE) as child:
        wait_until(lambda: (why_closed(child.pid) or [""])[0] == str(program), "the program did not start")
        found = why_closed(child.pid)
        child.communicate(b"x")
    assert found == (str(program), Closed.STATIC)
    own = why_closed(os.getpid())
    assert own is not None
    assert own[1] == Closed.OPEN
