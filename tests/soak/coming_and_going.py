"""What people do again and again with a window, counted: ``python -m tests.soak.coming_and_going [TIMES]``.

Imports that are cancelled at random moments, tabs that are opened and closed, two windows on one capture, settings of
garbage: ``TIMES`` (200) of each. Prints memory, descriptors, threads and files that are left after every tenth part,
and exits with 1 where something grew after the first quarter, was left, or ended in an exception.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from tests.gui.hostile.left_behind import Left, grown, look, settle
from tests.gui.hostile.odd_settings import remove, spoil
from tests.gui.hostile.random_user import RandomUser, surprises, until
from tests.gui.hostile.surroundings import make_locale, surroundings, use_window
from tests.gui.hostile.traces import write_trace
from tests.gui.sample import write_sample

from warpline_app.look.application import make_application
from warpline_app.look.collecting import CycleCollector
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow

LONGEST_S = 0.4


class Scenes:
    """One method for each thing that is done; each leaves the window as it was."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.random = random.Random(17)
        self.capture = write_sample(folder / "sample.h5")
        self.settings = folder / "settings.ini"
        self.window = self._window(self.settings)

    def _window(self, settings: Path) -> MainWindow:
        window = MainWindow(Settings(settings))
        window.resize(1280, 800)
        window.show()
        return window

    def cancelled_import(self, number: int) -> None:
        """A trace that was not imported before, given up after a moment."""
        trace = write_trace(self.folder / f"trace {number}.json", 20_000)
        workspace = self.window.workspace
        workspace.open_file(trace)
        end = time.monotonic() + self.random.random() * LONGEST_S
        until(lambda: time.monotonic() > end or not workspace.is_opening)
        for item in workspace.items:
            workspace.close(item)
        until(lambda: not workspace.activities)
        trace.unlink()

    def tab(self, number: int) -> None:
        """A capture opened, looked at, closed."""
        user = RandomUser(self.window, number)
        assert user.open(self.capture) is None
        user.move_about(5)
        user.show_panels([self.random.choice(self.window.panels.panel_ids)])
        user.leave()

    def two_windows(self, number: int) -> None:
        """The same capture in both; the first goes, the other stays usable."""
        other = self._window(self.settings)
        users = RandomUser(self.window, number), RandomUser(other, number + 1)
        for user in users:
            assert user.open(self.capture) is None
        for user in users:
            user.move_about(5)
        (users[number % 2]).leave()
        users[1 - number % 2].move_about(5)
        users[1 - number % 2].leave()
        other.close()

    def odd_settings(self, number: int) -> None:
        """A window with what another one remembered, spoiled."""
        path = self.folder / "odd.ini"
        self.window.workspace.settings.save()
        shutil.copy(self.settings, path)
        spoil(path, number)
        window = self._window(path)
        user = RandomUser(window, number)
        assert user.open(self.capture) is None
        window.grab()
        user.leave()
        window.close()
        remove(path)


def repeat(name: str, scene: Callable[[int], None], times: int, folder: Path) -> list[str]:
    """What went wrong of so many times."""
    looks: list[Left] = []
    with surprises() as found:
        for number in range(times):
            scene(number)
            if number % max(1, times // 10) == 0 or number == times - 1:
                settle()
                looks.append(look(folder))
                print(f"{name:17} {number + 1:4}  {looks[-1]}", flush=True)
    wrong = [f"{name}: {text}" for text in grown(looks)]
    return [*wrong, *(f"{name}: {text}" for text in found.texts[:1])]


def main() -> int:
    """All scenes; the exit status."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory(prefix="warpline-soak-") as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = os.environ["TMPDIR"] = name
        tempfile.tempdir = name
        application = make_application("dark", "en")
        CycleCollector(application)
        scenes = Scenes(folder)
        wrong: list[str] = []
        for scene in (scenes.cancelled_import, scenes.tab, scenes.two_windows, scenes.odd_settings):
            wrong += repeat(scene.__name__.replace("_", " "), scene, times, folder)
        scenes.window.close()
        make_locale(folder)
        for title, variables in surroundings(folder).items():
            said = use_window(scenes.capture, folder, variables)
            print(f"{title:40} {len(said['surprises'])} surprises", flush=True)
            wrong += [f"{title}: {text}" for text in (*said["surprises"], *said["problems"])[:1]]
        application.processEvents()
        print(*(wrong or [f"{times} times each: nothing grew, nothing was left"]), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
