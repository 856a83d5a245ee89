"""A recording shows its timeline while it runs, and the finished capture takes its place."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from tests.unit.recording.live.growing import Growing, Maker

from warpline.own_python import own_python
from warpline.recording.control import is_recording
from warpline.recording.live import client, process
from warpline.recording.live.captures import LiveCaptures
from warpline.recording.live.snapshots import open_snapshot
from warpline.recording.session import load_session
from warpline.storage import Capture
from warpline_app.open.live_document import LiveDocument
from warpline_app.open.still import Still
from warpline_app.recording import following, recording
from warpline_app.recording.recording import Recording
from warpline_app.recording.request import RecordingRequest
from warpline_app.recording.watched_recording import WatchedRecording
from warpline_app.window import live_panels
from warpline_app.window.main_window import MainWindow
from warpline_app.window.recording_page import RecordingPage
from warpline_app.window.run_window import open_or_watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

TIMEOUT_MS = 60_000
PROGRAM = "import time\nprint('begun', flush=True)\nwhile True: time.sleep(0.01)\n"
Start = Callable[[], RecordingPage]


@pytest.fixture
def start(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Records a program that runs until it is stopped, and gives its page."""
    # A machine that is busy with tests would let a niced process wait.
    monkeypatch.setattr(process, "NICE", 0)
    monkeypatch.setattr(recording, "FOLLOWED_AFTER_NS", 0)
    begun: list[Recording] = []

    def run() -> RecordingPage:
        script = tmp_path / "program.py"
        script.write_text(PROGRAM)
        request = RecordingRequest(
            interpreter=sys.executable, script=str(script), trace=("cpu",), output=str(tmp_path / "run.h5")
        )
        made = Recording(request.checked(), window.workspace)
        begun.append(made)
        window.workspace.begin(made, has_tab=True)
        page = window.tabs.page_of(made)
        assert isinstance(page, RecordingPage)
        return page

    yield run
    for made in begun:
        if made.is_running:
            made.process.kill()
            made._signal_program(signal.SIGKILL)
            wait_for_end(qtbot, made)


def wait_for_end(qtbot: QtBot, made: Recording) -> None:
    qtbot.waitUntil(lambda: not made.is_running and made.has_ended, timeout=TIMEOUT_MS)


def follows(document: LiveDocument) -> bool:
    """Asked anew: a type checker takes a property for constant."""
    return document.follows


def live_of(qtbot: QtBot, page: RecordingPage) -> LiveDocument:
    qtbot.waitUntil(lambda: page.recording.document is not None, timeout=TIMEOUT_MS)
    document = page.recording.document
    assert isinstance(document, LiveDocument)
    return document


def settled_row(document: LiveDocument) -> int | None:
    """The first event of the fullest lane, once nothing changes it."""
    settled_ns = 0 if document.live_edge is None else document.live_edge.settled_ns
    lane = int(document.capture.lanes.count.argmax())
    row = document.capture.lanes.rows(lane).start
    return row if document.capture.event_span(row)[1] < settled_ns else None


def grown(qtbot: QtBot, document: LiveDocument) -> None:
    with qtbot.waitSignal(document.grown, timeout=TIMEOUT_MS):
        pass


