"""The start page: recent captures with their pictures and figures, and a demo for whoever has none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow
from warpline_app.window.start.recent_card import RecentCard, age_text, figures_of
from warpline_app.window.start.recent_pictures import RecentPictures

OpenPage = Callable[[Path], CapturePage]
NOW = datetime(2026, 3, 14, 12, 0)


def texts(card: RecentCard) -> list[str]:
    return [label.text() for label in card.findChildren(QLabel)]


def colors(image: QImage) -> int:
    points = ((x, y) for x in range(0, image.width(), 7) for y in range(0, image.height(), 7))
    return len({image.pixel(x, y) for x, y in points})


def test_a_recent_capture_is_shown_as_it_looked(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(sample, tmp_path / "run.h5"))
    page = open_page(path)
    events = len(page.document.capture.events)
    qtbot.waitUntil(lambda: RecentPictures(window.workspace.settings).of(path) is not None, timeout=60_000)
    qtbot.keyClick(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    (card,) = window.welcome.recent_cards
    assert card.isVisible()
    picture = next(label.pixmap() for label in card.findChildren(QLabel) if not label.pixmap().isNull())
    assert colors(picture.toImage()) > 5, "a timeline, and no empty surface"
    assert "run.h5" in texts(card)
    figures = next(text for text in texts(card) if " · " in text)
    assert "100 ms" in figures
    assert f"{events:,} events" in figures
    with qtbot.waitSignal(window.tabs.page_opened, timeout=60_000):
        qtbot.mouseClick(card, Qt.MouseButton.LeftButton)


def test_cards_are_made_when_the_page_is_seen(window: MainWindow, open_page: OpenPage, sample: Path) -> None:
    open_page(sample)
    for _ in range(3):
        window.welcome.set_recent(window.workspace.settings.recent_files)
    assert not window.welcome.recent_cards
    assert window.workspace.settings.recent_files
    window.close()
    assert not window.welcome.recent_cards


def test_a_file_that_was_written_anew_has_no_picture(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(sample, tmp_path / "run.h5"))
    open_page(path)
    pictures = RecentPictures(window.workspace.settings)
    qtbot.waitUntil(lambda: pictures.of(path) is not None, timeout=60_000)
    later = path.stat().st_mtime + 3600
    os.utime(path, (later, later))
    assert pictures.of(path) is None
    assert "no preview yet" in texts(RecentCard(path, None))


def test_pictures_that_cannot_be_kept_are_no_error(tmp_path: Path, sample: Path) -> None:
    (tmp_path / "recent").write_text("in the way")
    pictures = RecentPictures(Settings(tmp_path / "warpline.ini"))
    assert pictures.of(sample) is None
    (tmp_path / "recent").unlink()
    (tmp_path / "recent").mkdir()
    kept = pictures._path(sample)
    kept.write_bytes(b"no picture")
    assert pictures.of(sample) is None


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(seconds=20), "just now"),
        (timedelta(seconds=-20), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=47), "1 day ago"),
        (timedelta(days=30), "30 days ago"),
    ],
)
def test_ages_are_told_in_one_unit(ago: timedelta, text: str) -> None:
    assert age_text(NOW - ago, NOW) == text


def test_what_is_not_known_of_a_file_is_left_out(sample: Path) -> None:
    assert len(figures_of(sample, None, datetime.now()).split(" · ")) == 2


def test_the_demo_is_recorded_and_shown(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    button = next(
        button for button in window.welcome.findChildren(QPushButton) if button.text() == "Record demo"
    )
    with qtbot.waitSignal(window.tabs.page_opened, timeout=120_000):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    page = window.tabs.current_page
    assert page is not None
    assert page.document.source.parent == tmp_path / "warpline-demo"
    assert "logger" in {thread.name for thread in page.document.capture.threads}


ROOMS_OF_THE_FIRST_FRAME = {
    "warpline": {"", "analysis", "analysis.framework", "cli", "i18n", "library", "model",
        "platform", "storage", "storage.columns",
                 "storage.index", "storage.read"},
    "warpline_app": {"", "cli", "commands", "look", "open", "open.job", "panels", "panels.frame", "remembered", "state",
                     "timeline", "timeline.draw", "timeline.draw.texts", "timeline.model", "timeline.model.why",
                     "timeline.widgets", "verbs", "window", "window.start"},
}  # fmt: skip
"""What may be imported before a capture is seen, folder by folder: each costs everybody at every start."""
LIBRARIES_OF_THE_FIRST_FRAME = {"numpy", "h5py", "orjson", "PySide6", "shiboken6"}
LATER = {
    "hashlib",
    "sqlite3",
    "ssl",
    "asyncio",
    "multiprocessing",
    "concurrent",
    "numpy.ma",
}
"""Modules of Python and numpy that are large, and that others have dragged in before."""
FIRST_FRAME = """
import json, os, sys, threading

