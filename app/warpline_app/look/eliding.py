"""Shortens names listed together so that different names stay distinguishable."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile

from PySide6.QtCore import Qt

WORD = re.compile(r"(?<=[^\W_])[\W_]|(?<=[a-z])[A-Z]")
"""Starts of words inside a name: after a separator, or at a capital letter."""
_HEADS = (16, 8, 0)
"""How many letters of a name's head to try to keep before the part that differs."""
Fit = Callable[[int, str, Qt.TextElideMode], str]
"""Shortens (index, text, where to cut) to the available width."""


def elide_apart(texts: Sequence[str], fit: Fit) -> list[str]:
    """The shortened texts, by the timeline's rule: cuts the end if the results differ, else the middle, else shows as
    much of the head as fits and the word in which the texts begin to differ.
    """
    shown = [fit(place, text, Qt.TextElideMode.ElideRight) for place, text in enumerate(texts)]
    for places in _ambiguous(texts, shown):
        for place in places:
            shown[place] = fit(place, texts[place], Qt.TextElideMode.ElideMiddle)
    for places in _ambiguous(texts, shown):
        for place, text in _from_difference(texts, places, fit).items():
            shown[place] = text
    return shown


def _from_difference(texts: Sequence[str], places: Sequence[int], fit: Fit) -> dict[int, str]:
    """The texts without their common prefix; each starts with the first word that differs."""
    letters = zip(*(texts[place] for place in places), strict=False)
    shared = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, letters))
    prefix = texts[places[0]][: shared + 1]
    word = max((match.start() for match in WORD.finditer(prefix)), default=0)
    shown: dict[int, str] = {}
    for head, begin in (*((length, word) for length in _HEADS if length < word), (0, shared)):
        shown = {
            place: fit(place, f"{texts[place][:head]}…{texts[place][begin:]}", Qt.TextElideMode.ElideRight)
            for place in places
        }
        if not _ambiguous(texts, [shown.get(place, text) for place, text in enumerate(texts)]):
            break
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
    groups: dict[str, list[int]] = {}
    for index, text in enumerate(shown):
        groups.setdefault(text, []).append(index)
    return [group for group in groups.values() if len({texts[index] for index in group}) > 1]
