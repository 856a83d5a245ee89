"""Windows of floating panels, and drop zones for dragged tabs."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from warpline_app.panels.frame.host import PanelHost
from warpline_app.panels.frame.panel_spec import Area, PanelSpec

FLOATING_SIZE = (760, 340)


class FloatingPanel(QWidget):
    """The window of one panel. It stays above the main window, and the main window's shortcuts work in it."""

    closed = Signal(str)
    """id of the panel whose window the user closed"""

    def __init__(self, spec: PanelSpec, host: PanelHost, owner: QWidget) -> None:
        # A tool window shares the shortcuts of its parent window.
        super().__init__(owner, Qt.WindowType.Tool)
        self.setObjectName("panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowTitle(f"{spec.text} — Warpline")
        self.spec = spec
        self.host = host
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(host)
        self.resize(*FLOATING_SIZE)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Hide the panel; showing it again makes it float."""
        super().closeEvent(event)
        self.closed.emit(self.spec.id)


def zone_of(area: QRect, point: QPoint) -> Area:
    """Where a tab dropped at a point belongs: at an edge of the window's inside ``area``, or floating."""
    if not area.contains(point):
        return "float"
    if point.x() > area.right() - area.width() // 4:
        return "right"
    return "bottom" if point.y() > area.center().y() else "float"
