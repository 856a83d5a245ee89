"""Validates times, ranges, tracks and names from a program against the capture they refer to."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.selection import Selection
from warpline.i18n import tr
from warpline.model import UsageError, format_duration, parse_range, parse_time
from warpline.model.track_patterns import match_tracks

if TYPE_CHECKING:
    from warpline.storage import Capture, Strings

Time = str | int
"""``"1.5s"``, ``"20ms"``, ``"300us"``, ``"5ns"``, or whole nanoseconds; since the start of the capture."""
TimeRange = str | tuple[Time | None, Time | None]
"""``"1.2s:1.3s"`` or ``("1.2s", "1.3s")``; an end that is left out, or None, is that of the capture."""
Patterns = str | Iterable[str]
"""One pattern or several; ``*`` and ``?`` stand for anything, slashes included."""
NamePatterns = str | re.Pattern[str] | Iterable[str | re.Pattern[str]]
"""Exact names, patterns, or compiled regular expressions that are searched for."""


def time_ns(time: Time) -> int:
    """Nanoseconds of a time. Raises UsageError for anything else."""
    if isinstance(time, str):
        try:
            return parse_time(time)
        except ValueError as error:
            raise UsageError(str(error)) from error
    try:
        if isinstance(time, bool):
            raise TypeError
        # Allow numpy's integers, but no floats: nanoseconds and seconds could be confused.
        return operator.index(time)
    except TypeError as error:
        raise UsageError(
            tr(
                "not a time: {time!r}; write a text with a unit, such as '1.5s', or whole nanoseconds",
                time=time,
            )
        ) from error


def range_ns(given: TimeRange | None) -> tuple[int | None, int | None]:
    """Both ends of a range in ns since the start of the capture. Raises UsageError for anything else."""
    if given is None:
        return None, None
    if isinstance(given, str):
        try:
            return parse_range(given)
        except ValueError as error:
            raise UsageError(str(error)) from error
    if not isinstance(given, Sequence) or len(given) != 2:
        raise UsageError(tr("not a range: {given!r}; write ('1.2s', '1.3s') or '1.2s:1.3s'", given=given))
    start, stop = (None if end is None else time_ns(end) for end in given)
    if start is not None and stop is not None and stop < start:
        raise UsageError(tr("range {given!r} ends before it starts", given=given))
    return start, stop


def select(
    capture: Capture,
    path: Path | str,
    ends_ns: tuple[int | None, int | None] = (None, None),
    tracks: Patterns | None = None,
) -> Selection:
    """The selection of a range (ns since the start of the capture) on the tracks that patterns name.

    ``path`` is what the user calls the capture.

    Raises UsageError when the range lies behind the capture's end, or a pattern matches no track.
    """
    origin = capture.span[0]
    start, stop = ends_ns
    if start is not None and start > capture.duration_ns:
        raise UsageError(
            tr(
                "{path}: this part has no events; the capture lasts {length}",
                path=path,
                length=format_duration(capture.duration_ns),
            )
        )
    patterns = [] if tracks is None else [tracks] if isinstance(tracks, str) else list(tracks)
    return Selection(
        None if start is None else origin + start,
        None if stop is None else origin + stop,
        tracks=match_tracks(capture.tracks, patterns),
    )


def matching_names(strings: Strings, names: NamePatterns) -> npt.NDArray[np.bool_]:
    """For each string of a capture, whether it equals or matches any of the names."""
    wanted = [names] if isinstance(names, str | re.Pattern) else list(names)
    exact = {name for name in wanted if isinstance(name, str)}
    globs = [name for name in exact if any(sign in name for sign in "*?[")]
    expressions = [name for name in wanted if isinstance(name, re.Pattern)]

    def is_wanted(text: str) -> bool:
        return (
            text in exact
            or any(fnmatchcase(text, glob) for glob in globs)
            or any(expression.search(text) for expression in expressions)
        )

    return np.array([is_wanted(text) for text in strings.all()], bool)
