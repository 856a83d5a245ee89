"""How a recorded program failed, as text; empty when it succeeded or its end is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n import tr
from warpline.model.tracks import signal_name

if TYPE_CHECKING:
    from warpline.model import ProgramEnd


_HEADS_OF_DUMPS = ("Fatal Python error: ", "Timeout (")
"""How faulthandler begins the stacks of all threads (CPython, Modules/faulthandler.c)."""


def how_it_failed(end: ProgramEnd) -> str:
    """``ended with status 1`` or ``was ended by signal 9 (SIGKILL)``; empty where no failure is known."""
    status, number = end.exit_status, end.signal
    if number is not None:
        name = signal_name(number)
        return tr("was ended by signal {number}{name}", number=number, name=f" ({name})" if name else "")
    return tr("ended with status {number}", number=status) if status else ""


def shown_tail(end: ProgramEnd, most: int) -> list[str]:
    """The last ``most`` lines of its standard error; what a dump of stacks begins with stands before them, where they
    are only its end.
    """
    tail = [*(end.stderr_tail or ())]
    shown = tail[-most:]
    heads = [line for line in tail[: -len(shown)] if line.startswith(_HEADS_OF_DUMPS)]
    return [heads[-1], "…", *shown[2:]] if heads and most > 2 else shown
