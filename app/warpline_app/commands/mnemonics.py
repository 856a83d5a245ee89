"""Letters that choose an entry of an open menu, each only once in its menu."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar

ENGLISH = "english"
"""Property of an entry: its title in English, from which its letter is taken in every language."""
_WORD = re.compile(r"[A-Za-z0-9]+")
_FREE = string.ascii_uppercase + string.digits


def letters_of(titles: Sequence[str]) -> list[str]:
    """A letter for each English title, each once: the first of a word where it is free, else one inside."""
    taken: set[str] = set()
    found = [""] * len(titles)
    # Those with the fewest letters to choose from go first, so that none is left without its own.
    for place in sorted(range(len(titles)), key=lambda one: len(set(titles[one].upper()))):
        words = _WORD.findall(titles[place])
        wanted = [word[0] for word in words] + [letter for word in words for letter in word[1:]]
        letter = next((one for one in (*map(str.upper, wanted), *_FREE) if one not in taken), "")
        taken.add(letter)
        found[place] = letter
    return found


def with_mnemonic(text: str, letter: str) -> str:
    """A text of a menu, ``&&`` and its key after a tab included, with its letter marked; in brackets where the text
    does not have it, as menus in Chinese do.
    """
    title, tab, key = text.partition("\t")
    if not letter:
        return text
    # Words first: the mark stands where the eye begins to read.
    for places in ((word.start() for word in _WORD.finditer(title)), range(len(title))):
        place = next((place for place in places if title[place].upper() == letter), None)
        if place is not None:
            return f"{title[:place]}&{title[place:]}{tab}{key}"
    body = title.rstrip("…")
    return f"{body}(&{letter}){title[len(body) :]}{tab}{key}"


def add_mnemonics(menu: QMenu | QMenuBar) -> None:
    """Mark a letter in each entry of a menu and of the menus below it; once, when the menu is filled."""
    entries = [action for action in menu.actions() if not action.isSeparator()]
    titles = [_english(action) for action in entries]
    for action, letter in zip(entries, letters_of(titles), strict=True):
        action.setText(with_mnemonic(action.text(), letter))
    for action in entries:
        below = action.menu()
        if isinstance(below, QMenu):
            add_mnemonics(below)


def _english(action: QAction) -> str:
    known = action.property(ENGLISH)
    return str(known) if known else action.text().partition("\t")[0]
