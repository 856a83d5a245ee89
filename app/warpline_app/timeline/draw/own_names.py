"""Names of events that are not the capture's: those that a derived row's query made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


class OwnNames:
    """Numbers texts from −1 downwards, to stand in boxes where the row of an event would."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._texts: list[str] = []

    def numbers(self, names: Sequence[str]) -> Int64Array:
        """The number of each name."""
        for name in names:
            if name not in self._known:
                self._texts.append(name)
                self._known[name] = -len(self._texts)
        return np.array([self._known[name] for name in names], np.int64)

    def text(self, number: int) -> str:
        """The name with a number."""
        return self._texts[-1 - number]
