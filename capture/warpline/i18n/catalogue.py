"""The texts of one language."""

from __future__ import annotations

import gettext
from collections.abc import Callable, Iterable
from functools import cached_property

from warpline.i18n.message import Message, is_joined, sentences
from warpline.i18n.po import Entry, header_fields
from warpline.i18n.templates import Messages, Template

DATA = "data"
"""The context of texts that captures and reports store in English."""


class Catalogue:
    """Translations by context and English text; None where there is none.

    Counts follow the rule in the catalogue's header (``Plural-Forms``). Raises ValueError for an invalid rule.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._texts: dict[tuple[str, str], Entry] = {}
        self.header: dict[str, str] = {}
        for entry in entries:
            if not entry.text:
                self.header = header_fields("".join(entry.translations))
            elif entry.is_translated:
                self._texts[entry.context, entry.text] = entry
        self._form = plural_rule(self.header.get("Plural-Forms", ""))

    def text(self, context: str, text: str) -> str | None:
        """The translation of a text."""
        entry = self._texts.get((context, text))
        return entry.translations[0] if entry is not None else None

    def counted(self, context: str, singular: str, count: int) -> str | None:
        """The translation of a text for a number."""
        entry = self._texts.get((context, singular))
        if entry is None:
            return None
        return entry.translations[min(self._form(count), len(entry.translations) - 1)]

    def data(self, text: str) -> str:
        """A text of a capture or report, translated as far as it consists of messages."""
        if isinstance(text, Message) and (translation := self._message(text)) is not None:
            return translation
        return self._messages.translated(text)

    def _message(self, message: Message) -> str | None:
        """The translation of a message; None when the catalogue lacks its template or its fields do not fit."""
        entry = self._texts.get((DATA, message.template))
        if entry is None and not is_joined(message.template):
            return None
        try:
            fields = {
                name: self.data(value) if isinstance(value, str) else value
                for name, value in message.fields.items()
            }
            if entry is None:
                return _in_a_row(message.template, fields)
            if not message.fields and message.template == message:
                return entry.translations[0]
            form = self._form(int(message.fields["count"])) if entry.plural else 0
            return entry.translations[min(form, len(entry.translations) - 1)].format(**fields)
        except (LookupError, ValueError, TypeError, AttributeError, RecursionError):
            return None

    @cached_property
    def _messages(self) -> Messages:
        data = (entry for (context, _text), entry in self._texts.items() if context == DATA)
        return Messages(
            (Template(entry.text, entry.plural, entry.translations) for entry in data), self._form
        )


def plural_rule(field: str) -> Callable[[int], int]:
    """The plural rule of a header's ``Plural-Forms``: number → form. Without one, English's.

    Raises ValueError for an invalid rule.
    """
    _, _, rule = field.partition("plural=")
    return gettext.c2py(rule.rstrip("; ") or "n != 1")


def form_count(field: str) -> int:
    """Number of forms in a header's ``Plural-Forms``; without one 2, as in English."""
    digits = field.partition("nplurals=")[2].partition(";")[0].strip()
    return int(digits) if digits.isdigit() else 2


def _in_a_row(template: str, fields: dict[str, object]) -> str:
    """The translated parts of what `joined` joined."""
    if template.startswith("{0} {1}"):
        return sentences(map(str, fields.values()))
    return template.format(*fields.values())
