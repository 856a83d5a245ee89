"""The start page: recent captures with their pictures and figures, and a demo for whoever has none."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QPushButton
from pytestqt.qtbot import QtBot

from warpline_app.session.settings import Settings
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
    qtbot.waitUntil(lambda: RecentPictures(window.workspace.settings).of(path) is not None)
    qtbot.keyClick(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    (card,) = window.welcome.recent_cards
    assert card.isVisible()
    picture = next(label.pixmap() for label in card.findChildren(QLabel) if not label.pixmap().isNull())
    assert colors(picture.toImage()) > 5, "a timeline, and no empty surface"
    assert "run.h5" in texts(card)
    figures = next(text for text in texts(card) if " · " in text)
    assert "100 ms" in figures
    assert f"{events:,} events" in figures
    with qtbot.waitSignal(window.tabs.page_opened, timeout=20_000):
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
    qtbot.waitUntil(lambda: pictures.of(path) is not None)
    later = path.stat().st_mtime + 3600
    os.utime(path, (later, later))
    assert pictures.of(path) is None
    assert "not opened since it was written" in texts(RecentCard(path, None))


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
        button for button in window.welcome.findChildren(QPushButton) if button.text() == "Record the Demo"
    )
    with qtbot.waitSignal(window.tabs.page_opened, timeout=120_000):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    page = window.tabs.current_page
    assert page is not None
    assert page.document.source.parent == tmp_path / "warpline-demo"
    assert "logger" in {thread.name for thread in page.document.capture.threads}
