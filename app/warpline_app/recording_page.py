"""A tab with a running recording: what the program prints, how long, how many events; pause, stop, cancel."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Any

from PySide6.QtCore import QElapsedTimer, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from warpline.i18n import tr
from warpline_app.background import IsCancelled, Job, Progress
from warpline_app.console_text import ConsoleText
from warpline_app.elided import ElidedLabel
from warpline_app.messages import MessageStack
from warpline_app.panels.console import ConsoleView
from warpline_app.recording_process import RecordingProcess
from warpline_app.recording_request import RecordingRequest

REFRESH_MS = 60
KILL_AFTER_MS = 5_000


class RecordingPage(QWidget):
    """Runs one request. The window goes on working; when the capture is there, ``capture_ready`` tells its path."""

    capture_ready = Signal(object)
    """a Path"""
    closed = Signal()
    """The tab can go: cancelled, or read and closed after a failure."""

    def __init__(self, request: RecordingRequest, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.request = request
        self.title = tr("● {name}", name=Path(request.output_path).stem)
        self.messages = MessageStack()
        self._text = ConsoleText()
        self._status: dict[str, Any] = {}
        self._elapsed = QElapsedTimer()
        self._is_cancelling = False
        self._is_stopping = False
        self._has_ended = False
        self._dirty = False
        self.process = RecordingProcess(self)
        self.process.output.connect(self._take_output)
        self.process.status.connect(self._take_status)
        self.process.ended.connect(self._ended)
        self._build()
        self._timer = QTimer(self)
        self._timer.setInterval(REFRESH_MS)
        self._timer.timeout.connect(self._refresh)

    def _build(self) -> None:
        self.headline = QLabel(tr("Starting…"))
        self.headline.setObjectName("subhead")
        self.command = ElidedLabel(shlex.join(self.request.program))
        self.command.setObjectName("muted")
        self.figures: dict[str, QLabel] = {}
        grid = QGridLayout()
        grid.setHorizontalSpacing(28)
        grid.setVerticalSpacing(1)
        for column, (key, title) in enumerate(
            (("time", tr("Elapsed")), ("events", tr("Events")), ("lost", tr("Lost")), ("pid", tr("Process")))
        ):
            head = QLabel(title)
            head.setObjectName("muted")
            value = QLabel("–")
            value.setMinimumWidth(90)
            self.figures[key] = value
            grid.addWidget(head, 0, column)
            grid.addWidget(value, 1, column)
        grid.setColumnStretch(4, 1)
        self.pause = QPushButton(tr("Pause"))
        self.pause.clicked.connect(self.toggle_pause)
        self.stop_button = QPushButton(tr("Stop"))
        self.stop_button.setObjectName("primary")
        self.stop_button.setToolTip(
            tr("End the program and the recording; the capture is written and opened")
        )
        self.stop_button.clicked.connect(self.stop)
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setToolTip(tr("End the program and throw the recording away"))
        self.cancel_button.clicked.connect(self.cancel)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.pause, self.stop_button, self.cancel_button):
            buttons.addWidget(button)
        top = QHBoxLayout()
        top.setContentsMargins(16, 14, 16, 10)
        texts = QVBoxLayout()
        texts.setSpacing(4)
        texts.addWidget(self.headline)
        texts.addWidget(self.command)
        texts.addSpacing(6)
        texts.addLayout(grid)
        top.addLayout(texts, 1)
        top.addLayout(buttons)
        self.sources = ElidedLabel()
        self.sources.setObjectName("muted")
        self.sources.setContentsMargins(16, 0, 16, 8)
        self.console = ConsoleView()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(self.sources)
        layout.addWidget(self.messages)
        layout.addWidget(self.console, 1)
        self.setFocusProxy(self.console)

    # -- what the window asks -------------------------------------------------------------------------------

    @property
    def is_recording(self) -> bool:
        """Whether the recorder runs."""
        return self.process.is_running

    @property
    def console_text(self) -> str:
        """All the program has printed, as far as it is kept."""
        return self._text.text

    @property
    def state(self) -> str:
        """The recorder's word: recording, paused, stopped, finishing …; empty before it said one."""
        return str(self._status.get("state", ""))

    def start(self) -> None:
        """Begin. A recorder that cannot be started is told in the page."""
        try:
            self.process.start(self.request.record_arguments(), self.request.folder, self.request.additions)
        except OSError as error:
            self._fail(tr("The recorder could not be started: {reason}", reason=error.strerror or error))
            return
        self._elapsed.start()
        self._timer.start()

    # -- buttons --------------------------------------------------------------------------------------------

    def toggle_pause(self) -> None:
        """Pause, or go on."""
        self._command("resume" if self.state == "paused" else "pause")

    def stop(self) -> None:
        """End the program and write what was recorded; pressed again, end it by force."""
        if not self.is_recording:
            return
        if self._is_stopping:
            self._command("stop", terminate=True)
            return
        self._is_stopping = True
        self.headline.setText(tr("Stopping…"))
        self.stop_button.setText(tr("Stop now"))
        self._command("stop", terminate=True)

    def cancel(self) -> None:
        """End the program and throw away what was recorded."""
        if not self.is_recording:
            self.closed.emit()
            return
        self._is_cancelling = True
        self.headline.setText(tr("Cancelling…"))
        for button in (self.pause, self.stop_button, self.cancel_button):
            button.setEnabled(False)
        self._command("stop", terminate=True)
        # A recorder that no longer answers must not keep its tab.
        QTimer.singleShot(KILL_AFTER_MS, self, self.process.kill)

    def _command(self, name: str, **fields: Any) -> None:
        spool = self._spool()

        def send(_progress: Progress, _cancelled: IsCancelled) -> Any:
            from warpline.recording.control import send_command

            return send_command(spool, name, **fields)

        job = Job(send, self)
        job.succeeded.connect(self._take_status)
        job.failed.connect(self._command_failed)
        job.launch()

    def _spool(self) -> Path:
        output = self.request.output_path
        return output.with_name(f"{output.name}.spool")

    def _command_failed(self, error: Exception) -> None:
        # Between the program's end and the capture there is nobody left to command.
        if self.is_recording and self.state not in {"stopped", "finalising", ""}:
            self.messages.show_message(str(error), "warning")
        elif self.is_recording and self._is_stopping:
            self.process.interrupt()

    # -- what the recorder says -----------------------------------------------------------------------------

    def _take_output(self, data: bytes) -> None:
        self._text.feed(data)
        self._dirty = True

    def _take_status(self, status: object) -> None:
        if isinstance(status, dict):
            self._status.update(status)
            self._dirty = True

    def _refresh(self) -> None:
        if self._elapsed.isValid():
            elapsed = max(0, int(self._status.get("elapsed_ns", self._elapsed.nsecsElapsed())))
            self.figures["time"].setText(f"{elapsed / 1e9:.1f} s")
        if not self._dirty:
            return
        self._dirty = False
        self.console.show_new(self._text)
        status = self._status
        if "events" in status:
            self.figures["events"].setText(f"{int(status['events']):,}")
        if "lost" in status:
            self.figures["lost"].setText(f"{int(status['lost']):,}")
        if status.get("target_pid"):
            self.figures["pid"].setText(str(status["target_pid"]))
        self._show_state()
        missing = [
            f"{source.get('name')}: {source.get('reason') or tr('not recorded')}"
            for source in status.get("sources", ())
            if isinstance(source, dict) and not source.get("enabled") and not self._was_not_asked(source)
        ]
        self.sources.setText("   ·   ".join(missing))
        self.sources.setVisible(bool(missing))

    @staticmethod
    def _was_not_asked(source: dict[str, Any]) -> bool:
        return "not asked" in str(source.get("reason", ""))

    def _show_state(self) -> None:
        if self._is_cancelling or self._has_ended:
            return
        state = self.state
        texts = {
            "recording": tr("Recording"),
            "paused": tr("Paused"),
            "stopped": tr("Writing the capture…"),
            "finalising": tr("Writing the capture…"),
        }
        if not self._is_stopping or state in {"stopped", "finalising"}:
            self.headline.setText(texts.get(state, tr("Starting…")))
        self.pause.setText(tr("Resume") if state == "paused" else tr("Pause"))
        is_live = state in {"recording", "paused"}
        self.pause.setEnabled(is_live)
        self.stop_button.setEnabled(is_live or not state)

    # -- the end --------------------------------------------------------------------------------------------

    def _ended(self, code: int) -> None:
        self._has_ended = True
        self._timer.stop()
        self._dirty = True
        self._refresh()
        output = self.request.output_path
        if self._is_cancelling:
            self._throw_away(output)
            self.closed.emit()
            return
        if output.exists() and not self._was_there_before(output):
            self.capture_ready.emit(output)
            return
        self._fail(self._explain(code))

    def _was_there_before(self, output: Path) -> bool:
        began = self.process.started_at
        return output.stat().st_mtime < began - 1

    def _throw_away(self, output: Path) -> None:
        import shutil

        if output.exists() and not self._was_there_before(output):
            with contextlib.suppress(OSError):
                output.unlink()
        for leftover in (self._spool(), output.with_name(f"{output.name}.part")):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    leftover.unlink()

    def _explain(self, code: int) -> str:
        last = next(
            (line for line in reversed(self._text.text.splitlines()) if "warpline" in line and line.strip()),
            "",
        )
        if code == 127:
            return tr("The program was not found: {program}", program=self.request.program[0])
        if code == 126:
            return tr("The program could not be run: {program}", program=self.request.program[0])
        if last:
            return last.removeprefix("warpline: error: ").strip()
        if self._spool().is_dir():
            return tr(
                "The recorder ended with status {code} before the capture was written; "
                "what was recorded can be saved with: warpline recover {spool}",
                code=code,
                spool=self._spool(),
            )
        return tr("The recorder ended with status {code} and wrote no capture.", code=code)

    def _fail(self, text: str) -> None:
        self._has_ended = True
        self.headline.setText(tr("Nothing was recorded"))
        self.messages.show_message(text, "error")
        self.pause.hide()
        self.stop_button.hide()
        self.cancel_button.setEnabled(True)
        self.cancel_button.setText(tr("Close"))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Closing the tab of a running recording cancels nothing by accident: it stops and keeps."""
        if self.is_recording:
            self.stop()
            event.ignore()
        else:
            self.closed.emit()
            super().closeEvent(event)
