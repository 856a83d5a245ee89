"""The list of notes and marks: find, go to, change, delete, merge."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QMenu, QPushButton, QTreeWidget, QTreeWidgetItem, QVBoxLayout, QWidget

from warpline.i18n import tr, tr_n
from warpline.model.errors import WarplineError
from warpline.model.notes import Note
from warpline.model.times import format_duration, format_time
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.file_dialog import FileDialog
from warpline_app.look.plain import plain
from warpline_app.look.theme import Theme, note_color
from warpline_app.look.widgets import dot_icon, muted_label, search_field
from warpline_app.look.wrapping_row import WrappingRow
from warpline_app.open.document import Document
from warpline_app.open.noting import go_to_note, note_place
from warpline_app.panels.frame.base import Panel

_ID = Qt.ItemDataRole.UserRole


class NotesPanel(Panel):
    """Rows in time order; a click goes to the note, a double click changes it."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(document, parent)
        self.search = search_field(tr("Find in notes"), width_px=(140, 260))
        self.search.textChanged.connect(self.mark_stale)
        self.merge = QPushButton(tr("Merge…"))
        self.merge.setToolTip(tr("Add the notes of a colleague's .notes.json file"))
        self.merge.clicked.connect(self._ask_merge)
        self.file = ElidedLabel()
        self.file.setObjectName("muted")
        self.list = QTreeWidget()
        self.list.setObjectName("panelTable")
        self.list.setAccessibleName(tr("Notes"))
        self.list.setRootIsDecorated(False)
        self.list.setUniformRowHeights(True)
        self.list.setHeaderLabels([tr("Time"), tr("Length"), tr("Text"), tr("On")])
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.list.itemClicked.connect(self._go)
        self.list.itemDoubleClicked.connect(self._edit)
        self.empty = muted_label(
            tr(
                "No notes yet. M marks the time under the pointer; Shift+M writes a note on the selected event,"
                " the selected range or that time. Notes are kept in a file beside the capture."
            )
        )
        self.empty.setWordWrap(True)
        self.empty.setContentsMargins(12, 10, 12, 10)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        row = WrappingRow()
        for widget in (self.search, self.merge, self.file):
            row.add(widget, is_stretching=widget is self.file)
        column.addLayout(row)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignTop)
        column.addWidget(self.empty, 1)
        column.addWidget(self.list, 1)
        self.state.notes_changed.connect(self.mark_stale)
        self.state.origin_changed.connect(self.mark_stale)
        self._show_badge()
        self.state.notes_changed.connect(self._show_badge)

    def refresh(self) -> None:
        """List the notes that match."""
        wanted = self.search.text().casefold()
        chosen = self._current_id()
        self.list.clear()
        capture, origin = self.document.capture, self.state.origin_ns
        for note in self.state.notes:
            place = note_place(capture, note)
            if wanted and wanted not in f"{note.text} {place}".casefold():
                continue
            at = "" if note.start_ns is None else format_time(note.start_ns - origin, 1000)
            length = (
                ""
                if note.start_ns is None or note.stop_ns is None
                else format_duration(note.stop_ns - note.start_ns)
            )
            item = QTreeWidgetItem([at, length, " ".join(note.text.split()), place])
            item.setIcon(0, dot_icon(note_color(self.theme, note.color)))
            item.setData(0, _ID, note.id)
            if note.text:
                item.setToolTip(2, plain(note.text))
            self.list.addTopLevelItem(item)
            if note.id == chosen:
                self.list.setCurrentItem(item)
        for index in range(3):
            self.list.resizeColumnToContents(index)
        self.list.setColumnWidth(2, min(max(self.list.columnWidth(2), 160), self.width() // 2))
        has_any = bool(self.state.notes)
        self.empty.setVisible(not has_any)
        self.list.setVisible(has_any)
        self.search.setEnabled(has_any)
        kept = self.document.notes
        self.file.setText("" if kept is None or not has_any or not kept.is_beside else kept.path.name)
        self.file.setToolTip(plain("" if kept is None else str(kept.path)))
        self.set_scope(tr_n("{count} note", "{count} notes", len(self.state.notes)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Return goes to the note, F2 changes it, Delete deletes it."""
        item = self.list.currentItem()
        if item is None:
            super().keyPressEvent(event)
        elif event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self._go(item)
        elif event.key() == Qt.Key.Key_F2:
            self._edit(item)
        elif event.key() == Qt.Key.Key_Delete:
            self.state.remove_note(str(item.data(0, _ID)))
        else:
            super().keyPressEvent(event)

    def merge_file(self, path: Path) -> None:
        """Add the notes of a file, and say how many are new."""
        kept = self.document.notes
        if kept is None:
            return
        try:
            count = kept.merge(path)
        except WarplineError as error:
            self.document.messages.show(str(error), "error")
            return
        text = tr_n(
            "{count} note merged from {name}", "{count} notes merged from {name}", count, name=path.name
        )
        self.document.messages.show(text, "info")

    def _ask_merge(self) -> None:
        dialog = FileDialog(self, tr("Merge notes"))
        dialog.setNameFilters([tr("Notes (*.notes.json)"), tr("All files (*)")])
        dialog.fileSelected.connect(lambda name: self.merge_file(Path(name)))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _current_id(self) -> str:
        item = self.list.currentItem()
        return "" if item is None else str(item.data(0, _ID))

    def _note(self, item: QTreeWidgetItem) -> Note | None:
        return next((note for note in self.state.notes if note.id == item.data(0, _ID)), None)

    def _go(self, item: QTreeWidgetItem) -> None:
        note = self._note(item)
        if note is not None:
            go_to_note(self.document, note)

    def _edit(self, item: QTreeWidgetItem) -> None:
        note = self._note(item)
        if note is not None:
            self.state.change_note(note)

    def _show_menu(self, where: QPoint) -> None:
        item = self.list.itemAt(where)
        if item is None:
            return
        menu = QMenu(self.list)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Go to note")).triggered.connect(lambda: self._go(item))
        menu.addAction(tr("Change…")).triggered.connect(lambda: self._edit(item))
        note_id = str(item.data(0, _ID))
        menu.addAction(tr("Delete")).triggered.connect(lambda: self.state.remove_note(note_id))
        menu.popup(self.list.viewport().mapToGlobal(where))

    def _show_badge(self) -> None:
        self.set_badge(str(len(self.state.notes)) if self.state.notes else "")

    def apply_theme(self, theme: Theme) -> None:
        del theme
        self.mark_stale()
