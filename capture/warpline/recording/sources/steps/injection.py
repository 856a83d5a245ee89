"""What tells the agent to put hooks into Python."""

from __future__ import annotations

from pathlib import Path

VARIABLE = "WARPLINE_STEPS"
"""Names the folder with the Python that runs inside the program."""


def inside_folder() -> Path:
    """That folder."""
    return Path(__file__).resolve().parent / "inside"
