"""The tree of tracks: by URI, and children in the order they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from warpline.model import Track
from warpline.untrusted import natural_key


class TrackTree:
    """The tree of a capture's tracks."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        self._tracks = tracks

    @cached_property
    def index_of_uri(self) -> dict[str, int]:
        """Indexes of tracks by their URI."""
        return {track.uri: track.index for track in self._tracks}

    @cached_property
    def children(self) -> dict[int, tuple[int, ...]]:
        """Children by parent (−1: the top), ordered by sort key, then by title with numbers compared as numbers."""
        children: dict[int, list[int]] = {}
        for track in self._tracks:
            children.setdefault(track.parent, []).append(track.index)
        key = {track.index: (track.sort_key, natural_key(track.title), track.index) for track in self._tracks}
        return {parent: tuple(sorted(indexes, key=key.__getitem__)) for parent, indexes in children.items()}
