"""Help: the tour through the window, the documentation, and hints that leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from warpline import resources
from warpline.storage import CaptureBuilder
from warpline_app.dialogs.documentation import DocumentationWindow, anchor_of, pages
from warpline_app.look.appearance import appearance
from warpline_app.panels.details.panel import DetailsPanel
from warpline_app.remembered.hints import ENOUGH_USES
from warpline_app.remembered.settings import Settings
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.main_window import MainWindow
from warpline_app.window.tour import STEPS, Tour

OpenPage = Callable[[Path], CapturePage]
TIMEOUT_MS = 20_000


def tour_of(window: MainWindow) -> Tour | None:
    return next((tour for tour in window.findChildren(Tour) if tour.isVisible()), None)


def write_demo(path: Path) -> Path:
    with CaptureBuilder(path) as builder:
        builder.meta.update(command_line=["python", f"/somewhere/{resources.EXAMPLE}"])
        builder.set_span(0, 1_000_000)
        builder.track("process/1", title="python demo.py [1]", role="process")
        builder.finish()
    return path


def test_the_tour_goes_through_the_window_by_keys(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path
) -> None:
    page = open_page(sample)
    assert tour_of(window) is None, "it begins by itself on the demo only"
    window.commands.run("help.tour")
    tour = tour_of(window)
    assert tour is not None
    titles = []
    for number in range(len(STEPS)):
        assert tour.count.text() == f"{number + 1} of 5"
        titles.append(tour.title.text())
        # The card lies inside the window, and the frame around what it explains is painted.
        assert window.rect().contains(tour.geometry())
        at = tour.frame.geometry()
        edge = window.grab().toImage().pixelColor(at.center().x(), at.top() + 1)
        if not tour.geometry().contains(QPoint(at.center().x(), at.top() + 1)):
            assert edge.name() == appearance().theme.selection
        if number < len(STEPS) - 1:
            qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Right)
    assert len(set(titles)) == 5
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Left)
    assert tour.at == 3
    frame = tour.frame
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert tour_of(window) is None
    assert not frame.isVisible()
    assert page.view.hasFocus()


def test_the_tour_begins_once_on_the_demos_capture(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, tmp_path: Path
) -> None:
    path = write_demo(tmp_path / "demo.h5")
    page = open_page(path)
    qtbot.waitUntil(lambda: tour_of(window) is not None, timeout=TIMEOUT_MS)
    window.workspace.close(page.document)
    assert tour_of(window) is None
    open_page(path)
    window.show_palette()  # whatever comes after the first frame has come
    assert tour_of(window) is None
    assert window.workspace.settings.tour_seen


def test_the_tour_leaves_another_tab_alone(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, tmp_path: Path
) -> None:
    window.workspace.settings.tour_seen = True
    demo = open_page(write_demo(tmp_path / "demo.h5"))
    open_page(sample)
    window.workspace.settings.tour_seen = False
    window._document_opened(demo.document)
    came: list[bool] = []
    demo.first_frame.after(lambda: came.append(True))
    qtbot.waitUntil(lambda: bool(came), timeout=TIMEOUT_MS)
    assert tour_of(window) is None
    assert not window.workspace.settings.tour_seen


def test_missing_documentation_is_a_message(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise FileNotFoundError("the documentation is not installed")

    monkeypatch.setattr(resources, "documentation", missing)
    window.commands.run("help.documentation")
    assert "not installed" in window.workspace.messages.all[-1].text


@pytest.fixture
def documentation(qtbot: QtBot, window: MainWindow) -> DocumentationWindow:
    window.commands.run("help.documentation")
    shown = window.findChild(DocumentationWindow)
    assert shown is not None
    return shown


def test_every_page_is_listed_and_links_between_pages_work(
    qtbot: QtBot, documentation: DocumentationWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = resources.documentation()
    assert documentation.list.count() == len(pages(folder)) >= len(list(folder.glob("*.md")))
    documentation.show_page((folder / "recording.md").resolve())
    text = documentation.text
    cursor = text.document().find("spool.md")
    cursor.setPosition(cursor.selectionStart() + 2)
    assert cursor.charFormat().anchorHref() == "spool.md"
    text.setTextCursor(cursor)
    text.ensureCursorVisible()
    qtbot.mouseClick(text.viewport(), Qt.MouseButton.LeftButton, pos=text.cursorRect(cursor).center())
    assert documentation.page is not None
    assert documentation.page.name == "spool.md"
    assert documentation.list.currentItem().text() == "Spool files"
    documentation.go_back()
    assert documentation.page.name == "recording.md"
    # To a heading of another page.
    text.anchorClicked.emit(QUrl("development.md#add-a-source"))
    assert documentation.page.name == "development.md"
    assert text.textCursor().block().text() == "Add a source"
    assert 0 <= text.cursorRect().top() < 60
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    text.anchorClicked.emit(QUrl("https://example.org"))
    text.anchorClicked.emit(QUrl("../../etc/passwd"))
    assert opened == [QUrl("https://example.org")]
    assert documentation.page.name == "development.md"
    assert "Not part" in documentation.note.text()


def test_the_documentation_is_searched(qtbot: QtBot, documentation: DocumentationWindow) -> None:
    qtbot.keyClicks(documentation.search, "process_vm_readv")
    rows = [documentation.list.item(row) for row in range(documentation.list.count())]
    assert "Recording programs" in [item.text() for item in rows if not item.isHidden()]
    assert "Notes" not in [item.text() for item in rows if not item.isHidden()]


def test_anchors_are_those_of_markdown_viewers() -> None:
    assert anchor_of("The window: who owns what") == "the-window-who-owns-what"
    assert anchor_of("Add a source") == "add-a-source"


def test_hints_leave_after_some_uses(
    qtbot: QtBot, window: MainWindow, open_page: OpenPage, sample: Path, settings: Settings
) -> None:
    page = open_page(sample)
    details = window.panels.panel("details")
    assert isinstance(details, DetailsPanel)

    def sections() -> list[str]:
        page.document.state.select(None)
        qtbot.waitUntil(lambda: window.panels.is_settled, timeout=TIMEOUT_MS)
        tops = (details.tree.topLevelItem(at) for at in range(details.tree.topLevelItemCount()))
        return [item.text(0) for item in tops if item is not None]

    assert "How to explore" in sections()
    for row in range(ENOUGH_USES):
        page.document.state.select(row)
    assert "How to explore" not in sections()
    again = MainWindow(settings)
    assert again.workspace.settings.record_of("help/explored") == {"uses": ENOUGH_USES}
    again.close()
