"""Runs on Windows: opens the whole window on a capture and saves a picture of it. ``window.py CAPTURE PICTURE``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from warpline.lone_numpy import load_numpy

load_numpy()

from PySide6.QtCore import QCoreApplication, QElapsedTimer, QEventLoop  # noqa: E402  # numpy comes first

from warpline_app.look.application import make_application  # noqa: E402
from warpline_app.remembered.settings import Settings  # noqa: E402
from warpline_app.window.main_window import MainWindow  # noqa: E402

_SECONDS = 300
"""Wine is slow, and other jobs may share the machine."""


def wait_until(is_done: Callable[[], bool]) -> None:
    """Runs Qt's event loop until a condition holds."""
    clock = QElapsedTimer()
    clock.start()
    while not is_done():
        if clock.elapsed() > _SECONDS * 1000:
            sys.exit("the window was not finished")
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)


def main(capture: Path, picture: Path) -> None:
    """Opens, waits until everything is drawn, and saves."""
    settings = Settings()
    make_application("dark", "en")
    window = MainWindow(settings)
    window.resize(1480, 900)
    window.workspace.open_files([capture])
    window.show()
    wait_until(lambda: window.workspace.current is not None)
    document, page = window.workspace.current, window.tabs.current_page
    assert document is not None
    assert page is not None
    # Panels are made after the timeline's first frame.
    wait_until(lambda: page.view.is_idle)
    wait_until(lambda: window.panels.is_settled and page.view.is_idle)
    print(f"{window.windowTitle()}: {len(document.capture.tracks)} tracks")
    if not window.grab().save(str(picture)):
        sys.exit(f"{picture}: cannot be written")
    # Without waiting for work in the background.
    sys.stdout.flush()
    os._exit(0)


main(Path(sys.argv[1]), Path(sys.argv[2]))
