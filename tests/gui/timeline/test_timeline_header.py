"""The column of titles, the ruler and the overview."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import (
    LEFT,
    MAIN,
    NONE,
    STREAM,
    drag,
    move,
    pixels,
    wait_idle,
    write_note,
)
from tests.gui.timeline_sample import MS, US

from warpline_app.timeline.model import curves
from warpline_app.timeline.model.row import Content
from warpline_app.timeline.widgets.titles import titles_of
from warpline_app.timeline.widgets.view import TimelineView


def test_triangles_open_and_close_and_more_unfolds(view: TimelineView, qtbot: QtBot) -> None:
    placed = view.scene.layout.by_key["cpu"]
    assert "cpu/0" in view.scene.layout.by_key
    qtbot.mouseClick(view.header, LEFT, pos=QPoint(12, view.scene.top_of(placed) + 10))
    assert "cpu/0" not in view.scene.layout.by_key
    more = next(p for p in view.scene.layout.rows if p.row.content is Content.MORE and "thread" in p.row.key)
    assert more.row.title == "10 more…"
    qtbot.mouseClick(view.header, LEFT, pos=QPoint(100, view.scene.top_of(more) + 8))
    assert "process/71.1/thread/80.1" in view.scene.layout.by_key


def test_the_header_shows_figures_of_the_visible_range(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(0, 50 * MS)
    wait_idle(qtbot, view)
    assert view.header.figures[MAIN] == "80.0 %"
    view.state.set_view(50 * MS, 90 * MS)
    wait_idle(qtbot, view)
    assert view.header.figures[MAIN] == "0 %"


def test_a_figure_that_is_added_up_in_parts_is_shown_when_it_is_there(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_idle(qtbot, view)
    shown: list[dict[str, str]] = []
    monkeypatch.setattr(view.header, "set_figures", lambda figures: shown.append(dict(figures)))
    view.state.set_view(0, 50 * MS)
    wait_idle(qtbot, view)
    key = "process/71.1"
    row = view.scene.layout.by_key[key].row
    assert shown[0][key] != shown[-1][key] == curves.row_figure(view.scene.capture, row, 0, 50 * MS, None)


def test_the_header_can_be_resized_and_rows_dragged(view: TimelineView, qtbot: QtBot) -> None:
    edge = QPoint(view.header.width() - 2, 300)
    qtbot.mousePress(view.header, LEFT, NONE, edge)
    move(view, QPoint(339, 300), view.header, LEFT)
    qtbot.mouseRelease(view.header, LEFT, NONE, QPoint(339, 300))
    assert view.header.width() == 340
    layout = view.scene.layout
    first, second = layout.by_key["cpu/0"], layout.by_key["cpu/1"]
    drag(
        qtbot,
        view,
        QPoint(80, view.scene.top_of(second) + 12),
        QPoint(80, view.scene.top_of(first) + 4),
        target=view.header,
    )
    assert view.state.order["cpu"] == ("cpu/1", "cpu/0")
    assert view.scene.layout.by_key["cpu/1"].top < view.scene.layout.by_key["cpu/0"].top
    placed = view.scene.layout.by_key["cpu/1"]
    bottom = view.scene.top_of(placed) + placed.height
    drag(qtbot, view, QPoint(80, bottom), QPoint(80, bottom + 12), target=view.header)
    assert view.state.heights["cpu/1"] == placed.height + 12


def test_the_ruler_selects_and_its_marks_move(view: TimelineView, qtbot: QtBot) -> None:
    drag(qtbot, view, QPoint(100, 10), QPoint(200, 10), target=view.ruler)
    assert view.state.range_selection == (view.scene.scale.to_ns(100), view.scene.scale.to_ns(200))
    qtbot.mouseDClick(view.ruler, LEFT, pos=QPoint(300, 10))
    write_note(qtbot, view, "warm up")
    assert [note.text for note in view.state.notes] == ["warm up"]
    x = round(view.scene.scale.to_px(view.state.timed_notes[0][0]))
    drag(qtbot, view, QPoint(x, 20), QPoint(x + 50, 20), target=view.ruler)
    assert view.state.timed_notes[0][0] == view.scene.scale.to_ns(x + 50)
    assert view.state.notes[0].text == "warm up"
    assert view.corner.base_text == ""
    view.state.set_view(70 * MS + 354 * US, 70 * MS + 400 * US)
    assert view.corner.base_text == "70.3 ms +"


def test_the_overview_moves_the_window(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(40 * MS, 60 * MS)
    width = view.overview.width()
    drag(qtbot, view, QPoint(width // 2, 10), QPoint(width // 2 + 100, 10), target=view.overview)
    assert view.state.view[1] - view.state.view[0] == 20 * MS
    assert view.state.view[0] == pytest.approx(40 * MS + 100 * 100 * MS / width, abs=2)
    qtbot.mouseClick(view.overview, LEFT, pos=QPoint(round(width * 0.1), 10))
    assert sum(view.state.view) / 2 == pytest.approx(10 * MS, rel=0.02)


def test_pinned_rows_say_first_what_they_are(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_pins([STREAM])
    wait_idle(qtbot, view)
    pinned = view.scene.layout.pinned[1]
    assert titles_of([pinned])[0].startswith("Stream 7 · ")
    pixels(view.header)
    assert view.header._titles.of(pinned).startswith("Stream 7")


def test_the_title_of_a_tall_row_stays_in_view(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_height(f"{MAIN}/nvtx/default", 60)
    view.state.set_order("", ["process/71.1"])
    view.resize(1270, 260)
    wait_idle(qtbot, view)
    placed = view.scene.layout.by_key[f"{MAIN}/nvtx/default"]
    view.scene.scroll_to(placed.top + 70)
    wait_idle(qtbot, view)
    top, bottom = view.scene.top_of(placed), view.scene.top_of(placed) + placed.height
    assert top < -60 < 20 < bottom
    shown = pixels(view.header)[2:24, 40:160]
    assert len(np.unique(shown)) > 5, "the title is painted where the row is seen"
    view.scene.scroll_to(placed.top)
    wait_idle(qtbot, view)
    assert np.array_equal(shown, pixels(view.header)[2:24, 40:160])


def test_no_picture_is_kept_of_a_row_that_is_taller_than_the_header(view: TimelineView) -> None:
    header = view.header
    header.grab()
    assert header._pictures
    header._pictures.clear()
    header.resize(header.width(), min(placed.height for placed in view.scene.layout.rows) - 1)
    whole = header.grab().toImage()
    assert not header._pictures
    colors = {whole.pixel(x, y) for x in range(whole.width()) for y in range(whole.height())}
    assert len(colors) > 5, "it is painted all the same"


def test_line_feeds_in_names_are_drawn_as_blanks(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_idle(qtbot, view)
    pictures = []
    for text in ("two\nlines", "two lines"):
        monkeypatch.setattr(view.header._titles, "of", lambda _placed, text=text: text)
        pictures.append(view.header.grab().toImage())
    assert pictures[0] == pictures[1]
