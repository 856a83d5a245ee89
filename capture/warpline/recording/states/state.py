"""Thread states and their names, for all sources that record them."""

from __future__ import annotations

from enum import IntEnum

from warpline.i18n import english


class State(IntEnum):
    """What a thread does between two marks. The numbers index `STATE_NAMES`."""

    NONE = 0
    RUNNING = 1
    RUNNABLE = 2
    BLOCKED = 3


STATE_NAMES = ("", english("running"), english("runnable"), english("blocked"))
