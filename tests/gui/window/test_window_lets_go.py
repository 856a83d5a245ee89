"""Closing a tab releases its file and memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot
from tests.gui.sample import write_sample

from warpline.storage.columns.mapped_file import MappedFile
from warpline_app.open import background
from warpline_app.open.activity import Activity
from warpline_app.open.comparing import ComparedPair
from warpline_app.open.document import Document
from warpline_app.panels.frame.registry import all_panels
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow

OpenPage = Callable[[Path], CapturePage]


def kept() -> list[str]:
    """What of captures is still alive."""
    background.wait_for_jobs()
    for _round in range(3):
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return [type(found).__name__ for found in gc.get_objects() if type(found) in (MappedFile, Document)]


@pytest.fixture
def before(window: MainWindow) -> Iterator[int]:
    """How much was alive. Nothing but the window itself is to let go of what it closes then."""
    gc.collect()
    count = len(kept())
    gc.disable()
    yield count
    gc.enable()


def test_a_closed_tab_leaves_no_file_open(
    before: int, qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    path = write_sample(tmp_path / "mine.h5")
    for _round in range(2):
        page = open_page(path)
        for spec in all_panels():
            window.panels.show_panel(spec.id)
        qtbot.waitUntil(lambda: window.panels.is_settled, timeout=60_000)
        window.workspace.close(page.document)
        del page
    qtbot.waitUntil(lambda: len(kept()) <= before, timeout=60_000)


def test_a_comparison_that_is_closed_leaves_no_file_open(
    before: int, qtbot: QtBot, window: MainWindow, sample: Path, tmp_path: Path
) -> None:
    window.workspace.compare(sample, write_sample(tmp_path / "other.h5"))
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, ComparedPair), timeout=60_000)
    assert window.workspace.front is not None
    window.workspace.close(window.workspace.front)
    qtbot.waitUntil(lambda: len(kept()) <= before, timeout=60_000)
    assert not window.workspace.findChildren(ComparedPair)
    assert not window.workspace.findChildren(Activity)
