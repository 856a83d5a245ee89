"""Whether a window may be closed while programs are being recorded in it."""

from __future__ import annotations

from PySide6.QtWidgets import QMessageBox, QWidget

from warpline.i18n import tr, tr_n
from warpline_app.session.workspace import Workspace


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
    for activity in running:
        activity.stop()
    return True
