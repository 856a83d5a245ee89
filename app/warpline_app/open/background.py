"""Background jobs: one function in one thread, with progress, cancelling, and its result as a signal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import SIGNAL, QCoreApplication, QObject, QThread, Signal

from warpline.model.errors import Cancelled
from warpline.model.progress import IsCancelled, Progress

Work = Callable[[Progress, IsCancelled], Any]

_WAITS = "waitsForJobs"
"""Property of the application: it already waits for jobs when it quits."""
_running: set[Job] = set()
"""Keeps running jobs alive: destroying a QThread while it runs aborts the process."""


class Job(QThread):
    """Runs ``work(progress, is_cancelled)`` once. Signals arrive in the thread that made the job.

    Emits exactly one of ``succeeded`` (with the result), ``failed`` (with the exception) and ``cancelled``. After
    `cancel` it is always ``cancelled``, even when the work finished meanwhile; its result then goes to ``discard``, for
    example to close a file. ``again`` is called when `wait_for_jobs` cancelled the job, not its owner: an owner that
    still exists would otherwise wait for the result forever.
    """

    progressed = Signal(float, str)
    succeeded = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    _ended = Signal(object, object)

    def __init__(
        self,
        work: Work,
        parent: QObject | None = None,
        *,
        discard: Callable[[Any], None] | None = None,
        again: Callable[[], None] | None = None,
    ) -> None:
        # No Qt parent: destroying a QThread while it runs aborts the process.
        super().__init__(None)
        self._has_owner = True
        if parent is not None:
            parent.destroyed.connect(self._orphan)
        self._work = work
        self._discard = discard
        self._again = again
        self._cancel = threading.Event()
        self._ended.connect(self._deliver)

    def launch(self) -> Job:
        """Start the thread and stay alive until it ends; the application waits for it when it quits."""
        _wait_on_quit()
        _running.add(self)
        self.finished.connect(self._release)
        self.start()
        return self

    def cancel(self) -> None:
        """Ask the work to stop; its result is discarded."""
        self._again = None
        self._cancel.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancel.is_set()

    def run(self) -> None:
        """The thread's function, called by Qt."""
        try:
            result = self._work(self._report, self._cancel.is_set)
        except Exception as error:  # the caller handles every failure
            self._ended.emit(None, error)
        else:
            self._ended.emit(result, None)

    def _report(self, fraction: float, text: str) -> None:
        if not self._cancel.is_set():
            self.progressed.emit(fraction, text)

    def _orphan(self) -> None:
        self._has_owner = False
        self.cancel()

    def _deliver(self, result: object, error: Exception | None) -> None:
        if self._cancel.is_set() or isinstance(error, Cancelled):
            if result is not None and self._discard is not None:
                self._discard(result)
            if self._has_owner:
                self.cancelled.emit()
            if self._again is not None:
                self._again()
        elif error is not None:
            self.failed.emit(error)
        else:
            self.succeeded.emit(result)

    def _release(self) -> None:
        _running.discard(self)
        self._again = None
        # Connected slots refer to the owner, which often refers to the job: Python cannot collect that cycle.
        for name in ("progressed(double,QString)", "succeeded(PyObject)", "failed(PyObject)", "cancelled()"):
            if self.receivers(SIGNAL(name)):
                getattr(self, name.partition("(")[0]).disconnect()


def _wait_on_quit() -> None:
    application = QCoreApplication.instance()
    if application is not None and not application.property(_WAITS):
        application.setProperty(_WAITS, True)
        application.aboutToQuit.connect(wait_for_jobs)


def wait_for_jobs(timeout_ms: int = 60_000) -> None:
    """Cancel all running jobs and wait up to ``timeout_ms`` for each. Called when the application quits.

    A large sort cannot be cancelled, and a thread that returns to Python after its end aborts the process.
    """
    for job in list(_running):
        job._cancel.set()
    for job in list(_running):
        job.wait(timeout_ms)
