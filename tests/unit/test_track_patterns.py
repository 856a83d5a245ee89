"""Patterns over track URIs."""

from __future__ import annotations

import pytest

from warpline.model import Track, UsageError
from warpline.model.track_patterns import match_tracks, outermost_tracks

TRACKS = (
    Track(index=0, uri="gpu/0", title="GPU 0"),
    Track(index=1, uri="gpu/0/stream/7", title="Stream 7", parent=0),
    Track(index=2, uri="gpu/0/stream/7/sync", title="Waits", parent=1),
    Track(index=3, uri="gpu/1", title="GPU 1"),
    Track(index=4, uri="process/71.1", title="python"),
)


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        (["gpu/0/*"], frozenset({1, 2})),
        (["gpu/0"], frozenset({0, 1, 2})),
        (["*/stream/7"], frozenset({1, 2})),
        (["gpu/1", "process/*"], frozenset({3, 4})),
        (["*"], frozenset({0, 1, 2, 3, 4})),
    ],
)
def test_a_pattern_selects_tracks_and_what_is_below_them(patterns: list[str], found: frozenset[int]) -> None:
    assert match_tracks(TRACKS, patterns) == found


def test_no_pattern_is_no_selection() -> None:
    assert match_tracks(TRACKS, []) is None


def test_each_pattern_must_match() -> None:
    with pytest.raises(UsageError, match="no track matches 'nowhere'; warpline info --json lists"):
        match_tracks(TRACKS, ["gpu/0", "nowhere"])


def test_a_mistyped_pattern_gets_the_nearest_uri() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'process/71\.1'"):
        match_tracks(TRACKS, ["proces/71.1"])


def test_the_outermost_of_nested_tracks_are_kept() -> None:
    outermost = outermost_tracks(TRACKS, frozenset({1, 2, 4}))
    assert [track.uri for track in outermost] == ["gpu/0/stream/7", "process/71.1"]
