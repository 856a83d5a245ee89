"""Shortens texts to a width while keeping different ones distinguishable."""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence

from warpline.analysis.framework.kernel_names import short_kernel_names
from warpline.i18n.width import fits, text_width

_CUT = "…"
_BEFORE = 6
"""Common characters shown before the first difference."""
_LEAST = 16
_LONGEST = 4096
"""Characters of a text that are considered: more than a terminal is wide."""
_MOST_PLACES = 6
"""Number of differences that a short form shows; texts that differ only later look alike."""
_PLACE = re.compile(r"(?P<function>.+) \(.*[/\\](?P<file>[^/\\]+:\d+)\)")


def shorten(text: str, width: int) -> str:
    """The text in at most ``width`` columns, without its middle: kernel names often differ only at the ends."""
    if fits(text, width):
        return text
    tail = (width - 1) // 3
    head = width - 1 - tail
    while text_width(text[:head]) > width - 1 - tail and head:
        head -= 1
    while text_width(text[len(text) - tail :]) > (width - 1) // 3 and tail:
        tail -= 1
    return text[:head] + "…" + (text[-tail:] if tail else "")


def shorten_place(text: str, width: int) -> str:
    """A source location such as ``load (/src/data/set.py:41)`` without folders, then without function, if too wide.

    Returns other texts, and those that still do not fit, unchanged.
    """
    match = _PLACE.fullmatch(text)
    if fits(text, width) or match is None:
        return text
    for shown in (f"{match['function']} ({_CUT}/{match['file']})", f"{_CUT}/{match['file']}"):
        if fits(shown, width):
            return shown
    return text


def shorten_apart(texts: Sequence[str], width: int) -> list[str]:
    """Each text in at most ``width`` columns, by `shorten`.

    Where that makes different texts equal, shows the parts that differ instead. Equal texts stay equal.
    """
    short = {text: shorten(text, width) for text in texts}
    if width >= _LEAST and len(set(short.values())) < len(short):
        begin_alike: dict[str, list[str]] = {}
        for text, shown in short.items():
            if text != shown:
                begin_alike.setdefault(_fitting(text, width // 3), []).append(text)
        for group in begin_alike.values():
            if len({short[text] for text in group}) < len(group):
                short |= _shorten_group(group, width, ())
    return [short[text] for text in texts]


def fit_names(names: Sequence[str], width: int) -> list[str]:
    """Each name in at most ``width`` columns: long kernel names by their unique short form, then by `shorten_apart`."""
    long = [name for name in dict.fromkeys(names) if not fits(name, width)]
    short: dict[str, list[str]] = {}
    for name, short_name in short_kernel_names(name.lstrip() for name in long).items() if long else ():
        short.setdefault(short_name, []).append(name)
    unique = {full_names[0]: short_name for short_name, full_names in short.items() if len(full_names) == 1}
    texts = []
    for name in names:
        bare = name.lstrip()
        texts.append(
            name[: len(name) - len(bare)] + unique.get(bare, bare) if not fits(name, width) else name
        )
    return shorten_apart(texts, width)


def _shorten_group(group: Sequence[str], width: int, places: tuple[int, ...]) -> dict[str, str]:
    """Distinct short forms of texts; ``places`` are the indices at which they differ from texts outside the group."""
    places = (*places, len(_common(group)))
    short = {text: _around(text, places, width) for text in group}
    alike: dict[str, list[str]] = {}
    for text, shown in short.items():
        alike.setdefault(shown, []).append(text)
    for texts in alike.values():
        # The common prefix grows with each step, so the recursion ends.
        if len(texts) > 1 and len(places) < _MOST_PLACES and len(_common(texts)) > places[-1]:
            short |= _shorten_group(texts, width, places)
    return short


def _common(texts: Sequence[str]) -> str:
    """The common prefix."""
    return os.path.commonprefix(list(texts))  # noqa: RUF071  # compares characters, as wanted


def _around(text: str, places: tuple[int, ...], width: int) -> str:
    """The beginning of a text and the parts at ``places``, as much of each as fits."""
    shown = _fitting(text, width // 3)
    end = len(shown)
    before = min(_BEFORE, width // 6) if len(places) == 1 else 1
    for number, place in enumerate(places):
        begin = max(place - before, end)
        cut = _CUT if begin > end else ""
        room = width - text_width(shown) - len(cut) - len(_CUT)
        piece = _fitting(text[begin:], max(room // (len(places) - number), 1))
        shown += cut + piece
        end = begin + len(piece)
    return shorten_end(shown + text[end : end + _LONGEST], width)


def shorten_end(text: str, width: int) -> str:
    """The text in at most ``width`` columns, without its end."""
    return text if fits(text, width) else _fitting(text, width - 1) + _CUT


def _fitting(text: str, width: int) -> str:
    """The longest prefix that fits."""
    size = min(len(text), width)
    while size and not fits(text[:size], width):
        size -= 1
    return text[:size]
