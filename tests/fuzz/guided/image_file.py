"""A capture's file in memory: its directories as a seed has them, with changes, and its columns from any bytes.

For what reads captures the same as `MappedFile`, without HDF5 beneath, which takes nine tenths of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from warpline.storage.columns.file_fate import FileFate
from warpline.storage.columns.mapped_file import MappedFile

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Layout:
    """Where columns lie in a file, and the attributes of its groups and columns."""

    content: bytes
    columns: dict[str, tuple[int | None, int, np.dtype[Any]]]
    """By path: offset, entries, type; without an offset where nothing lies."""
    attributes: dict[str, dict[str, str | int]]
    groups: frozenset[str]


@cache
def layout_of(path: Path) -> Layout:
    """The layout of a capture."""
    columns: dict[str, tuple[int | None, int, np.dtype[Any]]] = {}
    attributes: dict[str, dict[str, str | int]] = {}
    groups = {""}
    with MappedFile(path) as mapped, h5py.File(path) as file:

        def note(name: str, node: Any) -> None:
            if isinstance(node, h5py.Group):
                groups.add(name)
            else:
                columns[name] = node.id.get_offset(), int(node.shape[0]), node.dtype
            attributes[name] = {one: mapped.attribute(name, one) for one in mapped.attribute_names(name)}

        file.visititems(note)
        attributes[""] = {one: mapped.attribute("", one) for one in mapped.attribute_names("")}
    return Layout(path.read_bytes(), columns, attributes, frozenset(groups))


class ImageFile(MappedFile):
    """See the module. ``changes`` may say what is not there (``drop``), how long columns say they are (``length``) and
    what attributes hold (``attributes``, by path and name).
    """

    def __init__(self, layout: Layout, content: bytes, changes: dict[str, Any]) -> None:
        self.path = Path("image.h5")
        self._content = content.ljust(len(layout.content), b"\0")
        self._size = len(self._content)
        self._layout = layout
        drop, length, attributes = (changes.get(key) for key in ("drop", "length", "attributes"))
        self._dropped = (
            frozenset(one for one in drop if isinstance(one, str)) if isinstance(drop, list) else frozenset()
        )
        self._lengths = length if isinstance(length, dict) else {}
        self._changed = attributes if isinstance(attributes, dict) else {}
        self.has_decoded = False
        self._check_header()

    def _is_there(self, path: str) -> bool:
        return (path in self._layout.columns or path in self._layout.groups) and not any(
            path == one or path.startswith(f"{one}/") for one in self._dropped
        )

    def attribute(self, path: str, name: str) -> str | int:
        if not self.has_attribute(path, name):
            raise self.error(f"attribute {name!r} of {path or '/'} is missing")
        changed = self._changed.get(path)
        value = (
            changed[name]
            if isinstance(changed, dict) and name in changed
            else self._layout.attributes[path][name]
        )
        if (
            isinstance(value, bool)
            or not isinstance(value, str | int)
            or (isinstance(value, int) and abs(value) >= 1 << 63)
        ):
            raise self.error(f"attribute {name!r} of {path or '/'} has the wrong type")
        # What HDF5 gives is what was bytes.
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value

    def has_attribute(self, path: str, name: str) -> bool:
        return self._is_there(path) and name in self._layout.attributes.get(path, {})

    def attribute_names(self, path: str) -> list[str]:
        return list(self._layout.attributes.get(path, ())) if self._is_there(path) else []

    def has(self, path: str) -> bool:
        return self._is_there(path)

    def names(self, group: str) -> list[str]:
        if group not in self._layout.groups or not self._is_there(group):
            return []
        prefix = f"{group}/" if group else ""
        below = {path.removeprefix(prefix).split("/")[0] for path in [*self._layout.columns, *self._layout.groups]
                 if path and path.startswith(prefix)}  # fmt: skip
        return sorted(name for name in below if self._is_there(f"{prefix}{name}"))

    def groups(self, above: str = "", depth: int = 4) -> list[str]:
        del depth
        return sorted(
            group
            for group in self._layout.groups
            if group and group.startswith(above) and self._is_there(group)
        )

    def column(self, path: str, dtype: str, *, count: int | None = None, limit: int | None = None) -> Array:
        offset, _n, stored = self._place(path)
        n = self.length(path)
        if stored != np.dtype(dtype):
            raise self.error(f"dataset {path} has type {stored}, expected {np.dtype(dtype)}")
        if count is not None and n != count:
            raise self.error(f"dataset {path} has {n} entries, expected {count}")
        if limit is not None and n > limit:
            raise self.error(f"dataset {path} has {n} entries; at most {limit} make sense")
        if not n:
            return np.empty(0, stored)
        if offset is None or offset + n * stored.itemsize > self._size:
            raise self.error(f"dataset {path} leaves the file")
        return np.frombuffer(self._content, stored, n, offset)

    def length(self, path: str) -> int:
        n = self._lengths.get(path)
        return n if isinstance(n, int) and 0 <= n < 1 << 62 else self._place(path)[1]

    def dtype_of(self, path: str) -> np.dtype[Any]:
        return self._place(path)[2]

    def _place(self, path: str) -> tuple[int | None, int, np.dtype[Any]]:
        if path not in self._layout.columns or not self._is_there(path):
            raise self.error(f"dataset {path} is missing")
        return self._layout.columns[path]

    def will_need(self, ranges: list[tuple[int, int]]) -> None:
        pass

    def offset_of(self, column: Array) -> int | None:
        place = int(column.__array_interface__["data"][0]) - self._address()
        return place if 0 <= place < self._size else None

    def _address(self) -> int:
        return int(np.frombuffer(self._content, np.uint8, 1).__array_interface__["data"][0])

    def is_intact(self) -> bool:
        return True

    def fate(self) -> FileFate:
        return FileFate.AS_IT_WAS

    def close(self) -> None:
        pass
