"""Text a person reads, in their language, without depending on Qt.

Code wraps every user-visible literal in :func:`tr`. Nothing is translated until a translator is installed; the
application installs one that asks Qt's catalogues. Keys of JSON, names of reports and track URIs are not text and
are never translated.
"""

from __future__ import annotations

from collections.abc import Callable

Translator = Callable[[str, str], str]
"""Takes a context and the English text, returns the translation, or the text itself where it has none."""


def _english(_context: str, text: str) -> str:
    return text


_translator: Translator = _english


def set_translator(translator: Translator | None) -> None:
    """Translate with ``translator`` from now on; None goes back to English."""
    global _translator
    _translator = translator if translator is not None else _english


def tr(text: str, context: str = "warpline", /, **values: object) -> str:
    """The translation of ``text``, with ``{name}`` fields filled in from ``values`` after translating.

    Fill fields here and not with an f-string, so that the literal is what translators see.
    """
    translated = _translator(context, text)
    return translated.format(**values) if values else translated


def tr_n(singular: str, plural: str, count: int, context: str = "warpline", /, **values: object) -> str:
    """The form of a text that goes with a number; the number is the field ``{count}``."""
    return tr(singular if count == 1 else plural, context, count=count, **values)
