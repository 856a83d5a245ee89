"""Variables that tell the agent to install hooks in Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER_VARIABLE = "WARPLINE_HOOKS"
"""The folder of the Python code that runs inside the program."""
SOURCES_VARIABLE = "WARPLINE_HOOKED"
"""The comma-separated sources that need hooks."""


def hooking(source: str, inherited: Mapping[str, str]) -> dict[str, str]:
    """Variables that install the hooks of one more source."""
    # Settings of an outer recording do not apply here.
    asked = inherited.get(SOURCES_VARIABLE, "") if inherited.get(FOLDER_VARIABLE) == _inside_folder() else ""
    names = [name for name in asked.split(",") if name and name != source]
    return {FOLDER_VARIABLE: _inside_folder(), SOURCES_VARIABLE: ",".join([*names, source])}


def _inside_folder() -> str:
    return str(Path(__file__).resolve().parent / "inside")
