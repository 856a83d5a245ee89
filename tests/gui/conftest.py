"""Real widgets, real events: an application per session, and nothing left behind by any test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.gui.sample import write_sample

from warpline_app.look.appearance import appearance
from warpline_app.look.application import make_application
from warpline_app.open import background
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow, open_windows


@pytest.fixture(scope="session")
def qapp_cls(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], QApplication]:
    """The application as the product makes it, in English and dark."""

    def make(_arguments: list[str]) -> QApplication:
        settings = Settings(tmp_path_factory.mktemp("settings") / "session.ini")
        settings.theme, settings.language = "dark", "en"
        return make_application(settings.theme, settings.language)

    return make


@pytest.fixture(autouse=True)
def nothing_left(qapp: QApplication) -> Iterator[None]:
    """Every test ends with no window, no thread and the theme it began with."""
    yield
    for window in open_windows():
        window.close()
    for widget in QApplication.topLevelWidgets():
        widget.close()
    background.wait_for_jobs()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QApplication.processEvents()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    appearance().choose("dark")
    assert not open_windows()
    assert not [widget for widget in QApplication.topLevelWidgets() if widget.isVisible()]
    assert not background._running


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture of `tests.gui.sample`; nobody writes to it."""
    return write_sample(tmp_path_factory.mktemp("captures") / "sample.h5")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a new user."""
    made = Settings(tmp_path / "warpline.ini")
    made.notes_beside_capture = False  # the samples are shared among tests
    return made


@pytest.fixture
def window(qtbot: QtBot, settings: Settings) -> MainWindow:
    """An empty window on the screen."""
    made = MainWindow(settings)
    made.resize(1280, 800)
    with qtbot.waitExposed(made, timeout=60_000):
        made.show()
    made.activateWindow()
    return made


@pytest.fixture
def open_page(qtbot: QtBot, window: MainWindow) -> Callable[[Path], CapturePage]:
    """Opens a file in the window and waits until the timeline is idle and the panels are filled."""

    def open_it(path: Path) -> CapturePage:
        with qtbot.waitSignal(window.tabs.page_opened, timeout=60_000) as opened:
            window.workspace.open_file(path)
        assert opened.args is not None
        page = opened.args[0]
        assert isinstance(page, CapturePage)

        def settled() -> None:
            assert page.view.is_idle, "the timeline still draws"
            assert window.panels.is_settled, "a panel still computes"

        qtbot.waitUntil(settled, timeout=60_000)
        return page

    return open_it