def test_the_tab_is_the_timeline_and_the_finished_capture_takes_its_place(
    qtbot: QtBot, window: MainWindow, start: Start, tmp_path: Path
) -> None:
    page = start()
    document = live_of(qtbot, page)
    timeline = page.capture_page
    assert timeline is not None
    assert timeline.isVisible()
    assert not page.console.isVisible()
    assert window.workspace.current is document
    assert window.tabs.current_page is timeline
    grown(qtbot, document)
    assert follows(document)
    head = document.state.span[1]
    assert document.state.view[1] == head
    # A look at something older lets the view stay.
    document.state.set_view(0, head // 2)
    assert not follows(document)
    assert page.live_buttons is not None
    assert not page.live_buttons.follow.isChecked()
    state = document.state
    state.set_pins([timeline.view.scene.tree.root.children[0].key])
    # On a busy machine, nothing may be settled yet: an event may still get another reason, and so another name.
    qtbot.waitUntil(lambda: settled_row(document) is not None, timeout=TIMEOUT_MS)
    head, view = document.state.span[1], state.view
    state.select(settled_row(document))
    selected = document.capture.event_span(state.selection or 0)
    qtbot.mouseClick(page.live_buttons.mark, Qt.MouseButton.LeftButton)
    grown(qtbot, document)
    assert document.state.span[1] > head
    assert state.view == view
    assert document.capture.event_span(state.selection or 0)[0] == selected[0]
    assert page.recording.following is not None
    pid = page.recording.following.process_id
    scroll = timeline.view.scene.scroll_px
    furnished: list[bool] = []
    document.grown.connect(lambda: furnished.append(document.notes is not None))
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        qtbot.mouseClick(page.stop_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.tabs.count() == 1, timeout=TIMEOUT_MS)
    assert window.tabs.pages == [timeline]
    assert timeline.isVisible()
    assert window.workspace.documents == (document,)
    assert not document.is_live
    assert furnished[-1]
    assert document.capture.path == document.source == tmp_path / "run.h5"
    assert "begun" in document.console_text
    assert (state.view, timeline.view.scene.scroll_px) == (view, scroll)
    assert document.capture.event_span(state.selection or 0)[0] == selected[0]
    assert len(state.pins) == len(state.timed_notes) == 1
    assert not (tmp_path / "run.h5.spool").exists()
    qtbot.waitUntil(lambda: not exists(pid), timeout=TIMEOUT_MS)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_panels_show_findings_so_far_and_then_those_of_the_whole(
    qtbot: QtBot, window: MainWindow, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first snapshot may hold nothing to judge; another one follows soon.
    monkeypatch.setattr(live_panels, "RENEWED_AFTER_S", 1.0)
    page = start()
    document = live_of(qtbot, page)
    window.panels.show_panel("findings")
    qtbot.waitUntil(lambda: window.panels.panel("findings") is not None, timeout=TIMEOUT_MS)
    panel = window.panels.panel("findings")
    assert panel is not None
    assert isinstance(panel.document, Still)
    qtbot.waitUntil(
        lambda: (panel := window.panels.panel("findings")) is not None and " · so far · " in panel.scope,
        timeout=TIMEOUT_MS,
    )
    # Its capture stays open while the timeline goes on.
    monkeypatch.setattr(live_panels, "RENEWED_AFTER_S", 3_600.0)
    panel = window.panels.panel("findings")
    assert panel is not None
    still = panel.document.capture
    grown(qtbot, document)
    assert panel.document.capture is still is not document.capture
    panel.state.select_range(0, 1_000_000)
    assert document.state.range_selection == (0, 1_000_000)
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        page.recording.stop()
    qtbot.waitUntil(
        lambda: (panel := window.panels.panel("findings")) is not None and panel.document is document,
        timeout=TIMEOUT_MS,
    )
    qtbot.waitUntil(lambda: window.tabs.count() == 1, timeout=TIMEOUT_MS)


def test_captures_that_panels_showed_before_are_freed_at_once(
    qtbot: QtBot, window: MainWindow, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_panels, "RENEWED_AFTER_S", 1.0)
    page = start()
    live_of(qtbot, page)
    window.panels.show_panel("findings")
    qtbot.waitUntil(lambda: window.panels.panel("findings") is not None, timeout=TIMEOUT_MS)
    gc.disable()  # Python would find them, too, but much later in a window that runs for hours
    try:
        shown = window.panels.panel("findings")
        assert shown is not None
        former = weakref.ref(shown.document)
        del shown
        qtbot.waitUntil(lambda: former() is None, timeout=TIMEOUT_MS)
    finally:
        gc.enable()
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        page.recording.stop()


def test_a_timeline_that_fails_costs_neither_the_recording_nor_its_output(
    qtbot: QtBot, window: MainWindow, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "snapshot_command", lambda _directory: ["false"])
    monkeypatch.setattr(following, "RETRY_MS", 1)
    page = start()
    shown = page.recording.messages
    qtbot.waitUntil(lambda: "no longer follows" in " ".join(m.text for m in shown.all), timeout=TIMEOUT_MS)
    qtbot.waitUntil(lambda: "begun" in page.console.toPlainText(), timeout=TIMEOUT_MS)
    assert page.console.isVisible()
    with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
        qtbot.mouseClick(page.stop_button, Qt.MouseButton.LeftButton)
    assert len(window.tabs.pages[0].document.capture.events) > 0
    qtbot.waitUntil(lambda: window.tabs.count() == 1, timeout=TIMEOUT_MS)


def test_the_last_seconds_are_kept_in_a_capture_of_their_own(
    qtbot: QtBot, window: MainWindow, start: Start, tmp_path: Path
) -> None:
    page = start()
    live_of(qtbot, page)
    assert page.live_buttons is not None
    with qtbot.waitSignal(window.workspace.document_opened, timeout=TIMEOUT_MS) as opened:
        qtbot.mouseClick(page.live_buttons.keep, Qt.MouseButton.LeftButton)
    assert opened.args is not None
    assert opened.args[0].source == tmp_path / "run-part-1.h5"
    assert page.recording.is_running
    window.workspace.bring_to_front(page.recording)
    with qtbot.waitSignal(page.recording.ended, timeout=TIMEOUT_MS):
        page.recording.cancel()
    assert [document.title for document in window.workspace.documents] == ["run-part-1.h5"]


def test_a_recording_that_was_started_elsewhere_is_watched(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "NICE", 0)
    monkeypatch.setattr(recording, "FOLLOWED_AFTER_NS", 0)
    output, spool = tmp_path / "run.h5", tmp_path / "run.h5.spool"
    words = ["record", "--quiet", "--trace", "cpu", "-o", str(output), "--", sys.executable, "-c", PROGRAM]
    pid = 0
    with subprocess.Popen([*own_python("warpline"), *words], stdout=subprocess.DEVNULL) as recorder:
        try:
            qtbot.waitUntil(lambda: is_recording(spool), timeout=TIMEOUT_MS)
            pid = load_session(spool).target_pid
            open_or_watch(window.workspace, spool)
            page = window.tabs.currentWidget()
            assert isinstance(page, RecordingPage)
            document = live_of(qtbot, page)
            assert page.capture_page is not None
            assert page.capture_page.isVisible()
            assert not page.cancel_button.isVisible()
            grown(qtbot, document)
            assert page.recording.status["target_pid"] == pid
            with qtbot.waitSignal(window.tabs.page_opened, timeout=TIMEOUT_MS):
                os.kill(pid, signal.SIGKILL)
            assert window.workspace.items == (document,)
            assert document.capture.path == output
        finally:
            recorder.kill()
            if pid and exists(pid):
                os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("runs_on", [False, True])
def test_only_a_program_that_runs_on_lets_its_capture_open_before_the_recorder_ends(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, runs_on: bool
) -> None:
    monkeypatch.setattr(Recording, "is_running", True)
    opened: list[Path] = []
    monkeypatch.setattr(Recording, "_open", lambda _self, path: opened.append(path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    made = Recording(
        RecordingRequest(mode="command", command="x", output=str(tmp_path / "run.h5")), window.workspace
    )
    made._take_status({"state": "done", "path": "run.h5", "target_pid": os.getpid() if runs_on else gone.pid})
    made._hand_over_early()
    assert made.is_handed_over == runs_on == bool(opened)


def test_nothing_begins_for_a_recording_that_has_ended(window: MainWindow, tmp_path: Path) -> None:
    watched = WatchedRecording(Growing(tmp_path).folder, window.workspace)
    watched.close_tab()
    watched._take_status({"state": "recording", "elapsed_ns": 1 << 60})
    assert watched.following is None


def test_a_timeline_that_grows_during_a_drag_takes_the_latest_capture_after_it(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = Growing(tmp_path)
    maker = Maker(growing, tmp_path)
    watched = WatchedRecording(growing.folder, window.workspace)
    follows = following.Following(growing.folder, "x", tmp_path / "x.h5", window.workspace, watched)
    follows._captures = LiveCaptures(follows._process)
    monkeypatch.setattr(follows, "_ask", lambda: None)
    button = Qt.MouseButton.NoButton
    monkeypatch.setattr(QGuiApplication, "mouseButtons", lambda: button)

    def arrive(stop_ms: int) -> Capture:
        growing.add("x", stop_ms - 10, stop_ms)
        snapshot = maker.make()
        capture = open_snapshot(snapshot)
        follows._take(following._Arrival(capture, snapshot, 0.0))
        return capture

    first = arrive(100)
    assert follows.document is not None
    button = Qt.MouseButton.LeftButton
    arrive(200)
    last = arrive(300)
    assert follows.document.capture is first
    button = Qt.MouseButton.NoButton
    qtbot.waitUntil(
        lambda: follows.document is not None and follows.document.capture is last, timeout=TIMEOUT_MS
    )
    follows.end()
    follows.document.close()
    maker.close()


def test_closing_the_window_ends_the_watching_and_not_the_recording(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[str] = []
    monkeypatch.setattr(WatchedRecording, "_command", lambda _self, name: commands.append(name))
    watched = WatchedRecording(Growing(tmp_path).folder, window.workspace)
    window.workspace.begin(watched, has_tab=True)
    window.close()
    assert watched.has_ended
    assert not commands
    assert not window.workspace.items
