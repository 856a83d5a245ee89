"""Surroundings in which a window is used: homes that are no homes, languages, clocks that jump."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

_OWN = ("HOME", "LANG", "LC_", "XDG_", "LD_PRELOAD", "LANGUAGE", "TZ")
CLOCK = "stepping_clock.c"


@cache
def stepping_clock(folder: Path) -> Path | None:
    """The library that makes the wall clock jump; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = folder / "stepping_clock.so"
    source = Path(__file__).with_name(CLOCK)
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


def surroundings(folder: Path) -> dict[str, dict[str, str]]:
    """Variables by the name of what they make."""
    clock = stepping_clock(folder)
    jumps = {"LD_PRELOAD": str(clock)} if clock is not None else {}
    # Where the system lacks the locale (see `make_locale`) Qt speaks it all the same.
    turkish = {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "LOCPATH": str(folder / "locales")}
    own = {"XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    return {
        "home read-only, Turkish, clock steps": {"HOME": "/proc", **turkish, **jumps},
        "no home, C, clock steps": {"LC_ALL": "C", **jumps, **own},
        "home is a file": {"HOME": "/dev/null", "LANG": "de_DE.UTF-8"},
        "home not there": {"HOME": str(folder / "nowhere" / "at all"), "LC_ALL": "xx_YY.nothing"},
        "Arabic, far time zone": {"HOME": str(folder), "LC_ALL": "ar_EG.UTF-8", "TZ": "Pacific/Kiritimati"},
        "relative folders": {
            "HOME": ".",
            "XDG_CACHE_HOME": "cache",
            "XDG_CONFIG_HOME": "config",
            "TZ": "nonsense",
        },
    }


def make_locale(folder: Path) -> None:
    """Make the locale in which an I has a dot, where the system's own sources of it are: takes seconds."""
    made = folder / "locales"
    made.mkdir(exist_ok=True)
    if shutil.which("localedef") is not None:
        words = ["localedef", "-i", "tr_TR", "-f", "UTF-8", str(made / "tr_TR.UTF-8")]
        subprocess.run(words, check=False, capture_output=True)


def use_window(capture: Path, folder: Path, variables: dict[str, str]) -> dict[str, Any]:
    """What a window said that was used in these surroundings. Raises AssertionError where its process failed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run(
        [sys.executable, "-m", "tests.gui.hostile.use_window", str(capture)],
        cwd=folder, env={**kept, "PYTHONPATH": str(root), "QT_QPA_PLATFORM": "offscreen", **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said
