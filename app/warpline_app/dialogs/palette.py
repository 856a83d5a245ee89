"""The command palette: finds any command by a few letters of its title."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFont, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr
from warpline_app.commands.command import WindowCommand
from warpline_app.commands.keys import key_text
from warpline_app.commands.runner import CommandRunner
from warpline_app.look.appearance import appearance
from warpline_app.look.plain import plain
from warpline_app.look.theme import wash
from warpline_app.look.widgets import muted_label
from warpline_app.remembered.settings import Settings

_Index = QModelIndex | QPersistentModelIndex
ROW_HEIGHT_PX = 30
ROWS_SHOWN = 11
NEAREST_SHOWN = 4
LEAST_RESEMBLANCE = 0.7
_REFUSAL_ROLE = Qt.ItemDataRole.UserRole + 1
"""Why a command cannot run now, None when it can; such commands are listed with the reason."""


def match_score(query: str, text: str) -> int | None:
    """How well ``query`` matches ``text``: None for no match, otherwise smaller is better.

    Letters must appear in order. A letter at the start of a word costs nothing, one right after the previous match
    costs little, a gap costs more: ``nc`` finds *New capture…* before *Pan left one screen*.
    """
    folded, query = text.casefold(), "".join(query.casefold().split())
    cost = 0
    at = -1
    for letter in query:
        hit = folded.find(letter, at + 1)
        if hit < 0:
            return None
        begin = hit
        while begin >= 0 and not _begins_word(folded, begin):
            begin = folded.find(letter, begin + 1)
        follows = hit == at + 1 and at >= 0
        if not follows and begin >= 0:
            cost += 1
            hit = begin
        elif not follows:
            cost += 4 + hit - at
        at = hit
    return cost


def _begins_word(text: str, index: int) -> bool:
    return index == 0 or not text[index - 1].isalnum()


def nearest(commands: Iterable[WindowCommand], query: str) -> list[WindowCommand]:
    """Commands with a word that resembles one of the query's, for a query without a match."""
    scored: list[tuple[float, int, WindowCommand]] = []
    for position, command in enumerate(commands):
        words = f"{command.text} {command.words_text}".casefold().split()
        closest = max(
            (
                SequenceMatcher(None, word, wanted).ratio()
                for wanted in query.casefold().split()
                for word in words
            ),
            default=0.0,
        )
        if closest >= LEAST_RESEMBLANCE:
            scored.append((-closest, position, command))
    return [command for *_, command in sorted(scored, key=lambda entry: entry[:2])[:NEAREST_SHOWN]]


def ranked(commands: Iterable[WindowCommand], query: str) -> list[WindowCommand]:
    """The matching commands, best first; all in their own order for an empty query."""
    if not query.strip():
        return list(commands)
    scored: list[tuple[int, int, WindowCommand]] = []
    for position, command in enumerate(commands):
        texts = (command.text, f"{command.category_text} {command.text}", command.title, command.id)
        scores = [score for text in texts if (score := match_score(query, text)) is not None]
        if query.strip().casefold() in command.words_text.casefold():
            scores.append(0)
        if scores:
            scored.append((min(scores), position, command))
    scored.sort(key=lambda entry: entry[:2])
    return [command for _, _, command in scored]


