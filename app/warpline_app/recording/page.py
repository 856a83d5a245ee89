"""A tab with a running recording: what the program prints, how long, how many events; pause, stop, cancel."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
from pathlib import Path
from typing import Any

from PySide6.QtCore import QElapsedTimer, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from warpline.i18n import tr
from warpline_app.look.elided import ElidedLabel
from warpline_app.panels.console.panel import ConsoleView
from warpline_app.recording.process import RecordingProcess
from warpline_app.recording.request import RecordingRequest
from warpline_app.session.background import IsCancelled, Job, Progress
from warpline_app.session.console_text import ConsoleText
from warpline_app.window.message_bars import MessageStack

REFRESH_MS = 60
REFRESH_LOUD_MS = 250
KILL_AFTER_MS = 8_000
RUNS_ON_AFTER_MS = 400
_LIVE = frozenset({"started", "recording", "paused"})


class RecordingPage(QWidget):
    """Runs one request. The window goes on working; when the capture is there, ``capture_ready`` tells its path."""

    capture_ready = Signal(object)
    """a Path: the capture is there and shall take the place of this tab"""
    capture_written = Signal(object)
    """a Path: the capture is there, but the program runs on, and this tab with it"""
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
        self._written: Path | None = None
        self._handed_over = False
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
        """The recorder's word: started, recording, paused, finalising, done, failed; empty before it said one."""
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
        """End the program and write what was recorded; pressed again, end the program by force."""
        if not self.is_recording:
            return
        if self._written is not None:
            self._end_program()
            return
        is_second = self._is_stopping
        self._is_stopping = True
        self.headline.setText(tr("Stopping…"))
        self.stop_button.setText(tr("Stop now"))
        if is_second:
            self._kill_program()
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
        self._command("stop", terminate=True, discard=True)
        # A recorder that no longer answers must not keep its tab.
        QTimer.singleShot(KILL_AFTER_MS, self, self._kill_everything)

    def _target_pid(self) -> int:
        pid = self._status.get("target_pid")
        return pid if isinstance(pid, int) and pid > 1 else 0

    def _end_program(self) -> None:
        """The capture is written and the program runs on: a polite word first, force the second time."""
        self._signal_program(signal.SIGKILL if self._is_stopping else signal.SIGTERM)
        self._is_stopping = True
        self.stop_button.setText(tr("Kill program"))

    def _kill_program(self) -> None:
        self._signal_program(signal.SIGKILL)

    def _kill_everything(self) -> None:
        if self.is_recording:
            self._kill_program()
            self.process.kill()

    def _signal_program(self, number: int) -> None:
        if self._target_pid() and self.is_recording:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._target_pid(), number)

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
        if not isinstance(status, dict):
            return
        # "ok" is the answer to a command, whose figures are as good as any others.
        self._status.update(status)
        self._dirty = True
        if status.get("state") == "done" and status.get("path"):
            self._written = Path(str(status["path"]))
            # A program that ends with its recording is gone in a moment; another one runs on (a duration was set).
            QTimer.singleShot(RUNS_ON_AFTER_MS, self, self._hand_over_early)

    def _hand_over_early(self) -> None:
        if self.is_recording and not self._has_ended and not self._handed_over and not self._is_cancelling:
            self._handed_over = True
            self._dirty = True
            self.capture_written.emit(self._written)

    def _refresh(self) -> None:
        if self._elapsed.isValid():
            elapsed = max(0, int(self._status.get("elapsed_ns", self._elapsed.nsecsElapsed())))
            self.figures["time"].setText(f"{elapsed / 1e9:.1f} s")
        if not self._dirty:
            return
        self._dirty = False
        keeps_up = self.console.show_new(self._text)
        self._timer.setInterval(REFRESH_MS if keeps_up else REFRESH_LOUD_MS)
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
        if self._handed_over:
            self.headline.setText(tr("The capture is written; the program runs on"))
            if not self._is_stopping:
                self.stop_button.setText(tr("End program"))
            self.pause.hide()
            self.cancel_button.hide()
            self.stop_button.setEnabled(True)
            return
        if state in {"stopped", "finalising", "done"}:
            share = float(self._status.get("fraction", 0.0))
            percent = f"  {100 * share:.0f} %" if state == "finalising" and share else ""
            self.headline.setText(tr("Writing the capture…") + percent)
        elif not self._is_stopping:
            self.headline.setText(
                {"recording": tr("Recording"), "paused": tr("Paused")}.get(state, tr("Starting…"))
            )
        self.pause.setText(tr("Resume") if state == "paused" else tr("Pause"))
        self.pause.setEnabled(state in _LIVE)
        self.stop_button.setEnabled(state in _LIVE)

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
        if self._handed_over:
            self.closed.emit()
        elif self._written is not None:
            self.capture_ready.emit(self._written)
        else:
            self._fail(self._explain(code))

    def _throw_away(self, output: Path) -> None:
        """What a recorder that was killed left behind; one that was asked to discard leaves nothing."""
        import shutil

        if self._written is not None:
            self._written.unlink(missing_ok=True)
        shutil.rmtree(self._spool(), ignore_errors=True)
        output.with_name(f"{output.name}.part").unlink(missing_ok=True)

    def _explain(self, code: int) -> str:
        message = self._status.get("message")
        if message:
            return str(message)
        # The recorder's last word stands among what the program printed.
        own = [line for line in self._text.text.splitlines() if line.startswith("warpline: ")]
        if own:
            return own[-1].removeprefix("warpline: ").removeprefix("error: ").strip()
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
        spool = self._spool()
        actions = ((tr("Recover"), lambda: self.capture_ready.emit(spool)),) if spool.is_dir() else ()
        self.messages.show_message(text, "error", actions=actions)
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
