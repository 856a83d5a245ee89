"""Starts the recorded program, which keeps its terminal, streams, arguments and exit status.

The child is forked first and waits, so that events can be attached before its first instruction. Fork before numpy
is imported: forking a process with threads can deadlock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warpline.model.errors import RecordingError
from warpline.recording.proc_files import process_stat

_ERRNO = struct.Struct("<i")
NOT_EXECUTABLE, NOT_FOUND = 126, 127


@dataclass
class Target:
    """The program to be recorded, waiting for ``release``."""

    pid: int
    _release: int
    _failure: int
    exit_status: int | None = None
    """As a shell reports it (128+n for signal n); None while it runs."""
    exit_signal: int | None = None
    """The signal that ended it; None where none did."""

    def release(self, environment: Mapping[str, str]) -> OSError | None:
        """Start the program with this environment; returns the error when it cannot be run (see its ``errno``)."""
        block = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environment.items())
        with open(self._release, "wb") as pipe, contextlib.suppress(BrokenPipeError):
            pipe.write(struct.pack("<Q", len(block)) + block)
        with open(self._failure, "rb") as pipe:
            raw = pipe.read(_ERRNO.size)
        if len(raw) < _ERRNO.size:
            return None
        number = _ERRNO.unpack(raw)[0]
        self.wait()
        return OSError(number, os.strerror(number))

    def abandon(self) -> None:
        """End the child before it runs the program."""
        os.close(self._release)
        os.close(self._failure)
        self.wait()

    def has_ended(self) -> bool:
        """Whether the program has ended. Its status is not collected, so its /proc files still exist."""
        if self.exit_status is not None:
            return True
        news = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        # A program that asked to be traced by its parent (PTRACE_TRACEME) reports its stops here, too.
        return news is not None and news.si_code in (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)

    def wait(self) -> int:
        """Wait until the program has ended; returns its exit status as a shell reports it."""
        while self.exit_status is None:
            _pid, status = os.waitpid(self.pid, 0)
            if not os.WIFEXITED(status) and not os.WIFSIGNALED(status):
                continue  # it has stopped, and will go on when somebody wants it to
            code = os.waitstatus_to_exitcode(status)
            self.exit_status = code if code >= 0 else 128 - code
            self.exit_signal = -code if code < 0 else None
        return self.exit_status

    def send(self, number: int) -> None:
        """Send a signal, unless the program has ended."""
        if self.exit_status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def watch(self) -> int | None:
        """A descriptor that becomes readable when the program ends; None where the kernel has none (before 5.3)."""
        try:
            return os.pidfd_open(self.pid)
        except (OSError, AttributeError):
            return None


def spawn(command: Sequence[str], signal_mask: set[int]) -> Target:
    """Fork a child that waits for `Target.release`. ``signal_mask`` is the program's mask (ours may block more).

    Raises RecordingError when it cannot be forked.
    """
    release_read, release_write = os.pipe()
    failure_read, failure_write = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        for descriptor in (release_read, release_write, failure_read, failure_write):
            os.close(descriptor)
        raise RecordingError(f"the program cannot be started: {error.strerror}") from error
    if pid == 0:
        _become(command, signal_mask, release_read, release_write, failure_write)
    os.close(release_read)
    os.close(failure_write)
    return Target(pid, release_write, failure_read)


def _become(
    command: Sequence[str], signal_mask: set[int], release: int, other_end: int, failure: int
) -> None:
    """In the child: wait for the environment, then become the program. Never returns."""
    try:
        os.close(other_end)
        with open(release, "rb") as pipe:
            head = pipe.read(8)
            block = pipe.read(struct.unpack("<Q", head)[0]) if len(head) == 8 else None
        if block is None:
            os._exit(0)
        environment = dict(part.split(b"=", 1) for part in block.split(b"\0") if b"=" in part)
        # Python ignores these two signals; the program must start with the defaults that a shell gives it.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, signal_mask)
        try:
            os.execvpe(command[0], list(command), environment)
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                # A script without a shebang line: shells run these themselves.
                path = shutil.which(command[0], path=os.fsdecode(environment.get(b"PATH", b""))) or command[0]
                os.execve("/bin/sh", ["/bin/sh", path, *command[1:]], environment)
            raise
    except OSError as error:
        os.write(failure, _ERRNO.pack(error.errno or errno.EIO))
    finally:
        # After a failed exec no handler or flush of the recorder's interpreter may run in the child.
        os._exit(NOT_FOUND)


def failure_status(error: OSError) -> int:
    """The exit status of a program that could not be run: 127 if it was not found, 126 otherwise."""
    return NOT_FOUND if error.errno in {errno.ENOENT, errno.ENOTDIR} else NOT_EXECUTABLE


def terminate(target: Target, patience_s: float = 5.0) -> int:
    """End the program with SIGTERM, then SIGKILL after ``patience_s``. Returns its exit status."""
    target.send(signal.SIGTERM)
    stat = process_stat(target.pid)
    if stat is not None and stat.state == ord("T"):
        target.send(signal.SIGCONT)  # a stopped program takes no signal
    deadline = time.monotonic() + patience_s
    while not target.has_ended():
        if time.monotonic() >= deadline:
            target.send(signal.SIGKILL)
            break
        time.sleep(0.02)
    return target.wait()
