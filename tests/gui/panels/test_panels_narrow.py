"""Panels in a narrow column: no control covers another, a table keeps its width beside a chart; and the way back."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import OpenPage

from warpline_app.look.elided import ElidedLabel
from warpline_app.look.widgets import flat_column
from warpline_app.look.wrapping_row import WrappingRow
from warpline_app.panels.frame.base import Panel
from warpline_app.panels.frame.registry import all_panels
from warpline_app.panels.frame.room import LEAST_BOTTOM_PX, LEAST_TABLE_PX, SideBySide
from warpline_app.panels.summary.panel import SummaryPanel
from warpline_app.window.main_window import MainWindow


class Block(QWidget):
    """Wants a width and a height of 20 px."""

    def __init__(self, width_px: int) -> None:
        super().__init__()
        self._hint = QSize(width_px, 20)

    def sizeHint(self) -> QSize:
        return self._hint


@pytest.mark.parametrize(
    ("width_px", "rows"), [(600, [[0, 1, 2]]), (240, [[0, 1], [2]]), (130, [[0], [1], [2]])]
)
def test_controls_continue_on_further_rows(qtbot: QtBot, width_px: int, rows: list[list[int]]) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    row = WrappingRow()
    holder.setLayout(row)
    controls = [Block(100), Block(100), Block(100)]
    for control in controls:
        row.add(control, is_stretching=control is controls[-1])
    holder.resize(width_px, row.heightForWidth(width_px))
    holder.show()
    qtbot.waitExposed(holder, timeout=60_000)
    tops = sorted({control.y() for control in controls})
    assert [[place for place, control in enumerate(controls) if control.y() == top] for top in tops] == rows
    assert holder.height() == 10 + 20 * len(rows) + 4 * (len(rows) - 1)
    assert controls[-1].geometry().right() == width_px - 11  # it takes the rest of its row
    assert all(control.geometry().right() <= width_px for control in controls)


def test_a_hidden_control_takes_no_room_and_a_sentence_wraps(qtbot: QtBot) -> None:
    holder = QWidget()
    qtbot.addWidget(holder)
    row = WrappingRow()
    holder.setLayout(row)
    hidden, sentence = Block(500), QLabel("one two three four five six seven eight nine ten")
    sentence.setWordWrap(True)
    row.add(hidden)
    row.add(sentence, is_stretching=True)
    holder.show()
    hidden.hide()
    line = sentence.fontMetrics().height()
    assert row.heightForWidth(1000) < 10 + 2 * line
    assert row.heightForWidth(150) >= 10 + 2 * line


def _is_settled_beside(table: QWidget, chart: QWidget, is_beside: bool) -> bool:
    return (table.y() == chart.y()) == is_beside


def settled_panel(qtbot: QtBot, window: MainWindow, panel_id: str) -> Panel:
    panel = window.panels.panel(panel_id)
    assert panel is not None
    qtbot.waitUntil(partial(getattr, panel, "is_settled"), timeout=60_000)
    return panel


def test_a_table_is_beside_a_chart_only_where_both_have_room(qtbot: QtBot) -> None:
    table, chart = QWidget(), QWidget()
    split = SideBySide(table, chart, shares=(2, 1), least_px=(LEAST_TABLE_PX, 200))
    window = QWidget()
    qtbot.addWidget(window)
    flat_column(window).addWidget(split)
    for width_px, is_beside in ((900, True), (450, True), (300, False), (700, True)):
        window.resize(width_px, 400)
        window.show()
        qtbot.waitUntil(partial(_is_settled_beside, table, chart, is_beside), timeout=60_000)
        assert table.width() >= min(LEAST_TABLE_PX, width_px)


def test_no_control_of_a_panel_at_the_right_covers_another(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panels = window.panels
    for spec in all_panels():
        panels.show_panel(spec.id, "right")
        panel = settled_panel(qtbot, window, spec.id)
        layout = panel.layout()
        rows = [] if layout is None else [layout.itemAt(place) for place in range(layout.count())]
        for row in rows:
            if not isinstance(row, WrappingRow):
                continue
            items = map(row.itemAt, range(row.count()))
            controls = [item.widget() for item in items if item is not None]
            shown = [control for control in controls if control is not None and control.isVisible()]
            for place, control in enumerate(shown):
                assert isinstance(control, ElidedLabel) or control.geometry().right() < panel.width()
                others = shown[place + 1 :]
                assert not any(control.geometry().intersects(other.geometry()) for other in others)


def test_the_lower_panels_keep_their_height_from_tab_to_tab(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panels = window.panels
    for height_px in (None, 170):
        if height_px is not None:
            panels._inner.setSizes([panels._inner.height() - height_px - 3, height_px])
            panels._inner.is_by_hand = True
        heights = set()
        for spec in panels.bottom.specs:
            panels.show_panel(spec.id)
            settled_panel(qtbot, window, spec.id)
            heights.add(panels.bottom.height())
        assert len(heights) == 1


def test_a_tall_tab_behind_does_not_squeeze_the_lower_panels(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    height = window.panels.bottom.height()
    assert height >= LEAST_BOTTOM_PX
    tall = QWidget()
    tall.setMinimumHeight(window.panels.widget.height() - 100)
    window._center.addWidget(tall)
    window.panels._inner.share()
    qtbot.wait(0)
    assert window.panels.bottom.height() == height


def test_panels_are_reset_and_put_back(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    open_page(sample)
    panels = window.panels
    fresh = {key: value for key, value in panels.save().items() if key in ("bottom", "right", "float")}
    panels.show_panel("summary", "right")
    panels.show_panel("events", "float")
    panels.hide_panel("findings")
    panels._inner.setSizes([100, 500])
    panels._inner.is_by_hand = True
    moved = panels.save()
    assert window.commands.run("panel.reset")
    assert {key: panels.save()[key] for key in fresh} == fresh
    assert panels.save()["by_hand"] == [False, False]
    assert panels.bottom.isVisible()
    assert panels.bottom.current_panel() is not None
    (message,) = [each for each in window.workspace.messages.all if each.text == "Panels reset"]
    dict(message.actions)["Undo"]()
    assert {key: panels.save()[key] for key in fresh} == {key: moved[key] for key in fresh}
    assert isinstance(panels.right.current_panel(), SummaryPanel)
    qtbot.waitUntil(lambda: panels.is_settled, timeout=60_000)
