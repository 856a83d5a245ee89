"""The dialog in which a note is written."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QComboBox, QDialog, QPlainTextEdit, QWidget

from warpline.i18n import english, tr, translated
from warpline.model.notes import NOTE_COLORS, Note
from warpline.storage.notes_file import MAX_TEXT
from warpline_app.dialogs.dialog_form import cancel_or, lay_out, make_form
from warpline_app.look.appearance import appearance
from warpline_app.look.theme import note_color
from warpline_app.look.widgets import dot_icon

COLOR_TITLES = {
    "": english("None"),
    "red": english("Red"),
    "yellow": english("Yellow"),
    "green": english("Green"),
    "blue": english("Blue"),
    "violet": english("Violet"),
}


class NoteDialog(QDialog):
    """Text and colour of a note; Ctrl+Return saves it."""

    def __init__(
        self, note: Note, place: str, save: Callable[[Note], object], parent: QWidget | None = None
    ) -> None:
        """``place`` says what the note is on."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Note on {place}", place=place))
        self._note, self._save = note, save
        self.text = QPlainTextEdit(note.text)
        self.text.setAccessibleName(tr("Text of the note"))
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(110)
        self.text.selectAll()
        self.color = QComboBox()
        for name in NOTE_COLORS:
            self.color.addItem(
                dot_icon(note_color(appearance().theme, name)), translated(COLOR_TITLES[name]), name
            )
        self.color.setCurrentIndex(max(0, self.color.findData(note.color)))
        form = make_form()
        form.addRow(tr("Text"), self.text)
        form.addRow(tr("Colour"), self.color)
        buttons, self.save_button = cancel_or(tr("Save"))
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        lay_out(self, form, (buttons,), width_px=420)
        self.text.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Save with Ctrl+Return."""
        is_return = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
        if is_return and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.accept()
        else:
            super().keyPressEvent(event)

    def accept(self) -> None:
        """Save the note."""
        text = self.text.toPlainText().strip()[:MAX_TEXT]
        changed = replace(
            self._note, text=text, color=str(self.color.currentData()), changed_ns=time.time_ns()
        )
        super().accept()
        self._save(changed)
