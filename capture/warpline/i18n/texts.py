"""The texts of the interface, English in the code and translated where they are shown.

`tr` and `tr_n` translate what is shown now. `english` and `english_n` make a text that is data of a capture or a
report: a `Message`, which stays English and which `translated` translates where it is shown.

Keys of JSON, names of reports and track URIs are not text and are never translated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warpline.i18n.message import Message

if TYPE_CHECKING:
    from warpline.i18n.catalogue import Catalogue

_in_use: Catalogue | None = None


def use(catalogue: Catalogue | None) -> None:
    """Sets the catalogue to translate with; None for English."""
    global _in_use
    _in_use = catalogue


def language() -> str:
    """The language in use, such as ``en`` or ``zh_CN``."""
    return _in_use.header.get("Language", "") if _in_use is not None else "en"


def tr(text: str, context: str = "", /, **fields: object) -> str:
    """The translation of ``text``, with its ``{name}`` fields filled in after translating.

    Pass fields as arguments, not in an f-string: translators see the literal. ``context`` distinguishes texts
    that are the same in English but differ in another language.
    """
    return _filled(_in_use.text(context, text) if _in_use is not None else None, text, fields)


def tr_n(singular: str, plural: str, count: int, context: str = "", /, **fields: object) -> str:
    """The form of a text that goes with a number, by the language's own way of counting.

    The number is the field ``{count}``; ``{count:,}`` groups its digits.
    """
    text = singular if count == 1 else plural
    translation = _in_use.counted(context, singular, count) if _in_use is not None else None
    return _filled(translation, text, {"count": count, **fields})


def english(text: str, /, **fields: object) -> str:
    """A text stored as data: in English, with its fields filled in. Translators see its literal like that of `tr`."""
    message = Message(text)
    return message.format(**fields) if fields else message


def english_n(singular: str, plural: str, count: int, /, **fields: object) -> str:
    """As `english`, for a text with a number ``{count}``."""
    text = (singular if count == 1 else plural).format(count=count, **fields)
    return Message(text, str(singular), {"count": count, **fields})


def forms(singular: str, plural: str, /) -> tuple[str, str]:
    """Both English forms of a text with a number, to be passed to `english_n` once the number is known."""
    return singular, plural


def translated(text: str) -> str:
    """A text that is data (a title, a reason, a warning), in the language in use.

    A text that is not made of messages, such as a name of the program, stays as it is.
    """
    return _in_use.data(text) if _in_use is not None and text else text


def _filled(translation: str | None, text: str, fields: dict[str, object]) -> str:
    if translation is None:
        return text.format(**fields) if fields else text
    if not fields:
        return translation
    try:
        return translation.format(**fields)
    except (KeyError, IndexError, ValueError):  # a translator's slip must not break the window
        return text.format(**fields)
