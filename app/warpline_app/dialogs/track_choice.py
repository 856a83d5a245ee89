"""Choice of tracks: those in the timeline, or any checked in a tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from warpline.i18n import translated
from warpline_app.look.plain import plain
from warpline_app.timeline.model.layout import row_is_open
from warpline_app.timeline.model.row import Content, TimelineRow

if TYPE_CHECKING:
    from warpline.storage import Capture
    from warpline_app.timeline.widgets.view import TimelineView

_ITEM_SIZE = QSize(0, 24)


def tracks_shown(view: TimelineView) -> frozenset[int]:
    """Tracks with a row in the timeline, also outside the visible part; a collapsed row stands for those below it."""
    scene = view.scene
    tracks: set[int] = set()
    for placed in (*scene.layout.pinned, *scene.layout.rows):
        row = placed.row
        if row.track >= 0:
            tracks.add(row.track)
        if row.content is Content.CURVE and not row_is_open(row, view.state):
            tracks.update(_tracks_below(row))
    return frozenset(tracks)


def _tracks_below(row: TimelineRow) -> Iterable[int]:
    return (below.track for below in row.walk() if below.track >= 0)


def tracks_pinned(view: TimelineView) -> frozenset[int]:
    """Tracks of pinned rows, and the selected event's track."""
    tracks = {
        row.track
        for key in view.state.pins
        if (row := view.scene.tree.get(key)) is not None and row.track >= 0
    }
    if view.state.selection is not None:
        tracks.add(view.document.capture.track_of_row(view.state.selection))
    return frozenset(tracks)


class TrackChoice(QTreeWidget):
    """All tracks of a capture with check boxes; checking a track checks all below it."""

    changed = Signal()

    def __init__(self, capture: Capture, checked: frozenset[int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self._items: dict[int, QTreeWidgetItem] = {}
        self._add(capture, -1, self.invisibleRootItem(), checked)
        self._open_to_checked(checked)
        self.itemChanged.connect(self._item_changed)

    def _add(self, capture: Capture, parent: int, above: QTreeWidgetItem, checked: frozenset[int]) -> None:
        for track in capture.children(parent):
            item = QTreeWidgetItem(above, [translated(capture.tracks[track].title)])
            item.setSizeHint(0, _ITEM_SIZE)
            item.setToolTip(0, plain(capture.tracks[track].uri))
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsAutoTristate)
            self._items[track] = item
            self._add(capture, track, item, checked)
            if item.childCount() == 0 or track in checked:
                item.setCheckState(0, Qt.CheckState.Checked if track in checked else Qt.CheckState.Unchecked)

    def _open_to_checked(self, checked: frozenset[int]) -> None:
        for track in checked:
            item = self._items[track].parent()
            while item is not None:
                item.setExpanded(True)
                item = item.parent()

    def _item_changed(self) -> None:
        self.changed.emit()

    def checked(self) -> frozenset[int]:
        """Checked tracks; of a partly checked track only the checked ones below it."""
        return frozenset(
            track for track, item in self._items.items() if item.checkState(0) is Qt.CheckState.Checked
        )
