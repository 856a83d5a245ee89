"""Every command of the timeline does something; its menus offer them; a track that fails is contained."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
)
from PySide6.QtWidgets import QApplication, QInputDialog, QMenu, QWidget
from pytestqt.qtbot import QtBot
from tests.gui.timeline.lone_timeline import context_of as lone_context
from tests.gui.timeline.timeline_tools import (
    MAIN,
    STREAM,
    at,
    event_of,
    pixels,
    wait_idle,
    write_note,
)
from tests.gui.timeline_sample import MS

from warpline.model.derived_rows import DerivedRow
from warpline_app.commands.command import WindowCommand, run
from warpline_app.remembered.settings import Settings
from warpline_app.timeline.model.derived_rows import KEY
from warpline_app.timeline.widgets.view import TimelineView
from warpline_app.verbs.catalogue import TIMELINE_COMMANDS


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


NAMED_VIEWS = {"view.save_view", "view.apply_view", "view.rename_view", "view.delete_view"}
RUNS_A_QUERY = {"derived.run"}
"""Tried by `test_derived_rows`."""


@pytest.mark.parametrize(
    "command",
    [command for command in TIMELINE_COMMANDS if command.id not in NAMED_VIEWS | RUNS_A_QUERY],
    ids=lambda command: command.id,
)
def test_every_command_does_something(
    view: TimelineView, command: WindowCommand, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    """Each is run where it can be used and leaves a trace in the state, the scrolling, the clipboard or a message."""
    answers = iter(["kernel", "gemm"])
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: (next(answers), True))
    monkeypatch.setattr(QInputDialog, "getItem", lambda *_a, **_k: ("x", True))
    state, scene = view.state, view.scene
    said: list[str] = []
    context = lone_context(view)
    context.workspace.told.connect(lambda text: said.append(text) if text else None)
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
    state.source_wanted.connect(lambda frame: said.append(frame.place))
    if command.id == "event.up":
        pass
    elif command.id == "event.source":
        state.select(event_of(view, f"{MAIN}/state", 60 * MS))
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
    elif command.id == "mark.origin_whole":
        state.whole_ns = -5 * MS
    elif command.id in {"row.expand_below", "row.expand_all"}:
        state.set_all_expanded({"cpu": False})
    elif command.id == "row.collapse_below":
        scene.focus_key = "cpu"
    elif command.id == "view.reset_layout":
        state.set_pins(["cpu/0"])
    elif command.id == "navigate.page_up":
        scene.scroll_to(10_000)
    elif command.id.startswith("derived."):
        state.set_derived_rows([DerivedRow(id="a", title="theirs", sql="SELECT 1")])
        scene.focus_key = f"{KEY}a"
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
        state.notes,
        state.derived_rows,
        state.origin_ns,
        state.arrows,
        scene.scroll_px,
        scene.focus_key,
        QApplication.clipboard().text(),
        tuple(said),
    )
    before = trace()
    assert run(command, context)
    if command.id.startswith("note."):
        write_note(qtbot, view, "why?")
    assert trace() != before


def test_named_views_are_remembered(
    view: TimelineView, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, state, uuid = lone_context(view, settings), view.state, view.document.capture.uuid
    commands = {command.id: command for command in TIMELINE_COMMANDS}
    state.set_pins([STREAM])
    state.set_view(10 * MS, 20 * MS)
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("start", True))
    assert run(commands["view.save_view"], context)
    state.set_pins([])
    state.set_view(0, 50 * MS)
    monkeypatch.setattr(QInputDialog, "getItem", lambda *_a, **_k: ("start", True))
    monkeypatch.setattr(QInputDialog, "getText", lambda *_a, **_k: ("warm-up", True))
    assert run(commands["view.rename_view"], context)
    assert list(context.workspace.layouts.views(uuid)) == ["warm-up"]
    monkeypatch.setattr(QInputDialog, "getItem", lambda *_a, **_k: ("warm-up", True))
    assert run(commands["view.apply_view"], context)
    assert list(state.pins) == [STREAM]
    assert state.view == (10 * MS, 20 * MS)
    assert run(commands["view.delete_view"], context)
    assert not context.workspace.layouts.views(uuid)
    said: list[str] = []
    context.workspace.told.connect(said.append)
    assert run(commands["view.apply_view"], context)
    assert said[-1] == "This capture has no saved views"


def test_keys_are_unique() -> None:
    keys = [key for command in TIMELINE_COMMANDS for key in command.keys]
    assert len(keys) == len(set(keys))
    ids = [command.id for command in TIMELINE_COMMANDS]
    assert len(ids) == len(set(ids))


def shown_menu(qtbot: QtBot, view: TimelineView) -> QMenu:
    qtbot.waitUntil(lambda: any(menu.isVisible() for menu in view.findChildren(QMenu)), timeout=60_000)
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


def test_the_menu_of_the_ruler_sets_marks_and_the_origin(view: TimelineView, qtbot: QtBot) -> None:
    right_click(view.ruler, QPoint(400, 10))
    menu = shown_menu(qtbot, view)
    texts = {action.text(): action for action in menu.actions()}
    assert "Remove note or mark" not in texts
    texts["Add or change note…"].trigger()
    write_note(qtbot, view, "here")
    texts["Set time origin here"].trigger()
    (note,) = view.state.notes
    assert note.text == "here"
    assert note.start_ns == view.state.origin_ns == view.scene.scale.to_ns(400)
    menu.close()
