"""A row of panel tabs above the selected panel, with the panel's scope at the right."""

from __future__ import annotations

import sys
from functools import partial

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedWidget, QToolButton, QWidget

from warpline.i18n import tr, tr_n
from warpline_app.look.elided import ElidedLabel
from warpline_app.look.plain import PlainLabel, plain
from warpline_app.look.widgets import flat_column
from warpline_app.open.document import Document
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.failed import FailedPanel
from warpline_app.panels.frame.panel_spec import Area, PanelSpec
from warpline_app.panels.frame.tabs import PanelTabs

COVER_MS = 40
MOST_COVERED = 100
"""Looks at a panel that does not settle before it is shown as it is."""


class PanelHost(QWidget):
    """Shows the panels of one area for the document in front.

    Panels are created when first shown and kept per document, with their content. Tabs of panels without data and
    tabs that do not fit move into a menu at the end of the row.
    """

    menu_requested = Signal(str, QPoint)
    """id of a panel and the global position of its menu"""
    close_requested = Signal(str)
    """id of the panel to hide"""
    current_changed = Signal(str)
    """id of the panel in front"""
    events_wanted = Signal(object)
    """A `RowTarget` whose events the user wants to list"""

    def __init__(self, area: Area, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panelHost")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.area = area
        self._specs: list[PanelSpec] = []
        self._left: dict[str, int] = {}
        """the places of removed tabs"""
        self._document: Document | None = None
        self._may_create = False
        self._hidden_specs: tuple[PanelSpec, ...] = ()
        """panels whose tabs are in the menu"""
        self._panels: dict[tuple[str, int], Panel] = {}
        self.tabs = PanelTabs()
        self.tabs.currentChanged.connect(self._tab_changed)
        self.tabs.tabMoved.connect(self._tab_moved)
        self.tabs.customContextMenuRequested.connect(self._menu)
        self._scope = ElidedLabel()
        self._scope.setObjectName("scope")
        self._scope.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.more = QToolButton()
        self.more.setObjectName("flat")
        self.more.setText("⋯")
        self.more.setAccessibleName(tr("More panels"))
        self.more.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._more_menu = QMenu(self.more)
        self._more_menu.aboutToShow.connect(self._fill_more)
        self.more.setMenu(self._more_menu)
        self._close = close = QToolButton()
        close.setObjectName("flat")
        close.setText("✕")
        close.setToolTip(tr("Hide this panel"))
        close.setAccessibleName(tr("Hide this panel"))
        close.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        close.clicked.connect(self._close_current)
        strip = QWidget()
        strip.setObjectName("panelStrip")
        strip.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(strip)
        row.setContentsMargins(4, 1, 6, 0)
        row.setSpacing(8)
        row.addWidget(self.tabs)
        row.addWidget(self.more)
        row.addWidget(self._scope, 1)
        row.addWidget(close)
        self._stack = QStackedWidget()
        self._blank = QWidget()
        self._stack.addWidget(self._blank)
        self._cover: PlainLabel | None = None
        self._covered = 0
        self._uncovering = QTimer(self)
        self._uncovering.setInterval(COVER_MS)
        self._uncovering.timeout.connect(self._uncover_settled)
        layout = flat_column(self)
        layout.addWidget(strip)
        layout.addWidget(self._stack, 1)

    @property
    def specs(self) -> tuple[PanelSpec, ...]:
        """The panels of this area in tab order."""
        return tuple(self._specs)

    @property
    def current_id(self) -> str:
        """Id of the panel in front; empty if there is none."""
        index = self.tabs.currentIndex()
        return self._specs[index].id if 0 <= index < len(self._specs) else ""

    def current_panel(self) -> Panel | None:
        """The panel in front; None until it is created."""
        widget = self._stack.currentWidget()
        return widget if isinstance(widget, Panel) else None

    def add(self, spec: PanelSpec, *, is_back: bool = False) -> None:
        """Add a tab for a panel: the last one, or, where it ``is_back``, where it was removed."""
        if spec not in self._specs:
            place = self._left.get(spec.id, len(self._specs)) if is_back else len(self._specs)
            # Insert into the list first: the tab row asks for the panel in front.
            self._specs.insert(place, spec)
            self.tabs.insertTab(place, spec.text)
            self._fit_tabs()

    def remove(self, panel_id: str) -> None:
        """Remove a panel's tab and its widgets."""
        for index, spec in enumerate(self._specs):
            if spec.id == panel_id:
                # Update the list first: removing the tab asks for the panel in front.
                del self._specs[index]
                self._left[panel_id] = index
                self.tabs.removeTab(index)
                self._fit_tabs()
                break
        for key in [key for key in self._panels if key[0] == panel_id]:
            self._drop(key)

    def raise_panel(self, panel_id: str) -> None:
        """Bring a panel to the front."""
        for index, spec in enumerate(self._specs):
            if spec.id == panel_id:
                self.tabs.setCurrentIndex(index)

    def set_document(self, document: Document | None) -> None:
        """Show the panels of this document: existing ones now, others with `fill`."""
        self._document = document
        self._may_create = False
        self._fit_tabs()
        self._show_current()

    def fill(self) -> None:
        """Create the panel in front, once nothing more urgent is pending."""
        self._may_create = True
        self._show_current()

    def forget_document(self, document: Document) -> None:
        """Delete the panels of a document before it is closed."""
        for key in [key for key in self._panels if key[1] == id(document)]:
            self._drop(key)
        if self._document is document:
            self._document = None

    def cover(self) -> None:
        """Keep a picture of the panel in front over the next one until that is settled."""
        if self.current_panel() is None or not self.isVisible():
            return
        self._uncover()
        cover = self._cover = PlainLabel(parent=self._stack)
        cover.setPixmap(self._stack.grab())
        cover.setGeometry(self._stack.rect())
        cover.show()
        cover.raise_()
        self._covered = 0
        self._uncovering.start()

    def _uncover_settled(self) -> None:
        self._covered += 1
        panel = self.current_panel()
        if panel is None or panel.is_settled or self._covered > MOST_COVERED:
            self._uncover()
        elif self._cover is not None:
            self._cover.raise_()

    def _uncover(self) -> None:
        self._uncovering.stop()
        if self._cover is not None:
            self._cover.hide()
            self._cover.deleteLater()
            self._cover = None

    def ensure_shown(self) -> None:
        """Create the panel in front if that was deferred."""
        self.fill()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_tabs()

    def _has_data(self, spec: PanelSpec) -> bool:
        return self._document is None or spec.has_data(self._document)

    def _fit_tabs(self) -> None:
        # While a tab is added or removed, the tab row calls this before the list matches.
        if self.tabs.count() != len(self._specs):
            return
        taken = self._close.sizeHint().width() + self.more.sizeHint().width() + 34
        # The scope shrinks first (its tooltip shows it whole), then tabs move to the menu.
        back = self.tabs.show_those_that_fit(
            [self._has_data(spec) for spec in self._specs], self.width() - taken
        )
        self._hidden_specs = tuple(self._specs[place] for place in back)
        self.more.setVisible(bool(back))
        self.more.setToolTip(
            plain(
                tr_n("{count} more panel", "{count} more panels", len(back))
                + ": "
                + ", ".join(spec.text for spec in self._hidden_specs)
            )
        )

    def _fill_more(self) -> None:
        self._more_menu.clear()
        empty = [spec for spec in self._hidden_specs if not self._has_data(spec)]
        for spec in self._hidden_specs:
            if spec not in empty:
                self._add_more(spec)
        if empty:
            self._more_menu.addSection(tr("Not in this capture"))
        for spec in empty:
            self._add_more(spec)

    def _add_more(self, spec: PanelSpec) -> None:
        self._more_menu.addAction(spec.text, partial(self.raise_panel, spec.id))

    def _drop(self, key: tuple[str, int]) -> None:
        panel = self._panels.pop(key)
        self._stack.removeWidget(panel)
        panel.hide()
        panel.deleteLater()

    def _show_current(self) -> None:
        index = self.tabs.currentIndex()
        if self._document is None or not self.isVisible() or not 0 <= index < len(self._specs):
            self._stack.setCurrentWidget(self._blank)
            self._scope.clear()
            return
        spec = self._specs[index]
        key = (spec.id, id(self._document))
        panel = self._panels.get(key)
        if panel is None and not self._may_create:
            self._stack.setCurrentWidget(self._blank)
            return
        if panel is None:
            panel = self._panels[key] = self._create(spec, self._document)
            self._stack.addWidget(panel)
        self._stack.setCurrentWidget(panel)
        self._refresh_labels()

    def _create(self, spec: PanelSpec, document: Document) -> Panel:
        try:
            panel = spec.make(document, self._stack)
        except Exception as error:  # the tab shows the error
            sys.excepthook(*sys.exc_info())
            panel = FailedPanel(document, error, self._stack)
        panel.scope_changed.connect(self._refresh_labels)
        panel.badge_changed.connect(self._refresh_labels)
        panel.events_wanted.connect(self.events_wanted)
        return panel

    def _refresh_labels(self, *_values: object) -> None:
        for index, spec in enumerate(self._specs):
            panel = self._panels.get((spec.id, id(self._document)))
            badge = panel.badge if panel is not None else ""
            text = f"{spec.text}  {badge}" if badge else spec.text
            # Setting a tab's text causes a layout even if it is unchanged.
            if text != self.tabs.tabText(index):
                self.tabs.setTabText(index, text)
        current = self.current_panel()
        scope = current.scope if current is not None else ""
        self._scope.setText(scope)
        self._scope.setToolTip(plain(scope))
        self._fit_tabs()

    def _tab_changed(self, _index: int) -> None:
        self._fit_tabs()
        self._show_current()
        if self.current_id:
            self.current_changed.emit(self.current_id)

    def _tab_moved(self, start: int, stop: int) -> None:
        self._specs.insert(stop, self._specs.pop(start))

    def _menu(self, position: QPoint) -> None:
        index = self.tabs.tabAt(position)
        if 0 <= index < len(self._specs):
            self.menu_requested.emit(self._specs[index].id, self.tabs.mapToGlobal(position))

    def _close_current(self) -> None:
        if self.current_id:
            self.close_requested.emit(self.current_id)
