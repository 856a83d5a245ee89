"""The list of running processes, and what the sources say of one of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from warpline.model.errors import RecordingError
from warpline.recording.process_list import ProcessList, what_joins
from warpline.recording.sources.registry import trace_names

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

PROGRAM = "import sys; print('ready', flush=True); sys.stdin.read()"


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    """A program that waits, started with a password."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "--password=hunter2"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.communicate("", timeout=60)


def test_a_process_is_listed_with_its_user_threads_and_load(program: subprocess.Popen[str]) -> None:
    processes = ProcessList()
    first = {process.pid: process for process in processes.read()}
    listed = first[program.pid]
    assert listed.cores is None, "a load needs two readings"
    assert listed.threads == 1
    assert listed.user
    assert "import sys" in listed.command
    assert "hunter2" not in listed.command
    second = {process.pid: process for process in processes.read(without=[os.getpid()])}
    assert os.getpid() in first
    assert os.getpid() not in second
    assert second[program.pid].cores is not None
    # The kernel's threads have no command line.
    assert all(process.command for process in first.values())


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info < (3, 15),
    reason="stacks are known of CPython 3.11 to 3.14",
)
def test_sources_say_what_they_can_record_of_it(program: subprocess.Popen[str]) -> None:
    said = {source.name: source for source in what_joins(program.pid, trace_names())}
    assert said["procfs"].enabled
    assert said["python"].enabled
    assert said["python"].reason == f"Python 3.{sys.version_info.minor}"
    for name in ("nvtx", "cuda", "osrt", "steps", "torch", "paddle"):
        assert not said[name].enabled
        assert said[name].remedy == "start the program with: warpline record"


def test_a_program_without_python_has_no_python_stacks() -> None:
    process = subprocess.Popen(["sleep", "600"])
    try:
        (python,) = what_joins(process.pid, ["python"])
        assert not python.enabled
        assert "no Python" in python.reason
    finally:
        process.kill()
        process.wait(60)
    with pytest.raises(RecordingError, match="ended"):
        what_joins(process.pid, ["python"])


def test_another_users_process_is_refused(
    program: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000)
    with pytest.raises(RecordingError, match="belongs to another user"):
        what_joins(program.pid, ["cpu"])
