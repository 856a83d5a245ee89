"""A name has one colour: on the timeline, in tables, areas, flame graphs, histograms and details."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import panel_of, pixels, settle, summary_of

from warpline_app.panels.details.panel import DetailsPanel
from warpline_app.panels.events.columns import event_columns
from warpline_app.panels.flame.panel import FlamePanel
from warpline_app.panels.histogram.panel import HistogramPanel
from warpline_app.timeline.draw.codes import ColorTable
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow


def on_timeline(page: CapturePage, row: int) -> str:
    """The colour of an event's bar."""
    capture, table = page.document.capture, ColorTable(page.view.theme)
    at = np.array([row])
    number = EventColors(capture, table).of(at, capture.events.kind[at], capture.events.flags[at])[0]
    return f"#{table.rgb(int(number)) & 0xFFFFFF:06x}"


@pytest.mark.parametrize(("kind", "report"), [("range", "nvtx_sum"), ("kernel", "cuda_gpu_kern_sum")])
def test_a_name_has_the_colour_of_its_bars_everywhere(
    qtbot: QtBot,
    window: MainWindow,
    open_page: Callable[[Path], CapturePage],
    sample: Path,
    kind: str,
    report: str,
) -> None:
    page = open_page(sample)
    capture = page.document.capture
    rows = capture.kinds[kind].rows
    row = int(rows[len(rows) // 2])
    name, wanted = int(capture.events.name[row]), on_timeline(page, row)
    columns = {column.key: column for column in event_columns(capture, kind, 0, page.view.theme)}
    assert columns["name"].color is not None
    assert columns["name"].color(row) == wanted
    summary = summary_of(qtbot, window, report)
    (item,) = summary.table.items_named(frozenset((name,)))
    parts = {part.item: part.color for part in summary.table.parts(_share(summary.table.report), "#000000")}
    assert parts[item] == wanted
    if summary.shares.isVisible():
        assert pixels(summary.shares, QColor(wanted).rgb()) > 50
    page.document.state.select(row)
    settle(qtbot, window)
    details = panel_of(qtbot, window, "details", DetailsPanel)
    assert wanted in details.mark.styleSheet()
    histogram = panel_of(qtbot, window, "histogram", HistogramPanel)
    assert histogram._color() == wanted
    if kind != "range":
        return
    flame = panel_of(qtbot, window, "flame", FlamePanel)
    flame.source.setCurrentIndex(flame.source.findData("ranges"))
    settle(qtbot, window)
    assert flame.view.flame is not None
    assert name in flame.view.flame.name
    assert pixels(flame.view, QColor(wanted).rgb()) > 50


def _share(report: object) -> str:
    from warpline.analysis.framework.report import Table
    from warpline_app.panels.table.report_columns import share_column

    assert isinstance(report, Table)
    column = share_column(report)
    if column is None:
        return next(column.name for column in report.columns if column.unit == "ratio")
    return column.name
