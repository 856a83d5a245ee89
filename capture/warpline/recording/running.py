"""A program that was running before the recording: watched, but never signalled or waited for."""

from __future__ import annotations

import errno
import os
import select

from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.proc_files import process_stat


class RunningProgram:
    """A running process, told apart from a later one with the same id."""

    exit_status = None

    def __init__(self, pid: int) -> None:
        """Raises RecordingError when there is no such process."""
        self.pid = pid
        stat = process_stat(pid)
        if stat is None or stat.state in b"ZX":
            raise RecordingError(tr("no process {pid} is running", pid=pid))
        self._start_ns = stat.start_ns
        self._descriptor: int | None = None
        try:
            self._descriptor = os.pidfd_open(pid)
        except (OSError, AttributeError) as error:
            if getattr(error, "errno", None) == errno.ESRCH:
                raise RecordingError(tr("no process {pid} is running", pid=pid)) from error

    def has_ended(self) -> bool:
        """Whether the process has ended; a zombie counts as ended."""
        if self._descriptor is not None:
            poller = select.poll()
            poller.register(self._descriptor, select.POLLIN)
            return bool(poller.poll(0))
        stat = process_stat(self.pid)
        # Start times come from two clocks and differ by milliseconds; a reused id starts seconds later.
        return stat is None or stat.state in b"ZX" or abs(stat.start_ns - self._start_ns) > 1_000_000_000

    def watch(self) -> int | None:
        """A descriptor that becomes readable when the process ends; None where the kernel has none."""
        return None if self._descriptor is None else os.dup(self._descriptor)

    def close(self) -> None:
        """Close the descriptor."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
