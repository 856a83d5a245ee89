"""Columns of a capture in memory, for a file without HDF5 (`warpline.storage.columns.plain_file`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.storage.columns.plain_file import write_plain

Array = npt.NDArray[Any]


@dataclass
class _Contents:
    columns: dict[str, Array] = field(default_factory=dict)
    attributes: dict[str, dict[str, str | int]] = field(default_factory=dict)


class PlainNode:
    """A group or a column."""

    def __init__(self, contents: _Contents, path: str) -> None:
        self._contents, self.path = contents, path

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the column."""
        return self._contents.columns[self.path].dtype

    def create_group(self, name: str) -> PlainNode:
        """A group in this one."""
        path = f"{self.path}/{name}" if self.path else name
        self._contents.attributes.setdefault(path, {})
        return PlainNode(self._contents, path)

    def require_group(self, name: str) -> PlainNode:
        """A group in this one, new or not."""
        return self.create_group(name)


class PlainDatasets:
    """Takes columns as `warpline.storage.write.datasets.Datasets` does; `save` writes them."""

    def __init__(self, path: Path) -> None:
        self._contents = _Contents()
        self.path, self.file = path, PlainNode(self._contents, "")

    def save(self) -> None:
        """Write the file. Raises OSError."""
        write_plain(self.path, self._contents.columns, self._contents.attributes)

    def flush(self) -> None:
        """Does nothing: no write is pending."""

    def set_attribute(self, node: PlainNode, name: str, value: str | int) -> None:
        """Describes a group or column."""
        self._contents.attributes.setdefault(node.path, {})[name] = value

    def empty(self, group: PlainNode, name: str, dtype: str, n: int) -> PlainNode:
        """A column of ``n`` values to be filled."""
        node = PlainNode(self._contents, f"{group.path}/{name}" if group.path else name)
        self._contents.columns[node.path] = np.empty(n, dtype)
        return node

    def put(self, group: PlainNode, name: str, values: Array, dtype: str) -> PlainNode:
        """A column of these values, which must not change any more."""
        node = PlainNode(self._contents, f"{group.path}/{name}" if group.path else name)
        self._contents.columns[node.path] = values.astype(dtype, copy=False)
        return node

    def write(self, node: PlainNode, at: int, values: Array) -> None:
        """Values from index ``at`` on; a whole column must not change any more."""
        column = self._contents.columns[node.path]
        if not at and len(values) == len(column) and values.dtype == column.dtype:
            self._contents.columns[node.path] = values
        else:
            column[at : at + len(values)] = values

    def buffered(self, node: PlainNode) -> _Filling:
        """A writer of small pieces."""
        return _Filling(self, node)

    def view(self, path: str, dtype: str) -> Array:  # noqa: ARG002  # as a file's
        """A column."""
        return self._contents.columns[path]


@dataclass
class _Filling:
    out: PlainDatasets
    node: PlainNode

    def put(self, at: int, values: Array) -> None:
        """Values from index ``at`` on."""
        self.out.write(self.node, at, values)

    def flush(self) -> None:
        """Does nothing: no write is pending."""
