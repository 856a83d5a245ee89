"""Times count from where a person put the origin, everywhere and at once; ranges have the colours they were given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtCore import QPoint
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.sample import MS

from warpline.model.notes import Note
from warpline.storage import CaptureBuilder, open_capture
from warpline_app.look.theme import DARK, ui_font
from warpline_app.timeline.draw.codes import FIRST_HUE, ColorTable
from warpline_app.timeline.draw.event_colors import EventColors
from warpline_app.timeline.widgets.ruler import whole_texts
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]


def test_the_status_line_follows_the_origin_and_says_that_it_moved(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    state = open_page(sample).document.state
    state.set_cursor(30 * MS)
    assert window.status_line.text.startswith("30")
    assert "count from" not in window.status_line.text
    state.set_origin(10 * MS)
    assert window.status_line.text.startswith("20")
    assert "origin 10" in window.status_line.text
    state.set_origin(None)
    assert "count from" not in window.status_line.text


def test_the_ruler_shows_where_times_count_from(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    view = open_page(sample).view
    state, ruler = view.state, view.ruler
    state.set_view(0, 40 * MS)
    x = round(view.scene.scale.to_px(10 * MS))
    before = ruler.grab().toImage().pixelColor(x, 3)
    assert view.corner.origin_text == ""
    state.set_origin(10 * MS)
    assert view.corner.origin_text == view.corner.toolTip() == "origin at 10.00 ms"
    assert ruler.grab().toImage().pixelColor(x, 3) == DARK.color("selection") != before
    state.set_origin(None)
    assert view.corner.toolTip() == ""
    assert ruler.grab().toImage().pixelColor(x, 3) == before


def test_a_note_on_a_range_that_began_before_the_view_keeps_its_text(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    view = open_page(sample).view
    state, ruler = view.state, view.ruler
    state.set_view(20 * MS, 40 * MS)
    plain = ruler.grab().toImage()
    edge = [QPoint(x, 10) for x in range(2, 40)]

    def changed() -> bool:
        image = ruler.grab().toImage()
        return any(image.pixelColor(at) != plain.pixelColor(at) for at in edge)

    state.put_note(Note(id="a", text="waits", start_ns=5 * MS, stop_ns=15 * MS), "note")
    assert not changed()  # it ends before the view, too
    state.put_note(Note(id="a", text="waits", start_ns=5 * MS, stop_ns=30 * MS), "note")
    assert changed()


def test_a_view_that_goes_beyond_the_capture_counts_from_its_start(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    view = open_page(sample).view
    state = view.state
    low, high = state.span
    before = view.overview.grab().toImage()
    state.set_span(low - (high - low), high)
    assert "count from" not in window.status_line.text
    assert not state.is_origin_moved
    state.set_origin(5 * MS)
    state.set_origin(None)
    assert state.origin_ns == low
    # What ran stands where it ran: in the right half.
    after, middle = view.overview.grab().toImage(), before.width() // 2
    assert any(after.pixel(middle // 2, y) != before.pixel(middle // 2, y) for y in range(before.height()))


def test_no_text_of_the_ruler_is_cut_at_its_right_edge(qapp: QApplication) -> None:
    metrics = QFontMetrics(ui_font(11))
    room = metrics.horizontalAdvance("900 ms")
    xs, texts = [0.0, 795.0 - room, 796.0 - room], ["0 ms", "900 ms", "900 ms"]
    assert [x for x, _text in whole_texts(xs, texts, metrics, 800)] == [5, 800 - room]


def test_no_text_of_the_ruler_is_hidden_in_part_by_that_of_a_mark(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    view = open_page(sample).view
    state, ruler, metrics = view.state, view.ruler, QFontMetrics(ui_font(11))
    state.set_view(0, 40 * MS)
    ticks = view.scene.ticks()
    xs = view.scene.scale.to_px_array(ticks.times).tolist()
    x, text = whole_texts(xs, ticks.texts, metrics, ruler.width())[1]
    width = metrics.horizontalAdvance(text)

    def inked() -> bool:
        image, ground = ruler.grab().toImage(), DARK.color("header")
        return any(
            image.pixelColor(place, y) != ground for place in range(x, x + width // 2) for y in range(4, 19)
        )

    assert inked()
    state.set_notes([Note(start_ns=view.scene.scale.to_ns(x + width // 2), text="here")])
    assert not inked()
    state.set_notes([Note(start_ns=view.scene.scale.to_ns(x + width + 2), text="here")])
    assert inked()


def test_a_tooltip_that_is_open_counts_from_the_new_origin(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    tooltip = page.view.canvas.tooltip
    row = int(page.document.capture.kinds["kernel"].rows[5])
    tooltip.show_event(row, QPoint(40, 40))
    qtbot.waitUntil(tooltip.isVisible, timeout=60_000)
    before = tooltip.text()
    page.document.state.set_origin(5 * MS)
    assert tooltip.text() != before
    page.document.state.set_origin(None)
    assert tooltip.text() == before


def test_the_time_under_a_resting_pointer_follows_the_view(
    window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    state, canvas = page.document.state, page.view.canvas
    state.set_view(20 * MS, 40 * MS)
    x = canvas.width() / 2
    canvas.set_pointer(x)
    state.set_cursor(canvas.scene.scale.to_ns(x))
    assert state.cursor_ns == canvas.scene.scale.to_ns(x)
    state.set_view(50 * MS, 70 * MS)
    assert state.cursor_ns == canvas.scene.scale.to_ns(x)
    assert 59 * MS < (state.cursor_ns or 0) < 61 * MS
    assert window.status_line.text.startswith("60")


def test_colours_without_opacity_are_shown_too(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "colours.h5") as builder:
        track = builder.track("ranges", title="NVTX", role="ranges")
        given = np.ma.MaskedArray([0x00FF0000, 0xFF0000FF, 0, 7], [False, False, False, True])
        builder.add_events(
            track, "range", [0, 10, 20, 30], 5, builder.string("r"), attributes={"color_argb": given}
        )
        builder.finish()
    with open_capture(tmp_path / "colours.h5") as capture:
        table = ColorTable(DARK)
        rows = np.arange(4)
        colors = EventColors(capture, table).of(rows, capture.events.kind[rows], capture.events.flags[rows])
        assert colors[:2].tolist() == [table.custom(0xFF0000), table.custom(0x0000FF)]
        assert colors[2] == colors[3] != colors[0], "0 is no colour"
        assert colors[2] >= FIRST_HUE
