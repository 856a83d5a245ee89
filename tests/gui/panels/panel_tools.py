"""What tests of panels do all the time: open one, wait for it, read its cells, count pixels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from warpline.storage import Capture
from warpline_app.panels.events.panel import EventsPanel
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.memory.panel import MemoryPanel
from warpline_app.panels.steps.panel import StepsPanel
from warpline_app.panels.summary.panel import SummaryPanel
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

P = TypeVar("P", bound=Panel)
OpenPage = Callable[[Path], CapturePage]
LEFT = Qt.MouseButton.LeftButton
CONTROL = Qt.KeyboardModifier.ControlModifier
TablePanel = SummaryPanel | StepsPanel | MemoryPanel | EventsPanel


def settle(qtbot: QtBot, window: MainWindow) -> None:
    """Waits until timeline and panels show what the state says."""
    page = window.tabs.current_page
    assert page is not None

    def settled() -> None:
        assert window.panels.is_settled, "a panel still computes"
        assert page.view.is_idle, "the timeline still draws"

    qtbot.waitUntil(settled, timeout=60_000)


def panel_of(qtbot: QtBot, window: MainWindow, panel_id: str, kind: type[P]) -> P:
    """A panel, in front and settled."""
    window.panels.show_panel(panel_id)
    settle(qtbot, window)
    panel = window.panels.panel(panel_id)
    assert isinstance(panel, kind)
    return panel


def summary_of(qtbot: QtBot, window: MainWindow, report: str) -> SummaryPanel:
    """The Summary with one of its tables."""
    panel = panel_of(qtbot, window, "summary", SummaryPanel)
    panel.choose(report)
    settle(qtbot, window)
    return panel


def events_of(qtbot: QtBot, window: MainWindow, kind: str = "") -> EventsPanel:
    """The Events of one kind, or of all."""
    panel = panel_of(qtbot, window, "events", EventsPanel)
    panel.kind.setCurrentIndex(panel.kind.findData(kind))
    settle(qtbot, window)
    return panel


def cells(panel: TablePanel) -> list[list[str]]:
    """What stands in the table, row by row."""
    model = panel.table.model_
    return [
        [str(model.data(model.index(row, column))) for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def headers(panel: TablePanel) -> list[str]:
    """The titles of the columns."""
    model = panel.table.model_
    return [str(model.headerData(i, Qt.Orientation.Horizontal)) for i in range(model.columnCount())]


def column(panel: TablePanel, key: str) -> list[str]:
    """One column as it is copied."""
    model = panel.table.model_
    (found,) = [column for column in model.columns if column.identity == key]
    return [found.raw_text(item) for item in model.items_shown().tolist()]


def pixels(widget: QWidget, color: int) -> int:
    """How many pixels of a grabbed widget have exactly a colour (0xrrggbb)."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    data = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.bytesPerLine() // 4)
    return int(np.count_nonzero((data & 0xFFFFFF) == (color & 0xFFFFFF)))


def kernel(capture: Capture, number: int) -> int:
    """The row of a kernel."""
    return int(capture.kinds["kernel"].rows[number])
