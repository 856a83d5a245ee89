"""Finds the message an English text was made from, and makes the same text in another language.

A capture holds ``GPU 3``; its message is ``GPU {number}``. What no message fits (a name the program gave) stays as it
is, and so does a part of a text that no message fits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from string import Formatter
from typing import NamedTuple

# What texts are put together with: parts of a title, several reasons, who says something and what.
_SEAMS = (" · ", "; ", ": ")
_REMEMBERED = 8192


class Message(NamedTuple):
    """An English text with ``{fields}``, and its translations: one, or one for each form of ``{count}``."""

    text: str
    plural: str
    translations: tuple[str, ...]


class _Template(NamedTuple):
    """One English form of a message: what a text begins and ends with when it fits, and the rest as a pattern."""

    start: str
    stop: str
    pattern: re.Pattern[str]
    message: Message


class Messages:
    """The messages of one language; ``form`` says which translation goes with a number."""

    def __init__(self, messages: Iterable[Message], form: Callable[[int], int]) -> None:
        self._form = form
        self._whole: dict[str, str] = {}
        self._templates: list[_Template] = []
        for message in messages:
            if "{" not in message.text:
                self._whole[message.text] = message.translations[0]
                continue
            self._templates += [_template(text, message) for text in message[:2] if text]
        # The one that says most fits best: "Stream {number} · NVTX" before "Stream {number}".
        self._templates.sort(key=lambda template: -_literal_length(template.message.text))
        self._known: dict[str, str] = {}

    def translated(self, text: str) -> str:
        """The text in this language, as far as it is made of messages."""
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            found = self._known[text] = self._find(text)
        return found

    def _find(self, text: str) -> str:
        whole = self._whole.get(text)
        if whole is not None:
            return whole
        for start, stop, pattern, message in self._templates:
            if text.startswith(start) and text.endswith(stop):
                match = pattern.fullmatch(text)
                if match is not None:
                    return self._filled(message, match.groupdict())
        for seam in _SEAMS:
            if seam in text:
                return seam.join(map(self.translated, text.split(seam)))
        return text

    def _filled(self, message: Message, values: dict[str, str]) -> str:
        form = 0
        if message.plural:
            form = self._form(int(values.get("count", "").replace(",", "") or 0))
        translation = message.translations[min(form, len(message.translations) - 1)]
        # A field holds what was written there, its digits grouped already: a translation's own format has no say.
        return "".join(
            literal + (self.translated(values.get(name, "")) if name else "")
            for literal, name, _format, _conversion in Formatter().parse(translation)
        )


def _template(text: str, message: Message) -> _Template:
    parts: list[str] = []
    known: set[str] = set()
    pieces = list(Formatter().parse(text))
    for literal, name, _format, _conversion in pieces:
        parts.append(re.escape(literal))
        if name in known:
            parts.append(f"(?P={name})")
        elif name:
            known.add(name)
            is_number = name == "count" and message.plural
            parts.append(f"(?P<{name}>{'[0-9][0-9,]*' if is_number else '.+?'})")
    last_literal, last_name, _, _ = pieces[-1]
    return _Template(
        pieces[0][0], "" if last_name else last_literal, re.compile("".join(parts), re.DOTALL), message
    )


def _literal_length(text: str) -> int:
    return sum(len(literal) for literal, _name, _format, _conversion in Formatter().parse(text))
