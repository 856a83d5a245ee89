"""Texts that are cut to a width, and still tell apart what differs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from warpline.analysis.framework.kernel_names import short_kernel_names
from warpline.i18n.width import text_width

_CUT = "…"
_BEFORE = 6
"""So much of what names have in common is shown before they differ."""
_LEAST = 16
_PLACE = re.compile(r"(?P<function>.+) \(.*[/\\](?P<file>[^/\\]+:\d+)\)")


def shorten(text: str, width: int) -> str:
    """The text in at most ``width`` columns, with its middle left out: kernels often differ at both ends only."""
    if text_width(text) <= width:
        return text
    tail = (width - 1) // 3
    head = width - 1 - tail
    while text_width(text[:head]) > width - 1 - tail and head:
        head -= 1
    while text_width(text[len(text) - tail :]) > (width - 1) // 3 and tail:
        tail -= 1
    return text[:head] + "…" + (text[-tail:] if tail else "")


def shorten_place(text: str, width: int) -> str:
    """A place of code, ``load (/src/data/set.py:41)``, in at most ``width`` columns if that is possible without its
    folders: ``load (…/set.py:41)``, at last its file and line alone. Other texts stay as they are.
    """
    found = _PLACE.fullmatch(text)
    if text_width(text) <= width or found is None:
        return text
    for shown in (f"{found['function']} ({_CUT}/{found['file']})", f"{_CUT}/{found['file']}"):
        if text_width(shown) <= width:
            return shown
    return text


def shorten_apart(texts: Sequence[str], width: int) -> list[str]:
    """Each text in at most ``width`` columns, as `shorten` does it; where that leaves different ones alike, what they
    differ in is shown instead of their ends. Equal texts stay equal.
    """
    short = {text: shorten(text, width) for text in texts}
    if width >= _LEAST and len(set(short.values())) < len(short):
        begin_alike: dict[str, list[str]] = {}
        for text, shown in short.items():
            if text != shown:
                begin_alike.setdefault(_fitting(text, width // 3), []).append(text)
        for group in begin_alike.values():
            if len({short[text] for text in group}) < len(group):
                short |= _told_apart(group, width, ())
    return [short[text] for text in texts]


def fit_names(names: Sequence[str], width: int) -> list[str]:
    """Each name in at most ``width`` columns: a kernel's that is too long without return type, parameters and the tail
    of its template arguments, as far as that tells it from the others; then as `shorten_apart` does it.
    """
    long = [name for name in dict.fromkeys(names) if text_width(name) > width]
    short: dict[str, list[str]] = {}
    for name, told in short_kernel_names(name.lstrip() for name in long).items() if long else ():
        short.setdefault(told, []).append(name)
    known = {own[0]: told for told, own in short.items() if len(own) == 1}
    found = []
    for name in names:
        bare = name.lstrip()
        found.append(
            name[: len(name) - len(bare)] + known.get(bare, bare) if text_width(name) > width else name
        )
    return shorten_apart(found, width)


def _told_apart(group: Sequence[str], width: int, places: tuple[int, ...]) -> dict[str, str]:
    """Texts cut so that none looks like another; ``places`` are where they were found to differ from further ones."""
    places = (*places, len(_common(group)))
    short = {text: _around(text, places, width) for text in group}
    alike: dict[str, list[str]] = {}
    for text, shown in short.items():
        alike.setdefault(shown, []).append(text)
    for some in alike.values():
        # They have more in common than the whole group: it ends.
        if len(some) > 1 and len(_common(some)) > places[-1]:
            short |= _told_apart(some, width, places)
    return short


def _common(texts: Sequence[str]) -> str:
    """What all begin with."""
    first, last = min(texts), max(texts)
    size = next(
        (at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first)
    )
    return first[:size]


def _around(text: str, places: tuple[int, ...], width: int) -> str:
    """The beginning of a text, and what stands at some places in it: as much of each as there is room for."""
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
    return shorten_end(shown + text[end:], width)


def shorten_end(text: str, width: int) -> str:
    """The text in at most ``width`` columns, its end left out."""
    return text if text_width(text) <= width else _fitting(text, width - 1) + _CUT


def _fitting(text: str, width: int) -> str:
    """As much of the beginning as fits."""
    size = min(len(text), width)
    while size and text_width(text[:size]) > width:
        size -= 1
    return text[:size]
