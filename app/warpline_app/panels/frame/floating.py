"""The window of a panel that floats, and where a tab that was dragged out of its row belongs."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from warpline_app.panels.frame.host import PanelHost
from warpline_app.panels.frame.panel_spec import Area, PanelSpec

FLOATING_SIZE = (760, 340)


class FloatingPanel(QWidget):
    """The window of one panel. It stays above the main window, whose keys go on working in it."""

    closed = Signal(str)
    """id of the panel, when a person closed the window"""

    def __init__(self, spec: PanelSpec, host: PanelHost, owner: QWidget) -> None:
        # A tool window: the shortcuts of the window it belongs to are its own.
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
        """Closing hides the panel; it floats again when it is shown again."""
        super().closeEvent(event)
        self.closed.emit(self.spec.id)


def zone_of(area: QRect, point: QPoint) -> Area:
    """Where a tab that is let go at a point belongs, ``area`` being the window's inside: an edge, or afloat."""
    if not area.contains(point):
        return "float"
    if point.x() > area.right() - area.width() // 4:
        return "right"
    return "bottom" if point.y() > area.center().y() else "float"
