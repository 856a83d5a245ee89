"""How much random input a test gets: a little in every run, much more for ``make fuzz``."""

from __future__ import annotations

import os

FUZZ = os.environ.get("HYPOTHESIS_PROFILE") == "fuzz"


def rounds(few: int, many: int = 1_000) -> int:
    """``few``, or ``many`` while fuzzing."""
    return many if FUZZ else few
