"""Starts modules of ours in a Python of their own, in which nobody else's modules take the place of the standard ones.

A Python that is started with ``-m`` or ``-c`` looks for modules in the current folder first, and that folder is often
the one of a trace: whoever can write there would have code run. The user's ``PYTHONPATH`` is meant for his programs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])
"""Where the package lies that runs now."""


def own_python(module: str) -> list[str]:
    """How a command begins that runs a module of ours, as ``python -m`` would; its arguments follow.

    Isolated (``-I``): neither the current folder nor ``PYTHON*`` count, which the process keeps for programs that it
    starts itself. Where modules lie that this process can import, there the new one finds them too (an installation
    below ``PYTHONPATH``, a checkout), but behind the standard library.
    """
    places = [ROOT, *outside_current_folder(sys.path)]
    program = (
        f"import sys; sys.path += [place for place in {places!r} if place not in sys.path]; "
        f"import runpy; runpy.run_module({module!r}, None, '__main__', True)"
    )
    return [sys.executable, "-I", "-c", program]


def forget_current_folder() -> None:
    """Import nothing from the current folder any more: ``python -m`` and an empty part of ``PYTHONPATH`` ask for it."""
    sys.path[:] = outside_current_folder(sys.path)


def outside_current_folder(places: list[str]) -> list[str]:
    """Those that are not the current folder, unless this package lies there."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it was removed
        here = ""
    return [place for place in places if _is_elsewhere(place, here)]


def _is_elsewhere(place: str, here: str) -> bool:
    return os.path.isabs(place) and (os.path.realpath(place) != here or os.path.samefile(place, ROOT))
