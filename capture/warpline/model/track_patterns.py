"""Selects tracks by patterns over their URIs (``gpu/0/*``), for ``--track`` and the library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from warpline.i18n import tr
from warpline.model.errors import UsageError
from warpline.model.tracks import Track

_MOST_COMPARED = 4096
"""Number of tracks that a mistyped pattern is compared with."""


def match_tracks(tracks: Sequence[Track], patterns: Iterable[str]) -> frozenset[int] | None:
    """Indexes of the tracks whose URI matches any of the patterns, and of those below them; None without patterns.

    ``tracks`` are all of a capture, a parent before its children. A ``*`` also matches slashes.

    Raises UsageError when a pattern matches nothing.
    """
    wanted = list(patterns)
    if not wanted:
        return None
    matches: set[int] = set()
    for pattern in wanted:
        hits = {track.index for track in tracks if fnmatchcase(track.uri, pattern)}
        if not hits:
            raise UsageError(_no_match(tracks, pattern))
        matches |= hits
    for track in tracks:
        if track.parent in matches:
            matches.add(track.index)
    return frozenset(matches)


def _no_match(tracks: Sequence[Track], pattern: str) -> str:
    near = get_close_matches(pattern, [track.uri for track in tracks[:_MOST_COMPARED]], n=1)
    if near:
        return tr("no track matches {pattern!r}; did you mean {near!r}?", pattern=pattern, near=near[0])
    return tr("no track matches {pattern!r}; warpline info --json lists the tracks", pattern=pattern)


def outermost_tracks(tracks: Sequence[Track], chosen: frozenset[int]) -> list[Track]:
    """The chosen tracks that are not below another chosen one, in the capture's order."""
    outermost = []
    for index in sorted(chosen):
        above = tracks[index].parent
        while above >= 0 and above not in chosen:
            above = tracks[above].parent
        if above < 0:
            outermost.append(tracks[index])
    return outermost
