"""Finds the files under ``resources/`` (icons, themes, translations, the bundled example) and the documentation."""

from __future__ import annotations

from functools import cache
from pathlib import Path

EXAMPLE = "example/demo.py"
"""The program that the demo records."""


@cache
def root() -> Path:
    """The folder of all resources: inside the package when installed, in the checkout when editable.

    Raises FileNotFoundError when neither exists.
    """
    return _folder("resources")


@cache
def documentation() -> Path:
    """The folder of the documentation's pages (Markdown), inside the package or in the checkout.

    Raises FileNotFoundError when neither exists.
    """
    return _folder("docs")


def _folder(name: str) -> Path:
    package = Path(__file__).resolve().parent
    # The checkout first would be wrong: an unrelated folder of that name may lie two levels above site-packages.
    for candidate in (package / f"_{name}", package.parents[1] / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"Warpline's {name} are missing beside {package}: reinstall warpline")


def path(name: str = "") -> Path:
    """The path of one resource, named relative to ``resources/`` with forward slashes (``icons/app.svg``).

    Raises FileNotFoundError when there is no such file or folder, ValueError when the name leaves the folder.
    """
    folder = root()
    target = (folder / name).resolve()
    if not target.is_relative_to(folder.resolve()):
        raise ValueError(f"not the name of a resource: {name!r}")
    if not target.exists():
        raise FileNotFoundError(f"no resource {name!r} in {folder}")
    return target
