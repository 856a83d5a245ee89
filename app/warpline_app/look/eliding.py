"""Names that stand under each other, cut so that different ones look different."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from PySide6.QtCore import Qt

Fit = Callable[[int, str, Qt.TextElideMode], str]
"""The place of a text, the text, and where to cut it: what fits there."""


def elide_apart(texts: Sequence[str], fit: Fit) -> list[str]:
    """What is shown of each text. The end is cut where that tells them apart, else the middle, else what they share."""
    shown = [fit(place, text, Qt.TextElideMode.ElideRight) for place, text in enumerate(texts)]
    for places in _alike(texts, shown):
        for place in places:
            shown[place] = fit(place, texts[place], Qt.TextElideMode.ElideMiddle)
    for places in _alike(texts, shown):
        letters = zip(*(texts[place] for place in places), strict=False)
        shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, letters))
        for place in places:
            shown[place] = fit(place, f"…{texts[place][shared:]}", Qt.TextElideMode.ElideRight)
    return shown


def ends_apart(names: Sequence[str], paths: Sequence[str]) -> list[str]:
    """Names, and where several are called the same as much of the ends of their dotted paths as tells them apart."""
    shown, parts = list(names), [path.split(".") for path in paths]
    for places in _alike(paths, names):
        length = 1
        while length < max(len(parts[place]) for place in places):
            length += 1
            ends = {place: ".".join(parts[place][-length:]) for place in places}
            if len(set(ends.values())) == len({paths[place] for place in places}):
                for place in places:
                    shown[place] = ends[place]
                break
    return shown


def _alike(texts: Sequence[str], shown: Sequence[str]) -> list[list[int]]:
    """Places of different texts of which the same is shown."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(shown):
        places.setdefault(text, []).append(place)
    return [alike for alike in places.values() if len({texts[place] for place in alike}) > 1]
