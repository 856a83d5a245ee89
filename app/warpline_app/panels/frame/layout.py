"""Places the panels of a window: below the timeline, right of it, floating, or hidden."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QApplication, QMenu, QRubberBand, QWidget

from warpline.i18n import tr
from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.floating import FLOATING_SIZE, FloatingPanel, zone_of
from warpline_app.panels.frame.host import PanelHost
from warpline_app.panels.frame.panel_spec import Area, PanelSpec
from warpline_app.panels.frame.registry import all_panels
from warpline_app.panels.frame.room import SharedRoom, bottom_height, right_width
from warpline_app.panels.frame.saved_places import names, places, two_sizes

if TYPE_CHECKING:
    from warpline.model.frames import StackFrame
    from warpline_app.panels.frame.row_target import RowTarget

_LEAST_CENTER_PX = (360, 160)
_GRIP = QPoint(60, 12)
"""Where the pointer grips the window of a panel that starts to float."""


class PanelLayout(QObject):
    """Places the timeline and two panel areas in splitters and remembers where panels are.

    ``widget`` is the window's content. Nothing is created for an empty or hidden area.
    """

    changed = Signal()
    """A panel was shown, hidden, moved or raised."""

    def __init__(
        self, center: QWidget, specs: Sequence[PanelSpec] | None = None, parent: QObject | None = None
    ) -> None:
        """``specs`` are the available panels; by default the registry's."""
        super().__init__(parent)
        specs = all_panels() if specs is None else specs
        self._specs = {spec.id: spec for spec in specs}
        self._area: dict[str, Area | None] = {spec.id: spec.area if spec.shown else None for spec in specs}
        self._last_area: dict[str, Area] = {spec.id: spec.area for spec in specs}
        self.bottom = PanelHost("bottom")
        self.right = PanelHost("right")
        self._floating: dict[str, FloatingPanel] = {}
        self._places: dict[str, QRect] = {}
        self._hint: QRubberBand | None = None
        self._needed_px = 0
        # Not the minimum size of its tabs: a hidden comparison would squeeze the panels of all others.
        center.setMinimumSize(*_LEAST_CENTER_PX)
        self._inner = SharedRoom(
            Qt.Orientation.Vertical, center, self.bottom, lambda whole: bottom_height(whole, self._needed_px)
        )
        self.widget = SharedRoom(Qt.Orientation.Horizontal, self._inner, self.right, right_width)
        self._document: Document | None = None
        for host in (self.bottom, self.right):
            host.setMinimumSize(160, 96)
            self._follow(host)
        for panel_id, area in self._area.items():
            if area is not None:
                self._host_for(panel_id, area).add(self._specs[panel_id])
        self._update_visibility()

    def _follow(self, host: PanelHost) -> None:
        host.close_requested.connect(self.hide_panel)
        host.menu_requested.connect(self._menu)
        host.events_wanted.connect(self.show_events_of)
        host.current_changed.connect(lambda _id: self.changed.emit())
        host.tabs.dragged.connect(self._show_hint)
        host.tabs.drag_ended.connect(self._hide_hint)
        # The host is deleted with its last tab, so wait until Qt has handled the mouse release.
        host.tabs.dropped.connect(
            lambda point: QTimer.singleShot(0, self, partial(self._dropped, host.current_id, point))
        )

    def _hosts(self) -> tuple[PanelHost, ...]:
        return self.bottom, self.right, *(window.host for window in self._floating.values())

    def _host_for(self, panel_id: str, area: Area) -> PanelHost:
        """The host of a panel in an area; creates a window for a panel that starts to float."""
        if area != "float":
            return self.bottom if area == "bottom" else self.right
        window = self._floating.get(panel_id)
        if window is None:
            host = PanelHost("float")
            self._follow(host)
            window = FloatingPanel(self._specs[panel_id], host, self.widget.window())
            window.closed.connect(self._window_closed)
            host.set_document(self._document)
            self._floating[panel_id] = window
            place = self._places.get(panel_id)
            if place is not None:
                window.setGeometry(place)
        return window.host

    def _remove_from(self, panel_id: str, area: Area) -> None:
        """Remove a panel from an area, and its window if it floats."""
        self._host_for(panel_id, area).remove(panel_id)
        window = self._floating.pop(panel_id, None) if area == "float" else None
        if window is not None:
            self._places[panel_id] = window.geometry()
            window.hide()
            window.deleteLater()

    @property
    def panel_ids(self) -> tuple[str, ...]:
        """Ids of all available panels."""
        return tuple(self._specs)

    def is_shown(self, panel_id: str) -> bool:
        """Whether the panel has a tab in this window."""
        return self._area.get(panel_id) is not None

    def is_in_front(self, panel_id: str) -> bool:
        """Whether the panel is in front in its area."""
        area = self._area.get(panel_id)
        return area is not None and self._host_for(panel_id, area).current_id == panel_id

    def panel(self, panel_id: str) -> Panel | None:
        """The widget of a panel if it is in front, else None."""
        area = self._area.get(panel_id)
        if area is None or not self.is_in_front(panel_id):
            return None
        return self._host_for(panel_id, area).current_panel()

    def area_of(self, panel_id: str) -> QWidget:
        """Where the panel is, or would be shown."""
        return self._host_for(panel_id, self._area[panel_id] or self._last_area[panel_id])

    @property
    def is_settled(self) -> bool:
        """Whether every visible panel shows the current state."""
        visible = [host for host in self._hosts() if host.isVisible()]
        panels = [host.current_panel() for host in visible]
        return all(panel is not None and panel.is_settled for panel in panels)

    def show_panel(self, panel_id: str, area: Area | None = None) -> None:
        """Show a panel in front; ``area`` moves it. Raises KeyError for an unknown id."""
        spec = self._specs[panel_id]
        target = area or self._area[panel_id] or self._last_area[panel_id]
        before = self._area[panel_id]
        if before is not None and before != target:
            self._remove_from(panel_id, before)
        self._area[panel_id] = self._last_area[panel_id] = target
        host = self._host_for(panel_id, target)
        host.add(spec, is_back=True)
        self._update_visibility()
        host.raise_panel(panel_id)
        host.ensure_shown()
        self.changed.emit()

    def greet(self) -> None:
        """Raise the panels meant to be seen first in a capture, unless the user hid them."""
        for spec in self._specs.values():
            area = self._area[spec.id]
            if spec.greets and area is not None:
                self._host_for(spec.id, area).raise_panel(spec.id)

    def show_events_of(self, target: RowTarget) -> None:
        """List the events of a row in the panel that lists events."""
        panel = self._raise(next((spec for spec in self._specs.values() if spec.lists_events), None))
        if panel is not None:
            panel.show_events_of(target)

    def show_source(self, frame: StackFrame) -> None:
        """Show a line of a file in the panel that shows source."""
        panel = self._raise(next((spec for spec in self._specs.values() if spec.shows_source), None))
        if panel is not None:
            panel.show_source(frame)

    def _show_findings(self) -> None:
        """Raise the panel meant to be seen first, even if the user hid it."""
        self._raise(next((spec for spec in self._specs.values() if spec.greets), None))

    def _raise(self, spec: PanelSpec | None) -> Panel | None:
        """Bring a panel to the front and return it."""
        if spec is None:
            return None
        self.show_panel(spec.id)
        return self.panel(spec.id)

    def hide_panel(self, panel_id: str) -> None:
        """Hide a panel; `show_panel` restores it in the same area."""
        area = self._area[panel_id]
        if area is None:
            return
        self._area[panel_id] = None
        self._remove_from(panel_id, area)
        self._update_visibility()
        self.changed.emit()

    def _window_closed(self, panel_id: str) -> None:
        # The main window closes its tool windows when it closes; the user did not hide them.
        if self.widget.isVisible():
            self.hide_panel(panel_id)

    def toggle_panel(self, panel_id: str) -> None:
        """Bring a panel to the front, or hide it if it is already there."""
        if self.is_in_front(panel_id) and self._document is not None:
            self.hide_panel(panel_id)
        else:
            self.show_panel(panel_id)

    def set_document(self, document: Document | None) -> None:
        """Show the panels of a document; new ones appear with `fill`. None hides all."""
        self._disconnect()
        self._document = document
        if document is not None:
            document.state.events_wanted.connect(self._list_events)
            document.state.source_wanted.connect(self.show_source)
            document.state.findings_wanted.connect(self._show_findings)
        self._update_visibility()
        for host in self._hosts():
            host.set_document(document)

    @property
    def are_in_use(self) -> bool:
        """Whether the pointer is over a panel or the keyboard in it."""
        focus = QApplication.focusWidget()
        return any(
            host.isVisible() and (host.underMouse() or (focus is not None and host.isAncestorOf(focus)))
            for host in self._hosts()
        )

    def exchange(self, before: Document, after: Document) -> None:
        """Show the panels of a later capture of the same recording; the former ones stay in view until they are."""
        for host in self._hosts():
            host.cover()
        self.set_document(after)
        self.fill()
        self.forget_document(before)

    def _disconnect(self) -> None:
        if self._document is not None:
            self._document.state.events_wanted.disconnect(self._list_events)
            self._document.state.source_wanted.disconnect(self.show_source)
            self._document.state.findings_wanted.disconnect(self._show_findings)

    def _list_events(self, kind: str, column: str, text: str) -> None:
        table = None if self._document is None else self._document.capture.kinds.get(kind)
        if table is not None:
            from warpline_app.panels.frame.row_target import (
                RowTarget,  # imports the analysis only when needed
            )

            self.show_events_of(RowTarget(kind=table.code, columns=((column, text),)))

    def fill(self) -> None:
        """Create the visible panels."""
        for host in self._hosts():
            host.fill()

    def forget_document(self, document: Document) -> None:
        """Delete the panels of a document before it is closed."""
        for host in self._hosts():
            host.forget_document(document)
        if self._document is document:
            self._disconnect()
            self._document = None

    def set_timeline_height(self, needed_px: int) -> None:
        """Set the height the timeline needs for all its rows; panels get the rest of a large window."""
        if needed_px != self._needed_px:
            self._needed_px = needed_px
            self._inner.share()

    def reset(self) -> None:
        """Put every panel where a new user finds it, and divide the window anew."""
        self._take_all_out()
        for panel_id, spec in self._specs.items():
            self._area[panel_id] = spec.area if spec.shown else None
            self._last_area[panel_id] = spec.area
            if spec.shown:
                self._host_for(panel_id, spec.area).add(spec)
        self._places.clear()
        self._update_visibility()
        for room in (self._inner, self.widget):
            room.is_by_hand = False
            room.share()
        for host in (self.bottom, self.right):
            if host.specs:
                host.raise_panel(host.specs[0].id)
        self.fill()
        self.changed.emit()

    def _take_all_out(self) -> None:
        for panel_id, before in self._area.items():
            if before is not None:
                self._remove_from(panel_id, before)

    def _update_visibility(self) -> None:
        has_document = self._document is not None
        for host in self._hosts():
            host.setVisible(has_document and bool(host.specs))
        for window in self._floating.values():
            window.setVisible(has_document and self.widget.isVisible())

    def _dropped(self, panel_id: str, point: QPoint) -> None:
        """Dock a dropped tab at the window's edge, or let it float."""
        if panel_id not in self._specs:
            return
        zone = self._zone(point)
        if zone == "float":
            self._places[panel_id] = QRect(point - _GRIP, QSize(*FLOATING_SIZE))
            if self._area[panel_id] == "float":
                self._floating[panel_id].move(point - _GRIP)
                return
        self.show_panel(panel_id, zone)

    def _zone(self, point: QPoint) -> Area:
        return zone_of(QRect(self.widget.mapToGlobal(QPoint(0, 0)), self.widget.size()), point)

    def _show_hint(self, point: QPoint) -> None:
        """Shade the area a tab would take if dropped now."""
        window = self.widget.window()
        if self._hint is None:
            # A child of the window, because a splitter would adopt it.
            self._hint = QRubberBand(QRubberBand.Shape.Rectangle, window)
        place, zone = QRect(self.widget.mapTo(window, QPoint(0, 0)), self.widget.size()), self._zone(point)
        if zone == "right":
            place.setLeft(place.right() - place.width() // 4)
        elif zone == "bottom":
            place.setTop(place.center().y())
        else:
            place = QRect(window.mapFromGlobal(point) - _GRIP, QSize(*FLOATING_SIZE))
        self._hint.setGeometry(place)
        self._hint.show()

    def _hide_hint(self) -> None:
        if self._hint is not None:
            self._hint.hide()

    def _menu(self, panel_id: str, position: QPoint) -> None:
        menu = QMenu(self.widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        moves: tuple[tuple[Area, str], ...] = (
            ("bottom", tr("Move to bottom")),
            ("right", tr("Move to right")),
            ("float", tr("Move to a separate window")),
        )
        for area, text in moves:
            if area != self._area[panel_id]:
                # Deferred: the menu's tab is deleted with the panel.
                menu.addAction(
                    text, partial(QTimer.singleShot, 0, self, partial(self.show_panel, panel_id, area))
                )
        menu.addAction(tr("Hide"), lambda: self.hide_panel(panel_id))
        menu.addSeparator()
        for other in self._specs.values():
            action = menu.addAction(other.text)
            action.setCheckable(True)
            action.setChecked(self.is_shown(other.id))
            action.toggled.connect(
                lambda on, name=other.id: self.show_panel(name) if on else self.hide_panel(name)
            )
        menu.popup(position)

    def save(self) -> dict[str, Any]:
        """The layout as a JSON-able object for the settings."""
        return {
            "bottom": [spec.id for spec in self.bottom.specs],
            "right": [spec.id for spec in self.right.specs],
            "float": {name: _numbers(window.geometry()) for name, window in self._floating.items()},
            "known": list(self._specs),
            "front": [host.current_id for host in (self.bottom, self.right)],
            "by_hand": [self._inner.is_by_hand, self.widget.is_by_hand],
            "inner": self._inner.sizes(),
            "outer": self.widget.sizes(),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Restore what `save` returned; unknown entries are ignored."""
        if not (isinstance(saved.get("bottom"), list) and isinstance(saved.get("right"), list)):
            return
        known = saved.get("known")
        known_ids = set(names(known)) if isinstance(known, list) else set(self._specs)
        self._take_all_out()
        for panel_id, spec in self._specs.items():
            # A panel added in a later version gets its default place.
            is_new = panel_id not in known_ids
            self._area[panel_id] = spec.area if is_new and spec.shown else None
        areas: tuple[Area, Area] = ("bottom", "right")
        for area in areas:
            new = [name for name, where in self._area.items() if where == area]
            for panel_id in dict.fromkeys([*names(saved[area]), *new]):
                # A duplicate name keeps its first place.
                if panel_id in self._specs and self._area[panel_id] in (None, area):
                    self._area[panel_id] = self._last_area[panel_id] = area
                    self._host_for(panel_id, area).add(self._specs[panel_id])
        for panel_id, place in places(saved.get("float")).items():
            if panel_id in self._specs and self._area[panel_id] is None:
                self._places[panel_id] = place
                self._area[panel_id] = self._last_area[panel_id] = "float"
                self._host_for(panel_id, "float").add(self._specs[panel_id])
        for host, front in zip((self.bottom, self.right), names(saved.get("front")), strict=False):
            host.raise_panel(front)
        moved = saved.get("by_hand")
        moved = moved if isinstance(moved, list) else [True, True]
        rooms = ((self._inner, "inner"), (self.widget, "outer"))
        for (room, key), is_by_hand in zip(rooms, moved, strict=False):
            sizes = two_sizes(saved.get(key))
            if sizes and is_by_hand:
                room.setSizes(sizes)
                room.is_by_hand = True
        self._update_visibility()


def _numbers(place: QRect) -> list[int]:
    return [place.x(), place.y(), place.width(), place.height()]
