"""Follows a running recording: a capture of what is in its spool so far, replaced by a longer one all the time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from warpline.i18n import tr
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.open.live_document import LiveDocument

if TYPE_CHECKING:
    from warpline.recording.live.client import SnapshotProcess
    from warpline.recording.live.pace import SnapshotPace
    from warpline.recording.live.snapshots import LiveSnapshot
    from warpline.storage import Capture
    from warpline_app.open.workspace import Workspace

RETRY_MS = 500
_ATTEMPTS = 5
"""A spool that is read while it is written may fail now and then."""


@dataclass(frozen=True)
class _Arrival:
    capture: Capture
    snapshot: LiveSnapshot
    took_s: float


class Following(QObject):
    """Makes the document of a running recording and lets it grow, at most twice a second, and only while it is seen.

    Reading the spool and writing captures is the work of a process of its own; opening them, of a thread.
    """

    appeared = Signal()
    """The document is there."""
    failed = Signal(str)
    """It does not grow any more; the recording is not affected."""

    def __init__(self, spool: Path, title: str, source: Path, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        self.document: LiveDocument | None = None
        self.is_over = False
        self._spool, self._title, self._source, self._workspace = spool, title, source, workspace
        self._process: SnapshotProcess | None = None
        self._pace: SnapshotPace | None = None
        self._job: Job | None = None
        self._is_seen = self._is_recorded = True
        self._failures = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._ask)

    @property
    def process_id(self) -> int:
        """The process that makes the captures; 0 before it runs."""
        return self._process.pid if self._process is not None else 0

    def begin(self) -> None:
        """Ask for the first capture."""
        self._ask()

    def set_seen(self, on: bool) -> None:
        """Whether somebody sees the document; otherwise it does not grow."""
        self._is_seen = on
        self._ask_soon()

    def set_recorded(self, on: bool) -> None:
        """Whether something is recorded now; during a pause the document does not grow."""
        self._is_recorded = on
        self._ask_soon()

    def _ask_soon(self) -> None:
        if self._pace is not None and not self._timer.isActive():
            self._ask()

    def end(self) -> None:
        """Let the document stay as it is, and end the process."""
        if self.is_over:
            return
        self.is_over = True
        self._timer.stop()
        process = self._process
        if process is not None:
            # It may be at work: the thread waits for it, and the application for the thread.
            Job(lambda _progress, _cancelled: process.end()).launch()

    def keep_last(self, length_ns: int, output: Path) -> Job:
        """A job that writes the last part of the recording to a file; it succeeds with the file."""
        document = self.document
        since = (
            0 if document is None or document.live_edge is None else document.live_edge.head_ns - length_ns
        )

        def work(_progress: Progress, _is_cancelled: IsCancelled) -> Path:
            return self._reach().ask(max(0, since), output).path

        return Job(work, self)

    def _reach(self) -> SnapshotProcess:
        from warpline.recording.live.client import SnapshotProcess

        if self._process is None:
            self._process = SnapshotProcess(self._spool)
        return self._process

    def _ask(self) -> None:
        is_wanted = self.document is None or (self._is_seen and self._is_recorded)
        if self.is_over or not is_wanted or self._job is not None:
            return
        since = self._since_ns()

        def work(_progress: Progress, _is_cancelled: IsCancelled) -> _Arrival:
            from warpline.recording.live.snapshots import open_snapshot

            begun = time.monotonic()
            snapshot = self._reach().ask(since)
            capture = open_snapshot(snapshot)
            self._workspace.prepare()
            return _Arrival(capture, snapshot, time.monotonic() - begun)

        self._job = Job(work, self, discard=lambda arrival: arrival.capture.close())
        self._job.succeeded.connect(self._take)
        self._job.failed.connect(self._retry)
        self._job.launch()

    def _since_ns(self) -> int:
        from warpline.recording.live.pace import SnapshotPace

        if self._pace is None:
            self._pace = SnapshotPace()
        document = self.document
        if document is None or document.live_edge is None:
            return 0
        return self._pace.since_ns(document.live_edge.head_ns, document.state.view[0])

    def _take(self, arrival: _Arrival) -> None:
        self._job, self._failures = None, 0
        snapshot = arrival.snapshot
        if self.is_over:
            arrival.capture.close()
            return
        if self.document is None:
            self.document = LiveDocument(
                arrival.capture,
                snapshot,
                self._title,
                self._workspace,
                source=self._source,
                messages=self._workspace.messages.of(self.parent()),
            )
            self.appeared.emit()
            self._workspace.follow_front()
        else:
            _after_gesture(lambda: self._grow(arrival))
        assert self._pace is not None
        length = snapshot.head_ns - snapshot.kept_ns
        self._pace.took(snapshot.cpu_s, length, is_whole=not snapshot.kept_ns)
        self._timer.start(round(1000 * self._pace.wait_s(snapshot.cpu_s, arrival.took_s)))

    def _grow(self, arrival: _Arrival) -> None:
        if self.document is not None and not self.is_over:
            self.document.grow(arrival.capture, arrival.snapshot)
        else:
            arrival.capture.close()

    def _retry(self, error: Exception) -> None:
        self._job = None
        self._failures += 1
        if self.is_over:
            return
        if self._failures < _ATTEMPTS:
            self._timer.start(RETRY_MS * self._failures)
            return
        self.end()
        self.failed.emit(
            tr("The timeline no longer follows the recording, which goes on: {reason}", reason=error)
        )


def free_name(output: Path) -> Path:
    """A file beside a capture for a part of it: ``run-part-1.h5``, or the next number that is free."""
    number = 1
    while (path := output.with_name(f"{output.stem}-part-{number}{output.suffix}")).exists():
        number += 1
    return path


def _after_gesture(act: Callable[[], Any]) -> None:
    """Act now, or when the mouse button is released: a drag must end on what it began with."""
    from PySide6.QtCore import Qt
    from PySide6.QtGui import QGuiApplication

    if QGuiApplication.mouseButtons() == Qt.MouseButton.NoButton:
        act()
    else:
        QTimer.singleShot(50, lambda: _after_gesture(act))
