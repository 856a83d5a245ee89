"""A window of a user's own settings, used for a moment: ``python -m tests.gui.hostile.use_window CAPTURE``.

For surroundings that only a process of its own can have. Prints what surprised, one JSON text.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from tests.gui.hostile.random_user import RandomUser, surprises

from warpline_app.look.application import make_application
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow


def main() -> int:
    """Open, look at the start page with what was opened, close."""
    path = Path(sys.argv[1])
    with surprises() as found:
        settings = Settings()
        make_application(settings.theme, settings.language)
        window = MainWindow(settings)
        window.show()
        user = RandomUser(window)
        problem = user.open(path)
        user.move_about(5)
        user.show_panels(["summary", "sources", "details"])
        menu = window.menus["File"]
        menu.aboutToShow.emit()
        user.leave()
        window.grab()
        recent = [str(card.path) for card in window.welcome.recent_cards]
        window.close()
    problems = [problem.text] if problem is not None else []
    print(json.dumps({"surprises": found.texts, "problems": problems, "recent": recent}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
