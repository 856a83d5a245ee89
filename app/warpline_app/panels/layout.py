"""Where the panels of a window are: below the timeline, at its right, or away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QMenu, QSplitter, QWidget

from warpline.i18n import tr
from warpline_app.panels.host import PanelHost
from warpline_app.panels.registry import PANELS, Area, PanelSpec
from warpline_app.state import Document


class PanelLayout(QObject):
    """Puts the timeline's widget and two panel areas into splitters and remembers who is where.

    ``widget`` is what the window shows. Nothing is made for an area that is empty or hidden.
    """

    changed = Signal()
    """A panel was shown, hidden, moved or raised."""

    def __init__(
        self, center: QWidget, specs: Sequence[PanelSpec] = PANELS, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._specs = {spec.id: spec for spec in specs}
        self._area: dict[str, Area | None] = {spec.id: spec.area if spec.shown else None for spec in specs}
        self._last_area: dict[str, Area] = {spec.id: spec.area for spec in specs}
        self.bottom = PanelHost("bottom")
        self.right = PanelHost("right")
        self._inner = QSplitter(Qt.Orientation.Vertical)
        self._inner.setChildrenCollapsible(False)
        self._inner.addWidget(center)
        self._inner.addWidget(self.bottom)
        self._inner.setStretchFactor(0, 1)
        self._inner.setSizes([520, 280])
        self.widget = QSplitter(Qt.Orientation.Horizontal)
        self.widget.setChildrenCollapsible(False)
        self.widget.addWidget(self._inner)
        self.widget.addWidget(self.right)
        self.widget.setStretchFactor(0, 1)
        self.widget.setSizes([1100, 300])
        for splitter in (self._inner, self.widget):
            splitter.setHandleWidth(3)
        self._document: Document | None = None
        for host in self._hosts():
            host.setMinimumSize(160, 96)
            host.close_requested.connect(self.hide_panel)
            host.menu_requested.connect(self._menu)
            host.current_changed.connect(lambda _id: self.changed.emit())
        for panel_id, area in self._area.items():
            if area is not None:
                self._host(area).add(self._specs[panel_id])
        self._update_visibility()

    def _hosts(self) -> tuple[PanelHost, PanelHost]:
        return self.bottom, self.right

    def _host(self, area: Area) -> PanelHost:
        return self.bottom if area == "bottom" else self.right

    @property
    def panel_ids(self) -> tuple[str, ...]:
        """All panels there are."""
        return tuple(self._specs)

    def is_shown(self, panel_id: str) -> bool:
        """Whether the panel has a tab in this window."""
        return self._area.get(panel_id) is not None

    def is_in_front(self, panel_id: str) -> bool:
        """Whether the panel is the one that is seen in its area."""
        area = self._area.get(panel_id)
        return area is not None and self._host(area).current_id == panel_id

    def panel(self, panel_id: str) -> QWidget | None:
        """The widget of a panel that is in front, None otherwise."""
        area = self._area.get(panel_id)
        return self._host(area).current_panel() if area is not None and self.is_in_front(panel_id) else None

    @property
    def is_settled(self) -> bool:
        """Whether every panel that is seen shows what the state says."""
        visible = [host for host in self._hosts() if host.isVisible()]
        panels = [host.current_panel() for host in visible]
        return all(panel is not None and getattr(panel, "is_settled", True) for panel in panels)

    def show_panel(self, panel_id: str, area: Area | None = None) -> None:
        """Show a panel and bring it to the front; ``area`` moves it. Raises KeyError for an unknown id."""
        spec = self._specs[panel_id]
        target = area or self._area[panel_id] or self._last_area[panel_id]
        if self._area[panel_id] not in {None, target}:
            self._host(self._last_area[panel_id]).remove(panel_id)
        self._area[panel_id] = self._last_area[panel_id] = target
        self._host(target).add(spec)
        self._update_visibility()
        self._host(target).raise_panel(panel_id)
        self._host(target).ensure_shown()
        self.changed.emit()

    def hide_panel(self, panel_id: str) -> None:
        """Take a panel away; `show_panel` brings it back to the same area."""
        area = self._area[panel_id]
        if area is None:
            return
        self._area[panel_id] = None
        self._host(area).remove(panel_id)
        self._update_visibility()
        self.changed.emit()

    def toggle_panel(self, panel_id: str) -> None:
        """Bring a panel to the front; hide it when it is there already."""
        if self.is_in_front(panel_id) and self._document is not None:
            self.hide_panel(panel_id)
        else:
            self.show_panel(panel_id)

    def set_document(self, document: Document | None) -> None:
        """Show the panels of this document, those that must be made first with `fill`; without one none."""
        self._document = document
        self._update_visibility()
        for host in self._hosts():
            host.set_document(document)

    def fill(self) -> None:
        """Make the panels that are seen."""
        for host in self._hosts():
            host.fill()

    def forget_document(self, document: Document) -> None:
        """Let the panels of a document go before it is closed."""
        for host in self._hosts():
            host.forget_document(document)
        if self._document is document:
            self._document = None

    def _update_visibility(self) -> None:
        for host in self._hosts():
            host.setVisible(self._document is not None and bool(host.specs))

    def _menu(self, panel_id: str, position: QPoint) -> None:
        menu = QMenu(self.widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self._area[panel_id] == "bottom":
            menu.addAction(tr("Move to the right"), lambda: self.show_panel(panel_id, "right"))
        else:
            menu.addAction(tr("Move to the bottom"), lambda: self.show_panel(panel_id, "bottom"))
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
        """Who is where, as a JSON-able object for the settings."""
        return {
            "bottom": [spec.id for spec in self.bottom.specs],
            "right": [spec.id for spec in self.right.specs],
            "known": list(self._specs),
            "front": [host.current_id for host in self._hosts()],
            "inner": self._inner.sizes(),
            "outer": self.widget.sizes(),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Arrange as `save` told; what it does not know or the version no longer has is left out."""
        if not (isinstance(saved.get("bottom"), list) and isinstance(saved.get("right"), list)):
            return
        known = saved.get("known")
        known_ids = set(known) if isinstance(known, list) else set(self._specs)
        for host in self._hosts():
            for spec in host.specs:
                host.remove(spec.id)
        for panel_id, spec in self._specs.items():
            # A panel that came with a later version appears where its authors put it.
            is_new = panel_id not in known_ids
            self._area[panel_id] = spec.area if is_new and spec.shown else None
        areas: tuple[Area, Area] = ("bottom", "right")
        for area in areas:
            for panel_id in [*saved[area], *(name for name, where in self._area.items() if where == area)]:
                if panel_id in self._specs:
                    self._area[panel_id] = self._last_area[panel_id] = area
                    self._host(area).add(self._specs[panel_id])
        for host, front in zip(self._hosts(), saved.get("front", ()), strict=False):
            host.raise_panel(str(front))
        for splitter, key in ((self._inner, "inner"), (self.widget, "outer")):
            sizes = saved.get(key)
            if (
                isinstance(sizes, list)
                and len(sizes) == 2
                and all(isinstance(s, int) and s > 0 for s in sizes)
            ):
                splitter.setSizes(sizes)
        self._update_visibility()
