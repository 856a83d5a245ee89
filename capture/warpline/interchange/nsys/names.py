"""Copies used strings of an export into the capture."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from warpline.interchange.nsys.tables.access import Int64Array, TableFile, decode, read_all

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_VERSION_SUFFIX = re.compile(r"_v\d+$")
_UNSEEN = np.uint32(0xFFFF_FFFF)


def as_is(text: str) -> str:
    return text


def without_version(text: str) -> str:
    """``cudaLaunchKernel_v7000`` → ``cudaLaunchKernel``."""
    return _VERSION_SUFFIX.sub("", text)


class Names:
    """Maps columns of ids in ``StringIds`` to string ids of the capture.

    A string is added to the capture, after applying ``form``, when a row first uses it.
    """

    def __init__(self, tables: TableFile, builder: CaptureBuilder) -> None:
        self._builder = builder
        rows = read_all(tables, "StringIds", ints=("id",), texts=("value",))
        ids = rows["id"]
        order = np.argsort(ids, kind="stable")
        self._ids = ids[order]
        self._values: Sequence[bytes | None] = rows.texts["value"]
        self._order = order
        self._seen: dict[Callable[[str], str], npt.NDArray[np.uint32]] = {}

    def strings(self, ids: Int64Array, form: Callable[[str], str] = as_is) -> npt.NDArray[np.uint32]:
        """String ids of the capture for ids of the export; unknown ids become the empty string."""
        if not len(self._ids):
            return np.zeros(len(ids), np.uint32)
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        known = self._ids[at] == ids
        seen = self._seen.setdefault(form, np.full(len(self._ids), _UNSEEN, np.uint32))
        new = np.unique(at[known & (seen[at] == _UNSEEN)])
        if len(new):
            texts = (form(decode(self._values[place])) for place in self._order[new])
            seen[new] = self._builder.strings(texts)
        return np.where(known, seen[at], np.uint32(0))

    def text(self, string_id: int) -> str:
        """A string of the export, empty for an unknown id."""
        at = int(np.searchsorted(self._ids, string_id))
        if at == len(self._ids) or self._ids[at] != string_id:
            return ""
        return decode(self._values[int(self._order[at])])
