"""Panels whose content is computed beside the window: one request at a time, the newest wins, the old picture stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from warpline.analysis.framework.report import NotRecorded
from warpline.i18n import tr
from warpline.model.progress import IsCancelled, Progress
from warpline_app.open.background import Job
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.scope import not_recorded_text

if TYPE_CHECKING:
    from warpline_app.open.document import Document

_HAND_STOPS_MS = 180
_PAUSE_MS = 50


class ComputedPanel(Panel):
    """Base of panels that show the result of `compute`.

    `request` describes what shall be shown (a value that can be compared); `compute` runs in a thread and must not
    touch widgets; `show_result` runs in the window's thread. While a computation runs no other is begun: when it ends
    and the request has changed meanwhile, its result is shown and the newest request follows.
    """

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self._job: Job | None = None
        self._running: Any = None
        self._shown: Any = None
        self.missing = QLabel()
        """Says why there is nothing to show."""
        self.missing.setObjectName("muted")
        self.missing.setWordWrap(True)
        self.missing.setMargin(16)
        self.missing.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.missing.hide()
        self._content: QWidget | None = None
        self._hand = QTimer(self)
        self._hand.setSingleShot(True)
        self._hand.setInterval(_HAND_STOPS_MS)
        self._hand.timeout.connect(self.mark_stale)
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(_PAUSE_MS)
        self._rest.timeout.connect(self.refresh)

    def arrange(
        self, controls: Sequence[QWidget], content: QWidget, stretching: QWidget | None = None
    ) -> None:
        """A row of controls above the content; ``stretching`` (the last control) takes the room that is left."""
        row = QHBoxLayout()
        row.setContentsMargins(10, 5, 10, 5)
        row.setSpacing(8)
        for widget in controls:
            row.addWidget(widget, 1 if widget is (stretching or controls[-1]) else 0)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        if controls:
            layout.addLayout(row)
        layout.addWidget(content, 1)
        layout.addWidget(self.missing, 1)
        self._content = content

    def say_missing(self, why: NotRecorded | str) -> None:
        """Show why there is nothing, in place of the content."""
        self.missing.setText(why if isinstance(why, str) else not_recorded_text(why))
        self._show_content(False)
        self.set_scope("")

    def show_content(self) -> None:
        """Show the content again."""
        self._show_content(True)

    def _show_content(self, on: bool) -> None:
        if self._content is not None:
            self._content.setVisible(on)
            self.missing.setVisible(not on)

    @property
    def is_busy(self) -> bool:
        """Whether something is computed, or waits for the hand to stop."""
        return self._job is not None or self._hand.isActive() or self._rest.isActive()

    @property
    def is_moving(self) -> bool:
        """Whether the selection changed a moment ago: what takes long can wait."""
        return self._hand.isActive()

    def range_moved(self, *_values: object) -> None:
        """The range selection changed, perhaps while it is dragged: compute now, and again when the hand stops."""
        self._hand.start()
        self.mark_stale()

    def request(self) -> Any:
        """What shall be shown; None for nothing."""
        raise AssertionError("a panel says what it requests")

    def compute(self, request: Any, is_cancelled: IsCancelled) -> Any:
        """The answer to a request. Runs in a thread."""
        raise AssertionError("a panel computes its answer")

    def compute_watched(self, request: Any, progress: Progress, is_cancelled: IsCancelled) -> Any:
        """The answer of panels that tell how far they are: what they override in place of `compute`."""
        return self.compute(request, is_cancelled)

    def show_progress(self, fraction: float, text: str) -> None:
        """How far `compute_watched` is; overridden by panels that show it."""

    def show_result(self, request: Any, result: Any) -> None:
        """Show an answer."""
        raise AssertionError("a panel shows its answer")

    def show_failure(self, error: Exception) -> None:
        """Say why computing failed."""
        self.say_missing(tr("This could not be computed: {error}", error=error))

    def forget(self) -> None:
        """Compute again even when the request is the same (colours changed)."""
        self._shown = None
        self.mark_stale()

    def refresh(self) -> None:
        """Begin the newest request unless one is under way, or the last picture of a drag is too new."""
        if self._job is not None or self._rest.isActive():
            return
        request = self.request()
        if request is None or request == self._shown:
            return
        self._running = request
        job = Job(lambda progress, cancelled: self.compute_watched(request, progress, cancelled), self)
        self._job = job
        job.progressed.connect(self.show_progress)
        job.succeeded.connect(self._succeeded)
        job.failed.connect(self._failed)
        job.cancelled.connect(self._ended)
        job.launch()

    def _succeeded(self, result: Any) -> None:
        self._shown = self._running
        self.show_result(self._running, result)
        self._ended()

    def _failed(self, error: Exception) -> None:
        self._shown = self._running
        self.show_failure(error)
        self._ended()

    def _ended(self) -> None:
        self._job = None
        if not self.isVisible():
            self.mark_stale()
        elif self.is_moving:
            # The timeline follows the hand first: a table that changes a few times a second is fast enough to read.
            self._rest.start()
        else:
            self.refresh()
