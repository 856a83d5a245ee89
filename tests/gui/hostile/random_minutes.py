"""Random use of a window, and what must hold afterwards: no message, no dead key, no cut tab.

    python -m tests.gui.hostile.random_minutes CAPTURE… --seconds 120 [--seed N]

prints what it found and exits with 1 if anything. The test suite does some steps of the same (`test_random_use`).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar
from tests.gui.hostile.random_user import RandomUser, surprises, until

from warpline_app.open.document import Document
from warpline_app.window.main_window import MainWindow

STEPS = 12


def use(user: RandomUser, captures: list[Path], rounds: Iterator[int]) -> None:
    """Open the captures in tabs, and use one after the other. Raises TimeoutError."""
    for path in captures:
        user.open(path)
    for number in rounds:
        items = user.window.workspace.items
        user.window.workspace.bring_to_front(items[number % len(items)])
        user.move_about(STEPS)
        user.touch(STEPS)
        user.run_commands(0.1)
        user.settle()


def complaints(window: MainWindow) -> list[str]:
    """What somebody would circle after using a window at random."""
    workspace = window.workspace
    found = [
        f"a message is left: {bar.text}" for bar in window.message_bars.bars if bar.message.level != "info"
    ]
    for item in workspace.items:
        workspace.bring_to_front(item)
        QApplication.processEvents()
        found += cut_tabs(window)
        if isinstance(item, Document):
            found += dead_keys(window, item)
    return found


def cut_tabs(window: MainWindow) -> list[str]:
    """Tabs in front of which a part is not seen."""
    found = []
    for bar in window.findChildren(QTabBar):
        at = bar.currentIndex()
        if bar.isVisible() and not bar.rect().isEmpty() and at >= 0:  # a panel may be folded away
            whole = bar.fontMetrics().horizontalAdvance(bar.tabText(at))
            place = bar.tabRect(at)
            if place.width() < whole or not bar.rect().adjusted(-1, -1, 1, 1).contains(place):
                found.append(f"the tab {bar.tabText(at)!r} is cut: {place} of {bar.rect()}")
    return found


def dead_keys(window: MainWindow, document: Document) -> list[str]:
    """Keys of the timeline that do nothing, pressed where the keyboard is after Escape."""
    state, found = document.state, []
    window.activateWindow()
    for _ in range(3):  # leaves search, palette, panel and selection
        QTest.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Escape)
    window.focus_front()
    if not until(window.isActiveWindow, 20):
        return ["the window is not active"]
    target = QApplication.focusWidget() or window

    def has_moved(before: tuple[int, int]) -> bool:
        return state.view != before

    start, stop = state.span
    for key, view in (
        (Qt.Key.Key_W, (start, stop)),
        (Qt.Key.Key_D, (start, start + max((stop - start) // 4, 2))),
    ):
        state.set_view(*view)
        QTest.keyPress(target, key)
        moved = until(partial(has_moved, state.view), 20)
        QTest.keyRelease(target, key)
        if not moved:
            found.append(f"{key.name} does not move the view")
    QTest.keyClick(target, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    if not window.tool_row.search.hasFocus():
        found.append("Ctrl+F does not lead to the search")
    for _ in range(2):
        QTest.keyClick(window.tool_row.search, Qt.Key.Key_Escape)
    if window.tool_row.search.hasFocus():
        found.append("Escape does not lead back from the search")
    return found


def main(arguments: list[str]) -> int:
    """The command line."""
    from warpline_app.look.application import make_application
    from warpline_app.remembered.settings import Settings

    parser = argparse.ArgumentParser(description="use a window at random")
    parser.add_argument("captures", nargs="+", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--seed", type=int, default=17)
    args = parser.parse_args(arguments)
    stop = time.monotonic() + args.seconds

    def rounds() -> Iterator[int]:
        number = 0
        while time.monotonic() < stop:
            yield number
            number += 1

    with tempfile.TemporaryDirectory() as folder, surprises() as found:
        settings = Settings(Path(folder) / "warpline.ini")
        settings.notes_beside_capture, settings.tour_seen = False, True
        make_application("dark", "en")
        window = MainWindow(settings)
        window.resize(1366, 768)
        window.show()
        user = RandomUser(window, args.seed)
        use(user, args.captures, rounds())
        user.close_dialogs()
        problems = [*complaints(window), *found.texts]
        user.leave()
        window.close()
    print("\n".join(problems) or "no message, no dead key, no cut tab")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
