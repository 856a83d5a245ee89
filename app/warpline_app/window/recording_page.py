"""The tab of a running recording: program output, elapsed time, events; pause, stop, cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr, tr_n, translated
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import PlainLabel
from warpline_app.look.widgets import flat_column
from warpline_app.open.document import Document
from warpline_app.open.live_document import LiveDocument
from warpline_app.panels.console.panel import ConsoleView
from warpline_app.recording.recording import Recording
from warpline_app.verbs.live import KEPT_NS
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.close_question import EndQuestion
from warpline_app.window.input_row import InputRow
from warpline_app.window.live_buttons import LiveButtons
from warpline_app.window.message_bars import MessageBars

REFRESH_MS = 60
REFRESH_LOUD_MS = 250
_LIVE = frozenset({"started", "recording", "paused"})


class RecordingPage(QWidget):
    """Shows a recording and passes clicks on to it."""

    def __init__(
        self,
        recording: Recording,
        make_page: Callable[[Document], CapturePage] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """``make_page`` makes the timeline of a document; without it, only the output is shown."""
        super().__init__(parent)
        self._make_page = make_page
        self.capture_page: CapturePage | None = None
        """The timeline, once there is one"""
        self.live_buttons: LiveButtons | None = None
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.recording = recording
        self.message_bars = MessageBars(recording.messages)
        self._dirty = True
        self._build()
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._refresh)
        self._timer.start()
        recording.changed.connect(self._changed)
        recording.end_wanted.connect(self.ask_to_end)

    def _build(self) -> None:
        self.headline = PlainLabel(tr("Starting…"))
        self.headline.setObjectName("subhead")
        self.command = ElidedLabel(self.recording.request.command_text)
        self.command.setObjectName("muted")
        self.figures: dict[str, QLabel] = {}
        self._figures = QWidget()
        grid = QGridLayout(self._figures)
        grid.setContentsMargins(0, 6, 0, 0)
        grid.setHorizontalSpacing(28)
        grid.setVerticalSpacing(1)
        for column, (key, title) in enumerate(
            (("time", tr("Elapsed")), ("events", tr("Events")), ("lost", tr("Lost")), ("pid", tr("Process")))
        ):
            head = PlainLabel(title)
            head.setObjectName("muted")
            value = PlainLabel("–")
            value.setMinimumWidth(90)
            self.figures[key] = value
            grid.addWidget(head, 0, column)
            grid.addWidget(value, 1, column)
        grid.setColumnStretch(4, 1)
        self.pause = QPushButton(tr("Pause"))
        self.pause.clicked.connect(self.recording.toggle_pause)
        self.stop_button = QPushButton(tr("Stop"))
        self.stop_button.setObjectName("primary")
        self.stop_button.setToolTip(
            tr("End the program and open the capture")
            if self.recording.request.ends_program
            else tr("End the recording and open the capture; the program runs on")
        )
        self.stop_button.clicked.connect(self.recording.stop)
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setToolTip(
            tr("End the program and discard the recording")
            if self.recording.request.ends_program
            else tr("Discard the recording; the program runs on")
        )
        self.cancel_button.clicked.connect(self._cancel)
        self.cancel_button.setVisible(self.recording.may_cancel)
        buttons = self._buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.pause, self.stop_button, self.cancel_button):
            buttons.addWidget(button)
        top = QHBoxLayout()
        top.setContentsMargins(16, 14, 16, 10)
        texts = QVBoxLayout()
        texts.setSpacing(4)
        texts.addWidget(self.headline)
        texts.addWidget(self.command)
        texts.addWidget(self._figures)
        top.addLayout(texts, 1)
        top.addLayout(buttons)
        self.sources = ElidedLabel()
        self.sources.setObjectName("muted")
        self.sources.setContentsMargins(16, 0, 16, 8)
        self.console = ConsoleView()
        self.input = InputRow()
        self.input.line_typed.connect(self.recording.type_line)
        self.input.ended.connect(self.recording.end_input)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(self.sources)
        layout.addWidget(self.message_bars)
        output = self._output = QWidget()
        below = flat_column(output)
        below.addWidget(self.console, 1)
        below.addWidget(self.input)
        self._stack = QStackedWidget()
        self._stack.addWidget(output)
        layout.addWidget(self._stack, 1)
        self._top = top
        self.setFocusProxy(self._output_focus)

    # -- the timeline while the program runs ----------------------------------------------------------------

    def _show_timeline(self) -> None:
        """Show the timeline that has begun, and its buttons."""
        document = self.recording.document
        if self.capture_page is not None or self._make_page is None or not isinstance(document, LiveDocument):
            return
        self.capture_page = self._make_page(document)
        self._stack.addWidget(self.capture_page)
        if self.recording.following is not None:
            self.recording.following.set_seen(self.isVisible())
        self.live_buttons = LiveButtons(document)
        self.live_buttons.output_toggled.connect(self._show_output)
        self.live_buttons.keep_wanted.connect(lambda: self.recording.keep_last(KEPT_NS))
        self._buttons.insertWidget(0, self.live_buttons)
        self._top.setContentsMargins(16, 6, 12, 6)
        if self.input.line.text():  # the user is typing
            self.live_buttons.output.setChecked(True)
            return
        had_focus = self._output.isAncestorOf(self.focusWidget() or self)
        self._show_output(False)
        if had_focus:
            self.capture_page.setFocus()

    def _show_output(self, on: bool) -> None:
        page = None if on else self.capture_page
        self._stack.setCurrentWidget(page or self._output)
        self._figures.setVisible(page is None)
        self.command.setVisible(page is None)
        self.setFocusProxy(page or self._output_focus)

    @property
    def _output_focus(self) -> QWidget:
        return self.input.line if self.recording.request.ends_program else self.console

    def _lose_timeline(self) -> None:
        """The capture has its own tab now, where the timeline went."""
        if self.live_buttons is not None and self.recording.document is None:
            self.capture_page = None
            self.live_buttons.hide()
            self._show_output(True)

    def showEvent(self, event: QShowEvent) -> None:
        """The timeline grows while it is seen."""
        super().showEvent(event)
        if self.recording.following is not None:
            self.recording.following.set_seen(True)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody sees the timeline."""
        super().hideEvent(event)
        if self.recording.following is not None:
            self.recording.following.set_seen(False)

    def _cancel(self) -> None:
        if self.recording.is_running:
            self.ask_to_end()
        else:
            self.recording.cancel()

    def ask_to_end(self) -> EndQuestion:
        """Ask what to do with the recording and the program."""
        question = EndQuestion(self.recording, self)
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question.open()
        return question

    # -- updates from the recording -------------------------------------------------------------------------

    def _changed(self) -> None:
        """Update figures and output a few times a second; user actions and the end at once."""
        self._dirty = True
        recording = self.recording
        self._show_timeline()
        self._lose_timeline()
        if recording.has_ended:
            self._timer.stop()
            self._refresh()
        elif recording.is_cancelling or recording.is_stopping:
            self._show_state()

    def _refresh(self) -> None:
        status = self.recording.status
        if self.recording.elapsed.isValid():
            elapsed = max(0, int(status.get("elapsed_ns", self.recording.elapsed.nsecsElapsed())))
            self.figures["time"].setText(f"{elapsed / 1e9:.1f} s")
        if not self._dirty:
            return
        self._dirty = False
        keeps_up = self.console.show_new(self.recording.text)
        self._timer.setInterval(REFRESH_MS if keeps_up else REFRESH_LOUD_MS)
        if "events" in status:
            self.figures["events"].setText(f"{int(status['events']):,}")
        if "lost" in status:
            self.figures["lost"].setText(f"{int(status['lost']):,}")
        pid = status.get("target_pid") or status.get("far_pid")
        if pid:
            self.figures["pid"].setText(str(pid))
        self._show_state()
        missing = [
            f"{source.get('name')}: {translated(str(source.get('reason') or '')) or tr('not recorded')}"
            for source in status.get("sources", ())
            if isinstance(source, dict) and not source.get("enabled") and not _was_not_asked(source)
        ]
        self.sources.setText("   ·   ".join(missing))
        self.sources.setVisible(bool(missing))

    def _show_state(self) -> None:
        recording = self.recording
        has_input = recording.request.ends_program and recording.is_running
        self.input.setVisible(has_input and not recording.is_cancelling)
        if recording.is_cancelling:
            self.headline.setText(tr("Cancelling…"))
            for button in (self.pause, self.stop_button, self.cancel_button):
                button.setEnabled(False)
        elif recording.has_failed:
            self._show_failure()
        elif recording.has_ended:
            return
        elif recording.is_handed_over:
            self.headline.setText(tr("Capture saved; the program is still running"))
            self.stop_button.setText(tr("Kill program") if recording.is_stopping else tr("End program"))
            self.pause.hide()
            self.cancel_button.hide()
            self.stop_button.setEnabled(True)
        else:
            self._show_progress(recording.state)

    def _show_failure(self) -> None:
        """Allow closing the tab; the message bar says why the recording failed."""
        self.headline.setText(tr("Recording failed"))
        self.pause.hide()
        self.stop_button.hide()
        self.cancel_button.setEnabled(True)
        self.cancel_button.setText(tr("Close"))

    def _show_progress(self, state: str) -> None:
        if self.recording.is_stopping:
            self.stop_button.setText(tr("Stop now"))
        if state in {"stopped", "finalising", "done"}:
            share = float(self.recording.status.get("fraction", 0.0))
            percent = f"  {100 * share:.0f} %" if state == "finalising" and share else ""
            self.headline.setText(tr("Writing the capture…") + percent)
        elif self.recording.is_stopping:
            self.headline.setText(tr("Stopping…"))
        else:
            self.headline.setText(self._progress_text(state))
        self.pause.setText(tr("Resume") if state == "paused" else tr("Pause"))
        self.pause.setEnabled(state in _LIVE)
        self.stop_button.setEnabled(state in _LIVE)
        if self.console.hasFocus() and self.stop_button.isEnabled() and not self.input.isVisible():
            self.stop_button.setFocus()

    def _progress_text(self, state: str) -> str:
        text = {"recording": tr("Recording"), "paused": tr("Paused")}.get(state, tr("Starting…"))
        if self._figures.isVisible() or not self.recording.status:
            return text
        count = int(self.recording.status.get("events", 0))
        return (
            f"{text} · {self.figures['time'].text()} · {tr_n('{count:,} event', '{count:,} events', count)}"
        )


def _was_not_asked(source: dict[str, Any]) -> bool:
    return "not asked" in str(source.get("reason", ""))
