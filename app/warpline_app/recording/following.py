"""Follows a running recording: a capture of what is in its spool so far, replaced by a longer one all the time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication

from warpline.i18n import tr
from warpline.model.progress import IsCancelled, Progress
from warpline.recording.live.client import SnapshotProcess
from warpline_app.open.background import Job
from warpline_app.open.live_document import LiveDocument

if TYPE_CHECKING:
    from warpline.recording.live.captures import LiveCaptures
    from warpline.recording.live.snapshots import LiveSnapshot
    from warpline.storage import Capture
    from warpline_app.open.workspace import Workspace

RETRY_MS = 500
_GESTURE_MS = 50
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
    """It stopped growing; the recording is not affected."""

    def __init__(self, spool: Path, title: str, source: Path, workspace: Workspace, parent: QObject) -> None:
        super().__init__(parent)
        self.document: LiveDocument | None = None
        self.is_over = False
        self._title, self._source, self._workspace = title, source, workspace
        # The process starts with the first request, in a thread; `end` needs an object before that, too.
        self._process = SnapshotProcess(spool)
        self._captures: LiveCaptures | None = None
        self._job: Job | None = None
        self._is_seen = self._is_recorded = True
        self._failures = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._ask)
        self._pending: _Arrival | None = None
        """What arrived last, until the mouse button is released"""
        self._gesture = QTimer(self)
        self._gesture.setSingleShot(True)
        self._gesture.setInterval(_GESTURE_MS)
        self._gesture.timeout.connect(self._grow)

    @property
    def process_id(self) -> int:
        """The process that makes the captures; 0 before it runs."""
        return self._process.pid

    def begin(self) -> None:
        """Ask for the first capture."""
        self._ask()

    def set_seen(self, on: bool) -> None:
        """Whether somebody sees the document; otherwise it does not grow."""
        if on != self._is_seen:
            self._is_seen = on
            self._ask_soon()

    def set_recorded(self, on: bool) -> None:
        """Whether something is recorded now; during a pause the document does not grow."""
        self._is_recorded = on
        self._ask_soon()

    def _ask_soon(self) -> None:
        if self._captures is not None and not self._timer.isActive():
            self._ask()

    def end(self) -> None:
        """Let the document stay as it is, and end the process."""
        if self.is_over:
            return
        self.is_over = True
        self._timer.stop()
        self._gesture.stop()
        if self._pending is not None:
            self._pending.capture.close()
            self._pending = None
        process = self._process
        # The process may be busy: the thread waits for it, and the application waits for the thread.
        Job(lambda _progress, _cancelled: process.end()).launch()

    def keep_last(self, length_ns: int, output: Path) -> Job:
        """A job that writes the last part of the recording to a file; it succeeds with the file."""
        document, process = self.document, self._process
        since = (
            0 if document is None or document.live_edge is None else document.live_edge.head_ns - length_ns
        )

        def work(_progress: Progress, _is_cancelled: IsCancelled) -> Path:
            return process.ask(max(0, since), output).path

        return Job(work, self)

    def _ask(self) -> None:
        is_wanted = self.document is None or (self._is_seen and self._is_recorded)
        if self.is_over or not is_wanted or self._job is not None:
            return
        document = self.document
        head, start, follows = 0, 0, True
        if document is not None and document.live_edge is not None:
            head, start = document.live_edge.head_ns, document.state.view[0]
            follows = document.follows

        def work(_progress: Progress, _is_cancelled: IsCancelled) -> _Arrival:
            from warpline.recording.live.captures import LiveCaptures

            begun = time.monotonic()
            if self._captures is None:
                self._captures = LiveCaptures(self._process)
            capture, snapshot = self._captures.next(head, start, follows=follows)
            _warm(capture)
            return _Arrival(capture, snapshot, time.monotonic() - begun)

        self._job = Job(work, self, discard=lambda arrival: arrival.capture.close())
        self._job.succeeded.connect(self._take)
        self._job.failed.connect(self._retry)
        self._job.launch()

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
            if self._pending is not None:
                self._pending.capture.close()
            self._pending = arrival
            self._grow()
        assert self._captures is not None
        self._timer.start(round(1000 * self._captures.wait_s(snapshot, arrival.took_s)))

    def _grow(self) -> None:
        """Grow now, or when the mouse button is released: a drag must end on what it began with."""
        if QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton:
            self._gesture.start()
            return
        arrival, self._pending = self._pending, None
        if arrival is not None and self.document is not None:
            self.document.grow(arrival.capture, arrival.snapshot)

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


def _warm(capture: Capture) -> None:
    """Read what the first frame needs, which takes a while and is kept."""
    _ = capture.activity, capture.counters
    states = capture.kinds.get("thread_state")
    if states is not None:
        for name in states.attributes:
            states.column(name)


def free_name(output: Path) -> Path:
    """A file beside a capture for a part of it: ``run-part-1.h5``, or the next number that is free."""
    number = 1
    while (path := output.with_name(f"{output.stem}-part-{number}{output.suffix}")).exists():
        number += 1
    return path
