"""A window in random use until its standard input ends: ``window.py CAPTURE SETTINGS``."""

from __future__ import annotations

import os
import random
import sys
import threading
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QApplication

from warpline_app.look.application import make_application
from warpline_app.look.collecting import CycleCollector
from warpline_app.panels.frame.registry import all_panels
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow

KEYS = [
    getattr(Qt.Key, f"Key_{name}")
    for name in ("W", "S", "A", "D", "F", "Home", "End", "Period", "Comma", "M")
]
EVERY_MS = 40
ROUND = 600


class User:
    """Presses keys, turns the wheel, looks at panels, and opens the file anew every now and then."""

    def __init__(self, window: MainWindow, path: Path) -> None:
        self.window, self.path = window, path
        self.random = random.Random(17)
        self.done = 0
        self.panels = all_panels()
        self.timer = QTimer(window)
        self.timer.timeout.connect(self.act)
        self.timer.start(EVERY_MS)

    def act(self) -> None:
        """One thing."""
        self.done += 1
        page = self.window.tabs.current_page
        if page is None:
            if not self.window.workspace.is_opening:
                self.window.workspace.open_file(self.path)
            return
        if self.done % ROUND == 0:
            self.window.workspace.close(page.document)
            return
        if self.done % 50 == 0:
            self.window.panels.show_panel(self.random.choice(self.panels).id)
        canvas = page.view.canvas
        if self.random.random() < 0.6:
            key = self.random.choice(KEYS)
            for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
                QApplication.postEvent(page.view, QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier, ""))
        else:
            at = QPointF(
                self.random.randrange(max(1, canvas.width())), self.random.randrange(max(1, canvas.height()))
            )
            turn = QPoint(0, self.random.choice([-480, -120, 120, 480]))
            wheel = QWheelEvent(
                at, canvas.mapToGlobal(at), QPoint(0, 0), turn, Qt.MouseButton.NoButton,
                Qt.KeyboardModifier.ControlModifier, Qt.ScrollPhase.NoScrollPhase, False,
            )  # fmt: skip
            QApplication.postEvent(canvas, wheel)


def main() -> int:
    """Until standard input ends."""
    settings = Settings(Path(sys.argv[2]))
    application = make_application("dark", "en")
    CycleCollector(application)
    window = MainWindow(settings)
    window.resize(1280, 800)
    window.show()
    user = User(window, Path(sys.argv[1]))
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0 if user.done else 1)), daemon=True).start()
    return application.exec()


if __name__ == "__main__":
    sys.exit(main())