class Elsewhere:
    names = []

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if threading.current_thread() is not threading.main_thread():
            cls.names.append(name)

sys.meta_path.insert(0, Elsewhere)
import warpline_app.window.run_window as start

def watch():
    spared()
    from warpline_app.window.tabs import CaptureTabs

    class Watched(CaptureTabs):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.page_opened.connect(lambda page: page.view.canvas.frame_drawn.connect(tell))

    sys.modules["warpline_app.window.tabs"].CaptureTabs = Watched

def tell():
    import gc, linecache
    from PySide6.QtCore import QCoreApplication, QObject
    from warpline_app.look.collecting import CycleCollector
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    collects = bool(QCoreApplication.instance().findChildren(CycleCollector)) and not gc.isenabled()
    elsewhere = [
        name for name in Elsewhere.names for kind in list(vars(sys.modules.get(name, os)).values())
        if isinstance(kind, type) and issubclass(kind, QObject) and kind.__module__ == name
    ]
    told = {"files": files, "read": list(linecache.cache), "collects": collects, "elsewhere": elsewhere}
    print(json.dumps(told))
    sys.stdout.flush()
    os._exit(0)

spared, start.spare_sources = start.spare_sources, watch
from warpline.cli import main
main(["view", sys.argv[1]])
"""


@pytest.fixture(scope="module")
def first_frame(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str | None]]:
    """What a window has imported when it paints the first frame of a capture."""
    settings = str(tmp_path_factory.mktemp("settings"))
    environment = {**os.environ, "XDG_CONFIG_HOME": settings, "QT_QPA_PLATFORM": "offscreen"}
    told = subprocess.run(
        [sys.executable, "-c", FIRST_FRAME, str(sample)],
        env=environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    answer: dict[str, dict[str, str | None]] = json.loads(told.stdout)
    return answer


def test_the_first_frame_imports_nothing_but_what_it_shows(
    first_frame: dict[str, dict[str, str | None]],
) -> None:
    files = first_frame["files"]
    for package, rooms in ROOMS_OF_THE_FIRST_FRAME.items():
        modules = {name for name in files if name.partition(".")[0] == package}
        folders = {name.removesuffix(".spec").rpartition(".")[0] for name in modules if name != package}
        found = {folder.partition(".")[2] for folder in folders}
        assert found - rooms == set(), sorted(modules)
    installed = {
        name
        for name, path in files.items()
        if path and "site-packages" in path and "." not in name and not name.startswith(("_", "warpline"))
    }
    assert installed - LIBRARIES_OF_THE_FIRST_FRAME <= {"cython_runtime"}
    assert LATER & set(files) == set()
    assert [
        name for name in files if name.startswith("warpline_app.panels.") and name.endswith(".panel")
    ] == []


def test_classes_of_qt_are_made_in_the_thread_of_the_window(
    first_frame: dict[str, dict[str, str | None]],
) -> None:
    """Made in another thread while this one handles events, they end the process now and then."""
    assert not first_frame["elsewhere"]


def test_sources_are_not_read_for_the_word_pyside(first_frame: dict[str, dict[str, str | None]]) -> None:
    assert [path for path in first_frame["read"] if "warpline" in path] == []
    assert first_frame["collects"], "garbage is collected again once modules are there"
