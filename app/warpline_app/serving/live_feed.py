"""Lets the document of a running recording grow while pages look at it, until its capture takes its place."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QThread, QTimer, Signal

from warpline.i18n import tr
from warpline.library.opening import Opened
from warpline.model.errors import RecordingError
from warpline.model.progress import IsCancelled, Progress
from warpline.recording.control import is_recording
from warpline.recording.live.captures import LiveCaptures
from warpline.recording.live.client import SnapshotProcess
from warpline.recording.session import load_session
from warpline.recording.spool.directory import is_abandoned, killed_text
from warpline_app.open.background import Job
from warpline_app.open.live_document import LiveDocument
from warpline_app.open.opening import open_job

if TYPE_CHECKING:
    from warpline.recording.live.snapshots import LiveSnapshot
    from warpline.storage import Capture

_LOOK_S = 0.5
_FIRST_S = 60.0
_ATTEMPTS = 5
"""A spool that is read while it is written may fail now and then."""


@dataclass(frozen=True)
class _Arrival:
    capture: Capture
    snapshot: LiveSnapshot
    took_s: float


class LiveFeed(QObject):
    """Makes the document of a recording, and lets it grow at most twice a second and only while somebody looks.

    Raises RecordingError and OSError when nothing is recorded there, or nothing arrives within a minute.
    """

    changed = Signal()
    """The document has another capture, which its views show already."""
    ended = Signal()
    """The finished capture is shown."""
    failed = Signal(str)
    """The document does not grow any more; the recording is not affected."""

    def __init__(self, spool: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._spool = spool
        self._output = load_session(spool).output
        self._process = SnapshotProcess(spool)
        self._captures = LiveCaptures(self._process)
        self._job: Job | None = None
        self._failures = 0
        self._is_watched = False
        self.is_over = False
        """Whether the document grows no more."""
        self.follows = True
        """Whether the view that was asked for last moves with the recording."""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._look)
        try:
            capture, snapshot = self._first()
        except BaseException:
            self._process.end()
            raise
        self.document = LiveDocument(capture, snapshot, self._output.name, source=self._output)

    def _first(self) -> tuple[Capture, LiveSnapshot]:
        deadline_s = time.monotonic() + _FIRST_S
        while True:
            try:
                return self._captures.next()
            except RecordingError:
                if not is_recording(self._spool) or time.monotonic() > deadline_s:
                    raise
            QThread.msleep(round(1000 * _LOOK_S))

    @property
    def is_reading(self) -> bool:
        """Whether a capture is being made, in a thread."""
        return self._job is not None

    def set_watched(self, on: bool) -> None:
        """Whether a page looks; otherwise nothing is read."""
        self._is_watched = on
        if on and self._job is None:
            self._look()

    def _look(self) -> None:
        if self.is_over or not self._is_watched or self._job is not None:
            return
        if not is_recording(self._spool):
            self._finish()
            return
        document = self.document
        edge = document.live_edge
        head, start = (0 if edge is None else edge.head_ns), document.state.view[0]

        def work(_progress: Progress, _is_cancelled: IsCancelled) -> _Arrival:
            begun_s = time.monotonic()
            capture, snapshot = self._captures.next(head, start, follows=self.follows)
            _ = capture.activity, capture.counters  # what the first frame needs, read here
            return _Arrival(capture, snapshot, time.monotonic() - begun_s)

        job = self._job = Job(work, self, discard=lambda arrival: arrival.capture.close())
        job.succeeded.connect(self._take)
        job.failed.connect(self._retry)
        job.launch()

    def _take(self, arrival: _Arrival) -> None:
        self._job, self._failures = None, 0
        if self.is_over:
            arrival.capture.close()
            return
        self.document.grow(arrival.capture, arrival.snapshot)
        self.changed.emit()
        self._look_after(self._captures.wait_s(arrival.snapshot, arrival.took_s))

    def _look_after(self, seconds: float) -> None:
        if not self.is_over:
            self._timer.start(round(1000 * seconds))

    def _retry(self, error: Exception) -> None:
        self._job = None
        self._failures += 1
        if self._failures < _ATTEMPTS or not is_recording(self._spool):
            self._look_after(_LOOK_S * self._failures)
            return
        self._give_up(str(error))

    # the end

    def _finish(self) -> None:
        """Nothing is recorded any more: wait for the capture, and show it."""
        if is_abandoned(self._spool):
            self._give_up(killed_text(self._spool, self._output))
            return
        if self._spool.exists():  # the capture is being written
            self._look_after(_LOOK_S)
            return
        if not self._output.is_file():
            self._give_up(tr("{path}: the recording has ended without a capture", path=self._output))
            return
        self._process.end()
        job = self._job = open_job(self._output, self)
        job.succeeded.connect(self._show)
        job.failed.connect(lambda error: self._give_up(" ".join(str(error).split())))
        job.launch()

    def _show(self, opened: Opened) -> None:
        self._job = None
        self.is_over = True
        self.document.finish(opened.capture, self._output.name, self._output)
        self.document.tell_finished()
        self.changed.emit()
        self.ended.emit()

    def _give_up(self, reason: str) -> None:
        self._job = None
        self.stop()
        self.failed.emit(tr("The timeline no longer follows the recording: {reason}", reason=reason))

    def stop(self) -> None:
        """Let the document stay as it is, and end the process that reads the spool."""
        self.is_over = True
        self._timer.stop()
        if self._job is not None:
            self._job.cancel()
        self._process.end()
