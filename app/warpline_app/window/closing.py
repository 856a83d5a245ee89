"""Whether a window may be closed while programs are being recorded in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMessageBox

from warpline.i18n import tr, tr_n

if TYPE_CHECKING:
    from warpline_app.recording.page import RecordingPage
    from warpline_app.window.main_window import MainWindow


def running_recordings(window: MainWindow) -> list[RecordingPage]:
    """The recordings of a window that have not ended."""
    widgets = [window.tabs.widget(index) for index in range(window.tabs.count())]
    # By attribute and not by type: without a recording its module is never imported.
    return [widget for widget in widgets if getattr(widget, "is_recording", False)]  # type: ignore[misc]  # duck


def may_close(window: MainWindow) -> bool:
    """Ask when something is being recorded; stops the recordings when the answer is to go on.

    The programs get the signal a terminal's Ctrl-C would send, and the recorder still writes the captures.
    """
    running = running_recordings(window)
    if not running:
        return True
    box = QMessageBox(window)
    box.setIcon(QMessageBox.Icon.Question)
    box.setText(tr_n("A program is being recorded.", "{count} programs are being recorded.", len(running)))
    box.setInformativeText(tr("Stop it and write what has been recorded so far?"))
    stop = box.addButton(tr("Stop and close"), QMessageBox.ButtonRole.AcceptRole)
    box.addButton(tr("Keep the window"), QMessageBox.ButtonRole.RejectRole)
    box.exec()
    if box.clickedButton() is not stop:
        return False
    for page in running:
        page.stop()
    return True
