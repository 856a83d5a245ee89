"""What a caller may ask of a report beyond its selection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """``by_thread`` keeps threads apart where a report knows threads. ``step`` is the name of the range
    that is a step, or a
    regular expression between slashes; None recognises ProfilerStep and ProfileStep. ``quick`` leaves out what needs
    sorting (medians, deviations), for a table that follows a moving hand.
    """

    by_thread: bool = False
    step: str | None = None
    quick: bool = False
