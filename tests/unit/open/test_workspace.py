"""The workspace without widgets: open items, activities, messages."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.unit.open.conftest import OpenDocument

from warpline.storage import Capture
from warpline_app.open.activity import Activity
from warpline_app.open.background import Job
from warpline_app.open.document import Document
from warpline_app.open.opening import Opening
from warpline_app.open.workspace import Item, Workspace
from warpline_app.remembered.settings import Settings

NO_WIDGETS = """
import importlib
import pkgutil
import sys
from pathlib import Path
from PySide6.QtCore import QCoreApplication
import warpline_app.open, warpline_app.remembered, warpline_app.state
from warpline_app.remembered.settings import Settings
from warpline_app.open.workspace import Workspace
application = QCoreApplication([])
workspace = Workspace(Settings(Path(sys.argv[2])))
workspace.document_opened.connect(lambda _document: application.quit())
workspace.open_file(Path(sys.argv[1]))
application.exec()
assert workspace.current is not None
print(workspace.current.title, len(workspace.current.capture.events))
workspace.close_all()
for room in (warpline_app.open, warpline_app.remembered, warpline_app.state):
    for module in pkgutil.iter_modules(room.__path__):
        importlib.import_module(f"{room.__name__}.{module.name}")
print([name for name in sys.modules if name in ("PySide6.QtWidgets", "PySide6.QtGui", "pyqtgraph")])
"""


def titles(workspace: Workspace) -> list[str]:
    return [item.title for item in workspace.items]


def test_a_capture_opens_where_there_are_no_widgets_at_all(sample: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_WIDGETS, str(sample), str(tmp_path / "s.ini")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split("\n")[:2] == ["sample.h5 140", "[]"], done.stderr


def test_an_empty_window_starts_without_what_only_captures_need() -> None:
    program = (
        "import sys, warpline_app.window.main_window\n"
        "from warpline_app.panels.frame.registry import all_panels\n"
        "all_panels()\n"
        "print([name for name in sys.modules if name in ('numpy', 'h5py', 'pyqtgraph')"
        " or name.startswith('warpline.analysis')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "[]\n", done.stderr


def test_panels_in_front_make_their_classes_on_the_windows_thread_and_read_nothing_else_there() -> None:
    """What a thread imports before has nothing to do with Qt, whose classes PySide makes only on one safely."""
    program = (
        "import importlib, sys, warpline.storage, warpline_app.window.main_window, warpline_app.verbs.timeline_input\n"
        "from warpline_app.panels.frame.registry import all_panels\n"
        "seen = [spec for spec in all_panels() if spec.id in ('findings', 'details')]\n"
        "steps = [sorted(sys.modules)]\n"
        "for load in (lambda spec: [importlib.import_module(name) for name in spec.ahead], lambda spec: spec.load()):\n"
        "    for spec in seen: load(spec)\n"
        "    steps.append(sorted(sys.modules))\n"
        "ahead, panels = (set(after) - set(before) for before, after in zip(steps, steps[1:]))\n"
        "print(len(seen), [name for name in ahead if name.startswith(('warpline_app', 'PySide6'))],"
        " [name for name in panels if name.split('.')[0] in ('warpline', 'numpy', 'h5py')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "2 [] []\n", done.stderr


def test_a_capture_replaces_its_opening_in_front(
    qtbot: QtBot, workspace: Workspace, copies: list[Path]
) -> None:
    fronts: list[Item | None] = []
    currents: list[Document | None] = []
    workspace.front_changed.connect(fronts.append)
    workspace.current_changed.connect(currents.append)
    workspace.open_files(copies)
    assert titles(workspace) == ["a.h5", "b.h5", "c.h5"]
    assert all(isinstance(item, Opening) for item in workspace.items)
    assert workspace.front is workspace.items[2]
    assert currents == []
    qtbot.waitUntil(lambda: len(workspace.documents) == 3, timeout=60_000)
    assert titles(workspace) == ["a.h5", "b.h5", "c.h5"]
    assert [document.source for document in workspace.documents] == copies
    # What opens behind what is in front stays behind it.
    assert workspace.current is workspace.documents[2]
    assert currents == [workspace.documents[2]]
    assert fronts[-1] is workspace.documents[2]
    assert not list(workspace.activities)


def test_a_file_that_is_open_comes_to_the_front(
    workspace: Workspace, open_document: OpenDocument, copies: list[Path]
) -> None:
    first, second = open_document(copies[0]), open_document(copies[1])
    assert workspace.current is second
    workspace.open_file(copies[0])
    assert workspace.current is first
    assert len(workspace.items) == 2
    assert workspace.settings.recent_files == [copies[1], copies[0]]


def test_stepping_wraps_around_in_tab_order(
    workspace: Workspace, open_document: OpenDocument, copies: list[Path]
) -> None:
    for path in copies:
        open_document(path)
    workspace.step(1)
    assert workspace.front is workspace.items[0]
    workspace.move(0, 2)
    assert titles(workspace) == ["b.h5", "c.h5", "a.h5"]
    workspace.step(1)
    assert workspace.front is workspace.items[0]
    workspace.step(-1)
    assert workspace.front is workspace.items[2]


@pytest.mark.parametrize(("front", "closed", "then"), [(1, 1, "c.h5"), (2, 2, "b.h5"), (0, 2, "a.h5")])
def test_closing_brings_the_neighbour_to_the_front(
    workspace: Workspace,
    open_document: OpenDocument,
    copies: list[Path],
    front: int,
    closed: int,
    then: str,
) -> None:
    for path in copies:
        open_document(path)
    workspace.bring_to_front(workspace.items[front])
    workspace.close(workspace.items[closed])
    assert workspace.front is not None
    assert workspace.front.title == then
    assert workspace.current is workspace.front


def test_views_release_a_document_before_its_file_closes(
    workspace: Workspace, open_document: OpenDocument, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = open_document(sample)
    order: list[str] = []
    close = document.capture.close

    def closing(_capture: Capture) -> None:
        order.append("closed")
        close()

    monkeypatch.setattr(Capture, "close", closing)
    workspace.item_removed.connect(lambda _item: order.append("removed"))
    workspace.current_changed.connect(lambda current: order.append(f"current {current}"))
    workspace.document_leaving.connect(lambda _document: order.append("leaving"))
    workspace.close(document)
    assert order == ["removed", "current None", "leaving", "closed"]
    with pytest.raises(ValueError, match=r"not open: sample.h5"):
        workspace.bring_to_front(document)


def test_a_broken_file_is_reported_once_and_leaves_nothing_open(
    qtbot: QtBot, workspace: Workspace, tmp_path: Path
) -> None:
    for _ in range(2):
        with qtbot.waitSignal(workspace.open_failed, timeout=60_000):
            workspace.open_file(tmp_path / "missing.h5")
    (message,) = workspace.messages.all
    assert message.level == "error"
    assert "missing.h5: No such file" in message.text
    assert not list(workspace.items)
    assert workspace.front is None
    assert workspace.settings.recent_files == []


def test_an_opening_that_is_closed_is_cancelled(qtbot: QtBot, workspace: Workspace, sample: Path) -> None:
    opened: list[Document] = []
    workspace.document_opened.connect(opened.append)
    workspace.open_file(sample)
    (opening,) = workspace.items
    assert isinstance(opening, Opening)
    assert [opening.title for opening in workspace.activities] == ["sample.h5"]
    workspace.close(opening)
    assert not list(workspace.items)
    assert not workspace.is_opening
    # Not `finished`: the thread emits it itself, perhaps already.
    with qtbot.waitSignal(opening.opening_job.cancelled, timeout=60_000):
        pass
    assert opened == []


def test_a_layout_is_remembered_by_capture(
    workspace: Workspace, open_document: OpenDocument, sample: Path, settings: Settings
) -> None:
    first = open_document(sample)
    first.state.set_pins(["cpu/0"])
    first.state.add_mark(5_000_000, "five")
    first.state.set_view(0, 50_000_000)
    workspace.close(first)
    again = open_document(sample)
    assert again is not first
    assert list(again.state.pins) == ["cpu/0"]
    assert [note.text for note in again.state.notes] == ["five"]
    assert again.state.view == (0, 50_000_000)


def test_an_activity_is_listed_until_it_has_ended(qtbot: QtBot, workspace: Workspace) -> None:
    go_on = threading.Event()
    told: list[tuple[float, str]] = []

    def work(progress: object, _is_cancelled: object) -> None:
        assert callable(progress)
        progress(0.5, "half")
        assert go_on.wait(60)

    activity = Activity("Export", Job(work, workspace), workspace)
    activity.progressed.connect(lambda fraction, text: told.append((fraction, text)))
    workspace.begin(activity)
    assert list(workspace.activities) == [activity]
    assert not list(workspace.items)
    qtbot.waitUntil(lambda: told == [(0.5, "half")], timeout=60_000)
    with qtbot.waitSignals([activity.ended, workspace.activities_changed], timeout=60_000):
        go_on.set()
    assert not list(workspace.activities)


class Running(Activity):
    """What loses something when it is stopped: a recording, say."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__("run", parent=workspace)
        self.stopped = 0

    @property
    def asks_before_closing(self) -> bool:
        return True

    def stop(self) -> None:
        self.stopped += 1

    def close_tab(self) -> bool:
        self.stop()
        return False


