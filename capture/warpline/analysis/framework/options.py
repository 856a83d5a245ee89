"""Options of reports besides the selection."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Options of a report.

    ``by_thread`` lists threads separately, in reports that support it. ``step`` is the name of the ranges that are
    steps, or a regular expression between slashes; None recognises ProfilerStep and ProfileStep. ``quick`` omits values
    that need sorting (medians, deviations), for a table that follows a drag.
    """

    by_thread: bool = False
    step: str | None = None
    quick: bool = False
