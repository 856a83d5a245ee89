"""English texts that remember the message they were made from, in memory and in a file.

A capture stores ``GPU 3``, and beside it that this is the message ``GPU {number}`` with the number 3. So a reader can
show it in another language without guessing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

MAX_MESSAGES = 1 << 16
"""Number of messages stored in a file; any further text is plain English."""

_WIDE_STOPS = "。！？；"
_JOINED = re.compile(r"\{\d+\}(?:[^{}]*\{\d+\})*")

_SEQUENCES, _NUMBERS = (list, tuple), (int, float)

Table = dict[str, dict[str, dict[str, Any]]]
"""Fields by template and English text."""


class Message(str):
    """An English text with the ``template`` it was made from and the values of the template's ``{fields}``.

    The template of a text that is counted (`english_n`) is its singular form, and one field is ``count``.
    """

    __slots__ = ("fields", "template")
    template: str
    fields: dict[str, Any]

    def __new__(cls, text: str, template: str = "", fields: Mapping[str, Any] | None = None) -> Self:
        """Without a template, the text is its own template."""
        message = super().__new__(cls, text)
        message.template = template or str(text)
        message.fields = dict(fields or {})
        return message

    def format(self, *args: object, **fields: object) -> Message:
        """The message with its fields filled in."""
        return Message(super().format(*args, **fields), self.template, fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, (str(self), self.template, self.fields)


def joined(separator: str, parts: Iterable[str]) -> str:
    """As ``separator.join(parts)``, but the parts that are messages stay messages."""
    texts = list(parts)
    if len(texts) == 1 or not any(isinstance(text, Message) for text in texts):
        return separator.join(texts) if len(texts) != 1 else texts[0]
    template = separator.join(f"{{{index}}}" for index in range(len(texts)))
    return Message(separator.join(texts), template, {str(index): text for index, text in enumerate(texts)})


def sentences(texts: Iterable[str]) -> str:
    """Sentences in a row, empty ones left out: no space follows a full stop as wide as a Chinese character."""
    row = ""
    for text in filter(None, texts):
        row += text if not row or row[-1] in _WIDE_STOPS else f" {text}"
    return row


def is_joined(template: str) -> bool:
    """Whether `joined` made this template: only numbered fields and separators."""
    return _JOINED.fullmatch(template) is not None


def messages_in(value: object) -> Iterator[Message]:
    """All messages with fields in a document of dicts and lists, and in the fields of messages."""
    if isinstance(value, Message):
        if value.fields:
            yield value
            yield from messages_in(value.fields)
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from messages_in(entry)
    elif isinstance(value, _SEQUENCES):
        for entry in value:
            yield from messages_in(entry)


def message_table(messages: Iterable[Message]) -> Table:
    """Messages as a JSON document keeps them."""
    table: Table = {}
    for count, message in enumerate(messages):
        if count == MAX_MESSAGES:
            break
        fields = {name: _plain(value) for name, value in message.fields.items()}
        table.setdefault(message.template, {})[str(message)] = fields
    return table


def read_messages(table: object) -> dict[str, Message]:
    """The messages of a table by their texts; entries of other types are left out."""
    messages: dict[str, Message] = {}
    for template, texts in table.items() if isinstance(table, dict) else ():
        for text, fields in texts.items() if isinstance(texts, dict) else ():
            if isinstance(fields, dict):
                messages[text] = Message(text, template, fields)
    for message in messages.values():
        texts = {name: value for name, value in message.fields.items() if isinstance(value, str) and value}
        # Fields must be parts of the text; otherwise a damaged file could send readers in circles.
        if sum(map(len, texts.values())) < len(message):
            message.fields |= {name: messages.get(value, value) for name, value in texts.items()}
    return messages


def restored(value: Any, messages: Mapping[str, Message]) -> Any:
    """A document of dicts and lists with its texts replaced by the messages they were made from."""
    if isinstance(value, str):
        return messages.get(value, value)
    if isinstance(value, list):
        return [restored(entry, messages) for entry in value]
    if isinstance(value, dict):
        return {key: restored(entry, messages) for key, entry in value.items()}
    return value


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, _NUMBERS) else str(value)
