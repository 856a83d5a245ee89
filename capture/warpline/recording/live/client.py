"""The other end of the process that makes snapshots: asks it, waits for it, ends it."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warpline.i18n import tr
from warpline.model.errors import RecordingError
from warpline.recording.live.process import snapshot_command

if TYPE_CHECKING:
    from warpline.recording.live.snapshots import LiveSnapshot

_PATIENCE_S = 10.0


class SnapshotProcess:
    """One process for one recording. It is started with the first question; `ask` blocks, so call it in a thread."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()

    @property
    def pid(self) -> int:
        """The process id; 0 before the first question."""
        return self._process.pid if self._process is not None else 0

    def ask(self, since_ns: int = 0, output: Path | None = None) -> LiveSnapshot:
        """A new snapshot, without what ended before ``since_ns`` (ns since the recording's start;
        negative: before its present end).

        It goes to ``output`` where one is named, else into the process's folder, until the next but one is asked for.
        Raises RecordingError when there is none.
        """
        return self._answer({"since_ns": since_ns, "output": None if output is None else str(output)})

    def tick(self, *, anew: bool) -> LiveSnapshot:
        """A capture of what came since the last tick (`warpline.recording.live.ticks`); the caller removes its file.

        Raises RecordingError as `ask`, also where the recording keeps a ring.
        """
        return self._answer({"tick": True, "anew": anew})

    def _answer(self, request: dict[str, Any]) -> LiveSnapshot:
        # Translates recordings: the window, which makes this object, does not.
        from warpline.recording.live.snapshots import LiveSnapshot

        with self._lock:
            process = self._begun()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline() or b"{}")
                if "failed" not in answer:
                    return LiveSnapshot.of_values(answer)
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise RecordingError(tr("the process that follows the recording has ended")) from error
        raise RecordingError(str(answer["failed"]))

    def ask_last(self, length_ns: int) -> LiveSnapshot:
        """A new snapshot of the last part of the recording. Raises RecordingError as `ask`."""
        return self.ask(-length_ns)

    def end(self) -> None:
        """Let the process end: it stops working and removes its snapshots. A question that waits gets an error."""
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
            if self._over.is_set():  # `end` came meanwhile and saw no process
                self.end()
                raise RecordingError(tr("the process that follows the recording has ended"))
        return self._process
