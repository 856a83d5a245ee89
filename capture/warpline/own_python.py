"""Starts Warpline's modules in an isolated Python, where no other module can replace one of the standard library.

Python started with ``-m`` or ``-c`` searches the current folder first. That is often the folder of a trace, and whoever
can write there could run code. The user's ``PYTHONPATH`` is meant for the user's own programs.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
"""The folder that contains the running package."""


def own_python(module: str) -> list[str]:
    """The first words of a command that runs a module like ``python -m``; the module's arguments follow.

    The process is isolated (``-I``): it ignores the current folder and ``PYTHON*``, and passes both on to programs it
    starts. It finds every module that this process finds (an installation below ``PYTHONPATH``, a checkout), but after
    the standard library.
    """
    places = [ROOT, *outside_current_folder(sys.path)]
    program = (
        f"import sys; sys.path += [place for place in {places!r} if place not in sys.path]; "
        f"import runpy; runpy.run_module({module!r}, None, '__main__', True)"
    )
    return [sys.executable, "-I", "-c", program]


def python_of_programs() -> str:
    """The Python that runs a recorded script: this one, or the first on PATH if Warpline is a frozen bundle."""
    if getattr(sys, "frozen", False):
        return shutil.which("python3") or sys.executable
    return sys.executable


def forget_current_folder() -> None:
    """Removes the current folder, which ``python -m`` and an empty part of ``PYTHONPATH`` add, from the import path."""
    sys.path[:] = outside_current_folder(sys.path)


def outside_current_folder(places: list[str]) -> list[str]:
    """The paths without the current folder, unless this package lies in it."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it was removed
        here = ""
    return [place for place in places if _is_elsewhere(place, here)]


def _is_elsewhere(place: str, here: str) -> bool:
    return os.path.isabs(place) and (os.path.realpath(place) != here or os.path.samefile(place, ROOT))
