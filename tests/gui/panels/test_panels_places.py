"""Where panels are: they come, go, move, float, and are kept for each capture."""

from __future__ import annotations

import shutil
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import CONTROL, LEFT, OpenPage
from tests.gui.sample import MS

from warpline_app.panels.events.panel import EventsPanel
from warpline_app.panels.frame.registry import all_panels
from warpline_app.panels.frame.room import LEAST_BOTTOM_PX, SharedRoom, bottom_height, right_width
from warpline_app.panels.sources.panel import SourcesPanel
from warpline_app.window.main_window import MainWindow


def test_what_is_not_recorded_is_said_with_reason_and_remedy(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    window.panels.show_panel("sources")
    panel = window.panels.panel("sources")
    assert isinstance(panel, SourcesPanel)
    qtbot.waitUntil(lambda: panel.is_settled, timeout=60_000)
    from PySide6.QtWidgets import QLabel

    texts = [label.text() for label in panel.findChildren(QLabel)]
    assert "no NVIDIA driver\ninstall the NVIDIA driver, or give the container access to the GPU" in texts
    # Of each collector what it records, not what it is called in the program.
    assert {"GPU counters", "Thread states and cores"} <= set(texts)
    assert not {"nvml", "perf"} & set(texts)
    assert "the recorder was killed: the capture ends with its last record" in texts
    assert "python train.py" in texts
    assert panel.badge == "2"


def test_panels_come_go_and_move(qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path) -> None:
    open_page(sample)
    panels = window.panels
    for spec in all_panels():
        panels.show_panel(spec.id)
        assert panels.is_in_front(spec.id)
        assert panels.panel(spec.id) is not None
    order = [spec.id for spec in panels.bottom.specs]
    panels.hide_panel("summary")
    panels.show_panel("summary")
    assert [spec.id for spec in panels.bottom.specs] == order
    assert panels.is_in_front("summary")
    panels.show_panel("events", "right")
    assert [spec.id for spec in panels.right.specs] == ["details", "events"]
    for spec in all_panels():
        panels.hide_panel(spec.id)
    assert not panels.bottom.isVisible()
    assert not panels.right.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_2, CONTROL)
    assert panels.is_in_front("events")
    assert panels.right.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_2, CONTROL)
    assert not panels.right.isVisible()


def test_panels_are_kept_per_capture(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    first = open_page(sample)
    first.document.state.select(3)
    one = window.panels.panel("details")
    open_page(Path(shutil.copy(sample, tmp_path / "b.h5")))
    qtbot.waitUntil(lambda: window.panels.panel("details") is not one, timeout=60_000)
    window.tabs.setCurrentWidget(first)
    qtbot.waitUntil(lambda: window.panels.panel("details") is one, timeout=60_000)


def test_a_panel_floats_in_a_window_of_its_own_and_comes_back(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    panels = window.panels
    panels.show_panel("events", "float")
    assert "events" not in [spec.id for spec in panels.bottom.specs]
    panel = panels.panel("events")
    assert isinstance(panel, EventsPanel)
    frame = panel.window()
    assert frame is not window
    qtbot.waitUntil(lambda: panels.is_settled and panel.table.model_.rowCount() > 0, timeout=60_000)
    # It is linked as it was in the window.
    page.document.state.select_range(10 * MS, 30 * MS)
    qtbot.waitUntil(lambda: "in the selected range" in panel.scope, timeout=60_000)
    panel.table.selectRow(0)
    assert page.document.state.selection == panel.table.current_item()
    # Its place is remembered; closing it hides the panel, showing it makes it float again.
    saved = panels.save()
    assert list(saved["float"]) == ["events"]
    frame.close()
    assert not panels.is_shown("events")
    panels.show_panel("events")
    assert panels.panel("events").window() is not window  # type: ignore[union-attr]  # it was just shown
    panels.show_panel("events", "bottom")
    qtbot.waitUntil(lambda: isinstance(panels.panel("events"), EventsPanel), timeout=60_000)
    assert panels.panel("events").window() is window  # type: ignore[union-attr]  # it was just shown
    panels.restore(saved)
    assert panels.is_shown("events")
    assert "events" not in [spec.id for spec in panels.bottom.specs]


def test_a_tab_that_is_dragged_out_of_its_row_goes_where_it_is_let_go(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panels = window.panels

    def drag(panel_id: str, target: QPoint) -> None:
        tabs = panels.bottom.tabs
        place = [spec.id for spec in panels.bottom.specs].index(panel_id)
        start = tabs.tabRect(place).center()
        qtbot.mousePress(tabs, LEFT, pos=start)
        qtbot.mouseMove(tabs, start + QPoint(0, 8))
        qtbot.mouseMove(tabs, tabs.mapFromGlobal(target))
        qtbot.mouseRelease(tabs, LEFT, pos=tabs.mapFromGlobal(target))

    inside = panels.widget
    drag("steps", inside.mapToGlobal(QPoint(inside.width() - 40, 60)))
    qtbot.waitUntil(lambda: [spec.id for spec in panels.right.specs] == ["details", "steps"], timeout=60_000)
    drag("histogram", inside.mapToGlobal(QPoint(80, 60)))
    qtbot.waitUntil(lambda: list(panels.save()["float"]) == ["histogram"], timeout=60_000)
    # Nothing but the three areas is left of the drag.
    assert inside.count() == 2


def test_panels_get_what_the_timeline_leaves_of_a_window() -> None:
    assert bottom_height(700, 900) == bottom_height(1000, 900) == LEAST_BOTTOM_PX
    assert bottom_height(1900, 900) == 1000
    assert bottom_height(1900, 300) == round(0.55 * 1900)
    assert [right_width(width) for width in (1024, 1700, 3840)] == [300, 340, 360]


def test_a_border_that_a_person_moved_stays(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    rooms = window.panels.widget.findChildren(SharedRoom)
    (inner,) = rooms
    window.resize(1200, 1500)
    qtbot.waitUntil(lambda: inner.sizes()[1] == round(0.55 * (inner.height() - 3)), timeout=60_000)
    inner.moveSplitter(300, 1)
    inner.splitterMoved.emit(300, 1)
    moved = inner.sizes()[0]
    window.resize(1300, 1500)
    assert inner.sizes()[0] == moved
    assert window.panels.save()["by_hand"] == [True, False]
