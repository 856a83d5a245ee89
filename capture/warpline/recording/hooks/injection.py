"""What tells the agent to put hooks into Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER_VARIABLE = "WARPLINE_HOOKS"
"""Names the folder with the Python that runs inside the program."""
SOURCES_VARIABLE = "WARPLINE_HOOKED"
"""Names the sources that want hooks, with commas."""


def hooking(source: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """Variables that have hooks put in for one more source."""
    # What an outer recording asked for is not asked for here.
    asked = inherited.get(SOURCES_VARIABLE, "") if inherited.get(FOLDER_VARIABLE) == _folder() else ""
    names = [name for name in asked.split(",") if name and name != source]
    return {FOLDER_VARIABLE: _folder(), SOURCES_VARIABLE: ",".join([*names, source])}


def _folder() -> str:
    return str(Path(__file__).resolve().parent / "inside")
