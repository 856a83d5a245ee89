"""A program that forbids itself all system calls but its own (seccomp) is recorded and does not notice."""

from __future__ import annotations

import mmap
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.native.conftest import HERE, Session, compile_c
from tests.waiting import wait_until

from warpline.recording.agent.records import OSRT_CALL, PYTHON_SAMPLE, osrt_call, python_sample
from warpline.recording.session import RecordingOptions
from warpline.recording.spool.file_layout import ALLOCATED_OFFSET, FINISHED_OFFSET, HEADER_BYTES
from warpline.recording.spool.limits import Limits
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.sandboxes import SandboxFiles

CALLS = 300
"""Of one thread or process of the program."""
WRITE = 2
STATUS = 4


@pytest.fixture(scope="session")
def sandbox(built: Path) -> Path:
    return compile_c(built / "sandbox", [HERE / "programs" / "sandbox.c"])


@pytest.fixture
def session(session: Session, agent: Path) -> Session:
    """Every call is recorded, however short."""
    session.variables = {"LD_PRELOAD": str(agent), "WARPLINE_OSRT": "threshold=0,stacks=0"}
    return session


def plain(program: Path, what: str) -> tuple[int, str, str]:
    done = subprocess.run([program, what], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


def recorded(session: Session, program: Path, what: str) -> tuple[int, str, str]:
    done = session.run(program, what, status=STATUS)
    return done.returncode, done.stdout, done.stderr


def writes(spool: SpoolFile) -> dict[int, int]:
    """How many writes each thread made."""
    calls = spool.records(OSRT_CALL, osrt_call)
    threads, counts = np.unique(calls.tid[calls.values["function"] == WRITE], return_counts=True)
    return dict(zip(threads.tolist(), counts.tolist(), strict=True))


@pytest.mark.parametrize(
    "what", ["calls", "threads", "fork", "exec", "executed", "lenient", "strict", "refused"]
)
def test_the_program_ends_as_without_the_recording(session: Session, sandbox: Path, what: str) -> None:
    expected = plain(sandbox, what)
    assert expected[0] == STATUS
    assert recorded(session, sandbox, what) == expected


def test_calls_in_the_sandbox_are_recorded(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "calls")
    spool = session.spool()
    assert list(writes(spool).values()) == [CALLS]
    assert spool.header.lost == 0
    calls = spool.records(OSRT_CALL, osrt_call).values
    assert {spool.text(text) for text in calls["text"]} <= {"/dev/null", ""}


def test_threads_that_begin_in_the_sandbox_are_recorded(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "threads")
    spool = session.spool()
    assert sorted(writes(spool).values()) == [CALLS] * 3
    assert spool.header.pid not in writes(spool)


def test_a_child_forked_in_the_sandbox_is_a_process_of_its_own(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "fork")
    parent, child = session.spools()
    assert child.header.parent_pid == parent.header.pid
    assert writes(child) == {child.header.pid: CALLS}
    assert child.header.pid not in writes(parent)
    texts = child.records(OSRT_CALL, osrt_call).values["caller"]
    assert {child.text(text).rsplit("/")[-1].split("+")[0] for text in texts} == {"sandbox"}


def test_a_filter_that_lets_the_agent_work_changes_nothing(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "lenient")
    files = list(session.folder.glob("agent.*.spool"))
    assert len(files) == 2
    for path in files:
        assert not any(path.read_bytes()[ALLOCATED_OFFSET : ALLOCATED_OFFSET + 16])


def test_after_a_refused_filter_all_is_as_before(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "refused")
    parent, child = sorted(session.spools(), key=lambda spool: len(writes(spool)), reverse=True)
    assert sorted(writes(parent).values()) == [CALLS] * 9 + [400 * CALLS]
    assert writes(child) == {child.header.pid: CALLS}, "a program that is executed later is recorded"
    assert parent.header.lost == child.header.lost == 0
    assert not any(parent.path.read_bytes()[ALLOCATED_OFFSET : ALLOCATED_OFFSET + 16])
    assert struct.unpack_from("<I", (session.folder / "control").read_bytes(), 28) == (0,)


REFUSED = """
import ctypes, os, struct, sys, threading

class Filter(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("steps", ctypes.c_void_p)]

def wait_until_told():
    print("ready", flush=True)
    while os.read(0, 1) == b".":
        pass

is_x86 = os.uname().machine == "x86_64"
library = ctypes.CDLL(None)

def enter_alone():
    '''Forbids itself fallocate, which the agent uses.'''
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 285 if is_x86 else 47), (6, 0, 0, 0x50001), (6, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    assert library.prctl(38, 1, 0, 0, 0) == 0
    assert library.prctl(22, 2, ctypes.byref(Filter(4, ctypes.cast(code, ctypes.c_void_p))), 0, 0) == 0
    entered.set()
    over.wait()

entered, over = threading.Event(), threading.Event()
if sys.argv[1:] == ["alone"]:
    threading.Thread(target=enter_alone).start()
    entered.wait()
wait_until_told()
filter = Filter(1, ctypes.cast(ctypes.create_string_buffer(8), ctypes.c_void_p))
assert library.syscall(317 if is_x86 else 277, 1, 1, ctypes.byref(filter)) == -1
wait_until_told()
over.set()
"""


@pytest.mark.parametrize("what", ["", "alone"], ids=["free", "another thread is in a sandbox"])
def test_a_program_is_sampled_after_a_refused_filter(session: Session, what: str) -> None:
    session.variables["WARPLINE_PYTHON"] = "hz=100"

    def count() -> int:
        return session.count(PYTHON_SAMPLE, python_sample)

    with session.start(sys.executable, "-c", REFUSED, what) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for end in "xx":
            assert program.stdout.readline() == "ready\n"
            before = count()

            def is_sampled(before: int = before) -> bool:
                assert program.stdin is not None
                program.stdin.write(".")  # calls that last are sampled once
                program.stdin.flush()
                return count() > before + 3

            wait_until(is_sampled, lambda: f"{count()} samples", 60)
            program.stdin.write(end)
            program.stdin.flush()
    assert program.returncode == 0


def test_threads_that_end_in_the_sandbox_leave_their_memory_to_others(
    session: Session, sandbox: Path
) -> None:
    program = session.start(sandbox, "successive")
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    files = SandboxFiles(session.folder)
    files.extend(1, time.monotonic_ns())
    program.communicate("x", timeout=60)
    assert program.returncode == STATUS
    assert sorted(writes(session.spool()).values())[-3:] == [CALLS] * 3


def test_files_of_ended_and_idle_processes_do_not_grow(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "calls")
    with session.start(sandbox, "waits") as idle:
        assert idle.stdout is not None
        assert idle.stdout.readline() == "child ended\n"
        sizes = {path: path.stat().st_size for path in session.folder.glob("agent.*.spool")}
        files, now = SandboxFiles(session.folder), time.monotonic_ns()
        for second in range(5):
            files.extend(2, now + second * 10**9)
        assert {path: path.stat().st_size for path in sizes} == sizes
        (still_open,) = files.names
        assert still_open in {path.name for path in sizes}
        idle.communicate("x", timeout=60)


def test_a_ring_keeps_the_file_that_a_child_still_writes(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "fork")
    (path,) = session.folder.glob("agent.*.spool")
    options = RecordingOptions(trace=(), ring_ns=10**9)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as of_the_child:
        of_the_child[FINISHED_OFFSET] = 1
        limits = Limits(session.folder, options, (), now_ns=0)
        for second in range(1, 20):
            limits.look(second * 10**9)
        assert path.exists()
        assert of_the_child[:8] == b"WLSPOOL1"


def test_what_has_no_room_is_counted(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "many")
    spool = session.spool()
    (count,) = writes(spool).values()
    assert 15_000 < count < 400 * CALLS
    assert count + spool.header.lost >= 400 * CALLS, "counts of short calls are lost, too"


def test_the_recorder_makes_room(session: Session, sandbox: Path) -> None:
    recorded(session, sandbox, "many")
    path = session.spool().path
    before = path.stat().st_size
    files = SandboxFiles(session.folder)
    files.extend(0, time.monotonic_ns())
    assert path.stat().st_size == before, "no process announced a sandbox"
    files.extend(1, time.monotonic_ns())
    allocated = int.from_bytes(path.read_bytes()[ALLOCATED_OFFSET : ALLOCATED_OFFSET + 8], "little")
    assert path.stat().st_size == allocated > before
    files.extend(1, time.monotonic_ns() + 10**9)
    assert path.stat().st_size == allocated, "there is room enough"


@pytest.mark.parametrize("allocated", [1, HEADER_BYTES, 1 << 40, (1 << 64) - 4096])
def test_a_damaged_file_is_not_extended(session: Session, sandbox: Path, allocated: int) -> None:
    recorded(session, sandbox, "calls")
    path = session.spool().path
    data = bytearray(path.read_bytes())
    data[ALLOCATED_OFFSET : ALLOCATED_OFFSET + 8] = allocated.to_bytes(8, "little")
    path.write_bytes(data)
    SandboxFiles(session.folder).extend(1, time.monotonic_ns())
    assert path.stat().st_size == len(data)
