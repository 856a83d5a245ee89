"""A recording that was started elsewhere, watched in a tab: its timeline while it runs, then its capture."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer

from warpline.model.progress import IsCancelled, Progress
from warpline.recording.control import is_recording
from warpline.recording.session import SESSION_FILE, load_session
from warpline.recording.spool.directory import is_abandoned, killed_text
from warpline_app.open.background import Job
from warpline_app.recording.attach_request import AttachRequest
from warpline_app.recording.recording import Recording

if TYPE_CHECKING:
    from warpline_app.open.workspace import Workspace

LOOK_MS = 500


class WatchedRecording(Recording):
    """Asks the recorder how it is doing; when it is gone, its capture takes the place of the timeline.

    Closing the tab ends the watching only. Raises RecordingError for what is no spool directory.
    """

    def __init__(self, spool: Path, workspace: Workspace) -> None:
        session = load_session(spool)
        request = AttachRequest(
            pid=session.target_pid,
            name=session.output.stem,
            command=shlex.join(session.command),
            trace=session.options.trace,
            output=str(session.output),
        )
        super().__init__(request, workspace)
        self._watched = spool
        self._look = QTimer(self)
        self._look.setInterval(LOOK_MS)
        self._look.timeout.connect(self._ask)
        self._asking: Job | None = None

    may_cancel = False

    @property
    def is_running(self) -> bool:
        """Whether the recorder still runs, as far as is known."""
        return not self.has_ended

    @property
    def asks_before_closing(self) -> bool:
        """No: closing the tab loses nothing."""
        return False

    def launch(self) -> None:
        """Ask the recorder now, and then twice a second."""
        self.elapsed.start()
        self._look.start()
        self._ask()

    def stop(self) -> None:
        """End the recording; the program goes on if its recorder was told so."""
        self.is_stopping = True
        self.changed.emit()
        self._command("stop")

    def cancel(self) -> None:
        """Stop watching; the recording goes on."""
        self._leave()
        self.ended.emit()

    def close_tab(self) -> bool:
        """The tab may close at any time."""
        self._leave()
        return True

    def _leave(self) -> None:
        self._look.stop()
        self.has_ended = True
        if self.following is not None:
            self.following.end()

    def _spool(self) -> Path:
        return self._watched

    def _ask(self) -> None:
        if self._asking is not None:
            return
        spool = self._spool()

        def ask(_progress: Progress, _is_cancelled: IsCancelled) -> Any:
            from warpline.recording.control import send_command

            return send_command(spool, "status")

        job = self._asking = Job(ask, self)
        job.succeeded.connect(self._answered)
        job.failed.connect(self._answered)
        job.succeeded.connect(self._take_status)
        job.failed.connect(self._not_answered)
        job.launch()

    def _answered(self, _result: object) -> None:
        self._asking = None

    def _not_answered(self, error: Exception) -> None:
        """The recorder is gone, or writes the capture."""
        if self.has_ended:
            return
        spool = self._spool()
        is_killed = is_abandoned(spool)
        if not is_killed and (spool / SESSION_FILE).exists():
            if not is_recording(spool):
                self._take_status({"state": "finalising"})
            return
        self._leave()
        if is_killed:
            self._fail(killed_text(spool, self.request.output_path))
        elif self.request.output_path.is_file():
            self._show_capture(self.request.output_path)
        else:
            self._fail(str(error))
