"""The timeline with real keys, wheel and mouse: the state they leave behind and the pixels they paint."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QImage,
    QKeyEvent,
    QNativeGestureEvent,
    QPointingDevice,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QInputDialog, QMenu, QWidget
from pytestqt.qtbot import QtBot
from tests.gui.timeline.lone_timeline import context_of as lone_context
from tests.gui.timeline_sample import MS, US, write_timeline_sample

from warpline.storage import open_capture
from warpline_app.commands.actions import CommandActions
from warpline_app.commands.command import Command
from warpline_app.look.theme import CONTRAST, DARK, LIGHT, Theme
from warpline_app.session.document import Document
from warpline_app.session.settings import Settings
from warpline_app.timeline.model.rows import Content
from warpline_app.timeline.widgets.view import TimelineView
from warpline_app.verbs.timeline import TIMELINE_COMMANDS
from warpline_app.verbs.timeline_input import TimelineInput

MAIN = "process/71.1/thread/71.1"
STREAM = "gpu/0/process/71.1/context/1/stream/7"
LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
NONE, SHIFT, CONTROL = (
    Qt.KeyboardModifier.NoModifier,
    Qt.KeyboardModifier.ShiftModifier,
    Qt.KeyboardModifier.ControlModifier,
)
MakeView = Callable[..., TimelineView]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_timeline_sample(tmp_path_factory.mktemp("timeline") / "sample.h5")


@pytest.fixture
def make_view(qtbot: QtBot, path: Path) -> Iterator[MakeView]:
    made: list[TimelineView] = []

    def make(
        theme: Theme = DARK,
        settings: Settings | None = None,
        size: tuple[int, int] = (1270, 700),
        commands: Iterable[Command] = TIMELINE_COMMANDS,
    ) -> TimelineView:
        view = TimelineView(Document(open_capture(path)), theme=theme, settings=settings)
        view.resize(*size)
        TimelineInput(view, CommandActions(view, lone_context(view), commands))
        made.append(view)
        with qtbot.waitExposed(view):
            view.show()
        wait_idle(qtbot, view)
        return view

    yield make
    for view in made:
        view.shut_down()
        view.close()
        view.document.close()
        view.deleteLater()


@pytest.fixture
def view(make_view: MakeView) -> TimelineView:
    return make_view()


def wait_idle(qtbot: QtBot, view: TimelineView) -> None:
    qtbot.waitUntil(lambda: view.is_idle, timeout=10_000)


def at(view: TimelineView, uri: str, time_ns: int, depth: int = 0) -> QPoint:
    """The point of the canvas where a lane is at a moment."""
    capture = view.document.capture
    lane = capture.track_lanes(capture.track(uri).index)[depth]
    placed, line = view.scene.layout.lane_place[lane]
    y = view.scene.top_of(placed) + line.top + line.height // 2
    return QPoint(round(view.scene.scale.to_px(time_ns)), y)


def event_of(view: TimelineView, uri: str, time_ns: int, depth: int = 0) -> int:
    capture = view.document.capture
    found = capture.event_at(capture.track_lanes(capture.track(uri).index)[depth], time_ns)
    assert found is not None
    return int(found)


def move(
    view: TimelineView,
    point: QPoint,
    target: QWidget | None = None,
    buttons: Qt.MouseButton = Qt.MouseButton.NoButton,
) -> None:
    from PySide6.QtGui import QMouseEvent

    target = target or view.canvas
    where = QPointF(point)
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        where,
        QPointF(target.mapToGlobal(point)),
        Qt.MouseButton.NoButton,
        buttons,
        NONE,
    )
    QApplication.sendEvent(target, event)


def drag(
    qtbot: QtBot,
    view: TimelineView,
    start: QPoint,
    stop: QPoint,
    *,
    modifier: Qt.KeyboardModifier = NONE,
    button: Qt.MouseButton = LEFT,
    target: QWidget | None = None,
) -> None:
    target = target or view.canvas
    qtbot.mousePress(target, button, modifier, start)
    for part in (0.3, 0.7, 1.0):
        point = QPoint(
            round(start.x() + (stop.x() - start.x()) * part), round(start.y() + (stop.y() - start.y()) * part)
        )
        move(view, point, target, button)
    qtbot.mouseRelease(target, button, modifier, stop)


def wheel(
    view: TimelineView,
    point: QPoint,
    notches: float = 0,
    modifier: Qt.KeyboardModifier = NONE,
    pixels: QPoint | None = None,
    target: QWidget | None = None,
) -> None:
    target = target or view.canvas
    event = QWheelEvent(
        QPointF(point),
        QPointF(target.mapToGlobal(point)),
        pixels or QPoint(),
        QPoint(0, round(notches * 120)),
        Qt.MouseButton.NoButton,
        modifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(target, event)


def pixels(widget: QWidget) -> np.ndarray:
    """What is painted, 0xffrrggbb, one value per logical pixel (the middle one of its device pixels)."""
    grabbed = widget.grab()
    image = grabbed.toImage().convertToFormat(QImage.Format.Format_RGB32)
    flat = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.bytesPerLine() // 4)
    step = round(grabbed.devicePixelRatio())
    return flat[step // 2 :: step, step // 2 : image.width() : step].copy()


def rgb(theme: Theme, token: str) -> int:
    return theme.rgb(token)


# pixels


@pytest.mark.parametrize("theme", [DARK, LIGHT, CONTRAST], ids=lambda theme: theme.name)
def test_lanes_are_painted_where_their_events_are(make_view: MakeView, theme: Theme) -> None:
    view = make_view(theme)
    seen = pixels(view.canvas)

    def color(uri: str, time_ns: int, dy: int = 0) -> int:
        point = at(view, uri, time_ns)
        return int(seen[point.y() + dy, point.x()])

    assert color(STREAM, 72 * MS, 4) == theme.rgb("communication")
    assert color(STREAM, 80 * MS + 500 * US, 5) == theme.rgb("copy_to_device")
    assert color(STREAM, 90 * MS + 500 * US, 5) == theme.rgb("copy_to_host")
    assert color(STREAM, 65 * MS) not in {theme.rgb("kernel"), theme.rgb("communication")}
    assert color(f"{MAIN}/nvtx/default", 63 * MS, 5) == 0xFF24C444


def test_states_are_told_apart_by_colour_and_by_shape(view: TimelineView) -> None:
    seen = pixels(view.canvas)
    theme = view.theme
    capture = view.document.capture
    placed, line = view.scene.layout.lane_place[capture.track_lanes(capture.track(f"{MAIN}/state").index)[0]]
    top = view.scene.top_of(placed) + line.top

    def column(time_ns: int) -> np.ndarray:
        return seen[top : top + line.height, round(view.scene.scale.to_px(time_ns))]

    running, runnable = column(20 * MS) == theme.rgb("running"), column(45 * MS) == theme.rgb("runnable")
    assert running.sum() > runnable.sum() > 0
    assert np.flatnonzero(runnable)[0] > np.flatnonzero(running)[0]
    assert np.flatnonzero(runnable)[-1] == np.flatnonzero(running)[-1]
    left, right = (round(view.scene.scale.to_px(t * MS)) for t in (62, 69))
    hatched = seen[top + 3 : top + line.height - 3, left:right]
    assert len(np.unique(hatched)) >= 2
    assert len(np.unique(column(85 * MS))) == 1, "what was not recorded is empty"


def test_density_rises_with_the_busy_fraction(view: TimelineView) -> None:
    """Worker 1 runs 25 of every 50 us: its bar is about half as high as that of a thread that always runs."""
    seen = pixels(view.canvas)
    uri = "process/71.1/thread/72.1/state"
    capture = view.document.capture
    placed, line = view.scene.layout.lane_place[capture.track_lanes(capture.track(uri).index)[0]]
    top = view.scene.top_of(placed) + line.top
    block = seen[top : top + line.height, 100:900] == view.theme.rgb("running")
    heights = block.sum(axis=0)
    assert abs(np.median(heights) - line.height / 2) <= 1.5
    assert np.all(block[-1]), "columns stand on the baseline"


def test_two_grabs_of_an_idle_timeline_are_the_same(view: TimelineView) -> None:
    assert np.array_equal(pixels(view), pixels(view))


def test_a_pause_has_a_texture(view: TimelineView) -> None:
    seen = pixels(view.canvas)
    capture = view.document.capture
    placed, line = view.scene.layout.lane_place[capture.track_lanes(capture.track("cpu/0").index)[0]]
    y = view.scene.top_of(placed) + line.top + 3
    left, right = (round(view.scene.scale.to_px(t * MS)) for t in (71, 74))
    assert len(np.unique(seen[y, left:right])) == 2
    outside = seen[y, round(view.scene.scale.to_px(50 * MS)) : round(view.scene.scale.to_px(58 * MS))]
    assert len(set(np.unique(outside).tolist()) - {rgb(view.theme, "grid")}) == 1


def test_labels_are_painted_on_wide_events_only(view: TimelineView, qtbot: QtBot) -> None:
    ink = {0xFF10141A}
    point = at(view, STREAM, 70 * MS)

    def has_ink() -> bool:
        seen = pixels(view.canvas)
        row = seen[
            point.y() - 6 : point.y() + 6,
            round(view.scene.scale.to_px(70 * MS)) : round(view.scene.scale.to_px(75 * MS)),
        ]
        return bool(np.isin(row, list(ink)).any())

    view.state.set_view(0, 100 * MS)
    wait_idle(qtbot, view)
    assert has_ink(), "5 ms of 100 are 50 pixels: room for the beginning of a name"
    view.resize(500, 700)
    wait_idle(qtbot, view)
    assert not has_ink(), "11 pixels are no room"


# pointing


def test_hover_names_the_event_and_the_time(view: TimelineView, qtbot: QtBot) -> None:
    point = at(view, STREAM, 72 * MS)
    move(view, point)
    hovered = view.state.hover
    assert hovered == event_of(view, STREAM, 72 * MS)
    assert abs((view.state.cursor_ns or 0) - 72 * MS) <= view.scene.scale.ns_per_px
    qtbot.waitUntil(view.canvas.tooltip.isVisible, timeout=2000)
    assert "ncclAllReduce_f32" in view.canvas.tooltip.text().replace("\u200b", "")
    assert view.canvas.rect().contains(view.canvas.tooltip.geometry())
    move(view, at(view, STREAM, 65 * MS))
    assert view.state.hover is None
    assert not view.canvas.tooltip.isVisible()


def test_names_with_brackets_are_shown_as_they_are(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(20 * MS, 21 * MS)
    move(view, at(view, STREAM, 20 * MS + 200 * US))
    qtbot.waitUntil(view.canvas.tooltip.isVisible, timeout=2000)
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


# keys


@pytest.mark.parametrize(("key", "arrow"), [("W", "Up"), ("S", "Down"), ("A", "Left"), ("D", "Right")])
def test_wasd_and_arrows_move_the_view(view: TimelineView, qtbot: QtBot, key: str, arrow: str) -> None:
    results = []
    for name in (key, arrow):
        view.state.set_view(40 * MS, 60 * MS)
        qtbot.keyClick(view, getattr(Qt.Key, f"Key_{name}"))
        results.append(view.state.view)
    assert results[0] == results[1]
    start, stop = results[0]
    if key in "WS":
        assert (stop - start < 20 * MS) == (key == "W")
        assert abs((start + stop) // 2 - 50 * MS) <= 1
    else:
        assert stop - start == 20 * MS
        assert (start > 40 * MS) == (key == "D")


def test_keys_are_known_by_their_place(make_view: MakeView) -> None:
    """On a French keyboard the key where W is on others says Z: it zooms in all the same."""
    # The press of this test reaches shortcuts without its place, which a press of a person keeps.
    view = make_view(commands=())
    view.state.set_view(40 * MS, 60 * MS)
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(view, QKeyEvent(kind, Qt.Key.Key_Z, NONE, 25, 0, 0, "z"))
    assert view.state.view[1] - view.state.view[0] < 20 * MS


@pytest.mark.parametrize(("place", "is_kept"), [(25, True), (52, False)])
def test_a_key_known_by_its_place_is_no_shortcut(view: TimelineView, place: int, is_kept: bool) -> None:
    """The French Z stands where W does, and is not the shortcut Z; the Z of others, left of X, is."""
    press = QKeyEvent(QEvent.Type.ShortcutOverride, Qt.Key.Key_Z, NONE, place, 0, 0, "z")
    press.ignore()
    QApplication.sendEvent(view, press)
    assert press.isAccepted() is is_kept


def test_a_held_key_moves_faster_and_faster_and_is_one_undo(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(0, 2 * MS)
    places: list[int] = []
    view.state.view_changed.connect(lambda value: places.append(value[0]))
    qtbot.keyPress(view, Qt.Key.Key_D)
    qtbot.waitUntil(lambda: len(places) > 25, timeout=10_000)
    qtbot.keyRelease(view, Qt.Key.Key_D)
    assert not view.held.is_moving
    assert places == sorted(places)
    view.state.undo()
    assert view.state.view == (0, 2 * MS)


def test_zooming_from_everything_to_a_nanosecond_and_back(view: TimelineView, qtbot: QtBot) -> None:
    move(view, QPoint(333, 200))
    steps = 0
    while view.state.view[1] - view.state.view[0] > 1:
        wheel(view, QPoint(333, 200), 4, CONTROL)
        steps += 1
        assert steps < 100
    wait_idle(qtbot, view)
    for _ in range(steps):
        wheel(view, QPoint(333, 200), -4, CONTROL)
    assert view.state.view == view.state.span


def test_the_keys_of_the_design(view: TimelineView, qtbot: QtBot) -> None:
    state = view.state
    state.select(event_of(view, STREAM, 20 * MS + 100))
    key = lambda name, modifier=NONE: qtbot.keyClick(view, name, modifier)  # noqa: E731
    key(Qt.Key.Key_F)
    assert state.view[1] - state.view[0] == pytest.approx(400 * US / 0.6, rel=0.01)
    key(Qt.Key.Key_F)
    assert state.view == state.span, "F again shows everything"
    key(Qt.Key.Key_Backspace)
    assert state.view != state.span
    key(Qt.Key.Key_Period)
    assert state.selection == event_of(view, STREAM, 21 * MS + 100)
    key(Qt.Key.Key_Comma)
    key(Qt.Key.Key_Comma)
    assert state.selection == event_of(view, STREAM, 19 * MS + 100)
    key(Qt.Key.Key_BracketLeft)
    assert state.selection == event_of(view, f"{MAIN}/api", 17 * MS + 100)
    key(Qt.Key.Key_BracketRight)
    assert state.selection == event_of(view, STREAM, 19 * MS + 100)
    state.select_range(30 * MS, 40 * MS)
    key(Qt.Key.Key_Z)
    assert state.view == (30 * MS, 40 * MS)
    move(view, at(view, "cpu/0", 35 * MS))
    key(Qt.Key.Key_M)
    assert len(state.marks) == 1
    assert abs(state.marks[0].time_ns - 35 * MS) <= view.scene.scale.ns_per_px
    key(Qt.Key.Key_P)
    assert list(state.pins) == ["cpu/0"]
    key(Qt.Key.Key_P)
    assert list(state.pins) == []
    key(Qt.Key.Key_H)
    assert state.hidden == {"cpu/0"}
    key(Qt.Key.Key_H, SHIFT)
    assert not state.hidden
    key(Qt.Key.Key_Escape)
    assert state.range_selection is None
    key(Qt.Key.Key_Escape)
    assert state.selection is None


def test_an_event_out_of_view_is_gone_to(view: TimelineView, qtbot: QtBot) -> None:
    view.state.set_view(0, MS)
    view.resize(1270, 200)
    row = event_of(view, STREAM, 72 * MS)
    view.state.select(row)
    view.scene.reveal_event(row)
    place = view.scene.place_of_event(row)
    assert place is not None
    assert place.rect.intersects(view.canvas.rect().toRectF())
    assert 0 <= place.rect.center().y() < view.canvas.height()


# links


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
    assert tab.text == "◂ launch 2.000 ms"
    assert tab.rect.left() < 10
    assert (pixels(view.canvas)[:, :60] == view.theme.rgb("link")).sum() > 200
    qtbot.mouseClick(view.canvas, LEFT, pos=tab.rect.center().toPoint())
    assert view.state.selection == event_of(view, f"{MAIN}/api", 48 * MS + 10)
    assert view.state.view[0] <= 48 * MS <= view.state.view[1]


def test_a_selected_range_shows_what_was_launched_in_it(view: TimelineView, qtbot: QtBot) -> None:
    """The call at 5 ms launches three kernels, which run long after the range."""
    capture = view.document.capture
    view.state.select_range(4_500 * US, 5_500 * US)
    wait_idle(qtbot, view)
    launched = view.canvas.overlay.related.launched
    call = event_of(view, f"{MAIN}/api", 5 * MS)
    assert launched.tolist() == sorted(capture.links_from(call)[0].tolist())
    assert len(launched) == 3
    ratio = view.devicePixelRatioF()
    seen = pixels(view.canvas)
    for kernel in launched.tolist():
        place = view.scene.place_of_event(kernel)
        assert place is not None
        rect = place.rect
        row = seen[round((rect.bottom() - 2) * ratio) : round((rect.bottom() + 1) * ratio)]
        part = row[:, max(0, round(rect.left() * ratio) - 1) : round(rect.right() * ratio) + 2]
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


# header


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


# ruler and overview


def test_the_ruler_selects_and_its_marks_move(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    drag(qtbot, view, QPoint(100, 10), QPoint(200, 10), target=view.ruler)
    assert view.state.range_selection == (view.scene.scale.to_ns(100), view.scene.scale.to_ns(200))
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("warm up", True))
    qtbot.mouseDClick(view.ruler, LEFT, pos=QPoint(300, 10))
    assert [mark.text for mark in view.state.marks] == ["warm up"]
    x = round(view.scene.scale.to_px(view.state.marks[0].time_ns))
    drag(qtbot, view, QPoint(x, 20), QPoint(x + 50, 20), target=view.ruler)
    assert view.state.marks[0].time_ns == view.scene.scale.to_ns(x + 50)
    assert view.state.marks[0].text == "warm up"
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


# search and filter


def test_search_counts_steps_and_ticks(view: TimelineView, qtbot: QtBot) -> None:
    view.search.find_text("memcpy")
    assert view.search.text() == "4 found"
    assert len(view.overview.found_columns) == 4
    for expected in (80, 82, 84, 90, 80):
        qtbot.keyClick(view, Qt.Key.Key_N)
        assert view.document.capture.event_span(view.state.selection or 0)[0] == expected * MS
    qtbot.keyClick(view, Qt.Key.Key_N, SHIFT)
    assert view.search.text() == "4 of 4"
    view.search.find_text("/(/")
    assert view.search.text() == "not found" or view.search.query.regex
    view.search.find_text("")
    assert not view.state.highlight
    assert len(view.overview.found_columns) == 0


def test_a_search_in_a_worker_is_overtaken_by_the_next(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpline_app.timeline.model.search.AT_ONCE", 0)
    view.search.find_text("gemm")
    assert view.search.is_running
    view.search.find_text("memcpy")
    qtbot.waitUntil(lambda: not view.search.is_running, timeout=5000)
    QApplication.processEvents()
    assert len(view.search.found.rows) == 4
    wait_idle(qtbot, view)


def test_a_filter_dims_and_is_undone(view: TimelineView, qtbot: QtBot) -> None:
    point = at(view, STREAM, 80 * MS + 500 * US)
    view.state.change_filter(names="nccl")
    wait_idle(qtbot, view)
    dimmed = int(pixels(view.canvas)[point.y() + 4, point.x()])
    assert dimmed != view.theme.rgb("copy_to_device")
    qtbot.keyClick(view, Qt.Key.Key_Backspace)
    assert view.state.filter.is_empty
    wait_idle(qtbot, view)
    assert int(pixels(view.canvas)[point.y() + 4, point.x()]) == view.theme.rgb("copy_to_device")


# robustness


def test_a_track_that_cannot_be_drawn_says_so_in_its_row(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = view.document.capture
    bad = capture.track_lanes(capture.track("cpu/1").index)[0]
    query = type(capture).query

    def failing(self: object, lanes: object, *rest: object) -> object:
        if bad in np.asarray(lanes):
            raise ValueError("damaged column")
        return query(self, lanes, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(type(capture), "query", failing)
    view.canvas.renderer.cache.clear()
    view.canvas.invalidate()
    wait_idle(qtbot, view)
    assert view.canvas.renderer.failed["cpu/1"] == "damaged column"
    point = at(view, STREAM, 72 * MS)
    seen = pixels(view.canvas)
    assert int(seen[point.y() + 4, point.x()]) == view.theme.rgb("communication"), "others are drawn"
    placed = view.scene.layout.by_key["cpu/1"]
    top = view.scene.top_of(placed)
    text = seen[top : top + placed.height, 8:200].view(np.uint8).reshape(placed.height, 192, 4).astype(int)
    assert ((text[..., 2] - text[..., 0]) > 60).sum() > 40, "the reason, in the colour of warnings"


NEEDS_SETTINGS = {"view.save_view", "view.apply_view", "view.rename_view", "view.delete_view"}


@pytest.mark.parametrize(
    "command",
    [command for command in TIMELINE_COMMANDS if command.id not in NEEDS_SETTINGS],
    ids=lambda command: command.id,
)
def test_every_command_does_something(
    view: TimelineView, command: Command, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """Each is run where it can be used and leaves a trace in the state, the scrolling, the clipboard or a message."""
    answers = iter(["kernel", "gemm"])
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: (next(answers), True))
    monkeypatch.setattr(QInputDialog, "getItem", lambda *_a, **_k: ("x", True))
    state, scene = view.state, view.scene
    said: list[str] = []
    view.status_changed.connect(said.append)
    view.resize(1270, 300)
    state.set_view(30 * MS, 70 * MS)
    state.select(event_of(view, f"{MAIN}/nvtx/default", 13 * MS, 1))
    state.select_range(35 * MS, 40 * MS)
    state.add_mark(20 * MS, "a")
    state.add_mark(80 * MS, "b")
    state.set_origin(3)
    state.set_hidden(["system/load"])
    state.set_order("cpu", ["cpu/1", "cpu/0"])
    state.set_height("cpu/0", 30)
    state.change_filter(rows="/x/"[:0], names="g")
    view.search.find_text("gemm")
    scene.focus_key = "cpu/0" if "thread" not in command.id else MAIN
    special = {
        "row.only_thread": MAIN,
        "row.only_process": MAIN,
        "row.only_stream": STREAM,
        "row.toggle": "cpu",
        "row.expand_below": "cpu",
        "row.collapse_below": "cpu",
        "row.move_up": "cpu/0",
        "row.move_down": "cpu/1",
    }
    scene.focus_key = special.get(command.id, scene.focus_key)
    if command.id == "event.up":
        pass
    elif command.id == "event.down":
        state.select(event_of(view, f"{MAIN}/nvtx/default", 11 * MS))
    elif command.id.startswith(("link", "event.next")):
        state.select(event_of(view, f"{MAIN}/api", 18 * MS + 10))
    elif command.id == "event.previous":
        state.select(event_of(view, STREAM, 20 * MS + 10))
    elif command.id == "row.show_all":
        state.change_filter(only=("cpu",))
    elif command.id == "view.redo":
        state.undo()
    elif command.id in {"row.expand_below", "row.expand_all"}:
        state.set_all_expanded({"cpu": False})
    elif command.id == "row.collapse_below":
        scene.focus_key = "cpu"
    elif command.id == "view.reset_layout":
        state.set_pins(["cpu/0"])
    elif command.id == "navigate.page_up":
        scene.scroll_to(10_000)
    QApplication.clipboard().clear()
    trace = lambda: (  # noqa: E731
        state.view,
        state.selection,
        state.range_selection,
        state.track_selection,
        state.filter,
        state.highlight,
        state.pins,
        dict(state.order),
        state.hidden,
        dict(state.expanded),
        dict(state.heights),
        state.marks,
        state.origin_ns,
        state.arrows,
        scene.scroll_px,
        scene.focus_key,
        QApplication.clipboard().text(),
        tuple(said),
    )
    before = trace()
    context = lone_context(view)
    assert command.enabled(context)
    command.callback(context)
    assert trace() != before


def test_named_views_and_the_layout_are_remembered(
    make_view: MakeView, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make_view(settings=settings)
    first.state.set_pins([STREAM])
    first.state.add_mark(5 * MS, "five")
    first.state.set_view(10 * MS, 20 * MS)
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("start", True))
    commands = {command.id: command for command in TIMELINE_COMMANDS}
    commands["view.save_view"].callback(lone_context(first))
    first.state.set_pins([])
    first.state.set_view(0, 50 * MS)
    first.shut_down()
    again = make_view(settings=settings)
    assert again.state.view == (0, 50 * MS)
    assert list(again.state.pins) == []
    assert [mark.text for mark in again.state.marks] == ["five"]
    monkeypatch.setattr(QInputDialog, "getItem", lambda *_a, **_k: ("start", True))
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("warm-up", True))
    commands["view.rename_view"].callback(lone_context(again))
    uuid = again.document.capture.uuid
    assert again.layouts is not None
    assert list(again.layouts.views(uuid)) == ["warm-up"]
    monkeypatch.setattr(QInputDialog, "getItem", lambda *_a, **_k: ("warm-up", True))
    commands["view.apply_view"].callback(lone_context(again))
    assert list(again.state.pins) == [STREAM]
    assert again.state.view == (10 * MS, 20 * MS)
    commands["view.delete_view"].callback(lone_context(again))
    assert not again.layouts.views(uuid)
    said: list[str] = []
    again.status_changed.connect(said.append)
    commands["view.apply_view"].callback(lone_context(again))
    assert said == ["No view of this capture was saved yet"]


def test_keys_are_unique() -> None:
    keys = [key for command in TIMELINE_COMMANDS for key in command.keys]
    assert len(keys) == len(set(keys))
    ids = [command.id for command in TIMELINE_COMMANDS]
    assert len(ids) == len(set(ids))


def shown_menu(qtbot: QtBot, view: TimelineView) -> QMenu:
    qtbot.waitUntil(lambda: any(menu.isVisible() for menu in view.findChildren(QMenu)))
    (menu,) = [menu for menu in view.findChildren(QMenu) if menu.isVisible()]
    return menu


def right_click(target: QWidget, point: QPoint) -> None:
    where = target.mapToGlobal(point)
    QApplication.sendEvent(target, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, point, where))


def chosen(menu: QMenu, command_id: str) -> QAction:
    (action,) = [action for action in menu.actions() if action.objectName() == command_id]
    return action


def test_the_menu_of_a_row_offers_commands_with_their_keys(view: TimelineView, qtbot: QtBot) -> None:
    placed = view.scene.layout.by_key["cpu/0"]
    right_click(view.header, QPoint(60, view.scene.top_of(placed) + 4))
    menu = shown_menu(qtbot, view)
    assert {"row.pin", "row.hide", "row.only"} <= {action.objectName() for action in menu.actions()}
    assert chosen(menu, "row.pin").text().endswith("\tP")
    chosen(menu, "row.pin").trigger()
    assert list(view.state.pins) == ["cpu/0"]
    menu.close()


def test_the_menu_of_an_event_selects_it_and_frames_it(view: TimelineView, qtbot: QtBot) -> None:
    event = event_of(view, STREAM, 72 * MS)
    right_click(view.canvas, at(view, STREAM, 72 * MS))
    menu = shown_menu(qtbot, view)
    assert view.state.selection == event
    chosen(menu, "event.frame").trigger()
    start, stop = view.document.capture.event_span(event)
    assert view.state.view[0] <= start < stop <= view.state.view[1]
    assert view.state.view != view.state.span
    menu.close()


def test_the_menu_of_the_ruler_sets_marks_and_the_origin(
    view: TimelineView, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("here", True))
    right_click(view.ruler, QPoint(400, 10))
    menu = shown_menu(qtbot, view)
    texts = {action.text(): action for action in menu.actions()}
    assert "Remove this mark" not in texts
    texts["Set or name a mark…"].trigger()
    texts["Count times from here"].trigger()
    (mark,) = view.state.marks
    assert mark.text == "here"
    assert mark.time_ns == view.state.origin_ns == view.scene.scale.to_ns(400)
    menu.close()


def test_a_theme_can_be_changed_while_it_is_shown(view: TimelineView, qtbot: QtBot) -> None:
    view.set_theme(LIGHT)
    wait_idle(qtbot, view)
    seen = pixels(view.canvas)
    assert (seen == LIGHT.rgb("canvas")).mean() > 0.2
    assert not (seen == DARK.rgb("canvas")).any()


def test_a_random_walk_ends_idle(view: TimelineView, qtbot: QtBot) -> None:
    """Keys, wheel, clicks and drags in random order: no exception, no warning, and everything settles."""
    chance = random.Random(7)
    keys = [
        Qt.Key.Key_W,
        Qt.Key.Key_A,
        Qt.Key.Key_S,
        Qt.Key.Key_D,
        Qt.Key.Key_F,
        Qt.Key.Key_Z,
        Qt.Key.Key_Backspace,
        Qt.Key.Key_Period,
        Qt.Key.Key_Comma,
        Qt.Key.Key_BracketLeft,
        Qt.Key.Key_BracketRight,
        Qt.Key.Key_P,
        Qt.Key.Key_M,
        Qt.Key.Key_L,
        Qt.Key.Key_Space,
        Qt.Key.Key_Escape,
        Qt.Key.Key_J,
        Qt.Key.Key_K,
        Qt.Key.Key_R,
    ]
    for _ in range(220):
        point = QPoint(chance.randrange(view.canvas.width()), chance.randrange(view.canvas.height()))
        what = chance.randrange(8)
        if what <= 2:
            qtbot.keyClick(view, chance.choice(keys))
        elif what == 3:
            wheel(view, point, chance.choice([-3, -1, 1, 4]), chance.choice([NONE, SHIFT, CONTROL]))
        elif what == 4:
            qtbot.mouseClick(view.canvas, LEFT, pos=point)
        elif what == 5:
            drag(
                qtbot,
                view,
                point,
                point + QPoint(chance.randrange(-200, 200), 30),
                modifier=chance.choice([NONE, SHIFT]),
            )
        elif what == 6:
            qtbot.mouseClick(view.header, LEFT, pos=QPoint(chance.randrange(200), point.y()))
        else:
            move(view, point)
        low, high = view.state.view
        assert view.state.span[0] <= low < high <= view.state.span[1]
        if chance.random() < 0.3:
            QApplication.processEvents()
    wait_idle(qtbot, view)
    assert not view.canvas.renderer.failed


@pytest.mark.skipif(os.environ.get("QT_SCALE_FACTOR") == "2", reason="this is the second run")
def test_pixels_are_the_same_at_twice_the_scale() -> None:
    """The tests of pixels once more in a process whose screen has two device pixels per logical one."""
    chosen = "painted or told_apart or density or ring or arrows_join or tab_that_goes or labels or pause"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", __file__, "-q", "-x", "-k", chosen, "-p", "no:cacheprovider"],
        env={**os.environ, "QT_SCALE_FACTOR": "2", "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout
