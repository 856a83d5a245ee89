"""The texts of a capture while it is built: each once, numbered in order of arrival."""

from __future__ import annotations

from collections.abc import Iterable

from warpline.i18n import Message
from warpline.i18n.message import MAX_MESSAGES


class StringIds(dict[str, int]):
    """Ids of texts: ``ids[text]`` numbers a text that is new; `texts` is in the order of ids."""

    def __init__(self, texts: Iterable[str]) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.messages: list[Message] = []
        """Texts that were made by `english` from a message with fields."""
        for text in texts:
            self.__getitem__(text)

    def __missing__(self, text: str) -> int:
        if isinstance(text, Message):
            if text.fields and len(self.messages) < MAX_MESSAGES:
                self.messages.append(text)
            text = str(text)  # a dict of plain strings is faster
        number = self[text] = len(self.texts)
        self.texts.append(text)
        return number
