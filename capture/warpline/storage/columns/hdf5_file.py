"""A capture's directories as HDF5 reads them, and what only it can read: compressed columns, whatever is unfamiliar.

Everything here distrusts the file. Checks are bounded: types, shapes, places and sizes of datasets, never their
values.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from warpline.memory_room import require_memory
from warpline.model import CaptureFormatError
from warpline.storage.columns.schema import ALIGNMENT
from warpline.storage.columns.stored_text import set_attribute
from warpline.storage.columns.why_unreadable import why_unreadable

Array = npt.NDArray[Any]

MAX_ATTRIBUTE_BYTES = 1 << 20
MAX_CHUNK_BYTES = 16 << 20
_CHUNKS_AT_ONCE = 4096
"""HDF5 keeps some 1.5 kB for each chunk of a reading until it ends."""
MAX_GROUPS = 2048

MAX_ARCHIVE_RATIO = 500
"""An archive whose columns are more than this times its size (and some) is damage or a trap, not data."""

_ARCHIVE_ALLOWANCE = 16 << 20


class Hdf5File:
    """What HDF5 says of a file. Everything raises CaptureFormatError where it is damaged."""

    def __init__(self, path: Path, size: int) -> None:
        self.path, self._size = path, size
        try:
            require_memory()
            self._file = h5py.File(path, "r")
        except (OSError, RuntimeError, ValueError) as error:
            raise self.error(why_unreadable(path, size)) from error
        self._groups: dict[str, h5py.Group] = {"": self._file}
        self._decoded_bytes = 0
        self.has_decoded = False
        """Whether a column was decompressed into memory."""

    def close(self) -> None:
        self._groups.clear()
        self._file.close()

    def status(self) -> os.stat_result:
        """Which file that is."""
        return os.fstat(self._file.id.get_vfd_handle())

    def error(self, what: str) -> CaptureFormatError:
        return CaptureFormatError(f"{self.path}: cannot be opened: {what}")

    def attribute(self, path: str, name: str) -> str | int:
        """Value of an attribute of a group or dataset (an empty path: of the file): a text or an integer.

        Texts have a fixed length. Those of variable length are not followed: they lie in a heap without checksums,
        in which HDF5 can be led in circles.
        """
        where = f"attribute {name!r} of {path or '/'}"
        try:
            node = self._node(path)
            if node is None or not h5py.h5a.exists(node.id, name.encode()):
                raise self.error(f"{where} is missing")
            attribute = h5py.h5a.open(node.id, name.encode())
            dtype = attribute.get_type()
            is_text = isinstance(dtype, h5py.h5t.TypeStringID) and not dtype.is_variable_str()
            if (not is_text and not isinstance(dtype, h5py.h5t.TypeIntegerID)) or attribute.shape != ():
                raise self.error(f"{where} has the wrong type")
            if dtype.get_size() > MAX_ATTRIBUTE_BYTES:
                raise self.error(f"{where} is too large")
            value = np.empty((), attribute.dtype)
            attribute.read(value)
        except (KeyError, OSError, RuntimeError, ValueError, TypeError) as error:
            raise self.error(f"{where} is damaged") from error
        return value.item().decode("utf-8", "replace") if is_text else int(value)

    def has_attribute(self, path: str, name: str) -> bool:
        try:
            node = self._node(path)
            return node is not None and bool(h5py.h5a.exists(node.id, name.encode()))
        except (KeyError, OSError, RuntimeError, ValueError, TypeError):
            return False

    def attribute_names(self, path: str) -> list[str]:
        """Names of the attributes of a group or dataset."""
        try:
            node = self._node(path)
            return [] if node is None else list(node.attrs)
        except (KeyError, OSError, RuntimeError, ValueError, TypeError) as error:
            raise self.error(f"the attributes of {path or '/'} are damaged") from error

    def has(self, path: str) -> bool:
        """Whether a dataset or group of this name is stored in the file."""
        above, _, name = path.rpartition("/")
        try:
            group = self._node(above)
            return isinstance(group, h5py.Group) and self._holds(group, name)
        except (KeyError, OSError, RuntimeError, ValueError, TypeError) as error:
            raise self.error(f"{path} is damaged") from error

    def names(self, group: str) -> list[str]:
        """Names in a group; only what is stored in this file, no soft or external link."""
        try:
            node = self._node(group)
            if not isinstance(node, h5py.Group):
                return []
            links = node.id.links
            return [name for name in node if links.get_info(name.encode()).type == h5py.h5l.TYPE_HARD]
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            what = f"group {group}" if group else "its directory"
            raise self.error(f"{what} is damaged") from error

    def _node(self, path: str) -> h5py.Group | h5py.Dataset | None:
        """A group or dataset stored in this file; None when there is none of this name, or only a link to it."""
        known = self._groups.get(path)
        if known is not None:
            return known
        above, _, name = path.rpartition("/")
        group = self._node(above)
        if not isinstance(group, h5py.Group) or not self._holds(group, name):
            return None
        node = group[name]
        if isinstance(node, h5py.Group):
            self._groups[path] = node
        return node if isinstance(node, h5py.Group | h5py.Dataset) else None

    @staticmethod
    def _holds(group: h5py.Group, name: str) -> bool:
        """Whether something of this name is stored in a group: there, and more than a link to elsewhere."""
        links, key = group.id.links, name.encode()
        return bool(links.exists(key) and links.get_info(key).type == h5py.h5l.TYPE_HARD)

    def shape(self, path: str) -> tuple[np.dtype[Any], int]:
        """Type and number of entries of a column."""
        try:
            dataset = self.dataset(path)
            if dataset.ndim != 1:
                raise self.error(f"dataset {path} has {dataset.ndim} dimensions instead of one")
            return dataset.dtype, int(dataset.shape[0])
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error(f"dataset {path} is damaged") from error

    def read(self, path: str) -> Array | int:
        """All values of a column, or where in the file those of one begin that is not short and lies in one piece."""
        try:
            dataset = self.dataset(path)
            n = int(dataset.shape[0])
            nbytes = n * dataset.dtype.itemsize
            if self._checked_layout(path, dataset) == h5py.h5d.CHUNKED and n:
                self._decoded_bytes += nbytes
                self._check_claim(self._decoded_bytes)
                self.has_decoded = True
                values = np.empty(n, dataset.dtype)
                step = _CHUNKS_AT_ONCE * dataset.chunks[0]
                for first in range(0, n, step):
                    values[first : first + step] = dataset[first : first + step]
                return values
            if not n:
                return np.empty(0, dataset.dtype)
            offset = dataset.id.get_offset()
            if offset is None:
                if dataset.id.get_create_plist().get_layout() == h5py.h5d.COMPACT and nbytes <= 1 << 16:
                    return np.asarray(dataset[:])
                raise self.error(f"dataset {path} claims {n} entries and was never written")
            if offset < 0 or offset + nbytes > self._size:
                raise self.error(f"dataset {path} leaves the file")
            return np.asarray(dataset[:]) if nbytes < ALIGNMENT else int(offset)
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error(f"dataset {path} is damaged") from error

    def length(self, path: str) -> int:
        """Number of entries of a column."""
        try:
            dataset = self.dataset(path)
            return int(dataset.shape[0]) if dataset.ndim == 1 else 0
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error(f"dataset {path} is damaged") from error

    def dtype_of(self, path: str) -> np.dtype[Any]:
        try:
            dtype: np.dtype[Any] = self.dataset(path).dtype
            return dtype
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error(f"dataset {path} is damaged") from error

    def dataset(self, path: str) -> h5py.Dataset:
        """A dataset stored in this file."""
        node = self._node(path)
        if node is None:
            raise self.error(f"dataset {path} is missing")
        if not isinstance(node, h5py.Dataset):
            raise self.error(f"{path} is not a dataset")
        return node

    def _checked_layout(self, path: str, dataset: h5py.Dataset) -> int:
        """How a dataset is stored; refuses what leads to other files, foreign filters and monstrous chunks."""
        plist = dataset.id.get_create_plist()
        layout = int(plist.get_layout())
        if layout == h5py.h5d.VIRTUAL or plist.get_external_count():
            raise self.error(f"dataset {path} refers to other files, which is not followed")
        if layout == h5py.h5d.CHUNKED:
            filters = {plist.get_filter(index)[0] for index in range(plist.get_nfilters())}
            if not filters <= {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE}:
                raise self.error(f"dataset {path} uses a filter other than gzip and shuffle")
            of_chunk = math.prod(plist.get_chunk())
            if of_chunk * dataset.dtype.itemsize > MAX_CHUNK_BYTES:
                raise self.error(f"dataset {path} has chunks of more than {MAX_CHUNK_BYTES >> 20} MiB")
            if dataset.size > of_chunk * self._size:
                raise self.error(f"dataset {path} claims more chunks than the file has bytes")
        return layout

    def _check_claim(self, nbytes: int) -> None:
        if nbytes > MAX_ARCHIVE_RATIO * self._size + _ARCHIVE_ALLOWANCE:
            raise self.error(f"its columns claim more than {MAX_ARCHIVE_RATIO} times the size of the file")

    def is_compressed(self, path: str) -> bool:
        """Whether a dataset is stored in chunks, as in the archive form."""
        try:
            return bool(self._checked_layout(path, self.dataset(path)) == h5py.h5d.CHUNKED)
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error(f"dataset {path} is damaged") from error

    def groups(self, above: str = "", depth: int = 4) -> list[str]:
        """Paths of all groups, parents first; deeper than captures go is not looked at."""
        found = []
        for name in self.names(above) if depth else []:
            path = f"{above}/{name}" if above else name
            if isinstance(self._node(path), h5py.Group):
                found += [path, *self.groups(path, depth - 1)]
        if len(found) > MAX_GROUPS:
            raise self.error(f"it has more than {MAX_GROUPS} groups")
        return found

    def stored_sizes(self) -> dict[str, int]:
        """Paths of all datasets and the bytes they take decoded; refuses claims that cannot be."""
        sizes = {}
        try:
            for group in ["", *self.groups()]:
                for name in self.names(group):
                    path = f"{group}/{name}" if group else name
                    node = self._node(path)
                    if isinstance(node, h5py.Dataset):
                        if node.ndim != 1 or node.dtype.kind not in "iuf":
                            raise self.error(f"dataset {path} is no column of numbers")
                        self._checked_layout(path, node)
                        sizes[path] = int(node.shape[0]) * node.dtype.itemsize
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error("its directory is damaged") from error
        self._check_claim(sum(sizes.values()))
        return sizes

    def read_piece(self, path: str, first: int, stop: int) -> Array:
        """A part of a dataset, decoded."""
        try:
            return np.asarray(self.dataset(path)[first:stop])
        except (OSError, RuntimeError, ValueError, TypeError, KeyError) as error:
            raise self.error(f"dataset {path} is damaged") from error

    def copy_attributes(self, path: str, target: h5py.Group | h5py.Dataset) -> None:
        """Copies the attributes of a group or dataset that captures may have."""
        for name in self.attribute_names(path):
            set_attribute(target, name, self.attribute(path, name))
