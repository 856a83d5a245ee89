"""Mnemonics: a letter for each menu entry, unique within its menu."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QMenuBar

ENGLISH = "english"
"""Property of an entry: its English title, which gives the mnemonic in every language."""
LETTER = "mnemonic"
"""Property of an entry: its mnemonic."""
_WORD = re.compile(r"[A-Za-z0-9]+")
_FREE = string.ascii_uppercase + string.digits


def letters_of(titles: Sequence[str]) -> list[str]:
    """A unique letter for each English title: a word's first letter if free, else one inside a word."""
    taken: set[str] = set()
    letters = [""] * len(titles)
    # Titles with the fewest letters choose first, so that each gets one.
    for place in sorted(range(len(titles)), key=lambda index: len(set(titles[index].upper()))):
        words = _WORD.findall(titles[place])
        candidates = [word[0] for word in words] + [letter for word in words for letter in word[1:]]
        letter = next((c for c in (*map(str.upper, candidates), *_FREE) if c not in taken), "")
        taken.add(letter)
        letters[place] = letter
    return letters


def with_mnemonic(text: str, letter: str) -> str:
    """The menu text (with ``&&`` and a key after a tab) with its mnemonic marked; in brackets if not in the text."""
    title, tab, key = text.partition("\t")
    if not letter:
        return text
    # Prefer the start of a word.
    for places in ((word.start() for word in _WORD.finditer(title)), range(len(title))):
        place = next((place for place in places if title[place].upper() == letter), None)
        if place is not None:
            return f"{title[:place]}&{title[place:]}{tab}{key}"
    body = title.rstrip("…")
    return f"{body}(&{letter}){title[len(body) :]}{tab}{key}"


def add_mnemonics(menu: QMenu | QMenuBar) -> None:
    """Mark a mnemonic in each entry of a menu and its submenus; call once, after filling the menu."""
    entries = [action for action in menu.actions() if not action.isSeparator()]
    titles = [_english(action) for action in entries]
    for action, letter in zip(entries, letters_of(titles), strict=True):
        action.setProperty(LETTER, letter)
        action.setText(with_mnemonic(action.text(), letter))
    for action in entries:
        submenu = action.menu()
        if isinstance(submenu, QMenu):
            add_mnemonics(submenu)


def _english(action: QAction) -> str:
    title = action.property(ENGLISH)
    return str(title) if title else action.text().partition("\t")[0]
