"""The client of the process that makes snapshots: sends requests, waits for answers, ends the process."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.live.process import snapshot_command

if TYPE_CHECKING:
    from warpline.recording.live.snapshots import LiveSnapshot

_PATIENCE_S = 10.0
_MOST_ENDS = 4
"""A process that ended by itself this often within `_ENDS_WITHIN_S` is not started again."""
_ENDS_WITHIN_S = 60.0


class SnapshotProcess:
    """A process for one recording. It is started with the first request, and again if somebody kills it.

    `ask` and `tick` block, so call them in a thread.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._ends: deque[float] = deque(maxlen=_MOST_ENDS)

    @property
    def pid(self) -> int:
        """The process id; 0 before the first request."""
        return self._process.pid if self._process is not None else 0

    def ask(self, since_ns: int = 0, output: Path | None = None) -> LiveSnapshot:
        """A new snapshot, without what ended before ``since_ns`` (ns since the recording's start;
        negative: before its present end).

        It goes to ``output`` if given, else into the process's folder, where it stays until the next snapshot but one.
        Raises RecordingError when there is none.
        """
        return self._answer({"since_ns": since_ns, "output": None if output is None else str(output)})

    def tick(self, *, anew: bool) -> LiveSnapshot:
        """A capture of what came since the last tick (`warpline.recording.live.ticks`); the caller removes its file.

        Raises RecordingError as `ask`, also where the recording keeps a ring.
        """
        return self._answer({"tick": True, "anew": anew})

    def _answer(self, request: dict[str, Any]) -> LiveSnapshot:
        # Imported late: the window makes this object without ever translating a recording.
        from warpline.recording.live.snapshots import LiveSnapshot

        with self._lock:
            while True:
                process = self._begun()
                assert process.stdin is not None
                assert process.stdout is not None
                try:
                    process.stdin.write(json.dumps(request).encode() + b"\n")
                    process.stdin.flush()
                    answer = json.loads(process.stdout.readline() or b"{}")
                    if "failed" in answer:
                        break
                    return LiveSnapshot.of_values(answer)
                except (OSError, ValueError, KeyError, TypeError):
                    self._lost(process)
        raise RecordingError(str(answer["failed"]))

    def _lost(self, process: subprocess.Popen[bytes]) -> None:
        """Drop a process that ended by itself. Raises RecordingError when it must not be started again."""
        if not self._over.is_set():
            status = _reaped(process)
            now_s = time.monotonic()
            self._ends.append(now_s)
            self._process = None
            if len(self._ends) < _MOST_ENDS or now_s - self._ends[0] > _ENDS_WITHIN_S:
                return
            raise RecordingError(
                tr(
                    "the process that follows the recording ended {count} times within a minute, the last time by "
                    "{how}",
                    count=len(self._ends),
                    how=_name_of_end(status),
                )
            )
        raise RecordingError(tr("the process that follows the recording has ended"))

    def ask_last(self, length_ns: int) -> LiveSnapshot:
        """A new snapshot of the last part of the recording. Raises RecordingError as `ask`."""
        return self.ask(-length_ns)

    def end(self) -> None:
        """Let the process end: it stops working and removes its snapshots. A pending request gets an error."""
        self._over.set()
        process = self._process
        if process is None:
            return
        # Not through the file object: a thread may be blocked in a write to it.
        if process.stdin is not None:
            try:
                process.stdin.close()
            except OSError:
                pass
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _begun(self) -> subprocess.Popen[bytes]:
        if self._over.is_set():
            raise RecordingError(tr("the process that follows the recording has ended"))
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    snapshot_command(self._directory), stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
            except OSError as error:
                raise RecordingError(str(error.strerror or error)) from error
            if self._over.is_set():  # `end` was called meanwhile and saw no process
                self.end()
                raise RecordingError(tr("the process that follows the recording has ended"))
        return self._process


def _reaped(process: subprocess.Popen[bytes]) -> int:
    """The exit status of a process that does not answer any more; its pipes are closed."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        return process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _name_of_end(status: int) -> str:
    if status >= 0:
        return tr("exit status {status}", status=status)
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = str(-status)
    return tr("signal {name}", name=name)
