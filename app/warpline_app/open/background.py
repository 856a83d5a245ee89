"""Work beside the window: one function in one thread, with progress, cancelling, and its result as a signal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import SIGNAL, QCoreApplication, QObject, QThread, Signal

from warpline.model.errors import Cancelled
from warpline.model.progress import IsCancelled, Progress

Work = Callable[[Progress, IsCancelled], Any]

_WAITS = "waitsForJobs"
"""A property of the application: it has been told to wait for jobs when it quits."""
_running: set[Job] = set()
"""Jobs nobody may collect yet: a QThread that is destroyed while it runs takes the process with it."""


class Job(QThread):
    """Runs ``work(progress, is_cancelled)`` once. Signals arrive in the thread that made the job.

    Exactly one of ``succeeded`` (with what the work returned), ``failed`` (with the exception) and ``cancelled``
    is emitted. After `cancel` it is always ``cancelled``, even when the work got to its end meanwhile; a result
    that is already made is handed to ``discard``, so that a file somebody no longer wants is closed.
    """

    progressed = Signal(float, str)
    succeeded = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    _ended = Signal(object, object)

    def __init__(
        self, work: Work, parent: QObject | None = None, *, discard: Callable[[Any], None] | None = None
    ) -> None:
        # Not a child in Qt's sense: a thread that is deleted while it runs takes the process with it.
        super().__init__(None)
        self._has_owner = True
        if parent is not None:
            parent.destroyed.connect(self._orphan)
        self._work = work
        self._discard = discard
        self._cancel = threading.Event()
        self._ended.connect(self._deliver)

    def launch(self) -> Job:
        """Start, and stay alive until the thread has ended; the application waits for it when it quits."""
        _wait_at_the_end()
        _running.add(self)
        self.finished.connect(self._release)
        self.start()
        return self

    def cancel(self) -> None:
        """Ask the work to stop; whatever it still returns is thrown away."""
        self._cancel.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancel.is_set()

    def run(self) -> None:
        """The thread. Called by Qt."""
        try:
            result = self._work(self._report, self._cancel.is_set)
        except Exception as error:  # every failure belongs to whoever asked for the work
            self._ended.emit(None, error)
        else:
            self._ended.emit(result, None)

    def _report(self, fraction: float, text: str) -> None:
        if not self._cancel.is_set():
            self.progressed.emit(fraction, text)

    def _orphan(self) -> None:
        self._has_owner = False
        self._cancel.set()

    def _deliver(self, result: object, error: Exception | None) -> None:
        if self._cancel.is_set() or isinstance(error, Cancelled):
            if result is not None and self._discard is not None:
                self._discard(result)
            if self._has_owner:
                self.cancelled.emit()
        elif error is not None:
            self.failed.emit(error)
        else:
            self.succeeded.emit(result)

    def _release(self) -> None:
        _running.discard(self)
        # What is connected to it holds whoever asked, who often holds the job: nobody could collect that circle.
        for name in ("progressed(double,QString)", "succeeded(PyObject)", "failed(PyObject)", "cancelled()"):
            if self.receivers(SIGNAL(name)):
                getattr(self, name.partition("(")[0]).disconnect()


def _wait_at_the_end() -> None:
    application = QCoreApplication.instance()
    if application is not None and not application.property(_WAITS):
        application.setProperty(_WAITS, True)
        application.aboutToQuit.connect(wait_for_jobs)


def wait_for_jobs(timeout_ms: int = 60_000) -> None:
    """Cancel what still runs and wait for it, each so long: called when the application quits, whose windows are gone.

    A sort of a hundred million rows cannot be cancelled, and a thread that comes back to Python behind its end aborts
    the process.
    """
    for job in list(_running):
        job.cancel()
    for job in list(_running):
        job.wait(timeout_ms)
