"""Tracks by their URI, and which tracks lie below which, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from warpline.model import Track
from warpline.untrusted import natural_key


class TrackTree:
    """The tree that the tracks of a capture make."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        self._tracks = tracks

    @cached_property
    def index_of_uri(self) -> dict[str, int]:
        """Indexes of tracks by their URI."""
        return {track.uri: track.index for track in self._tracks}

    @cached_property
    def children(self) -> dict[int, tuple[int, ...]]:
        """Tracks below each that has any (−1: the top), ordered by sort key, then title with numbers counted."""
        children: dict[int, list[int]] = {}
        for track in self._tracks:
            children.setdefault(track.parent, []).append(track.index)
        key = {track.index: (track.sort_key, natural_key(track.title), track.index) for track in self._tracks}
        return {parent: tuple(sorted(found, key=key.__getitem__)) for parent, found in children.items()}
