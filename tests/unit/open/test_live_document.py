"""The document of a running recording: view, selection and highlight stay while its capture is replaced."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.unit.recording.live.growing import MS, Growing, Maker

from warpline.recording.live.snapshots import open_snapshot
from warpline.storage import Capture, open_capture
from warpline_app.look.theme import DARK
from warpline_app.open.document import Document
from warpline_app.open.live_document import FOLLOWED_NS, LiveDocument
from warpline_app.open.still import Still
from warpline_app.timeline.model import search
from warpline_app.timeline.model.scene import Scene
from warpline_app.timeline.widgets import path_lane

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

S = 1000
Grow = Callable[..., None]


class Live:
    """A recording, the document that shows it, and what makes its captures."""

    def __init__(self, folder: Path) -> None:
        self.recording = Growing(folder)
        self.recording.add("middle", 100, 200)
        self.maker = Maker(self.recording, folder)
        snapshot = self.maker.make()
        self.document = LiveDocument(open_snapshot(snapshot), snapshot, "x", source=folder / "x.h5")

    def grow(self, since_ns: int = 0) -> None:
        snapshot = self.maker.make(since_ns)
        self.document.grow(open_snapshot(snapshot), snapshot)

    def row_of(self, name: str) -> int:
        capture = self.document.capture
        names = capture.events.name.tolist()
        row: int = names.index(capture.strings.id(name))
        return row


def follows(document: LiveDocument) -> bool:
    """Asked anew: a type checker takes a property for constant."""
    return document.follows


def selected(document: Document) -> int | None:
    return document.state.selection


@pytest.fixture
def live(qtbot: QtBot, tmp_path: Path) -> Iterator[Live]:
    """A recording of 200 ms with one range, *middle*."""
    made = Live(tmp_path)
    yield made
    made.document.close()
    made.maker.close()


def test_the_view_follows_the_end_until_the_user_moves_it(live: Live) -> None:
    document, state = live.document, live.document.state
    assert follows(document)
    live.recording.add("next", 300, 20 * S)
    live.grow()
    assert state.view == (20 * S * MS - FOLLOWED_NS, 20 * S * MS)
    assert not state.can_undo
    state.set_view(0, 5 * MS)
    assert not follows(document)
    live.recording.add("last", 20 * S, 21 * S)
    live.grow()
    assert state.view == (0, 5 * MS)
    document.set_follows(True)
    assert state.view == (21 * S * MS - 5 * MS, 21 * S * MS)


def test_what_fits_in_view_is_where_something_happens_in_the_capture_of_now(
    qtbot: QtBot, tmp_path: Path
) -> None:
    recording = Growing(tmp_path)
    recording.add("first", 9900, 9910)
    maker = Maker(recording, tmp_path)
    snapshot = maker.make()
    document = LiveDocument(open_snapshot(snapshot), snapshot, "x", source=tmp_path / "x.h5")
    state = document.state
    begun = state.activity[0]
    assert 0 < begun < 9900 * MS
    recording.add("next", 9920, 20 * S)
    for since in (0, 12 * S * MS):
        snapshot = maker.make(since)
        document.grow(open_snapshot(snapshot), snapshot)
        assert 0 < state.activity[0] <= begun
        assert state.activity[1] == 20 * S * MS
    recording.finish(30 * S)
    snapshot = maker.make(9 * S * MS)
    capture = open_capture(snapshot.path)
    document.finish(capture, "run.h5", document.source)
    assert state.activity == capture.activity.range_ns
    document.close()
    maker.close()


def test_selection_and_highlight_are_of_the_same_event_and_name(live: Live) -> None:
    document, state = live.document, live.document.state
    state.select(live.row_of("middle"))
    state.set_highlight([document.capture.strings.id("middle") or 0])
    live.recording.add("early", 10, 20)
    live.recording.add("late", 300, 400)
    live.grow()
    assert state.selection == live.row_of("middle") == 1
    assert [document.capture.strings[name] for name in state.highlight] == ["middle"]
    # It is not in a snapshot of the end only.
    live.grow(250 * MS)
    assert state.selection is None


def test_the_finished_capture_keeps_what_was_selected_and_the_notes(live: Live) -> None:
    document, state = live.document, live.document.state
    state.select(live.row_of("middle"))
    state.set_view(50 * MS, 150 * MS)
    state.add_mark(120 * MS)
    live.recording.add("early", 10, 20)
    live.recording.finish(500)
    snapshot = live.maker.make()
    document.finish(open_snapshot(snapshot), "run.h5", document.source)
    assert not document.is_live
    assert document.title == "run.h5"
    assert state.selection == live.row_of("middle")
    assert state.view == (50 * MS, 150 * MS)
    assert [time for time, _note in state.timed_notes] == [120 * MS]


def test_times_move_with_a_capture_that_begins_later(live: Live) -> None:
    state = live.document.state
    live.recording.add("late", 300, 400)
    live.grow()
    state.set_view(320 * MS, 360 * MS)
    state.select_range(330 * MS, 340 * MS)
    state.add_mark(350 * MS)
    state.select(live.row_of("late"))
    snapshot = live.maker.make(250 * MS)
    live.document.finish(open_capture(snapshot.path), "run.h5", live.document.source)
    assert state.view == (70 * MS, 110 * MS)
    assert state.selection == live.row_of("late")
    assert state.range_selection == (80 * MS, 90 * MS)
    assert [time for time, _note in state.timed_notes] == [100 * MS]


def test_panels_show_a_still_and_share_the_selection(live: Live) -> None:
    still = Still(live.document)
    before = still.capture
    live.recording.add("early", 10, 20)
    live.grow()
    assert still.capture is before
    assert live.document.capture is not before
    live.document.state.select(live.row_of("middle"))
    assert selected(still) == 0
    live.document.state.select(live.row_of("early"))
    assert selected(still) is None
    assert live.document.state.selection == live.row_of("early")
    still.state.select(0)
    assert live.document.state.selection == live.row_of("middle") == 1
    still.state.select_range(110 * MS, 120 * MS)
    assert live.document.state.range_selection == (110 * MS, 120 * MS)
    assert live.document.state.selection == 1
    still.close()


class Slow:
    """Work that goes on when it is let, and the captures it was begun with."""

    def __init__(self, work: Callable[..., object]) -> None:
        self._work = work
        self.captures: list[Capture] = []
        self.were_open: list[bool] = []
        self.turns = threading.Semaphore(0)

    def __call__(self, capture: Capture, *rest: object) -> object:
        self.captures.append(capture)
        self.turns.acquire(timeout=60)
        self.were_open.append(len(capture.events.name.tolist()) > 0)
        return self._work(capture, *rest)


def test_a_path_that_takes_longer_than_the_next_capture_is_finished(
    qtbot: QtBot, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(lambda *_: "no path")
    monkeypatch.setattr(path_lane, "path_of", slow)
    lane = path_lane.PathLane(Scene(live.document), DARK)
    qtbot.addWidget(lane)
    live.document.grown.connect(lambda: lane.scene.adopt(live.document.capture))
    live.document.grown.connect(lane.adopt)
    lane.set_wanted(True)
    qtbot.waitUntil(lambda: len(slow.captures) == 1, timeout=60_000)
    for start in (300, 400, 500):
        live.recording.add("next", start, start + 50)
        live.grow()
    assert lane.missing == ""
    slow.turns.release()
    qtbot.waitUntil(lambda: lane.missing == "no path" and len(slow.captures) == 2, timeout=60_000)
    assert slow.captures[1] is live.document.capture
    slow.turns.release()
    qtbot.waitUntil(lambda: not lane.is_busy, timeout=60_000)
    assert slow.were_open == [True, True]
    qtbot.waitUntil(lambda: not live.document._kept[1:], timeout=60_000)
    lane.shut_down()
    assert not live.document._kept


def test_a_search_that_takes_longer_than_the_next_capture_is_finished(
    qtbot: QtBot, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(search.find_events)
    monkeypatch.setattr(search, "find_events", slow)
    monkeypatch.setattr(search, "AT_ONCE", 0)
    document = live.document
    made = search.Search(document)
    document.grown.connect(made.adopt)
    made.find_text("middle")
    qtbot.waitUntil(lambda: len(slow.captures) == 1, timeout=60_000)
    live.recording.add("early", 10, 20)
    live.grow()
    live.recording.add("middle", 300, 400)
    live.grow()
    with qtbot.waitSignal(made.changed, timeout=60_000):
        slow.turns.release()
    # What was found first, by the rows and names of what is shown now.
    assert made.result.times.tolist() == [100 * MS]
    assert [document.capture.strings[name] for name in document.state.highlight] == ["middle"]
    assert made.step(1) == live.row_of("middle") == 1
    document.state.select(1)
    assert made.position() == 0
    with qtbot.waitSignal(made.changed, timeout=60_000):
        slow.turns.release()
    assert made.result.times.tolist() == [100 * MS, 300 * MS]
    assert slow.captures[1:] == [document.capture]
    assert slow.were_open == [True, True]
    qtbot.waitUntil(lambda: not document._kept[1:], timeout=60_000)
    made.shut_down()
    assert not document._kept
