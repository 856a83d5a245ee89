"""Translates English texts that do not know their message, by guessing it: captures before format 1.1 store such texts.

A capture holds ``GPU 3``; its message is ``GPU {number}``. A text or a part of a text that fits no message, such as a
name of the program, stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from string import Formatter
from typing import NamedTuple

# Separators in joined texts: between parts of a title, between reasons, between a speaker and a statement.
_SEAMS = re.compile("( · |; |: |  )")
_MOST_PIECES = 32
# Fields of these names hold digits; no field goes beyond " · ": "GPU {number}" is not "GPU time" nor "GPU 0 · H200".
_NUMBERS = frozenset(("count", "number", "pid", "port"))
_DIGITS, _ANYTHING = "-?[0-9][0-9,]*|[?]", "(?:(?! · ).)+?"
_REMEMBERED = 8192
_KEY = 2


class Template(NamedTuple):
    """An English text with ``{fields}``, and its translations: one, or one for each form of ``{count}``."""

    text: str
    plural: str
    translations: tuple[str, ...]


class _Pattern(NamedTuple):
    """One English form of a message: what a text begins and ends with when it fits, and the rest as a pattern.

    ``length`` counts the characters that are no field's.
    """

    start: str
    stop: str
    length: int
    pattern: re.Pattern[str]
    message: Template


class Messages:
    """The messages of one language; ``form`` says which translation goes with a number."""

    def __init__(self, messages: Iterable[Template], form: Callable[[int], int]) -> None:
        self._form = form
        self._whole: dict[str, str] = {}
        self._patterns: dict[str, list[_Pattern]] = {}
        """By how a text begins, or ends where it begins with a field; captures have thousands of titles."""
        for message in messages:
            if "{" not in message.text + message.plural:
                self._whole[message.text] = message.translations[0]
                continue
            # A template of nothing but fields would fit every text.
            if any(map(str.isalpha, _literals(message.text))):
                for template in (_template(text, message) for text in message[:2] if text):
                    key = template.start[:_KEY] or template.stop[-_KEY:]
                    self._patterns.setdefault(key, []).append(template)
        self._known: dict[str, str] = {}

    def translated(self, text: str) -> str:
        """The text in this language, as far as it is made of messages."""
        translation = self._known.get(text)
        if translation is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            translation = self._known[text] = self._find(text)
        return translation

    def _find(self, text: str) -> str:
        """The longest messages between separators, from the left."""
        pieces = _SEAMS.split(text, _MOST_PIECES)
        parts: list[str] = []
        at = 0
        while at < len(pieces):
            for stop in range(len(pieces), at, -2):
                translation = self._message("".join(pieces[at:stop]))
                if translation is not None:
                    parts.append(translation)
                    break
            else:
                stop = at + 1
                parts.append(pieces[at])
            parts += pieces[stop : stop + 1]
            at = stop + 1
        return "".join(parts)

    def _message(self, text: str) -> str | None:
        whole = self._whole.get(text)
        if whole is not None:
            return whole
        best: tuple[int, Template, dict[str, str]] | None = None
        for key in dict.fromkeys((text[:2], text[:1], text[-2:], text[-1:], "")):
            for start, stop, length, pattern, message in self._patterns.get(key, ()):
                if text.startswith(start) and text.endswith(stop) and (best is None or length > best[0]):
                    match = pattern.fullmatch(text)
                    if match is not None:
                        best = length, message, match.groupdict()
        # The most specific template fits best: "Stream {number} · NVTX" before "Stream {number}".
        return None if best is None else self._filled(best[1], best[2])

    def _filled(self, message: Template, values: dict[str, str]) -> str:
        form = 0
        if message.plural:
            values = {
                "count": "1"
            } | values  # "the first step": English omits the number 1, other languages may need it
            form = self._form(int(values["count"].replace(",", "").replace("?", "") or 0))
        translation = message.translations[min(form, len(message.translations) - 1)]
        # A field holds the text as written, digits already grouped: the translation's own format does not apply.
        return "".join(
            literal + (self.translated(values.get(name, "")) if name else "")
            for literal, name, _format, _conversion in Formatter().parse(translation)
        )


def _template(text: str, message: Template) -> _Pattern:
    parts: list[str] = []
    known: set[str] = set()
    pieces = list(Formatter().parse(text))
    for literal, name, _format, _conversion in pieces:
        parts.append(re.escape(literal))
        if name in known:
            parts.append(f"(?P={name})")
        elif name:
            known.add(name)
            parts.append(f"(?P<{name}>{_DIGITS if name in _NUMBERS else _ANYTHING})")
    last_literal, last_name, _, _ = pieces[-1]
    return _Pattern(
        pieces[0][0],
        "" if last_name else last_literal,
        len(_literals(text)),
        re.compile("".join(parts), re.DOTALL),
        message,
    )


def _literals(text: str) -> str:
    return "".join(literal for literal, _name, _format, _conversion in Formatter().parse(text))
