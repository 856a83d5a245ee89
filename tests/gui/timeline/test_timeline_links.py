"""Arrows between events, their ends outside the view, and what was launched in a range."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import (
    LEFT,
    MAIN,
    STREAM,
    MakeView,
    at,
    event_of,
    pixels,
    wait_idle,
)
from tests.gui.timeline_sample import MS, US

from warpline_app.timeline.draw.arrows import Tab, link_picture
from warpline_app.timeline.model.links import Link
from warpline_app.timeline.widgets.view import TimelineView


def test_arrows_join_a_call_and_its_kernels(view: TimelineView, qtbot: QtBot) -> None:
    before = pixels(view.canvas)
    view.state.select(event_of(view, f"{MAIN}/api", 5 * MS + 10))
    wait_idle(qtbot, view)
    overlay = view.canvas.overlay
    assert len(overlay.selection_links.links) == 3
    after = pixels(view.canvas)
    amber = ((after == view.theme.rgb("link")) & (before != after)).sum()
    assert amber > 100
    assert view.header.linked_keys == {STREAM.replace("stream/7", "stream/13")}
    view.state.set_arrows("off")
    wait_idle(qtbot, view)
    assert (pixels(view.canvas) == view.theme.rgb("link")).sum() < 10


def test_an_end_outside_the_view_has_a_tab_that_goes_there(view: TimelineView, qtbot: QtBot) -> None:
    kernel = event_of(view, STREAM, 50 * MS + 100)
    view.state.set_view(50 * MS - 100 * US, 51 * MS)
    view.state.select(kernel)
    wait_idle(qtbot, view)
    pixels(view.canvas)
    (tab,) = view.canvas.overlay.tabs
    assert tab.text == "◂ launch 1.900 ms"
    assert tab.rect.left() < 10
    assert (pixels(view.canvas)[:, :60] == view.theme.rgb("link")).sum() > 200
    qtbot.mouseClick(view.canvas, LEFT, pos=tab.rect.center().toPoint())
    assert view.state.selection == event_of(view, f"{MAIN}/api", 48 * MS + 10)
    assert view.state.view[0] <= 48 * MS <= view.state.view[1]


def test_a_hint_stands_beside_the_name_of_the_call_at_the_edge(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(11 * MS + 20 * US, 12 * MS + 200 * US)
    view.state.select(event_of(view, STREAM, 12 * MS + 100))
    wait_idle(qtbot, view)
    seen = pixels(view.canvas)
    call = view.scene.place_of_event(event_of(view, f"{MAIN}/api", 11 * MS + 30 * US))
    assert call is not None
    spans = view.canvas.renderer.text_spans(call.rect.top(), call.rect.bottom())
    (tab,) = view.canvas.overlay.tabs
    assert tab.text == "◂ launch 1.900 ms"
    assert tab.rect.left() < 10
    assert spans[:, 0].min() < tab.rect.width(), "there is a name where the hint would be"
    middle = round(call.rect.center().y())
    band = seen[middle - 4 : middle + 4, : int(spans[spans[:, 0].argmin(), 1])]
    assert not (band == view.theme.rgb("link")).any()
    assert abs(tab.rect.center().y() - middle) < call.rect.height()


def test_a_hint_goes_past_names_towards_the_middle_or_is_its_sign_alone(view: TimelineView) -> None:
    view.state.set_view(10 * MS - 100 * US, 11 * MS)
    call = event_of(view, f"{MAIN}/api", 10 * MS + 10)
    links = [Link(call, event_of(view, STREAM, 12 * MS + 100), "launch")]
    width = float(view.scene.width_px)

    def hint(*texts: tuple[float, float]) -> Tab:
        """With texts that high that they are above and below too."""
        return link_picture(view.scene, links, call, lambda *_band: np.array(texts).reshape(-1, 2)).tabs[0]

    alone = hint()
    assert alone.rect.right() == pytest.approx(width - 3)
    assert hint((0, 40)) == alone
    moved = hint((width - 130, width - 125), (width - 60, width - 20))
    assert moved.text == alone.text == "▸ launch 1.900 ms"
    assert moved.rect.right() == pytest.approx(width - 133)
    small = hint((0, width - 25))
    assert small.text == "▸"
    assert small.rect.left() > width - 25
    # Where all is taken it stays at the edge, as small as it can be.
    assert hint((0, width)).text == "▸"
    assert hint((0, width)).rect.right() == pytest.approx(width - 3)


def test_a_selected_range_shows_what_was_launched_in_it(view: TimelineView, qtbot: QtBot) -> None:
    """The call at 5 ms launches three kernels, which run long after the range."""
    capture = view.document.capture
    view.state.select_range(4_500 * US, 5_500 * US)
    wait_idle(qtbot, view)
    launched = view.canvas.overlay.related.launched
    call = event_of(view, f"{MAIN}/api", 5 * MS)
    assert launched.tolist() == sorted(capture.links_from(call)[0].tolist())
    assert len(launched) == 3
    seen = pixels(view.canvas)
    for kernel in launched.tolist():
        place = view.scene.place_of_event(kernel)
        assert place is not None
        rect = place.rect
        row = seen[round(rect.bottom() - 2) : round(rect.bottom() + 1)]
        part = row[:, max(0, round(rect.left()) - 1) : round(rect.right()) + 2]
        assert (part == view.theme.rgb("selection")).any()
    view.state.select_range(None)
    wait_idle(qtbot, view)
    assert not len(view.canvas.overlay.related.launched)


@pytest.mark.parametrize("where", ["ruler", "tree"])
def test_hints_in_ruler_and_tree_go_to_the_other_end(view: TimelineView, qtbot: QtBot, where: str) -> None:
    view.state.set_view(50 * MS - 100 * US, 51 * MS)
    view.state.select(event_of(view, STREAM, 50 * MS + 100))
    wait_idle(qtbot, view)
    pixels(view)
    if where == "ruler":
        assert (pixels(view.ruler)[:, :10] == view.theme.rgb("link")).any()
        qtbot.mouseClick(view.ruler, LEFT, pos=QPoint(4, 14))
    else:
        placed = view.scene.layout.by_key[f"{MAIN}/api"]
        qtbot.mouseClick(view.header, LEFT, pos=QPoint(4, view.scene.top_of(placed) + 10))
    assert view.state.selection == event_of(view, f"{MAIN}/api", 48 * MS + 10)
    assert view.state.view[0] <= 48 * MS <= view.state.view[1]


def test_names_of_a_large_stream_are_indexed_beside_the_window(
    make_view: MakeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpline_app.timeline.model.rows.INDEX_AT_ONCE", 0)
    view = make_view()
    assert not view.scene.indexing
    titles = [placed.row.title for placed in view.scene.layout.rows]
    assert "ncclAllReduce_f32" in titles
    assert "indexing names…" not in titles


def test_all_links_in_view_are_drawn_on_demand_and_a_cap_is_told(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    view.state.set_arrows("all")
    wait_idle(qtbot, view)
    pixels(view.canvas)
    shown = view.canvas.overlay.all_links
    assert shown is not None
    assert (len(shown.links), shown.total, view.canvas.overlay.notice) == (53, 53, "")
    monkeypatch.setattr("warpline_app.timeline.widgets.overlay.links_in_view", lambda *_args: None)
    view.canvas.overlay.find_all_links()
    pixels(view.canvas)
    assert "zoom in" in view.canvas.overlay.notice


def test_arrows_reach_into_the_pinned_area(view: TimelineView) -> None:
    view.state.set_pins([STREAM])
    view.state.set_hidden(["gpu/0"])
    place = view.scene.place_of_event(event_of(view, STREAM, 72 * MS))
    assert place is not None
    assert place.row.pinned
    assert place.is_drawn


def test_what_is_launched_in_a_range_is_marked(view: TimelineView, qtbot: QtBot) -> None:
    before = pixels(view.canvas)
    view.state.set_arrows("off")
    view.state.select(event_of(view, f"{MAIN}/nvtx/default", 11 * MS))
    wait_idle(qtbot, view)
    after = pixels(view.canvas)
    point = at(view, STREAM, 20 * MS)
    band = slice(point.y() + 4, point.y() + 12)
    left, right = point.x() - 20, point.x() + 20
    accent = view.theme.rgb("selection")
    assert (after[band, left:right] == accent).any()
    assert not (before[band, left:right] == accent).any()
    late = at(view, STREAM, 50 * MS).x()
    assert not (after[band, late - 20 : late + 20] == accent).any()
