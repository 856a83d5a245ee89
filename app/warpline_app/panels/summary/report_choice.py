"""Chooses the report: a button that opens a searchable, grouped list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHeaderView,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from warpline.i18n import tr, tr_n
from warpline_app.look.appearance import appearance
from warpline_app.look.plain import plain
from warpline_app.look.widgets import search_field

_NAME_ROLE = Qt.ItemDataRole.UserRole
_LIST_SIZE = QSize(400, 420)


@dataclass(frozen=True)
class ReportEntry:
    """A report in the list: name, title and group; ``missing`` says why it has no data."""

    name: str
    title: str
    group: str
    missing: str = ""


class ReportChoice(QToolButton):
    """Shows the title of the selected report; reports without data are collapsed at the end of the list."""

    chosen = Signal(str)
    """name of the selected report"""

    def __init__(self, entries: Sequence[ReportEntry], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("choice")
        self.setAccessibleName(tr("Report"))
        self.setToolTip(tr("Choose a report"))
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self._entries = {entry.name: entry for entry in entries}
        self.current = ""
        """name of the selected report"""
        self.list = ReportList(entries, self)
        self.list.picked.connect(self.choose)
        self.clicked.connect(self.open_list)

    def choose(self, name: str) -> None:
        """Show a report by name. Raises KeyError if there is none."""
        entry = self._entries[name]
        self.list.hide()
        if name != self.current:
            self.current = name
            self.setText(f"{entry.title}  ▾")
            self.setAccessibleDescription(entry.title)
            self.chosen.emit(name)

    def open_list(self) -> None:
        """Open the list at the button, within the screen, with the current report selected."""
        self.list.begin(self.current)
        place = self.mapToGlobal(QPoint(0, self.height()))
        free = self.screen().availableGeometry()
        if place.y() + self.list.height() > free.bottom():
            place.setY(max(free.top(), self.mapToGlobal(QPoint(0, 0)).y() - self.list.height()))
        self.list.move(min(place.x(), max(free.left(), free.right() - self.list.width())), place.y())
        self.list.show()
        self.list.search.setFocus()


class ReportList(QFrame):
    """The drop-down list: type to search, arrows and Return select, Escape closes."""

    picked = Signal(str)
    """name of a report"""

    def __init__(self, entries: Sequence[ReportEntry], parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("paletteFrame")
        self.search = search_field(tr("Find a report"))
        self.search.textChanged.connect(self._filter)
        self.search.installEventFilter(self)
        self.tree = QTreeWidget()
        self.tree.setHeaderHidden(True)
        self.tree.setColumnCount(1)
        self.tree.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.tree.header().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.tree.itemClicked.connect(self._pick)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(6, 6, 6, 6)
        layout.setSpacing(6)
        layout.addWidget(self.search)
        layout.addWidget(self.tree)
        self.resize(_LIST_SIZE)
        self._items: dict[str, QTreeWidgetItem] = {}
        self._groups: list[QTreeWidgetItem] = []
        self._missing: QTreeWidgetItem | None = None
        self._muted: list[QTreeWidgetItem] = []
        self._fill(entries)

    def _fill(self, entries: Sequence[ReportEntry]) -> None:
        present = [entry for entry in entries if not entry.missing]
        for group in dict.fromkeys(entry.group for entry in present):
            self._add_group(group, [entry for entry in present if entry.group == group]).setExpanded(True)
        missing = [entry for entry in entries if entry.missing]
        if missing:
            title = tr_n("Not in this capture ({count})", "Not in this capture ({count})", len(missing))
            self._missing = self._add_group(title, missing)

    def _add_group(self, title: str, entries: Sequence[ReportEntry]) -> QTreeWidgetItem:
        head = QTreeWidgetItem([title])
        head.setFlags(Qt.ItemFlag.ItemIsEnabled)
        font = self.tree.font()
        font.setBold(True)
        head.setFont(0, font)
        self.tree.addTopLevelItem(head)
        self._groups.append(head)
        for entry in entries:
            item = QTreeWidgetItem([entry.title])
            item.setData(0, _NAME_ROLE, entry.name)
            item.setToolTip(0, plain(f"{entry.name}\n{entry.missing}" if entry.missing else entry.name))
            if entry.missing:
                self._muted.append(item)
            head.addChild(item)
            self._items[entry.name] = item
        return head

    def begin(self, current: str) -> None:
        """Show the whole list with a report selected."""
        muted = QBrush(appearance().theme.color("muted"))
        for muted_item in self._muted:
            muted_item.setForeground(0, muted)
        self.search.clear()
        self._filter("")
        item = self._items.get(current)
        if item is not None:
            self.tree.setCurrentItem(item)
            self.tree.scrollToItem(item)

    @property
    def names(self) -> list[str]:
        """The visible reports, top to bottom."""
        return [
            name
            for name, item in self._items.items()
            if not item.isHidden() and (group := item.parent()) is not None and group.isExpanded()
        ]

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for name, item in self._items.items():
            searchable = f"{item.text(0)} {name}".casefold()
            item.setHidden(not all(word in searchable for word in words))
        for head in self._groups:
            head.setHidden(
                not any(not item.isHidden() for item in self._items.values() if item.parent() is head)
            )
            head.setExpanded(bool(words) or head is not self._missing)
        names = self.names
        if words and names:
            self.tree.setCurrentItem(self._items[names[0]])

    def _step(self, step: int) -> None:
        names = self.names
        current = self.tree.currentItem()
        name = current.data(0, _NAME_ROLE) if current is not None else None
        place = names.index(name) + step if name in names else 0
        if names:
            self.tree.setCurrentItem(self._items[names[max(0, min(place, len(names) - 1))]])

    def _pick(self, item: QTreeWidgetItem | None) -> None:
        name = item.data(0, _NAME_ROLE) if item is not None else None
        if name is not None:
            self.picked.emit(name)
        elif item is not None:
            item.setExpanded(not item.isExpanded())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle arrows and Return for the list while the focus is in the search field."""
        if watched is self.search and event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            steps = {
                Qt.Key.Key_Down: 1,
                Qt.Key.Key_Up: -1,
                Qt.Key.Key_PageDown: 10,
                Qt.Key.Key_PageUp: -10,
            }
            key = Qt.Key(event.key())
            if key in steps:
                self._step(steps[key])
                return True
            if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._pick(self.tree.currentItem())
                return True
        return super().eventFilter(watched, event)
