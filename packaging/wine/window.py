"""Runs on Windows: opens the whole window on a capture and saves a picture of it. ``window.py CAPTURE PICTURE``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from warpline.lone_numpy import load_numpy

load_numpy()

from PySide6.QtCore import QElapsedTimer  # noqa: E402  # numpy comes first

from warpline_app.look.application import make_application  # noqa: E402
from warpline_app.remembered.settings import Settings  # noqa: E402
from warpline_app.window.main_window import MainWindow  # noqa: E402


def main(capture: Path, picture: Path) -> None:
    """Opens, waits until everything is drawn, and saves."""
    settings = Settings()
    application = make_application("dark", "en")
    window = MainWindow(settings)
    window.resize(1480, 900)
    window.workspace.open_files([capture])
    window.show()
    clock = QElapsedTimer()
    clock.start()
    while clock.elapsed() < 20_000:
        application.processEvents()
    document = window.workspace.current
    if document is None:
        sys.exit("the capture was not opened")
    print(f"{window.windowTitle()}: {len(document.capture.tracks)} tracks")
    if not window.grab().save(str(picture)):
        sys.exit(f"{picture}: cannot be written")
    # Without waiting for work in the background.
    sys.stdout.flush()
    os._exit(0)


main(Path(sys.argv[1]), Path(sys.argv[2]))
