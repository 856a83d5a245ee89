"""The string table of a capture."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

UInt32Array = npt.NDArray[np.uint32]

MAX_TEXT = 1 << 20
"""Longer texts are cut when they are read."""


class Strings:
    """Texts by id. Ids beyond the table and damaged offsets give an empty text instead of an error."""

    def __init__(
        self,
        offsets: npt.NDArray[np.uint64],
        data: npt.NDArray[np.uint8],
        messages: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """``messages`` are texts that know the message they were made from (`warpline.i18n.Message`)."""
        self._offsets = offsets
        self._data = data
        self._messages = messages
        self._cache: dict[int, str] = {}
        self._ids: dict[str, int] | None = None

    def __len__(self) -> int:
        return max(0, len(self._offsets) - 1)

    def __getitem__(self, string_id: int) -> str:
        string_id = int(string_id)
        text = self._cache.get(string_id)
        if text is None:
            if not 0 <= string_id < len(self):
                return ""
            first, stop = int(self._offsets[string_id]), int(self._offsets[string_id + 1])
            text = self._data[first : min(stop, first + MAX_TEXT)].tobytes().decode("utf-8", "replace")
            text = self._cache[string_id] = self._messages.get(text, text)
        return text

    def get(self, ids: Iterable[int]) -> list[str]:
        """Texts of several ids."""
        return [self[string_id] for string_id in ids]

    def all(self) -> list[str]:
        """Every text in the order of ids."""
        # Damaged offsets could name the same megabytes repeatedly; sound texts together are no longer than the data.
        offsets = np.maximum.accumulate(np.minimum(self._offsets, len(self._data))).tolist()
        data = self._data.tobytes()
        return [
            data[first : min(stop, first + MAX_TEXT)].decode("utf-8", "replace")
            for first, stop in itertools.pairwise(offsets)
        ]

    def id(self, text: str) -> int | None:
        """Id of a text, None when the capture does not have it."""
        if self._ids is None:
            self._ids = {known: string_id for string_id, known in reversed(list(enumerate(self.all())))}
        return self._ids.get(text)

    def find(self, pattern: str, *, regex: bool = False, case: bool = False) -> UInt32Array:
        """Ids of the texts that contain a text or match a regular expression, ascending.

        Raises re.error for a broken expression.
        """
        if regex:
            search = re.compile(pattern, 0 if case else re.IGNORECASE).search
            hits = [string_id for string_id, text in enumerate(self.all()) if search(text)]
        elif case:
            hits = [string_id for string_id, text in enumerate(self.all()) if pattern in text]
        else:
            folded = pattern.casefold()
            hits = [string_id for string_id, text in enumerate(self.all()) if folded in text.casefold()]
        return np.array(hits, np.uint32)

    def defect(self) -> str | None:
        """What is wrong with the table, None when it is sound."""
        offsets = self._offsets
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(self._data):
            return "does not cover its texts"
        if np.any(offsets[1:] < offsets[:-1]):
            return "has offsets that go back"
        if len(self) and self[0]:
            return "does not begin with the empty text"
        return None
