"""A program being recorded: output, status, pause, stop, cancel, and the resulting capture."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QElapsedTimer, QTimer, Signal

from warpline.i18n import tr, translated
from warpline.model.progress import IsCancelled, Progress
from warpline.recording.spool.console_text import ConsoleText
from warpline_app.look.ssh_environment import asking_environment
from warpline_app.open.activity import Activity
from warpline_app.open.background import Job
from warpline_app.open.messages import MessageList
from warpline_app.recording.attach_request import AttachRequest
from warpline_app.recording.following import Following, free_name
from warpline_app.recording.process import RecordingProcess
from warpline_app.recording.request import RecordingRequest

if TYPE_CHECKING:
    from warpline_app.open.workspace import Workspace

KILL_AFTER_MS = 8_000
RUNS_ON_AFTER_MS = 400
_END_OF_INPUT = b"\x04"
FOLLOWED_AFTER_NS = 1_000_000_000
"""The capture of a shorter recording is there before its timeline would be."""
_ENDS = frozenset({"stopped", "recorded", "finalising", "done", "failed", "discarded"})


class Recording(Activity):
    """Runs one recording. The capture opens in place of its tab, or beside it if the program continues.

    With ``before``, a successful run is compared with that capture instead.
    """

    end_wanted = Signal()
    """The user closes its tab while the program runs: ask what to do."""
    changed = Signal()
    """The status changed, or the user acted."""

    def __init__(
        self,
        request: RecordingRequest | AttachRequest,
        workspace: Workspace,
        *,
        before: Path | None = None,
    ) -> None:
        name = Path(request.output_path).stem
        where = request.where.strip()
        title = tr("● {name} on {machine}", name=name, machine=where) if where else tr("● {name}", name=name)
        super().__init__(title, parent=workspace)
        self.request = request
        self.before = before
        self.text = ConsoleText()
        """The program's output."""
        self.status: dict[str, Any] = {}
        """The latest value of each status field: state, events, lost, target_pid, sources, fraction …"""
        self.elapsed = QElapsedTimer()
        self.messages = MessageList(self)
        """Problems of the recording."""
        self.is_cancelling = False
        self.is_stopping = False
        self.is_handed_over = False
        """The capture is written and open, and the program continues."""
        self.has_ended = False
        self.has_failed = False
        """It ended without a capture; the messages say why."""
        self._workspace = workspace
        self._written: Path | None = None
        self._keeping: Job | None = None
        self.following: Following | None = None
        """Shows the timeline while the program runs; None before, and where the user wants none"""
        self.process = RecordingProcess(self)
        self.process.output.connect(self._take_output)
        self.process.status.connect(self._take_status)
        self.process.ended.connect(self._process_ended)

    may_cancel = True
    """Whether it is this window's to discard"""

    @property
    def is_running(self) -> bool:
        """Whether the recorder is running."""
        return self.process.is_running

    @property
    def asks_before_closing(self) -> bool:
        """Whether it runs: closing the window would end the program."""
        return self.is_running

    @property
    def state(self) -> str:
        """The recorder's state: started, recording, paused, finalising, done, failed; empty before the first."""
        return str(self.status.get("state", ""))

    def launch(self) -> None:
        """Start the recorder; a failure to start is shown as a message."""
        try:
            self.process.start(self.request.record_arguments(), self.request.folder, self._environment)
        except OSError as error:
            self._fail(tr("Cannot start the recorder: {reason}", reason=error.strerror or error))
            return
        self.elapsed.start()
        self.changed.emit()

    @property
    def _environment(self) -> dict[str, str]:
        """What the recorder's environment has besides ours."""
        is_there = isinstance(self.request, RecordingRequest) and self.request.where.strip()
        return {**self.request.additions, **(asking_environment() if is_there else {})}

    # -- user actions ---------------------------------------------------------------------------------------

    def toggle_pause(self) -> None:
        """Pause or resume."""
        self._command("resume" if self.state == "paused" else "pause")

    def stop(self) -> None:
        """End the program and write the capture; the second call kills the program. One that was running before the
        recording runs on.
        """
        if not self.is_running:
            return
        if self._written is not None:
            self._end_program()
            return
        is_second = self.is_stopping
        self.is_stopping = True
        self.changed.emit()
        if is_second:
            self._signal_program(signal.SIGKILL)
        self._command("stop", terminate=True)

    def cancel(self) -> None:
        """End the program and discard the recording."""
        if not self.is_running:
            self.ended.emit()
            return
        self.is_cancelling = True
        self.changed.emit()
        self._command("stop", terminate=True, discard=True)
        # The tab must close even if the recorder no longer responds.
        QTimer.singleShot(KILL_AFTER_MS, self, self._kill_everything)

    def close_tab(self) -> bool:
        """Ask before closing the tab of a running recording."""
        if self.is_running:
            self.end_wanted.emit()
            return False
        return True

    def type_line(self, text: str) -> None:
        """Send the program a line of input."""
        self.process.write(text.encode(errors="surrogateescape") + b"\n")

    def end_input(self) -> None:
        """Close the program's input, as Ctrl-D in a terminal does."""
        self.process.write(_END_OF_INPUT)

    def _target_pid(self) -> int:
        pid = self.status.get("target_pid") if self.request.ends_program else None
        return pid if isinstance(pid, int) and pid > 1 else 0

    def _end_program(self) -> None:
        """End a program that outlives its recording: interrupt first, kill the second time."""
        self._signal_program(signal.SIGKILL if self.is_stopping else signal.SIGTERM)
        self.is_stopping = True
        self.changed.emit()

    def _kill_everything(self) -> None:
        if self.is_running:
            self._signal_program(signal.SIGKILL)
            self.process.kill()

    def _signal_program(self, number: int) -> None:
        if self._target_pid() and self.is_running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._target_pid(), number)
        elif self.request.where.strip() and self.is_running:
            self.process.interrupt()  # the recorder here passes it on

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
        # After the program ends and before the capture is written, no recorder takes commands.
        if self.is_running and self.state not in {"stopped", "finalising", ""}:
            self.messages.show(str(error), "warning")
        elif self.is_running and self.is_stopping:
            self.process.interrupt()

    # -- updates from the recorder --------------------------------------------------------------------------

    def _take_output(self, data: bytes) -> None:
        self.text.feed(data)
        self.changed.emit()

    def _take_status(self, status: object) -> None:
        if not isinstance(status, dict) or self.has_ended:
            return
        # "ok" answers a command; its figures are as current as any.
        self.status.update(status)
        if status.get("state") == "done" and status.get("path"):
            self._written = Path(str(status["path"]))
            # A program that ends with its recording exits in a moment; another one continues (a duration was set).
            QTimer.singleShot(RUNS_ON_AFTER_MS, self, self._hand_over_early)
        self._follow()
        self.changed.emit()

    def _follow(self) -> None:
        """Begin to show the timeline once there is something to see, and stop when nothing more comes."""
        if self.state not in {"recording", "paused"}:
            if self.following is not None and self.state in _ENDS:
                self.following.end()
            return
        if self.following is not None:
            self.following.set_recorded(self.state == "recording")
        elif (
            self._workspace.settings.follows_recordings
            and self.status.get("elapsed_ns", 0) >= FOLLOWED_AFTER_NS
        ):
            self.following = Following(
                self._spool(), self.request.output_path.name, self.request.output_path, self._workspace, self
            )
            self.following.appeared.connect(self._appeared)
            self.following.failed.connect(lambda text: self.messages.show(text, "warning"))
            self.following.begin()

    def _appeared(self) -> None:
        assert self.following is not None
        self.document = self.following.document
        self.changed.emit()

    def let_go(self) -> None:
        """Its document has a tab of its own now."""
        super().let_go()
        self.changed.emit()

    def keep_last(self, length_ns: int) -> None:
        """Write the last part of what is recorded to a capture of its own, and open it; one at a time."""
        if self.following is None or self.following.is_over or self._keeping is not None:
            return
        job = self._keeping = self.following.keep_last(length_ns, free_name(self.request.output_path))
        job.succeeded.connect(self._kept)
        job.failed.connect(self._kept)
        job.succeeded.connect(self._workspace.open_file)
        job.failed.connect(lambda error: self.messages.show(str(error), "warning"))
        job.launch()

    def _kept(self, _result: object) -> None:
        self._keeping = None

    def _hand_over_early(self) -> None:
        from warpline.recording.spool.living import is_there

        # Recorded here, the program tells by itself; the recorder may take a while to end after it.
        if not self.request.where.strip() and not is_there(self._target_pid()):
            return
        is_over = self.has_ended or self.is_handed_over or self.is_cancelling
        if self.is_running and self._written is not None and not is_over:
            self.is_handed_over = True
            self.changed.emit()
            self._open(self._written)

    # -- end ------------------------------------------------------------------------------------------------

    def _process_ended(self, code: int) -> None:
        self.has_ended = True
        if self.following is not None:
            self.following.end()
        self.changed.emit()
        if self.is_cancelling:
            self._discard(self.request.output_path)
            self.ended.emit()
        elif self.is_handed_over:
            if self.document is None:  # else its finished capture is about to take this tab
                self.ended.emit()
        elif self._written is not None:
            self._show_capture(self._written, code)
        else:
            self._fail(self._explain(code))

    def _show_capture(self, path: Path, code: int = 0) -> None:
        """Replace this tab with the capture, a recovered one, or the comparison with ``before``."""
        compares = self.before is not None and not code and path.is_file()
        if self.document is None or compares:
            self.ended.emit()
        if self.before is not None and compares:
            self._workspace.compare(self.before, path)
            return
        self._open(path)
        if self.before is not None:
            message = tr(
                "{name}: not compared with the previous capture, because the program ended with status {code}",
                name=path.name,
                code=code,
            )
            self._workspace.messages.show(message, "warning")

    def _open(self, path: Path) -> None:
        """Open the capture, in the place of the timeline that was shown so far if there is one."""
        if self.document is None:
            self._workspace.open_file(path, self.text.text, was_stopped=self.is_stopping)
        else:
            self.document.console_text, self.document.was_stopped = self.text.text, self.is_stopping
            self._workspace.settle(self, path)

    def _discard(self, output: Path) -> None:
        """Delete what a killed recorder left; one that was told to discard leaves nothing."""
        if self._written is not None:
            self._written.unlink(missing_ok=True)
        shutil.rmtree(self._spool(), ignore_errors=True)
        output.with_name(f"{output.name}.part").unlink(missing_ok=True)

    def _explain(self, code: int) -> str:
        message = self.status.get("message")
        if message:
            return translated(str(message))
        # The recorder's last line is in the program's output.
        own = [line for line in self.text.text.splitlines() if line.startswith("warpline: ")]
        if own:
            return own[-1].removeprefix("warpline: ").removeprefix("error: ").strip()
        if self._spool().is_dir():
            return tr(
                "The recorder ended with status {code} before it wrote the capture; "
                "save the recorded data with: warpline recover {spool}",
                code=code,
                spool=self._spool(),
            )
        return tr("The recorder ended with status {code} and wrote no capture.", code=code)

    def _fail(self, text: str) -> None:
        self.has_ended = self.has_failed = True
        spool = self._spool()
        actions = ((tr("Recover"), lambda: self._show_capture(spool)),) if spool.is_dir() else ()
        self.messages.show(text, "error", actions=actions)
        self.changed.emit()
