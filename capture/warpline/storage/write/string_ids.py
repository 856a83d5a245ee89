"""The texts of a capture while it is built: each once, numbered in the order in which they come."""

from __future__ import annotations

from collections.abc import Iterable


class StringIds(dict[str, int]):
    """Ids of texts: ``ids[text]`` numbers a text that is new; `texts` is in the order of ids."""

    def __init__(self, texts: Iterable[str]) -> None:
        super().__init__()
        self.texts: list[str] = []
        for text in texts:
            self.__getitem__(text)

    def __missing__(self, text: str) -> int:
        number = self[text] = len(self.texts)
        self.texts.append(text)
        return number
