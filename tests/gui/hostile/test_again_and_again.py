"""Imports that are cancelled, tabs that come and go, two windows on one capture; 200 of each are `tests.soak`'s."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.gui.hostile.left_behind import look, settle
from tests.gui.hostile.random_user import RandomUser, surprises, until
from tests.gui.hostile.traces import write_trace

from warpline_app.open.opening import Opening
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow

CANCELLED_AFTER = (0, 1, 2, 3, 5, 8)
"""Reports of progress."""
TABS = 3
_BUSY = 1
"""A descriptor that a timer of Qt may need."""


@pytest.fixture
def passing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where whatever is temporary goes."""
    folder = tmp_path / "passing"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def import_and_cancel(window: MainWindow, trace: Path, reports: int) -> None:
    """Give an import up as soon as it has told so often how far it is."""
    workspace, told = window.workspace, 0
    opening = workspace.open_file(trace)
    assert isinstance(opening, Opening)

    def count() -> None:
        nonlocal told
        told += 1

    opening.progressed.connect(count, Qt.ConnectionType.DirectConnection)
    assert until(lambda: told >= reports or not workspace.is_opening)
    for item in workspace.items:
        workspace.close(item)
    assert until(lambda: not workspace.activities)


def test_a_cancelled_import_leaves_nothing(window: MainWindow, tmp_path: Path, passing: Path) -> None:
    trace = write_trace(tmp_path / "trace.json", 3000)
    with surprises() as found:
        import_and_cancel(window, trace, 1)
        settle()
        before = look(passing)
        for reports in CANCELLED_AFTER:
            import_and_cancel(window, trace, reports)
        settle()
    assert not found.texts
    assert look(passing).files == ()
    # A thread that has nothing to do any more needs a moment to be gone, and takes what it opened with it.
    assert until(lambda: look(passing).descriptors <= before.descriptors + _BUSY)
    assert until(lambda: look(passing).threads <= before.threads)
    assert not window.workspace.messages.all


def test_tabs_that_are_closed_leave_nothing(window: MainWindow, sample: Path, passing: Path) -> None:
    user = RandomUser(window)
    looks = []
    with surprises() as found:
        for _ in range(TABS):
            assert user.open(sample) is None
            user.move_about(3)
            user.close_all()
            settle()
            looks.append(look(passing))
    user.leave()
    assert not found.texts
    assert looks[-1].files == ()
    assert until(lambda: look(passing).descriptors <= looks[0].descriptors + _BUSY)
    assert until(lambda: look(passing).threads <= looks[0].threads)


def test_two_windows_show_one_capture(
    qtbot: QtBot, window: MainWindow, settings: Settings, sample: Path, passing: Path
) -> None:
    other = MainWindow(settings)
    other.show()
    first, second = RandomUser(window, 1), RandomUser(other, 2)
    with surprises() as found:
        assert first.open(sample) is None
        assert second.open(sample) is None
        first.move_about(5)
        second.move_about(5)
        first.settle()  # `leave` cancels whatever runs, as quitting does
        second.leave()
        other.close()
        first.move_about(5)
        first.show_panels(["summary", "events"])
        first.leave()
    assert not found.texts
    assert not look(passing).files
