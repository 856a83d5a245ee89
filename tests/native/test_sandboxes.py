"""A program that forbids itself all system calls but its own (seccomp) is recorded and does not notice."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from tests.native.conftest import HERE, Session, compile_c

from warpline.recording.agent.records import OSRT_CALL, osrt_call
from warpline.recording.spool.file_layout import ALLOCATED_OFFSET, HEADER_BYTES
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


@pytest.mark.parametrize("what", ["calls", "threads", "fork", "exec", "executed", "lenient", "strict"])
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
