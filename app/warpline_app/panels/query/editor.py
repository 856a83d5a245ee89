"""The editor of a query: colours, completion, and a mark where something is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QStringListModel, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontDatabase,
    QKeyEvent,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QAbstractItemView, QCompleter, QFrame, QPlainTextEdit, QTextEdit, QWidget

from warpline.i18n import tr
from warpline.query.named_tables import KEYWORDS
from warpline.query.session import TableInfo
from warpline_app.look.native_keys import native_keys
from warpline_app.look.theme import Theme
from warpline_app.panels.query.completion import Completion, complete

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<text>'(?:[^']|'')*'?)|(?P<number>\b\d[\w.]*)|(?P<keyword>\b(?:"
    + "|".join(KEYWORDS)
    + r")\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w$]+|\S")
_POPUP_PX = 280
_LEAST_PX = (200, 60)
_RUN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


class SqlColors(QSyntaxHighlighter):
    """Colours keywords, texts, numbers and comments, line by line."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._formats: dict[str, QTextCharFormat] = {}
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        colors = {
            "comment": theme.hex("muted"),
            "text": theme.hex("warning"),
            "number": theme.hex("warning"),
            "keyword": theme.hex("selection"),
        }
        self._formats = {}
        for name, color in colors.items():
            form = QTextCharFormat()
            form.setForeground(QColor(color))
            self._formats[name] = form
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        """Colour a line; called by Qt."""
        for match in _TOKEN.finditer(text):
            self.setFormat(match.start(), match.end() - match.start(), self._formats[match.lastgroup or ""])


class SqlEditor(QPlainTextEdit):
    """Emits ``run_wanted`` for Ctrl+Return and ``cancel_wanted`` for Esc.

    Completes while a word is typed, and for Ctrl+Space.
    """

    run_wanted = Signal()
    cancel_wanted = Signal()

    def __init__(
        self, theme: Theme, names: Callable[[str, int], Sequence[str]], parent: QWidget | None = None
    ) -> None:
        """``names`` returns at most so many names of events that contain a text."""
        super().__init__(parent)
        self.tables: Sequence[TableInfo] = ()
        """What the completion knows besides keywords."""
        self.is_running = False
        """Whether Esc stops a query."""
        self._names = names
        self._theme = theme
        self._completion = Completion(0, ())
        self._place: tuple[int, int] | None = None
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPixelSize(12)
        self.setFont(font)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMinimumSize(*_LEAST_PX)
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance(" "))
        self.setAccessibleName(tr("Query in SQL"))
        self.setPlaceholderText(native_keys(tr("SELECT … FROM kernel — Ctrl+Return runs it")))
        self.colors = SqlColors(self.document(), theme)
        self._texts = QStringListModel(self)
        self.completer = QCompleter(self._texts, self)
        self.completer.setWidget(self)
        self.completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.popup.setAccessibleName(tr("Completion"))
        self.completer.activated.connect(self._insert)
        self.textChanged.connect(self._edited)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Use other colours."""
        self._theme = theme
        self.colors.set_theme(theme)
        self.setStyleSheet(
            f"QPlainTextEdit {{ border: none; border-radius: 0; padding: 4px; background: {theme.canvas}; }}"
        )
        self._show_mark()

    @property
    def popup(self) -> QAbstractItemView:
        """The list of completions."""
        popup = self.completer.popup()
        assert popup is not None
        return popup

    @property
    def sql(self) -> str:
        """The query."""
        return self.toPlainText()

    def set_sql(self, sql: str) -> None:
        """Replace the text, so that the user can undo it."""
        cursor = self.textCursor()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(sql)
        self.popup.hide()

    # What is wrong

    def mark(self, line: int | None, column: int | None) -> None:
        """Underline what stands at a place (from 1) and put the cursor there; None for nothing."""
        self._place = None if line is None or column is None else (line, column)
        cursor = self._marked()
        if cursor is not None:
            self.setTextCursor(self._cursor_at(cursor.selectionStart()))
        self._show_mark()

    @property
    def marked_text(self) -> str:
        """What is underlined."""
        cursor = self._marked()
        return "" if cursor is None else cursor.selectedText()

    def _marked(self) -> QTextCursor | None:
        if self._place is None:
            return None
        block = self.document().findBlockByNumber(self._place[0] - 1)
        if not block.isValid():
            return None
        begin = min(self._place[1] - 1, max(block.length() - 2, 0))
        word = _WORD.match(block.text(), begin)
        cursor = self._cursor_at(block.position() + begin)
        length = len(word[0]) if word is not None else 1
        cursor.setPosition(min(block.position() + begin + length, block.position() + block.length() - 1),
                           QTextCursor.MoveMode.KeepAnchor)  # fmt: skip
        return cursor

    def _cursor_at(self, position: int) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.setPosition(position)
        return cursor

    def _show_mark(self) -> None:
        cursor = self._marked()
        marks = []
        if cursor is not None:
            selection = QTextEdit.ExtraSelection()
            selection.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            selection.format.setUnderlineColor(self._theme.color("copy_to_host"))
            selection.format.setBackground(self._theme.color("copy_to_host", 60))
            selection.cursor = cursor
            marks.append(selection)
        self.setExtraSelections(marks)

    def _edited(self) -> None:
        if self._place is not None:
            self.mark(None, None)

    # Keys and completion

    def event(self, event: QEvent) -> bool:
        """Keep the editor's own keys from the window's shortcuts."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            has_control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
            is_escape = event.key() == Qt.Key.Key_Escape and (self.popup.isVisible() or self.is_running)
            if is_escape or (has_control and event.key() in (*_RUN_KEYS, Qt.Key.Key_Space)):
                event.accept()
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Run, cancel or complete; any other key is typed."""
        popup = self.popup
        has_control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if event.key() in _RUN_KEYS and has_control:
            popup.hide()
            self.run_wanted.emit()
            return
        if popup.isVisible() and event.key() in (*_RUN_KEYS, Qt.Key.Key_Tab, Qt.Key.Key_Escape):
            chosen = popup.currentIndex().data()
            popup.hide()
            if event.key() != Qt.Key.Key_Escape and isinstance(chosen, str):
                self._insert(chosen)
            return
        if event.key() == Qt.Key.Key_Escape:
            self.cancel_wanted.emit()
            return
        if event.key() == Qt.Key.Key_Space and has_control:
            self.offer(is_asked=True)
            return
        super().keyPressEvent(event)
        is_typed = bool(event.text()) and (event.text().isalnum() or event.text() in "_.'")
        is_deleted = popup.isVisible() and event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete)
        if is_typed or is_deleted:
            self.offer()
        else:
            popup.hide()

    def offer(self, *, is_asked: bool = False) -> Completion:
        """Show what can stand at the cursor."""
        whole, place = self.toPlainText(), self.textCursor().position()
        found = complete(whole[:place], whole[place:], self.tables, self._names, is_asked=is_asked)
        self._completion = found
        popup = self.popup
        if not found.texts:
            popup.hide()
            return found
        self._texts.setStringList(list(found.texts))
        popup.setCurrentIndex(self._texts.index(0, 0))
        where = self.cursorRect(self._cursor_at(found.start))
        where.setWidth(_POPUP_PX)
        self.completer.complete(where)
        return found

    def _insert(self, text: str) -> None:
        """Replace the word at the cursor."""
        cursor = self.textCursor()
        end = cursor.position()
        cursor.setPosition(min(self._completion.start, end))
        cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
        cursor.insertText(text)
        self.setTextCursor(cursor)
