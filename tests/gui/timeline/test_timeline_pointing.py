"""Mouse, wheel and trackpad on the canvas: what they hover, select, pan and zoom."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import (
    QNativeGestureEvent,
    QPointingDevice,
)
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import (
    CONTROL,
    LEFT,
    MIDDLE,
    NONE,
    SHIFT,
    STREAM,
    at,
    drag,
    event_of,
    move,
    pixels,
    wait_idle,
    wheel,
)
from tests.gui.timeline_sample import MS, US

from warpline_app.timeline.widgets.view import TimelineView


def test_hover_names_the_event_and_the_time(view: TimelineView, qtbot: QtBot) -> None:
    point = at(view, STREAM, 72 * MS)
    move(view, point)
    hovered = view.state.hover
    assert hovered == event_of(view, STREAM, 72 * MS)
    assert abs((view.state.cursor_ns or 0) - 72 * MS) <= view.scene.scale.ns_per_px
    qtbot.waitUntil(view.canvas.tooltip.isVisible, timeout=60_000)
    assert "ncclAllReduce_f32" in view.canvas.tooltip.text().replace("\u200b", "")
    assert view.canvas.rect().contains(view.canvas.tooltip.geometry())
    move(view, at(view, STREAM, 65 * MS))
    assert view.state.hover is None
    assert not view.canvas.tooltip.isVisible()


def test_names_with_brackets_are_shown_as_they_are(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(20 * MS, 21 * MS)
    move(view, at(view, STREAM, 20 * MS + 200 * US))
    qtbot.waitUntil(view.canvas.tooltip.isVisible, timeout=60_000)
    shown = view.canvas.tooltip.text().replace("\u200b", "")
    assert "void gemm&lt;0, 64&gt;(float*)" in shown


def test_a_click_selects_and_paints_a_ring(view: TimelineView, qtbot: QtBot) -> None:
    before = pixels(view.canvas)
    point = at(view, STREAM, 72 * MS)
    qtbot.mouseClick(view.canvas, LEFT, pos=point)
    assert view.state.selection == event_of(view, STREAM, 72 * MS)
    wait_idle(qtbot, view)
    after = pixels(view.canvas)
    changed = after[before != after]
    assert (changed == view.theme.rgb("selection")).sum() > 60
    qtbot.mouseClick(view.canvas, LEFT, pos=at(view, STREAM, 66 * MS))
    assert view.state.selection is None


def test_a_drag_selects_a_range_and_its_edges_can_be_dragged(view: TimelineView, qtbot: QtBot) -> None:
    heard: list[object] = []
    view.state.range_selection_changed.connect(heard.append)
    y = 200
    drag(qtbot, view, QPoint(200, y), QPoint(400, y))
    expected = (view.scene.scale.to_ns(200), view.scene.scale.to_ns(400))
    assert view.state.range_selection == expected
    assert len(heard) >= 3, "panels hear of it while it is dragged"
    assert view.state.selection is None
    wait_idle(qtbot, view)
    events = view.scene.capture.events
    inside = (events.start < expected[1]) & (events.start + np.maximum(events.duration, 1) > expected[0])
    assert view.ruler.event_count == int(inside.sum()), "those of rows that are closed too"
    drag(qtbot, view, QPoint(400, y), QPoint(600, y))
    assert view.state.range_selection == (expected[0], view.scene.scale.to_ns(600))
    seen = pixels(view.canvas)
    assert (seen[:, 199:202] == view.theme.rgb("selection")).any(axis=1).mean() > 0.9


def test_shift_drag_and_the_middle_button_pan(view: TimelineView, qtbot: QtBot) -> None:
    for modifier, button in ((SHIFT, LEFT), (NONE, MIDDLE)):
        view.state.set_view(40 * MS, 60 * MS)
        moment = view.scene.scale.to_ns(500)
        drag(qtbot, view, QPoint(500, 300), QPoint(300, 300), modifier=modifier, button=button)
        assert abs(view.scene.scale.to_ns(300) - moment) <= 2 * view.scene.scale.ns_per_px
        assert view.state.range_selection is None
        assert view.state.view[1] - view.state.view[0] == 20 * MS


def test_the_wheel_scrolls_pans_and_zooms(view: TimelineView) -> None:
    view.resize(1270, 260)
    QApplication.processEvents()
    assert view.scene.max_scroll_px > 0
    point = QPoint(300, 100)
    wheel(view, point, -2)
    assert view.scene.scroll_px == 108
    assert view.scroll_bar.value() == 108
    view.state.set_view(40 * MS, 60 * MS)
    moment = view.scene.scale.to_ns(300)
    wheel(view, point, 3, CONTROL)
    assert view.state.view[1] - view.state.view[0] == pytest.approx(20 * MS / 1.25**3, rel=1e-6)
    assert abs(view.scene.scale.to_ns(300) - moment) <= 1 + view.scene.scale.ns_per_px
    wheel(view, point, -3, CONTROL)
    assert view.state.view == (40 * MS, 60 * MS), "zooming back ends where it began"
    wheel(view, point, -1, SHIFT)
    assert view.state.view[0] > 40 * MS


def test_trackpads_send_pixels_and_pinches(view: TimelineView) -> None:
    view.state.set_view(40 * MS, 60 * MS)
    step = view.scene.scale.ns_per_px
    wheel(view, QPoint(300, 100), pixels=QPoint(-50, 0))
    assert view.state.view[0] - 40 * MS == pytest.approx(50 * step, abs=2)
    device = QPointingDevice.primaryPointingDevice()
    length = view.state.view[1] - view.state.view[0]
    pinch = QNativeGestureEvent(
        Qt.NativeGestureType.ZoomNativeGesture,
        device,
        2,
        QPointF(300, 100),
        QPointF(300, 100),
        QPointF(300, 100),
        0.25,
        QPointF(),
    )
    QApplication.sendEvent(view.canvas, pinch)
    assert view.state.view[1] - view.state.view[0] == pytest.approx(length / 1.25, rel=1e-6)


def test_a_double_click_frames_an_event(view: TimelineView, qtbot: QtBot) -> None:
    point = at(view, STREAM, 72 * MS)
    qtbot.mouseDClick(view.canvas, LEFT, pos=point)
    start, stop = view.state.view
    assert start < 70 * MS < 75 * MS < stop
    assert 5 * MS / (stop - start) == pytest.approx(0.6, abs=0.02)