def test_a_recording_keeps_its_tab_until_it_has_ended(workspace: Workspace) -> None:
    running = Running(workspace)
    workspace.begin(running, has_tab=True)
    assert workspace.front is running
    workspace.close(running)
    assert running.stopped == 1
    assert list(workspace.items) == [running]
    workspace.close_all()
    assert running.stopped == 1, "who closes a window has asked before"
    running.ended.emit()
    assert not list(workspace.items)
    assert not list(workspace.activities)


def test_realigning_replaces_the_document_in_its_tab(
    qtbot: QtBot, workspace: Workspace, tmp_path: Path, open_document: OpenDocument, sample: Path
) -> None:
    from tests.unit.interchange.import_tools import rank_file

    from warpline.interchange import import_files
    from warpline_app.open.alignment import movable_clocks

    job = import_files([rank_file(tmp_path, 0, 100), rank_file(tmp_path, 1, 777_000)], tmp_path / "job.h5")
    before = open_document(job)
    open_document(sample)
    before.state.select(3)
    clock = movable_clocks(before.capture)[1].index
    made = workspace.realign(before, before.alignment.changed({clock: 1_000}))
    assert workspace.items[0] is made
    assert workspace.current is not made, "what is behind stays behind"
    assert made.source == job
    assert made.state.selection == 3
    assert made.alignment.shifts == {clock: 1_000}
    workspace.close(made)
    assert open_document(job).alignment.shifts == {clock: 1_000}


def test_messages_are_newest_first_without_duplicates(workspace: Workspace) -> None:
    messages = workspace.messages
    first = messages.show("first", "info")
    messages.show("second")
    messages.show("first", details="again")
    assert [message.text for message in messages.all] == ["first", "second"]
    assert messages.all[0].details == "again"
    assert [messages.data(messages.index(row)) for row in range(messages.rowCount())] == ["first", "second"]
    messages.dismiss(first)
    assert len(messages.all) == 2, "it was replaced already"
    messages.clear()
    assert not list(messages.all)
