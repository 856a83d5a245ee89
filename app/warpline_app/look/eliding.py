"""Shortens names listed together so that different names stay distinguishable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from PySide6.QtCore import Qt

Fit = Callable[[int, str, Qt.TextElideMode], str]
"""Shortens (index, text, where to cut) to the available width."""


def elide_apart(texts: Sequence[str], fit: Fit) -> list[str]:
    """The shortened texts. Cuts the end if the results differ, else the middle, else drops the common prefix."""
    shown = [fit(place, text, Qt.TextElideMode.ElideRight) for place, text in enumerate(texts)]
    for places in _ambiguous(texts, shown):
        for place in places:
            shown[place] = fit(place, texts[place], Qt.TextElideMode.ElideMiddle)
    for places in _ambiguous(texts, shown):
        letters = zip(*(texts[place] for place in places), strict=False)
        shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, letters))
        for place in places:
            shown[place] = fit(place, f"…{texts[place][shared:]}", Qt.TextElideMode.ElideRight)
    return shown


def ends_apart(names: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The names; equal names of different paths become the shortest path endings that differ."""
    shown, parts = list(names), [path.split(".") for path in paths]
    for places in _ambiguous(paths, names):
        length = 1
        while length < max(len(parts[place]) for place in places):
            length += 1
            ends = {place: ".".join(parts[place][-length:]) for place in places}
            if len(set(ends.values())) == len({paths[place] for place in places}):
                for place in places:
                    shown[place] = ends[place]
                break
    return shown


def _ambiguous(texts: Sequence[str], shown: Sequence[str]) -> list[list[int]]:
    """Groups of indices whose different texts are shown identically."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(shown):
        places.setdefault(text, []).append(place)
    return [group for group in places.values() if len({texts[place] for place in group}) > 1]
