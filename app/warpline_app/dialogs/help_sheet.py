"""The keyboard shortcuts dialog: every key and gesture, from the list of commands."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import english, tr, translated
from warpline_app.commands.command import WindowCommand
from warpline_app.commands.keys import key_text
from warpline_app.commands.menus import MENU_ORDER
from warpline_app.look.native_keys import native_keys
from warpline_app.look.plain import PlainLabel

MOUSE: tuple[tuple[str, str], ...] = (
    (english("Click"), english("Select the event under the pointer")),
    (english("Drag"), english("Select a time range")),
    (english("Shift+Drag"), english("Pan")),
    (english("Wheel"), english("Scroll the rows")),
    (english("Shift+Wheel"), english("Pan")),
    (english("Ctrl+Wheel"), english("Zoom at the pointer")),
    (english("Double click"), english("Zoom to the event")),
)


def grouped(commands: Iterable[WindowCommand]) -> dict[str, list[WindowCommand]]:
    """The commands with keys, by category in menu order."""
    groups: dict[str, list[WindowCommand]] = {category: [] for category in MENU_ORDER}
    for command in commands:
        if command.keys:
            groups.setdefault(command.category, []).append(command)
    return {category: members for category, members in groups.items() if members}


class HelpSheet(QDialog):
    """All keys in one dialog, filtered by typing."""

    def __init__(self, commands: Iterable[WindowCommand], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self._rows: list[tuple[str, tuple[QWidget, QWidget]]] = []
        self._sections: list[tuple[QWidget, int, int]] = []
        self.filter = QLineEdit()
        self.filter.setPlaceholderText(tr("Search keys and commands"))
        self.filter.setClearButtonEnabled(True)
        self.filter.textChanged.connect(self._narrow)
        body = QWidget()
        columns = QHBoxLayout(body)
        columns.setContentsMargins(4, 4, 12, 4)
        columns.setSpacing(36)
        groups = grouped(commands)
        texts: list[tuple[str, list[tuple[str, str]]]] = [
            (
                members[0].category_text,
                [("  ".join(key_text(key) for key in command.keys), command.text) for command in members],
            )
            for members in groups.values()
        ]
        texts.append(
            (tr("Mouse"), [(native_keys(translated(gesture)), translated(text)) for gesture, text in MOUSE])
        )
        for share in _balanced(texts, 2):
            columns.addLayout(self._column(share), 1)
        area = QScrollArea()
        area.setWidget(body)
        area.setWidgetResizable(True)
        area.setFrameShape(QScrollArea.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 8, 12)
        layout.setSpacing(10)
        layout.addWidget(self.filter)
        layout.addWidget(area, 1)
        self.resize(1040, 700)

    def _column(self, sections: list[tuple[str, list[tuple[str, str]]]]) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(4)
        row = 0
        for title, entries in sections:
            head = PlainLabel(title)
            head.setObjectName("subhead")
            if row:
                grid.setRowMinimumHeight(row, 14)
                row += 1
            grid.addWidget(head, row, 0, 1, 2)
            row += 1
            first = len(self._rows)
            for keys, text in entries:
                holder = QWidget()
                caps = QHBoxLayout(holder)
                caps.setContentsMargins(0, 0, 0, 0)
                caps.setSpacing(4)
                for key in keys.split("  "):
                    cap = PlainLabel(key)
                    cap.setObjectName("keyCap")
                    caps.addWidget(cap)
                caps.addStretch(1)
                label = PlainLabel(text)
                grid.addWidget(holder, row, 0)
                grid.addWidget(label, row, 1)
                self._rows.append((f"{keys} {text}".casefold(), (holder, label)))
                row += 1
            self._sections.append((head, first, len(self._rows)))
        grid.setRowStretch(row, 1)
        grid.setColumnStretch(1, 1)
        return grid

    @property
    def visible_texts(self) -> list[str]:
        """Keys and titles that pass the filter, in lower case."""
        return [text for text, widgets in self._rows if not widgets[0].isHidden()]

    def _narrow(self, query: str) -> None:
        words = query.casefold().split()
        for text, widgets in self._rows:
            for widget in widgets:
                widget.setVisible(all(word in text for word in words))
        for head, first, last in self._sections:
            head.setVisible(any(not widgets[0].isHidden() for _, widgets in self._rows[first:last]))


def _balanced(
    sections: list[tuple[str, list[tuple[str, str]]]], columns: int
) -> list[list[tuple[str, list[tuple[str, str]]]]]:
    """The sections, in order, in columns of similar length."""
    total = sum(len(entries) + 2 for _, entries in sections)
    shares: list[list[tuple[str, list[tuple[str, str]]]]] = [[]]
    length = 0
    for section in sections:
        height = len(section[1]) + 2
        if len(shares) < columns and shares[-1] and length + height / 2 > total / columns * len(shares):
            shares.append([])
        shares[-1].append(section)
        length += height
    return shares


def show_help_sheet(commands: Iterable[WindowCommand], parent: QWidget | None) -> HelpSheet:
    """Show the dialog beside a window; it may stay open, and is then brought to the front."""
    sheets = [] if parent is None else parent.findChildren(HelpSheet)
    sheet = next((sheet for sheet in sheets if sheet.isVisible()), None) or HelpSheet(commands, parent)
    sheet.show()
    sheet.raise_()
    sheet.activateWindow()
    sheet.filter.setFocus()
    return sheet
