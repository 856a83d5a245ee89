"""Questions asked before a recording ends or a window with recordings closes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from warpline.i18n import tr, tr_n
from warpline_app.open.workspace import Workspace

if TYPE_CHECKING:
    from warpline_app.recording.recording import Recording


class EndQuestion(QMessageBox):
    """Asks what to do with a recording whose tab is closed or that is cancelled; without an answer it continues."""

    def __init__(self, recording: Recording, parent: QWidget) -> None:
        super().__init__(parent)
        self._recording = recording
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setIcon(QMessageBox.Icon.Question)
        self.setText(
            tr("The program is still running.")
            if recording.request.ends_program
            else tr("The recording is still running.")
        )
        self.end = self.addButton(
            tr("End the program") if recording.is_handed_over else tr("Stop and keep"),
            QMessageBox.ButtonRole.AcceptRole,
        )
        self.discard = None
        if recording.is_handed_over:
            self.setInformativeText(tr("Its capture is saved. End the program too?"))
        else:
            self.setInformativeText(
                tr_n(
                    "{count:,} event recorded so far. Keep it?",
                    "{count:,} events recorded so far. Keep them?",
                    int(recording.status.get("events", 0)),
                )
            )
            self.discard = self.addButton(tr("Discard"), QMessageBox.ButtonRole.DestructiveRole)
        keep = tr("Keep running") if recording.request.ends_program else tr("Keep recording")
        self.keep_running = self.addButton(keep, QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(self.keep_running)
        self.setEscapeButton(self.keep_running)
        self.buttonClicked.connect(self._answered)
        # The program may end while the question is shown.
        recording.ended.connect(self.close)

    def _answered(self, button: object) -> None:
        if button is self.end:
            self._recording.stop()
        elif button is self.discard and button is not None:
            self._recording.cancel()


def may_close(workspace: Workspace, parent: QWidget | None) -> bool:
    """Ask before closing a window with recordings; True to close it, which stops them.

    The programs get the signal that Ctrl-C in a terminal sends, and the recorder still writes the captures.
    """
    running = [activity for activity in workspace.activities if activity.asks_before_closing]
    if not running:
        return True
    box = QMessageBox(parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setIcon(QMessageBox.Icon.Question)
    box.setText(tr_n("A program is being recorded.", "{count} programs are being recorded.", len(running)))
    box.setInformativeText(tr("Stop it and save the events recorded so far?"))
    stop = box.addButton(tr("Stop and close"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.exec()
    if box.clickedButton() is not stop:
        return False
    from warpline_app.recording.recording import Recording

    for activity in running:
        activity.stop()
        if isinstance(activity, Recording):
            if activity.following is not None:
                activity.following.end()
            # The recorder writes it after this window is gone.
            workspace.settings.add_recent_file(activity.request.output_path)
    return True
