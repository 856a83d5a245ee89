"""How a recorded program failed, as text; empty when it succeeded or its end is unknown."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from warpline.i18n import tr

if TYPE_CHECKING:
    from warpline.model import ProgramEnd


_HEADS_OF_DUMPS = ("Fatal Python error: ", "Timeout (")
"""How faulthandler begins the stacks of all threads (CPython, Modules/faulthandler.c)."""


def how_it_failed(end: ProgramEnd) -> str:
    """``ended with status 1`` or ``was ended by signal 9 (SIGKILL)``; empty where it did not fail as far as is known.

    For a program run in a shell, 128 + n stands for signal n, as shells report it.
    """
    status = end.exit_status
    number = end.exit_signal
    if number is None and status is not None and status > 128 and _signal_name(status - 128):
        number = status - 128
    if number is not None:
        name = _signal_name(number)
        return tr("was ended by signal {number}{name}", number=number, name=f" ({name})" if name else "")
    return tr("ended with status {number}", number=status) if status else ""


def last_words(end: ProgramEnd) -> str:
    """The last line the program wrote to its standard error, empty where none is known."""
    return next((line.strip() for line in reversed(end.stderr_tail or ()) if line.strip()), "")


def shown_tail(end: ProgramEnd, most: int) -> list[str]:
    """The last ``most`` lines of its standard error; what a dump of stacks begins with stands before them, where they
    are only its end.
    """
    tail = [*(end.stderr_tail or ())]
    shown = tail[-most:]
    heads = [line for line in tail[: -len(shown)] if line.startswith(_HEADS_OF_DUMPS)]
    return [heads[-1], "…", *shown[2:]] if heads and most > 2 else shown


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""
