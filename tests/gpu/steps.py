"""Runs a command with a time limit, which also ends what it left behind. Needs the standard library only."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "WARPLINE_GPU_STEP"
"""Every process of a step has this variable: the ids of its step and of the steps around it, joined by dots."""
DEBUGGER_S = 4
"""For gdb, if there is one, to print the stacks of all processes that hang."""
STACKS_S = 0.5
"""For Python to print its stacks."""
LOOK_S = 0.5
"""Between two looks at the libraries of a step's processes."""


@dataclass(kw_only=True)
class Done:
    """How a command ended. ``status`` is None when it did not end by itself in time."""

    status: int | None
    seconds: float
    output: str
    errors: str
    libcupti: set[str]
    """Every libcupti that was mapped in one of its processes."""
    leftovers: int
    """Processes that were still there, and were killed."""
    threads: str = ""
    """What its threads were waiting for when the time was up."""


class Steps:
    """Numbers the steps that this process runs."""

    def __init__(self) -> None:
        self._outer = os.environ.get(MARK) or f"{os.getpid()}-{time.time_ns()}"
        self._number = 0

    def run(self, command: Sequence[str], seconds: float, environment: Mapping[str, str]) -> Done:
        """Run the command, for at most so many seconds.

        Output goes to files: a process that is left behind would keep a pipe open.
        """
        self._number += 1
        mark = f"{self._outer}.{self._number}"
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            began = time.monotonic()
            process = subprocess.Popen(
                command,
                env={**environment, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            status, libcupti = _wait(process, mark, began + seconds)
            took = time.monotonic() - began
            threads = ""
            if status is None:
                threads = describe_threads(mark)
                ask_for_stacks(mark)
            leftovers = end_marked(mark)
            if status is None:
                # A process that waits in the kernel for a lost GPU does not even end by SIGKILL: no endless wait.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=5)
            return Done(
                status=status,
                seconds=took,
                output=_read(output.fileno()),
                errors=_read(errors.fileno()),
                libcupti=libcupti,
                leftovers=leftovers,
                threads=threads,
            )


def describe_threads(mark: str) -> str:
    """Each thread of a step's processes: its name, state, and the system call or place in the kernel where it waits."""
    lines = []
    until = time.monotonic() + DEBUGGER_S
    for pid in marked(mark):
        lines.append(f"{pid}: {_text(f'/proc/{pid}/cmdline').replace(chr(0), ' ')}")
        for entry in sorted(Path(f"/proc/{pid}/task").glob("*")):
            stat = _text(f"{entry}/stat").rpartition(")")[2].split()
            words = [
                entry.name,
                _text(f"{entry}/comm"),
                *stat[:1],
                _text(f"{entry}/wchan"),
                _text(f"{entry}/syscall"),
            ]
            lines.append("  " + " ".join(words))
        if shutil.which("gdb") and (left := until - time.monotonic()) > 0:
            command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 30"]
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                done = subprocess.run(
                    command, capture_output=True, stdin=subprocess.DEVNULL, timeout=left, check=False
                )
                lines.append(done.stdout.decode(errors="replace")[-8000:])
    return "\n".join(lines)


def ask_for_stacks(mark: str) -> None:
    """Python programs with PYTHONFAULTHANDLER print their stacks and end."""
    for pid in marked(mark):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGABRT)
    time.sleep(STACKS_S)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return "?"


def end_marked(mark: str) -> int:
    """Kill all processes of a step, whatever session they are in; returns how many there were."""
    killed: set[int] = set()
    for _ in range(10):
        pids = set(marked(mark)) - killed
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        killed |= pids
    return len(killed)


def marked(mark: str) -> Iterator[int]:
    """The processes of a step and of the steps inside it, without this one."""
    wanted = f"{MARK}={mark}".encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            variables = Path(entry.path, "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(variable == wanted or variable.startswith(wanted + b".") for variable in variables):
            yield int(entry.name)


def _wait(process: subprocess.Popen[bytes], mark: str, until: float) -> tuple[int | None, set[str]]:
    libcupti: set[str] = set()
    while True:
        remaining = until - time.monotonic()
        if remaining <= 0:
            return None, libcupti
        try:
            return process.wait(timeout=min(LOOK_S, remaining)), libcupti
        except subprocess.TimeoutExpired:
            for pid in marked(mark):
                libcupti |= _libcupti_of(pid)


def _libcupti_of(pid: int) -> set[str]:
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return set()
    paths = {line.split(maxsplit=5)[-1] for line in lines if "libcupti" in line}
    return {path for path in paths if "libcupti" in path.rpartition("/")[2]}


def _read(descriptor: int, most: int = 1 << 20) -> str:
    """The end of what a step wrote."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, most, max(0, size - most)).decode(errors="replace")
