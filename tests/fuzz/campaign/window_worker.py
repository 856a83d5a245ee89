"""Hostile inputs in one window, one after the other: ``python -m tests.fuzz.campaign.window_worker FOLDER``.

Reads a path and a seed in each line of its input and answers each with a line of JSON: how that ended, and with what.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from tests.fuzz.campaign.window_inputs import PAIR
from tests.gui.hostile.left_behind import settle
from tests.gui.hostile.random_user import RandomUser, surprises, until

from warpline.model.errors import WarplineError
from warpline.recording.recover import recover
from warpline_app.look.application import make_application
from warpline_app.look.collecting import CycleCollector
from warpline_app.open.document import Document
from warpline_app.open.opening import OpenProblem
from warpline_app.remembered.settings import Settings
from warpline_app.window.main_window import MainWindow
from warpline_app.window.run_window import tell_failures

STEPS = 24
COMMANDS = 0.4
"""Of the commands, another share for each input: they are most of the time, and each looks at a capture alike."""
_LIMIT_MIB = 6000


def resident_mib() -> int:
    """What this process has in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 20


def captured(path: Path) -> Path:
    """What is opened: of a spool, which may have been recorded elsewhere, the capture that comes of it."""
    if path.suffix == ".spool":
        with contextlib.suppress(WarplineError):
            recover(path, path.with_name("recovered.h5"), keep=True)
            return path.with_name("recovered.h5")
    return path


def opened(user: RandomUser, path: Path) -> OpenProblem | None:
    """Open what was made, as its kind is opened. Raises TimeoutError."""
    if path.suffix == PAIR:
        return user.compare(path / "a.h5", path / "b.h5")
    return user.open(captured(path))


def outcome(window: MainWindow, path: Path, seed: int) -> dict[str, object]:
    """Open, use, close."""
    before, began = resident_mib(), time.process_time()
    state, text = "ok", ""
    with surprises() as found:
        user = RandomUser(window, seed)
        try:
            problem = opened(user, path)
            if problem is None:
                user.use_everything(STEPS, COMMANDS)
            else:
                state, text = "traceback" if problem.details else "refused", problem.details or problem.text
        except TimeoutError as error:
            state, text = "timeout", str(error)
        grown = resident_mib() - before
        user.leave()
        left = unclean(window)
    if found.texts:
        state, text = "traceback", found.texts[0]
    elif state == "refused" and ("\n" in text or len(text) > 900):
        state = "two-lines"
    elif left and state in ("ok", "refused"):
        state, text = "left behind", left
    seconds = round(time.process_time() - began, 2)
    return {
        "state": state,
        "message": text[-2500:],
        "mib": grown,
        "seconds": seconds,
        "times": len(found.texts),
    }


def unclean(window: MainWindow) -> str:
    """What is open or at work in a window in which everything was closed; empty where it is as a new one."""
    settle()
    workspace = window.workspace
    if not until(lambda: not workspace.activities and not workspace.items, 20):
        return f"still open: {[type(one).__name__ for one in (*workspace.items, *workspace.activities)]}"
    alive = [type(one).__name__ for one in gc.get_objects() if type(one) is Document]
    return f"still alive: {len(alive)} documents" if alive else ""


def main() -> int:
    """Until the input ends."""
    resource.setrlimit(resource.RLIMIT_DATA, (_LIMIT_MIB << 20, _LIMIT_MIB << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.filterwarnings("error", module="warpline")
    application = make_application("dark", "en")
    CycleCollector(application)
    window = MainWindow(Settings(Path(sys.argv[1]) / "settings.ini"))
    window.resize(1000, 640)
    window.show()
    tell_failures()
    application.processEvents()
    for line in sys.stdin:
        seed, _, path = line.rstrip("\n").partition(" ")
        print(json.dumps(outcome(window, Path(path), int(seed))), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
