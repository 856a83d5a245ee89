"""The strip that explains thread states, in a window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from pytestqt.qtbot import QtBot
from tests.gui.panels.panel_tools import LEFT, column, pixels, settle
from tests.gui.wait_sample import SOURCE, write_wait_sample

from warpline_app.look.theme import DARK
from warpline_app.panels.events.panel import EventsPanel
from warpline_app.remembered.settings import Settings
from warpline_app.timeline.widgets.legend import Legend
from warpline_app.timeline.widgets.view import TimelineView
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]


@pytest.fixture
def fight(tmp_path: Path) -> Path:
    source = tmp_path / "fight.py"
    source.write_text(SOURCE)
    return write_wait_sample(tmp_path / "fight.h5", source)


def swatch(legend: Legend, color: str) -> QPoint:
    return next(place.center().toPoint() for entry, place in legend.places() if entry.color == color)


def test_a_click_on_a_swatch_lists_such_waits(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, fight: Path
) -> None:
    page = open_page(fight)
    legend = page.view.legend
    assert legend.isVisible()
    assert pixels(legend, DARK.rgb("wait_lock")) > 10
    qtbot.mouseClick(legend, LEFT, pos=swatch(legend, "wait_lock"))
    settle(qtbot, window)
    panel = window.panels.panel("events")
    assert isinstance(panel, EventsPanel)
    assert column(panel, "thread_state.wait") == ["lock"] * 3
    assert [chip.text for chip in panel.chips] == ["Kind of wait: =lock"]
    qtbot.mouseClick(legend, LEFT, pos=swatch(legend, "wait_sleep"))
    settle(qtbot, window)
    assert column(panel, "thread_state.wait") == ["sleep"]
    # What is not known has no events to list.
    qtbot.mouseClick(legend, LEFT, pos=swatch(legend, "blocked"))
    settle(qtbot, window)
    assert column(panel, "thread_state.wait") == ["sleep"]


def test_the_legend_can_be_put_away_and_stays_away(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, fight: Path, sample: Path, settings: Settings
) -> None:
    page = open_page(fight)
    window.commands.run("view.legend")
    assert not page.view.legend.isVisible()
    assert not settings.shows_legend
    window.workspace.close(page.document)
    again = open_page(fight)
    assert not again.view.legend.isVisible()
    window.commands.run("view.legend")
    assert again.view.legend.isVisible()


def test_captures_without_reasons_explain_what_they_show(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    """States, kinds of work and textures; where there is no room the last place says how many are left out."""
    window.resize(1600, 900)
    legend = open_page(sample).view.legend
    settle(qtbot, window)
    assert legend.isVisible()
    colors = [entry.color for entry in legend.entries]
    assert colors[:3] == ["running", "runnable", "blocked"]
    assert "kernel" in colors
    assert pixels(legend, DARK.rgb("kernel")) > 10
    assert len(legend.places()) + len(legend.left_out) == len(legend.entries)
    window.resize(1024, 700)
    settle(qtbot, window)
    assert legend.left_out
    right = legend.places()[-1][1].right()
    assert right < legend.width() - 30


def test_a_figure_above_a_hundred_percent_explains_itself(view: TimelineView) -> None:
    process = next(placed for placed in view.scene.layout.rows if placed.row.role == "process")
    header = view.header
    assert "100 % is one thread busy all the time" in header.help_of(process)
    threads = [placed for placed in view.scene.layout.rows if placed.row.role == "thread"]
    assert "100 %" not in header.help_of(threads[0])