class _CommandModel(QAbstractListModel):
    def __init__(
        self, runner: CommandRunner, recent_ids: Sequence[str], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._runner = runner
        recent = {command_id: index for index, command_id in enumerate(recent_ids)}
        self._all = sorted(
            runner.commands.values(),
            key=lambda command: (not runner.is_enabled(command.id), recent.get(command.id, len(recent))),
        )
        self.shown: list[WindowCommand] = []
        self.has_match = True
        self.set_query("")

    def set_query(self, query: str) -> None:
        self.beginResetModel()
        self.shown = ranked(self._all, query)
        self.has_match = bool(self.shown)
        if not self.has_match:
            self.shown = nearest(self._all, query)
        self.endResetModel()

    def rowCount(self, parent: _Index = QModelIndex()) -> int:  # noqa: B008  # Qt's own default
        return 0 if parent.isValid() else len(self.shown)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        command = self.shown[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return command.text
        if role == Qt.ItemDataRole.UserRole:
            return command
        if role == _REFUSAL_ROLE:
            return self._runner.refusal(command.id)
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain(self._runner.refusal(command.id) or command.hint_text) or None
        return None


class _CommandDelegate(QStyledItemDelegate):
    """One line per command: category, title, key."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(200, ROW_HEIGHT_PX)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        theme = appearance().theme
        command: WindowCommand = index.data(Qt.ItemDataRole.UserRole)
        refusal: str | None = index.data(_REFUSAL_ROLE)
        state: Any = option.state
        rect: QRect = option.rect
        font: QFont = option.font
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, QColor(wash(theme)))
        painter.setFont(font)
        inner = rect.adjusted(14, 0, -14, 0)
        flags = Qt.AlignmentFlag.AlignVCenter
        text_color = theme.color("text" if refusal is None else "muted")
        if refusal is not None:
            text_color.setAlpha(140)
        keys = "   ".join(key_text(key) for key in command.keys)
        metrics = painter.fontMetrics()
        keys_width = metrics.horizontalAdvance(keys)
        painter.setPen(theme.color("muted"))
        painter.drawText(inner, flags | Qt.AlignmentFlag.AlignRight, keys)
        category = f"{command.category_text}  "
        painter.drawText(inner, flags, category)
        inner.setLeft(inner.left() + max(76, metrics.horizontalAdvance(category)))
        inner.setRight(inner.right() - keys_width - 12)
        painter.setPen(text_color)
        text = command.text
        if refusal is not None:
            text = f"{text}   {refusal}"
        painter.drawText(inner, flags, metrics.elidedText(text, Qt.TextElideMode.ElideRight, inner.width()))


class CommandPalette(QFrame):
    """Opens over the window: type to filter, arrows to choose, Return to run, Escape to close."""

    def __init__(
        self,
        commands: CommandRunner,
        settings: Settings,
        parent: QWidget,
        give_focus_back: Callable[[], None],
    ) -> None:
        # A child widget, not a popup: it moves with the window and needs no keyboard grab.
        super().__init__(parent)
        self.setObjectName("paletteFrame")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(tr("Command palette"))
        self._commands, self._settings, self._give_focus_back = commands, settings, give_focus_back
        self.input = QLineEdit()
        self.input.setObjectName("paletteInput")
        self.input.setPlaceholderText(tr("Type a command"))
        self.no_match = muted_label()
        self.no_match.setContentsMargins(14, 4, 14, 4)
        self.no_match.hide()
        self.list = QListView()
        self.list.setObjectName("paletteList")
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._model = _CommandModel(commands, settings.recent_commands, self)
        self.list.setModel(self._model)
        self.list.setItemDelegate(_CommandDelegate(self.list))
        self.list.clicked.connect(self._run)
        self.input.textChanged.connect(self._search)
        self.input.installEventFilter(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 6)
        layout.setSpacing(4)
        layout.addWidget(self.input)
        layout.addWidget(self.no_match)
        layout.addWidget(self.list)
        width = min(640, max(360, parent.width() - 120))
        self.setFixedWidth(width)
        self.move((parent.width() - width) // 2, 72)
        QApplication.instance().focusChanged.connect(self._focus_changed)  # type: ignore[union-attr]  # it runs
        self.setFocusProxy(self.input)
        self._fit()
        self._select(0)

    def _fit(self) -> None:
        rows = min(ROWS_SHOWN, self._model.rowCount())
        self.list.setFixedHeight(rows * ROW_HEIGHT_PX + 4)
        self.list.setVisible(rows > 0)
        self.no_match.setVisible(not self._model.has_match)
        self.no_match.setText(
            tr("No command matches; the nearest:") if rows else tr("No command matches this text")
        )
        self.adjustSize()

    @property
    def titles(self) -> list[str]:
        """The listed titles, best first."""
        return [command.text for command in self._model.shown]

    def _focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        if self.isVisible() and new is not None and new is not self.input and not self.isAncestorOf(new):
            self.close()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Send arrows, Return and Escape to the list while the text field has the focus."""
        if watched is self.input and event.type() == QEvent.Type.ShortcutOverride:
            # The window's own keys (Escape, Return) act on the palette while it is open.
            event.accept()
            return True
        if watched is self.input and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            steps = {
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_PageDown: ROWS_SHOWN - 1,
                Qt.Key.Key_PageUp: 1 - ROWS_SHOWN,
            }
            key = Qt.Key(event.key())
            if key in steps:
                self._select(self.list.currentIndex().row() + steps[key])
                return True
            if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._run(self.list.currentIndex())
                return True
            if key == Qt.Key.Key_Escape:
                self.close()
                self._give_focus_back()
                return True
        return super().eventFilter(watched, event)

    def _search(self, text: str) -> None:
        self._model.set_query(text)
        self._fit()
        if self._model.has_match:
            # A command that was not named must not run by Return alone.
            self._select(0)

    def _select(self, row: int) -> None:
        count = self._model.rowCount()
        if count:
            self.list.setCurrentIndex(self._model.index(max(0, min(row, count - 1)), 0))

    def _run(self, index: QModelIndex) -> None:
        command: WindowCommand | None = index.data(Qt.ItemDataRole.UserRole)
        if command is None:
            return
        if not self._commands.is_enabled(command.id):
            self._commands.run(command.id)  # shows the reason
            return
        # Close the palette before the command runs: it may open a dialog or move the focus.
        self.close()
        self._give_focus_back()
        self._settings.add_recent_command(command.id)
        self._commands.run(command.id)


def show_palette(
    commands: CommandRunner, settings: Settings, parent: QWidget, give_focus_back: Callable[[], None]
) -> CommandPalette:
    """Show the palette over a window, replacing one that is open.

    ``give_focus_back`` restores the keyboard focus before a command runs.
    """
    former = palette_over(parent)
    if former is not None:
        former.close()
    palette = CommandPalette(commands, settings, parent, give_focus_back)
    palette.show()
    palette.raise_()
    palette.input.setFocus()
    return palette


def palette_over(window: QWidget) -> CommandPalette | None:
    """The palette open over a window, or None."""
    return next((child for child in window.findChildren(CommandPalette) if child.isVisible()), None)
