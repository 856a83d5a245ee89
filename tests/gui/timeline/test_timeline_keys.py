"""Keys on the timeline: held ones by their place, those of the design, and a long random walk."""

from __future__ import annotations

import random

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import (
    QKeyEvent,
)
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.timeline.timeline_tools import (
    CONTROL,
    LEFT,
    MAIN,
    NONE,
    SHIFT,
    STREAM,
    MakeView,
    at,
    drag,
    event_of,
    move,
    wait_idle,
    wheel,
)
from tests.gui.timeline_sample import MS, US

from warpline_app.timeline.widgets.view import TimelineView
from warpline_app.verbs.catalogue import TIMELINE_COMMANDS


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
    view = make_view(commands=[command for command in TIMELINE_COMMANDS if command.motion])
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
    qtbot.waitUntil(lambda: len(places) > 25, timeout=60_000)
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
    assert len(state.timed_notes) == 1
    assert abs(state.timed_notes[0][0] - 35 * MS) <= view.scene.scale.ns_per_px
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
