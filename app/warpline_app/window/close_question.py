"""Whether a window may be closed while programs are being recorded in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMessageBox, QWidget

from warpline.i18n import tr, tr_n
from warpline_app.open.workspace import Workspace

if TYPE_CHECKING:
    from warpline_app.recording.recording import Recording


class EndQuestion(QMessageBox):
    """What becomes of a recording that somebody cancels, or whose tab is closed; without an answer it goes on."""

    def __init__(self, recording: Recording, parent: QWidget) -> None:
        super().__init__(parent)
        self._recording = recording
        self.setIcon(QMessageBox.Icon.Question)
        self.setText(tr("The program is still running."))
        self.end = self.addButton(
            tr("End the program") if recording.is_handed_over else tr("Stop and keep"),
            QMessageBox.ButtonRole.AcceptRole,
        )
        self.throw_away = None
        if recording.is_handed_over:
            self.setInformativeText(tr("Its capture is written. End the program too?"))
        else:
            self.setInformativeText(
                tr_n(
                    "{count:,} event was recorded so far. Keep it?",
                    "{count:,} events were recorded so far. Keep them?",
                    int(recording.status.get("events", 0)),
                )
            )
            self.throw_away = self.addButton(tr("Throw away"), QMessageBox.ButtonRole.DestructiveRole)
        self.go_on = self.addButton(tr("Go on"), QMessageBox.ButtonRole.RejectRole)
        self.setDefaultButton(self.go_on)
        self.setEscapeButton(self.go_on)
        self.buttonClicked.connect(self._answered)
        # The program may end while the question is asked.
        recording.ended.connect(self.close)

    def _answered(self, button: object) -> None:
        if button is self.end:
            self._recording.stop()
        elif button is self.throw_away and button is not None:
            self._recording.cancel()


def may_close(workspace: Workspace, parent: QWidget | None) -> bool:
    """Ask when something is being recorded; stops the recordings when the answer is to go on.

    The programs get the signal a terminal's Ctrl-C would send, and the recorder still writes the captures.
    """
    running = [activity for activity in workspace.activities if activity.asks_before_closing]
    if not running:
        return True
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Question)
    box.setText(tr_n("A program is being recorded.", "{count} programs are being recorded.", len(running)))
    box.setInformativeText(tr("Stop it and write what has been recorded so far?"))
    stop = box.addButton(tr("Stop and close"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(tr("Keep the window"), QMessageBox.ButtonRole.RejectRole)
    box.exec()
    if box.clickedButton() is not stop:
        return False
    from warpline_app.recording.recording import Recording

    for activity in running:
        activity.stop()
        if isinstance(activity, Recording):
            # The recorder writes it when nobody is there any more to see it open.
            workspace.settings.add_recent_file(activity.request.output_path)
    return True
