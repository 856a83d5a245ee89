"""A capture's columns without HDF5: a directory in JSON, and the values as they are in memory.

Live timelines use it to hand parts of a recording to another process, many times a second. It is no format to
keep. The file begins with two int64: the length of the directory, and where the columns begin. The directory holds
``columns`` (path → type, entries, offset from there) and ``attributes`` (path → name → value).
"""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.model import CaptureFormatError
from warpline.storage.columns.file_fate import FileFate

Array = npt.NDArray[Any]
Attributes = Mapping[str, Mapping[str, str | int]]

_HEAD = np.dtype("<i8")
_ALIGNMENT = 64


def write_plain(path: Path, columns: Mapping[str, Array], attributes: Attributes) -> None:
    """Write a new file. Raises OSError."""
    places: dict[str, tuple[str, int, int]] = {}
    end = 0
    for name, values in columns.items():
        places[name] = values.dtype.str, len(values), end
        end = _aligned(end + values.nbytes)
    directory = orjson.dumps({"columns": places, "attributes": attributes})
    first = _aligned(2 * _HEAD.itemsize + len(directory))
    with path.open("xb") as file:
        file.write(np.array([len(directory), first], _HEAD).tobytes())
        file.write(directory)
        at = 2 * _HEAD.itemsize + len(directory)
        for name, values in columns.items():
            place = first + places[name][2]
            file.write(bytes(place - at))
            file.write(np.ascontiguousarray(values).view(np.uint8).data)
            at = place + values.nbytes
        # The last column may be empty, but its offset must still lie in the file.
        file.write(bytes(first + end - at))


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGNMENT) * _ALIGNMENT


class PlainFile:
    """Columns of a mapped file that `write_plain` wrote. Its writer is trusted: it is a process of ours.

    Raises CaptureFormatError when it cannot be read.
    """

    version, minor_version = 1, 0
    mapped = True

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            length, self._first = np.frombuffer(self._map, _HEAD, 2).tolist()
            directory = orjson.loads(self._map[2 * _HEAD.itemsize : 2 * _HEAD.itemsize + length])
            self._columns: dict[str, tuple[str, int, int]] = directory["columns"]
            self._attributes: dict[str, dict[str, str | int]] = directory["attributes"]
        except OSError as error:
            raise CaptureFormatError(f"{path}: cannot be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise self.error("it is damaged") from error
        self._members: dict[str, dict[str, None]] = {}
        for member in (*self._columns, *self._attributes):
            while member:
                above, _, name = member.rpartition("/")
                self._members.setdefault(above, {})[name] = None
                member = above

    @property
    def size(self) -> int:
        """Length of the file in bytes."""
        return len(self._map)

    def column(self, path: str, dtype: str, *, count: int | None = None, limit: int | None = None) -> Array:
        """A column, as a view of the file."""
        try:
            stored, n, offset = self._columns[path]
            values: Array = np.frombuffer(self._map, stored, n, self._first + offset)
        except (KeyError, ValueError) as error:
            raise self.error(f"dataset {path} is missing") from error
        if stored != np.dtype(dtype).str or count not in (None, n) or (limit is not None and n > limit):
            raise self.error(f"dataset {path} has {n} entries of type {stored}")
        return values

    def has(self, path: str) -> bool:
        """Whether there is a column or a group at a path."""
        return path in self._columns or path in self._members

    def names(self, group: str) -> list[str]:
        """Names in a group, sorted."""
        return sorted(self._members.get(group, ()))

    def length(self, path: str) -> int:
        """Number of entries of a column."""
        return self._columns[path][1]

    def dtype_of(self, path: str) -> np.dtype[Any]:
        """Type of a column."""
        return np.dtype(self._columns[path][0])

    def attribute(self, path: str, name: str) -> str | int:
        """Value of an attribute of a group or column."""
        try:
            return self._attributes[path][name]
        except KeyError:
            raise self.error(f"attribute {name!r} of {path or '/'} is missing") from None

    def attribute_names(self, path: str) -> list[str]:
        """Sorted names of the attributes of a group or column."""
        return sorted(self._attributes.get(path, ()))

    def text(self, path: str, name: str, default: str) -> str:
        """Value of an attribute that is a text, or the default where there is none."""
        return str(self._attributes.get(path, {}).get(name, default))

    def offset_of(self, column: Array) -> int | None:  # noqa: ARG002  # all of it was just written
        """None: there is nothing to prefetch."""
        return None

    def will_need(self, ranges: list[tuple[int, int]]) -> None:
        """Does nothing: no disk is read."""

    def error(self, reason: str) -> CaptureFormatError:
        """An error about this file."""
        return CaptureFormatError(f"{self.path}: cannot be opened: {reason}")

    def is_intact(self) -> bool:
        """Always: nobody but us writes to the file."""
        return True

    def fate(self) -> FileFate:
        """Always unchanged: nobody but us writes to the file."""
        return FileFate.AS_IT_WAS

    def close(self) -> None:
        """The map goes with the last column that views it."""
