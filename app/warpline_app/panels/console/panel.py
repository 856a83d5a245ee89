"""The output of the recorded program."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontDatabase, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QStackedLayout, QWidget

from warpline.i18n import tr, tr_n
from warpline.recording.spool.console_text import MAX_LINES, ConsoleText
from warpline_app.look.plain import PlainLabel
from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel

LINES_AT_ONCE = 400
"""Lines shown per refresh at most; more would cost frames when a program prints fast."""


class ConsoleView(QPlainTextEdit):
    """A growing log that follows its end unless the reader has scrolled up."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("console")
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setMaximumBlockCount(MAX_LINES)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName(tr("Program output"))
        font = QFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        font.setPixelSize(12)
        self.setFont(font)

    def show_new(self, source: ConsoleText) -> bool:
        """Append new text of `source`; False if lines had to be skipped."""
        lines, unfinished, skipped = source.take_new(LINES_AT_ONCE)
        if skipped:
            lines.insert(0, tr_n("⋯ {count:,} line", "⋯ {count:,} lines", skipped))
        bar = self.verticalScrollBar()
        follows = bar.value() >= bar.maximum() - 2
        self.setUpdatesEnabled(False)
        # The last block is the line that was unfinished before.
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.movePosition(QTextCursor.MoveOperation.StartOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText("\n".join([*lines, unfinished]))
        self.setUpdatesEnabled(True)
        if follows:
            bar.setValue(bar.maximum())
        return not skipped


class ConsolePanel(Panel):
    """The output of a capture recorded from this window."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self._layout = QStackedLayout(self)
        self.view = ConsoleView()
        self.note = PlainLabel(
            tr(
                "This capture contains no program output.\n"
                "Programs recorded with File → New capture… show all their output here. Other captures show the end of "
                "standard error if waits or Python stacks were recorded."
            )
        )
        self.note.setObjectName("muted")
        self.note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.note.setWordWrap(True)
        self.note.setMargin(16)
        self._layout.addWidget(self.note)
        self._layout.addWidget(self.view)

    def refresh(self) -> None:
        errors = self.document.capture.program_end.stderr_tail or ()
        text = self.document.console_text or "\n".join(errors)
        self._layout.setCurrentWidget(self.view if text else self.note)
        if text and self.view.toPlainText() != text:
            self.view.setPlainText(text)
            self.view.moveCursor(QTextCursor.MoveOperation.End)
        count = text.count("\n") + 1 if text else 0
        if not text:
            self.set_scope("")
        elif self.document.console_text:
            self.set_scope(tr_n("Program output · {count:,} line", "Program output · {count:,} lines", count))
        else:
            self.set_scope(
                tr_n(
                    "End of standard error · {count:,} line", "End of standard error · {count:,} lines", count
                )
            )
