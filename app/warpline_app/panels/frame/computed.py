"""Panels that compute their content in the background: one request at a time, the newest wins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from warpline.analysis.framework.report import NotRecorded
from warpline.i18n import tr
from warpline.model.progress import IsCancelled, Progress
from warpline_app.look.plain import PlainLabel
from warpline_app.look.widgets import flat_column, single_shot
from warpline_app.look.wrapping_row import WrappingRow
from warpline_app.open.background import Job
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.scope import not_recorded_text

if TYPE_CHECKING:
    from warpline_app.open.document import Document

_DRAG_END_MS = 180
_PAUSE_MS = 50


class ComputedPanel(Panel):
    """Base of panels that show the result of `compute`.

    `request` describes what to show, as a comparable value. `compute` runs in a thread and must not touch widgets;
    `show_result` runs in the window's thread. Computations do not overlap: if the request changed meanwhile, the
    result is shown and the newest request follows.
    """

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self._job: Job | None = None
        self._running: Any = None
        self._shown: Any = None
        self.missing = PlainLabel()
        """Explains why there is nothing to show."""
        self.missing.setObjectName("muted")
        self.missing.setWordWrap(True)
        self.missing.setMargin(16)
        self.missing.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.missing.hide()
        self._content: QWidget | None = None
        self._drag_timer = single_shot(self, _DRAG_END_MS, self.mark_stale)
        self._pause_timer = single_shot(self, _PAUSE_MS, self.refresh)

    def arrange(
        self, controls: Sequence[QWidget], content: QWidget, stretching: QWidget | None = None
    ) -> None:
        """Lay out a row of controls above the content, which wraps where the panel is narrow; ``stretching`` (default:
        the last control) takes the remaining width.
        """
        row = WrappingRow()
        for widget in controls:
            row.add(widget, is_stretching=widget is (stretching or controls[-1]))
        layout = flat_column(self)
        if controls:
            layout.addLayout(row)
        layout.addWidget(content, 1)
        layout.addWidget(self.missing, 1)
        self._content = content

    def say_missing(self, why: NotRecorded | str) -> None:
        """Replace the content with the reason why there is none."""
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
        """Whether a computation is running or waiting for a drag to end."""
        return self._job is not None or self._drag_timer.isActive() or self._pause_timer.isActive()

    @property
    def is_moving(self) -> bool:
        """Whether a range is being dragged; slow work can wait."""
        return self._drag_timer.isActive()

    def range_moved(self, *_values: object) -> None:
        """Compute now and again when the drag ends."""
        self._drag_timer.start()
        self.mark_stale()

    def request(self) -> Any:
        """Describe what to show; None for nothing."""
        raise AssertionError("a panel says what it requests")

    def compute(self, request: Any, is_cancelled: IsCancelled) -> Any:
        """Compute the answer to a request, in a thread."""
        raise AssertionError("a panel computes its answer")

    def compute_watched(self, request: Any, progress: Progress, is_cancelled: IsCancelled) -> Any:
        """Compute with progress; override instead of `compute`."""
        return self.compute(request, is_cancelled)

    def show_progress(self, fraction: float, text: str) -> None:
        """Show progress of `compute_watched`; overridden by panels that display it."""

    def show_result(self, request: Any, result: Any) -> None:
        """Show an answer."""
        raise AssertionError("a panel shows its answer")

    def show_failure(self, error: Exception) -> None:
        """Show why the computation failed."""
        self.say_missing(tr("Could not compute: {error}", error=error))

    def forget(self) -> None:
        """Compute again even if the request is unchanged (colours changed)."""
        self._shown = None
        self.mark_stale()

    def refresh(self) -> None:
        """Start the newest request unless one is running or the last result of a drag is too recent."""
        if self._job is not None or self._pause_timer.isActive():
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
            # The timeline takes precedence during a drag; a few updates a second are enough for a table.
            self._pause_timer.start()
        else:
            self.refresh()
