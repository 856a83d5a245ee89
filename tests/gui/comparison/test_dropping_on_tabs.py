"""What is let go on a tab is compared with it: a file, another tab, a file of Open Recent; by real events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDrag, QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from tests.gui.comparison.comparison_sample import write_run

from warpline_app.open.comparing import ComparedPair
from warpline_app.window.capture_page import CapturePage
from warpline_app.window.drop_tab_bar import DropTabBar
from warpline_app.window.main_window import MainWindow
from warpline_app.window.start.recent_menu import RecentMenu

_WAIT_MS = 60_000
_LEFT, _NONE, _PLAIN = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return (
        write_run(folder / "before.h5", load_us=500, kernel="gemm_128x64", pid=71),
        write_run(folder / "after.h5", load_us=100, kernel="gemm_256x64", pid=92),
    )


@pytest.fixture
def bar(window: MainWindow, files: tuple[Path, Path], open_page: Callable[[Path], CapturePage]) -> DropTabBar:
    for path in files:
        open_page(path)
    found = window.tabs.tabBar()
    assert isinstance(found, DropTabBar)
    return found


def move(widget: QWidget, kind: QEvent.Type, at: QPoint, button: Qt.MouseButton = _NONE) -> None:
    """What the window system tells a widget of a mouse whose left button is held."""
    held = _NONE if kind is QEvent.Type.MouseButtonRelease else _LEFT
    place = QPointF(at), QPointF(widget.mapToGlobal(at))
    QApplication.sendEvent(widget, QMouseEvent(kind, *place, button, held, _PLAIN))


def press(widget: QWidget, at: QPoint) -> None:
    move(widget, QEvent.Type.MouseButtonPress, at, _LEFT)


def carry(bar: DropTabBar, data: QMimeData, over: int) -> bool:
    """Hold what is dragged over a tab; whether it would be taken there."""
    at, copy = bar.tabRect(over).center(), Qt.DropAction.CopyAction
    QApplication.sendEvent(bar, QDragEnterEvent(at, copy, data, _LEFT, _PLAIN))
    moved = QDragMoveEvent(at, copy, data, _LEFT, _PLAIN)
    moved.ignore()
    QApplication.sendEvent(bar, moved)
    return moved.isAccepted()


def let_go(bar: DropTabBar, data: QMimeData, over: int) -> None:
    at = QPointF(bar.tabRect(over).center())
    QApplication.sendEvent(bar, QDropEvent(at, Qt.DropAction.CopyAction, data, _LEFT, _PLAIN))


def is_compared(qtbot: QtBot, window: MainWindow, a: Path, b: Path) -> None:
    qtbot.waitUntil(lambda: isinstance(window.workspace.front, ComparedPair), timeout=_WAIT_MS)
    pair = window.workspace.front
    assert isinstance(pair, ComparedPair)
    assert (pair.a.source, pair.b.source) == (a, b)


def files_of(*paths: Path) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


@pytest.fixture
def drags(monkeypatch: pytest.MonkeyPatch) -> list[QMimeData]:
    """What was begun to be dragged; without a display nobody carries it."""
    begun: list[QMimeData] = []

    def take(drag: QDrag, *_actions: Qt.DropAction) -> Qt.DropAction:
        begun.append(files_of(*(Path(url.toLocalFile()) for url in drag.mimeData().urls())))
        assert not drag.pixmap().isNull()
        return Qt.DropAction.IgnoreAction

    monkeypatch.setattr(QDrag, "exec", take)
    return begun


def test_a_file_let_go_on_a_tab_is_compared_with_it(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path], bar: DropTabBar
) -> None:
    told: list[str] = []
    window.workspace.told.connect(told.append)
    plain = bar.grab().toImage()
    assert carry(bar, files_of(files[1]), 0)
    assert bar.target == 0
    assert bar.grab().toImage() != plain
    assert "before.h5 (A)" in told[-1]
    let_go(bar, files_of(files[1]), 0)
    assert bar.target == -1
    is_compared(qtbot, window, *files)


def test_a_tab_takes_one_other_file(files: tuple[Path, Path], bar: DropTabBar) -> None:
    assert not carry(bar, files_of(files[0]), 0)
    assert not carry(bar, files_of(*files), 0)
    assert carry(bar, files_of(files[0]), 1)
    QApplication.sendEvent(bar, QDragLeaveEvent())
    assert bar.target == -1


def test_a_tab_pulled_off_and_let_go_on_another_is_compared_with_it(
    qtbot: QtBot, window: MainWindow, files: tuple[Path, Path], bar: DropTabBar, drags: list[QMimeData]
) -> None:
    begin = bar.tabRect(1).center()
    press(bar, begin)
    move(bar, QEvent.Type.MouseMove, begin + QPoint(0, bar.height() + QApplication.startDragDistance()))
    assert [url.toLocalFile() for data in drags for url in data.urls()] == [str(files[1])]
    # The bar does not go on moving the tab with the pointer.
    move(bar, QEvent.Type.MouseMove, begin - QPoint(bar.tabRect(0).width(), 0))
    assert [item.title for item in window.workspace.items] == ["before.h5", "after.h5"]
    assert carry(bar, drags[0], 0)
    let_go(bar, drags[0], 0)
    is_compared(qtbot, window, *files)
    # The page of a comparison is no capture that could be compared.
    assert not carry(bar, files_of(files[0]), 2)


def test_a_tab_moved_sideways_changes_its_place(
    qtbot: QtBot, window: MainWindow, bar: DropTabBar, drags: list[QMimeData]
) -> None:
    begin, other = bar.tabRect(1).center(), bar.tabRect(0)
    press(bar, begin)
    for share in (3, 2, 1):
        move(
            bar,
            QEvent.Type.MouseMove,
            QPoint(other.left() + 4 + (begin.x() - other.left()) * share // 4, begin.y()),
        )
    move(bar, QEvent.Type.MouseMove, QPoint(other.left() + 4, begin.y()))
    move(bar, QEvent.Type.MouseButtonRelease, QPoint(other.left() + 4, begin.y()), _LEFT)
    qtbot.waitUntil(
        lambda: [item.title for item in window.workspace.items] == ["after.h5", "before.h5"], timeout=_WAIT_MS
    )
    assert drags == []


def test_a_recent_capture_is_dragged_out_of_its_menu(
    window: MainWindow, files: tuple[Path, Path], bar: DropTabBar, drags: list[QMimeData]
) -> None:
    menu = window.findChild(RecentMenu)
    assert menu is not None
    menu.fill()
    action = next(action for action in menu.actions() if action.data() == files[0])
    menu.popup(window.mapToGlobal(QPoint(40, 40)))
    begin = menu.actionGeometry(action).center()
    press(menu, begin)
    move(menu, QEvent.Type.MouseMove, begin + QPoint(1, 0))
    assert drags == []
    move(menu, QEvent.Type.MouseMove, begin + QPoint(0, 4 * QApplication.startDragDistance()))
    assert not menu.isVisible()
    assert carry(bar, drags[0], 1)
